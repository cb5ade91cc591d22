"""Scores given translations: `augenmerk score` in a function."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import make_table
from augenmerk.base.frames import Rows
from augenmerk.data import SentencePair
from augenmerk.evaluation.evaluator import describe_score
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.translation import load


class PairScores(Rows):
    """Scored pairs, each the dict that `augenmerk score --json` prints."""

    def show(self) -> Iterator[RenderableType]:
        rows = [
            [
                *(f"{row['log_probability']:.2f}", f"{row['loss']:.3f}", f"{row['perplexity']:.2f}"),
                *(escape(row["source"]), escape(row["target"])),
            ]
            for row in self
        ]
        yield make_table(("log p", "loss", "perplexity", "source", "target"), rows, left=0)


def score(
    pairs: Iterable[tuple[str, str] | SentencePair],
    run: str | Path | Sequence[str | Path] = BUNDLED_MODEL,
    *,
    heads: bool = False,
) -> PairScores:
    """Scores pairs of a sentence and its translation by a run, or several together."""
    read = ((one.source, one.target) if isinstance(one, SentencePair) else one for one in pairs)
    return PairScores(dict(describe_score(one)) for one in load(run).score_stream(read, heads=heads))
