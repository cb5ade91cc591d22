"""The jobs of a study, each in a process of its own: what starts the processes, and what they run.

    python -m augenmerk.study.worker JOB       (JOB is JSON: see `Job`)

A worker trains a run, scores it and probes it. It writes its events to stdout, one JSON object per line. It
saves and stops when its stdin closes: when the study asks it to, and also when the study is killed.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from augenmerk.errors import AugenmerkError
from augenmerk.signals import raise_terminated
from augenmerk.storage import error_reason, limit_file_name

INTERRUPTED = 130  # exit code of a worker that was stopped
FAILED = 2  # exit code of a worker that has reported an error

Emit = Callable[..., None]  # is called with the fields of an `Event`


@dataclass(frozen=True)
class Job:
    """What a worker has to do: train a run, score it and probe it."""

    run: str  # the run's directory, which identifies the job
    config: dict[str, Any]
    splits: Sequence[str]
    beams: Sequence[int]
    sentences: Sequence[str]
    device: str  # as torch names it, such as cpu or cuda:1
    mechanisms: Sequence[str] = ()
    """Attention mechanisms in a person's own files, as FILE.py:Class, that the worker may load."""


@dataclass(frozen=True)
class Event:
    """What a job reports."""

    run: str  # the run's directory, as in the job
    phase: str  # starting, training, translating or probing; at the end finished, stopped or failed
    progress: float = 0.0  # the fraction of the phase that is done
    epoch: int | None = None
    loss: float | None = None
    bleu: float | None = None  # on the validation split, after the latest epoch
    problem: str | None = None  # why the job failed, in a sentence

    @property
    def is_last(self) -> bool:
        return self.phase in ("finished", "stopped", "failed")


class Executor(Protocol):
    """Runs jobs somewhere, several at once. Every job that is submitted ends with one last event."""

    def submit(self, job: Job) -> None:
        """Starts a job without waiting for it."""

    def events(self, timeout: float) -> Iterator[Event]:
        """Yields the events of all jobs as they arrive, for at most `timeout` seconds."""

    def stop(self, job: Job) -> None:
        """Asks a job to save and stop; its last event says that it has."""


def log_name(run: Path) -> str:
    """Returns the name of the log of a run; a long one, of a study with many factors, ends in a digest."""
    return f"{limit_file_name(f'{run.parent.name}.{run.name}')}.txt"


class LocalExecutor:
    """Runs each job in a process on this machine. What still runs when its context is left is killed."""

    def __init__(self, logs: Path, threads: int, inherited_lock: int | None = None) -> None:
        """Takes the folder for error output, the CPU threads of each job, and the file descriptor of a lock
        that every process is to hold as well."""
        self._logs = logs
        self._threads = str(threads)
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
        log = self._logs / log_name(run)
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            errors = log.open("wb")
        except OSError as error:
            raise AugenmerkError(f"{log}: cannot be written ({error_reason(error)}).") from None
        with errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "augenmerk.study.worker", json.dumps(asdict(job))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "OMP_NUM_THREADS": self._threads, "MKL_NUM_THREADS": self._threads},
                start_new_session=True,  # Ctrl-C on the terminal reaches the study only, which stops its jobs
                pass_fds=self._inherited,
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
                with suppress(ValueError, TypeError):  # a library may print to stdout as well
                    event = Event(job.run, **json.loads(line))
                    if event.problem is not None:
                        problem = event.problem
                    else:
                        self._queue.put(event)
        code = process.wait()
        self.stop(job)  # closes our end of the pipe
        phase = {0: "finished", INTERRUPTED: "stopped"}.get(code, "failed")
        if phase == "finished":
            log.unlink(missing_ok=True)
        elif phase == "failed" and problem is None:
            errors = log.read_text(errors="replace").strip().splitlines()
            why = f"signal {-code}" if code < 0 else errors[-1] if errors else f"exit code {code}"
            problem = f"The process of the run ended unexpectedly ({why}); see {log}."
        self._queue.put(Event(job.run, phase, problem=problem if phase == "failed" else None))


# In the worker


class _Reporter:
    """Turns the progress of training into events."""

    def __init__(self, epochs: int, emit: Emit) -> None:
        self._epochs = epochs
        self._emit = emit

    def begin(self, data: Mapping[str, Any]) -> None: ...

    def batch(self, epoch: int, batch: int, batches: int, loss: float, _tokens_per_second: float) -> None:
        progress = (epoch - 1 + batch / batches) / self._epochs
        self._emit(phase="training", progress=progress, epoch=epoch, loss=loss)

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        epoch, loss, bleu = (metrics.get(key) for key in ("epoch", "validation_loss", "validation_bleu"))
        progress = metrics["epoch"] / self._epochs
        self._emit(phase="training", progress=progress, epoch=epoch, loss=loss, bleu=bleu)


def execute(job: Job, emit: Emit) -> None:
    """Trains, scores and probes the run; what the run has already is kept."""
    emit(phase="starting")
    from augenmerk.checkpoint import RunDirectory
    from augenmerk.config import RunConfig
    from augenmerk.device import choose_device
    from augenmerk.model import load_mechanism
    from augenmerk.study.measure import measure_run
    from augenmerk.train import start, train

    path, device = Path(job.run), choose_device(job.device)
    for mechanism in job.mechanisms:
        load_mechanism(mechanism)
    config = RunConfig.checked(job.config, job.run)
    run = RunDirectory.open(path) if (path / "config.toml").exists() else start(config, path)
    if not run.finished:
        train(run, device, _Reporter(config.train.epochs, emit))
    measure_run(run, job, device, lambda phase, progress: emit(phase=phase, progress=progress))


def _emit_line(**fields: Any) -> None:
    # If the study is gone, stdout is closed. The worker then stops because its stdin is closed too.
    with suppress(OSError):
        os.write(1, f"{json.dumps(fields)}\n".encode())


def _interrupt_when_stdin_closes() -> None:
    """Raises SIGINT at the end of stdin: training then saves and stops. SIGTERM does the same."""
    # A process that was started in the background ignores SIGINT otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, raise_terminated)  # which Slurm sends to all processes of a job

    def wait() -> None:
        while os.read(0, 1024):  # not sys.stdin, whose lock would still be held when the process ends
            pass
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def main() -> int:
    _interrupt_when_stdin_closes()
    try:
        from augenmerk.train import TrainingInterrupted

        try:
            execute(Job(**json.loads(sys.argv[1])), _emit_line)
        except AugenmerkError as error:
            _emit_line(phase="failed", problem=str(error))
            return FAILED
        except TrainingInterrupted:
            return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
