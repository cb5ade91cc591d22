"""Loggers: where the numbers of training go while it runs, such as TensorBoard, Weights & Biases or MLflow.

A logger is any object with the three methods of `Logger`; docs/guides/logging.md has examples. This package
depends on none of these services.
"""

import importlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from augenmerk.base.custom_code import load_user_module
from augenmerk.base.errors import AugenmerkError


class LoggerStartError(AugenmerkError):
    """Raised if a logger cannot start, before anything is trained."""


class Logger(Protocol):
    """Receives the numbers of a run while it is trained."""

    def start(self, run: Path, settings: Mapping[str, Any], step: int) -> None:
        """Is called once, with the run directory, all settings, and the step at which training continues."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Is called several times a second with `batch_loss`, `learning_rate` and `target_tokens_per_second`,
        and after each epoch with what metrics.jsonl has of it. No number comes twice for a step."""

    def close(self) -> None:
        """Is called once, when training is done, was stopped or failed; not if `start` failed."""


class TensorBoardLogger:
    """Writes TensorBoard events, by step, to the folder `tensorboard` of the run."""

    def __init__(self) -> None:
        """Raises AugenmerkError if TensorBoard is not installed."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise AugenmerkError(
                "TensorBoard is not installed: run pip install '.[tensorboard]' in your clone, or leave out "
                "--tensorboard."
            ) from None
        self._make_writer: Any = SummaryWriter

    def start(self, run: Path, settings: Mapping[str, Any], step: int) -> None:  # noqa: ARG002
        # A killed run logs again what came after its last saved state.
        purge_step = step + 1 if step else None
        self._writer = self._make_writer(str(run / "tensorboard"), purge_step=purge_step)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class LoggerGroup:
    """Calls several loggers. One that raises is reported on stderr and called no more: training continues."""

    def __init__(self, loggers: Sequence[Logger]) -> None:
        self._waiting = list(loggers)
        self._loggers: list[Logger] = []

    def start(self, run: Path, settings: Mapping[str, Any], step: int) -> None:
        """Starts all of them; raises LoggerStartError if one cannot, because nothing is lost yet."""
        for logger in self._waiting:
            try:
                logger.start(run, settings, step)
            except Exception as error:
                raise LoggerStartError(
                    f"The logger {_describe(logger, error)}; nothing was trained."
                ) from error
            self._loggers.append(logger)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._call("log", step, metrics)

    def close(self) -> None:
        self._call("close")

    def _call(self, method: str, *arguments: Any) -> None:
        for logger in list(self._loggers):
            try:
                getattr(logger, method)(*arguments)
            except Exception as error:
                self._loggers.remove(logger)
                message = "The logger %s; it is left out from here on."
                logging.getLogger(__name__).warning(message, _describe(logger, error))


def _describe(logger: Logger, error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(logger).__name__} failed ({type(error).__name__}: {text})"


def load_loggers(given: Sequence[str | Logger], *, tensorboard: bool) -> list[Logger]:
    """Makes the loggers that the user named or made, and the one for TensorBoard if it is asked for."""
    loggers = [load_logger(each) for each in given]
    return [*loggers, TensorBoardLogger()] if tensorboard else loggers


def load_logger(named: str | Logger) -> Logger:
    """Makes a logger of a class that the user named, FILE.py:Class or module:Class; or takes one as it is.

    The code is executed, so this must only be called for what the user named.
    """
    name, logger = (named, None) if isinstance(named, str) else (type(named).__name__, named)
    if logger is None:
        source, _, class_name = name.rpartition(":")
        if not source:
            raise AugenmerkError(f"'{name}' is not a logger: expected something like mine.py:Logger.")
        try:
            own = source.endswith(".py")
            module = load_user_module(Path(source)) if own else importlib.import_module(source)
            logger = getattr(module, class_name)()
        except AugenmerkError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise AugenmerkError(
                f"The logger {name} cannot be made ({reason}); name a class that needs no arguments."
            ) from None
    for method in ("start", "log", "close"):
        if not callable(getattr(logger, method, None)):
            raise AugenmerkError(f"{name} is not a logger because it has no method '{method}'.")
    return cast(Logger, logger)
