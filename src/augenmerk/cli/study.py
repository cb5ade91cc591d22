"""`augenmerk study`: trains and compares variants, and shows the progress of all runs."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from typer import Argument, Option

from augenmerk.base.console import err, print_shown
from augenmerk.cli.options import GROUP, MAX_THREADS, Device, Group, Json, Mechanisms, grouped
from augenmerk.cli.terminal import print_json

FAILED = 1

app = typer.Typer()


class Training(Group):
    """How the runs are trained, and where."""

    jobs: Annotated[int | None, Option(min=1, max=1000)] = None
    """Runs at a time. Default: one for each core, at most 4, or each of several GPUs; on a cluster 100."""
    out: Path | None = None
    """Folder of the study. Default: runs/study-NAME."""
    attention: Mechanisms = None
    loggers: Annotated[list[str] | None, Option("--logger", metavar="FILE.py:CLASS")] = None
    """Your own logger for each run, as `train` takes it; repeatable. It is code, and executed."""
    device: Device = "auto"
    threads: Annotated[int | None, Option(min=1, max=MAX_THREADS)] = None
    """CPU threads of each run on this machine. Default: its share, at most $OMP_NUM_THREADS."""
    on: Literal["local", "ray", "slurm"] = "local"
    """Train the runs on this machine, on a Ray cluster, or by Slurm."""
    cpus_per_job: Annotated[int | None, Option(min=1, max=1024)] = None
    """On a cluster: cores for each run. Default: 1."""
    gpus_per_job: Annotated[float | None, Option(min=0, max=1)] = None
    """On a cluster: GPUs for each run, 0 or 1; with Ray also part of one, which runs share. Default: 0, or 1
    with --device cuda."""
    ray_address: Annotated[str | None, Option(metavar="HOST:PORT")] = None
    """Ray's head; auto for this machine's. Default: $RAY_ADDRESS, or a new cluster on this machine."""
    slurm: Annotated[list[str] | None, Option(metavar="OPTION=VALUE")] = None
    """Option of Slurm's sbatch, such as partition=gpu, time=2:00:00 or mem=8G; repeatable."""


@app.command(
    epilog="Examples:  augenmerk study --list    augenmerk study small --jobs 2    "
    "On a cluster: --on ray --ray-address head:6379, or --on slurm --gpus-per-job 1 --slurm partition=gpu. "
    "Exit code 1: some runs failed, the others are finished; the same command continues."
)
@grouped
def study(
    file: Annotated[
        str | None, Argument(help="Name of a bundled study, or your own TOML file.", show_default=False)
    ] = None,
    list_: Annotated[bool, Option("--list", help="List the bundled studies, and stop.")] = False,
    given: Training = GROUP,
    json: Json = False,
) -> None:
    """Train variants over several seeds and compare them; finished runs are not trained again."""
    from augenmerk.study.session import list_studies, study

    if list_:
        rows = list_studies()
        print_json(rows) if json else print_shown(rows)
        return
    chosen = {name: value for name, value in vars(given).items() if value is not None}
    found = study(file, **chosen, continue_with=shlex.join(["augenmerk", *sys.argv[1:]]))
    if json:
        print_json(found.to_dict())
    else:
        print_shown(found)
        command = shlex.join(["augenmerk", "report", str(found.path)])
        err().print(f"[dim]The same as a page:  {escape(command)}[/]")
    if not found.result.complete:
        states = [run.state for variant in found.result.variants for run in variant.runs]
        failed = f"{states.count('failed')} of {len(states)} runs failed"
        err().print(f"[bold]{failed}[/], see above; the others are finished.")
        sys.exit(FAILED)
