"""Runs the jobs of a study in processes on this machine; and what all executors have in common."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol, Self

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import error_reason, limit_file_name
from augenmerk.study.worker import PHASES, Event, Job


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


def read_event(run: str, line: bytes) -> Event | None:
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


class LocalExecutor:
    """Runs each job in a process on this machine, and kills those that are left when its context ends."""

    def __init__(self, logs: Path, threads: int, locks: Sequence[int] = ()) -> None:
        """Takes the folder for error output, the CPU threads of each job, and the file descriptors of locks
        that every process holds as well."""
        self._logs = logs
        self._threads = threads
        self._locks = locks
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()  # which does nothing to one that has ended

    def submit(self, job: Job) -> None:
        log = self._logs / log_name(Path(job.run))
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            errors = log.open("wb")
        except OSError as error:
            raise AugenmerkError(f"{log}: cannot be written ({error_reason(error)}).") from None
        with errors:
            process = subprocess.Popen(
                worker_command(job),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **thread_variables(self._threads)},
                start_new_session=True,  # Ctrl-C on the terminal reaches the study only, which stops its jobs
                pass_fds=self._locks,
            )
        self._processes[job.run] = process
        threading.Thread(target=self._follow, args=(job, process, log), daemon=True).start()

    def events(self, timeout: float) -> Iterator[Event]:
        deadline = time.monotonic() + timeout
        with suppress(queue.Empty):
            while (left := deadline - time.monotonic()) > 0:
                yield self._queue.get(timeout=left)

    def stop(self, job: Job) -> None:
        stdin = self._processes[job.run].stdin
        assert stdin is not None
        with suppress(OSError):
            stdin.close()

    def _follow(self, job: Job, process: subprocess.Popen[bytes], log: Path) -> None:
        """Runs in a thread: passes on what the worker writes, and at last how it ended."""
        problem = None
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                event = read_event(job.run, line)
                if event is not None and event.is_last:  # the exit code decides when the process has ended
                    problem = event.problem
                elif event is not None:
                    self._queue.put(event)
        code = process.wait()
        self.stop(job)  # closes our end of the pipe
        phase = PHASES.get(code, "lost")
        if phase == "finished":
            log.unlink(missing_ok=True)
        elif phase == "lost" or (phase == "failed" and problem is None):
            error = last_line(log.read_text(errors="replace"))
            why = f"signal {-code}" if code < 0 else error or f"exit code {code}"
            phase, problem = "lost", f"The process of the run ended unexpectedly ({why}); see {log}."
        self._queue.put(Event(job.run, phase, problem=problem))
