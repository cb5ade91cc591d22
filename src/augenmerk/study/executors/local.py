"""Runs the jobs of a study in processes on this machine."""

import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import error_reason
from augenmerk.study.executors.executor import (
    last_line,
    log_name,
    read_event,
    thread_variables,
    worker_command,
)
from augenmerk.study.worker import PHASES, Event, Job


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
            if process.poll() is None:
                process.kill()

    def submit(self, job: Job) -> None:
        run = Path(job.run)
        log = self._logs / log_name(run)
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
        if phase == "failed" and problem is None:
            phase = "lost"
        if phase == "finished":
            log.unlink(missing_ok=True)
        elif phase == "lost":
            error = last_line(log.read_text(errors="replace"))
            why = f"signal {-code}" if code < 0 else error or f"exit code {code}"
            problem = f"The process of the run ended unexpectedly ({why}); see {log}."
        self._queue.put(Event(job.run, phase, problem=problem))
