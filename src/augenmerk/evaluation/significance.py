"""Tests whether one translator is better than another, or was only luckier with seeds and sentences.

Systems translate the same N sentences, each in S runs, one for each training seed (S = 1 for `augenmerk
evaluate --baseline`). Every sentence has C counts (see `augenmerk.evaluation.metrics`), so that
thousands of resampled test sets are one matrix product. All tests use the same numbers of samples and seed.

**Effects** are about new seeds and new sentences. An effect is a contrast: a weighted sum of the scores of
systems, such as one minus another. Its value under seed s varies with the seed (variance A), with the N
sentences (B for each) and with what seeds do to single sentences (C), so the mean over S seeds has the
variance A/S + B/N + C/(SN). It is estimated from two parts:

    v_seeds     = (variance of the S values) / S         estimates A/S + C/(SN)
    v_sentences = v_mean - interaction                   estimates B/N; at least 0

where v_mean is the bootstrap variance of the mean over seeds, B/N + C/(SN). The interaction C/(SN) would be
in both and is taken out once: the mean of each seed's own bootstrap variance estimates (B + C)/N, so (that
mean - v_mean) / (S - 1) estimates C/(SN).

The interval is the mean plus and minus c * sqrt(v), where v = v_seeds + v_sentences and, with the share
w = v_seeds / v and Student's quantiles t for S - 1 and N - 1 degrees of freedom,

    c^2 = t(S-1)^2 w^k + t(N-1)^2 (1 - w^k),    k = 2 - 3/(4(S-1)).

p is the level at which that interval ends at 0, so both always agree. Welch and Satterthwaite's degrees of
freedom would be too optimistic: with two seeds, they find a difference where there is none in up to 13 % of
studies, with three in up to 8 %. The formula above is exact where seeds or sentences dominate, and in between
rather too careful: with many sentences, it finds a difference where there is none in 1.9 to 5.3 % of studies
with two seeds, 3.8 to 5.3 % with three, 4.6 to 5.1 % with five (`tests/unit/test_calibration.py`). With one
seed there is no v_seeds, and effects speak of sentences alone.

**Approximate randomisation** speaks of these runs only: two halves of one variant's runs often differ by it.
If two systems were equally good, it would not matter which of two translations of a sentence came from which
system. So the two are swapped at random, in all S pairs of runs at once, because translations of one sentence
by several runs are alike. p is how often the difference is then at least as large as the real one.

**Bootstrap resampling** draws N sentences with replacement, the same for all runs. `augenmerk evaluate` also
takes a p from it: how often a resampled difference is at least as far from the mean of the resampled
differences as the real difference is from 0. `sacrebleu --paired-bs` takes the absolute value of each before
it subtracts their mean; of a clear difference this leaves one side, and p is about half as large.

**Holm's correction** multiplies each p of a family of comparisons. Each interval is widened to the level at
which it excludes 0 exactly if the corrected p is below 0.05. It is never narrower than a 95 % interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augenmerk.evaluation.metrics import Counts, Score

if TYPE_CHECKING:
    pass


TRIALS = 10_000
"""Number of random swaps of approximate randomisation."""
RESAMPLES = 2_000
"""Number of resampled test sets of the bootstrap."""
SEED = 12345
"""Seed of both, which is also sacrebleu's default."""
ALPHA = 0.05
"""From this p on, a difference may be chance."""
SMALLEST_P = 1e-15
"""Smaller values of p are not told apart."""
_BATCH = 1_000
"""Number of samples drawn and scored at once."""


# A few numbers over seeds


class Estimate(NamedTuple):
    """A mean, with the variance of the values and the 95% interval of the mean; None for a single value."""

    mean: float
    variance: float | None
    interval: tuple[float, float] | None


def estimate_mean(values: Sequence[float]) -> Estimate:
    """Returns the mean, the variance with n - 1, and the interval of the mean by Student's t."""
    n = len(values)
    mean = math.fsum(values) / n
    mean = min(max(mean, min(values)), max(values))  # rounding must not carry it beyond them
    if n == 1:
        return Estimate(mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Estimate(mean, variance, (mean - half, mean + half))


def t_quantile(degrees_of_freedom: float, alpha: float = ALPHA) -> float:
    """Returns how many standard errors half of a two-sided interval is wide that leaves out `alpha`."""
    from scipy.special import stdtrit

    return float(-stdtrit(degrees_of_freedom, alpha / 2))


def holm_factors(p_values: Sequence[float]) -> list[float]:
    """Returns by how much Holm's correction multiplies each p; all are at least 1."""
    p = np.array(p_values, dtype=np.float64)
    order, factors = p.argsort(), np.arange(len(p), 0, -1, dtype=np.float64)
    ordered = p[order]
    corrected = np.maximum.accumulate(ordered * factors)
    np.divide(corrected, ordered, out=factors, where=ordered > 0)
    p[order] = factors
    return [float(each) for each in p]


# Systems on the same sentences


def randomise(ours: Counts, theirs: Counts, score: Score, trials: int = TRIALS) -> NDArray[np.float64]:
    """Returns the differences (trials, S) after randomly swapping sentences of counts (S, N, C)."""
    rng = np.random.default_rng(SEED)
    pairs, sentences, counts = ours.shape
    change = (theirs - ours).transpose(1, 0, 2).reshape(sentences, pairs * counts)
    differences = []
    for done in range(0, trials, _BATCH):
        size = min(_BATCH, trials - done)
        swaps = rng.integers(0, 2, (size, sentences)).astype(np.float64)
        moved = (swaps @ change).reshape(size, pairs, counts)
        differences.append(score(ours.sum(1) + moved) - score(theirs.sum(1) - moved))
    return np.concatenate(differences)


def bootstrap(counts: Counts, score: Score, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Returns the scores (resamples, V, S) of V systems on resampled sentences of counts (V, S, N, C)."""
    rng = np.random.default_rng(SEED)
    systems, runs, sentences, kinds = counts.shape
    table = counts.reshape(systems * runs, sentences, kinds).transpose(1, 0, 2).reshape(sentences, -1)
    scores = []
    for done in range(0, resamples, _BATCH):
        size = min(_BATCH, resamples - done)
        times = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size).astype(np.float64)
        scores.append(score((times @ table).reshape(size, systems, runs, kinds)))
    return np.concatenate(scores)


def p_value(samples: NDArray[np.float64], observed: float) -> float:
    """Returns the share of samples that are at least as large as what was observed.

    What was observed counts as one of the samples, so that p is never 0.
    """
    return float((1 + (samples >= observed - 1e-9).sum()) / (1 + len(samples)))


def bootstrap_p_value(resampled: NDArray[np.float64], difference: float) -> float:
    """Returns how often resampled differences are as far from their mean as the real one is from 0."""
    return p_value(np.abs(resampled - resampled.mean()), abs(difference))


@dataclass(frozen=True)
class Effect:
    """A contrast of systems, with what seeds and sentences contribute to its variance; see the module."""

    values: tuple[float, ...]  # of each seed
    sentences: int
    v_seeds: float  # 0 with one seed
    v_sentences: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def p(self) -> float:
        """Two-sided: the level at which the interval ends at 0."""
        from scipy.optimize import brentq

        variance, square = self.v_seeds + self.v_sentences, self.mean**2
        if not square or not variance:
            return float(not square)

        def gap(logarithm: float) -> float:
            return self._critical_square(math.exp(logarithm)) - square / variance

        lowest = math.log(SMALLEST_P)
        return SMALLEST_P if gap(lowest) <= 0 else math.exp(float(brentq(gap, lowest, 0.0, xtol=1e-12)))

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        half = math.sqrt(self._critical_square(alpha) * (self.v_seeds + self.v_sentences))
        return self.mean - half, self.mean + half

    def _critical_square(self, alpha: float) -> float:
        of_sentences = t_quantile(self.sentences - 1, alpha) ** 2
        if not self.v_seeds:
            return of_sentences
        degrees = len(self.values) - 1
        weight = (self.v_seeds / (self.v_seeds + self.v_sentences)) ** (2 - 0.75 / degrees)
        return float(t_quantile(degrees, alpha) ** 2 * weight + of_sentences * (1 - weight))


def measure_effects(
    counts: Counts, contrasts: NDArray[np.float64], score: Score, resamples: int = RESAMPLES
) -> list[Effect]:
    """Measures contrasts (K, V), rows of weights, of V systems by their counts (V, S, N, C)."""
    _, seeds, sentences, _ = counts.shape
    if sentences < 2:
        raise ValueError("the variance over sentences takes two of them")
    values = contrasts @ score(counts.sum(2))  # (K, S)
    resampled = contrasts @ bootstrap(counts, score, resamples)  # (resamples, K, S)
    v_mean = resampled.mean(2).var(0, ddof=1)  # (K)
    v_seeds, interaction = np.zeros_like(v_mean), np.zeros_like(v_mean)
    if seeds > 1:
        v_seeds = values.var(1, ddof=1) / seeds
        interaction = (resampled.var(0, ddof=1).mean(1) - v_mean) / (seeds - 1)
    # Where the values of all seeds happen to be equal, there is nothing to take out.
    v_sentences = np.where(v_seeds > 0, np.maximum(v_mean - interaction, 0), v_mean)
    return [
        Effect(tuple(map(float, of_seeds)), sentences, float(v_seed), float(v_sentence))
        for of_seeds, v_seed, v_sentence in zip(values, v_seeds, v_sentences, strict=True)
    ]


FEW_SENTENCES = 200
"""A test set with fewer sentences is called a small sample."""


def difference_in_words(name: str, other: str, difference: float, unit: str, digits: int = 1) -> str:
    """Returns a difference such as "a is 0.3 BLEU above b", or "a and b differ by less than 0.1 BLEU".

    The unit begins with a space, or is empty.
    """
    if rounds_to_zero(difference, digits):
        return f"{name} and {other} differ by less than {10**-digits:.{digits}f}{unit}"
    return f"{name} is {abs(difference):.{digits}f}{unit} {'above' if difference > 0 else 'below'} {other}"


def rounds_to_zero(difference: float, digits: int) -> bool:
    return float(f"{difference:.{digits}f}") == 0


def few_sentences_in_words(sentences: int) -> str:
    """Returns a warning that begins with a space, or nothing if there are enough sentences."""
    if sentences >= FEW_SENTENCES:
        return ""
    return f" Only {sentences} sentence{'' if sentences == 1 else 's'}: a small sample."
