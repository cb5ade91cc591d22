"""`augenmerk faithfulness`: whether a model uses what it shows, over a split and word by word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from augenmerk.cli.splits import OpenedSplit, SplitWish
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.device import choose_device
from augenmerk.diagrams import AttentionMap, Card, draw_heat_map, render_index_page
from augenmerk.errors import AugenmerkError
from augenmerk.faithfulness import REPLACEMENTS, Faithfulness, measure_faithfulness, summarise
from augenmerk.figures import DARK, save_figure
from augenmerk.storage import atomic_write
from augenmerk.translate import load

NOTE = "log p: of each word, in nats; uniform, permuted: by how much it drops with such weights instead"


@dataclass(frozen=True)
class Wish(SplitWish):
    """What was asked for on the command line."""

    indices: Sequence[int]
    top: int

    def check(self) -> None:
        """Refuses what cannot be meant, before anything is loaded."""
        if self.top < 0:
            raise AugenmerkError(f"--top {self.top} is impossible: it must be 0 or more.")
        super().check()


def run(wish: Wish, json: bool) -> None:
    """Measures the split, prints the means, and shows the sentences chosen."""
    wish.check()
    device = choose_device(wish.device)
    split = OpenedSplit.of(wish)
    for index in wish.indices:
        if not 0 <= index < len(split.pairs):
            raise AugenmerkError(
                f"'{split.name}' has no sentence {index}: its {len(split.pairs):,} sentences count from 0."
            )
    translator = load(wish.run, device)
    translations = split.attended(wish, translator)
    with err().status("measuring"):
        measured = measure_faithfulness(translator, translations)
    by_drop = sorted(range(len(measured)), key=lambda index: -measured[index].mean_drop)
    indices = wish.indices or by_drop[: wish.top]
    summary = {
        "run": str(wish.run),
        "split": split.name,
        "of": "references" if wish.reference else "translations",
        **summarise(measured),
    }
    chosen = {index: measured[index] for index in indices}
    if wish.out is not None:
        _write(wish, wish.out, chosen, summary)
        err().print(f"[dim]Drawn:[/] {escape(str(wish.out / 'index.html'))}", soft_wrap=True)
    if json:
        print_json({**summary, "chosen": [_document(index, one) for index, one in chosen.items()]})
        return
    _print_summary(summary)
    for index, one in chosen.items():
        _print_words(index, one)


def _map(one: Faithfulness) -> AttentionMap:
    figures = {"log p": one.word_log_probabilities, **one.drops}
    # Rounded, and nought without a sign: nobody wants to read -0.00.
    columns = {name: [round(value, 2) + 0.0 for value in values] for name, values in figures.items()}
    shown = AttentionMap.from_translation(one.translation)
    return replace(shown, extra_columns=columns, note=f"{shown.note} {NOTE}" if shown.note else NOTE)


def _write(wish: Wish, folder: Path, chosen: Mapping[int, Faithfulness], summary: Mapping[str, Any]) -> None:
    """Numbered pictures, and the page that shows them."""
    cards = []
    digits = len(str(len(chosen)))
    for number, (index, one) in enumerate(chosen.items(), 1):
        name = f"{number:0{digits}}-{summary['split']}-{index}.svg"
        shown = _map(one)
        save_figure(draw_heat_map([shown], DARK), folder / name)
        cards.append(
            Card(
                heading=f"{number} · {summary['split']} {index}",
                maps=[shown],
                sentences={"source": one.translation.source, "translation": one.translation.text},
                file=name,
            )
        )
    intro = (
        f"Beside each map of attention: the log-probability (in nats) of each word, and by how much it "
        f"drops when, at this word, the attention is replaced by uniform weights, or by its own weights "
        f"dealt out to other words. A word that loses nothing would have been predicted without looking "
        f"there."
        f"\n\nOver {summary['sentences']:,} sentences of {summary['split']}, a word loses "
        f"{summary['uniform']['mean_drop']:.2f} on average under uniform weights and "
        f"{summary['permuted']['mean_drop']:.2f} under permuted ones; the perplexity rises from "
        f"{summary['perplexity']:.2f} to {summary['uniform']['perplexity']:.2f} and "
        f"{summary['permuted']['perplexity']:.2f}."
    )
    title = f"Does {wish.run.resolve().name} use what it shows?"
    atomic_write(folder / "index.html", [render_index_page(title, intro, cards).encode()])


def _document(index: int, one: Faithfulness) -> dict[str, Any]:
    return {
        "index": index,
        **one.translation.to_dict(),
        "word_log_probabilities": list(one.word_log_probabilities),
        "drops": {name: list(drops) for name, drops in one.drops.items()},
    }


def _print_summary(summary: Mapping[str, Any]) -> None:
    out().print(
        f"[bold]{escape(summary['split'])}[/]: {summary['words']:,} words of {summary['of']}, ends included"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("attention")
    for heading in ("loss", "perplexity", "mean drop of a word", "words that drop"):
        table.add_column(heading, justify="right")
    table.add_row("as it is", f"{summary['loss']:.3f}", f"{summary['perplexity']:.2f}")
    for name in REPLACEMENTS:
        found = summary[name]
        table.add_row(
            name,
            f"{found['loss']:.3f}",
            f"{found['perplexity']:.2f}",
            f"{found['mean_drop']:.3f}",
            f"{found['share_that_falls']:.0%}",
        )
    out().print(table)


def _print_words(index: int, one: Faithfulness) -> None:
    """A line for each word: where it looks, and what it loses."""
    translation = one.translation
    out().print(f"\n[dim]{index}[/]  [bold]{escape(translation.source)}[/]", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("word", "looks at", "weight", "log p", *(f"drop, {name}" for name in REPLACEMENTS)):
        table.add_column(heading, justify="left" if heading in ("word", "looks at") else "right")
    for j, word in enumerate(translation.target_words):
        weight, place = translation.attention[j].max(dim=0)
        figures = (one.word_log_probabilities[j], *(one.drops[name][j] for name in REPLACEMENTS))
        table.add_row(
            escape(word),
            escape(translation.source_words[int(place)]),
            f"{float(weight):.2f}",
            *(f"{round(figure, 2) + 0.0:.2f}" for figure in figures),
        )
    out().print(table)
