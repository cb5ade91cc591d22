"""`augenmerk diagram`: draws attention as pictures, as a page of pictures, or in the terminal."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from augenmerk.base.console import print_shown
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.options import GROUP, Group, Pictures, grouped
from augenmerk.cli.terminal import print_json, print_written

app = typer.Typer()


class DiagramOptions(Group):
    """Which sentences and models to draw, and how."""

    text: Annotated[str | None, Argument(show_default=False)] = None
    """Text to draw, sentence by sentence; or give --split."""
    model: options.Models = None
    split: str | None = None
    """Split of the run's data to take sentences from."""
    index: Annotated[int | None, Option(min=0, max=options.MAX_INDEX)] = None
    """Index of the sentence in the split, counted from 0."""
    count: Annotated[int | None, Option(min=1, max=10_000)] = None
    """Number of sentences to choose from it at random."""
    seed: Annotated[int, Option(min=0, max=options.MAX_SEED)] = 1
    """Random seed for --count."""
    beam: options.Beam = None
    out: Path | None = None
    """Picture or, with --count, folder. Default: terminal."""
    format: Literal["png", "svg", "pdf"] = "png"
    """Format of pictures, with --count."""
    view: Literal["heat", "lines"] = "heat"
    """Heat map, or lines between the words."""
    subwords: bool = False
    """Draw subwords instead of words."""
    layer: options.Layer = None
    heads: bool = False
    """Draw each attention head, after the mean over all of them."""
    self_attention: Annotated[Literal["encoder", "decoder"] | None, Option("--self")] = None
    """Draw a Transformer's self-attention."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    json: options.Json = False


@app.command(
    epilog="Examples:  augenmerk diagram --model runs/mine 'Der kleine Hund schläft.' --out dog.png    "
    "augenmerk diagram --model runs/multi-head --heads 'Der kleine Hund schläft.' --out heads.png    "
    "augenmerk diagram --model runs/a --model runs/b --split test --count 12 --out pictures"
)
@grouped
def diagram(given: DiagramOptions = GROUP, pictures: Pictures = GROUP) -> None:
    """Draw the attention of models: in the terminal, as a picture, or as a page of pictures."""
    from augenmerk.api.diagram import diagram
    from augenmerk.run.bundled import BUNDLED_MODEL

    settings = dict(vars(given))
    options.load_mechanisms(settings.pop("attention"))
    as_json, models = settings.pop("json"), settings.pop("model") or [BUNDLED_MODEL]
    if given.out is None and given.view == "lines":
        raise AugenmerkError("A terminal cannot draw lines; give --out FILE.svg, or --view heat.")
    drawn = diagram(run=models, **settings, **pictures.chosen)
    if given.out is not None:
        print_written(given.out if given.count is None else given.out / "index.html")
    if as_json:
        print_json(drawn.to_dict())
    elif given.out is None:
        print_shown(drawn)
