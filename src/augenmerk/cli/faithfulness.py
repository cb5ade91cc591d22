"""`augenmerk faithfulness`: measures whether predictions depend on the attention that the model shows.

With --wanted it finds which attention would make the model produce a word, if any.
"""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from augenmerk.base.console import print_shown
from augenmerk.cli import options
from augenmerk.cli.inputs import RunOptions
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

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
    from augenmerk.api.looking import faithfulness

    settings = {name: value for name, value in vars(given).items() if name != "json"}
    found = faithfulness(**run.chosen, **settings, **pictures.chosen)
    if given.out is not None:
        print_written(given.out / "index.html")
    print_json(found.to_dict()) if given.json else print_shown(found)
