"""A job of a study, in a process of its own, which an executor starts (`study/executors`).

    python -m augenmerk.study.worker JOB       (JOB is JSON: see `Job`)

A worker trains a run, scores it and probes it. It writes its events to stdout, one JSON object per line. It
saves and stops when its stdin closes: when the study asks it to, and also when the study is killed.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augenmerk.errors import AugenmerkError
from augenmerk.signals import raise_terminated

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
