"""Maps a function over numbered blocks of work, in the order in which they are finished."""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, TypeVar

from augenmerk.errors import AugenmerkError

_Result = TypeVar("_Result")


class MapBlocks(Protocol):
    """Computes blocks, some at a time."""

    def __call__(
        self,
        start: Callable[[], Callable[..., _Result]],
        blocks: Mapping[int, tuple[Any, ...]],
        finish: Callable[[int, _Result], None],
    ) -> None:
        """Calls `finish` with the number of each block and its result, as soon as that is there.

        A process calls `start` once, and what that returns with the number and the arguments of each block
        that it computes. Raises what one of them raises.
        """


class ProcessPool:
    """Computes blocks in processes of this machine, or here if one is enough: a `MapBlocks`."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def __call__(
        self,
        start: Callable[[], Callable[..., _Result]],
        blocks: Mapping[int, tuple[Any, ...]],
        finish: Callable[[int, _Result], None],
    ) -> None:
        workers = min(self._workers, len(blocks))
        if workers <= 1:
            compute = start() if blocks else None
            for number, arguments in blocks.items():
                assert compute is not None
                finish(number, compute(number, *arguments))
            return
        # Not forked, because threads of the libraries, or of a progress bar, may hold locks.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (start,))
        try:
            numbers = {
                pool.submit(_compute, number, *arguments): number for number, arguments in blocks.items()
            }
            for future in as_completed(numbers):
                finish(numbers[future], future.result())
        except BrokenProcessPool:
            raise AugenmerkError(
                "A worker was killed, perhaps because memory ran out; run the same command again, with fewer "
                "--workers, and it goes on."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


# In a worker

_started: Callable[..., Any]


def _start_worker(start: Callable[[], Callable[..., Any]]) -> None:
    global _started
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the parent ends them
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _started = start()


def _end_with_parent() -> None:
    """Ends this process when its parent was killed, which would otherwise wait for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _compute(number: int, *arguments: Any) -> Any:
    return _started(number, *arguments)
