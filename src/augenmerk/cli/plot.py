"""`augenmerk plot`: draws the curves of training, as a picture or in the terminal."""

import os
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.cli import options
from augenmerk.cli.terminal import out as console
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
            help="loss, bleu, perplexity, learning-rate or speed; repeatable. Default: loss, bleu and "
            "learning-rate, where the run has them."
        ),
    ] = None,
    by: Annotated[str, Option(help="What to draw against: epoch, step or seconds.")] = "epoch",
    out: Annotated[Path | None, Option(help="Picture: .png, .svg or .pdf. Default: terminal.")] = None,
    pictures: options.Pictures = options.GROUP,
    json: options.Json = False,
) -> None:
    """Draw the curves of runs: loss, BLEU and learning rate, also while they are being trained."""
    from augenmerk.drawing.charts import RunCurves, choose_kinds, draw_training_curves, render_terminal_curves
    from augenmerk.drawing.figures import get_picture_format, save_figure
    from augenmerk.run.directory import RunDirectory

    style = pictures.make_style()
    if out is not None:
        get_picture_format(out)
    opened = [RunDirectory.open(path) for path in runs]
    paths = [path.resolve() for path in runs]
    names = [path.name for path in paths]
    if len(set(names)) < len(names):  # as in a study: mean/seed-1, scaled-dot/seed-1
        common = os.path.commonpath([path.parent for path in paths])
        names = [str(path.relative_to(common)) for path in paths]
    curves = [RunCurves(name, run.read_metrics()) for name, run in zip(names, opened, strict=True)]
    kinds = choose_kinds(curves, curve or (), by)
    if out is not None:
        figure = style.draw(lambda theme: draw_training_curves(curves, kinds, by, theme))
        save_figure(figure, out, outline=style.outline)
        print_written(out)
    elif not json:
        console().print(render_terminal_curves(curves, kinds, by, console().width))
    if json:
        keys = [key for kind in kinds.values() for key in kind.keys]
        described = [
            {
                "run": str(path),
                "finished": run.finished,
                "curves": {key: each.get_points(key, by) for key in keys},
            }
            for path, run, each in zip(runs, opened, curves, strict=True)
        ]
        print_json({"by": by, "file": None if out is None else str(out), "runs": described})
