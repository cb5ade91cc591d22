"""`augenmerk theory`: what attention can and cannot compute, tried out."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options, theory_answers
from augenmerk.cli.options import Json
from augenmerk.cli.theory_answers import Seed, Unscaled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.drawing.figures import Style, Theme
    from augenmerk.theory.results import Setup

app = typer.Typer(
    help="What attention can and cannot compute: constructed, measured, bounded, drawn; and answers graded. "
    "The command of a task shows its answer; with --question it only asks.",
    no_args_is_help=True,
)

Keys = Annotated[int, typer.Option(help="How many keys (for 1.6 and 1.7: inputs).", min=1, max=1000)]
Dim = Annotated[int, typer.Option(help="Dimension of the keys.", min=1, max=4096)]
Scale = Annotated[
    float | None,
    typer.Option(help="c, the scale of the query. Default: what the bound asks for, or 10 to 20 sqrt(d)."),
]
Length = Annotated[
    float | None, typer.Option("--length", "--scale", help="B, the length of the parts. Default: 4.")
]
Beta = Annotated[float, typer.Option(help="The variance of the length of a key.")]
Eps = Annotated[float, typer.Option(help="The weight that all other keys together may have.")]
Samples = Annotated[int, typer.Option(help="How many random instances.", min=1, max=1_000_000)]
AskQuestion = Annotated[bool, typer.Option("--question", help="Only state the question, without its answer.")]
Hints = Annotated[
    int,
    typer.Option(
        "--hint", count=True, help="The question with a hint; --hint 2 with two.", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "--figure", help="Draw it: a .png, .svg or .pdf file.", show_default=False),
]


class Task(TyperCommand):
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


@app.command("1.1", cls=Task, epilog="Example:  augenmerk theory 1.1 --keys 8 --out copying.svg")
def copying(
    keys: Keys = 8,
    dim: Dim = 2,
    scale: Scale = None,
    eps: Eps = 0.01,
    samples: Samples = 20,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Copying one value: when is there a query for it?"""
    from augenmerk.theory.results import Setup

    setup = Setup(keys, dim, samples, seed, scale, unscaled, eps=eps)
    _run("1.1", setup, out, options.make_style(theme, title, size, font_size, outline), question, hint, json)


@app.command("1.2", cls=Task, epilog="Example:  augenmerk theory 1.2 --keys 8 --dim 64 --scale 50")
def averaging(
    keys: Keys = 8,
    dim: Dim = 64,
    scale: Scale = None,
    eps: Eps = 0.01,
    samples: Samples = 200,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Averaging two values."""
    from augenmerk.theory.results import Setup

    setup = Setup(keys, dim, samples, seed, scale, unscaled, eps=eps)
    _run("1.2", setup, out, options.make_style(theme, title, size, font_size, outline), question, hint, json)


@app.command("1.3", cls=Task, epilog="Example:  augenmerk theory 1.3 --beta 0.1 --out noisy.svg")
def noisy_average(
    keys: Keys = 8,
    dim: Dim = 64,
    scale: Scale = None,
    beta: Beta = 0.1,
    samples: Samples = 4000,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """The same average, of keys of random length."""
    from augenmerk.theory.results import Setup

    setup = Setup(keys, dim, samples, seed, scale, unscaled, beta=beta)
    _run("1.3", setup, out, options.make_style(theme, title, size, font_size, outline), question, hint, json)


@app.command("1.4", cls=Task, epilog="Example:  augenmerk theory 1.4 --beta 0.5 --heads 2 --out heads.svg")
def several_heads(
    keys: Keys = 8,
    dim: Dim = 64,
    scale: Scale = None,
    beta: Beta = 0.1,
    heads: Annotated[int, typer.Option(help="How many heads.", min=1, max=1000)] = 2,
    samples: Samples = 4000,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Two heads on the keys of 1.3."""
    from augenmerk.theory.results import Setup

    setup = Setup(keys, dim, samples, seed, scale, unscaled, beta=beta, heads=heads)
    _run("1.4", setup, out, options.make_style(theme, title, size, font_size, outline), question, hint, json)


@app.command("1.5", cls=Task, epilog="Example:  augenmerk theory 1.5 --out noisy.svg")
def noisy_direction(
    keys: Keys = 8,
    dim: Dim = 64,
    scale: Scale = None,
    beta: Beta = 0.5,
    alpha: Annotated[float, typer.Option(help="The variance of every key in every direction.")] = 1e-6,
    samples: Samples = 4000,
    seed: Seed = 1,
    unscaled: Unscaled = False,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Noise along one key's own direction."""
    from augenmerk.theory.results import Setup

    setup = Setup(keys, dim, samples, seed, scale, unscaled, beta=beta, alpha=alpha)
    _run("1.5", setup, out, options.make_style(theme, title, size, font_size, outline), question, hint, json)


@app.command("1.6", cls=Task, epilog="Example:  augenmerk theory 1.6 --length 2 --out self.svg")
def without_projections(
    keys: Keys = 3,
    dim: Dim = 16,
    scale: Length = None,
    samples: Samples = 20,
    seed: Seed = 1,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Self-attention without projections."""
    from augenmerk.theory.results import Setup

    _run(
        "1.6",
        Setup(keys, dim, samples, seed, scale),
        out,
        options.make_style(theme, title, size, font_size, outline),
        question,
        hint,
        json,
    )


@app.command("1.7", cls=Task, epilog="Example:  augenmerk theory 1.7 --out matrices.svg")
def with_projections(
    keys: Keys = 3,
    dim: Dim = 16,
    scale: Length = None,
    samples: Samples = 20,
    seed: Seed = 1,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Self-attention with K, Q and V."""
    from augenmerk.theory.results import Setup

    _run(
        "1.7",
        Setup(keys, dim, samples, seed, scale),
        out,
        options.make_style(theme, title, size, font_size, outline),
        question,
        hint,
        json,
    )


@app.command(cls=Task, epilog="Example:  augenmerk theory scaling --keys 32 --dim 1024 --out scaling.svg")
def scaling(
    keys: Keys = 32,
    dim: Annotated[int, typer.Option(help="The largest dimension.", min=1, max=4096)] = 1024,
    samples: Samples = 200,
    seed: Seed = 1,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    question: AskQuestion = False,
    hint: Hints = 0,
    json: Json = False,
) -> None:
    """Why 1/sqrt(d)."""
    from augenmerk.theory.results import Setup

    _run(
        "scaling",
        Setup(keys, dim, samples, seed),
        out,
        options.make_style(theme, title, size, font_size, outline),
        question,
        hint,
        json,
    )


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
    from augenmerk.cli.theory_output import format_questions, question_lines
    from augenmerk.theory.questions import QUESTIONS

    asked = [question.without_root() if unscaled else question for question in QUESTIONS.values()]
    if out is not None:
        if out.suffix.lower() not in (".md", ".txt"):
            raise AugenmerkError(f"{out}: questions are written as Markdown, to a name that ends in .md.")
        atomic_write(out, [format_questions(asked).encode()])
        print_written(out)
    document = {"questions": [question.as_dict(0) for question in asked]}
    shown = (line for question in asked for line in (*question_lines(question, 0, unscaled), ""))
    if out is None or json:
        _print(document, shown, json)


app.add_typer(theory_answers.app)


def _run(
    task: str, setup: "Setup", out: Path | None, style: "Style", question: bool, hints: int, json: bool
) -> None:
    from augenmerk.cli.theory_output import question_lines, result_lines
    from augenmerk.theory.questions import QUESTIONS

    if question or hints:
        if out is not None:
            raise AugenmerkError(
                f"{out}: --out draws the answer, for which --question and --hint do not ask; "
                "augenmerk theory questions --out questions.md writes all questions to a file."
            )
        asked = QUESTIONS[task].without_root() if setup.unscaled else QUESTIONS[task]
        _print(asked.as_dict(hints), question_lines(asked, hints, setup.unscaled), json)
        return
    from augenmerk.theory.experiments import EXPERIMENTS

    result = EXPERIMENTS[task](setup)
    if out is not None:
        from augenmerk.theory.drawing import draw

        _save(out, lambda theme: draw(result, theme), style)
    _print(result.as_dict(), result_lines(result), json)


def _print(document: dict[str, Any], lines: Iterable[str], json: bool) -> None:
    from augenmerk.cli.terminal import out, print_json

    if json:
        print_json(document)
        return
    for line in lines:
        out().print(line, soft_wrap=True)


def _save(path: Path, draw: "Callable[[Theme], Figure]", style: "Style") -> None:
    from augenmerk.cli.terminal import print_written
    from augenmerk.drawing.figures import get_picture_format, save_figure

    get_picture_format(path)  # before it is drawn
    save_figure(style.apply_to_chart(draw(style.theme)), path, outline=style.outline)
    print_written(path)


@app.command(
    "from-run",
    epilog="Examples:  augenmerk theory from-run 'Der kleine Hund schläft.' --step 2    "
    "augenmerk theory from-run runs/mine 'Der kleine Hund schläft.'    "
    "augenmerk theory from-run runs/transformer 'Der kleine Hund schläft.' --layer 1 --head 2",
)
def from_run(
    run: Annotated[
        str, typer.Argument(help="The run directory; the model that ships if only a sentence is given.")
    ],
    sentence: Annotated[str | None, typer.Argument(help="What to translate.", show_default=False)] = None,
    step: Annotated[
        int, typer.Option(help="Which produced token to look at, counted from 1.", min=1, max=10_000)
    ] = 1,
    layer: Annotated[
        int | None,
        typer.Option(help="Of a Transformer, which layer, from 1. Default: the last.", min=1, max=8),
    ] = None,
    head: Annotated[int, typer.Option(help="Which head of multi-head attention, from 1.", min=1, max=64)] = 1,
    beta: Beta = 0.1,
    eps: Eps = 0.01,
    samples: Samples = 2000,
    seed: Seed = 1,
    out: Out = None,
    theme: options.ThemeName = "light",
    title: options.Title = None,
    size: options.Size = None,
    font_size: options.FontSize = None,
    outline: options.Outline = False,
    json: Json = False,
) -> None:
    """Real queries and keys: norms, angles, margins, what could be copied, and what noise would do."""
    from augenmerk.analysis.probe import probe_attention
    from augenmerk.cli.terminal import err
    from augenmerk.cli.theory_output import step_lines
    from augenmerk.cli.unfamiliar import warn_of_several_sentences, warn_of_translations
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.theory.from_run import examine_step
    from augenmerk.theory.results import Setup
    from augenmerk.translation import load

    style = options.make_style(theme, title, size, font_size, outline)
    # Unlike Path.is_dir, os.path.isdir says no to a sentence that is too long for a path.
    if sentence is None and (os.path.isdir(run) or ("/" in run and " " not in run)):  # noqa: PTH112
        raise AugenmerkError(f"Say what the run {run} is to translate: a sentence, in quotation marks.")
    place, text = (BUNDLED_MODEL, run) if sentence is None else (Path(run), sentence)
    if not text.strip():
        raise AugenmerkError("The sentence is empty: there is nothing to look at.")
    translator = load(place)
    warn_of_several_sentences(text, "The text", translator.language)
    found = probe_attention(translator, text, head - 1, None if layer is None else layer - 1)
    warn_of_translations([found.translation])
    if found.translation.truncated:
        limit = f"the {len(found.source) - 1} tokens that this model reads"
        err().print(f"The sentence is longer than {limit}: only its beginning is looked at.", soft_wrap=True)
    if step > len(found.target):
        reason = f"the translation has {len(found.target)} tokens, its end included"
        raise AugenmerkError(f"--step {step}: {reason}.")
    if not 0 < eps < 1:
        raise AugenmerkError(f"--eps {eps:g} is impossible: it must be between 0 and 1.")
    query, produced = found.queries[step - 1], found.target[step - 1]
    setup = Setup(samples=samples, seed=seed, eps=eps, beta=beta)
    setup.check(least=(0, 0, 1), most=(1000, 4096, 100_000))
    report = examine_step(query, found.keys, found.scale, setup)
    if out is not None:
        from augenmerk.theory.drawing import draw_step

        _save(out, lambda theme: draw_step(report, found.source, produced, theme), style)
    document = {
        **{"source": text, "truncated": found.translation.truncated, "translation": found.translation.text},
        **{"step": step, "token": produced, "layer": found.layer, "head": head},
        **{"source_tokens": list(found.source), "target_tokens": list(found.target)},
    }
    lines = list(step_lines(report, found.source, found.target, step, found.translation.text))
    if found.layer is not None:
        which = f"layer {found.layer}{'' if layer else ' (the last)'}, head {head}"
        lines.insert(1, f"[dim]how the decoder looks at the source in {which}[/]")
    _print({**document, **report.as_dict()}, lines, json)
