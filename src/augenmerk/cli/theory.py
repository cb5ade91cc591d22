"""`augenmerk theory`: what attention can and cannot compute, tried out.

Each exercise is a command, made from its entry in the table of exercises.
"""

import os
import re
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import theory_answers
from augenmerk.cli.options import GROUP, Json, Pictures, grouped
from augenmerk.cli.theory_answers import Seed, Unscaled
from augenmerk.theory.exercises import EXERCISES, Exercise

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
OF_ALL: dict[str, tuple[Any, Any]] = {
    "out": (Out, None),
    **Pictures.list_options(),
    "question": (
        Annotated[bool, typer.Option("--question", help="Only state the question, without its answer.")],
        False,
    ),
    "hint": (
        Annotated[
            int,
            typer.Option(
                "--hint", count=True, help="The question with a hint; --hint 2 with two.", show_default=False
            ),
        ],
        0,
    ),
    "json": (Json, False),
}
"""The options of every exercise, with their defaults."""


class ExerciseCommand(TyperCommand):
    """A command that takes `--hint 2` and `--hint=2` for `--hint --hint`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        repeated, left = list[str](), list(args)
        while left:
            argument = left.pop(0)
            if argument == "--hint" and left and left[0].isdecimal():
                argument = f"--hint={left.pop(0)}"
            if not argument.startswith("--hint="):
                repeated.append(argument)
                continue
            count = argument.removeprefix("--hint=")
            if not re.fullmatch("[1-9][0-9]?", count):
                raise typer.BadParameter(f"--hint {count}: how many hints is a number, such as 2.", ctx)
            repeated += ["--hint"] * int(count)
        return super().parse_args(ctx, repeated)


def _add_command(exercise: Exercise) -> None:
    """Makes the command of an exercise; its signature, which typer reads, comes from the table."""

    def command(**given: Any) -> None:
        own = {name: given.pop(name) for name in exercise.options}
        _run(exercise, own, **given)

    own = {
        name: (OPTIONS[name], None if usual == "auto" else usual) for name, usual in exercise.options.items()
    }
    parameters = own | OF_ALL
    command.__doc__ = exercise.summary
    command.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()}
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)
            for name, (annotation, usual) in parameters.items()
        ]
    )
    example = f"Example:  augenmerk theory {exercise.task} {exercise.example}"
    app.command(exercise.task, cls=ExerciseCommand, epilog=example)(command)


def _run(
    exercise: Exercise,
    own: dict[str, Any],
    *,
    out: Path | None,
    question: bool,
    hint: int,
    json: bool,
    **picture: Any,
) -> None:
    from augenmerk.cli.theory_output import show_question, show_result

    if question or hint:
        if out is not None:
            raise AugenmerkError(
                f"{out}: --out draws the answer, for which --question and --hint do not ask; "
                "augenmerk theory questions --out questions.md writes all questions to a file."
            )
        unscaled = own.get("unscaled", False)
        asked = exercise.without_root() if unscaled else exercise
        _print(asked.as_dict(hint), show_question(asked, hint, unscaled), json)
        return
    from augenmerk.theory.results import Setup

    style = Pictures(**picture).make_style()
    c = own.pop("length" if "length" in own else "scale", None)
    result = exercise.run(Setup(**own, c=c))
    if out is not None:
        from augenmerk.theory.drawing import draw

        _save(out, lambda theme: draw(result, theme), style)
    _print(result.as_dict(), show_result(result), json)


for _exercise in EXERCISES.values():
    _add_command(_exercise)


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
    from augenmerk.cli.theory_output import format_questions, show_question

    asked = [each.without_root() if unscaled else each for each in EXERCISES.values()]
    if out is not None:
        if out.suffix.lower() not in (".md", ".txt"):
            raise AugenmerkError(f"{out}: questions are written as Markdown, to a name that ends in .md.")
        atomic_write(out, [format_questions(asked).encode()])
        print_written(out)
    if out is None or json:
        shown = (line for each in asked for line in (*show_question(each, 0, unscaled), ""))
        _print({"questions": [each.as_dict(0) for each in asked]}, shown, json)


app.add_typer(theory_answers.app)


def _print(document: dict[str, Any], shown: "Iterable[RenderableType]", json: bool) -> None:
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
    samples: Samples = 2000,
    seed: Seed = 1,
    out: Out = None,
    pictures: Pictures = GROUP,
    json: Json = False,
) -> None:
    """Real queries and keys: norms, angles, margins, what could be copied, and what noise would do."""
    from augenmerk.analysis.probe import probe_attention
    from augenmerk.cli.inputs import warn_of_several_sentences, warn_of_translations
    from augenmerk.cli.terminal import err
    from augenmerk.cli.theory_output import show_step
    from augenmerk.theory.from_run import examine_step
    from augenmerk.theory.results import Setup
    from augenmerk.translation import load

    style = pictures.make_style()
    path, text = _split_arguments(run, sentence)
    translator = load(path)
    warn_of_several_sentences(text, "The text", translator.language)
    found = probe_attention(translator, text, head - 1, None if layer is None else layer - 1)
    warn_of_translations([found.translation])
    if found.translation.truncated:
        limit = f"the {len(found.source) - 1} tokens that this model reads"
        err().print(f"The sentence is longer than {limit}: only its beginning is shown.")
    if step > len(found.target):
        reason = f"the translation has {len(found.target)} tokens, its end included"
        raise AugenmerkError(f"--step {step}: {reason}.")
    if not 0 < eps < 1:
        raise AugenmerkError(f"--eps {eps:g} is impossible: it must be between 0 and 1.")
    setup = Setup(samples=samples, seed=seed, eps=eps, beta=beta)
    setup.check(least=(0, 0, 1), most=(1000, 4096, 100_000))
    report, produced = (
        examine_step(found.queries[step - 1], found.keys, found.scale, setup),
        found.target[step - 1],
    )
    if out is not None:
        from augenmerk.theory.drawing_noise import draw_step

        _save(out, lambda theme: draw_step(report, found.source, produced, theme), style)
    document = {
        **{"source": text, "truncated": found.translation.truncated, "translation": found.translation.text},
        **{"step": step, "token": produced, "layer": found.layer, "head": head},
        **{"source_tokens": list(found.source), "target_tokens": list(found.target)},
    }
    where = ""
    if found.layer is not None:
        where = f"layer {found.layer}{'' if layer else ' (the last)'}, head {head}"
    _print({**document, **report.as_dict()}, show_step(report, found, step, where), json)


def _split_arguments(run: str, sentence: str | None) -> tuple[Path, str]:
    """Returns the run directory and the sentence; the bundled model's if only a sentence was given."""
    from augenmerk.run.bundled import BUNDLED_MODEL

    # Unlike Path.is_dir, os.path.isdir returns False for a sentence that is too long for a path.
    if sentence is None and (os.path.isdir(run) or ("/" in run and " " not in run)):  # noqa: PTH112
        raise AugenmerkError(f"What should the run {run} translate? Give a sentence, in quotation marks.")
    path, text = (BUNDLED_MODEL, run) if sentence is None else (Path(run), sentence)
    if not text.strip():
        raise AugenmerkError("The sentence is empty: there is nothing to look at.")
    return path, text
