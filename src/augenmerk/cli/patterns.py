"""`augenmerk patterns`: counts the kinds of attention in a split and shows sentences of each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer import Option

from augenmerk.base.console import err, make_table, out, show_status
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.inputs import RunOptions
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

if TYPE_CHECKING:
    from augenmerk.analysis.patterns import PatternMatch

HEAD_MEASURES = {
    "monotonicity": "monotone",
    "sharpness": "sharpness",
    "entropy_normalised": "entropy",
    "diagonal": "diagonal",
    "end_mass": "on the end",
    "alignment_error": "AER",
}
"""The measures by which heads are compared, with their headings."""

app = typer.Typer()


class PatternOptions(Group):
    """Which patterns and heads to show."""

    kind: str | None = None
    """Show only this kind. Default: all kinds."""
    top: Annotated[int, Option(min=1, max=10_000)] = 12
    """How many sentences to show, the clearest examples first."""
    out: Path | None = None
    """Folder for pictures, a page and JSON files."""
    layer: options.Layer = None
    head: Annotated[int | None, Option(min=1, max=64)] = None
    """Take the attention of this head, counted from 1, instead of the mean."""
    heads: bool = False
    """Also compare the heads with each other."""
    json: options.Json = False


@app.command(
    epilog="Examples:  augenmerk patterns 'Im Park spielt ein Mann mit seinem Hund.'    "
    "augenmerk patterns --top 3    augenmerk patterns runs/multi-head --split val --reference --heads    "
    "augenmerk patterns runs/mine --split test --kind inversion --top 12 --out patterns"
)
@grouped
def patterns(given: PatternOptions = GROUP, run: RunOptions = GROUP, pictures: Pictures = GROUP) -> None:
    """Search a split for patterns of attention: monotone, inversion, spread, stuck or shifted."""
    from augenmerk.analysis.pages import write_patterns_page
    from augenmerk.analysis.patterns import (
        KINDS,
        check_head,
        find_patterns,
        select_strongest,
        summarise_heads,
        summarise_patterns,
    )
    from augenmerk.analysis.wording import describe_heads
    from augenmerk.base.files import make_folder
    from augenmerk.run.directory import RunDirectory

    if given.kind is not None and given.kind not in KINDS:
        raise AugenmerkError(f"There is no kind '{given.kind}'; the kinds are {', '.join(KINDS)}.")
    style = pictures.make_style(title=f"Patterns in the attention of {run.path.resolve().name}")
    if given.out is not None:
        make_folder(given.out)
    one_head = given.layer is not None or given.head is not None
    if one_head:
        check_head(RunDirectory.open(run.path).config.model, given.layer, given.head)
    read = run.translate(heads=given.heads or one_head)
    matches = find_patterns(read.pairs, read.translations, read.source_language, given.layer, given.head)
    summary = {**read.described, **summarise_patterns(read.pairs, matches, of_references=run.reference)}
    if given.heads:
        compared = summarise_heads(read.pairs, read.translations, of_references=run.reference)
        summary["heads"] = [asdict(one) for one in compared]
        summary["heads_in_words"] = describe_heads(compared)
    chosen = select_strongest(matches, given.kind, given.top)
    if given.out is not None:
        with show_status("drawing"):
            write_patterns_page(given.out, style, matches, chosen, summary, given.kind)
        print_written(given.out / "index.html")
    if not chosen and given.kind is not None:
        err().print(f"No sentence in {escape(summary['split'])} is of the kind '{given.kind}'.")
    if given.json:
        described = [match.to_dict() for match in chosen]
        print_json({**summary, "chosen": described} if given.heads else described)
    else:
        _print_result(summary, chosen)


def _print_result(summary: Mapping[str, Any], chosen: "Sequence[PatternMatch]") -> None:
    from augenmerk.analysis.pages import count_sentences

    counts, agreement = summary["kinds"], summary.get("agreement")
    out().print(
        f"[bold]{escape(summary['split'])}[/]: {count_sentences(summary)}, by the attention over "
        f"{summary['of']}"
    )
    out().print(make_table(counts, [[f"{count:,}" for count in counts.values()]], left=0))
    if summary["without_words"]:
        out().print(f"{summary['without_words']:,} without words on both sides are of no kind.")
    if agreement:
        shown = {name: "-" if value is None else f"{value:.3f}" for name, value in agreement.items()}
        scores = ", ".join(f"{name} {shown[name]}" for name in ("precision", "recall", "accuracy"))
        out().print(
            f"Compared with gold links: {agreement['gold_inversions']:,} true inversions; {scores}; "
            f"{shown['moved_links_in_gold']} of the links of moved words are gold.",
        )
    if heads := summary.get("heads"):
        columns = ["layer", "head"] if heads[0]["layer"] is not None else ["head"]
        rows = [
            [
                *(str(one[name]) for name in columns),
                *("-" if one[name] is None else f"{one[name]:.3f}" for name in HEAD_MEASURES),
            ]
            for one in heads
        ]
        out().print()
        out().print(make_table((*columns, *HEAD_MEASURES.values()), rows, left=len(columns)))
        out().print(escape(summary["heads_in_words"]))
    for match in chosen:
        verdict = f"[bold]{match.pattern.kind}[/]  {escape(match.pattern.verdict)}"
        out().print(f"\n[dim]{match.index}[/]  {verdict}")
        out().print(f"   {escape(match.translation.source)}\n   {escape(match.translation.text)}")
