"""Checks that all runs of a study read the same data, before hours are spent on training.

Paired comparisons need the same test sentences under all variants, and runs of an earlier start must have
read what the data is now. Every split is told by its checksum, which a run keeps in its probes.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from augenmerk.base.config import DataConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, open_data
from augenmerk.data.prepared import is_prepared
from augenmerk.evaluation.comparison import describe_other_sentences
from augenmerk.run.directory import RunDirectory
from augenmerk.study.measure import describe_split, read_probes
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
    for planned in study.runs:
        _, bitext, _ = opened[planned.config.data.model_dump_json()]
        _check_run(planned, bitext, out / planned.place)


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


def _check_run(planned: PlannedRun, bitext: Bitext, place: Path) -> None:
    """Raises AugenmerkError if a run that was measured has read other data than there is now."""
    if not (place / "config.toml").exists():
        return
    try:
        probes = read_probes(RunDirectory.open(place)) or {}
        recorded = [(each["split"], each) for each in probes.get("data", ())]
    except (AugenmerkError, LookupError, TypeError):
        return  # damaged, which is reported as this run's failure and does not stop the others
    for split, then in recorded:
        now = describe_split(planned.config.data, bitext, split)
        if problem := describe_other_data([then], [now]):
            raise AugenmerkError(
                f"{planned.config.data.bitext} has changed since {place} was trained ({problem}, then and "
                f"now); put the old data back, or choose another --out to train all runs on the new data."
            )
