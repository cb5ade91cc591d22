"""What all executors have in common: their interface, and the names of logs."""

from collections.abc import Iterator
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
        """Asks a job to save and stop; its last event says that it has."""


def log_name(run: Path) -> str:
    """Returns the name of the log of a run; a long one, of a study with many factors, ends in a digest."""
    return f"{limit_file_name(f'{run.parent.name}.{run.name}')}.txt"
