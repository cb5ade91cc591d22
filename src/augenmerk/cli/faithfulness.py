"""`augenmerk faithfulness`: measures whether predictions depend on the attention that the model shows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from augenmerk.cli.options import (
    Beam,
    Device,
    Json,
    Mechanisms,
    Reference,
    Run,
    Split,
    load_mechanisms,
    read_split,
    refuse_beam_with_reference,
    translate_split,
)
from augenmerk.cli.terminal import err, out, print_json, print_written
from augenmerk.errors import AugenmerkError

if TYPE_CHECKING:
    from augenmerk.diagrams import AttentionMap
    from augenmerk.faithfulness import Faithfulness

NOTE = "log p: log-probability of each word, in nats; uniform, permuted: how much it drops with such weights"

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk faithfulness --top 1    "
    "augenmerk faithfulness runs/mine --split test --index 3 --out faithful"
)
def faithfulness(
    run: Run = None,
    split: Split = None,
    index: Annotated[
        list[int] | None,
        typer.Option(help="Index of a sentence to show, counted from 0; repeatable."),
    ] = None,
    top: Annotated[
        int,
        typer.Option(help="Without --index: number of sentences to show, the largest mean drop first."),
    ] = 3,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures and a page.")] = None,
    beam: Beam = None,
    reference: Reference = False,
    attention: Mechanisms = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Replace the attention at each word and measure how much its log-probability drops."""
    from augenmerk.checkpoint import SHIPPED
    from augenmerk.device import choose_device
    from augenmerk.faithfulness import measure_faithfulness, summarise
    from augenmerk.storage import make_folder
    from augenmerk.translate import load

    load_mechanisms(attention)
    if top < 0:
        raise AugenmerkError(f"--top {top} is impossible: it must be 0 or more.")
    refuse_beam_with_reference(beam=beam, reference=reference)
    if out is not None:
        make_folder(out)
    chosen_device = choose_device(device)
    path = run or SHIPPED
    read = read_split(path, split)
    for each in index or []:
        if not 0 <= each < len(read.pairs):
            raise AugenmerkError(
                f"'{read.name}' has no sentence {each}: its {len(read.pairs):,} sentences count from 0."
            )
    translator = load(path, chosen_device)
    translations = translate_split(translator, read, beam=beam, reference=reference)
    with err().status("measuring"):
        measured = measure_faithfulness(translator, translations)
    by_drop = sorted(range(len(measured)), key=lambda i: -measured[i].mean_drop)
    chosen = {i: measured[i] for i in index or by_drop[:top]}
    summary = {
        "run": str(path),
        "split": read.name,
        "of": "references" if reference else "translations",
        **summarise(measured),
    }
    if out is not None:
        _write_page(out, chosen, summary, title=f"Does {path.resolve().name} use what it shows?")
        print_written(out / "index.html")
    if json:
        print_json({**summary, "chosen": [_describe(i, one) for i, one in chosen.items()]})
        return
    _print_summary(summary)
    for i, one in chosen.items():
        _print_words(i, one)


def _make_map(one: "Faithfulness") -> "AttentionMap":
    """Returns the attention map of a sentence, with the log-probabilities and their drops beside it."""
    from augenmerk.diagrams import AttentionMap

    columns = {"log p": one.word_log_probabilities, **one.drops}
    extra_columns = {name: [_round(value) for value in values] for name, values in columns.items()}
    attention = AttentionMap.from_translation(one.translation)
    note = f"{attention.note} {NOTE}" if attention.note else NOTE
    return replace(attention, extra_columns=extra_columns, note=note)


def _round(value: float) -> float:
    """Rounds to two digits; adding 0.0 turns -0.0 into 0.0."""
    return round(value, 2) + 0.0


def _write_page(
    folder: Path, chosen: "Mapping[int, Faithfulness]", summary: Mapping[str, Any], *, title: str
) -> None:
    """Writes a numbered picture of each sentence, and a page that shows all of them."""
    from augenmerk.diagrams import Card, draw_heat_map, render_index_page
    from augenmerk.figures import DARK, save_figure
    from augenmerk.storage import atomic_write

    cards = []
    digits = len(str(len(chosen)))
    for number, (index, one) in enumerate(chosen.items(), 1):
        name = f"{number:0{digits}}-{summary['split']}-{index}.svg"
        attention = _make_map(one)
        save_figure(draw_heat_map([attention], DARK), folder / name)
        cards.append(
            Card(
                heading=f"{number} · {summary['split']} {index}",
                maps=[attention],
                sentences={"source": one.translation.source, "translation": one.translation.text},
                file=name,
            )
        )
    uniform, permuted = summary["uniform"], summary["permuted"]
    intro = (
        f"Beside each attention map: the log-probability (in nats) of each word, and how much it drops when "
        f"the attention at this word is replaced by uniform weights, or by a permutation of its own weights. "
        f"A word that loses nothing would have been predicted without this attention."
        f"\n\nOver {summary['sentences']:,} sentences of {summary['split']}, a word loses "
        f"{uniform['mean_drop']:.2f} on average under uniform weights and {permuted['mean_drop']:.2f} under "
        f"permuted ones; the perplexity rises from {summary['perplexity']:.2f} to "
        f"{uniform['perplexity']:.2f} and {permuted['perplexity']:.2f}."
    )
    atomic_write(folder / "index.html", [render_index_page(title, intro, cards).encode()])


def _describe(index: int, one: "Faithfulness") -> dict[str, Any]:
    return {
        "index": index,
        **one.translation.to_dict(),
        "word_log_probabilities": list(one.word_log_probabilities),
        "drops": {name: list(drops) for name, drops in one.drops.items()},
    }


def _print_summary(summary: Mapping[str, Any]) -> None:
    from augenmerk.faithfulness import REPLACEMENTS

    out().print(
        f"[bold]{escape(summary['split'])}[/]: {summary['words']:,} words of {summary['of']}, "
        f"ends of sentences included"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("attention")
    for heading in ("loss", "perplexity", "mean drop of a word", "words that drop"):
        table.add_column(heading, justify="right")
    table.add_row("unchanged", f"{summary['loss']:.3f}", f"{summary['perplexity']:.2f}")
    for name in REPLACEMENTS:
        replaced = summary[name]
        table.add_row(
            name,
            f"{replaced['loss']:.3f}",
            f"{replaced['perplexity']:.2f}",
            f"{replaced['mean_drop']:.3f}",
            f"{replaced['share_that_falls']:.0%}",
        )
    out().print(table)


def _print_words(index: int, one: "Faithfulness") -> None:
    """Prints a line for each word: the source word with the most attention, and the drops."""
    from augenmerk.faithfulness import REPLACEMENTS

    translation = one.translation
    out().print(f"\n[dim]{index}[/]  [bold]{escape(translation.source)}[/]", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("word", "looks at", "weight", "log p", *(f"drop, {name}" for name in REPLACEMENTS)):
        table.add_column(heading, justify="left" if heading in ("word", "looks at") else "right")
    for j, word in enumerate(translation.target_words):
        weight, position = translation.attention[j].max(dim=0)
        figures = (one.word_log_probabilities[j], *(one.drops[name][j] for name in REPLACEMENTS))
        table.add_row(
            escape(word),
            escape(translation.source_words[int(position)]),
            f"{float(weight):.2f}",
            *(f"{_round(figure):.2f}" for figure in figures),
        )
    out().print(table)
