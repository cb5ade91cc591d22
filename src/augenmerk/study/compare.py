"""Compares variants with each other, and wide beams with narrow ones, in numbers and in sentences.

`augenmerk.significance` says how the numbers are computed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeVar

import numpy as np

from augenmerk.scores import Counts, bleu_from_counts, ratio_from_counts
from augenmerk.significance import (
    RESAMPLES,
    TRIALS,
    compare_paired,
    difference_in_words,
    few_sentences_in_words,
    holm,
    rounds_to_zero,
)
from augenmerk.study.result import (
    ALPHA,
    BeamRepair,
    BeamRow,
    ComparisonResult,
    SeedComparison,
    describe_doubt,
)

FEW_SEEDS = 5  # fewer than these are called a small sample
ROUNDING = 1e-4  # model scores closer than this are equal: they were computed in other batches

CountsBySeed = Mapping[int, Counts]  # the counts (N, C) of each finished run of a variant
Found = TypeVar("Found", ComparisonResult, BeamRepair)


# Variants


def compare_variants(
    counts: Mapping[str, CountsBySeed], measure: Literal["bleu", "loss"], split: str, beam: int | None
) -> tuple[list[ComparisonResult], list[str]]:
    """Compares every two variants on the seeds that both have, later ones with earlier ones.

    Returns the comparisons, and remarks about variants that share only some seeds, or none.
    """
    compared, remarks = [], []
    for against, variant in combinations(counts, 2):
        ours, theirs = counts[variant], counts[against]
        if not ours or not theirs:
            continue
        seeds = sorted(ours.keys() & theirs.keys())
        if not seeds:
            remarks.append(f"{variant} and {against} cannot be compared: no finished run has the same seed.")
            continue
        if ours.keys() != theirs.keys():
            both = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
            remarks.append(
                f"{variant} has {count_runs(len(ours))} and {against} {count_runs(len(theirs))}: they are "
                f"compared on {both}, which both have."
            )
        our_counts, their_counts = (np.stack([each[seed] for seed in seeds]) for each in (ours, theirs))
        score = bleu_from_counts if measure == "bleu" else ratio_from_counts
        found = asdict(compare_paired(our_counts, their_counts, score))
        compared.append(
            ComparisonResult(
                variant=variant,
                against=against,
                measure=measure,
                split=split,
                beam=beam,
                sentences=our_counts.shape[1],
                seeds=tuple(map(SeedComparison, seeds, found.pop("differences"), found.pop("p_values"))),
                interval_covers="sentences and seeds" if len(seeds) > 1 else "sentences",
                p_corrected=found["p"],
                trials=TRIALS,
                resamples=RESAMPLES,
                in_words="",
                **found,
            )
        )
    return _correct(compared, comparison_in_words), remarks


def _correct(found: Sequence[Found], in_words: Callable[[Found, int], str]) -> list[Found]:
    """Corrects p for the number of comparisons, and adds the sentences, which depend on it."""
    corrected = holm([each.p for each in found])
    found = [replace(each, p_corrected=p) for each, p in zip(found, corrected, strict=True)]
    return [replace(each, in_words=in_words(each, len(found))) for each in found]


def comparison_in_words(compared: ComparisonResult, family: int) -> str:
    """Returns the finding, what it may owe to chance, and on how many runs and sentences it rests.

    `family` is the number of comparisons for which p was corrected.
    """
    name, against, difference = compared.variant, compared.against, compared.difference
    if compared.measure == "loss":
        metric, digits, place = "loss", 3, f"on {compared.split}"
        gap = difference_in_words(f"The loss of {name}", f"that of {against}", difference, "", digits)
    else:
        metric, digits, place = "BLEU", 1, f"on {compared.split} with {_beam_in_words(compared.beam or 1)}"
        gap = difference_in_words(name, against, difference, " BLEU", digits)
    if not difference and not compared.sentence_deviation and not compared.seed_deviation:
        same = f"{name} and {against} have the same {metric} {place}"
        return f"{same} whatever sentences are drawn: no difference."
    sample = _sample_in_words(len(compared.seeds), "One run of each", "pairs of runs", compared.sentences)
    return f"{gap} {place}, {_certainty_in_words(compared, family, 'comparisons', digits)}. {sample}"


# Beams: a search error is a sentence for which the search missed a translation that the model scores higher.
# How many there are in all is not known, but those that a wider beam repairs can be counted.


@dataclass(frozen=True)
class TranslatedSplit:
    """A run's translations of a split with one beam."""

    row: Mapping[str, Any]  # from scores.json
    counts: Counts
    hypotheses: Sequence[str]
    scores: Sequence[float]  # what the model gives to each hypothesis


def summarise_beam(variant: str, split: str, beam: int, runs: Sequence[TranslatedSplit]) -> BeamRow:
    bleu = [run.row["bleu"] for run in runs]
    means = {k: float(np.mean([run.row[k] for run in runs])) for k in ("bleu", "length_ratio", "model_score")}
    return BeamRow(
        variant=variant,
        split=split,
        beam=beam,
        runs=len(runs),
        bleu_low=min(bleu),
        bleu_high=max(bleu),
        # Runs that are measured at the same time slow each other down: the fastest was disturbed least.
        seconds_per_sentence=1 / max(run.row["sentences_per_second"] for run in runs),
        **means,
    )


def compare_beams(
    variant: str, split: str, beams: Mapping[int, Sequence[TranslatedSplit]]
) -> list[BeamRepair]:
    """Compares each wider beam with the narrowest; the runs are in the same order under every beam."""
    narrow, *wider = sorted(beams)
    found = [_compare_two_beams(variant, split, beams, narrow, wide) for wide in wider]
    return _correct(found, _repair_in_words)


def _compare_two_beams(
    variant: str, split: str, beams: Mapping[int, Sequence[TranslatedSplit]], narrow: int, wide: int
) -> BeamRepair:
    better, worse = [], 0
    for before, after in zip(beams[narrow], beams[wide], strict=True):
        gain = np.array(after.scores) - np.array(before.scores)
        changed = np.array([a != b for a, b in zip(after.hypotheses, before.hypotheses, strict=True)])
        better.append(changed & (gain > ROUNDING))
        worse += int((changed & (gain < -ROUNDING)).sum())
    repaired = sum(int(each.sum()) for each in better)

    def bleu_of_repaired(beam: int) -> float | None:
        sums = sum(run.counts[chosen].sum(0) for run, chosen in zip(beams[beam], better, strict=True))
        return float(bleu_from_counts(np.asarray(sums))) if repaired else None

    ours, theirs = (np.stack([run.counts for run in beams[beam]]) for beam in (wide, narrow))
    paired = compare_paired(ours, theirs, bleu_from_counts)
    return BeamRepair(
        variant=variant,
        split=split,
        narrow=narrow,
        wide=wide,
        runs=len(better),
        sentences=sum(map(len, better)),
        better=repaired,
        worse=worse,
        bleu_narrow=bleu_of_repaired(narrow),
        bleu_wide=bleu_of_repaired(wide),
        difference=paired.difference,
        interval=paired.interval,
        p=paired.p,
        p_corrected=paired.p,
        in_words="",
    )


def _repair_in_words(repair: BeamRepair, family: int) -> str:
    narrow, wide = _beam_in_words(repair.narrow), _beam_in_words(repair.wide)
    share, each = repair.better / repair.sentences, repair.sentences // repair.runs
    sample = _sample_in_words(repair.runs, "One run", "runs", each)
    if repair.bleu_narrow is None or repair.bleu_wide is None:
        return f"{repair.variant} on {repair.split}: {wide} repairs no search error of {narrow}. {sample}"
    # Three runs translate the same sentences, which must not look like three times as many.
    total = f"{each:,}" if repair.runs == 1 else f"{repair.runs} x {each:,}"
    cost = f" For {repair.worse:,} it finds one the model likes less." if repair.worse else ""
    overall = difference_in_words(wide, narrow, repair.difference, " BLEU")
    return (
        f"{repair.variant} on {repair.split}: {wide} finds a translation that the model likes better for "
        f"{repair.better:,} of {total} sentences ({share:.0%}), whose BLEU goes from "
        f"{repair.bleu_narrow:.1f} to {repair.bleu_wide:.1f}.{cost} On all sentences {overall}, "
        f"{_certainty_in_words(repair, family, 'widths', 1)}. {sample}"
    )


# Parts of sentences


def _certainty_in_words(found: ComparisonResult | BeamRepair, family: int, what: str, digits: int) -> str:
    """Returns the interval and p of a difference, and whether it may be due to sentences or seeds."""
    low, high = found.interval
    doubt = describe_doubt(found)
    if doubt:
        doubt = f", which {doubt}" if found.p_corrected >= ALPHA else f"; {doubt}"
    p = f"p = {found.p_corrected:.2g}" if found.p_corrected >= 0.001 else "p < 0.001"
    correction = f", corrected for {family} {what}" if family > 1 else ""
    if rounds_to_zero(low, digits) and rounds_to_zero(high, digits):
        interval = "95% interval included"
    elif rounds_to_zero(found.difference, digits):
        interval = f"95% from {_end_in_words(low, digits)} to {_end_in_words(high, digits)}"
    else:
        if found.difference < 0:  # then the interval is how far below
            low, high = -high, -low
        interval = f"95% {low:z.{digits}f} to {high:z.{digits}f}"  # z: no sign before a zero
    return f"{interval} ({p}{correction}){doubt}"


def _end_in_words(end: float, digits: int) -> str:
    return f"{abs(end):.{digits}f} {'above' if end > 0 else 'below'}"


def _sample_in_words(seeds: int, one: str, several: str, sentences: int) -> str:
    few = few_sentences_in_words(sentences)
    if seeds == 1:
        return f"{one}: this says nothing about other seeds.{few}"
    small = ": a small sample" if seeds < FEW_SEEDS else ""
    return f"{seeds} {several}{small}.{few}"


def _beam_in_words(beam: int) -> str:
    return "greedy search" if beam == 1 else f"beam {beam}"


def count_runs(count: int) -> str:
    return "1 finished run" if count == 1 else f"{count} finished runs"
