"""Variants against each other, in numbers and in a sentence. `augenmerk.study.resampling` says how."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np

from augenmerk.study.resampling import (
    RESAMPLES,
    TRIALS,
    Counts,
    Paired,
    bleu_score,
    compare_paired,
    mean_score,
)
from augenmerk.study.result import ComparisonResult, Interval, SeedComparison
from augenmerk.study.statistics import holm

DOUBTFUL = 0.05
"""From this p on, a difference may be chance."""
FEW_SEEDS = 5
FEW_SENTENCES = 200
"""Fewer than these are called a small sample."""

BySeed = Mapping[int, Counts]
"""A variant's counts (N, C) of each of its finished runs."""


def compare_variants(
    counts: Mapping[str, BySeed], measure: Literal["bleu", "loss"], split: str, beam: int | None
) -> tuple[list[ComparisonResult], list[str]]:
    """Every two variants on the seeds they share; and what has to be said about those that share none."""
    compared, remarks = [], []
    for against, variant in combinations(counts, 2):  # later ones against earlier ones, as the file has them
        ours, theirs = counts[variant], counts[against]
        seeds = sorted(ours.keys() & theirs.keys())
        if not ours or not theirs:
            continue
        if not seeds:
            remarks.append(f"{variant} and {against} cannot be compared: no finished run has the same seed.")
            continue
        if ours.keys() != theirs.keys():
            remarks.append(
                f"{variant} has {runs(len(ours))} and {against} {runs(len(theirs))}: they are compared on "
                f"{listed_seeds(seeds)}, which both have."
            )
        paired = compare_paired(
            np.stack([ours[seed] for seed in seeds]),
            np.stack([theirs[seed] for seed in seeds]),
            {"bleu": bleu_score, "loss": mean_score}[measure],
        )
        result = _result(variant, against, seeds, ours[seeds[0]].shape[0], paired)
        compared.append(replace(result, measure=measure, split=split, beam=beam))
    corrected = holm([each.p for each in compared])
    compared = [replace(each, p_corrected=p) for each, p in zip(compared, corrected, strict=True)]
    return [replace(each, in_words=in_words(each, len(compared))) for each in compared], remarks


def _result(
    variant: str, against: str, seeds: Sequence[int], sentences: int, paired: Paired
) -> ComparisonResult:
    return ComparisonResult(
        variant=variant,
        against=against,
        measure="bleu",
        split="",
        beam=None,
        sentences=sentences,
        seeds=tuple(
            SeedComparison(seed, difference, p)
            for seed, difference, p in zip(seeds, paired.differences, paired.p_values, strict=True)
        ),
        difference=paired.difference,
        interval=paired.interval,
        interval_covers="sentences and seeds" if len(seeds) > 1 else "sentences",
        degrees_of_freedom=paired.degrees_of_freedom,
        seed_deviation=paired.seed_deviation,
        sentence_deviation=paired.sentence_deviation,
        p=paired.p,
        p_corrected=paired.p,
        trials=TRIALS,
        resamples=RESAMPLES,
        in_words="",
    )


def in_words(compared: ComparisonResult, family: int) -> str:
    """The finding, what kind of doubt there is, and on how much it rests."""
    name, against, difference = compared.variant, compared.against, compared.difference
    low, high = along(compared.interval, difference)
    if compared.measure == "loss":
        amount = f"{abs(difference):.3f} {side(difference)}"
        finding = f"The loss of {name} on {compared.split} is {amount} that of {against}"
        interval = f"{low:z.3f} to {high:z.3f}"  # z: what rounds to nothing has no sign
        same = f"{name} and {against} have the same loss on {compared.split}"
    else:
        place = f"on {compared.split} with {beam_in_words(compared.beam or 1)}"
        finding = f"{name} is {size(difference)} BLEU {side(difference)} {against} {place}"
        interval = f"{low:z.1f} to {high:z.1f}"
        same = f"{name} and {against} have the same BLEU {place}"
    if not difference and not compared.sentence_deviation and not compared.seed_deviation:
        return f"{same} whatever sentences are drawn: no difference."
    correction = f", corrected for {family} comparisons" if family > 1 else ""
    return (
        f"{finding}, 95% {interval} ({p_in_words(compared.p_corrected)}{correction})"
        f"{doubt(compared.p_corrected, compared.interval)}. {basis(len(compared.seeds), compared.sentences)}"
    )


def doubt(p: float, interval: Interval) -> str:
    """What may be wrong with a finding: the sentences, or the seeds."""
    if p >= DOUBTFUL:
        return ", which may be chance"
    if interval[0] <= 0 <= interval[1]:
        return "; these runs do differ, but others may not"
    return ""


def basis(seeds: int, sentences: int) -> str:
    """What a comparison rests on; a small sample is called one."""
    return _sample(seeds, "One run of each", "pairs of runs", sentences)


def basis_of_one(seeds: int, sentences: int) -> str:
    """The same for a variant's runs by themselves."""
    return _sample(seeds, "One run", "runs", sentences)


def _sample(seeds: int, one: str, several: str, sentences: int) -> str:
    few = f" Only {sentences} sentences: a small sample." if sentences < FEW_SENTENCES else ""
    if seeds == 1:
        return f"{one}: this says nothing about other seeds.{few}"
    small = ": a small sample" if seeds < FEW_SEEDS else ""
    return f"{seeds} {several}{small}.{few}"


def size(difference: float) -> str:
    return f"{abs(difference):.1f}" if abs(difference) >= 0.05 else "less than 0.1"


def along(interval: Interval, difference: float) -> Interval:
    """How far above, or how far below, whichever is said."""
    low, high = interval
    return (-high, -low) if difference < 0 else (low, high)


def side(difference: float) -> str:
    return "above" if difference > 0 else "below"


def p_in_words(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def beam_in_words(beam: int) -> str:
    return "greedy search" if beam == 1 else f"beam {beam}"


def runs(count: int) -> str:
    return "1 finished run" if count == 1 else f"{count} finished runs"


def listed_seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
