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
RubricFile = Annotated[
    Path | None, typer.Option(help="Points, as `augenmerk lab rubric` writes them.", show_default=False)
]
Seconds = Annotated[
    float, typer.Option(help="Computing time that a single call may take.", min=0.1, max=3600)
]
Memory = Annotated[int, typer.Option(help="Memory for the answers, in MB.", min=16, max=1_000_000)]


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
    rubric: RubricFile = None,
    seconds: Seconds = 10.0,
    memory: Memory = 1024,
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


@app.command(
    epilog="Examples:  augenmerk lab grade submissions --seed 7 --out grades.csv --page mistakes.html    "
    "augenmerk lab grade submissions --exercise mask --seed 7 --gradescope results --otter final_grades.csv"
)
def grade(
    folder: Annotated[
        Path, typer.Argument(help="A folder or zip file with a file, folder or zip file for each student.")
    ],
    exercise: Chosen = None,
    out: Annotated[
        Path | None, typer.Option(help="Write points and mistakes to this CSV file.", show_default=False)
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write a page of the mistakes, without names.", show_default=False)
    ] = None,
    gradescope: Annotated[
        Path | None,
        typer.Option(help="Write a results.json for Gradescope, or one for each student to a folder."),
    ] = None,
    otter: Annotated[
        Path | None, typer.Option(help="Write the table of `otter grade`, final_grades.csv.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the inputs. Default: drawn, so the tests are hidden.", min=0, max=MAX_SEED
        ),
    ] = None,
    rubric: RubricFile = None,
    seconds: Seconds = 5.0,
    memory: Memory = 1024,
    jobs: Annotated[int, typer.Option(help="Submissions at a time.", min=1, max=256)] = 2,
    json: Json = False,
) -> None:
    """Grade the code of a whole class: points by the rubric, and how often each mistake was made.

    Every submission is executed, in a process with limits of time, memory and files and without a network.
    What ends, hangs or does what it may not gets no points for that exercise, and the others go on.
    """
    from augenmerk.cli.terminal import print_json, print_written
    from augenmerk.lab import Limits
    from augenmerk.lab import grade as run

    report = run(
        folder,
        exercise or (),
        seed=seed,
        rubric=rubric,
        limits=Limits(seconds=seconds, megabytes=memory),
        jobs=jobs,
        out=out,
        page=page,
        gradescope=gradescope,
        otter=otter,
        on_written=print_written,
    )
    print_json(report.to_dict()) if json else print_shown(report)


@app.command(
    epilog="Example:  augenmerk lab sheet --tasks 1.1-1.4 --variant 1.3=observation --language de "
    "--out blatt.html --key loesungen.html"
)
def sheet(
    exercise: Chosen = None,
    tasks: Annotated[str, typer.Option(help="Tasks of the theory, such as 1.1-1.4. Default: none.")] = "",
    variant: Annotated[
        list[str] | None, typer.Option(metavar="TASK=NAME", help="The variant of a task; repeatable.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the sheet: en or de.")] = "en",
    out: Annotated[
        Path | None, typer.Option(help="Write the sheet: Markdown (.md), or a page to print (.html).")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Write the sheet with answers and mistakes, for the teacher.")
    ] = None,
    json: Json = False,
) -> None:
    """Write one sheet for theory and code together, and the teacher's key."""
    from augenmerk.cli.terminal import print_json, print_written
    from augenmerk.lab.sheet import write_homework

    written = write_homework(
        out, key, tasks=tasks, variants=variant or (), exercises=exercise or (), language=language
    )
    for path in written:
        print_written(path)
    if json:
        print_json([str(path) for path in written])
