"""`augenmerk theory`: what attention can and cannot compute, tried out; and answers graded.

Each exercise is a command, made from its entry in the table of exercises.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.options import GROUP, MAX_SEED, Group, Json, Pictures, grouped
from augenmerk.theory.exercises import EXERCISES, GRADED, Exercise, format_questions

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from augenmerk.drawing.figures import Style, Theme

app = typer.Typer(
    help="What attention can and cannot compute: constructed, measured, bounded, drawn; and answers graded. "
    "The command of a task shows its answer; with --question it only asks.",
    no_args_is_help=True,
)

Beta = Annotated[float, typer.Option(help="The variance of the length of a key.")]
Eps = Annotated[float, typer.Option(help="The weight that all other keys together may have.")]
Samples = Annotated[int, typer.Option(help="How many random instances.", min=1, max=1_000_000)]
Seed = Annotated[int, typer.Option(help="Random seed.", min=0, max=MAX_SEED)]
Unscaled = Annotated[bool, typer.Option("--unscaled", help="Leave out the 1/sqrt(d).")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "--figure", help="Draw it: a .png, .svg or .pdf file.", show_default=False),
]
C_HELP = "c, the scale of the query. Default: what the bound asks for, or 10 to 20 sqrt(d)."
OPTIONS: dict[str, Any] = {
    "keys": Annotated[int, typer.Option(help="How many keys (for 1.6 and 1.7: inputs).", min=1, max=1000)],
    "dim": Annotated[
        int, typer.Option(help="Dimension of the keys (for scaling: the largest).", min=1, max=4096)
    ],
    "scale": Annotated[float | None, typer.Option(help=C_HELP)],
    "length": Annotated[
        float | None, typer.Option("--length", "--scale", help="B, the length of the parts. Default: 4.")
    ],
    "eps": Eps,
    "beta": Beta,
    "alpha": Annotated[float, typer.Option(help="The variance of every key in every direction.")],
    "heads": Annotated[int, typer.Option(help="How many heads.", min=1, max=1000)],
    "samples": Samples,
    "seed": Seed,
    "unscaled": Unscaled,
}
"""The options that exercises choose from; an exercise has its own defaults."""
Question = Annotated[bool, typer.Option("--question", help="Only state the question, without its answer.")]
Hint = Annotated[int | None, typer.Option(help="The question with a hint; --hint 2 with two.", min=1, max=99)]


class Grading(Group):
    """How answers are graded."""

    samples: Annotated[
        int, typer.Option(help="How many random instances of each condition.", min=10, max=2000)
    ] = 100
    seed: Seed = 1
    unscaled: Unscaled = False

    @property
    def settings(self) -> dict[str, Any]:
        return {"samples": self.samples, "seed": self.seed, "scale": 1.0 if self.unscaled else None}


class ExerciseCommand(TyperCommand):
    """A command that takes `--hint` for `--hint 1`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        for i in reversed(range(len(given))):
            if given[i] == "--hint" and (given[i + 1 :] or ["-"])[0].startswith("-"):
                given.insert(i + 1, "1")
        return super().parse_args(ctx, given)


def _add_command(exercise: Exercise) -> None:
    """Makes the command of an exercise, with those of the options that the exercise has."""

    class Own(Group):
        @classmethod
        def list_options(cls) -> dict[str, tuple[Any, Any]]:
            usual = {name: None if value == "auto" else value for name, value in exercise.options.items()}
            return {name: (OPTIONS[name], usual[name]) for name in usual}

    example = f"Example:  augenmerk theory {exercise.task} {exercise.example}"

    @app.command(exercise.task, cls=ExerciseCommand, help=exercise.summary, epilog=example)
    @grouped
    def run(
        own: Own = GROUP,
        out: Out = None,
        pictures: Pictures = GROUP,
        question: Question = False,
        hint: Hint = None,
        json: Json = False,
    ) -> None:
        from augenmerk.cli.theory_output import show_question, show_result

        settings = dict(vars(own))
        if question or hint:
            if out is not None:
                raise AugenmerkError(
                    f"{out}: --out draws the answer, and --question and --hint show none; "
                    "augenmerk theory questions --out questions.md writes all questions to a file."
                )
            unscaled = settings.get("unscaled", False)
            asked = exercise.without_root() if unscaled else exercise
            _print(asked.as_dict(hint or 0), show_question(asked, hint or 0, unscaled), json)
            return
        from augenmerk.theory.results import Setup

        style = pictures.make_style()
        c = settings.pop("length" if "length" in settings else "scale", None)
        result = exercise.run(Setup(**settings, c=c))
        if out is not None:
            from augenmerk.theory.drawing import draw

            _save(out, lambda theme: draw(result, theme), style)
        _print(result.as_dict(), show_result(result), json)


for _exercise in EXERCISES.values():
    _add_command(_exercise)


def _print(document: Any, shown: "Iterable[RenderableType]", json: bool) -> None:
    from augenmerk.cli.terminal import out, print_json

    if json:
        print_json(document)
        return
    for each in shown:
        out().print(each)


def _save(path: Path, draw: "Callable[[Theme], Figure]", style: "Style") -> None:
    from augenmerk.cli.terminal import print_written
    from augenmerk.drawing.figures import get_picture_format, save_figure

    get_picture_format(path)  # before it is drawn
    save_figure(style.draw(draw), path, outline=style.outline)
    print_written(path)


@app.command(epilog="Examples:  augenmerk theory questions    augenmerk theory questions --out questions.md")
def questions(
    unscaled: Unscaled = False,
    out: Annotated[
        Path | None, typer.Option(help="Write them to this Markdown file, as a hand-out.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """All questions, without their answers and hints."""
    from augenmerk.base.files import atomic_write
    from augenmerk.cli.terminal import print_written
    from augenmerk.cli.theory_output import show_question

    asked = [each.without_root() if unscaled else each for each in EXERCISES.values()]
    if out is not None:
        if out.suffix.lower() not in (".md", ".txt"):
            raise AugenmerkError(f"{out}: questions are written as Markdown, to a name that ends in .md.")
        atomic_write(out, [format_questions(asked).encode()])
        print_written(out)
    if out is None or json:
        shown = (line for each in asked for line in (*show_question(each, 0, unscaled), ""))
        _print({"questions": [each.as_dict(0) for each in asked]}, shown, json)


@app.command(
    "from-run",
    epilog="Examples:  augenmerk theory from-run 'Der kleine Hund schläft.' --step 2    "
    "augenmerk theory from-run runs/mine 'Der kleine Hund schläft.'    "
    "augenmerk theory from-run runs/transformer 'Der kleine Hund schläft.' --layer 1 --head 2",
)
@grouped
def from_run(
    run: Annotated[
        str, typer.Argument(help="The run directory; the bundled model if only a sentence is given.")
    ],
    sentence: Annotated[str | None, typer.Argument(help="What to translate.", show_default=False)] = None,
    step: Annotated[
        int, typer.Option(help="Which produced token to look at, counted from 1.", min=1, max=10_000)
    ] = 1,
    layer: Annotated[
        int | None,
        typer.Option(help="A Transformer's layer, counted from 1. Default: the last.", min=1, max=8),
    ] = None,
    head: Annotated[int, typer.Option(help="Which head of multi-head attention, from 1.", min=1, max=64)] = 1,
    beta: Beta = 0.1,
    eps: Eps = 0.01,
    samples: Annotated[int, typer.Option(help="How many random instances.", min=1, max=100_000)] = 2000,
    seed: Seed = 1,
    out: Out = None,
    pictures: Pictures = GROUP,
    json: Json = False,
) -> None:
    """Real queries and keys: norms, angles, margins, what could be copied, and what noise would do."""
    from augenmerk.analysis.probe import probe_attention
    from augenmerk.cli import inputs, terminal
    from augenmerk.cli.theory_output import show_step
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.theory.from_run import examine_step
    from augenmerk.theory.results import Setup
    from augenmerk.translation import load

    if not 0 < eps < 1:
        raise AugenmerkError(f"--eps {eps:g} is impossible: choose a weight between 0 and 1.")
    style = pictures.make_style()
    if sentence is None and (inputs.is_folder(run) or ("/" in run and " " not in run)):
        raise AugenmerkError(f"What should the run {run} translate? Give a sentence, in quotation marks.")
    path, text = (BUNDLED_MODEL, run) if sentence is None else (Path(run), sentence)
    inputs.check_sentences([text])
    translator = load(path)
    inputs.warn_of_several_sentences(text, "The text", translator.language)
    found = probe_attention(translator, text, head - 1, None if layer is None else layer - 1)
    inputs.warn_of_translations([found.translation])
    if found.translation.truncated:
        limit = f"the {len(found.source) - 1} tokens that this model reads"
        terminal.err().print(f"The sentence is longer than {limit}: only its beginning is shown.")
    if step > len(found.target):
        reason = f"the translation has {len(found.target)} tokens, its end included"
        raise AugenmerkError(f"--step {step}: {reason}.")
    query, produced = found.queries[step - 1], found.target[step - 1]
    setup = Setup(samples=samples, seed=seed, eps=eps, beta=beta)
    report = examine_step(query, found.keys, found.scale, setup)
    if out is not None:
        from augenmerk.theory.drawing_noise import draw_step

        _save(out, lambda theme: draw_step(report, found.source, produced, theme), style)
    document = {
        **{"source": text, "truncated": found.translation.truncated, "translation": found.translation.text},
        **{"step": step, "token": produced, "layer": found.layer, "head": head},
        **{"source_tokens": list(found.source), "target_tokens": list(found.target)},
    }
    where = f"layer {found.layer}{'' if layer else ' (the last)'}, head {head}" if found.layer else ""
    _print({**document, **report.as_dict()}, show_step(report, found, step, where), json)


@app.command(
    epilog="Examples:  augenmerk theory check 1.2 --query 'c(k_a + k_b)'    "
    r"augenmerk theory check 1.2 --query '\alpha (\mathbf{k}_a + \mathbf{k}_b)'    "
    "augenmerk theory check 1.4 --query 'q_1 = c mu_a' --query 'q_2 = c mu_b'"
)
@grouped
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
    grading: Grading = GROUP,
    json: Json = False,
) -> None:
    """Grade an answer by experiment, and explain why it fails where it fails.

    The exit code is 0 if the answer is right, 1 if it is wrong or right only under a condition, and 2 if it
    cannot be read and needs review by you or your teacher.
    """
    from augenmerk.cli.terminal import err
    from augenmerk.cli.theory_output import show_grade
    from augenmerk.theory.grading import check as grade

    if not query and task in GRADED:
        raise AugenmerkError(
            f"Give your answer, --query '{EXERCISES[task].key.prompt}'; for the question: augenmerk theory "
            f"{task} --question."
        )
    result = grade(task, query or [], **grading.settings)
    _print(result.as_dict(), show_grade(result), json)
    if not result.holds:
        if not json:
            err().print(f"[dim]For a hint: augenmerk theory {task} --hint[/]")
        raise typer.Exit(1)


@app.command(epilog="Example:  augenmerk theory grade answers.csv --out grades.csv --page mistakes.html")
@grouped
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
    grading: Grading = GROUP,
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
    every = classroom.read_answer_sheet(answers, student_column)
    sheet = classroom.keep_last_answers(every) if keep == "last" else every
    with terminal.show_progress(MofNCompleteColumn()) as show:
        graded = classroom.grade_sheet(
            sheet, **grading.settings, on_progress=lambda done, total: show("answers", done, total)
        )
    summaries, unread = classroom.summarise(graded), classroom.collect_for_review(graded)
    if out is not None:
        atomic_write(out, [classroom.format_grades(sheet, graded)])
        terminal.print_written(out)
    if page is not None:
        context = {"graded": graded, "tasks": summaries, "unread": unread, "questions": EXERCISES}
        context["title"] = "Which mistakes were made"
        atomic_write(page, [render_template("grades.html", context).encode()])
        terminal.print_written(page)
    left_out = len(every.rows) - len(sheet.rows) if keep == "last" else None
    for line in theory_output.note_table(sheet, graded, left_out, written=out is not None):
        terminal.err().print(line)
    shown = theory_output.show_class(graded, summaries, unread)
    _print([answer.as_dict() for answer in graded], shown, json)
