"""`augenmerk assignment`: does a whole course assignment and writes its report."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from augenmerk.base.console import print_shown
from augenmerk.cli.options import Device, Json
from augenmerk.cli.terminal import print_json, print_written

app = typer.Typer()


@app.command(
    epilog="Example:  augenmerk assignment    "
    "The original settings, on a GPU: --data multi30k --device cuda. The same command resumes what was "
    "interrupted."
)
def assignment(
    data: Annotated[
        str,
        Option(help="bilderbuch: small trainings, minutes. multi30k: the original settings, on a GPU."),
    ] = "bilderbuch",
    fast: Annotated[
        bool, Option("--fast", help="On multi30k: the preset quick instead of the original settings.")
    ] = False,
    output: Annotated[Path, Option("--output", "--out", help="Folder for the report and the runs.")] = Path(
        "runs/assignment"
    ),
    device: Device = "auto",
    jobs: Annotated[
        int | None,
        Option(min=1, max=1000, help="Trainings at a time. Default: one for each core, at most 4."),
    ] = None,
    json: Json = False,
) -> None:
    """Do the assignment on attention: theory, trainings, diagrams, comparison, beams; and write the report.

    Seven questions of theory, a translator's perplexity and BLEU, eight attention diagrams with their
    patterns, three runs each of three mechanisms, curves, and five widths of the beam. The report is a page,
    which prints well, Markdown, and a notebook, with published numbers and answers beside ours.
    """
    from augenmerk.assignment.session import assignment

    command = shlex.join(["augenmerk", *sys.argv[1:]])
    found = assignment(data, fast=fast, output=output, device=device, jobs=jobs, continue_with=command)
    print_json(found.to_dict()) if json else print_shown(found)
    for path in found.files:
        print_written(path)
