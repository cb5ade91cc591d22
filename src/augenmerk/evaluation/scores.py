"""Scores of translated text by sacrebleu, each with the signature that says exactly what was computed.

`bleu` and `chrf` ignore case, so that models with and without upper case can be compared; `bleu_cased` and
`chrf_cased` do not.

BLEU, chrF and the loss of a test set are functions of counts summed over its sentences. The counts of each
sentence are taken once (`count_bleu`, `count_chrf`); the score of any resampled test set then follows from
sums of them (`bleu_from_counts`, `chrf_from_counts`, `ratio_from_counts`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

Counts = NDArray[np.float64]
Score = Callable[[Counts], NDArray[np.float64]]
"""Maps sums of counts (..., C) to scores (...)."""

BLEU_ORDERS = 4
CHRF_ORDERS = 6
CHRF_BETA = 2


def score_texts(
    hypotheses: Sequence[str], references: Sequence[str], *, ter: bool = False
) -> dict[str, float | str]:
    """Returns each score and its signature; `length_ratio` is the length of the hypotheses in words divided
    by that of the references."""
    metrics: dict[str, Metric] = {
        "bleu": BLEU(lowercase=True),
        "bleu_cased": BLEU(),
        "chrf": CHRF(lowercase=True),
        "chrf_cased": CHRF(),
    }
    if ter:
        metrics["ter"] = TER()  # ignores case by default
    row: dict[str, float | str] = {}
    for name, metric in metrics.items():
        score: Any = metric.corpus_score(list(hypotheses), [list(references)])
        row[name] = float(score.score)
        row[f"{name}_signature"] = str(metric.get_signature())
        if name == "bleu":
            row["length_ratio"] = float(score.ratio)
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
    return [
        *("sacrebleu", str(references), "-i", *map(str, hypotheses)),
        *("-m", "bleu", "chrf", *(["ter"] if ter else []), "-lc", "--chrf-lowercase"),
    ]


def count_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """Returns for each sentence (N, 10), ignoring case: words of the hypothesis and of the reference, n-grams
    that match, n-grams of the hypothesis."""
    return _count(BLEU(lowercase=True, force=True), hypotheses, references)


def count_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """Returns for each sentence (N, 18), ignoring case: for each n the character n-grams of the hypothesis,
    those of the reference, and those that match."""
    return _count(CHRF(lowercase=True), hypotheses, references)


def _count(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
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
