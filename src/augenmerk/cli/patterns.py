"""`augenmerk patterns`: what kinds of attention there are in a split, and the sentences that show them."""

import json as json_format
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.markup import escape
from rich.table import Table

from augenmerk.cli.splits import OpenedSplit, SplitWish
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.device import choose_device
from augenmerk.diagrams import AttentionMap, draw_heat_map
from augenmerk.errors import AugenmerkError
from augenmerk.figures import DARK, save_figure
from augenmerk.patterns import (
    KINDS,
    Kind,
    PatternMatch,
    find_patterns,
    select_strongest,
    summarise_patterns,
)
from augenmerk.patterns.page import render_patterns_page
from augenmerk.storage import atomic_write
from augenmerk.translate import load


@dataclass(frozen=True)
class Wish(SplitWish):
    """What was asked for on the command line."""

    kind: str | None
    top: int

    def check(self) -> None:
        """Refuses what cannot be meant, before anything is loaded."""
        if self.kind is not None and self.kind not in KINDS:
            raise AugenmerkError(f"There is no kind '{self.kind}'; the kinds are {', '.join(KINDS)}.")
        if self.top < 1:
            raise AugenmerkError(f"--top {self.top} is impossible: it must be 1 or more.")
        super().check()


def run(wish: Wish, json: bool) -> None:
    """Translates the split, finds what there is to see, draws the most striking, and says what it is."""
    wish.check()
    device = choose_device(wish.device)
    split = OpenedSplit.of(wish)
    translations = split.attended(wish, load(wish.run, device))
    matches = find_patterns(split.pairs, translations, split.bitext.source_language)
    summary = {
        "run": str(wish.run),
        "split": split.name,
        "of": "references" if wish.reference else "translations",
        **summarise_patterns(split.pairs, matches, of_references=wish.reference),
    }
    chosen = select_strongest(matches, cast(Kind | None, wish.kind), wish.top)
    if wish.out is not None:
        with err().status("drawing"):
            _write(wish, wish.out, matches, chosen, summary)
        err().print(f"[dim]Drawn:[/] {escape(str(wish.out / 'index.html'))}", soft_wrap=True)
    if not chosen and wish.kind is not None:
        err().print(f"No sentence of {escape(split.name)} is of the kind '{wish.kind}'.", soft_wrap=True)
    if json:
        print_json([match.to_dict() for match in chosen])
        return
    _print_summary(summary)
    for match in chosen:
        _print_match(match)


def _write(
    wish: Wish,
    folder: Path,
    matches: Sequence[PatternMatch],
    chosen: Sequence[PatternMatch],
    summary: dict[str, Any],
) -> None:
    """Numbered pictures, the page that shows them, and all of it as JSON."""
    files = []
    digits = len(str(len(chosen)))
    for number, match in enumerate(chosen, 1):
        name = f"{number:0{digits}}-{match.pattern.kind}-{match.index}.svg"
        reference = None if wish.reference else match.pair.target
        shown = AttentionMap.from_translation(match.translation, reference=reference)
        save_figure(draw_heat_map([shown], DARK), folder / name)
        files.append(name)
    title = f"Patterns in the attention of {wish.run.resolve().name}"
    page = render_patterns_page(title, _intro(wish, summary, len(chosen)), chosen, matches, summary, files)
    atomic_write(folder / "index.html", [page.encode()])
    for name, document in (("summary", summary), ("patterns", [one.to_dict() for one in chosen])):
        text = json_format.dumps(document, ensure_ascii=False, indent=2)
        atomic_write(folder / f"{name}.json", [text.encode()])


def _intro(wish: Wish, summary: Mapping[str, Any], count: int) -> str:
    kind = f"of the kind '{wish.kind}'" if wish.kind else "of every kind in turn"
    what = "as it read the references" if wish.reference else "as it translated them"
    return (
        f"{summary['sentences']:,} sentences of {summary['split']}, {what}; below, the {count} most striking "
        f"{kind}. Rows are the words produced, columns the words of the source.\n\n"
        f"Inversion: a word moved over two source words or more (how many it passed is how many places it "
        f"moved). Monotone: none did. Spread: a word looks at "
        f"much of the source. Stuck: five words or more in a row look at the same one. Shifted: the diagonal "
        f"lies a word over from where it should be."
    )


def _print_summary(summary: Mapping[str, Any]) -> None:
    kinds = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in KINDS:
        kinds.add_column(heading, justify="right")
    kinds.add_row(*(f"{summary['kinds'][kind]:,}" for kind in KINDS))
    out().print(
        f"[bold]{escape(summary['split'])}[/]: {summary['sentences']:,} sentences, by the attention over "
        f"{summary['of']}"
    )
    out().print(kinds)
    if summary["without_words"]:
        out().print(f"{summary['without_words']:,} without words on both sides are of no kind.")
    if "agreement" in summary:
        found = summary["agreement"]
        figures = ("precision", "recall", "accuracy")
        out().print(
            f"Against gold links: {found['gold_inversions']:,} true inversions; "
            + ", ".join(f"{name} {_figure(found[name])}" for name in figures)
            + f"; of the links of moved words {_figure(found['moved_links_in_gold'])} are gold.",
            soft_wrap=True,
        )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _print_match(match: PatternMatch) -> None:
    out().print()
    out().print(
        f"[dim]{match.index}[/]  [bold]{match.pattern.kind}[/]  {escape(match.pattern.verdict)}",
        soft_wrap=True,
    )
    out().print(f"   {escape(match.translation.source)}", soft_wrap=True)
    out().print(f"   {escape(match.translation.text)}", soft_wrap=True)
