"""What a preset leaves to the data, decided in one place for the command line, Python and studies.

A preset is made for the datasets that are known by name. What nobody else has decided (`RunConfig.left_open`)
is fitted to other data: a prepared corpus decides about its text, your own pairs keep their case, and the
warm-up suits the number of pairs. `start.start` does this, so the same settings give the same run, whichever
way they were given. A TOML file decides all settings itself: nothing is changed.
"""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import tomli_w

from augenmerk.base.config import DataConfig, RunConfig, TrainConfig, keep_own_case, load_config
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings import format_setting, list_keys
from augenmerk.data import is_prepared, open_data, resolve_data
from augenmerk.data.corpus import PreparedCorpus, read_about
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.familiarity import Familiarity

SAMPLED_PAIRS = 500
"""Training pairs that are looked at to tell the direction of translation."""

FREE_SETTINGS = {
    "text.bpe_dropout",
    "model.embedding_dropout",
    "model.output_dropout",
    "model.transformer.attention_dropout",
    "model.transformer.feed_forward_dropout",
    "model.init",
}
"""Settings of [text] and [model] that may differ from those of the run whose weights are taken."""


def fit_to_data(config: RunConfig, count: Callable[[DataConfig, int], int] | None = None) -> RunConfig:
    """Returns the settings with what was left open fitted to the data, and with absolute paths.

    `count` is `count_training_pairs`, or the same with a memory.
    """
    config = fit_text(config)
    return shorten_warmup(config, count or count_training_pairs).leaving_open(())


def fit_text(config: RunConfig) -> RunConfig:
    """Does what `fit_to_data` does, but for the warm-up, so that no pairs are read."""
    config = resolve_paths(config)
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


def resolve_paths(config: RunConfig) -> RunConfig:
    """Returns the settings with absolute paths of the data and of the run to begin with."""
    config, initial_run = resolve_data(config), config.train.initial_run
    if initial_run is None:
        return config
    train = config.train.model_copy(update={"initial_run": str(find_run(Path(initial_run)).resolve())})
    return config.model_copy(update={"train": train})


def find_run(path: Path) -> Path:
    """Returns the path of a run; the bundled one is known by its name."""
    return BUNDLED_MODEL if str(path) == BUNDLED_MODEL.name and not path.exists() else path


def shorten_warmup(config: RunConfig, count: Callable[[DataConfig, int], int]) -> RunConfig:
    """Returns the settings with a warm-up of at most a fifth of all steps, if it was left open.

    A preset's warm-up is meant for tens of thousands of pairs. With some hundreds, the learning rate would
    still be rising when training ends, and the model would learn nothing. The datasets that are known by name
    keep it.
    """
    settings = config.train
    if config.data.bitext in DATASETS or not settings.warmup or "train.warmup" not in config.left_open:
        return config
    # With so many pairs there are steps enough: the rest of a large file need not be read.
    enough = settings.batch_size * settings.accumulate * math.ceil(5 * settings.warmup / settings.epochs)
    steps = count_steps(settings, count(config.data, enough))
    return config.decide({"train.warmup": min(settings.warmup, steps // 5)}, config.data.bitext)


def describe_warmup(asked: RunConfig, fitted: RunConfig) -> str:
    """Returns in words what was changed about the warm-up, or nothing."""
    if (new := fitted.train.warmup) == (old := asked.train.warmup):
        return ""
    steps = f"{new} step{'s' if new != 1 else ''}"
    return f"warm-up: {steps} instead of {old}, a fifth of all steps, because there are few"


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
    parent = RunDirectory.open(find_run(initial_run))
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


def describe_direction(parent: RunDirectory, config: RunConfig) -> str | None:
    """Returns a warning if the pairs look as if they had to be translated the other way than the parent does.

    That is so if most source sentences are unlike those that the parent learnt from, and most target
    sentences are like them.
    """
    learnt = parent.read_familiarity()
    if learnt is None or is_prepared(resolve_data(config).data.bitext):  # which has the parent's vocabulary
        return None
    tokenizer = parent.tokenizers.source
    judge = Familiarity.of_run(tokenizer, learnt, parent.path).judge
    pairs = list(islice(open_data(resolve_data(config).data)[config.data.train], SAMPLED_PAIRS))
    sources, targets = (
        sum(reason is not None for reason in judge(tokenizer.encode_ids(side)))
        for side in ([pair.source for pair in pairs], [pair.target for pair in pairs])
    )
    if not 2 * targets < len(pairs) < 2 * sources:
        return None
    return (
        f"The direction looks wrong: of the first {len(pairs):,} training pairs, {sources:,} have a source "
        f"sentence unlike those that {parent.path} learnt from, but {len(pairs) - targets:,} a target "
        f"sentence like them. Exchange the two sides, or say --source-language and --target-language."
    )


def check_parent(parent: RunDirectory, config: RunConfig) -> None:
    """Raises AugenmerkError if a model with these settings could not have the parent's weights and words."""
    old = parent.config.flatten()
    for key, value in config.flatten().items():
        if key.startswith(("text.", "model.")) and key not in FREE_SETTINGS and value != old[key]:
            raise AugenmerkError(
                f"{parent.path} has {key} = {format_setting(old[key])}, and a run that begins with its "
                f"weights cannot have {format_setting(value)}; leave it out, or train without --from."
            )


def check_processes(settings: TrainConfig, processes: int) -> None:
    """Raises AugenmerkError if so many processes cannot share a batch."""
    if (settings.exact_parts or processes) % processes:
        raise AugenmerkError(
            f"{settings.exact_parts} parts of a batch (train.exact_parts) cannot be shared equally by "
            f"{processes} processes; start as many as divide {settings.exact_parts}."
        )
    if max(settings.exact_parts, processes) > settings.batch_size:
        parts = f"{settings.exact_parts} parts (train.exact_parts)" if settings.exact_parts else ""
        raise AugenmerkError(
            f"Batches of {settings.batch_size} pairs (train.batch_size) cannot be divided into "
            f"{parts or f'parts for {processes} processes'}; choose larger batches or fewer of these."
        )
