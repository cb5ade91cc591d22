"""Signals that ask the process to stop: Ctrl-C, and SIGTERM, which containers and Slurm send."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """Raised by SIGTERM within `interrupt_on_sigterm`: whatever handles Ctrl-C handles it as well."""


def raise_terminated(_signum: int, _frame: FrameType | None) -> NoReturn:
    """Raises Terminated once; a handler for `signal.signal`.

    A second SIGTERM changes nothing, because supervisors and `timeout` may send it twice.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Makes SIGTERM do what Ctrl-C does. Signals reach the main thread only; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Returns the exit code that shells report after the signal: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


def signal_when_stdin_closes(number: signal.Signals) -> None:
    """Sends this process a signal when its standard input ends, as it does when its parent is gone."""

    def wait() -> None:
        while os.read(0, 1024):  # not sys.stdin, whose lock would still be held when the process ends
            pass
        if sys.platform == "win32":
            signal.raise_signal(number)
        else:
            os.kill(os.getpid(), number)

    threading.Thread(target=wait, daemon=True).start()
