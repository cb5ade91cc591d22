"""`augenmerk evaluate`: scores of a run as a table, and tests whether it is better than another."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.console import err, print_shown
from augenmerk.cli import options
from augenmerk.cli.inputs import DataOptions
from augenmerk.cli.options import GROUP, Group, grouped
from augenmerk.cli.terminal import print_json
from augenmerk.evaluation.metrics import describe_metrics

app = typer.Typer()


class EvaluateOptions(Group):
    """What to evaluate, on which sentences, and what to compare it with."""

    run: Annotated[Path | None, Argument(show_default=False)] = None
    """Run directory. Default: the bundled model, copied to runs."""
    split: list[str] | None = None
    """Split of the data; repeatable. Default: validation; all pairs of a file in --data."""
    beam: Annotated[list[int] | None, Option(min=1, max=1000)] = None
    """Beam width; repeatable. Default: the run's own."""
    ensemble: list[Path] | None = None
    """Another run to translate with; repeatable."""
    mbr: options.Mbr = None
    baseline: Path | None = None
    """Run to compare with, with tests of significance."""
    hypotheses: Path | None = None
    """Output of another system, a line for each sentence: scored and tested beside the run."""
    ter: bool = False
    """Also compute the translation edit rate."""
    alignment: bool = False
    """Also measure how well the attention agrees with word links."""
    gold: Path | None = None
    """With --alignment: file of gold links, in lines such as '0-0 1?2'."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    precision: options.Precision = None
    threads: options.Threads = None
    json: options.Json = False


@app.command(
    help=f"Measure a trained run: BLEU, chrF, loss and perplexity.\n\nThe table has {describe_metrics()}.",
    epilog="Examples:  augenmerk evaluate --data bilderbuch --split test    "
    "augenmerk evaluate runs/mine --split test --beam 1 --beam 5    "
    "augenmerk evaluate runs/a --baseline runs/b    augenmerk evaluate runs/a --alignment    "
    "augenmerk evaluate runs/a --ensemble runs/b --ensemble runs/c --beam 10 --mbr    "
    "augenmerk evaluate runs/mine --data pairs.tsv    "
    "augenmerk evaluate runs/mine --split test --hypotheses system.txt",
)
@grouped
def evaluate(given: EvaluateOptions = GROUP, data: DataOptions = GROUP) -> None:
    """Measures a trained run, and prints rows of scores."""
    from augenmerk.evaluation.evaluate import evaluate, remark

    asked = {name: value for name, value in (vars(given) | vars(data)).items() if value is not None}
    options.load_mechanisms(asked.pop("attention", None))
    as_json = asked.pop("json")
    scores = evaluate(**asked)
    print_json(scores) if as_json else print_shown(scores)
    for line in scores.warnings if not as_json else ():
        err().print(line)
    if given.run is None:
        remark(f"Scores and translations are kept in {scores.run.path}, a copy of the bundled model.")
    for command in scores.sacrebleu_commands:
        remark(f"The same scores:  {command}")
