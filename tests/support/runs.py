"""Tiny runs that are trained once and then shared by all tests, in whichever process of pytest they run."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.run.directory import RunDirectory
from augenmerk.study.jobs import Event, Job, execute
from augenmerk.training.loop import train
from augenmerk.training.start import start

CPU = torch.device("cpu")


class Silent:
    """A reporter that ignores what it is told."""

    def begin(self, data: Mapping[str, Any]) -> None: ...

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None: ...

    def epoch(self, metrics: Mapping[str, Any]) -> None: ...


def tiny(**changes: object) -> RunConfig:
    """Settings of a run that trains in about a second; `train__lr=0.1` changes `train.lr`."""
    tree: dict[str, dict[str, object]] = {
        "data": {"bilderbuch": {"pairs": 300}},
        "text": {"unit": "word", "lowercase": True, "joint": False},
        "model": {"embedding": 24, "hidden": 24, "key": 24, "embedding_dropout": 0.1},
        "train": {"epochs": 2, "batch_size": 16, "lr": 0.01, "precision": "fp32", "bleu": False},
    }
    for key, value in changes.items():
        group, _, name = key.partition("__")
        tree.setdefault(group, {})[name] = value
    return RunConfig.model_validate(tree)


class SharedRuns:
    """A folder of trained runs. Tests get copies, so that they may write into them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy(self, config: RunConfig | Mapping[str, Any], place: Path) -> RunDirectory:
        """Puts a run with these settings at `place`. It is trained if no test has asked for it before."""
        config = RunConfig.model_validate(config)
        name = hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:16]
        with FileLock(self._folder / f"{name}.lock"):
            run = self._folder / name
            if not (run / "result.json").exists():
                train(start(config, run), CPU, Silent())
        shutil.copytree(run, place)
        result = json.loads((place / "result.json").read_text(encoding="utf-8"))
        (place / "result.json").write_text(json.dumps({**result, "run": str(place)}), encoding="utf-8")
        return RunDirectory.open(place)


class JobsHere(AbstractContextManager["JobsHere"]):
    """Runs the jobs of a study in this process; takes the place of `LocalExecutor`."""

    def __init__(self, _logs: Path, _threads: int, _locks: object = ()) -> None:
        self._jobs: list[Job] = []

    def __exit__(self, *_: object) -> None: ...

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def events(self, _timeout: float) -> Iterator[Event]:
        job, events = self._jobs.pop(0), list[Event]()
        last = Event(job.run, "finished")
        try:
            execute(job, lambda **fields: events.append(Event(job.run, **fields)))
        except AugenmerkError as error:
            last = Event(job.run, "failed", problem=str(error))
        yield from (*events, last)

    def stop(self, _job: Job) -> None: ...
