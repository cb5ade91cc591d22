"""The registry of metrics: all that `evaluate`, studies and their reports list is read from here.

A metric over texts names the function or class that computes it, a `augenmerk.evaluation.scores.TextMetric`,
which is imported when it is needed. The others are losses, times and alignment, which come from elsewhere.
"""

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from augenmerk.evaluation.scores import TextMetric


@dataclass(frozen=True)
class Metric:
    """One entry of the registry."""

    heading: str
    digits: int = 2
    """How many are printed after the point."""
    better: Literal["higher", "lower", "neither"] = "higher"
    per: Literal["run", "split", "beam"] = "beam"
    """Whether a run has one value, one for each split, or one for each split and beam."""
    lowest: float = 0.0
    highest: float = math.inf
    computed_by: str = ""
    """For a metric over texts: the function or class, as module:name."""
    column: str = ""
    """Its heading in the table of `evaluate`, if it is there."""
    option: str = ""
    """The option of `evaluate` that asks for it; without one, it is always computed."""
    study: Literal["column", "measure", ""] = "measure"
    """Whether a study measures it, and its tables show it unless others are asked for."""

    def load(self) -> "TextMetric":
        """Imports what computes the metric."""
        module, _, name = self.computed_by.partition(":")
        metric: TextMetric = getattr(import_module(module), name)()
        return metric


_SCORES = "augenmerk.evaluation.scores"

METRICS: dict[str, Metric] = {
    "bleu": Metric("BLEU", highest=100.0, computed_by=f"{_SCORES}:bleu", column="BLEU", study="column"),
    "bleu_cased": Metric(
        "BLEU, cased", highest=100.0, computed_by=f"{_SCORES}:bleu_cased", column="cased", study=""
    ),
    "chrf": Metric("chrF", highest=100.0, computed_by=f"{_SCORES}:chrf", column="chrF", study="column"),
    "chrf_cased": Metric("chrF, cased", highest=100.0, computed_by=f"{_SCORES}:chrf_cased", study=""),
    "ter": Metric(
        "TER", better="lower", computed_by=f"{_SCORES}:ter", column="TER", option="--ter", study=""
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
    return ", ".join(
        f"{metric.heading} (with {metric.option})" if metric.option else metric.heading for metric in shown
    )
