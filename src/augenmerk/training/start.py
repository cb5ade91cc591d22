"""Makes runs, and opens them to be continued: one function for each way to begin a training.

The command line, Python and studies all begin here, so the same settings give the same run. A preset is made
for the datasets that are known by name. `fit_to_data` fits the settings that it leaves open
(`RunConfig.left_open`) to other data: a prepared corpus decides about its text, your own pairs keep their
case, and the warm-up suits the number of pairs. A TOML file decides all settings itself: nothing is changed.

`start_preset` and `resume` also return remarks, sentences about what was decided.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import tomli_w
import torch

from augenmerk.base.config import DataConfig, RunConfig, TrainConfig, keep_own_case, load_config
from augenmerk.base.device import uses_bf16
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import limit_file_name
from augenmerk.base.settings import format_setting, list_keys
from augenmerk.data import (
    GIVE_DATA,
    NAMES,
    is_prepared,
    open_data,
    path_exists,
    resolve_data,
    resolve_data_name,
)
from augenmerk.data.corpus import PreparedCorpus, read_about
from augenmerk.mechanisms.custom import check_recorded, find_code
from augenmerk.model.trial import try_mechanism
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.training.data import open_prepared
from augenmerk.training.distributed import check_processes, was_restarted, world_size
from augenmerk.training.loop import TrainingProgress, learning_rate

_DIRECTION_PAIRS = 500
"""Training pairs that are read to notice a wrong direction of translation."""


def start(config: RunConfig, out: Path) -> RunDirectory:
    """Creates a run directory, with a vocabulary that is learnt from the training split alone.

    If the settings name an initial run, its vocabulary and its weights are taken instead; a prepared corpus
    has a vocabulary. Settings that a preset left open are fitted to the data, and relative paths become
    absolute, so that the run finds its data from any folder.
    """
    RunDirectory.check_unused(out)  # before minutes are spent on a large bitext
    check_processes(config.train, world_size())
    config = fit_to_data(config)
    bitext = open_data(config.data)
    # A missing split or an unknown mechanism is reported before the vocabulary is learnt.
    bitext[config.data.validation]
    try_mechanism(config.model, bf16=uses_bf16(config.train.precision, torch.device("cpu")))
    code = find_code(config.model.attention)
    corpus = open_prepared(config)
    if corpus is not None:
        corpus.check_settings(config)
    if config.train.initial_run is not None:
        parent = RunDirectory.open(Path(config.train.initial_run))
        _check_parent(parent, config)
        if corpus is not None:
            corpus.check_tokenizers(parent.tokenizers)
        return RunDirectory.create(out, config, parent.tokenizers, code, parent)
    if corpus is not None:
        return RunDirectory.create(out, config, corpus.tokenizers, code, data={config.data.train: corpus.sum})
    watched = bitext.watch(config.data.train)
    tokenizers = TokenizerPair.train(watched, config.text)
    assert watched.sum is not None
    return RunDirectory.create(out, config, tokenizers, code, data={config.data.train: watched.sum})


def _check_parent(parent: RunDirectory, config: RunConfig) -> None:
    """Raises AugenmerkError if a model with these settings could not have the parent's weights and words."""
    old = parent.config.flatten()
    for key, value in config.flatten().items():
        free = key == "model.init" or key.endswith("_dropout")
        if key.startswith(("text.", "model.")) and not free and value != old[key]:
            raise AugenmerkError(
                f"{parent.path} has {key} = {format_setting(old[key])}, and a run that begins with its "
                f"weights cannot have {format_setting(value)}; leave it out, or train without --from."
            )
    check_recorded(config.model.attention, parent.read_code(), parent.path)


def start_preset(
    preset: str | None,
    settings: Sequence[str] = (),
    out: Path | None = None,
    initial_run: Path | None = None,
) -> tuple[RunDirectory, list[str]]:
    """Creates a run from a preset or a TOML file, with single settings such as "train.lr=0.002" replaced.

    With `initial_run`, it begins with the vocabulary and the weights of that run and, without a preset, with
    its settings. By default the run is in the folder `runs`. If `torchrun` has restarted its processes after
    one failed, the run is opened again instead.
    """
    remarks = []
    if initial_run is not None:
        config = configure_fine_tuning(initial_run, preset, settings)
        remarks = describe_direction(RunDirectory.open(Path(config.train.initial_run or "")), config)
        name = initial_run.name
    elif preset is not None:
        config, name = load_config(preset, settings), Path(preset).stem
    else:
        raise AugenmerkError("Say what to train: a preset (such as quick) or a TOML file.")
    if out is None:
        attention = config.model.attention.replace(":", "-")  # a colon is not allowed in every file system
        name = f"{name}-{Path(config.data.bitext).name}-{attention}-{config.train.seed}"
        out = Path("runs") / limit_file_name(name)
    run = (_reopen(config, out) if was_restarted() else None) or start(config, out)
    if (new := run.config.train.warmup) != (old := config.train.warmup):
        steps = f"{new} step{'s' if new != 1 else ''}"
        remarks.insert(0, f"warm-up: {steps} instead of {old}, a fifth of all steps, because there are few")
    return run, remarks


def _reopen(config: RunConfig, out: Path) -> RunDirectory | None:
    """Opens the run that was started with these settings; returns None if there is none."""
    with suppress(AugenmerkError):
        run = RunDirectory.open(out)
        if run.config == fit_to_data(config):
            return run
    return None


# What is left to the data


def fit_to_data(config: RunConfig, count: Callable[[DataConfig, int], int] | None = None) -> RunConfig:
    """Returns the settings with what was left open fitted to the data, and with absolute paths.

    `count` is `count_training_pairs`, or the same with a memory. The warm-up becomes at most a fifth of all
    steps: a preset's is meant for tens of thousands of pairs. With some hundreds, the learning rate would
    still be rising when training ends, and the model would learn nothing.
    """
    config = _fit_text(config)
    settings = config.train
    if config.data.bitext not in DATASETS and settings.warmup and "train.warmup" in config.left_open:
        # With so many pairs there are steps enough: the rest of a large file need not be read.
        enough = settings.batch_size * settings.accumulate * math.ceil(5 * settings.warmup / settings.epochs)
        steps = count_steps(settings, (count or count_training_pairs)(config.data, enough))
        config = config.decide({"train.warmup": min(settings.warmup, steps // 5)}, config.data.bitext)
    return config.leaving_open(())


def _fit_text(config: RunConfig) -> RunConfig:
    """Does what `fit_to_data` does, but for the warm-up, so that no pairs are read."""
    config = resolve_data(config)
    if config.train.initial_run is not None:
        path = str(_find_run(Path(config.train.initial_run)).resolve())
        train = config.train.model_copy(update={"initial_run": path})
        config = config.model_copy(update={"train": train})
    if is_prepared(config.data.bitext):
        corpus = config.data.bitext
        try:
            prepared = read_about(Path(corpus))["settings"]
            decided = {f"text.{key}": value for key, value in prepared["text"].items()}
            decided["data.max_length"] = prepared["max_length"]
        except (LookupError, TypeError, AttributeError):
            raise AugenmerkError(f'{corpus}: damaged: prepared.json has no valid "settings".') from None
        return config.decide(decided, corpus)
    if config.train.initial_run is not None:  # whose vocabulary stays
        parent = RunDirectory.open(Path(config.train.initial_run))
        return config.decide({"text.lowercase": parent.config.text.lowercase}, str(parent.path))
    return keep_own_case(config)


def _find_run(path: Path) -> Path:
    """Returns the path of a run; the bundled one is known by its name."""
    return BUNDLED_MODEL if str(path) == BUNDLED_MODEL.name and not path.exists() else path


def count_training_pairs(data: DataConfig, enough: int) -> int:
    """Returns how many training pairs there are, or `enough` if there are as many or more."""
    if is_prepared(data.bitext):
        return PreparedCorpus.open(Path(data.bitext)).pairs
    return sum(1 for _ in islice(open_data(data)[data.train], enough))


def count_steps(settings: TrainConfig, pairs: int) -> int:
    """Returns how often all epochs over so many pairs update the weights."""
    return settings.epochs * math.ceil(pairs / (settings.batch_size * settings.accumulate))


def configure_fine_tuning(initial_run: Path, preset: str | None, overrides: Iterable[str]) -> RunConfig:
    """Returns the settings of a run that begins with the weights of another, by default those of that one."""
    overrides = list(overrides)
    parent = RunDirectory.open(_find_run(initial_run))
    if preset is None:
        base = parent.config.model_dump(exclude_none=True)
        base["data"]["skip_bad"] = False  # these are other pairs
        config = RunConfig.from_toml(tomli_w.dumps(base), str(initial_run), overrides)
        left_open = {"train.warmup"}
    else:
        config = load_config(preset, overrides)
        left_open = {*config.left_open, "text.lowercase"}
    train = config.train.model_copy(update={"initial_run": str(parent.path.resolve())})
    config = config.model_copy(update={"train": train})
    return config.leaving_open(left_open - list_keys(overrides))


def describe_direction(parent: RunDirectory, config: RunConfig) -> list[str]:
    """Returns a warning if the pairs look as if they had to be translated the other way than the parent does.

    That is so if most source sentences are unlike those that the parent learnt from, and most target
    sentences are like them.
    """
    config = resolve_data(config)
    if parent.read_familiarity() is None or is_prepared(config.data.bitext):  # which has its vocabulary
        return []
    pairs = list(islice(open_data(config.data)[config.data.train], _DIRECTION_PAIRS))
    encode, judge = parent.tokenizers.source.encode_ids, parent.familiarity.judge
    sources, targets = (
        sum(reason is not None for reason in judge(encode(side)))
        for side in ([pair.source for pair in pairs], [pair.target for pair in pairs])
    )
    if not 2 * targets < len(pairs) < 2 * sources:
        return []
    return [
        f"The direction looks wrong: of the first {len(pairs):,} training pairs, {sources:,} have a source "
        f"sentence unlike those that {parent.path} learnt from, but {len(pairs) - targets:,} a target "
        f"sentence like them. Exchange the two sides, or say --source-language and --target-language."
    ]


# Resuming


def resume(
    out: Path | None,
    preset: str | None = None,
    settings: Sequence[str] = (),
    data: str | None = None,
    epochs: int | None = None,
    *,
    accept_changes: bool = False,
) -> tuple[RunDirectory, list[str]]:
    """Opens a run to be continued, with more `epochs` in all if they are given.

    `data` is the new path of its pairs, if they were moved. With `accept_changes`, its config.toml and its
    code are recorded as they are now; nothing else is written yet. Raises AugenmerkError if there is nothing
    left to do, or if the run was started with other settings than the preset's.
    """
    if out is None:
        raise AugenmerkError("Say which run to continue: augenmerk train --resume --out RUN.")
    run, remarks = RunDirectory.open(out, accept_changes=accept_changes), []
    if accept_changes:
        remarks.append(f"The settings of {out} are accepted as they are now.")
    if data is not None:
        remarks += _move_data(run, data, with_preset=preset is not None)
    if preset is not None:
        asked = [] if data is None else [f"data.bitext={data}"]
        asked += [] if epochs is None else [f"train.epochs={epochs}"]
        _check_same_settings(run, load_config(preset, [*asked, *settings]), epochs)
    elif settings:
        raise AugenmerkError(f"A run that is resumed keeps its settings; leave out {', '.join(settings)}.")
    more_epochs = epochs is not None and epochs != run.config.train.epochs
    if run.finished and not more_epochs:
        if accept_changes or was_restarted():
            return run, remarks
        raise AugenmerkError(
            f"{out} is finished; there is nothing to resume unless --epochs asks for more than its "
            f"{run.config.train.epochs}."
        )
    open_data(run.config.data, if_moved=GIVE_DATA)
    if epochs is not None and more_epochs:
        run, about = change_epochs(run, epochs)
        remarks.append(about)
    return run, remarks


def _check_same_settings(run: RunDirectory, config: RunConfig, epochs: int | None) -> None:
    """Raises AugenmerkError if a run was started with other settings than these."""
    wanted, kept = _fit_text(config), {}
    if epochs is not None:
        kept["epochs"] = run.config.train.epochs
    if "train.warmup" in wanted.left_open and wanted.data.bitext not in DATASETS:
        kept["warmup"] = run.config.train.warmup  # it was perhaps shortened when the run was started
    if wanted.model_copy(update={"train": wanted.train.model_copy(update=kept)}) != run.config:
        raise AugenmerkError(
            f"{run.path} was started with other settings than these; leave them out to continue it as it is."
        )


def _move_data(run: RunDirectory, data: str, *, with_preset: bool) -> list[str]:
    """Makes the run read its pairs from another path, if they are no longer where they were.

    Returns what was done. Whether they are the same pairs is known when they are read.
    """
    own, path = run.config.data.bitext, resolve_data_name(data, Path.cwd())
    if path == own:
        return []
    if own in NAMES or path in NAMES or path_exists(Path(own)):
        if with_preset:
            return []  # it is among the settings that are compared
        raise AugenmerkError(
            f"{run.path} learns from {own}, and a run that is resumed keeps its pairs; leave out --data, or "
            f"begin a new run with its weights: augenmerk train --from {run.path} --data {data}."
        )
    moved = run.config.data.model_copy(update={"bitext": path})
    run.config = run.config.model_copy(update={"data": moved})
    return [f"{own} is not there; the run continues with the same pairs from {path}."]


def change_epochs(run: RunDirectory, epochs: int) -> tuple[RunDirectory, str]:
    """Returns the run with another number of epochs to train in all, and in sentences what that means.

    Nothing is written: `train` does that when it is certain that the run can continue. Raises AugenmerkError
    if the run cannot.
    """
    saved, settings = run.load_state(), run.config.train
    progress = TrainingProgress(**saved[1]) if saved else TrainingProgress()
    problem = ""
    if epochs <= progress.epoch:
        problem = (
            f"has been trained for {progress.epoch} epochs already, and --epochs is their total: give more"
        )
    elif run.finished and saved is None:
        problem = "has no state.safetensors to continue from"
    elif saved and progress.has_stopped_improving(settings.patience):
        problem = f"ended because {settings.patience} epochs brought no improvement (train.patience)"
    if problem:
        command = f"augenmerk train --from {run.path}"
        raise AugenmerkError(f"{run.path} {problem}; to begin a new run with its weights: {command}.")
    changed = RunDirectory(run.path)
    tree = run.config.model_dump(exclude_none=True)
    tree["train"]["epochs"] = epochs
    changed.config = RunConfig.checked(tree, str(run.path))
    about = [
        f"The run continues from epoch {progress.epoch} to epoch {epochs}, instead of {settings.epochs}."
    ]
    if run.read_scores():
        about.append("Its scores will be removed, because they were measured after fewer epochs.")
    if settings.schedule == "constant" or not saved:
        about.append(f"The result will be that of a run that began with {epochs} epochs.")
    else:
        rate = learning_rate(settings, progress.step, progress.epoch / epochs)
        about.append(
            f"The learning rate falls along a cosine over all epochs and is now {rate:.2g}, so the result "
            f"will not be that of a run that began with {epochs} epochs."
        )
    return changed, "\n".join(about)
