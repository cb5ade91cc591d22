"""What connects a model with a search: a `Decoder` for a model, batch sizes, and a pool of CPU threads."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

from augenmerk.arrays import Array
from augenmerk.search import State
from augenmerk.step_model import Source, StepModel

if TYPE_CHECKING:  # imported when threads are started, which a single sentence does not need
    from concurrent.futures import ThreadPoolExecutor

HYPOTHESES_PER_BATCH = 640
"""Large enough that a matrix product is worth its call, small enough for the caches of a CPU."""


class ModelDecoder:
    """Lets a search step a model over a batch of sentences: a `Decoder` as `augenmerk.search` needs it."""

    def __init__(self, model: StepModel, source: Source) -> None:
        self._model = model
        self._source = source

    @property
    def sentences(self) -> int:
        return len(self._source.memory.values)

    def start(self) -> State:
        return self._source.start

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        return self._model.step(tokens, state, self._source.memory)

    def keep(self, sentences: Array) -> "ModelDecoder":
        return ModelDecoder(self._model, self._source.keep(sentences))


def choose_batch_size(sentences: int, hypotheses: int, threads: int, *, gpu: bool) -> int:
    """Returns how many sentences to decode together, with so many hypotheses of each.

    At least 16, because the steps of a batch follow one another however few sentences it has.
    """
    if gpu:  # a step takes the same time for many sentences as for few
        return max(16, min(1024, 8 * HYPOTHESES_PER_BATCH // hypotheses))
    most = max(16, min(200, HYPOTHESES_PER_BATCH // hypotheses))
    # Batches of equal size, and as many for each thread, so that no thread waits long for another.
    rounds = math.ceil(sentences / (most * threads))
    return max(16, math.ceil(sentences / (rounds * threads)))


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _ProductThreads:
    """How many threads compute a matrix product of numpy: one number for all callers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callers = 0
        self._limit: Any = None

    @contextmanager
    def one(self) -> Iterator[None]:
        with self._lock:
            if self._callers == 0:
                self._limit = _find_libraries().limit(limits=1, user_api="blas")
            self._callers += 1
        try:
            yield
        finally:
            with self._lock:
                self._callers -= 1
                if self._callers == 0:  # the last one puts back what the first one found
                    self._limit.restore_original_limits()


@cache
def _find_libraries() -> ThreadpoolController:
    return ThreadpoolController()


_PRODUCT_THREADS = _ProductThreads()


def one_thread_per_product() -> AbstractContextManager[None]:
    """Returns a context in which a matrix product of numpy is computed by one thread alone.

    The steps of a search are many small operations. If each of them is shared among the cores, as it is by
    default, the cores mostly wait for one another. So they share the sentences instead: see `ThreadPool`.
    Several threads may be inside at once.
    """
    return _PRODUCT_THREADS.one()


class ThreadPool:
    """Runs each task on one CPU core."""

    _creation = threading.Lock()

    def __init__(self, threads: int, *, torch: bool = False) -> None:
        """With `torch`, the tasks compute with torch, whose threads have to be told to compute alone."""
        self.threads = threads
        self._torch = torch
        self._executor: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterable[_Result]:
        """Yields the results in the order of the items. Several threads may call this at once."""
        if len(items) == 1:
            return map(function, items)
        with self._creation:
            if self._executor is None:
                start = _start_torch_threads if self._torch else _start_threads
                self._executor = start(self.threads)
        return self._executor.map(function, items)

    def close(self) -> None:
        """Ends the threads; the pool starts new ones when it is used again."""
        with self._creation:
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
