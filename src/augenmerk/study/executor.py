"""Where the jobs of a study run: `Executor` is what a study asks for, `LocalExecutor` uses this machine."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

INTERRUPTED = 130
FAILED = 2
"""Exit codes of a worker that was stopped, and of one that has written what is wrong."""

LAST_PHASES = ("finished", "stopped", "failed")


@dataclass(frozen=True)
class Job:
    """What a worker has to do: train a run, score it and probe it."""

    run: str
    """The run's directory, which identifies the job."""
    config: dict[str, Any]
    splits: list[str]
    beams: list[int]
    sentences: list[str]
    device: str
    """As torch names it, such as cpu or cuda:1."""


@dataclass(frozen=True)
class Event:
    """What a job reports."""

    run: str
    """The run's directory, as in the job."""
    phase: str
    """starting, training, translating or probing; at the end one of `LAST_PHASES`."""
    progress: float = 0.0
    """The fraction of the phase that is done."""
    epoch: int | None = None
    loss: float | None = None
    bleu: float | None = None
    """On the validation split, after the latest epoch."""
    problem: str | None = None
    """Why the job failed, in a sentence."""

    @property
    def is_last(self) -> bool:
        return self.phase in LAST_PHASES


class Executor(Protocol):
    """Runs jobs somewhere, several at once. Every job that is submitted ends with one last event."""

    def submit(self, job: Job) -> None:
        """Starts a job without waiting for it."""

    def events(self, timeout: float) -> Iterator[Event]:
        """Yields the events of all jobs as they arrive, for at most `timeout` seconds."""

    def stop(self, job: Job) -> None:
        """Asks a job to save and stop; its last event says that it has."""


def list_devices(device: str, gpus: int) -> list[str]:
    """Returns the devices to distribute jobs over: every GPU for "cuda", otherwise the one named."""
    return [f"cuda:{index}" for index in range(gpus)] if device == "cuda" else [device]


def least_loaded(devices: Sequence[str], in_use: Sequence[str]) -> str:
    """Returns the device that running jobs use least, given the device of each; of equals the first."""
    return min(devices, key=in_use.count)


class LocalExecutor:
    """Runs each job in a process on this machine. What still runs when its context is left is killed."""

    def __init__(self, logs: Path, threads: int, inherited_lock: int | None = None) -> None:
        """Takes the folder for error output, the CPU threads of each job, and the file descriptor of a lock
        that every process is to hold as well."""
        self._logs = logs
        self._threads = threads
        self._inherited = () if inherited_lock is None else (inherited_lock,)
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
        log = self._logs / f"{run.parent.name}.{run.name}.txt"
        self._logs.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "augenmerk.study.worker", json.dumps(asdict(job))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={
                    **os.environ,
                    "OMP_NUM_THREADS": str(self._threads),
                    "MKL_NUM_THREADS": str(self._threads),
                },
                start_new_session=True,  # Ctrl-C on the terminal reaches the study only, which stops its jobs
                pass_fds=self._inherited,
            )
        self._processes[job.run] = process
        threading.Thread(target=self._follow, args=(job, process, log), daemon=True).start()

    def events(self, timeout: float) -> Iterator[Event]:
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            try:
                yield self._queue.get(timeout=left)
            except queue.Empty:
                return

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
                with suppress(ValueError, TypeError):  # a library may print to stdout as well
                    event = Event(job.run, **json.loads(line))
                    if event.problem is not None:
                        problem = event.problem
                    else:
                        self._queue.put(event)
        code = process.wait()
        self.stop(job)  # closes our end of the pipe
        if code == 0:
            log.unlink(missing_ok=True)
            self._queue.put(Event(job.run, "finished"))
        elif code == INTERRUPTED:
            self._queue.put(Event(job.run, "stopped"))
        else:
            self._queue.put(Event(job.run, "failed", problem=problem or _describe_crash(code, log)))


def _describe_crash(code: int, log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    why = f"signal {-code}" if code < 0 else lines[-1] if lines else f"exit code {code}"
    return f"The process of the run ended unexpectedly ({why}); see {log}."
