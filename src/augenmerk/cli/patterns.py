"""`augenmerk patterns`: counts the kinds of attention in a split and shows sentences of each kind."""

import json as json_module
from collections.abc import Mapping, Sequence
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
    from augenmerk.patterns import PatternMatch

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk patterns --top 3    "
    "augenmerk patterns runs/mine --split test --kind inversion --top 12 --out patterns"
)
def patterns(
    run: Run = None,
    split: Split = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Show only this kind: monotone, inversion, spread, stuck or shifted. Default: all kinds."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(help="Number of sentences to show, beginning with the clearest examples.")
    ] = 12,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures, a page and JSON files.")] = None,
    beam: Beam = None,
    reference: Reference = False,
    attention: Mechanisms = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Search a split for patterns of attention: monotone, inversion, spread, stuck or shifted."""
    from augenmerk.checkpoint import SHIPPED
    from augenmerk.device import choose_device
    from augenmerk.patterns import KINDS, find_patterns, select_strongest, summarise_patterns
    from augenmerk.storage import make_folder
    from augenmerk.translate import load

    load_mechanisms(attention)
    if kind is not None and kind not in KINDS:
        raise AugenmerkError(f"There is no kind '{kind}'; the kinds are {', '.join(KINDS)}.")
    if top < 1:
        raise AugenmerkError(f"--top {top} is impossible: it must be 1 or more.")
    refuse_beam_with_reference(beam=beam, reference=reference)
    if out is not None:
        make_folder(out)
    chosen_device = choose_device(device)
    path = run or SHIPPED
    read = read_split(path, split)
    translations = translate_split(load(path, chosen_device), read, beam=beam, reference=reference)
    matches = find_patterns(read.pairs, translations, read.bitext.source_language)
    summary = {
        "run": str(path),
        "split": read.name,
        "of": "references" if reference else "translations",
        **summarise_patterns(read.pairs, matches, of_references=reference),
    }
    chosen = select_strongest(matches, kind, top)
    if out is not None:
        with err().status("drawing"):
            files = _write_pictures(chosen, out, reference=reference)
            _write_page(out, path, kind=kind, matches=matches, chosen=chosen, summary=summary, files=files)
        print_written(out / "index.html")
    if not chosen and kind is not None:
        err().print(f"No sentence of {escape(read.name)} is of the kind '{kind}'.", soft_wrap=True)
    if json:
        print_json([match.to_dict() for match in chosen])
        return
    _print_summary(summary)
    for match in chosen:
        _print_match(match)


def _write_pictures(chosen: "Sequence[PatternMatch]", folder: Path, *, reference: bool) -> list[str]:
    """Writes a numbered picture of each sentence, and returns their file names."""
    from augenmerk.diagrams import AttentionMap, draw_heat_map
    from augenmerk.figures import DARK, save_figure

    names = []
    digits = len(str(len(chosen)))
    for number, match in enumerate(chosen, 1):
        name = f"{number:0{digits}}-{match.pattern.kind}-{match.index}.svg"
        target = None if reference else match.pair.target  # the map itself is of the reference already
        attention = AttentionMap.from_translation(match.translation, reference=target)
        save_figure(draw_heat_map([attention], DARK), folder / name)
        names.append(name)
    return names


def _write_page(
    folder: Path,
    run: Path,
    *,
    kind: str | None,
    matches: "Sequence[PatternMatch]",
    chosen: "Sequence[PatternMatch]",
    summary: Mapping[str, Any],
    files: Sequence[str],
) -> None:
    """Writes the page that shows the chosen sentences, and the same as JSON files."""
    from augenmerk.patterns.page import render_patterns_page
    from augenmerk.storage import atomic_write

    title = f"Patterns in the attention of {run.resolve().name}"
    intro = _make_intro(summary, kind=kind, count=len(chosen))
    page = render_patterns_page(title, intro, chosen, matches, summary, files)
    atomic_write(folder / "index.html", [page.encode()])
    for name, document in (("summary", summary), ("patterns", [one.to_dict() for one in chosen])):
        text = json_module.dumps(document, ensure_ascii=False, indent=2)
        atomic_write(folder / f"{name}.json", [text.encode()])


def _make_intro(summary: Mapping[str, Any], *, kind: str | None, count: int) -> str:
    kinds = f"of the kind '{kind}'" if kind else "of every kind in turn"
    reading = "as it read the references" if summary["of"] == "references" else "as it translated them"
    return (
        f"{summary['sentences']:,} sentences of {summary['split']}, {reading}; below, the {count} clearest "
        f"{kinds}. Rows are the words produced, columns the words of the source.\n\n"
        f"Inversion: a word moved over two source words or more (how many it passed is how many places it "
        f"moved). Monotone: none did. Spread: a word looks at "
        f"much of the source. Stuck: five words or more in a row look at the same one. Shifted: the diagonal "
        f"lies a word over from where it should be."
    )


def _print_summary(summary: Mapping[str, Any]) -> None:
    from augenmerk.patterns import KINDS

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
        agreement = summary["agreement"]
        scores = ", ".join(
            f"{name} {_format_score(agreement[name])}" for name in ("precision", "recall", "accuracy")
        )
        out().print(
            f"Compared with gold links: {agreement['gold_inversions']:,} true inversions; {scores}; "
            f"{_format_score(agreement['moved_links_in_gold'])} of the links of moved words are gold.",
            soft_wrap=True,
        )


def _format_score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _print_match(match: "PatternMatch") -> None:
    out().print()
    out().print(
        f"[dim]{match.index}[/]  [bold]{match.pattern.kind}[/]  {escape(match.pattern.verdict)}",
        soft_wrap=True,
    )
    out().print(f"   {escape(match.translation.source)}", soft_wrap=True)
    out().print(f"   {escape(match.translation.text)}", soft_wrap=True)
