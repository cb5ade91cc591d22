"""`augenmerk faithfulness`: measures whether predictions depend on the attention that the model shows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer import Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import RunOptions
from augenmerk.cli.options import GROUP, Pictures, grouped
from augenmerk.cli.terminal import make_table, out, print_json, print_written, show_status
from augenmerk.cli.wanted import show_wanted

if TYPE_CHECKING:
    from augenmerk.analysis.faithfulness import Faithfulness
    from augenmerk.drawing import AttentionMap
    from augenmerk.drawing.figures import Style

NOTE = "log p: log-probability of each word, in nats; uniform, permuted: how much it drops with such weights"
WIDE = 9
"""A map with more source words than this, and the columns beside it, takes the whole width of the page."""

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk faithfulness 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk faithfulness --wanted bike 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk faithfulness --top 1    "
    "augenmerk faithfulness runs/mine --split test --index 3 --out faithful    "
    "augenmerk faithfulness runs/transformer --split test --reference"
)
@grouped
def faithfulness(
    run: RunOptions = GROUP,
    index: Annotated[
        list[int] | None,
        Option(help="Show this sentence, counted from 0; repeatable.", min=0, max=options.MAX_INDEX),
    ] = None,
    top: Annotated[
        int | None,
        Option(
            help="Without --index: how many to show, the largest mean drop first. Default: 3.",
            min=0,
            max=10_000,
        ),
    ] = None,
    out: Annotated[Path | None, Option(help="Folder for pictures and a page.")] = None,
    pictures: Pictures = GROUP,
    wanted: Annotated[
        str | None,
        Option(
            metavar="WORD",
            help="What would make the model produce this word in the translation of your sentence: find the "
            "attention under which it is likeliest at each position, and whether it wins under any.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        int | None,
        Option(
            help="With --wanted: only at this word of the translation, counted from 1.",
            min=1,
            max=options.MAX_INDEX,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Replace the attention at each word and measure how much its log-probability drops.

    In a Transformer, replace the attention of each head in turn, at all words at once.

    With --wanted, find the attention that makes a word of your choice likeliest.
    """
    from augenmerk.base.files import make_folder
    from augenmerk.run.directory import RunDirectory

    single = {"--index": index, "--top": top, "--out": out, **_name_given(pictures)}
    if wanted is not None:
        unused = {"--split": run.split, "--reference": run.reference or None, **single}
        show_wanted(run, wanted, at, unused, json=json)
        return
    if at is not None:
        raise AugenmerkError("--at says at which word of a translation another is wanted: add --wanted.")
    style = pictures.make_style(title=f"Does {run.path.resolve().name} use what it shows?")
    if RunDirectory.open(run.path).config.model.entry.self_attention:
        _check_for_heads(single)
        _show_heads(run, json=json)
        return
    if out is not None:
        make_folder(out)
    summary, measured = _measure(run, index or [])
    by_drop = sorted(range(len(measured)), key=lambda i: -measured[i].mean_drop)
    shown = index or (range(len(measured)) if run.sentences else by_drop[: 3 if top is None else top])
    chosen = {i: measured[i] for i in shown}
    if out is not None:
        _write_page(out, chosen, summary, style)
        print_written(out / "index.html")
    if json:
        print_json({**summary, "chosen": [_describe(i, one) for i, one in chosen.items()]})
        return
    _print_summary(summary)
    for i, one in chosen.items():
        _print_words(i, one)


def _measure(run: RunOptions, indices: Sequence[int]) -> "tuple[dict[str, Any], list[Faithfulness]]":
    """Measures all sentences; returns a summary, with a sentence about it, and what was measured."""
    from augenmerk.analysis.faithfulness import measure_faithfulness, summarise
    from augenmerk.analysis.wording import describe_findings

    read = run.translate(indices)
    with show_status("measuring"):
        measured = measure_faithfulness(read.translator, read.translations)
    found = summarise(measured)
    return {**read.described, **found, "in_words": describe_findings(found)}, measured


def _show_heads(run: RunOptions, *, json: bool) -> None:
    """Prints what a Transformer loses without each of its heads."""
    from augenmerk.analysis.faithfulness import measure_heads
    from augenmerk.analysis.wording import describe_idle_heads

    read = run.translate()
    with show_status("measuring"):
        found = measure_heads(read.translator, read.translations)
    summary = {**read.described, **found, "in_words": describe_idle_heads(found)}
    if json:
        print_json({**summary, "heads": [asdict(one) for one in found["heads"]]})
    else:
        _print_heads(summary)


def _name_given(pictures: Pictures) -> dict[str, object]:
    """Returns the options for pictures by their flags, without those that have a default."""
    names = ("title", "size", "font_size", "outline")
    return {f"--{name.replace('_', '-')}": getattr(pictures, name) or None for name in names}


def _make_map(one: "Faithfulness") -> "AttentionMap":
    """Returns the attention map of a sentence, with the log-probabilities and their drops beside it."""
    from augenmerk.drawing import AttentionMap

    columns = {"log p": one.word_log_probabilities, **one.drops}
    extra_columns = {name: [_round(value) for value in values] for name, values in columns.items()}
    attention = AttentionMap.from_translation(one.translation)
    note = f"{attention.note} {NOTE}" if attention.note else NOTE
    return replace(attention, extra_columns=extra_columns, note=note)


def _round(value: float) -> float:
    """Rounds to two digits; adding 0.0 turns -0.0 into 0.0."""
    return round(value, 2) + 0.0


def _write_page(
    folder: Path, chosen: "Mapping[int, Faithfulness]", summary: Mapping[str, Any], style: "Style"
) -> None:
    """Writes a numbered picture of each sentence, and a page that shows all of them."""
    from augenmerk.base.files import atomic_write
    from augenmerk.drawing import AttentionMap, Card, draw_heat_map, render_index_page
    from augenmerk.drawing.figures import write_pictures

    split, uniform, permuted = summary["split"], summary["uniform"], summary["permuted"]
    maps = [_make_map(one) for one in chosen.values()]
    figures = (style.draw(partial(draw_heat_map, [attention])) for attention in maps)
    names = [f"{split}-{index}.svg" for index in chosen]
    files = write_pictures(folder, names, figures, outline=style.outline)
    cards = [
        Card(
            heading=f"{number} · {split} {index}",
            maps=[replace(attention, note=AttentionMap.from_translation(one.translation).note)],
            sentences={"source": one.translation.source, "translation": one.translation.text},
            wide=len(attention.source_words) > WIDE,
            file=file,
        )
        for number, ((index, one), attention, file) in enumerate(
            zip(chosen.items(), maps, files, strict=True), 1
        )
    ]
    intro = (
        f"Beside each attention map: the log-probability (in nats) of each word, and how much it drops when "
        f"the attention at this word is replaced by uniform weights, or by a permutation of its own weights. "
        f"A word that loses nothing would have been predicted without this attention."
        f"\n\nSentences of {split}: {summary['sentences']:,}. A word loses {uniform['mean_drop']:.2f} on "
        f"average under uniform weights and {permuted['mean_drop']:.2f} under permuted ones. "
        f"{summary['in_words']}"
    )
    atomic_write(folder / "index.html", [render_index_page(style.title or "", intro, cards).encode()])


def _describe(index: int, one: "Faithfulness") -> dict[str, Any]:
    from augenmerk.analysis.wording import describe_dependence

    words = {
        "word_log_probabilities": one.word_log_probabilities,
        "drops": one.drops,
        "in_words": describe_dependence(one),
    }
    return {"index": index, **one.translation.to_dict(), **words}


def _check_for_heads(given: Mapping[str, object]) -> None:
    """Raises AugenmerkError if an option was given that says which single sentences to show or draw."""
    for option, value in given.items():
        if value is not None:
            raise AugenmerkError(
                f"{option} is about single sentences and their pictures, but this run is a Transformer, "
                f"whose heads are compared over all sentences: leave out {option}."
            )


def _print_heads(summary: Mapping[str, Any]) -> None:
    """Prints a table with a row for each layer and a column for each head."""
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
    from augenmerk.analysis.wording import describe_dependence

    translation = one.translation
    columns = (one.word_log_probabilities, *one.drops.values())
    rows = []
    for word, weights, numbers in zip(
        translation.target_words, translation.attention, zip(*columns, strict=True), strict=True
    ):
        looks_at = translation.source_words[int(weights.argmax())]
        shown = (f"{_round(number):.2f}" for number in (float(weights.max()), *numbers))
        rows.append([escape(word), escape(looks_at), *shown])
    headings = ("word", "looks at", "weight", "log p", *(f"drop, {name}" for name in one.drops))
    out().print(f"\n[dim]{index}[/]  [bold]{escape(translation.source)}[/]")
    out().print(make_table(headings, rows, left=2))
    if words := describe_dependence(one):
        out().print(escape(words))
