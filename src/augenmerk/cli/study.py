"""`augenmerk study`: trains and compares variants, and shows the progress of all runs."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.options import (
    GROUP,
    MAX_THREADS,
    Device,
    Group,
    Json,
    Mechanisms,
    grouped,
    load_mechanisms,
)
from augenmerk.cli.terminal import LineClock, err, format_seconds, make_bars, make_table, out, print_json

if TYPE_CHECKING:
    from augenmerk.study.clusters import Cluster
    from augenmerk.study.plan import Study
    from augenmerk.study.result import StudyResult
    from augenmerk.study.runner import RunStatus

FAILED = 1
CLUSTER_JOBS = 100
"""The default of --jobs on a cluster."""
LEFT_OUT = ("word_loss", "word_perplexity")
"""Columns of the report that the terminal leaves out, so that the others fit into 80 columns."""

app = typer.Typer()


class Training(Group):
    """How the runs are trained, and where."""

    jobs: Annotated[int | None, Option(min=1, max=1000)] = None
    """Runs at a time. Default: one for each core, at most 4, or each of several GPUs; on a cluster 100."""
    out: Path | None = None
    """Folder of the study. Default: runs/study-NAME."""
    attention: Mechanisms = None
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

    def choose_cluster(self) -> "Cluster | None":
        """Returns the cluster, None for this machine; raises AugenmerkError for contradictions."""
        from augenmerk.study.clusters import choose_cluster

        per_job = self.cpus_per_job is not None or self.gpus_per_job is not None
        for option, given, backends in (
            ("--threads", self.threads is not None, ("local",)),
            ("--ray-address", self.ray_address is not None, ("ray",)),
            ("--slurm", bool(self.slurm), ("slurm",)),
            ("--cpus-per-job and --gpus-per-job", per_job, ("ray", "slurm")),
        ):
            if given and self.on not in backends:
                raise AugenmerkError(
                    f"{option} cannot be used with --on {self.on}; use --on {' or '.join(backends)}."
                )
        if self.on == "local":
            return None
        return choose_cluster(
            self.on,
            self.device,
            cpus=self.cpus_per_job or 1,
            gpus=self.gpus_per_job,
            address=self.ray_address,
            options=self.slurm or (),
        )


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
    from augenmerk.study.plan import find_study, read_study
    from augenmerk.study.runner import StudyInterrupted, run_study

    if list_:
        _list_studies(json)
        return
    if file is None:
        raise AugenmerkError("Name a study: one that `augenmerk study --list` shows, or a TOML file.")
    cluster = given.choose_cluster()
    load_mechanisms(given.attention)
    plan = read_study(find_study(file))
    folder = given.out or Path("runs") / f"study-{plan.name}"
    where = _announce(plan, folder, cluster, given)
    try:
        with StudyDisplay(show_hosts=cluster is not None) as display:
            result = run_study(plan, folder, on_progress=display.show, **where)
    except (StudyInterrupted, KeyboardInterrupt) as interrupt:
        command = shlex.join(["augenmerk", *sys.argv[1:]])
        if isinstance(interrupt, KeyboardInterrupt):  # before the first run, or after the last one
            interrupt.args = (f"Finished runs are kept. Continue with:  {command}",)
            raise
        err().print(f"Saved. Continue with:  [bold]{escape(command)}[/]")
        sys.exit(interrupt.args[0])
    if json:
        print_json(result.to_dict())
    else:
        _print_result(result)
        command = shlex.join(["augenmerk", "report", str(folder)])
        err().print(f"[dim]The same as a page:  {escape(command)}[/]")
    if not result.complete:
        failed = sum(run.state == "failed" for variant in result.variants for run in variant.runs)
        err().print(f"[bold]{failed} of {len(plan.runs)} runs failed[/], see above; the others are finished.")
        sys.exit(FAILED)


def _announce(plan: "Study", folder: Path, cluster: "Cluster | None", given: Training) -> dict[str, Any]:
    """Prints where the runs are trained; returns what `run_study` has to know about it."""
    from augenmerk.base.device import choose_device
    from augenmerk.study.runner import default_jobs, threads_each

    variants = (
        f"{escape(str(folder))}: {_count(len(plan.variants), 'variant')} x {_count(len(plan.seeds), 'seed')}"
    )
    if cluster is not None:
        gpus = f" and {cluster.gpus:g} GPU" if cluster.gpus else ""
        err().print(f"{variants} on {cluster.name}, each run on {_count(cluster.cpus, 'core')}{gpus}")
        device = "cuda" if cluster.gpus else "cpu"
        return {"device": device, "jobs": given.jobs or CLUSTER_JOBS, "cluster": cluster}
    import torch

    device = str(choose_device(given.device))
    jobs = given.jobs or default_jobs(device, torch.cuda.device_count())
    each = given.threads or threads_each(min(jobs, len(plan.runs)))
    err().print(f"{variants} on {device}, {jobs} at a time with {_count(each, 'CPU thread')} each")
    return {"device": device, "jobs": jobs, "threads": given.threads}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _list_studies(json: bool) -> None:
    from augenmerk.study.plan import BUNDLED_STUDIES, read_study

    rows: list[dict[str, Any]] = []
    for name, path in BUNDLED_STUDIES.items():
        plan = read_study(path)
        numbers = {"variants": len(plan.variants), "seeds": len(plan.seeds), "beams": list(plan.beams)}
        data = {"data": plan.runs[0].config.data.bitext, "splits": list(plan.splits)}
        rows.append({"name": name, "question": plan.question, **numbers, **data, "file": str(path)})
    if json:
        print_json(rows)
        return
    for row in rows:
        out().print(f"[bold]{row['name']}[/]  {escape(row['question'])}")
        beams = ", ".join(map(str, row["beams"]))
        size = f"{row['variants']} x {row['seeds']} runs on {row['data']}, beam {beams}"
        out().print(f"[dim]    {size}; {escape(row['file'])}[/]")


def _print_result(result: "StudyResult") -> None:
    from augenmerk.study.report import COLUMNS, TableStyle, build_columns
    from augenmerk.study.result import MEASURES

    shown = (name for name in COLUMNS if name not in LEFT_OUT)
    columns = build_columns(result, TableStyle(("runs", *shown), published=False))
    rows = [
        [escape(variant.name), *(f"{cell.mean} {cell.spread}".strip() for cell in cells)]
        for variant, *cells in zip(result.variants, *(column.cells for column in columns), strict=True)
    ]
    names = (MEASURES[each.measure].heading if each.measure in MEASURES else "runs" for each in columns)
    headings = (name.replace(" ", "\n") for name in ("variant", *names))
    out().print(make_table(headings, rows, gap=1))
    out().print("[dim]mean ± standard deviation over the runs[/]")
    for verdict in result.verdicts:
        out().print(f"\n{escape(verdict.question)}")
        if verdict.answer:
            out().print(f"[bold]{escape(verdict.answer)}[/]")
        for detail in verdict.details:
            out().print(f"- {escape(detail)}")
    further = len(result.comparisons) + len(result.beam_repairs)
    further -= sum(len(verdict.details) for verdict in result.verdicts)
    if further:
        out().print(f"[dim]{_count(further, 'further comparison')}: see the report.[/]")
    for remark in result.remarks:
        out().print(f"[dim]{escape(remark)}[/]")


class StudyDisplay:
    """Shows the progress of a study and its runs on a terminal; elsewhere, prints a line when the state of a
    run changes, and one about all of them from time to time."""

    def __init__(self, show_hosts: bool = False) -> None:
        """Also shows on which machine each run is, if `show_hosts`."""
        self._show_hosts = show_hosts
        columns = TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[details]}")
        self._bars = make_bars(*columns, TimeRemainingColumn(), TextColumn("left"))
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._states: dict[str, str] = {}
        self._start_time = time.monotonic()
        self._clock = LineClock()

    def __enter__(self) -> "StudyDisplay":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, statuses: "Sequence[RunStatus]") -> None:
        for status in statuses:
            self._print_change(status)
        running = [status for status in statuses if status.state == "running"]
        finished = sum(status.state == "finished" for status in statuses)
        seconds = format_seconds(time.monotonic() - self._start_time)
        summary = f"{finished} of {len(statuses)} runs finished, {seconds}"
        if self._clock.is_due():
            each = (f"{status.planned.name} {status.phase} {status.progress:.0%}" for status in running)
            err().print(f"{summary}: {', '.join(each)}", markup=False)
        done = sum(status.state in ("finished", "failed") for status in statuses)
        training = sum(status.progress for status in running if status.phase == "training")
        shown = {("", ""): ((done + training) / len(statuses), summary)}
        for status in running:
            shown[status.planned.name, status.phase] = status.progress, self._describe(status)
        for key in self._tasks.keys() - shown.keys():
            self._bars.remove_task(self._tasks.pop(key))
        for (name, phase), (progress, details) in shown.items():
            if (name, phase) not in self._tasks:
                description = escape(f"{name}: {phase}") if name else "all runs"
                self._tasks[name, phase] = self._bars.add_task(description, total=None, details="")
            self._bars.update(self._tasks[name, phase], total=1.0, completed=progress, details=details)

    def _describe(self, status: "RunStatus") -> str:
        epochs = status.planned.config.train.epochs
        parts = {
            f"epoch {status.epoch}/{epochs}": status.epoch,
            f"loss {status.loss or 0:.3f}": status.loss is not None,
            f"BLEU {status.bleu or 0:.1f}": status.bleu is not None,
            f"on {escape(status.host or '')}": self._show_hosts and status.host,
        }
        return "  ".join(part for part, known in parts.items() if known)

    def _print_change(self, status: "RunStatus") -> None:
        name = status.planned.name
        before = self._states.get(name, "waiting")
        self._states[name] = status.state
        if status.state == before or status.state == "queued":
            return
        if status.already_finished:
            err().print(f"[dim]{escape(name)}: already finished[/]")
        elif status.state == "failed":
            err().print(f"{escape(name)}: [bold]failed[/]: {escape(status.problem or '')}")
        elif status.state == "finished" or not err().is_terminal:
            loss = f", validation loss {status.loss:.3f}" if status.loss is not None else ""
            bleu = f", BLEU {status.bleu:.1f}" if status.bleu is not None else ""
            machine = f" on {escape(status.host)}" if self._show_hosts and status.host else ""
            details = {"finished": f"{loss}{bleu}", "running": machine}.get(status.state, "")
            err().print(f"{escape(name)}: {status.state}{details}")
