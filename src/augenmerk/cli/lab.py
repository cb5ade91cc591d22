"""`augenmerk lab`: exercises in code, checked by experiment, with the mistake named."""

from pathlib import Path
from typing import Annotated

import typer

from augenmerk.base.console import out, print_shown
from augenmerk.cli.options import MAX_SEED, Json

app = typer.Typer(
    help="Exercises in code: attention, masks, search, BLEU. A check names the mistakes.",
    no_args_is_help=True,
)

Chosen = Annotated[
    list[str] | None,
    typer.Option("--exercise", "-e", help="Only this exercise; may be repeated.", show_default=False),
]


@app.command(epilog="Example:  augenmerk lab start homework")
def start(
    folder: Annotated[Path, typer.Argument(help="A folder, which is made if there is none.")],
    exercise: Chosen = None,
    json: Json = False,
) -> None:
    """Write what students receive: sheet.md, a skeleton lab.py to fill in, and the same as a notebook."""
    from augenmerk.cli.terminal import print_json, print_written
    from augenmerk.lab.sheet import start as write

    written = write(folder, exercise or ())
    if json:
        print_json(written)
    for path in () if json else written:
        print_written(Path(path))


@app.command(
    epilog="Examples:  augenmerk lab check lab.py    "
    "augenmerk lab check lab.py --exercise mask --exercise bleu"
)
def check(
    file: Annotated[Path, typer.Argument(help="The answers, lab.py or lab.ipynb. The file is executed.")],
    exercise: Chosen = None,
    seed: Annotated[
        int, typer.Option(help="Other inputs, of other sizes, for each seed.", min=0, max=MAX_SEED)
    ] = 1,
    rubric: Annotated[
        Path | None, typer.Option(help="Points, as `augenmerk lab rubric` writes them.", show_default=False)
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Computing time that a single call may take.", min=0.1, max=3600)
    ] = 10.0,
    memory: Annotated[int, typer.Option(help="Memory for the answers, in MB.", min=16, max=1_000_000)] = 1024,
    json: Json = False,
) -> None:
    """Check answers by experiment, and name their mistakes.

    The file is executed, with your rights: check files of strangers in a container. The exit code is 0 if all
    is right, 1 if something is wrong or not done, and 2 if the file cannot be executed.
    """
    from augenmerk.cli.terminal import print_json
    from augenmerk.lab import Limits
    from augenmerk.lab import check as run

    limits = Limits(seconds=seconds, megabytes=memory)
    report = run(file, exercise, seed=seed, rubric=rubric, limits=limits)
    print_json(report.to_dict()) if json else print_shown(report)
    if not report.right:
        raise typer.Exit(2 if report.problem else 1)


@app.command(epilog="Example:  augenmerk lab rubric --out rubric.toml")
def rubric(
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write it to this TOML file.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Show the points of each exercise, and what each mistake loses, as a file that a teacher can edit."""
    import tomli_w

    from augenmerk.cli.terminal import print_json, print_written
    from augenmerk.lab import write_rubric

    written = write_rubric(out_file)
    if out_file is not None:
        print_written(out_file)
    if json:
        print_json(written)
    elif out_file is None:
        out().print(tomli_w.dumps(written), markup=False)
