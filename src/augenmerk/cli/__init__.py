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
from augenmerk.cli.options import Beam, Device, Examined, Json
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
    device: Device = "auto",
    json: Json = False,
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
    device: Device = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. train.lr=0.002; repeatable.")
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard events into the run.")
    ] = False,
    json: Json = False,
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
    epilog="Examples:  augenmerk evaluate --split test_2016_flickr    "
    "augenmerk evaluate runs/quick-multi30k-scaled-dot-1 --split test_2016_flickr --beam 1 "
    "--beam 5    augenmerk evaluate runs/a --baseline runs/b    augenmerk evaluate runs/a --alignment    "
    "augenmerk evaluate runs/a --ensemble runs/b --ensemble runs/c --beam 10 --mbr"
)
def evaluate(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="The run directory; if left out, the model that ships, copied into runs.", show_default=False
        ),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Repeatable; the validation split if none is given.")
    ] = None,
    beam: Annotated[
        list[int] | None, typer.Option(help="1 is greedy; repeatable; that of the run if none is given.")
    ] = None,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option("--ensemble", help="Another run that translates together with this one; repeatable."),
    ] = None,
    mbr: Annotated[
        bool, typer.Option("--mbr", help="Of all that the beam finds, the one most like the others.")
    ] = False,
    baseline: Annotated[
        Path | None, typer.Option(help="Another run: test whether the difference may be chance.")
    ] = None,
    ter: Annotated[bool, typer.Option("--ter", help="Also translation edit rate.")] = False,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Also how well attention agrees with word links.")
    ] = False,
    gold: Annotated[
        Path | None, typer.Option(help="Gold links of the split: lines such as '0-0 1?2'. With --alignment.")
    ] = None,
    reverse_run: Annotated[
        Path | None, typer.Option(help="A run the other way: only links of both count. With --alignment.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Link all words of this weight, not only the one attended to most. With --alignment."
        ),
    ] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Measure a trained run: BLEU, chrF, loss and perplexity."""
    from augenmerk.cli.evaluation import Aligning
    from augenmerk.cli.evaluation import run as measure

    if not alignment and (gold or reverse_run or threshold is not None):
        raise AugenmerkError(
            "--gold, --reverse-run and --threshold say how --alignment compares: add --alignment."
        )
    if threshold is not None and not 0 < threshold <= 1:
        raise AugenmerkError(f"--threshold {threshold} is impossible: a weight is between 0 and 1.")
    aligning = Aligning(gold, reverse_run, threshold) if alignment else None
    measure(run, split or [], beam or [], ensemble or [], mbr, baseline, ter, aligning, device, json)


@app.command(
    epilog="Examples:  augenmerk translate 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk translate --model runs/mine --beam 5 'Der kleine Hund schläft.'    "
    "augenmerk translate --model runs/mine --input de.txt --output en.txt    "
    "augenmerk translate --model runs/a --model runs/b --beam 10 --mbr < de.txt"
)
def translate(
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Sentences; lines on stdin if none is given.", show_default=False),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="The run directory; several translate together; the one that ships if left out."),
    ] = None,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(help="How many translations of each sentence.")] = 1,
    input: Annotated[  # noqa: A002 (the flag is called --input)
        Path | None, typer.Option(help="A file with a sentence on each line.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="A file to write instead of stdout.")] = None,
    replace_unknown: Annotated[
        bool,
        typer.Option("--replace-unknown", help="Copy the source word attended to for each unknown word."),
    ] = False,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="Of samples: less is less random.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Of samples: only the likeliest words; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(help="Of samples.")] = 1,
    mbr: Annotated[
        bool, typer.Option("--mbr", help="Of all candidates, the one most like the others, by chrF.")
    ] = False,
    candidates: Annotated[
        int | None,
        typer.Option(help="Of --mbr, from each model: as many as the beam is wide, or 50 samples."),
    ] = None,
    device: Device = "auto",
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
        model or [],
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
            "mbr": mbr,
            "candidates": candidates,
        },
        device,
        json,
        subwords,
    )


@app.command(
    epilog="Example:  augenmerk study studies/small.toml --jobs 2. Exit code 1: some runs failed, the others "
    "are done; start the same command again to go on."
)
def study(
    file: Annotated[Path, typer.Argument(help="The TOML file that declares the study.")],
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time; as many as there are cores, at most 4, if left out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where runs and results are; runs/study-NAME if left out.")
    ] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train and compare variants over seeds: runs what is missing, goes on where it was stopped."""
    from augenmerk.cli.studying import run

    run(file, jobs, out, device, json)


@app.command(
    epilog="Examples:  augenmerk report runs/study-small    "
    "augenmerk report runs/study-small --format latex --out table.tex"
)
def report(
    study: Annotated[Path, typer.Argument(help="The study's directory, or its study.json.")],
    format: Annotated[  # noqa: A002 (the flag is called --format)
        str, typer.Option(help="html, a page; or its table as markdown, latex or csv.")
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; if left out, report.html in the study, or stdout for tables."),
    ] = None,
    json: Json = False,
) -> None:
    """Write what a study found: a self-contained page, or a table for a paper."""
    from augenmerk.cli.reporting import run

    run(study, format, out, json)


@app.command(
    epilog="Examples:  augenmerk diagram --model runs/mine 'Der kleine Hund schläft.' --out dog.png    "
    "augenmerk diagram --model runs/a --model runs/b --split test --count 12 --out pictures"
)
def diagram(
    text: Annotated[
        str | None, typer.Argument(help="A sentence; or give --split.", show_default=False)
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="The run directory; repeatable: side by side; the one that ships if left out."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Draw sentences of this split of the run's data.")] = None,
    index: Annotated[int | None, typer.Option(help="Which sentence of the split, counted from 0.")] = None,
    count: Annotated[int | None, typer.Option(help="So many sentences of the split, drawn by lot.")] = None,
    seed: Annotated[int, typer.Option(help="Of the lots.")] = 1,
    beam: Beam = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A .png, .svg or .pdf file, a folder with --count; the terminal if left out."),
    ] = None,
    format: Annotated[str, typer.Option(help="With --count: png, svg or pdf.")] = "png",  # noqa: A002
    view: Annotated[str, typer.Option(help="heat or lines.")] = "heat",
    theme: Annotated[str, typer.Option(help="dark, or light for print.")] = "dark",
    subwords: Annotated[bool, typer.Option("--subwords", help="Subwords instead of words.")] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Draw what models attend to: in the terminal, as a picture, or as a page of pictures."""
    from augenmerk.checkpoint import SHIPPED
    from augenmerk.cli.diagram import Wish, run

    wish = Wish(
        text=text,
        models=model or [SHIPPED],
        split=split,
        index=index,
        count=count,
        seed=seed,
        beam=beam,
        out=out,
        format=format,
        view=view,
        theme=theme,
        subwords=subwords,
        device=device,
    )
    run(wish, json)


@app.command(
    epilog="Examples:  augenmerk patterns --top 3    "
    "augenmerk patterns runs/mine --split test --kind inversion --top 12 --out patterns"
)
def patterns(
    run: Examined = None,
    split: Annotated[str | None, typer.Option(help="The validation split if left out.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="monotone, inversion, spread, stuck or shifted; all if left out.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many sentences to show, the most striking first.")] = 12,
    out: Annotated[Path | None, typer.Option(help="A folder for pictures, a page and JSON.")] = None,
    beam: Beam = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Let it read the references instead of translating.")
    ] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Search a split for patterns of attention: inversions, diagonals, what is spread, stuck or shifted."""
    from augenmerk.checkpoint import SHIPPED
    from augenmerk.cli.patterns import Wish
    from augenmerk.cli.patterns import run as search

    search(Wish(run or SHIPPED, split, beam, reference, out, device, kind, top), json)


@app.command(
    epilog="Examples:  augenmerk faithfulness --top 1    "
    "augenmerk faithfulness runs/mine --split test --index 3 --out faithful"
)
def faithfulness(
    run: Examined = None,
    split: Annotated[str | None, typer.Option(help="The validation split if left out.")] = None,
    index: Annotated[
        list[int] | None, typer.Option(help="A sentence to show, counted from 0; repeatable.")
    ] = None,
    top: Annotated[
        int, typer.Option(help="Without --index: how many sentences to show, the largest drop first.")
    ] = 3,
    out: Annotated[Path | None, typer.Option(help="A folder for pictures and a page.")] = None,
    beam: Beam = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Let it read the references instead of translating.")
    ] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Replace the attention at each word: does the model use what it shows?"""
    from augenmerk.checkpoint import SHIPPED
    from augenmerk.cli.faithfulness import Wish
    from augenmerk.cli.faithfulness import run as measure

    measure(Wish(run or SHIPPED, split, beam, reference, out, device, index or [], top), json)


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
