"""`augenmerk theory check` and `augenmerk theory grade`: one answer, and those of a whole class."""

from pathlib import Path
from typing import Annotated

import typer

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.options import MAX_SEED, Json
from augenmerk.theory.exercises import EXERCISES, GRADED

app = typer.Typer()

Samples = Annotated[int, typer.Option(help="How many random instances of each condition.", min=10, max=2000)]
Seed = Annotated[int, typer.Option(help="Random seed.", min=0, max=MAX_SEED)]
Unscaled = Annotated[bool, typer.Option("--unscaled", help="Leave out the 1/sqrt(d), as the course does.")]


@app.command(
    epilog="Examples:  augenmerk theory check 1.2 --query 'c(k_a + k_b)'    "
    r"augenmerk theory check 1.2 --query '\alpha (\mathbf{k}_a + \mathbf{k}_b)'    "
    "augenmerk theory check 1.4 --query 'q_1 = c mu_a' --query 'q_2 = c mu_b'"
)
def check(
    task: Annotated[
        str, typer.Argument(help="1.1 to 1.7; `augenmerk theory 1.2 --question` has the question.")
    ],
    query: Annotated[
        list[str] | None,
        typer.Option(
            help="Your answer, over the names of the task, plain or in LaTeX; one for each query or matrix."
        ),
    ] = None,
    samples: Samples = 100,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    json: Json = False,
) -> None:
    """Grade an answer by experiment, and explain why it fails where it fails.

    The exit code is 0 if the answer is right, 1 if it is wrong or right only under a condition, and 2 if it
    cannot be read and needs review by a person.
    """
    from augenmerk.cli.terminal import err, out, print_json
    from augenmerk.cli.theory_output import show_grade
    from augenmerk.theory.grading import check as grade

    if not query and task in GRADED:
        prompt = EXERCISES[task].as_dict(0)["answer"]
        raise AugenmerkError(
            f"Give your answer, --query '{prompt}'; for the question: augenmerk theory {task} --question."
        )
    result = grade(task, query or [], samples=samples, seed=seed, scale=1.0 if unscaled else None)
    if json:
        print_json(result.as_dict())
    else:
        for each in show_grade(result):
            out().print(each)
        if not result.holds:
            err().print(f"[dim]For a hint: augenmerk theory {task} --hint[/]")
    if not result.holds:
        raise typer.Exit(1)


@app.command(epilog="Example:  augenmerk theory grade answers.csv --out grades.csv --page mistakes.html")
def grade(
    answers: Annotated[
        Path,
        typer.Argument(help="A CSV file with the columns student, task, answers, or a column for each task."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the table with verdict, mistake and reason to this CSV file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write a page of the mistakes, without names, to this HTML file.")
    ] = None,
    keep: Annotated[
        str,
        typer.Option(help="Of several answers of a student to a task: all, or last, in the file's order."),
    ] = "all",
    student_column: Annotated[
        str | None, typer.Option(help="Heading of the column with the students. Default: student, or name.")
    ] = None,
    samples: Samples = 100,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    json: Json = False,
) -> None:
    """Grade the answers of a whole class: a verdict and a reason each, and how often each mistake was made.

    A cell holds all formulas of an answer, such as: q_1 = c mu_a; q_2 = c mu_b. What cannot be read needs
    review: it is never right and never wrong.
    """
    from rich.progress import MofNCompleteColumn

    from augenmerk.base.files import atomic_write
    from augenmerk.cli import terminal, theory_output
    from augenmerk.drawing.html import render_template
    from augenmerk.theory import classroom

    if keep not in ("all", "last"):
        raise AugenmerkError(f"--keep {keep}: expected all or last.")
    for path in (out, page):
        if path is not None and path.exists() and path.samefile(answers):
            raise AugenmerkError(f"{path} has the answers; give the grades another name.")
        if path is not None and not path.parent.is_dir():  # before anything is graded
            raise AugenmerkError(f"{path}: there is no folder {path.parent}.")
    sheet = every = classroom.read_answer_sheet(answers, student_column)
    if keep == "last":
        sheet = classroom.keep_last_answers(every)
    with terminal.show_progress(MofNCompleteColumn()) as show:
        graded = classroom.grade_sheet(
            sheet,
            samples=samples,
            seed=seed,
            scale=1.0 if unscaled else None,
            on_progress=lambda done, total: show("answers", done, total),
        )
    summaries, unread = classroom.summarise(graded), classroom.collect_for_review(graded)
    if out is not None:
        atomic_write(out, [theory_output.format_grades(sheet, graded)])
        terminal.print_written(out)
    if page is not None:
        context = {"graded": graded, "tasks": summaries, "unread": unread, "questions": EXERCISES}
        context["title"] = "Which mistakes were made"
        atomic_write(page, [render_template("grades.html", context).encode()])
        terminal.print_written(page)
    left_out = len(every.rows) - len(sheet.rows) if keep == "last" else None
    for line in theory_output.note_table(sheet, graded, left_out, written=out is not None):
        terminal.err().print(line)
    if json:
        terminal.print_json([answer.as_dict() for answer in graded])
        return
    for each in theory_output.show_class(graded, summaries, unread):
        terminal.out().print(each)
