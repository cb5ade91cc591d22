"""One run of a study, in a process of its own: trained, measured, probed, each only as far as it is not yet.

    python -m augenmerk.study.worker JOB       (JOB is JSON: see `Job`)

It tells how far it is on stdout, a JSON object on each line. It stops, and saves, when its stdin closes: when
the study wants it to, and also when the study is killed without a chance to say anything.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augenmerk.errors import AugenmerkError

INTERRUPTED = 130
COMPLAINED = 2


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do."""

    run: str
    config: dict[str, Any]
    splits: list[str]
    beams: list[int]
    sentences: list[str]
    device: str


def tell(**what: Any) -> None:
    # Nobody may be listening any more. That is noticed elsewhere, and is no reason to stop before saving.
    with suppress(OSError):
        os.write(1, f"{json.dumps(what)}\n".encode())


class Telling:
    """Training's reporter."""

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        done = (epoch - 1 + batch / batches) / self._epochs
        tell(doing="training", done=done, epoch=epoch, loss=loss, speed=tokens_per_second)

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        tell(
            doing="training",
            done=metrics["epoch"] / self._epochs,
            epoch=metrics["epoch"],
            loss=metrics["validation_loss"],
            bleu=metrics.get("validation_bleu"),
        )


def work(job: Job) -> None:
    """The whole of it; what is there already is left as it is."""
    tell(doing="starting")
    import torch

    from augenmerk.checkpoint import RunDirectory
    from augenmerk.config import RunConfig
    from augenmerk.study.measuring import measure, probe
    from augenmerk.train import start, train

    place, device = Path(job.run), torch.device(job.device)
    config = RunConfig.checked(job.config, job.run)
    run = RunDirectory.open(place) if (place / "config.toml").exists() else start(config, place)
    if not run.finished:
        train(run, device, Telling(config.train.epochs))
    measure(
        run, job.splits, job.beams, device, lambda what, done: tell(doing="translating", what=what, done=done)
    )
    tell(doing="probing")
    probe(run, job.splits, job.sentences, device)
    tell(doing="finished")


def stop_when_nobody_listens() -> None:
    """The end of stdin is a Ctrl-C: training saves and stops, all else keeps what is on the disk already."""
    # A process that was started in the background ignores Ctrl-C otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def wait() -> None:
        while os.read(0, 1024):  # not sys.stdin, whose lock would still be held when the process ends
            pass
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def main() -> int:
    stop_when_nobody_listens()
    try:
        from augenmerk.train import TrainingInterrupted

        try:
            work(Job(**json.loads(sys.argv[1])))
        except AugenmerkError as error:
            tell(doing="failed", problem=str(error))
            return COMPLAINED
        except TrainingInterrupted:
            return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
