"""CPU threads for decoding: a pool whose threads compute batches, each on one core.

The steps of a search are many small operations. If each of them is shared among the cores, as it is by
default, the cores mostly wait for one another. So they share the sentences instead.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

from augenmerk.base.process import count_cores

if TYPE_CHECKING:  # imported when threads are started, which a single sentence does not need
    from concurrent.futures import ThreadPoolExecutor

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _ProductThreads:
    """Sets how many threads compute a matrix product of numpy; counts the threads that need it to be one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: list[int] = []

    @contextmanager
    def one(self) -> Iterator[None]:
        shared, own = _find_libraries()
        before = [library.num_threads for library in own]
        for library in own:
            library.set_num_threads(1)
        with self._lock:
            if self._users == 0:
                self._before = [library.num_threads for library in shared]
                for library in shared:
                    _set_for_process(library, 1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:  # the last one puts back what the first one found
                    for library, threads in zip(shared, self._before, strict=True):
                        _set_for_process(library, threads)
                        _give_up_control(library)
            for library, threads in zip(own, before, strict=True):
                library.set_num_threads(threads)


@cache
def _find_libraries() -> tuple[list[Any], list[Any]]:
    """Returns the libraries with a number of threads for the whole process, and those with one per thread."""
    found = [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]
    own = [
        each
        for each in found
        if each.internal_api == "mkl" or getattr(each, "threading_layer", "") == "openmp"
    ]
    return [each for each in found if each not in own], own


def _set_for_process(library: Any, threads: int) -> None:
    _give_up_control(library)
    library.set_num_threads(threads)


def _give_up_control(library: Any) -> None:
    """Lets any thread change OpenBLAS: threadpoolctl ignores all but the first one that has changed it."""
    if hasattr(library, "clear_controlling_thread"):  # since threadpoolctl 3.8
        library.clear_controlling_thread(force=True)


_PRODUCT_THREADS = _ProductThreads()


def one_thread_per_product() -> AbstractContextManager[None]:
    """Returns a context in which a matrix product of numpy is computed by one thread alone.

    Several threads may be inside at once. OpenBLAS, which numpy comes with, has one number of threads for the
    whole process: it is 1 for all threads while one of them is inside.
    """
    return _PRODUCT_THREADS.one()


@cache
def _slots() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(count_cores())


if hasattr(os, "register_at_fork"):  # else a child might wait for threads that it does not have
    os.register_at_fork(after_in_child=_slots.cache_clear)


@contextmanager
def compute_on_one_core() -> Iterator[None]:
    """Enters a context for computing a batch on one core; waits while other threads use all cores.

    More threads than cores would take turns at every step of a search, which costs more than the step.
    """
    with _slots(), one_thread_per_product():
        yield


class ThreadPool:
    """Runs each task on one CPU core."""

    _lock = threading.Lock()

    def __init__(self, threads: int, *, torch: bool = False) -> None:
        """With `torch`, the tasks compute with torch, whose threads have to be told to compute alone."""
        self.threads = threads
        self._torch = torch
        self._executor: ThreadPoolExecutor | None = None
        self._callers = 0

    @contextmanager
    def share(self) -> Iterator[int]:
        """Yields how many of the threads a caller should make batches for, when others compute as well."""
        with self._lock:
            self._callers += 1
            share = max(1, self.threads // self._callers)
        try:
            yield share
        finally:
            with self._lock:
                self._callers -= 1

    def map(self, function: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterable[_Result]:
        """Yields the results in the order of the items. Several threads may call this at once."""
        if len(items) == 1 and not self._torch:  # a thread of torch would compute on all cores
            return map(function, items)
        with self._lock:
            if self._executor is None:
                start = _start_torch_threads if self._torch else _start_threads
                self._executor = start(self.threads)
        return self._executor.map(function, items)

    def close(self) -> None:
        """Ends the threads; the pool starts new ones when it is used again."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(cancel_futures=True)
                self._executor = None


def _start_threads(threads: int) -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, "decode")


def _start_torch_threads(threads: int) -> "ThreadPoolExecutor":
    """Starts all threads at once, and leaves torch's settings for all other threads as they were."""
    from concurrent.futures import ThreadPoolExecutor

    import torch

    default = torch.get_num_threads()
    started = threading.Barrier(threads + 1)

    def initialise() -> None:
        # torch initialises a new thread when it is first asked for its number of threads. Only after
        # that does a number last; it is the thread's own.
        torch.get_num_threads()
        torch.set_num_threads(1)
        started.wait()

    executor = ThreadPoolExecutor(threads, "decode", initialise)
    for _ in range(threads):
        executor.submit(int)  # a thread is started for each task, until there are enough
    started.wait()
    torch.set_num_threads(default)  # threads that start later take the number that was set last
    return executor
