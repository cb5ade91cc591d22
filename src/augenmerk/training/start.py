"""Makes runs, and opens them to be continued. Each way to begin a training is one function here.

`start_preset` and `resume` also return remarks, sentences about what was decided. `policy.py` decides.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch

from augenmerk.base.config import RunConfig, load_config
from augenmerk.base.device import uses_bf16
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import limit_file_name
from augenmerk.data import NAMES, SAY_PLACE, open_data, place_exists, resolve_data_name
from augenmerk.model.custom import check_recorded, find_code
from augenmerk.model.trial import try_mechanism
from augenmerk.run.directory import RunDirectory
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.training.data import open_prepared
from augenmerk.training.distributed import was_restarted, world_size
from augenmerk.training.loop import learning_rate
from augenmerk.training.policy import (
    check_parent,
    check_processes,
    configure_fine_tuning,
    describe_direction,
    describe_warmup,
    fit_text,
    fit_to_data,
)
from augenmerk.training.progress import TrainingProgress


def start(config: RunConfig, out: Path) -> RunDirectory:
    """Creates a run directory, with a vocabulary that is learnt from the training split alone.

    If the settings name an initial run, its vocabulary and its weights are taken instead; a prepared corpus
    has a vocabulary. Settings that a preset left open are fitted to the data, and relative paths become
    absolute, so that the run finds its data from any folder: see `augenmerk.training.policy`.
    """
    RunDirectory.check_unused(out)  # before minutes are spent on a large bitext
    check_processes(config.train, world_size())
    config = fit_to_data(config)
    bitext = open_data(config.data)
    # A missing split or an unknown mechanism is reported before the vocabulary is learnt.
    bitext[config.data.validation]
    try_mechanism(config.model, bf16=uses_bf16(config.train.precision, torch.device("cpu")))
    code = find_code(config.model.attention)
    if (corpus := open_prepared(config)) is not None:
        corpus.check_settings(config)
    if config.train.initial_run is not None:
        parent = RunDirectory.open(Path(config.train.initial_run))
        check_parent(parent, config)
        check_recorded(config.model.attention, parent.read_code(), parent.path)
        if corpus is not None:
            corpus.check_tokenizers(parent.tokenizers)
        return RunDirectory.create(out, config, parent.tokenizers, code, parent)
    if corpus is not None:
        return RunDirectory.create(out, config, corpus.tokenizers, code, data={config.data.train: corpus.sum})
    watched = bitext.watch(config.data.train)
    tokenizers = TokenizerPair.train(watched, config.text)
    assert watched.sum is not None
    return RunDirectory.create(out, config, tokenizers, code, data={config.data.train: watched.sum})


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
        remarks.append(describe_direction(RunDirectory.open(Path(config.train.initial_run or "")), config))
        name = initial_run.name
    elif preset is not None:
        config, name = load_config(preset, settings), Path(preset).stem
    else:
        raise AugenmerkError("Say what to train: a preset (such as quick) or a TOML file.")
    out = out or _default_path(name, config)
    run = (_reopen(config, out) if was_restarted() else None) or start(config, out)
    return run, list(filter(None, (describe_warmup(config, run.config), *remarks)))


def _reopen(config: RunConfig, out: Path) -> RunDirectory | None:
    """Opens the run that was started with these settings; returns None if there is none."""
    with suppress(AugenmerkError):
        run = RunDirectory.open(out)
        if run.config == fit_to_data(config):
            return run
    return None


def _default_path(name: str, config: RunConfig) -> Path:
    data = Path(config.data.bitext).name
    attention = config.model.attention.replace(":", "-")  # a colon is not allowed in every file system
    return Path("runs") / limit_file_name(f"{name}-{data}-{attention}-{config.train.seed}")


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
    if data is not None and (moved := _move_data(run, data, with_preset=preset is not None)):
        remarks.append(moved)
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
    open_data(run.config.data, if_moved=SAY_PLACE)
    if epochs is not None and more_epochs:
        run, about = change_epochs(run, epochs)
        remarks.append(about)
    return run, remarks


def _check_same_settings(run: RunDirectory, config: RunConfig, epochs: int | None) -> None:
    """Raises AugenmerkError if a run was started with other settings than these."""
    wanted, kept = fit_text(config), {}
    if epochs is not None:
        kept["epochs"] = run.config.train.epochs
    if "train.warmup" in wanted.left_open and wanted.data.bitext not in DATASETS:
        kept["warmup"] = run.config.train.warmup  # it was perhaps shortened when the run was started
    if wanted.model_copy(update={"train": wanted.train.model_copy(update=kept)}) != run.config:
        raise AugenmerkError(
            f"{run.path} was started with other settings than these; leave them out to continue it as it is."
        )


def _move_data(run: RunDirectory, data: str, *, with_preset: bool) -> str:
    """Makes the run read its pairs from another path, if they are no longer where they were.

    Returns what was done, or nothing. Whether they are the same pairs is known when they are read.
    """
    own, path = run.config.data.bitext, resolve_data_name(data, Path.cwd())
    if path == own:
        return ""
    if own in NAMES or path in NAMES or place_exists(Path(own)):
        if with_preset:
            return ""  # it is among the settings that are compared
        raise AugenmerkError(
            f"{run.path} learns from {own}, and a run that is resumed keeps its pairs; leave out --data, or "
            f"begin a new run with its weights: augenmerk train --from {run.path} --data {data}."
        )
    moved = run.config.data.model_copy(update={"bitext": path})
    run.config = run.config.model_copy(update={"data": moved})
    return f"{own} is not there; the run continues with the same pairs from {path}."


def change_epochs(run: RunDirectory, epochs: int) -> tuple[RunDirectory, str]:
    """Returns the run with another number of epochs to train in all, and in sentences what that means.

    Nothing is written: `train` does that when it is certain that the run can continue. Raises AugenmerkError
    if the run cannot.
    """
    saved, settings = run.load_state(), run.config.train
    progress = TrainingProgress(**saved[1]) if saved else TrainingProgress()
    if epochs <= progress.epoch:
        raise AugenmerkError(
            f"{run.path} has been trained for {progress.epoch} epochs already; --epochs is their total, so "
            f"give more than that."
        )
    again = f"to begin a new run with its weights: augenmerk train --from {run.path}"
    if run.finished and saved is None:
        raise AugenmerkError(f"{run.path} has no state.safetensors to continue from; {again}.")
    if saved and progress.has_stopped_improving(settings.patience):
        raise AugenmerkError(
            f"{run.path} ended because {settings.patience} epochs brought no improvement (train.patience); "
            f"{again}."
        )
    about = [
        f"The run continues from epoch {progress.epoch} to epoch {epochs}, instead of {settings.epochs}."
    ]
    if run.read_scores():
        about.append("Its scores will be removed, because they were measured after fewer epochs.")
    changed = RunDirectory(run.path)
    tree = run.config.model_dump(exclude_none=True)
    tree["train"]["epochs"] = epochs
    changed.config = RunConfig.checked(tree, str(run.path))
    if settings.schedule == "constant" or not saved:
        about.append(f"The result will be that of a run that began with {epochs} epochs.")
    else:
        rate = learning_rate(settings, progress.step, progress.epoch / epochs)
        about.append(
            f"The learning rate falls along a cosine over all epochs and is now {rate:.2g}, so the result "
            f"will not be that of a run that began with {epochs} epochs."
        )
    return changed, "\n".join(about)
