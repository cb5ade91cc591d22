"""What a wider beam does: to BLEU, to lengths, to time, and to what the model itself thinks.

A search error is a sentence for which the search missed a translation that the model likes better. How many
there are in all nobody knows, but those that a wider beam repairs can be counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augenmerk.study.comparing import along, basis_of_one, beam_in_words, doubt, p_in_words, side, size
from augenmerk.study.resampling import Counts, bleu_score, compare_paired
from augenmerk.study.result import BeamRepair, BeamRow
from augenmerk.study.statistics import holm

ROUNDING = 1e-4
"""Scores closer than this are the same: they were computed in other batches."""


@dataclass(frozen=True)
class Translated:
    """A run's translations of a split with one beam."""

    row: Mapping[str, Any]
    """Of scores.json."""
    counts: Counts
    hypotheses: Sequence[str]
    scores: Sequence[float]
    """What the model thinks of each."""


def beam_row(variant: str, split: str, beam: int, runs: Sequence[Translated]) -> BeamRow:
    def mean(key: str) -> float:
        return float(np.mean([run.row[key] for run in runs]))

    bleu = [run.row["bleu"] for run in runs]
    return BeamRow(
        variant=variant,
        split=split,
        beam=beam,
        runs=len(runs),
        bleu=mean("bleu"),
        bleu_low=min(bleu),
        bleu_high=max(bleu),
        length_ratio=mean("length_ratio"),
        model_score=mean("model_score"),
        # Runs that are measured at the same time slow each other down: the fastest was disturbed least.
        seconds_per_sentence=1 / max(run.row["sentences_per_second"] for run in runs),
    )


def beam_repairs(variant: str, split: str, beams: Mapping[int, Sequence[Translated]]) -> list[BeamRepair]:
    """Each wider beam against the narrowest; runs in the same order under every beam."""
    narrow = min(beams)
    found = [
        _repair(variant, split, (narrow, wide), beams[narrow], beams[wide])
        for wide in sorted(beams)
        if wide != narrow
    ]
    corrected = holm([each.p for each in found])
    found = [replace(each, p_corrected=p) for each, p in zip(found, corrected, strict=True)]
    return [replace(each, in_words=_in_words(each, len(found))) for each in found]


def _repair(
    variant: str,
    split: str,
    beams: tuple[int, int],
    narrow: Sequence[Translated],
    wide: Sequence[Translated],
) -> BeamRepair:
    better, worse = [], 0
    for before, after in zip(narrow, wide, strict=True):
        gain = np.array(after.scores) - np.array(before.scores)
        other = np.array([a != b for a, b in zip(after.hypotheses, before.hypotheses, strict=True)])
        better.append(other & (gain > ROUNDING))
        worse += int((other & (gain < -ROUNDING)).sum())
    repaired = sum(int(each.sum()) for each in better)

    def bleu(runs: Sequence[Translated]) -> float | None:
        """Of the repaired sentences of all runs together."""
        sums = sum(run.counts[those].sum(0) for run, those in zip(runs, better, strict=True))
        return float(bleu_score(np.asarray(sums))) if repaired else None

    paired = compare_paired(np.stack([run.counts for run in wide]), np.stack([run.counts for run in narrow]))
    return BeamRepair(
        variant=variant,
        split=split,
        narrow=beams[0],
        wide=beams[1],
        runs=len(narrow),
        sentences=sum(len(run.hypotheses) for run in narrow),
        better=repaired,
        worse=worse,
        bleu_narrow=bleu(narrow),
        bleu_wide=bleu(wide),
        difference=paired.difference,
        interval=paired.interval,
        p=paired.p,
        p_corrected=paired.p,
        in_words="",
    )


def _in_words(repair: BeamRepair, family: int) -> str:
    narrow, wide = beam_in_words(repair.narrow), beam_in_words(repair.wide)
    share, each = repair.better / repair.sentences, repair.sentences // repair.runs
    rests_on = basis_of_one(repair.runs, each)
    if repair.bleu_narrow is None or repair.bleu_wide is None:
        return f"{repair.variant} on {repair.split}: {wide} repairs no search error of {narrow}. {rests_on}"
    low, high = along(repair.interval, repair.difference)
    correction = f", corrected for {family} widths" if family > 1 else ""
    # Three runs see the same sentences three times; nobody shall take them for three times as many.
    total = f"{each:,}" if repair.runs == 1 else f"{repair.runs} x {each:,}"
    cost = f" For {repair.worse:,} it finds one the model likes less." if repair.worse else ""
    return (
        f"{repair.variant} on {repair.split}: {wide} finds a translation that the model likes better for "
        f"{repair.better:,} of {total} sentences ({share:.0%}), whose BLEU goes from "
        f"{repair.bleu_narrow:.1f} to {repair.bleu_wide:.1f}.{cost} On all sentences it is "
        f"{size(repair.difference)} BLEU {side(repair.difference)} {narrow}, 95% {low:z.1f} to {high:z.1f} "
        f"({p_in_words(repair.p_corrected)}{correction}){doubt(repair.p_corrected, repair.interval)}. "
        f"{rests_on}"
    )
