"""A whole training as people ask for it, with all that they see of it: `augenmerk train` as a function."""

import shutil
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from augenmerk.api.run import Run
from augenmerk.base.console import err
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import as_list
from augenmerk.base.settings import Overrides, format_value, list_overrides
from augenmerk.data import BadLineError
from augenmerk.mechanisms.custom import find_name
from augenmerk.run.directory import RunDirectory
from augenmerk.training import distributed, start
from augenmerk.training.display import TrainingDisplay, began_better, describe_run
from augenmerk.training.distributed import EXACT_PARTS, World
from augenmerk.training.loggers import Logger, LoggerStartError, load_loggers
from augenmerk.training.loop import TrainingInterrupted, choose_threads
from augenmerk.training.loop import train as run_loop

if TYPE_CHECKING:
    from augenmerk.mechanisms import Mechanism


def train(
    preset: str | Path | None = None,
    *,
    data: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    attention: "str | type[Mechanism] | None" = None,
    seed: int | None = None,
    epochs: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    accept_changes: bool = False,
    initial_run: str | PathLike[str] | None = None,
    skip_bad: bool = False,
    exact: bool = False,
    device: str = "auto",
    threads: int | None = None,
    settings: Overrides = None,
    tensorboard: bool = False,
    loggers: str | Sequence[str | Logger] | None = None,
    continue_with: Callable[[Path], str] = "augenmerk.train(resume=True, out='{}')".format,
    **more_settings: Any,
) -> Run:
    """Trains a run with a progress bar, or resumes one; takes what `augenmerk train` takes.

    `attention` may also be a class that derives from `augenmerk.Mechanism`; the run records its source.
    Single settings of the run are in `settings`, `{"train.lr": 0.002}`, or keywords: `train={"lr": 0.002}`.
    Ctrl-C raises TrainingInterrupted, a KeyboardInterrupt, when the run is saved; `continue_with` words in
    its text how to continue the run in a folder.
    """
    world, chosen = distributed.join(device)  # first, so that only one of several processes reports a mistake
    named = None if attention is None else find_name(attention)
    if resume and preset is None and named != attention:
        named = None  # a mechanism that is named only allows that it is executed
    given = {
        "data.bitext": None if resume or data is None else format_value(str(data)),
        "data.source_language": source_language,
        "data.target_language": target_language,
        "data.skip_bad": "true" if skip_bad else None,
        "model.attention": named,
        "train.seed": seed,
        "train.epochs": None if resume else epochs,
        "train.exact_parts": EXACT_PARTS if exact else None,
    }
    overrides = [f"{key}={value}" for key, value in given.items() if value is not None]
    overrides += [*list_overrides(settings), *list_overrides(more_settings)]
    # Before a run is created, because a logger may be wrong or not installed.
    made = load_loggers(as_list(loggers, str), tensorboard=tensorboard) if world.is_first else []
    if resume and initial_run is not None:
        raise AugenmerkError("--from begins a new run and --resume continues one; give one of them.")
    if accept_changes and not resume:
        raise AugenmerkError(
            "--accept-changes is about a run that is continued: give --resume and --out too."
        )
    name, place = None if preset is None else str(preset), None if out is None else Path(out)

    def open_run() -> tuple[RunDirectory, list[str]]:
        if resume:
            moved = None if data is None else str(data)
            return start.resume(place, name, overrides, moved, epochs, accept_changes=accept_changes)
        parent = None if initial_run is None else Path(initial_run)
        return start.start_preset(name, overrides, place, parent)

    run, remarks = _open(open_run, world)
    if accept_changes and world.from_first(lambda: run.finished and not run.more_epochs):
        err().print("\n".join(remarks), markup=False)
        world.leave()
        return Run(run)
    command = continue_with(run.path)
    return Run(run, _train(run, chosen, world, threads, made, remarks, command, new=not resume))


def _open(
    open_run: Callable[[], tuple[RunDirectory, list[str]]], world: World
) -> tuple[RunDirectory, list[str]]:
    """Opens the run in the first process, and explains what may go wrong."""

    def open_and_read() -> tuple[RunDirectory, list[str]]:
        opened = open_run()
        opened[0].tokenizers  # noqa: B018 (read now, so that the folder need not be on every machine)
        return opened

    try:
        return world.from_first(open_and_read)
    except BadLineError as error:
        raise AugenmerkError(
            f"{error} `augenmerk data check` lists all problems; --skip-bad trains without these lines."
        ) from None
    except KeyboardInterrupt as interrupt:
        interrupt.args = ("Training had not started; nothing is lost.",)
        raise


def _train(
    run: RunDirectory,
    device: torch.device,
    world: World,
    threads: int | None,
    loggers: Sequence[Logger],
    remarks: Sequence[str],
    command: str,
    *,
    new: bool,
) -> dict[str, Any]:
    """Trains a run and returns its summary; `command` continues it after an interruption."""
    computing, about_threads = choose_threads(run, threads, world)
    err().print(describe_run(run, device, world, computing), markup=False)
    for line in filter(None, (world.remark, *remarks, about_threads)):
        err().print(line, markup=False)
    try:
        with TrainingDisplay(run.config) as display:
            result = run_loop(run, device, display, loggers, world, computing)
        world.leave()
    except distributed.ProcessLostError as lost:
        restarts = distributed.will_restart()
        next_step = "torchrun starts them again." if restarts else f"Continue with:  {command}"
        raise AugenmerkError(f"{lost} {next_step}") from None
    except TrainingInterrupted as interrupted:
        if world.size > 1:
            distributed.ignore_signals()
        interrupted.explain(command)
        world.leave()
        raise
    except KeyboardInterrupt as interrupt:  # before the first step, or a second Ctrl-C
        interrupt.args = (f"Continue with:  {command}",)
        raise
    except LoggerStartError:
        if new and not distributed.was_restarted():
            shutil.rmtree(run.path)  # made a moment ago, and in the way of the next try
        raise
    if began_better(result):
        err().print("[yellow]The weights that it began with were better.[/] Try a smaller train.lr.")
    return result
