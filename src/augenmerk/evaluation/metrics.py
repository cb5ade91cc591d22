"""The table of metrics, from which `evaluate`, studies and their reports list them; and those of sacrebleu.

BLEU, chrF and the loss of a test set are functions of counts summed over its sentences. The counts of each
sentence are taken once (`TextMetric.count`); the score of any resampled test set then follows from sums of
them (`TextMetric.from_counts`).

`bleu` and `chrf` ignore case, so that models with and without upper case can be compared; `bleu_cased` and
`chrf_cased` do not. Each score comes with the signature that says exactly what was computed.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Score = Callable[[Counts], NDArray[np.float64]]
"""Maps sums of counts (..., C) to scores (...)."""

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


@dataclass(frozen=True)
class Metric:
    """One entry of the table."""

    heading: str
    """Its name in reports, sentences, help and the workbench, such as "loss per word"."""
    digits: int = 2
    """How many are printed after the point."""
    better: Literal["higher", "lower", "neither"] = "higher"
    """Which values are better: studies print the best of a column in bold, none with "neither"."""
    per: Literal["run", "split", "beam"] = "beam"
    """Whether a run has one value, one for each split, or one for each split and beam."""
    lowest: float = 0.0
    """The lowest possible value, and the highest: confidence intervals end there."""
    highest: float = math.inf
    computed_by: str = ""
    """For a metric over texts: what returns its `TextMetric`, as module:name. The others are losses, times
    and alignment, which come from elsewhere."""
    column: str = ""
    """Its heading in the table of `evaluate`, if it is there."""
    option: str = ""
    """The option of `evaluate` that asks for it; without one, it is always computed."""
    study: Literal["column", "measure", ""] = "measure"
    """Whether a study measures it: "column" if its tables also show it unless other columns are asked for,
    "measure" if they do only then, and "" if it is left out of studies."""

    def load(self) -> TextMetric:
        """Imports what computes the metric."""
        module, _, name = self.computed_by.partition(":")
        metric: TextMetric = getattr(import_module(module), name)()
        return metric


METRICS: dict[str, Metric] = {
    "bleu": Metric("BLEU", highest=100.0, computed_by=f"{__name__}:bleu", column="BLEU", study="column"),
    "bleu_cased": Metric(
        "cased BLEU", highest=100.0, computed_by=f"{__name__}:bleu_cased", column="cased", study=""
    ),
    "chrf": Metric("chrF", highest=100.0, computed_by=f"{__name__}:chrf", column="chrF", study="column"),
    "chrf_cased": Metric("cased chrF", highest=100.0, computed_by=f"{__name__}:chrf_cased", study=""),
    "ter": Metric(
        "TER", better="lower", computed_by=f"{__name__}:ter", column="TER", option="--ter", study=""
    ),
    "validation_loss": Metric("validation loss", 3, "lower", "run", study="column"),
    "validation_perplexity": Metric("validation perplexity", 2, "lower", "run", lowest=1.0),
    "loss": Metric("loss", 3, "lower", "split", column="loss"),
    "perplexity": Metric("perplexity", 2, "lower", "split", lowest=1.0, column="ppl"),
    "word_loss": Metric("loss per word", 3, "lower", "split", study="column"),
    "word_perplexity": Metric(
        "perplexity per word", 2, "lower", "split", lowest=1.0, column="ppl/word", study="column"
    ),
    "alignment_error": Metric("alignment error", 3, "lower", "split", highest=1.0, study="column"),
    "length_ratio": Metric("length ratio", 3, "neither", column="length"),
    "sentences_per_second": Metric("sentences per second", 0, "neither", column="sent/s", study=""),
    "seconds": Metric("training seconds", 0, "neither", "run", study="column"),
}
"""All metrics by their keys in rows of scores and in studies, in the order in which they are listed."""


def list_text_metrics() -> dict[str, Metric]:
    """Returns the metrics that are computed from translations and references."""
    return {key: metric for key, metric in METRICS.items() if metric.computed_by}


def describe_metrics() -> str:
    """Returns the headings of all that `evaluate` shows, for its help."""
    shown = (metric for metric in METRICS.values() if metric.column)
    return ", ".join(f"{one.heading} (with {one.option})" if one.option else one.heading for one in shown)


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


# The metrics of sacrebleu, which is imported when it is needed


def _make(name: str, **options: Any) -> Any:
    import sacrebleu.metrics

    return getattr(sacrebleu.metrics, name)(**options)


class _Sacrebleu(TextMetric):
    """BLEU, CHRF or TER of sacrebleu. Only the first two without case have counts, for paired tests."""

    def __init__(self, name: str, **options: Any) -> None:
        self._name = name
        self._metric = _make(name, **options)
        self.has_counts = "lowercase" in options

    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        return (count_bleu if self._name == "BLEU" else count_chrf)(hypotheses, references)

    def from_counts(self, sums: Counts) -> NDArray[np.float64]:
        return (bleu_from_counts if self._name == "BLEU" else chrf_from_counts)(sums)

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> TextScore:
        found = self._metric.corpus_score(list(hypotheses), [list(references)])
        ratio = float(found.ratio) if self._name == "BLEU" else None
        return TextScore(float(found.score), str(self._metric.get_signature()), ratio)


bleu = partial(_Sacrebleu, "BLEU", lowercase=True)
bleu_cased = partial(_Sacrebleu, "BLEU")
chrf = partial(_Sacrebleu, "CHRF", lowercase=True)
chrf_cased = partial(_Sacrebleu, "CHRF")
ter = partial(_Sacrebleu, "TER")  # ignores case by default


class BleuScorer:
    """BLEU against references whose n-grams are counted once; much faster than `score_texts`."""

    def __init__(self, references: Sequence[str], *, lowercase: bool) -> None:
        self._metric = _make("BLEU", lowercase=lowercase, references=[list(references)])

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
    return _count(_make("BLEU", lowercase=True, force=True), hypotheses, references)


def count_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """Returns for each sentence (N, 18), ignoring case: for each n the character n-grams of the hypothesis,
    those of the reference, and those that match."""
    return _count(_make("CHRF", lowercase=True), hypotheses, references)


def _count(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
    # Not public, but what sacrebleu's own paired tests start from, and the only way to the counts of chrF.
    return np.array(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)


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
    from sacrebleu.metrics.chrf import CHRF

    hypotheses, references, matches = np.moveaxis(sums.reshape(*sums.shape[:-1], CHRF.CHAR_ORDER, 3), -1, 0)
    both = (hypotheses > 0) & (references > 0)
    orders = np.maximum(both.sum(-1), 1)
    precision = np.divide(matches, hypotheses, out=np.zeros_like(matches), where=both).sum(-1) / orders
    recall = np.divide(matches, references, out=np.zeros_like(matches), where=both).sum(-1) / orders
    weighted = CHRF.BETA**2 * precision + recall
    score = 100 * (1 + CHRF.BETA**2) * precision * recall
    return np.asarray(np.divide(score, weighted, out=np.zeros_like(weighted), where=weighted > 0))


def ratio_from_counts(sums: Counts) -> NDArray[np.float64]:
    """Returns a sum divided by a number, such as the loss: nats by target tokens."""
    return np.asarray(sums[..., 0] / sums[..., 1])
