"""`augenmerk patterns`: counts the kinds of attention in a split and shows sentences of each kind."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from typer import Option

from augenmerk.base.console import err, print_shown
from augenmerk.cli import options
from augenmerk.cli.inputs import RunOptions
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

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
    from augenmerk.api.looking import patterns

    settings = {name: value for name, value in vars(given).items() if name != "json"}
    found = patterns(**run.chosen, **settings, **pictures.chosen)
    if given.out is not None:
        print_written(given.out / "index.html")
    if not found.chosen and given.kind is not None:
        err().print(f"No sentence in {escape(found.summary['split'])} is of the kind '{given.kind}'.")
    print_json(found.to_dict()) if given.json else print_shown(found)
