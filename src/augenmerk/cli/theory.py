"""`augenmerk theory`: what attention can and cannot compute, tried out; and answers graded.

Each exercise is a command, made from its entry in the table of exercises.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from augenmerk.base.console import Shown, err, print_shown
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.options import GROUP, MAX_SEED, Group, Json, Pictures, grouped
from augenmerk.theory.exercises import EXERCISES, Exercise, Question, ask_all, list_variants

if TYPE_CHECKING:
    from augenmerk.drawing.figures import Picture

app = typer.Typer(
    help="Construct, measure, bound and draw what attention can compute, and grade answers. "
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
C_HELP = "c, the scale of the query. Default: what the bound requires, or 10 to 20 sqrt(d)."
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
Asked = Annotated[bool, typer.Option("--question", help="Only state the question, without its answer.")]
Hint = Annotated[int | None, typer.Option(help="The question with a hint; --hint 2 with two.", min=1, max=99)]


VariantOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TASK=NAME",
        help=f"The variant of a task that is set; repeatable. There are {', '.join(list_variants())}.",
    ),
]


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
        question: Asked = False,
        hint: Hint = None,
        json: Json = False,
    ) -> None:
        settings = dict(vars(own))
        if question or hint:
            if out is not None:
                raise AugenmerkError(
                    f"{out}: --out draws the answer, and --question and --hint show none; "
                    "augenmerk theory questions --out questions.md writes all questions to a file."
                )
            asked = Question(exercise, hint or 0, unscaled=settings.get("unscaled", False))
            _print(asked.to_dict(), asked, json)
            return
        from augenmerk.theory.lab import run as run_exercise

        pictures.make_style()
        result = run_exercise(exercise.task, **settings)
        if out is not None:
            _save(result.plot(), out, pictures)
        _print(result.to_dict(), result, json)


for _exercise in EXERCISES.values():
    _add_command(_exercise)


def _print(document: Any, shown: Shown, json: bool) -> None:
    from augenmerk.cli.terminal import print_json

    print_json(document) if json else print_shown(shown)


def _save(picture: "Picture", path: Path, pictures: Pictures) -> None:
    from augenmerk.cli.terminal import print_written

    picture.save(path, **pictures.chosen)
    print_written(path)


@app.command(
    epilog="Examples:  augenmerk theory questions    augenmerk theory questions --tasks 1.1-1.4,1.6    "
    "augenmerk theory questions --tasks 1.1-1.4 --variant 1.3=observation --language de --out fragen.html "
    "--key loesungen.html"
)
def questions(
    tasks: Annotated[
        str, typer.Option(help="Which tasks, as names and ranges: 1.1-1.4,1.6. Default: all.")
    ] = "",
    variant: VariantOption = None,
    language: Annotated[str, typer.Option(help="Language of the questions: en or de.")] = "en",
    unscaled: Unscaled = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write them to a sheet: Markdown (.md), or a page to print (.html)."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Write the sheet with answers and typical mistakes, for the teacher.")
    ] = None,
    json: Json = False,
) -> None:
    """The questions, without their answers and hints: of all tasks, or of some."""
    from augenmerk.cli.terminal import print_written

    asked = ask_all(out, tasks=tasks, variants=variant or (), language=language, key=key, unscaled=unscaled)
    for path in filter(None, (out, key)):
        print_written(path)
    if (out is None and key is None) or json:
        _print(asked.to_dict(), asked, json)


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
    from augenmerk.api.probe import probe
    from augenmerk.cli import inputs
    from augenmerk.text.words import check_sentences

    pictures.make_style()
    if sentence is None and (inputs.is_folder(run) or ("/" in run and " " not in run)):
        raise AugenmerkError(f"What should the run {run} translate? Give a sentence, in quotation marks.")
    path, text = (None, run) if sentence is None else (run, sentence)
    check_sentences([text])
    where: dict[str, Any] = {"step": step, "layer": layer, "head": head}
    found = probe(text, path, **where, beta=beta, eps=eps, samples=samples, seed=seed)
    if out is not None:
        _save(found.plot(), out, pictures)
    _print(found.to_dict(), found, json)


@app.command(
    epilog="Examples:  augenmerk theory check 1.2 --query 'c(k_a - k_b)'    "
    r"augenmerk theory check 1.2 --query '\alpha (\mathbf{k}_a - \mathbf{k}_b)'    "
    "augenmerk theory check 1.4 --query 'q_1 = mu_a + mu_b' --query 'q_2 = mu_a - mu_b'"
)
@grouped
def check(
    task: Annotated[
        str,
        typer.Argument(help="The task or variant; `augenmerk theory 1.2 --question` has the question."),
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
    from augenmerk.theory.grading import check as grade

    result = grade(task, query or [], **grading.settings)
    _print(result.to_dict(), result, json)
    if not result.holds:
        if not json:
            err().print(f"[dim]For a hint: augenmerk theory {task} --hint[/]")
        raise typer.Exit(1)


@app.command(
    epilog="Examples:  augenmerk theory grade answers.csv --out grades.csv --page mistakes.html    "
    "augenmerk theory grade quiz.csv --variant 1.3=observation --column '1.2=Response 2'"
)
@grouped
def grade(
    answers: Annotated[
        Path,
        typer.Argument(
            help="A CSV file: student, task, answers, or a column for each task, as forms export it."
        ),
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
        str | None,
        typer.Option(help="Heading of the column with the students. Default: student, name, ..."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK=HEADING", help="Heading of the column with the answers to a task; repeatable."
        ),
    ] = None,
    variant: VariantOption = None,
    grading: Grading = GROUP,
    json: Json = False,
) -> None:
    """Grade the answers of a whole class: a verdict and a reason each, and how often each mistake was made.

    A cell holds all formulas of an answer, such as: q_1 = ...; q_2 = ... What cannot be read needs
    review: it is never right and never wrong.
    """
    from augenmerk.cli.terminal import print_written
    from augenmerk.theory import lab

    graded = lab.grade(
        answers,
        out=out,
        page=page,
        keep=keep,
        student_column=student_column,
        columns=column or (),
        variants=variant or (),
        **grading.settings,
        on_written=print_written,
    )
    for line in graded.notes:
        err().print(line)
    _print(graded, graded, json)
