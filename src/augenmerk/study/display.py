"""What people see of a study while it runs: bars on a terminal, elsewhere lines."""

import time
from collections.abc import Sequence

from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn

from augenmerk.base.console import LineClock, err, format_seconds, make_bars
from augenmerk.study.runner import RunStatus


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

    def show(self, statuses: Sequence[RunStatus]) -> None:
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

    def _describe(self, status: RunStatus) -> str:
        epochs = status.planned.config.train.epochs
        parts = {
            f"epoch {status.epoch}/{epochs}": status.epoch,
            f"loss {status.loss or 0:.3f}": status.loss is not None,
            f"BLEU {status.bleu or 0:.1f}": status.bleu is not None,
            f"on {escape(status.host or '')}": self._show_hosts and status.host,
        }
        return "  ".join(part for part, known in parts.items() if known)

    def _print_change(self, status: RunStatus) -> None:
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
