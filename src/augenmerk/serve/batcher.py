"""One thread computes; requests that arrive while it does are its next batch.

There is no timer: whoever asks alone is answered at once, and when many ask, they wait for the batch that is
being computed and are then computed together.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from augenmerk.serve.errors import Overloaded, TooLate
from augenmerk.serve.library import Library
from augenmerk.serve.limits import Limits
from augenmerk.serve.metrics import Metrics
from augenmerk.translate import Translation

T = TypeVar("T")

CHARACTERS_PER_TOKEN = 4
"""About as many characters has a subword of European languages; the size of a batch need not be exact."""

RATE_MEMORY = 0.9
"""How much of the estimate of the speed is kept when a batch was computed."""


class Work(NamedTuple):
    """What is to be done with texts. Those with equal work are computed together."""

    kind: str  # "translate" or "score"
    names: tuple[str, ...]
    settings: tuple[tuple[str, Any], ...] = ()
    heads: bool = False
    attention: bool = False


class _Job:
    """The texts or pairs of a request, which may be computed in several batches."""

    def __init__(self, work: Work | None, items: Sequence[Any], future: asyncio.Future[Any]) -> None:
        self.work = work  # None for a function
        self.items = items
        self.future = future
        self.taken = 0
        """How many of the items were given to a batch."""
        self.results: list[Any] = []


class Batcher:
    """Computes for many requests at once. Its methods are called in the event loop that it was started in."""

    def __init__(self, library: Library, limits: Limits, metrics: Metrics) -> None:
        self.library = library
        self.limits = limits
        self.metrics = metrics
        self._waiting: deque[_Job] = deque()
        self._condition = threading.Condition()
        self._closing = False
        self._seconds_per_item = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.queued = 0
        """How many texts wait or are being computed."""

    def start(self) -> None:
        """Starts the thread; the answers are given in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._compute_all, name="compute", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Ends the thread when all that waits was computed."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    async def translate(
        self,
        names: str | Sequence[str],
        texts: Sequence[str],
        *,
        settings: Mapping[str, Any] | None = None,
        heads: bool = False,
        attention: bool = False,
    ) -> list[Translation]:
        """Translates texts together with whatever else waits.

        `settings` are changes of `SearchConfig`. With `attention`, the weights over words are computed
        already in the thread. Raises Overloaded, TooLate, and AugenmerkError for what cannot be done.
        """
        changes = tuple(sorted((key, value) for key, value in (settings or {}).items() if value is not None))
        work = Work("translate", _to_names(names), changes, heads, attention)
        return await self._submit(_Job(work, texts, self._make_future()))

    async def score(
        self,
        names: str | Sequence[str],
        pairs: Sequence[tuple[str, str]],
        *,
        heads: bool = False,
        attention: bool = False,
    ) -> list[Translation]:
        """Scores given translations, as `translate` translates."""
        work = Work("score", _to_names(names), (), heads, attention)
        return await self._submit(_Job(work, pairs, self._make_future()))

    async def compute(self, function: Callable[[], T]) -> T:
        """Calls a function in the thread that computes, when it is its turn."""
        [result] = await self._submit(_Job(None, (function,), self._make_future()))
        return result  # type: ignore[no-any-return]

    def _make_future(self) -> asyncio.Future[Any]:
        assert self._loop is not None, "the batcher was not started"
        return self._loop.create_future()

    async def _submit(self, job: _Job) -> list[Any]:
        """Waits for the results of a job. If the waiting is cancelled, what was not begun is never done."""
        if not job.items:
            return []
        with self._condition:
            if self.queued and self.queued + len(job.items) > self.limits.queue:
                raise Overloaded(
                    f"{self.queued:,} texts are waiting already, and {self.limits.queue:,} may: "
                    f"try again later.",
                    self.queued * self._seconds_per_item,
                )
            self.queued += len(job.items)
            self._waiting.append(job)
            self._condition.notify()
        try:
            async with asyncio.timeout(self.limits.deadline):
                return await job.future  # type: ignore[no-any-return]
        except TimeoutError:
            raise TooLate(
                f"There was no answer within {self.limits.deadline:g} seconds: ask for less at once, "
                f"or try again later."
            ) from None

    # What follows runs in the thread that computes.

    def _compute_all(self) -> None:
        while (batch := self._take()) is not None:
            begin = time.perf_counter()
            results: list[Any] = []
            error: Exception | None = None
            try:
                results = self._compute(batch)
            except Exception as caught:
                error = caught
            except BaseException as caught:  # such as a panic of a library in Rust
                error = RuntimeError(type(caught).__name__)
            seconds = time.perf_counter() - begin
            items = [item for job, start, stop in batch for item in job.items[start:stop]]
            characters = sum(len(item) for item in items if isinstance(item, str))
            self.metrics.count_batch(len(items), characters, seconds)
            memory = RATE_MEMORY if self._seconds_per_item else 0.0
            self._seconds_per_item *= memory
            self._seconds_per_item += (1 - memory) * seconds / len(items)
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._answer, batch, results, error)

    def _take(self) -> list[tuple[_Job, int, int]] | None:
        """Waits for work and returns what is computed next: jobs, each with a range of its items.

        The oldest job decides what is done, and all others with the same work join it, as far as the budget
        of tokens goes. A job that has more items goes to the end of the queue, so that nobody waits for a
        long list.
        """
        with self._condition:
            while True:
                self._drop_abandoned()
                if self._waiting:
                    break
                if self._closing:
                    return None
                self._condition.wait()
            work = self._waiting[0].work
            if work is None:
                return [(self._waiting.popleft(), 0, 1)]
            budget = self.limits.batch_tokens
            batch: list[tuple[_Job, int, int]] = []
            unfinished: list[_Job] = []
            others: list[_Job] = []
            width = self._count_hypotheses(work)
            while self._waiting and budget > 0:
                job = self._waiting.popleft()
                if job.work != work:
                    others.append(job)
                    continue
                start = stop = job.taken
                while stop < len(job.items) and budget > 0:
                    budget -= width * _estimate_tokens(job.items[stop])
                    stop += 1
                job.taken = stop
                batch.append((job, start, stop))
                if stop < len(job.items):
                    unfinished.append(job)
            self._waiting.extendleft(reversed(others))
            self._waiting.extend(unfinished)
            return batch

    def _drop_abandoned(self) -> None:
        """Removes jobs that nobody waits for any more."""
        if any(job.future.done() for job in self._waiting):
            for job in self._waiting:
                if job.future.done():
                    self.queued -= len(job.items) - job.taken
            self._waiting = deque(job for job in self._waiting if not job.future.done())

    def _count_hypotheses(self, work: Work) -> int:
        if work.kind == "score":
            return len(work.names)
        settings: dict[str, int] = dict(work.settings)
        beam = settings.get("beam") or self.library.own_beam(work.names)
        return len(work.names) * max(beam, settings.get("n_best", 1), settings.get("candidates", 1))

    def _compute(self, batch: list[tuple[_Job, int, int]]) -> list[Any]:
        """Returns the results of all items of a batch, in their order."""
        job = batch[0][0]
        work = job.work
        if work is None:
            return [job.items[0]()]
        items = [item for job, start, stop in batch for item in job.items[start:stop]]
        translator = self.library.get(work.names)
        if work.kind == "score":
            translations = translator.score_all(items, heads=work.heads)
        else:
            # Samples depend on the number of a text in its own request.
            numbers = [number for _, start, stop in batch for number in range(start, stop)]
            translations = translator.translate(
                items, heads=work.heads, numbers=numbers, **dict(work.settings)
            )
        if work.attention:
            for translation in translations:
                for one in (translation, *translation.alternatives):
                    _ = one.attention, one.word_log_probabilities, one.attentions  # they are kept
        return translations

    # This runs in the event loop.

    def _answer(
        self, batch: list[tuple[_Job, int, int]], results: list[Any], error: Exception | None
    ) -> None:
        """Gives the results to those who still wait for them."""
        place = 0
        for job, start, stop in batch:
            own = results[place : place + stop - start]
            place += stop - start
            with self._condition:
                self.queued -= stop - start
            if job.future.done():  # the client has hung up, or its time is over
                continue
            if error is not None:
                job.future.set_exception(error)
                continue
            job.results += own
            if len(job.results) == len(job.items):
                job.future.set_result(job.results)


def _to_names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _estimate_tokens(item: Any) -> int:
    characters = len(item) if isinstance(item, str) else sum(map(len, item))
    return characters // CHARACTERS_PER_TOKEN + 2
