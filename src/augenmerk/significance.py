"""Tests whether one translator is better than another, or was only luckier with seeds and sentences.

Two systems translate the same N sentences, in S pairs of runs (one pair for each training seed; S = 1 for
`augenmerk evaluate --baseline`). Every sentence has C counts (see `augenmerk.scores`), so that thousands of
resampled test sets are one matrix product. All tests use the same numbers of samples and the same seed.

**Approximate randomisation** gives p. If the systems were equally good, it would not matter which of two
translations of a sentence came from which system. So the two are swapped at random, in all S pairs of runs
at once: translations of one sentence by several runs are alike, and swapping them one by one would count one
sentence S times. p is how often the difference is then at least as large as the real one. It speaks of
sentences, given these runs.

**Bootstrap resampling** draws N sentences with replacement, the same for all runs, and shows how much the
scores vary with the choice of sentences. `augenmerk evaluate` also takes a p from it: how often a resampled
difference is at least as far from the mean of the resampled differences, on either side, as the real
difference is from 0. `sacrebleu --paired-bs` takes the absolute value of each resampled difference before it
subtracts their mean; of a clear difference this leaves one side, and p is about half as large.

**The interval of a difference over seeds** is about new sentences and new seeds. The mean difference over S
seeds has a variance from the seeds, v1 = (variance of the S differences) / S with S - 1 degrees of freedom,
and one from the sentences, v2 by bootstrap with N - 1. The interval is the mean plus and minus
t * sqrt(v1 + v2), where t has Welch and Satterthwaite's degrees of freedom. What seeds do to single sentences
is in both parts, which makes the interval a little too wide rather than too narrow. A t-interval over three
seeds alone would leave out the choice of sentences, and a bootstrap over three seeds is too narrow. With one
pair of runs there is no v1, and the interval speaks of sentences alone.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augenmerk.bitext import SentencePair
from augenmerk.bitext.files import read_lines
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import Evaluation, Evaluator, save_row
from augenmerk.scores import (
    Counts,
    Score,
    bleu_from_counts,
    chrf_from_counts,
    count_bleu,
    count_chrf,
    score_texts,
)

TRIALS = 10_000  # of approximate randomisation
RESAMPLES = 2_000  # of the bootstrap
SEED = 12345  # also the default of sacrebleu
ALPHA = 0.05  # from this p on, a difference may be chance
FEW_SENTENCES = 200  # fewer than these are called a small sample
_BATCH = 1_000  # samples that are drawn and scored at once


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


def t_quantile(degrees_of_freedom: float) -> float:
    """Returns how many standard errors half of a 95% interval is wide."""
    from scipy.stats import t

    return float(t.ppf(0.975, degrees_of_freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns each p corrected for testing all of them (Holm 1979), in the same order."""
    p = np.array(p_values, dtype=np.float64)
    order = p.argsort()
    p[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return [float(each) for each in p]


# Two systems on the same sentences


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


def bootstrap(ours: Counts, theirs: Counts, score: Score, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Returns the scores (2, resamples, S) of both systems on resampled sentences of counts (S, N, C)."""
    rng = np.random.default_rng(SEED)
    pairs, sentences, counts = ours.shape
    both = np.concatenate((ours, theirs)).transpose(1, 0, 2).reshape(sentences, 2 * pairs * counts)
    scores = []
    for done in range(0, resamples, _BATCH):
        size = min(_BATCH, resamples - done)
        times = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size).astype(np.float64)
        scores.append(score((times @ both).reshape(size, 2, pairs, counts)))
    return np.concatenate(scores).transpose(1, 0, 2)


def p_value(samples: NDArray[np.float64], observed: float) -> float:
    """Returns the share of samples that are at least as large as what was observed.

    What was observed counts as one of the samples, so that p is never 0.
    """
    return float((1 + (samples >= observed - 1e-9).sum()) / (1 + len(samples)))


def bootstrap_p_value(resampled: NDArray[np.float64], difference: float) -> float:
    """Returns how often resampled differences are as far from their mean as the real one is from 0."""
    return p_value(np.abs(resampled - resampled.mean()), abs(difference))


@dataclass(frozen=True)
class PairedComparison:
    """The difference between two systems over one or more pairs of runs, ours minus theirs."""

    differences: tuple[float, ...]  # of each pair of runs
    difference: float  # their mean
    p_values: tuple[float, ...]  # of each pair of runs
    p: float
    interval: tuple[float, float]
    degrees_of_freedom: float
    seed_deviation: float | None
    sentence_deviation: float


def compare_paired(
    ours: Counts, theirs: Counts, score: Score, *, trials: int = TRIALS, resamples: int = RESAMPLES
) -> PairedComparison:
    """Compares two systems by counts (S, N, C) of each; the same counts give the same numbers."""
    pairs, sentences, _ = ours.shape
    differences = score(ours.sum(1)) - score(theirs.sum(1))  # (S)
    difference = float(differences.mean())
    swapped = randomise(ours, theirs, score, trials)
    our_scores, their_scores = bootstrap(ours, theirs, score, resamples)
    seed_variance = float(differences.var(ddof=1)) / pairs if pairs > 1 else 0.0
    sentence_variance = float((our_scores - their_scores).mean(1).var(ddof=1))
    variance = seed_variance + sentence_variance
    degrees = _degrees_of_freedom((seed_variance, pairs - 1), (sentence_variance, sentences - 1))
    half = t_quantile(degrees) * math.sqrt(variance) if variance else 0.0
    return PairedComparison(
        differences=tuple(map(float, differences)),
        difference=difference,
        p_values=tuple(
            p_value(np.abs(column), abs(real))
            for column, real in zip(swapped.T, map(float, differences), strict=True)
        ),
        p=p_value(np.abs(swapped.mean(1)), abs(difference)),
        interval=(difference - half, difference + half),
        degrees_of_freedom=degrees,
        seed_deviation=float(differences.std(ddof=1)) if pairs > 1 else None,
        sentence_deviation=math.sqrt(sentence_variance),
    )


def _degrees_of_freedom(*parts: tuple[float, int]) -> float:
    """Returns the degrees of freedom of a sum of variances (Welch and Satterthwaite)."""
    total = sum(variance for variance, _ in parts)
    weight = sum(variance**2 / degrees for variance, degrees in parts if variance and degrees)
    return total**2 / weight if weight else 1.0


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


# One run against another: `augenmerk evaluate --baseline`


@dataclass(frozen=True)
class Comparison:
    """Two scores of the same sentences, ignoring case, and how certain their difference is."""

    metric: str
    score: float
    baseline_score: float
    difference: float
    sentences: int
    interval: tuple[float, float]
    """95% of the resampled scores, as sacrebleu computes it: their mean plus and minus half the width."""
    baseline_interval: tuple[float, float]
    p_randomisation: float
    p_bootstrap: float
    """Two-sided: how often resampled differences are as far from their mean as the real one is from 0."""
    trials: int
    resamples: int
    seed: int

    def in_words(self, name: str, baseline: str) -> str:
        if not self.difference:
            return f"{name} and {baseline} have the same {self.metric}."
        small = [p < ALPHA for p in (self.p_randomisation, self.p_bootstrap)]
        doubt = "" if all(small) else ", which may be chance"
        if any(small) and not all(small):
            doubt += ": the two tests disagree"  # on few sentences, the bootstrap finds too much
        return (
            f"{difference_in_words(name, baseline, self.difference, f' {self.metric}')}{doubt} "
            f"(p = {self.p_randomisation:.2g} by approximate randomisation, {self.p_bootstrap:.2g} by paired "
            f"bootstrap).{few_sentences_in_words(self.sentences)}"
        )


def compare_texts(
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    *,
    trials: int = TRIALS,
    resamples: int = RESAMPLES,
) -> dict[str, Comparison]:
    """Compares two translations of the same sentences by BLEU and by chrF."""
    compared = {}
    for key, name, count, score in (
        ("bleu", "BLEU", count_bleu, bleu_from_counts),
        ("chrf", "chrF", count_chrf, chrf_from_counts),
    ):
        ours, theirs = (count(texts, references)[None] for texts in (hypotheses, baseline))
        our_score, their_score = (float(score(counts.sum(1))[0]) for counts in (ours, theirs))
        difference = our_score - their_score
        our_scores, their_scores = bootstrap(ours, theirs, score, resamples)[..., 0]
        compared[key] = Comparison(
            metric=name,
            score=our_score,
            baseline_score=their_score,
            difference=difference,
            sentences=ours.shape[1],
            interval=_resampled_interval(our_scores),
            baseline_interval=_resampled_interval(their_scores),
            p_randomisation=p_value(np.abs(randomise(ours, theirs, score, trials)), abs(difference)),
            p_bootstrap=bootstrap_p_value(our_scores - their_scores, difference),
            trials=trials,
            resamples=resamples,
            seed=SEED,
        )
    return compared


def _resampled_interval(scores: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the 95% interval around the mean of resampled BLEU or chrF, which are from 0 to 100."""
    ordered, outside = np.sort(scores), len(scores) // 40  # 2.5% on each side
    half = (ordered[-1 - outside] - ordered[outside]) / 2
    return max(0.0, float(scores.mean() - half)), min(100.0, float(scores.mean() + half))


def compare_runs(
    ours: Evaluator, theirs: Evaluator, splits: Sequence[str], beams: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Returns the rows of `ours`, each with the paired tests under "baseline"; both runs keep their rows.

    A run can be compared with itself to see what an ensemble or MBR is worth. Both runs are tested on the
    same sentences; settings and training data may differ.
    """
    run, baseline = ours.run, theirs.run
    if run.path.resolve() == baseline.path.resolve() and ours.row_labels == theirs.row_labels:
        raise AugenmerkError(f"{run.path} cannot be compared with itself; name another run.")
    pairs = ours.read_splits(splits)
    for split, their_pairs in theirs.read_splits(list(pairs)).items():
        if problem := _describe_other_sentences(pairs[split], their_pairs):
            raise AugenmerkError(
                f"{run.path} and {baseline.path} cannot be compared on '{split}': {problem}; "
                f"paired tests need runs that are tested on the same sentences."
            )
    beams = beams or [run.config.search.beam]
    rows = []
    with ours.translator, theirs.translator:
        evaluations = zip(ours.evaluate(pairs, beams), theirs.evaluate(pairs, beams), strict=True)
    for our, their in evaluations:
        tests = _test_difference(ours, our, their.hypotheses, theirs.name)
        rows.append({**our.row, "baseline": {"run": str(baseline.path), **tests}})
    return rows


def compare_with_file(
    ours: Evaluator, file: Path, splits: Sequence[str], beams: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Scores the output of another system, a translation on each line, beside that of a run.

    Returns the rows of `ours`, each with the paired tests under "baseline", and then the row of the file. The
    run keeps the row of the file in its other_scores.json, with a copy of the file in `hypotheses`.
    """
    pairs = ours.read_splits(splits)
    if len(pairs) > 1:
        raise AugenmerkError(f"{file} has the translations of one split; give one --split.")
    [(split, sentences)] = pairs.items()
    lines = list(read_lines(file))
    if len(lines) != len(sentences):
        raise AugenmerkError(
            f"{file} has {len(lines):,} lines, and '{split}' of {ours.bitext.name} has {len(sentences):,} "
            f"sentence pairs; there must be a translation on a line for each."
        )
    with ours.translator:
        evaluations = ours.evaluate(pairs, beams)
    references = evaluations[0].references
    their_row: dict[str, Any] = {
        "split": split,
        "hypotheses": str(file.resolve()),
        **({"data": ours.row_labels["data"]} if "data" in ours.row_labels else {}),
        **score_texts(lines, references, ter=ours.ter),
        "sentences": len(lines),
    }
    save_row(ours.run, their_row, lines, [])
    rows = []
    for our in evaluations:
        tests = _test_difference(ours, our, lines, str(file))
        rows.append({**our.row, "baseline": {"hypotheses": their_row["hypotheses"], **tests}})
    return [*rows, their_row]


def _test_difference(
    ours: Evaluator, our: Evaluation, hypotheses: Sequence[str], their_name: str
) -> dict[str, Any]:
    """Returns the paired tests against other translations of the same sentences, for BLEU and for chrF."""
    what = f"paired tests: {our.row['split']}, beam {our.row['beam']}"
    ours.on_progress(what, 0, 1)
    found = {}
    for name, comparison in compare_texts(our.hypotheses, hypotheses, our.references).items():
        words = comparison.in_words(ours.name, their_name)
        found[name] = {**asdict(comparison), "signature": our.row[f"{name}_signature"], "in_words": words}
    ours.on_progress(what, 1, 1)
    return found


def _describe_other_sentences(ours: Sequence[SentencePair], theirs: Sequence[SentencePair]) -> str | None:
    if len(ours) != len(theirs):
        return f"it has {len(ours):,} sentences in the one and {len(theirs):,} in the other"
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True), 1):
        if (our.source, our.target) != (their.source, their.target):
            return f"sentence {number} is not the same in both"
    return None
