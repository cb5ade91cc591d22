"""The command line: parse, call, print; nothing else.

Commands import what they need when they run, so that `augenmerk --help` answers at once.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from augenmerk import __version__
from augenmerk.cli.bench import app as bench_app
from augenmerk.cli.data import app as data_app
from augenmerk.cli.theory import app as theory_app
from augenmerk.errors import AugenmerkError

app = typer.Typer(
    name="augenmerk",
    help="Attention in sequence-to-sequence models: to learn, to teach and to research.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_app, name="data")
app.add_typer(bench_app, name="bench")
app.add_typer(theory_app, name="theory")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"augenmerk {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example:  augenmerk demo")
def demo(
    out: Annotated[Path, typer.Option(help="Where to leave the runs.")] = Path("runs/demo"),
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """The main job on embedded data: train three mechanisms, compare them, translate."""
    from augenmerk.cli.demonstration import run

    run(out, device, json)


@app.command(
    epilog="Examples:  augenmerk train quick --data bilderbuch --epochs 3    "
    "augenmerk train classic --attention mean --seed 2 --set train.lr=0.002"
)
def train(
    preset: Annotated[
        str | None, typer.Argument(help="classic, quick, strong, or a TOML file.", show_default=False)
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="bilderbuch, multi30k, or your own folder or file.")
    ] = None,
    source_language: Annotated[
        str | None, typer.Option(help="Translate from this language, e.g. de.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option(help="Translate into this language, e.g. en.")
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(help="none, mean, scaled-dot, dot, bilinear, additive or multi-head."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of weights, order of the data and dropout.")] = None,
    epochs: Annotated[int | None, typer.Option(help="How often to go through the data.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory; under runs/ if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. train.lr=0.002; repeatable.")
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard events into the run.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Train a translator."""
    from augenmerk.cli.training import run

    overrides = {
        "data.bitext": data,
        "data.source_language": source_language,
        "data.target_language": target_language,
        "model.attention": attention,
        "train.seed": seed,
        "train.epochs": epochs,
    }
    run(preset, overrides, settings or [], out, resume, device, tensorboard, json)


@app.command(
    epilog="Examples:  augenmerk evaluate runs/quick-multi30k-scaled-dot-1 --split test_2016_flickr --beam 1 "
    "--beam 5    augenmerk evaluate runs/a --against runs/b"
)
def evaluate(
    run: Annotated[Path, typer.Argument(help="The run directory.")],
    split: Annotated[
        list[str] | None, typer.Option(help="Repeatable; the validation split if none is given.")
    ] = None,
    beam: Annotated[
        list[int] | None, typer.Option(help="1 is greedy; repeatable; that of the run if none is given.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another run: test whether the difference may be chance.")
    ] = None,
    ter: Annotated[bool, typer.Option("--ter", help="Also translation edit rate.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Measure a trained run: BLEU, chrF, loss and perplexity."""
    from augenmerk.cli.evaluation import run as measure

    measure(run, split or [], beam or [], against, ter, device, json)


@app.command(
    epilog="Examples:  augenmerk translate --model runs/mine --beam 5 'Der kleine Hund schläft.'    "
    "augenmerk translate --model runs/mine --input de.txt --output en.txt"
)
def translate(
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Sentences; lines on stdin if none is given.", show_default=False),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="The run directory.")] = None,
    beam: Annotated[int | None, typer.Option(help="1 is greedy; that of the run if left out.")] = None,
    n_best: Annotated[int, typer.Option(help="How many translations of each sentence.")] = 1,
    input: Annotated[  # noqa: A002 (the flag is called --input)
        Path | None, typer.Option(help="A file with a sentence on each line.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="A file to write instead of stdout.")] = None,
    replace_unknown: Annotated[
        bool, typer.Option("--replace-unknown", help="Copy the source word attended to for each <unk>.")
    ] = False,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="Of samples: less is less random.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Of samples: only the likeliest words; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(help="Of samples.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    subwords: Annotated[
        bool, typer.Option("--subwords", help="With --json: also the attention over subwords.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON document per sentence, each on one line.")
    ] = False,
) -> None:
    """Translate sentences, lines on stdin, or a file."""
    from augenmerk.cli.translation import run

    run(
        text or [],
        model,
        input,
        output,
        {
            "beam": beam,
            "n_best": n_best,
            "replace_unknown": replace_unknown,
            "sample": sample,
            "temperature": temperature,
            "top_k": top_k,
            "seed": seed,
        },
        device,
        json,
        subwords,
    )


def main() -> None:
    """Runs the command; what the user can put right is one sentence and exit code 2."""
    try:
        app()
    except AugenmerkError as error:
        typer.echo(f"augenmerk: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader (`head`, say) has seen enough; nothing is left to write, not even on closing stdout.
        sys.stderr.close()
        sys.exit(0)
