"""Trainings that are started from the page, each in its own process.

A training ends with the server, however that ends: it holds the reading end of a pipe, and when the server is
gone, it saves what it has, as after SIGTERM. With `keep`, it continues.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import Field

from augenmerk.base.config import CUSTOM_ATTENTION, PRESETS, RunConfig, load_config
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.directory import RunDirectory
from augenmerk.serve.endpoint import RequestBody

MAX_NAME = 100
MAX_SETTINGS = 100
MAX_SETTING = 1_000
LAST_BYTES = 4_000
"""Length of the end of a training's output that is read."""
CLOSING_SECONDS = 20
"""Shutdown timeout of all trainings together; after it, they still save themselves."""
MAX_ENDED = 20
"""Most trainings that have ended and are still listed."""
ALONE = ("-m", "augenmerk")
WITH_SERVER = (
    "-c",
    "import runpy, signal; from augenmerk.base.process import signal_when_stdin_closes as watch; "
    "watch(signal.SIGTERM); runpy.run_module('augenmerk', run_name='__main__', alter_sys=True)",
)
"""Options of Python that run `augenmerk` so that it saves its state and ends when its standard input does, a
pipe that the server holds open."""


class StartRequest(RequestBody):
    """A training to start."""

    run: str = Field(min_length=1, max_length=MAX_NAME, description="The name of the new run.")
    preset: str
    settings: list[Annotated[str, Field(max_length=MAX_SETTING)]] = Field(default=[], max_length=MAX_SETTINGS)
    keep: bool = Field(default=False, description="Whether it continues when the server ends.")


class ResumeRequest(RequestBody):
    """A training to resume."""

    run: str
    epochs: int | None = Field(default=None, ge=1, le=100_000)
    keep: bool = False


class StopRequest(RequestBody):
    """A training to stop."""

    run: str


@dataclass
class Training:
    """A process that trains a run."""

    run: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    keep: bool
    started: float = field(default_factory=time.time)
    stopping: bool = False

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def read_last_lines(self) -> list[str]:
        """Returns what the process printed last."""
        file = self.output.fileno()  # without moving in the file, whose position the process shares
        size = os.fstat(file).st_size
        text = os.pread(file, LAST_BYTES, max(0, size - LAST_BYTES)).decode("utf-8", "replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-8:]

    def describe(self, *, with_lines: bool) -> dict[str, Any]:
        code = self.process.poll()
        return {
            "run": self.run,
            "running": code is None,
            "stopping": self.stopping and code is None,
            "keep": self.keep,
            "code": code,
            "begun": self.started,
            "said": self.read_last_lines() if with_lines else [],
        }


def check_start(folder: Path, start: StartRequest) -> RunConfig:
    """Returns the settings of a training; raises AugenmerkError with a sentence if `train` would refuse them.

    Settings that name a file are refused, too: nothing in a request may reach the disk, or be executed.
    """
    if start.preset not in PRESETS:
        raise AugenmerkError(
            f"There is no preset called '{shorten(start.preset)}': the presets are {', '.join(PRESETS)}."
        )
    config = load_config(start.preset, start.settings)
    if config.data.bitext not in DATASETS:
        raise AugenmerkError(
            f"From this page, a training learns from {' or '.join(DATASETS)}; for your own pairs: "
            f"augenmerk train {start.preset} --data PATH."
        )
    if config.train.initial_run is not None:
        raise AugenmerkError("To start with the weights of another run: augenmerk train --from RUN.")
    if CUSTOM_ATTENTION.fullmatch(config.model.attention):
        raise AugenmerkError(
            "Your own mechanism is code, which only this executes: augenmerk train --attention FILE.py:CLASS."
        )
    RunDirectory.check_unused(new_run_path(folder, start.run))
    return config


def new_run_path(folder: Path, name: str) -> Path:
    """Returns the path of a new run; raises AugenmerkError unless its name is a plain one."""
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name[0] in ".-":
        raise AugenmerkError(
            f"'{shorten(name)}' cannot be the name of a run: use letters, digits, dots, hyphens and "
            f"underscores."
        )
    return folder / name


class Trainings:
    """The trainings that this server has started. Several threads may use it at once."""

    def __init__(self, folder: Path, limit: int = 1) -> None:
        self.limit = limit
        """How many may run at the same time."""
        self._folder = folder
        self._lock = threading.Lock()
        self._trainings: dict[str, Training] = {}

    def start(self, start: StartRequest) -> None:
        """Starts a new run; raises AugenmerkError if that is not possible."""
        check_start(self._folder, start)
        settings = [part for setting in start.settings for part in ("--set", setting)]
        path = new_run_path(self._folder, start.run)
        self._launch(start.run, path, [start.preset, *settings], keep=start.keep)

    def resume(self, resume: ResumeRequest, path: Path) -> None:
        """Resumes the run in a folder; raises AugenmerkError if that is not possible."""
        run = RunDirectory.open(path)
        if CUSTOM_ATTENTION.fullmatch(run.config.model.attention):
            raise AugenmerkError(
                "Its attention is your own mechanism, which is code: resume by "
                "augenmerk train --resume --attention FILE.py:CLASS."
            )
        if run.finished and (resume.epochs or 0) <= run.config.train.epochs:
            raise AugenmerkError(
                f"The run is finished; to continue, ask for more than its {run.config.train.epochs} epochs."
            )
        epochs = [] if resume.epochs is None else ["--epochs", str(resume.epochs)]
        self._launch(resume.run, path, ["--resume", *epochs], keep=resume.keep)

    def _launch(self, name: str, path: Path, arguments: list[str], *, keep: bool) -> None:
        with self._lock:
            running = [each for each in self._trainings.values() if each.running]
            if any(each.run == name for each in running) or RunDirectory.is_in_training(path):
                raise AugenmerkError(f"'{name}' is being trained already.")
            if len(running) >= self.limit:
                raise AugenmerkError(
                    f"'{running[0].run}' is being trained; stop it first, or start the server with "
                    f"--limit trainings={self.limit + 1}."
                )
            # A file without a name: unlike a pipe, it can be written to when the server is gone.
            output = tempfile.TemporaryFile()  # noqa: SIM115
            process = subprocess.Popen(
                [
                    sys.executable,
                    *(ALONE if keep else WITH_SERVER),
                    "train",
                    *arguments,
                    "--out",
                    str(path),
                ],
                stdin=subprocess.DEVNULL if keep else subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the server, which ends the training in its own way
            )
            ended = [each.run for each in self._trainings.values() if not each.running and each.run != name]
            for old in (name, *ended[: max(0, len(ended) - MAX_ENDED)]):
                if (training := self._trainings.pop(old, None)) is not None:
                    training.output.close()
            self._trainings[name] = Training(name, process, output, keep)

    def stop(self, name: str) -> None:
        """Asks a training to save itself and end; raises AugenmerkError if this server does not train it."""
        with self._lock:
            training = self._trainings.get(name)
            if training is None or not training.running:
                raise AugenmerkError(f"This server does not train '{shorten(name)}'.")
            training.stopping = True
            training.process.terminate()

    def describe(self, *, with_lines: bool) -> list[dict[str, Any]]:
        """Returns all trainings that this server has started, the last first."""
        with self._lock:
            return [each.describe(with_lines=with_lines) for each in reversed(self._trainings.values())]

    def close(self) -> None:
        """Has the trainings without `keep` save themselves, and waits for them for a while."""
        with self._lock:
            ending = [each for each in self._trainings.values() if not each.keep]
            for training in ending:
                if training.process.stdin is not None:
                    training.process.stdin.close()
            until = time.monotonic() + CLOSING_SECONDS
            for training in ending:
                with suppress(subprocess.TimeoutExpired):
                    training.process.wait(max(0.0, until - time.monotonic()))
            for training in self._trainings.values():
                training.output.close()
