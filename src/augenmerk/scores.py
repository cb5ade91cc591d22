"""Scores of translated text by sacrebleu, each with the signature that says exactly what was computed.

`bleu` and `chrf` compare in lower case, whatever the model writes, so that they can be compared between
models; `bleu_cased` and `chrf_cased` compare letters as they are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER


def score_texts(
    hypotheses: Sequence[str], references: Sequence[str], *, ter: bool = False
) -> dict[str, float | str]:
    """Each score and its signature; `length_ratio` is words of hypotheses per word of references."""
    metrics: dict[str, Metric] = {
        "bleu": BLEU(lowercase=True),
        "bleu_cased": BLEU(),
        "chrf": CHRF(lowercase=True),
        "chrf_cased": CHRF(),
    }
    if ter:
        metrics["ter"] = TER()  # in lower case, unless it is told otherwise
    row: dict[str, float | str] = {}
    for name, metric in metrics.items():
        score: Any = metric.corpus_score(list(hypotheses), [list(references)])
        row[name] = float(score.score)
        row[f"{name}_signature"] = str(metric.get_signature())
        if name == "bleu":
            row["length_ratio"] = float(score.ratio)
    return row


def bleu_of(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool) -> float:
    """BLEU alone, where there is no time for more."""
    return float(BLEU(lowercase=lowercase).corpus_score(list(hypotheses), [list(references)]).score)


def sacrebleu_command(references: Path, hypotheses: Sequence[Path], *, ter: bool = False) -> list[str]:
    """The command that prints `bleu`, `chrf` and `ter` of files with a sentence on each line."""
    return [
        *("sacrebleu", str(references), "-i", *map(str, hypotheses)),
        *("-m", "bleu", "chrf", *(["ter"] if ter else []), "-lc", "--chrf-lowercase"),
    ]
