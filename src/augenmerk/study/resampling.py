"""Two ways to translate the same sentences: how far apart are they, and how sure is that?

S pairs of runs (one pair for each seed), N sentences, C counts of each. BLEU and the loss are functions of
sums of counts over sentences, so the counts are taken once, and thousands of resampled test sets are one
matrix product.

**p** is by approximate randomisation. If the two ways were one, it would not matter which of two translations
of a sentence came from which. So the two are swapped for sentences drawn by lot, in all S pairs of runs at
once: translations of one sentence by several runs are alike, and swapping them one by one would count one
sentence S times. How often is the mean difference over the S pairs then as large as the real one? This speaks
of sentences, given these runs.

**The interval** is about new sentences and new seeds. The mean difference over S seeds has a variance from
the seeds, v1 = (variance of the S differences) / S with S - 1 degrees of freedom, and one from the sentences,
v2 by bootstrap (sentences drawn with replacement, the same for all runs) with N - 1. The interval is the mean
plus and minus t * sqrt(v1 + v2), where t has Welch and Satterthwaite's degrees of freedom. What seeds do to
single sentences is in both parts, which makes the interval a little too wide rather than too narrow. A
t-interval over three seeds alone would leave out the choice of sentences, and a bootstrap over three seeds is
too narrow. With one pair of runs there is no v1, and the interval speaks of sentences alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from augenmerk.study.result import Interval
from augenmerk.study.statistics import t_quantile

Counts = NDArray[np.float64]
Score = Callable[[Counts], NDArray[np.float64]]
"""Sums of counts (..., C) to scores (...)."""

ORDERS = 4
TRIALS = 10_000
RESAMPLES = 2_000
SEED = 12345
_AT_ONCE = 1_000


def bleu_counts(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """(N, C) of each sentence, as sacrebleu counts them in lower case: words of hypothesis and reference,
    n-grams that are in both, n-grams of the hypothesis."""
    metric = BLEU(lowercase=True)
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        score: Any = metric.corpus_score([hypothesis], [[reference]])
        rows.append([score.sys_len, score.ref_len, *score.counts, *score.totals])
    return np.array(rows, dtype=np.float64).reshape(-1, 2 + 2 * ORDERS)


def bleu_score(sums: Counts) -> NDArray[np.float64]:
    """BLEU of summed counts; n-grams that never match are smoothed as sacrebleu does ("exp")."""
    lengths, references = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    smoothing = np.ones(sums.shape[:-1])
    logarithm = np.zeros(sums.shape[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for order in range(ORDERS):
            match, total = matches[..., order], totals[..., order]
            smoothing = np.where(match == 0, 2 * smoothing, smoothing)
            precision = np.where(match == 0, 1 / (smoothing * total), match / total)
            logarithm += np.where(total == 0, -np.inf, np.log(precision)) / ORDERS
        brevity = np.where(lengths < references, 1 - references / lengths, 0.0)
        score = 100 * np.exp(brevity + logarithm)
    return np.where(matches.any(-1), score, 0.0)


def mean_score(sums: Counts) -> NDArray[np.float64]:
    """Of a sum and what it is to be divided by: the loss is one, over the target tokens of all sentences."""
    return np.asarray(sums[..., 0] / sums[..., 1])


@dataclass(frozen=True)
class Paired:
    """The difference between two ways, one minus the other."""

    differences: tuple[float, ...]
    """Of each pair of runs."""
    difference: float
    """Their mean."""
    p_values: tuple[float, ...]
    """Of each pair of runs."""
    p: float
    interval: Interval
    degrees_of_freedom: float
    seed_deviation: float | None
    sentence_deviation: float


def compare_paired(
    ours: Counts,
    theirs: Counts,
    score: Score = bleu_score,
    *,
    trials: int = TRIALS,
    resamples: int = RESAMPLES,
) -> Paired:
    """Of counts (S, N, C) each; the same counts give the same numbers."""
    pairs, sentences, _ = ours.shape
    differences = score(ours.sum(1)) - score(theirs.sum(1))  # (S)
    difference = float(differences.mean())
    swapped = _swapped_differences(ours, theirs, score, trials)  # (trials, S)
    resampled = _resampled_differences(ours, theirs, score, resamples).mean(1)  # (resamples)
    seed_variance = float(differences.var(ddof=1)) / pairs if pairs > 1 else 0.0
    sentence_variance = float(resampled.var(ddof=1))
    variance = seed_variance + sentence_variance
    degrees = _degrees_of_freedom((seed_variance, pairs - 1), (sentence_variance, sentences - 1))
    half = t_quantile(degrees) * math.sqrt(variance) if variance else 0.0
    return Paired(
        differences=tuple(map(float, differences)),
        difference=difference,
        p_values=tuple(_share_as_large(swapped[:, pair], float(differences[pair])) for pair in range(pairs)),
        p=_share_as_large(swapped.mean(1), difference),
        interval=(difference - half, difference + half),
        degrees_of_freedom=degrees,
        seed_deviation=float(differences.std(ddof=1)) if pairs > 1 else None,
        sentence_deviation=math.sqrt(sentence_variance),
    )


def _swapped_differences(ours: Counts, theirs: Counts, score: Score, trials: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    pairs, sentences, counts = ours.shape
    change = (theirs - ours).transpose(1, 0, 2).reshape(sentences, pairs * counts)
    found = []
    for done in range(0, trials, _AT_ONCE):
        some = min(_AT_ONCE, trials - done)
        swaps = rng.integers(0, 2, (some, sentences)).astype(np.float64)
        moved = (swaps @ change).reshape(some, pairs, counts)
        found.append(score(ours.sum(1) + moved) - score(theirs.sum(1) - moved))
    return np.concatenate(found)


def _resampled_differences(ours: Counts, theirs: Counts, score: Score, resamples: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    pairs, sentences, counts = ours.shape
    both = np.concatenate((ours, theirs)).transpose(1, 0, 2).reshape(sentences, 2 * pairs * counts)
    found = []
    for done in range(0, resamples, _AT_ONCE):
        some = min(_AT_ONCE, resamples - done)
        times = rng.multinomial(sentences, np.full(sentences, 1 / sentences), some).astype(np.float64)
        scores = score((times @ both).reshape(some, 2 * pairs, counts))
        found.append(scores[:, :pairs] - scores[:, pairs:])
    return np.concatenate(found)


def _share_as_large(found: NDArray[np.float64], real: float) -> float:
    """The real difference counts as one of the trials, so p is never 0."""
    return float((1 + (np.abs(found) >= abs(real) - 1e-9).sum()) / (1 + len(found)))


def _degrees_of_freedom(*parts: tuple[float, int]) -> float:
    """Of a sum of variances, each with its own (Welch and Satterthwaite)."""
    total = sum(variance for variance, _ in parts)
    weight = sum(variance**2 / degrees for variance, degrees in parts if variance and degrees)
    return total**2 / weight if weight else 1.0
