"""This process: its environment variables, memory and signals.

Both programs of this package, the command line and the worker of a study, set the environment before they
import anything else. `import augenmerk` leaves the environment as it is.
"""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from augenmerk.base.device import count_cores


def prepare_environment() -> None:
    """Sets what makes this process fast and silent, unless the user has set it to something else."""
    defaults = {
        # Otherwise pydantic looks for plugins in every package that is installed.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        # Torch then asks for huge pages, which Linux hands out with fewer interruptions: training a large
        # model on a CPU takes a tenth less time.
        "THP_MEM_ALLOC_ENABLE": "1",
    }
    if "OMP_WAIT_POLICY" not in os.environ:
        # Threads of torch that wait for each other otherwise spin for milliseconds, on cores that other
        # processes, or the thread they wait for, could use (docs/guides/training.md). The first is for GNU's
        # OpenMP, in spins, the second for LLVM's and Intel's, in milliseconds.
        defaults |= {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}
    if count_cores() < (os.cpu_count() or 1):
        # Otherwise some libraries start a thread for each core of the machine, also in a container with few.
        defaults["OMP_NUM_THREADS"] = str(count_cores())
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    # Pictures go into files. A notebook names its own backend in the environment of the commands it starts,
    # and where that is not installed, matplotlib cannot even be imported.
    os.environ["MPLBACKEND"] = "agg"


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # their numbers in malloc.h
LARGE = 16 << 20
"""In bytes. Smaller blocks are worth keeping, because new memory is slower than used memory."""


def limit_malloc_caching(largest: int) -> None:
    """Makes freed blocks of 16 MiB and more return to the system at once.

    Batches have different shapes, so a freed large block hardly ever fits a later one. The C library of Linux
    nevertheless keeps such blocks once some were freed (it raises its mmap threshold, up to 32 MB), and the
    memory of the process grows from batch to batch.

    If the largest block of a batch, of about this many bytes, is not much above 16 MiB, only blocks of 64 MiB
    and more do: allocating it again in every step would cost a small model a tenth of its speed (measured).
    """
    if sys.platform != "linux":
        return
    large = LARGE if largest > LARGE * 3 // 2 else 4 * LARGE
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # not in every C library
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, large)
        set_option(_TRIM_THRESHOLD, 4 * large)  # which would otherwise fall to its smallest


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


class SavedInterrupt(KeyboardInterrupt):
    """Raised after Ctrl-C or SIGTERM, when everything is saved; its text tells how to continue."""

    def __init__(self, code: int) -> None:
        """`code` is the exit code that shells report after the signal."""
        super().__init__("Saved.")
        self.code = code

    def explain(self, command: str, kept: str = "Saved.") -> None:
        """Tells what is kept and which command continues, in the text and on stderr."""
        from augenmerk.base.console import err

        self.args = (f"{kept} Continue with:  {command}",)
        err().print(str(self), markup=False)


@contextmanager
def explain_interrupt(command: str, kept: str, saved: str = "Saved.") -> Iterator[None]:
    """Lets an interrupt tell which command continues, and what is kept: `saved` if work was stopped."""
    try:
        yield
    except SavedInterrupt as interrupted:
        interrupted.explain(command, saved)
        raise
    except KeyboardInterrupt as interrupt:  # before, between or after the parts of the work that save
        interrupt.args = (f"{kept} Continue with:  {command}",)
        raise


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
