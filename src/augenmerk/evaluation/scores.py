"""Scores of translated text: what a metric over texts is, and those of sacrebleu.

`bleu` and `chrf` ignore case, so that models with and without upper case can be compared; `bleu_cased` and
`chrf_cased` do not. Each score comes with the signature that says exactly what was computed.

BLEU, chrF and the loss of a test set are functions of counts summed over its sentences. The counts of each
sentence are taken once (`TextMetric.count`); the score of any resampled test set then follows from sums of
them (`TextMetric.from_counts`). `augenmerk.evaluation.metrics` lists all metrics.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from augenmerk.evaluation.metrics import list_text_metrics
from augenmerk.translation.mbr import CHRF_BETA, CHRF_ORDERS

Counts = NDArray[np.float64]
Score = Callable[[Counts], NDArray[np.float64]]
"""Maps sums of counts (..., C) to scores (...)."""

Count = Callable[[Sequence[str], Sequence[str]], Counts]
"""Maps hypotheses and references to the counts of each sentence (N, C)."""

BLEU_ORDERS = 4


class TextScore(NamedTuple):
    """The score of a test set."""

    value: float
    signature: str
    """All that decides about the value, so that it can be computed again elsewhere."""
    length_ratio: float | None = None
    """Only of BLEU: the length of the hypotheses in words divided by that of the references."""


class TextMetric:
    """A metric over texts that follows from counts of single sentences.

    A subclass has a signature, `count` and `from_counts`.
    """

    signature: str
    has_counts = True
    """Whether `count` and `from_counts` are there, which paired tests need."""

    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        """Returns the counts of each sentence (N, C)."""
        raise NotImplementedError

    def from_counts(self, sums: Counts) -> NDArray[np.float64]:
        """Returns the scores (...) for sums of counts (..., C)."""
        raise NotImplementedError

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> TextScore:
        """Returns the score of all sentences together."""
        sums = self.count(hypotheses, references).sum(0)
        return TextScore(float(self.from_counts(sums)), self.signature)


class _Sacrebleu(TextMetric):
    """A metric of sacrebleu, with its counts and their formula if paired tests are to compare it."""

    def __init__(
        self, metric: SacrebleuMetric, count: Count | None = None, from_counts: Score | None = None
    ) -> None:
        self._metric = metric
        self._count = count
        self._from_counts = from_counts
        self.has_counts = count is not None

    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        assert self._count is not None
        return self._count(hypotheses, references)

    def from_counts(self, sums: Counts) -> NDArray[np.float64]:
        assert self._from_counts is not None
        return self._from_counts(sums)

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> TextScore:
        found = self._metric.corpus_score(list(hypotheses), [list(references)])
        ratio = float(found.ratio) if isinstance(found, BLEUScore) else None
        return TextScore(float(found.score), str(self._metric.get_signature()), ratio)


def bleu() -> TextMetric:
    return _Sacrebleu(BLEU(lowercase=True), count_bleu, bleu_from_counts)


def bleu_cased() -> TextMetric:
    return _Sacrebleu(BLEU())


def chrf() -> TextMetric:
    return _Sacrebleu(CHRF(lowercase=True), count_chrf, chrf_from_counts)


def chrf_cased() -> TextMetric:
    return _Sacrebleu(CHRF())


def ter() -> TextMetric:
    return _Sacrebleu(TER())  # ignores case by default


def score_texts(
    hypotheses: Sequence[str], references: Sequence[str], asked: Collection[str] = ()
) -> dict[str, float | str]:
    """Returns the score and signature of each metric over texts, and the length ratio.

    Metrics that have an option of `evaluate` are computed only if they are `asked` for.
    """
    row: dict[str, float | str] = {}
    for key, metric in list_text_metrics().items():
        if metric.option and key not in asked:
            continue
        score = metric.load().score(hypotheses, references)
        row |= {key: score.value, f"{key}_signature": score.signature}
        if key == "bleu" and score.length_ratio is not None:
            row["length_ratio"] = score.length_ratio
    return row


def compute_bleu(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool) -> float:
    """Returns BLEU alone, which is much faster than `score_texts`."""
    return BleuScorer(references, lowercase=lowercase).score(hypotheses)


class BleuScorer:
    """BLEU against the same references again and again, whose n-grams are counted once."""

    def __init__(self, references: Sequence[str], *, lowercase: bool) -> None:
        self._metric = BLEU(lowercase=lowercase, references=[list(references)])

    def score(self, hypotheses: Sequence[str]) -> float:
        return float(self._metric.corpus_score(list(hypotheses), None).score)


def sacrebleu_command(references: Path, hypotheses: Sequence[Path], *, ter: bool = False) -> list[str]:
    """Returns the command that prints `bleu`, `chrf` and `ter` of files with one sentence per line."""
    metrics = ("bleu", "chrf", "ter") if ter else ("bleu", "chrf")
    files = (str(references), "-i", *map(str, hypotheses))
    return ["sacrebleu", *files, "-m", *metrics, "-lc", "--chrf-lowercase"]


def count_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """Returns for each sentence (N, 10), ignoring case: words of the hypothesis and of the reference, n-grams
    that match, n-grams of the hypothesis."""
    return _count(BLEU(lowercase=True, force=True), hypotheses, references)


def count_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """Returns for each sentence (N, 18), ignoring case: for each n the character n-grams of the hypothesis,
    those of the reference, and those that match."""
    return _count(CHRF(lowercase=True), hypotheses, references)


def _count(metric: SacrebleuMetric, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
    # Not public, but what sacrebleu's own paired tests start from, and the only way to the counts of chrF.
    counts = metric._extract_corpus_statistics(hypotheses, [references])
    return np.array(counts, dtype=np.float64)


def bleu_from_counts(sums: Counts) -> NDArray[np.float64]:
    """Returns BLEU; orders without a match are smoothed as sacrebleu does by default ("exp")."""
    lengths, references = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + BLEU_ORDERS], sums[..., 2 + BLEU_ORDERS :]
    smoothing = np.ones(sums.shape[:-1])
    logarithm = np.zeros(sums.shape[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for order in range(BLEU_ORDERS):
            match, total = matches[..., order], totals[..., order]
            smoothing = np.where(match == 0, 2 * smoothing, smoothing)
            precision = np.where(match == 0, 1 / (smoothing * total), match / total)
            logarithm += np.where(total == 0, -np.inf, np.log(precision)) / BLEU_ORDERS
        brevity = np.where(lengths < references, 1 - references / lengths, 0.0)
        score = 100 * np.exp(brevity + logarithm)
    return np.where(matches.any(-1), score, 0.0)


def chrf_from_counts(sums: Counts) -> NDArray[np.float64]:
    """Returns chrF: the F-score of precision and recall, averaged over the orders that both sides have."""
    hypotheses, references, matches = np.moveaxis(sums.reshape(*sums.shape[:-1], CHRF_ORDERS, 3), -1, 0)
    both = (hypotheses > 0) & (references > 0)
    orders = np.maximum(both.sum(-1), 1)
    precision = np.divide(matches, hypotheses, out=np.zeros_like(matches), where=both).sum(-1) / orders
    recall = np.divide(matches, references, out=np.zeros_like(matches), where=both).sum(-1) / orders
    weighted = CHRF_BETA**2 * precision + recall
    score = 100 * (1 + CHRF_BETA**2) * precision * recall
    return np.asarray(np.divide(score, weighted, out=np.zeros_like(weighted), where=weighted > 0))


def ratio_from_counts(sums: Counts) -> NDArray[np.float64]:
    """Returns a sum divided by a number, such as the loss: nats by target tokens."""
    return np.asarray(sums[..., 0] / sums[..., 1])
