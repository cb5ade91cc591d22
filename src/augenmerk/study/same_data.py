"""Checks that all runs of a study read the same data, before hours are spent on training.

Paired comparisons need the same test sentences under all variants, and runs of an earlier start must have
read what the data is now. A split is identified by its checksum, which a run keeps with what it has learnt
from (`data.json`) and with its scores.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from augenmerk.base.config import DataConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, open_data
from augenmerk.data.prepared import is_prepared
from augenmerk.evaluation.comparison import describe_other_sentences
from augenmerk.run.directory import RunDirectory
from augenmerk.study.measure import describe_split
from augenmerk.study.plan import PlannedRun, Study

Sums = Sequence[Mapping[str, Any]]
"""For each split its name, its number of sentences and its SHA-256."""


def check_data(study: Study, out: Path) -> None:
    """Raises AugenmerkError if a split is absent, variants are tested on different sentences, or the data has
    changed since runs in `out` were trained."""
    opened: dict[str, tuple[PlannedRun, Bitext, Sums]] = {}
    for planned in study.runs:
        data = planned.config.data
        if data.model_dump_json() not in opened:
            check_splits(data, study.splits)
            bitext = open_data(data)
            sums = [describe_split(data, bitext, split) for split in study.splits]
            opened[data.model_dump_json()] = planned, bitext, sums
    (first, bitext, tested), *others = opened.values()
    for other, its_bitext, its_tested in others:
        if describe_other_data(tested, its_tested):
            _refuse_other_sentences(study, (first, bitext), (other, its_bitext))
    describe = {
        key: cache(partial(describe_split, run.config.data, bitext))
        for key, (run, bitext, _) in opened.items()
    }
    for planned in study.runs:
        key = planned.config.data.model_dump_json()
        _check_run(planned, study.splits, describe[key], out / planned.place)


def check_splits(config: DataConfig, splits: Sequence[str]) -> None:
    """Raises AugenmerkError if a split is absent or empty."""
    bitext = open_data(config)
    own = () if is_prepared(config.bitext) else (config.train,)  # which a prepared corpus always has
    for split in (*own, config.validation, *splits):
        if not any(True for _ in islice(bitext[split], 1)):
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{split}'.")


def describe_other_data(ours: Sums, theirs: Sums, splits: Sequence[str] | None = None) -> str | None:
    """Returns how the first split that differs does, of these splits or of all that both have."""
    known = {each["split"]: each for each in theirs}
    for our in ours:
        their = known.get(our["split"])
        if their is None or our["sha256"] == their["sha256"] or our["split"] not in (splits or known):
            continue
        ours_has, theirs_has = our["sentences"], their["sentences"]
        change = f"{ours_has:,} and {theirs_has:,} sentences" if ours_has != theirs_has else "other sentences"
        return f"'{our['split']}' has {change}"
    return None


def _refuse_other_sentences(
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
    planned: PlannedRun, splits: Sequence[str], describe: Callable[[str], dict[str, Any]], path: Path
) -> None:
    """Raises AugenmerkError if a run was trained or tested on other data than there is now."""
    if not (path / "config.toml").exists():
        return
    try:
        run = RunDirectory.open(path)
        if run.config.data != planned.config.data:
            return  # a changed setting, which has an error of its own
        known = [(split, found.pairs, found.sha256) for split, found in run.read_data().items()]
        known += [
            (row["split"], row["sentences"], row["data_sha256"])
            for row in run.read_scores()
            if row.get("data_sha256")
        ]
    except (AugenmerkError, LookupError, TypeError):
        return  # damaged, which is reported as this run's failure and does not stop the others
    for split, pairs, sha256 in known:
        if split not in (planned.config.data.train, planned.config.data.validation, *splits):
            continue
        then = {"split": split, "sentences": pairs, "sha256": sha256}
        if problem := describe_other_data([then], [describe(split)]):
            raise AugenmerkError(
                f"{planned.config.data.bitext} has changed since {path} was trained ({problem}, then and "
                f"now); put the old data back, or choose another --out to train all runs on the new data."
            )
