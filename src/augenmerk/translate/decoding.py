"""What connects a model with a search: a `Decoder` for a model, batch sizes, and a pool of CPU threads."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from augenmerk.model import Source, StepModel
from augenmerk.search import State

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

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        return self._model.step(tokens, state, self._source.memory)

    def keep(self, sentences: Tensor) -> "ModelDecoder":
        return ModelDecoder(self._model, self._source.keep(sentences))


def choose_batch_size(sentences: int, hypotheses: int, threads: int, device: torch.device) -> int:
    """Returns how many sentences to decode together, with so many hypotheses of each.

    At least 16, because the steps of a batch follow one another however few sentences it has.
    """
    if device.type == "cuda":  # a step takes the same time for many sentences as for few
        return max(16, min(1024, 8 * HYPOTHESES_PER_BATCH // hypotheses))
    most = max(16, min(200, HYPOTHESES_PER_BATCH // hypotheses))
    # Batches of equal size, and at least one for each thread, so that no thread waits long for another.
    batches = max(math.ceil(sentences / most), threads)
    return max(16, math.ceil(sentences / batches))


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class ThreadPool:
    """Runs each task on one CPU core.

    The steps of a search are many small operations. If torch shares each of them among the cores, as it does
    by default, the cores mostly wait for one another. So every thread of this pool computes alone.
    """

    _creation = threading.Lock()

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._executor: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
        """Yields the results in the order of the items. Several threads may call this at once."""
        with self._creation:
            if self._executor is None:
                self._executor = self._start()
        return self._executor.map(function, items)

    def close(self) -> None:
        """Ends the threads; the pool starts new ones when it is used again."""
        with self._creation:
            if self._executor is not None:
                self._executor.shutdown(cancel_futures=True)
                self._executor = None

    def _start(self) -> ThreadPoolExecutor:
        """Starts all threads at once, and leaves torch's settings for all other threads as they were."""
        default = torch.get_num_threads()
        started = threading.Barrier(self.threads + 1)

        def initialise() -> None:
            # torch initialises a new thread when it is first asked for its number of threads. Only after
            # that does a number last; it is the thread's own.
            torch.get_num_threads()
            torch.set_num_threads(1)
            started.wait()

        executor = ThreadPoolExecutor(self.threads, "decode", initialise)
        for _ in range(self.threads):
            executor.submit(int)  # a thread is started for each task, until there are enough
        started.wait()
        torch.set_num_threads(default)  # threads that start later take the number that was set last
        return executor
