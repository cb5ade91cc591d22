"""What all executors have in common: their interface, the command of a worker, logs, and last events."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

from augenmerk.base.files import limit_file_name
from augenmerk.study.worker import Event, Job


class Executor(Protocol):
    """Runs jobs somewhere, several at once. Every job that is submitted ends with one last event.

    A job that was lost may be submitted again.
    """

    def submit(self, job: Job) -> None:
        """Starts a job without waiting for it."""

    def events(self, timeout: float) -> Iterator[Event]:
        """Yields the events of all jobs as they arrive, for at most `timeout` seconds."""

    def stop(self, job: Job) -> None:
        """Asks a job to save and stop; its last event follows."""


def worker_command(job: Job, *files: Path) -> list[str]:
    """Returns the command that executes a job; see `augenmerk.study.worker`."""
    return [sys.executable, "-m", "augenmerk.study.worker", json.dumps(asdict(job)), *map(str, files)]


def thread_variables(threads: int) -> dict[str, str]:
    """Returns the variables of the environment that limit the CPU threads of a worker."""
    return {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


def log_name(run: Path, ending: str = "txt") -> str:
    """Returns the name of the log of a run; a long one, of a study with many factors, ends in a digest."""
    return f"{limit_file_name(f'{run.parent.name}.{run.name}')}.{ending}"


def read_event(run: str, line: bytes | str) -> Event | None:
    """Reads an event; None for other output, since a library may print as well."""
    try:
        return Event(run, **json.loads(line))
    except (ValueError, TypeError):
        return None


def last_line(text: str) -> str:
    """Returns the last line that is not blank, or nothing."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def judge_end(last: Event, asked_to_stop: bool, why: str) -> Event:
    """Returns the last event as the study needs it.

    A job that was asked to stop has stopped, however it ended. One that stopped unasked is lost, and `why` is
    its problem.
    """
    if asked_to_stop and last.phase == "lost":
        return replace(last, phase="stopped", problem=None)
    if last.phase == "stopped" and not asked_to_stop:
        return replace(last, phase="lost", problem=why)
    return last
