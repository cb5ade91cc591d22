"""Scores given translations: `augenmerk score` in a function."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import err, make_table
from augenmerk.base.device import choose_translating_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import Rows
from augenmerk.data import BadLine, BadLineError, SentencePair, open_data
from augenmerk.data.files import parse_line, parse_tsv
from augenmerk.data.lines import read_stdin
from augenmerk.data.session import describe_skipped
from augenmerk.evaluation.evaluator import Loss, choose_split, describe_score, exp
from augenmerk.evaluation.opening import find_other_data
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.translation import Translation, Translator, load
from augenmerk.translation.output import warn_of_several_sentences

Pair = tuple[str, str]


class PairScores(Rows):
    """Scored pairs, each the dict that `augenmerk score --json` prints."""

    def show(self) -> Iterator[RenderableType]:
        if len(self) == 1:
            yield from show_words(self[0])
            return
        rows = [
            [
                *(f"{row['log_probability']:.2f}", f"{row['loss']:.3f}", f"{row['perplexity']:.2f}"),
                *(escape(row["source"]), escape(row["target"])),
            ]
            for row in self
        ]
        yield make_table(("log p", "loss", "perplexity", "source", "target"), rows, left=0)
        total = ScoreTotal()
        for row in self:
            total.add(Loss(-row["log_probability"], row["tokens"]), len(row["target_words"]))
        yield str(total)


def show_words(row: Mapping[str, Any], *, first: bool = True) -> Iterator[RenderableType]:
    """Yields a scored pair, a line for each target word, and their sums."""
    rows = [
        [escape(word), f"{value:.2f}", f"{exp(value):{'.3f' if value > -7 else '.0e'}}"]
        for word, value in zip(row["target_words"], row["word_log_probabilities"], strict=True)
    ]
    yield f"{'' if first else chr(10)}[bold]{escape(row['source'])}[/]\n{escape(row['target'])}\n"
    yield make_table(("word", "log p", "p"), rows)
    yield (
        f"log-probability {row['log_probability']:.2f}, loss {row['loss']:.3f} a token ({row['tokens']}), "
        f"perplexity {row['perplexity']:.2f}, {row['word_perplexity']:.2f} a word"
    )


class ScoreTotal:
    """The loss of all pairs so far."""

    def __init__(self) -> None:
        self.pairs = self.words = 0
        self.loss = Loss(0.0, 0)

    def add(self, loss: Loss, words: int) -> None:
        self.pairs, self.words = self.pairs + 1, self.words + words
        self.loss = Loss(self.loss.total + loss.total, self.loss.tokens + loss.tokens)

    def __str__(self) -> str:
        if not self.pairs:
            return "No pairs."
        loss = self.loss
        return (
            f"\n{self.pairs:,} pair{'s' if self.pairs > 1 else ''}: log-probability {-loss.total:,.2f}, loss "
            f"{loss.mean:.4f} a token ({loss.tokens:,}), perplexity {loss.perplexity:.2f}, "
            f"{loss.word_perplexity(self.words):.2f} a word ({self.words:,}, ends included)"
        )


def score(
    pairs: Iterable[Pair | SentencePair] | None = None,
    run: str | PathLike[str] | Sequence[str | PathLike[str]] = BUNDLED_MODEL,
    *,
    data: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    split: str | None = None,
    skip_bad: bool = False,
    heads: bool = False,
    device: str = "auto",
) -> PairScores:
    """Scores pairs of a sentence and its translation by a run, or several together.

    The pairs may also be those of other `data`, with the options of `augenmerk score`; `score_stream` yields
    them one by one.
    """
    if pairs is None and data is None:
        raise AugenmerkError("There is nothing to score: give pairs, or data.")
    options = {"source_language": source_language, "target_language": target_language, "split": split}
    found = score_stream(pairs, run, data=data, **options, skip_bad=skip_bad, heads=heads, device=device)
    return PairScores(dict(describe_score(one)) for one in found)


def score_stream(
    pairs: Iterable[Pair | SentencePair] | None,
    run: str | PathLike[str] | Sequence[str | PathLike[str]] = BUNDLED_MODEL,
    *,
    data: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    split: str | None = None,
    skip_bad: bool = False,
    heads: bool = False,
    device: str = "auto",
) -> Iterator[Translation]:
    """Yields scored pairs in bounded memory: those given, of other data, or on stdin (source, tab, target).

    Raises AugenmerkError for a bad line of data; with `skip_bad`, such lines are left out, and counted at the
    end.
    """
    other = find_other_data(
        data, source_language, target_language, divided=split is not None, skip_bad=skip_bad
    )
    if pairs is not None and (other is not None or skip_bad):
        raise AugenmerkError("The sentences are arguments; leave out --data and --skip-bad.")
    if other is None and split:
        raise AugenmerkError("--split is that of --data: add --data.")
    translator = load(run, choose_translating_device(device))
    if isinstance(pairs, list | tuple):
        _warn_of_several(pairs, translator)
    skipped: set[BadLine] = set()

    def read() -> Iterator[Pair | None]:
        try:
            if pairs is None and other is None:
                yield from _read_pairs(skipped, skip_bad)
                return
            chosen = pairs
            if other is not None:
                own = translator.config.data
                bitext = open_data(own) if other.path == own.bitext else other.open(own)
                chosen = bitext[split or choose_split(bitext, own.validation)]
            for one in chosen or ():
                yield (one.source, one.target) if isinstance(one, SentencePair) else one
            if other is not None:
                skipped.update(bitext.skipped)
        except BadLineError as error:
            raise AugenmerkError(f"{error} --skip-bad leaves such lines out.") from None

    yield from translator.score_stream(read(), heads=heads)
    if skipped:
        err().print(describe_skipped(skipped))


def _warn_of_several(pairs: Iterable[Any], translator: Translator) -> None:
    for number, one in enumerate(pairs, 1):
        sides = (one.source, one.target) if isinstance(one, SentencePair) else one
        named = zip(("Source", "Target"), sides, translator.config.data.languages, strict=False)
        for side, text, language in named:
            if isinstance(text, str):  # scoring refuses anything else
                warn_of_several_sentences(text, f"{side} {number}", language)


def _read_pairs(skipped: set[BadLine], skip_bad: bool) -> Iterator[Pair | None]:
    """Yields the pairs on stdin; raises BadLineError for a bad line, or adds it to those skipped."""
    number, undecoded = 0, list[BadLine]()
    for line in read_stdin(undecoded):
        if line is None:
            yield None
            continue
        number += 1
        entry = undecoded.pop() if undecoded else parse_line(line, parse_tsv, "stdin", number)
        if not isinstance(entry, BadLine):
            yield entry.source, entry.target
        elif skip_bad:
            skipped.add(entry)
        else:
            raise BadLineError(str(entry))
