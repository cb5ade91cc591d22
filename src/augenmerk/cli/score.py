"""`augenmerk score`: how likely a run finds given translations, word for word, and what it attends to."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from typer import Argument

from augenmerk.base.console import err, make_table, out
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import inputs, options
from augenmerk.cli.inputs import DataOptions
from augenmerk.cli.options import GROUP, Group, grouped
from augenmerk.cli.terminal import format_json
from augenmerk.text.words import check_sentences

if TYPE_CHECKING:
    from rich.console import Console

    from augenmerk.data import BadLine
    from augenmerk.evaluation.evaluator import Loss
    from augenmerk.evaluation.opening import OtherData
    from augenmerk.translation import Translation, Translator

app = typer.Typer()

Pair = tuple[str, str]


class ScoreOptions(Group):
    """What to score, with which run."""

    text: Annotated[list[str] | None, Argument(metavar="[RUN] SOURCE TARGET", show_default=False)] = None
    """Sentences and their translations, in turn, perhaps after a run directory. Default: the bundled model,
    and pairs on stdin: source, tab, target."""
    model: options.Models = None
    split: str | None = None
    """Split of --data. Default: validation; all pairs of a file."""
    skip_bad: bool = False
    """Leave out bad lines of --data or stdin (empty, not UTF-8, ...)."""
    show_attention: bool = False
    """Also draw the attention over words of each pair."""
    heads: bool = False
    """With --json or --show-attention: also the attention of each head."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    json: bool = False
    """Print a line of JSON for each pair."""


@app.command(
    epilog="Examples:  augenmerk score 'Ein Hund schläft.' 'A dog is sleeping.'    "
    "augenmerk score 'Ein Hund schläft.' 'A dog is sleeping.' --show-attention    "
    "augenmerk score runs/mine --data pairs.tsv --json    "
    "augenmerk score runs/mine --data bilderbuch --split test    "
    "augenmerk score < pairs.tsv"
)
@grouped
def score(given: ScoreOptions = GROUP, data: DataOptions = GROUP) -> None:
    """Score given translations: log-probability, loss and perplexity, word for word, with attention."""
    from augenmerk.base.device import choose_translating_device
    from augenmerk.evaluation.evaluator import Loss, compute_loss, describe_score
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.translation import load

    options.load_mechanisms(given.attention)
    models, sentences = _split_arguments(given.text or [], given.model or [])
    other = data.find(divided=given.split is not None, skip_bad=given.skip_bad)
    if sentences and (other is not None or given.skip_bad):
        raise AugenmerkError("The sentences are arguments; leave out --data and --skip-bad.")
    if other is None and given.split:
        raise AugenmerkError("--split is that of --data: add --data.")
    if given.heads and not (given.json or given.show_attention):
        raise AugenmerkError("--heads adds to what --json or --show-attention print: add one of them.")
    translator = load(models or BUNDLED_MODEL, choose_translating_device(given.device))
    pairs: Iterator[Pair | None] = (
        _pair_sentences(translator, sentences)
        if sentences
        else _read(translator, other, given.split, given.skip_bad)
    )
    number, words, total = 0, 0, Loss(0.0, 0)
    for number, one in enumerate(translator.score_stream(pairs, heads=given.heads), 1):
        loss = compute_loss(one)
        total = Loss(total.total + loss.total, total.tokens + loss.tokens)
        words += len(one.target_words)
        if given.json:
            typer.echo(format_json(describe_score(one)))
        elif sentences:
            _print_words(one, loss, first=number == 1)
        else:
            if number == 1:
                out().print(f"{'pair':>6} {'log p':>9} {'loss':>7} {'ppl':>10}  target")
            scores = f"{one.log_probability:>9.2f} {loss.mean:>7.3f} {loss.perplexity:>10.2f}"
            out().print(f"{number:>6} {scores}  {escape(one.text)}")
        if given.show_attention and not given.json:
            _print_attention(one)
    if number != 1 or not sentences:
        _print_total(err() if given.json else out(), number, words, total)


def _split_arguments(arguments: Sequence[str], models: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Returns the runs, and the sentences with their translations in turn."""
    sentences, runs = list(arguments), list(models)
    in_turn = "every sentence needs its translation: give source, target, source, target."
    if len(sentences) % 2:  # pairs are even, so the first of an odd number is a run
        first = sentences.pop(0)
        if not inputs.is_folder(first):
            raise AugenmerkError(f"'{first}' is not a run directory, and {in_turn}")
        runs.insert(0, Path(first))
    elif sentences and inputs.is_folder(sentences[0]) and Path(sentences[0], "config.toml").exists():
        raise AugenmerkError(f"After the run directory '{sentences[0]}', {in_turn}")
    check_sentences(sentences)
    return runs, sentences


def _pair_sentences(translator: "Translator", sentences: Sequence[str]) -> Iterator[Pair]:
    from augenmerk.translation.output import warn_of_several_sentences

    for number, sentence in enumerate(sentences):
        side = "Target" if number % 2 else "Source"
        language = translator.config.data.languages[number % 2]
        warn_of_several_sentences(sentence, f"{side} {number // 2 + 1}", language)
    return zip(sentences[::2], sentences[1::2], strict=True)


def _read(
    translator: "Translator", other: "OtherData | None", split: str | None, skip_bad: bool
) -> Iterator[Pair | None]:
    """Yields the pairs of a split or on stdin; raises AugenmerkError for a bad line.

    With `skip_bad`, such lines are left out instead, and counted at the end.
    """
    from augenmerk.data import BadLineError, open_data
    from augenmerk.evaluation.evaluator import choose_split

    skipped: set[BadLine] = set()
    try:
        if other is None:
            yield from _read_pairs(skipped, skip_bad)
        else:
            own = translator.config.data
            bitext = open_data(own) if other.path == own.bitext else other.open(own)
            for pair in bitext[split or choose_split(bitext, own.validation)]:
                yield pair.source, pair.target
            skipped.update(bitext.skipped)
    except BadLineError as error:
        raise AugenmerkError(f"{error} --skip-bad leaves such lines out.") from None
    if skipped:
        err().print(inputs.describe_skipped(skipped))


def _read_pairs(skipped: "set[BadLine]", skip_bad: bool) -> Iterator[Pair | None]:
    """Yields the pairs on stdin; raises BadLineError for a bad line, or adds it to those skipped."""
    from augenmerk.data import BadLine, BadLineError
    from augenmerk.data.files import parse_line, parse_tsv
    from augenmerk.data.lines import read_stdin

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


def _print_words(one: "Translation", loss: "Loss", *, first: bool) -> None:
    """Prints a line for each target word, and the sums."""
    from augenmerk.evaluation.evaluator import exp

    rows = [
        [escape(word), f"{value:.2f}", f"{exp(value):{'.3f' if value > -7 else '.0e'}}"]
        for word, value in zip(one.target_words, one.word_log_probabilities, strict=True)
    ]
    out().print(f"{'' if first else chr(10)}[bold]{escape(one.source)}[/]\n{escape(one.text)}\n")
    out().print(make_table(("word", "log p", "p"), rows))
    out().print(
        f"log-probability {one.log_probability:.2f}, loss {loss.mean:.3f} a token ({loss.tokens}), "
        f"perplexity {loss.perplexity:.2f}, {loss.word_perplexity(len(one.target_words)):.2f} a word"
    )


def _print_total(console: "Console", pairs: int, words: int, loss: "Loss") -> None:
    if not pairs:
        console.print("No pairs.")
        return
    console.print(
        f"\n{pairs:,} pair{'s' if pairs > 1 else ''}: log-probability {-loss.total:,.2f}, loss "
        f"{loss.mean:.4f} a token ({loss.tokens:,}), perplexity {loss.perplexity:.2f}, "
        f"{loss.word_perplexity(words):.2f} a word ({words:,}, ends included)"
    )


def _print_attention(one: "Translation") -> None:
    """Draws the attention over words in the terminal, and that of each head if there is more than one."""
    from augenmerk.drawing import AttentionMap, explain_terminal_maps, render_terminal_maps

    groups = [[AttentionMap.from_translation(one)]]
    if len(one.heads) > 1:
        groups.append([AttentionMap.from_translation(one, head=head) for head in one.heads])
    for maps in groups:
        out().print()
        out().print(render_terminal_maps(maps, out().width))
    out().print(f"[dim]{explain_terminal_maps(groups, out().width)}[/]")
