"""`augenmerk faithfulness`: measures whether predictions depend on the attention that the model shows.

With --wanted it finds which attention would make the model produce a word, if any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer import Option

from augenmerk.base.console import make_table, out, show_status
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import RunOptions
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

if TYPE_CHECKING:
    from augenmerk.analysis.faithfulness import Faithfulness
    from augenmerk.analysis.wanted import WantedPosition
    from augenmerk.drawing.figures import Style
    from augenmerk.translation import Translation

app = typer.Typer()


class FaithfulnessOptions(Group):
    """Which sentences to show, and what to find out."""

    index: Annotated[list[int] | None, Option(min=0, max=options.MAX_INDEX)] = None
    """Show this sentence, counted from 0; repeatable."""
    top: Annotated[int | None, Option(min=0, max=10_000)] = None
    """Without --index: how many to show, the largest mean drop first. Default: 3."""
    out: Path | None = None
    """Folder for pictures and a page."""
    wanted: Annotated[str | None, Option(metavar="WORD", show_default=False)] = None
    """Find what would make the model produce this word when it translates your sentence: the attention under
    which the word is likeliest at each position, and whether it wins under any."""
    at: Annotated[int | None, Option(min=1, max=options.MAX_INDEX)] = None
    """With --wanted: only at this word of the translation, counted from 1."""
    json: options.Json = False


@app.command(
    epilog="Examples:  augenmerk faithfulness 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk faithfulness --wanted bike 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk faithfulness --top 1    "
    "augenmerk faithfulness runs/mine --split test --index 3 --out faithful    "
    "augenmerk faithfulness runs/transformer --split test --reference"
)
@grouped
def faithfulness(
    given: FaithfulnessOptions = GROUP, run: RunOptions = GROUP, pictures: Pictures = GROUP
) -> None:
    """Replace the attention at each word and measure how much its log-probability drops.

    In a Transformer, replace the attention of each head in turn, at all words at once.

    With --wanted, find the attention that makes a word of your choice likeliest.
    """
    from augenmerk.run.directory import RunDirectory

    single: dict[str, object] = {
        "--index": given.index,
        "--top": given.top,
        "--out": given.out,
        "--title": pictures.title,
    }
    single |= {"--size": pictures.size, "--font-size": pictures.font_size, "--outline": pictures.outline}
    if given.wanted is not None:
        unused = {"--split": run.split, "--reference": run.reference, **single}
        _check_unused(unused, "--wanted is about a word in the translation of your sentence")
        _show_wanted(run, given.wanted, given.at, json=given.json)
        return
    if given.at is not None:
        raise AugenmerkError("--at is the word of a translation that --wanted would replace: add --wanted.")
    style = pictures.make_style(title=f"Does {run.path.resolve().name} use what it shows?")
    if RunDirectory.open(run.path).config.model.entry.self_attention:
        _check_unused(single, "This run is a Transformer, whose heads are compared over all sentences")
        _show_heads(run, json=given.json)
    else:
        _show_drops(
            run, given.index or [], 3 if given.top is None else given.top, given.out, style, json=given.json
        )


def _check_unused(options: Mapping[str, object], why: str) -> None:
    """Raises AugenmerkError if one of these options was given."""
    for option, value in options.items():
        if value is not None and value is not False:
            raise AugenmerkError(f"{why}: leave out {option}.")


# Words: how much each drops if the attention at it is replaced


def _show_drops(
    run: RunOptions, indices: Sequence[int], top: int, folder: Path | None, style: "Style", *, json: bool
) -> None:
    """Measures all sentences, and prints a summary and the chosen ones."""
    from augenmerk.analysis.faithfulness import measure_faithfulness, summarise
    from augenmerk.analysis.pages import write_faithfulness_page
    from augenmerk.analysis.wording import describe_dependence, describe_findings
    from augenmerk.base.files import make_folder

    if folder is not None:
        make_folder(folder)
    read = run.translate(indices)
    with show_status("measuring"):
        measured = measure_faithfulness(read.translator, read.translations)
    found = summarise(measured)
    summary = {**read.described, **found, "in_words": describe_findings(found)}
    by_drop = sorted(range(len(measured)), key=lambda i: -measured[i].mean_drop)
    shown = indices or (range(len(measured)) if run.sentences else by_drop[:top])
    chosen = {i: measured[i] for i in shown}
    if folder is not None:
        write_faithfulness_page(folder, chosen, summary, style)
        print_written(folder / "index.html")
    if json:
        described = [
            {
                "index": i,
                **one.translation.to_dict(),
                "word_log_probabilities": one.word_log_probabilities,
                "drops": one.drops,
                "in_words": describe_dependence(one),
            }
            for i, one in chosen.items()
        ]
        print_json({**summary, "chosen": described})
        return
    _print_summary(summary)
    for i, one in chosen.items():
        _print_words(i, one)


def _print_split(summary: Mapping[str, Any]) -> None:
    out().print(
        f"[bold]{escape(summary['split'])}[/]: {summary['words']:,} words of {summary['of']}, "
        f"ends of sentences included"
    )


def _print_summary(summary: Mapping[str, Any]) -> None:
    from augenmerk.analysis.faithfulness import REPLACEMENTS

    _print_split(summary)
    rows = [["unchanged", f"{summary['loss']:.3f}", f"{summary['perplexity']:.2f}"]]
    for name in REPLACEMENTS:
        replaced = summary[name]
        drops = [f"{replaced['mean_drop']:.3f}", f"{replaced['share_that_falls']:.0%}"]
        rows.append([name, f"{replaced['loss']:.3f}", f"{replaced['perplexity']:.2f}", *drops])
    headings = ("attention", "loss", "perplexity", "mean drop of a word", "words that drop")
    out().print(make_table(headings, rows))
    out().print(escape(summary["in_words"]))


def _print_words(index: int, one: "Faithfulness") -> None:
    """Prints a line for each word: the source word with the most attention, and the drops."""
    from augenmerk.analysis.pages import round_drop
    from augenmerk.analysis.wording import describe_dependence

    translation = one.translation
    columns = (one.word_log_probabilities, *one.drops.values())
    rows = []
    for word, weights, numbers in zip(
        translation.target_words, translation.attention, zip(*columns, strict=True), strict=True
    ):
        looks_at = translation.source_words[int(weights.argmax())]
        shown = (f"{round_drop(number):.2f}" for number in (float(weights.max()), *numbers))
        rows.append([escape(word), escape(looks_at), *shown])
    headings = ("word", "looks at", "weight", "log p", *(f"drop, {name}" for name in one.drops))
    out().print(f"\n[dim]{index}[/]  [bold]{escape(translation.source)}[/]")
    out().print(make_table(headings, rows, left=2))
    if words := describe_dependence(one):
        out().print(escape(words))


# Heads of a Transformer: how much is lost without each


def _show_heads(run: RunOptions, *, json: bool) -> None:
    """Prints a table with a row for each layer and a column for each head."""
    from augenmerk.analysis.faithfulness import measure_heads
    from augenmerk.analysis.wording import describe_idle_heads

    read = run.translate()
    with show_status("measuring"):
        found = measure_heads(read.translator, read.translations)
    summary: dict[str, Any] = {**read.described, **found, "in_words": describe_idle_heads(found)}
    if json:
        print_json({**summary, "heads": [asdict(one) for one in found["heads"]]})
        return
    _print_split(summary)
    rows = [
        [str(layer), *(f"{round(one.mean_drop, 3) + 0.0:.3f}" for one in heads)]
        for layer, heads in groupby(summary["heads"], key=lambda one: one.layer)
    ]
    out().print(
        f"By how much the log-probability of a word falls on average if one head, at all target words,\n"
        f"looks at all source words alike; the perplexity is {summary['perplexity']:.2f} without that."
    )
    out().print(make_table(("layer", *(f"head {number}" for number in range(1, len(rows[0])))), rows))
    out().print(escape(summary["in_words"]))


# Wanted words


def _show_wanted(run: RunOptions, wanted: str, at: int | None, *, json: bool) -> None:
    """Prints for each sentence what would make the model produce the wanted word in its translation."""
    from augenmerk.analysis.wanted import find_wanted
    from augenmerk.analysis.wording import describe_wanted

    if not run.sentences:
        raise AugenmerkError(
            "--wanted needs a sentence in whose translation the word is wanted: give one, in quotation marks."
        )
    read = run.translate(device="cpu" if run.device == "auto" else None)
    with show_status("searching"):
        found = [find_wanted(read.translator, one, wanted, at) for one in read.translations]
    if json:
        described = [
            {
                "source": one.source,
                "translation": one.text,
                "source_words": list(one.source_words),
                "target_words": list(one.target_words),
                "places": [each.to_dict() for each in positions],
                "in_words": describe_wanted(wanted, one, positions),
            }
            for one, positions in zip(read.translations, found, strict=True)
        ]
        print_json({"run": read.described["run"], "wanted": wanted, "sentences": described})
        return
    for number, (one, positions) in enumerate(zip(read.translations, found, strict=True)):
        if number:
            out().print()
        _print_positions(wanted, one, positions)
    if read.translator.config.model.attention_heads > 1:
        out().print("\nAll heads get the same attention here; the model's own differs from head to head.")


def _print_positions(wanted: str, translation: "Translation", positions: "Sequence[WantedPosition]") -> None:
    """Prints a line for each word that the wanted one could replace."""
    from augenmerk.analysis.wording import describe_attention, describe_wanted

    rows = []
    for one in positions:
        wins = {None: "undecided", True: "yes", False: "no"}[one.wins]
        row = [
            str(one.position),
            one.word,
            describe_attention(translation.source_words, one.attention),
            "yes, elsewhere" if one.wins_elsewhere else wins,
            _format(one.greatest_probability),
            _format(one.own_probability),
            f"{one.best_other} {_format(one.best_other_probability)}",
        ]
        rows.append(map(escape, row))
    headings = ("at", "instead of", "looking at", "wins", "greatest p", "own p", "best other")
    out().print(f"[bold]{escape(translation.source)}[/]\n{escape(translation.text)}")
    out().print(make_table(headings, rows, left=3))
    for one in positions:
        if one.wins_elsewhere and one.winning_attention is not None:
            looks_at = describe_attention(translation.source_words, one.winning_attention)
            out().print(f"At {one.position} it wins elsewhere: looking at {escape(looks_at)}.")
    longest = max((one.subwords for one in positions), key=len, default=())
    if len(longest) > 1:
        out().print(
            f"'{escape(wanted)}' is several subwords, {escape(' '.join(longest))}: all numbers are those "
            f"of the first one, which may also begin other words."
        )
    out().print(escape(describe_wanted(wanted, translation, positions)))


def _format(probability: float) -> str:
    return f"{probability:.4f}" if probability >= 0.00005 else "<0.0001"
