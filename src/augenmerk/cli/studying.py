"""`augenmerk study`: a live table of all runs while they run, then what they show."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from augenmerk.cli.terminal import err, out, print_json
from augenmerk.device import choose_device
from augenmerk.errors import AugenmerkError
from augenmerk.study.plan import read_study
from augenmerk.study.result import MEASURES, StudyResult, Summary
from augenmerk.study.running import RunStatus, StudyInterrupted, cores, run_study, threads_each

FAILED = 1
INTERRUPTED = 130
MOST_JOBS = 4
SHOWN = ("bleu", "chrf", "validation_loss", "alignment_error", "seconds")
"""All that fits into 80 columns; the others are in study.json and on the report's page."""


def run(file: Path, given: int | None, place: Path | None, device: str, json: bool) -> None:
    """Runs what is missing, compares what is there, and keeps it in study.json."""
    study = read_study(file)
    folder = place or Path("runs") / f"study-{study.name}"
    jobs = min(cores(), MOST_JOBS) if given is None else given
    if jobs < 1:
        raise AugenmerkError(f"--jobs {jobs} is impossible: it must be 1 or more.")
    chosen = str(choose_device(device))
    err().print(
        f"{escape(str(folder))}: {len(study.variants)} variants x {len(study.seeds)} seeds on {chosen}, "
        f"{jobs} at a time with {threads_each(min(jobs, len(study.runs)))} CPU threads each",
        soft_wrap=True,
    )
    display = _Display()
    try:
        with display:
            result = run_study(study, folder, jobs=jobs, device=chosen, on_progress=display.show)
    except StudyInterrupted:
        flags = {"--jobs": given, "--out": place, "--device": None if device == "auto" else device}
        said = [part for flag, value in flags.items() if value is not None for part in (flag, str(value))]
        command = ["augenmerk", "study", str(file), *said]
        err().print(f"Saved. Go on with:  [bold]{escape(shlex.join(command))}[/]", soft_wrap=True)
        sys.exit(INTERRUPTED)
    if json:
        print_json(result.to_dict())
    else:
        _print(result)
        report = shlex.join(["augenmerk", "report", str(folder)])
        err().print(f"[dim]A page of this:  {escape(report)}[/]", soft_wrap=True)
    if not result.complete:
        failed = sum(run.state == "failed" for variant in result.variants for run in variant.runs)
        err().print(f"[bold]{failed} of {len(study.runs)} runs failed[/], see above; the others are done.")
        sys.exit(FAILED)


def _print(result: StudyResult) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("variant", no_wrap=True)
    table.add_column("runs", justify="right")
    measures = [
        measure
        for measure in SHOWN
        if any(each.measure == measure for variant in result.variants for each in variant.summaries)
    ]
    for measure in measures:
        table.add_column(MEASURES[measure].heading.replace(" ", "\n"), justify="right", no_wrap=True)
    for variant in result.variants:
        finished = sum(run.state == "finished" for run in variant.runs)
        first = {each.measure: each for each in variant.summaries if result.asked_first(each)}
        cells = [_cell(first.get(measure)) for measure in measures]
        table.add_row(escape(variant.name), f"{finished}/{len(variant.runs)}", *cells)
    out().print(table)
    out().print("[dim]mean ± standard deviation over the runs[/]")
    for comparison in result.comparisons:
        out().print(escape(comparison.in_words), soft_wrap=True)
    for repair in result.beam_repairs:
        out().print(escape(repair.in_words), soft_wrap=True)
    for remark in result.remarks:
        out().print(f"[dim]{escape(remark)}[/]", soft_wrap=True)


def _cell(summary: Summary | None) -> str:
    if summary is None:
        return "-"
    digits = MEASURES[summary.measure].digits
    spread = "" if summary.variance is None else f" ± {summary.variance**0.5:.{digits}f}"
    return f"{summary.mean:.{digits}f}{spread}"


class _Display:
    """On a terminal a table that is kept up to date; elsewhere a line for each thing that happens."""

    def __init__(self) -> None:
        self._live = Live(console=err(), transient=True, refresh_per_second=4, auto_refresh=False)
        self._states: dict[str, str] = {}
        self._began = time.monotonic()
        self._done_at_first: float | None = None

    def __enter__(self) -> "_Display":
        if err().is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, statuses: Sequence[RunStatus]) -> None:
        for status in statuses:
            self._tell_change(status)
        if err().is_terminal:
            self._live.update(self._table(statuses), refresh=True)

    def _tell_change(self, status: RunStatus) -> None:
        name = status.planned.name
        before = self._states.get(name, "waiting")
        self._states[name] = status.state
        if status.state == before:
            return
        if status.already_finished:
            err().print(f"[dim]{escape(name)}: there already[/]")
        elif status.state == "failed":
            err().print(f"{escape(name)}: [bold]failed[/]: {escape(status.problem or '')}", soft_wrap=True)
        elif status.state == "finished" or not err().is_terminal:
            loss = f", loss {status.loss:.3f}" if status.loss is not None else ""
            err().print(f"{escape(name)}: {status.state}{loss if status.state == 'finished' else ''}")

    def _table(self, statuses: Sequence[RunStatus]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), caption=self._summary(statuses))
        for heading in ("run", "", "", "epoch", "loss", "BLEU", "left"):
            numbers = heading in ("epoch", "loss", "BLEU", "left")
            table.add_column(heading, justify="right" if numbers else "left")
        for status in statuses:
            running = status.state == "running"
            table.add_row(
                escape(status.planned.name),
                status.phase if running else status.state,
                ProgressBar(completed=100 * status.progress, width=20) if running else "",
                f"{status.epoch}/{status.planned.config.train.epochs}" if status.epoch else "",
                f"{status.loss:.3f}" if status.loss is not None else "",
                f"{status.bleu:.1f}" if status.bleu is not None else "",
                _minutes(status.seconds_left) if running else "",
            )
        return table

    def _summary(self, statuses: Sequence[RunStatus]) -> str:
        done = sum(
            1.0 if status.state in ("finished", "failed") else status.progress * (status.phase == "training")
            for status in statuses
        )
        if self._done_at_first is None:
            self._done_at_first = done
        gained, spent = done - self._done_at_first, time.monotonic() - self._began
        finished = sum(status.state == "finished" for status in statuses)
        text = f"{finished} of {len(statuses)} runs finished, {_minutes(spent)}"
        if gained > 0 and spent > 5:
            text += f", about {_minutes(spent * (len(statuses) - done) / gained)} left"
        return text


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return ""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
