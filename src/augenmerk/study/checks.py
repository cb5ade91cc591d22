"""Checks a study before hours are spent on training: its data, its settings and its custom mechanisms.

Paired comparisons need the same test sentences under all variants, and runs of an earlier start must have
read what the data is now. Splits are identified by their checksums, which a run keeps with what it has learnt
from (`data.json`) and with its scores.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from augenmerk.base.config import DataConfig
from augenmerk.base.device import uses_bf16
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, is_prepared, open_data
from augenmerk.evaluation.comparison import describe_other_sentences
from augenmerk.model.custom import MECHANISM_FILES, check_recorded
from augenmerk.model.trial import try_mechanism
from augenmerk.run.directory import RunDirectory
from augenmerk.study.measure import describe_split
from augenmerk.study.plan import PlannedRun, Study
from augenmerk.study.result import describe_other_data


def check_study(study: Study, out: Path) -> None:
    """Raises AugenmerkError for all that can be found wrong before anything is run."""
    check_data(study, out)  # first, because other data may fit other settings
    check_settings(study, out)
    check_mechanisms(study, out)


def _open_runs(study: Study, out: Path) -> Iterator[tuple[PlannedRun, RunDirectory]]:
    """Yields the runs that were started, except damaged ones, which fail later, each on its own."""
    for planned in study.runs:
        if (out / planned.path / "config.toml").exists():
            try:
                run = RunDirectory.open(out / planned.path)
            except AugenmerkError:
                continue
            yield planned, run


def check_settings(study: Study, out: Path) -> None:
    """Raises AugenmerkError if a run was started with other settings than the study has now."""
    for planned, run in _open_runs(study, out):
        old, new = run.config.model_dump(), planned.config.model_dump()
        for group, key in ((name, key) for name in new for key in new[name]):
            if old[group][key] != new[group][key]:
                raise AugenmerkError(
                    f"{run.path} was started with {group}.{key} = {old[group][key]}, but the study now has "
                    f"{new[group][key]}; choose another --out, or remove that run."
                )


def check_mechanisms(study: Study, out: Path) -> None:
    """Raises AugenmerkError if a custom mechanism breaks a rule, or was changed since a run was started."""
    for model, precision in dict.fromkeys(
        (run.config.model, run.config.train.precision) for run in study.runs
    ):
        try_mechanism(model, bf16=uses_bf16(precision, torch.device("cpu")))
    for planned, run in _open_runs(study, out):
        if planned.config.model.attention in MECHANISM_FILES:
            try:
                recorded = run.read_code()
            except AugenmerkError:
                continue  # damaged, which is reported later
            check_recorded(planned.config.model.attention, recorded, run.path)


def check_data(study: Study, out: Path) -> None:
    """Raises AugenmerkError if a split is absent, variants are tested on different sentences, or the data has
    changed since runs in `out` were trained."""
    opened: dict[str, tuple[PlannedRun, Bitext, Sequence[Mapping[str, Any]]]] = {}
    for planned in study.runs:
        data = planned.config.data
        if data.model_dump_json() not in opened:
            check_splits(data, study.splits)
            bitext = open_data(data)
            sums = [describe_split(data, bitext, split) for split in study.splits]
            opened[data.model_dump_json()] = planned, bitext, sums
    (first, bitext, first_sums), *others = opened.values()
    for other, its_bitext, its_sums in others:
        if describe_other_data(first_sums, its_sums):
            _report_other_sentences(study, (first, bitext), (other, its_bitext))
    describe = {
        key: cache(partial(describe_split, first.config.data, bitext))
        for key, (first, bitext, _) in opened.items()
    }
    for planned, run in _open_runs(study, out):
        _check_run(planned, study.splits, describe[planned.config.data.model_dump_json()], run)


def check_splits(config: DataConfig, splits: Sequence[str]) -> None:
    """Raises AugenmerkError if a split is absent or empty."""
    bitext = open_data(config)
    train = () if is_prepared(config.bitext) else (config.train,)  # which a prepared corpus always has
    for split in (*train, config.validation, *splits):
        if not any(True for _ in islice(bitext[split], 1)):
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{split}'.")


def _report_other_sentences(
    study: Study, ours: tuple[PlannedRun, Bitext], theirs: tuple[PlannedRun, Bitext]
) -> None:
    for split in study.splits:
        pairs = [list(bitext[split]) for _, bitext in (ours, theirs)]
        if problem := describe_other_sentences(*pairs):
            raise AugenmerkError(
                f"{ours[0].variant.name} and {theirs[0].variant.name} cannot be compared on '{split}': "
                f"{problem}; paired tests need variants that are tested on the same sentences, so choose "
                f"factors or splits that leave them alone."
            )


def _check_run(
    planned: PlannedRun, splits: Sequence[str], describe: Callable[[str], dict[str, Any]], run: RunDirectory
) -> None:
    """Raises AugenmerkError if a run was trained or tested on other data than there is now."""
    if run.config.data != planned.config.data:
        return  # a changed setting, which has its own error
    try:
        known = [(split, found.pairs, found.sha256) for split, found in run.read_data().items()]
        known += [
            (row["split"], row["sentences"], row["data_sha256"])
            for row in run.read_scores()
            if row.get("data_sha256")
        ]
    except (AugenmerkError, LookupError, TypeError):
        return  # damaged, which is reported later
    for split, pairs, sha256 in known:
        if split not in (planned.config.data.train, planned.config.data.validation, *splits):
            continue
        then = {"split": split, "sentences": pairs, "sha256": sha256}
        if problem := describe_other_data([then], [describe(split)]):
            raise AugenmerkError(
                f"{planned.config.data.bitext} has changed since {run.path} was trained ({problem}, then and "
                f"now); put the old data back, or choose another --out to train all runs on the new data."
            )
