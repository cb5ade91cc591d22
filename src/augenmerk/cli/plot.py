"""`augenmerk plot`: draws the curves of training, as a picture or in the terminal."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.console import out as console
from augenmerk.cli import options
from augenmerk.cli.terminal import print_json, print_written

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk plot runs/mine    "
    "augenmerk plot runs/a runs/b --curve loss --by step --out curves.pdf"
)
@options.grouped
def plot(
    runs: Annotated[list[Path], Argument(help="Run directories, finished or still being trained.")],
    curve: Annotated[
        list[str] | None,
        Option(
            help="loss, bleu, perplexity, entropy, aer, learning-rate or speed; repeatable. Default: loss, "
            "bleu and learning-rate, where the run has them."
        ),
    ] = None,
    by: Annotated[str, Option(help="What to draw against: epoch, step or seconds.")] = "epoch",
    out: Annotated[Path | None, Option(help="Picture: .png, .svg or .pdf. Default: terminal.")] = None,
    pictures: options.Pictures = options.GROUP,
    json: options.Json = False,
) -> None:
    """Draw the curves of runs: loss, BLEU and learning rate, also while they are being trained."""
    from augenmerk.api.run import curves as open_curves
    from augenmerk.drawing.figures import get_picture_format

    pictures.make_style()
    if out is not None:
        get_picture_format(out)
    curves = open_curves(*runs, curve=curve or (), by=by)
    if out is not None:
        curves.save(out, **pictures.chosen)
        print_written(out)
    elif not json:
        console().print(curves.render(console().width))
    if json:
        print_json(curves.to_dict())
