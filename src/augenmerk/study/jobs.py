"""Jobs of a study, each done by a worker: a separate process that an executor starts.

    python -m augenmerk.study.jobs JOB [EVENTS]       (JOB is JSON: see `Job`)

`LocalExecutor` starts workers on this machine; those in `clusters.py` do so on clusters.

A worker trains a run, scores it and probes it. It writes its events to stdout, one JSON object per line. It
saves and stops when its stdin closes: when the study asks it to, and also when the study is killed. Where
the study cannot reach stdin and stdout, it appends its events to the file EVENTS, and only signals stop it.
"""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import error_reason, limit_file_name
from augenmerk.base.process import prepare_environment, raise_terminated, signal_when_stdin_closes

INTERRUPTED = 130  # exit code of a worker that was stopped
FAILED = 2  # exit code of a worker that has reported an error
PHASES = {0: "finished", INTERRUPTED: "stopped", FAILED: "failed"}
"""The last phase of a job whose worker ended with this exit code."""
EVENT_SECONDS = 1.0  # between two events of the same phase in a file, which may be on a network

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
    """Custom attention mechanisms that the worker may load, as FILE.py:Class: the study's copies."""
    loggers: Sequence[str] = ()
    """Loggers that the worker may make, as FILE.py:Class or module:Class."""
    lock_seconds: float = 0.0
    """How long to wait for another process that trains the run, such as one that was given up for lost."""
    version: str = __version__
    """Version of augenmerk that the study has; on another machine there may be another one."""


@dataclass(frozen=True)
class Event:
    """What a job reports."""

    run: str  # the run's directory, as in the job
    phase: str
    """starting, waiting (for a lock), training, translating or probing; at the end finished, stopped, failed,
    or lost: it ended without an event, and may be submitted again."""
    progress: float = 0.0  # the fraction of the phase that is done
    epoch: int | None = None
    loss: float | None = None  # while training, of the latest batch or epoch; then of the weights kept
    bleu: float | None = None  # on the validation split, of the same weights
    problem: str | None = None  # why the job failed or was lost, in a sentence
    host: str | None = None  # the machine on which it runs

    @property
    def is_last(self) -> bool:
        return self.phase in ("finished", "stopped", "failed", "lost")


# The side of the study


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
    """Returns the command that executes a job; see the top of this module."""
    return [sys.executable, "-m", "augenmerk.study.jobs", json.dumps(asdict(job)), *map(str, files)]


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


# The side of the worker


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
    emit(phase="starting", host=socket.gethostname())
    if job.version != __version__:
        raise AugenmerkError(
            f"{socket.gethostname()} has augenmerk {__version__}, but the study was started with "
            f"{job.version}; install the same version on all machines."
        )
    from augenmerk.base.config import RunConfig
    from augenmerk.base.device import choose_device
    from augenmerk.mechanisms.custom import load_mechanisms
    from augenmerk.run.directory import RunDirectory
    from augenmerk.study.measure import measure_run
    from augenmerk.training.loggers import load_loggers
    from augenmerk.training.loop import TrainingInterrupted, train
    from augenmerk.training.start import start

    path, device = Path(job.run), choose_device(job.device)
    load_mechanisms(job.mechanisms)
    config = RunConfig.checked(job.config, job.run)
    deadline = time.monotonic() + job.lock_seconds
    while RunDirectory.is_in_training(path) and time.monotonic() < deadline:
        emit(phase="waiting")
        time.sleep(EVENT_SECONDS)
    run = RunDirectory.open(path) if (path / "config.toml").exists() else start(config, path)
    if not run.finished:
        try:
            loggers = load_loggers(job.loggers, tensorboard=False)
            train(run, device, _Reporter(config.train.epochs, emit), loggers)
        except TrainingInterrupted:
            raise KeyboardInterrupt from None
        kept = run.result or {}  # of the best epoch, which need not be the last
        emit(
            phase="translating",
            epoch=kept.get("best_epoch"),
            loss=kept.get("validation_loss"),
            bleu=kept.get("validation_bleu"),
        )
    measure_run(run, job, device, lambda phase, progress: emit(phase=phase, progress=progress))


def _emit_line(**fields: Any) -> None:
    # If the study is gone, stdout is closed. The worker then stops because its stdin is closed too.
    with suppress(OSError):
        os.write(1, f"{json.dumps(fields)}\n".encode())


class _EventFile:
    """Appends events to a file, and leaves out some where many come one after another."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._latest = ("", 0.0)  # the phase of the latest event, and when it was written

    def __call__(self, **fields: Any) -> None:
        phase, written = self._latest
        is_minor = fields["phase"] == phase and fields.get("bleu") is None
        if is_minor and time.monotonic() - written < EVENT_SECONDS:
            return
        self._latest = fields["phase"], time.monotonic()
        # Closed each time, because a network file system shows others what was written when it is closed.
        with suppress(OSError), self._path.open("ab") as file:
            file.write(f"{json.dumps(fields)}\n".encode())


def _save_on_signals() -> None:
    """Makes SIGINT, SIGTERM, and SIGUSR2 interrupt the worker: training then saves and stops."""
    # A process that was started in the background ignores SIGINT otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, raise_terminated)  # which Slurm sends to all processes of a job
    if sys.platform != "win32":
        # Slurm sends this one before the time limit is reached.
        signal.signal(signal.SIGUSR2, lambda _signum, _frame: signal.raise_signal(signal.SIGTERM))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})  # Ray blocks SIGINT


def main() -> int:
    _save_on_signals()
    prepare_environment()
    job, *files = sys.argv[1:]
    emit: Emit = _EventFile(Path(files[0])) if files else _emit_line
    if not files:
        signal_when_stdin_closes(signal.SIGINT)
    code, problem = 0, None
    try:
        execute(Job(**json.loads(job)), emit)
    except AugenmerkError as error:
        code, problem = FAILED, str(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    emit(phase=PHASES[code], problem=problem)
    return code


if __name__ == "__main__":
    sys.exit(main())
