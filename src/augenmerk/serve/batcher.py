"""A few threads compute; requests that arrive while they do are the next batch.

There is no timer: a lone request is computed at once, and requests that wait for a batch are computed
together afterwards. A batch begins when the event loop has read all that has arrived, so that clients that
were answered together, and ask again, are together again. Each thread computes its own batch, because a
search is a long row of small steps, which cores cannot share (see `augenmerk.translation.loading`).
"""

import asyncio
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from augenmerk.base.config import SearchConfig
from augenmerk.base.device import count_threads
from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.limits import Limits, Overloaded, ServiceError
from augenmerk.serve.registry import ModelRegistry, Names, to_names
from augenmerk.translation import Translation
from augenmerk.translation.loading import one_thread_per_product
from augenmerk.translation.translator import split_into_texts

T = TypeVar("T")

CHARACTERS_PER_TOKEN = 4
"""Approximate length of a subword in European languages; the size of a batch need not be exact."""
MIN_SHARED_TEXTS = 16
"""Fewest texts that are divided among threads: the steps of a batch follow one another in any case."""
CLOSE_SECONDS = 10.0
"""Shutdown timeout of each thread."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Histogram:
    """Counts of values up to each of some bounds, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str) -> Iterator[str]:
        total = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self.sum:.9g}"
        yield f"{name}_count {total}"


class Metrics:
    """What is counted. Requests are counted in the event loop, batches in the threads that compute."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by (route, status)
        self.seconds = Histogram(SECONDS)
        self.batch_sizes = Histogram(SIZES)
        self.compute_seconds = 0.0
        self.characters = 0
        self._lock = threading.Lock()

    def count_request(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds.add(seconds)

    def count_batch(self, texts: int, characters: int, seconds: float) -> None:
        with self._lock:
            self.batch_sizes.add(texts)
            self.characters += characters
            self.compute_seconds += seconds

    @property
    def seconds_per_text(self) -> float:
        return self.compute_seconds / max(1.0, self.batch_sizes.sum)

    def to_text(self, *, queued: int, resident: int) -> str:
        """Returns all counts in the text format of Prometheus, with two numbers of this moment."""
        routes = [
            f'augenmerk_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self.requests.items())
        ]
        with self._lock:
            batches = list(self.batch_sizes.lines("augenmerk_batch_texts"))
            computed, characters = self.compute_seconds, self.characters
        seconds = self.seconds.lines("augenmerk_request_seconds")
        lines: list[str] = []
        for name, kind, about, values in (
            ("requests_total", "counter", "Requests by route and status.", routes),
            ("request_seconds", "histogram", "Time from a request to its answer.", seconds),
            ("batch_texts", "histogram", "Texts that were computed together.", batches),
            ("compute_seconds_total", "counter", "Time in which batches were computed.", computed),
            ("characters_total", "counter", "Characters of the texts that were computed.", characters),
            ("queued_texts", "gauge", "Texts that wait or are being computed.", queued),
            ("resident_bytes", "gauge", "Memory of the process.", resident),
        ):
            lines += [f"# HELP augenmerk_{name} {about}", f"# TYPE augenmerk_{name} {kind}"]
            lines += [f"augenmerk_{name} {values:.9g}"] if isinstance(values, int | float) else values
        return "\n".join(lines) + "\n"


class Work(NamedTuple):
    """What to do with texts or pairs, or with a function. Texts with equal work are computed together."""

    kind: str  # "translate", "score" or "call"
    names: tuple[str, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    heads: bool = False
    attention: bool = False


class _Job:
    """The texts or pairs of a request, which may be computed in several batches; or one function."""

    def __init__(self, work: Work, items: Sequence[Any], numbers: Sequence[int] = ()) -> None:
        self.work = work
        self.items = items
        self.numbers = numbers  # by which sentences are sampled
        self.future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.results: list[Any] = [None] * len(items)
        self.missing = len(items)
        # Indices of the items that no batch has taken yet. Those of similar length share a batch, because
        # they are done at about the same time.
        self.waiting = deque(sorted(range(len(items)), key=lambda index: _count_characters(items[index])))


_Batch = list[tuple[_Job, list[int]]]
"""Jobs with equal work, each with the indices of the items to compute."""


class Batcher:
    """Computes for many requests at once. Its methods are called in the event loop that it was started in."""

    def __init__(
        self, registry: ModelRegistry, limits: Limits, metrics: Metrics, threads: int | None = None
    ) -> None:
        """Computes with as many threads as there are cores, unless `threads` is given."""
        self.registry = registry
        self.limits = limits
        self.metrics = metrics
        self.queued = 0
        """How many texts wait or are being computed."""
        self._count = threads or count_threads()
        self._threads: list[threading.Thread] = []
        self._waiting: deque[_Job] = deque()
        self._condition = threading.Condition()
        self._in_function = False
        self._gathering = False
        self._arrived = 0
        self._closing = False
        self._loop: asyncio.AbstractEventLoop

    def start(self) -> None:
        """Starts the threads; results arrive in the running event loop."""
        self._loop = asyncio.get_running_loop()
        for number in range(self._count):
            thread = threading.Thread(target=self._compute_all, name=f"compute-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    async def close(self) -> None:
        """Ends the threads when all that waits was computed; does not wait forever for a function."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        for thread in self._threads:
            await asyncio.to_thread(thread.join, CLOSE_SECONDS)

    async def translate(
        self,
        names: Names,
        texts: Sequence[str],
        *,
        settings: Mapping[str, Any] | None = None,
        heads: bool = False,
        attention: bool = False,
        split_sentences: bool = True,
    ) -> list[Translation]:
        """Translates texts together with other texts that wait.

        Each text is split into sentences, as `Translator.translate` does; with `split_sentences` false it
        is one. `settings` are changes of `SearchConfig`. With `attention`, the weights over words are
        computed already in the thread. Raises ServiceError for too much or too late, and AugenmerkError for
        what cannot be done.
        """
        work = Work("translate", to_names(names), tuple(sorted((settings or {}).items())), heads, attention)
        language = None
        if split_sentences:
            translator = self.registry.find_loaded(work.names)
            if translator is None:
                translator = await asyncio.to_thread(self.registry.get, work.names)
            language = translator.language
        split = split_into_texts(texts, language, split=split_sentences)
        sentences = [sentence for text in split for sentence in text.sentences]
        if len(sentences) > max(self.limits.texts, len(texts)):
            raise ServiceError(
                413, f"The texts have {len(sentences):,} sentences; the limit is {self.limits.texts:,}."
            )
        numbers = [number for index, text in enumerate(split) for number in text.numbers(index)]
        found = iter(await self._submit(_Job(work, sentences, numbers)))
        return [text.join([next(found) for _ in text.sentences]) for text in split]

    async def score(
        self,
        names: Names,
        pairs: Sequence[tuple[str, str]],
        *,
        heads: bool = False,
        attention: bool = False,
    ) -> list[Translation]:
        """Scores given translations, as `translate` translates."""
        return await self._submit(_Job(Work("score", to_names(names), (), heads, attention), pairs))

    async def compute(self, function: Callable[[], T]) -> T:
        """Calls a function in a computing thread, when it is its turn; never two at the same time."""
        [result] = await self._submit(_Job(Work("call"), (function,)))
        return result  # type: ignore[no-any-return]

    async def _submit(self, job: _Job) -> list[Any]:
        """Waits for the results of a job. If the waiting is cancelled, what has not begun is never done."""
        if not job.items:
            return []
        with self._condition:
            if self.queued + len(job.items) > self.limits.queue:
                self._drop_abandoned()
            if self.queued and self.queued + len(job.items) > self.limits.queue:
                raise Overloaded(
                    f"{self.queued:,} texts are waiting already; the limit is {self.limits.queue:,}: "
                    f"try again later.",
                    self.queued * self.metrics.seconds_per_text / self._count,
                )
            self.queued += len(job.items)
            self._waiting.append(job)
            self._arrived += 1
            if not self._gathering:
                self._gathering = True
                self._loop.call_soon(self._gather_more, self._arrived)
        try:
            async with asyncio.timeout(self.limits.deadline):
                return await job.future
        except TimeoutError:
            raise ServiceError(
                504,
                f"There was no answer within {self.limits.deadline:g} seconds: ask for less at once, "
                f"or try again later.",
            ) from None

    def _gather_more(self, arrived: int) -> None:
        """Lets the threads begin when a round of the event loop has brought nothing new, or enough."""
        with self._condition:
            waiting = sum(len(job.waiting) for job in self._waiting)
            if self._arrived != arrived and waiting < self._share():
                self._loop.call_soon(self._gather_more, self._arrived)
            else:
                self._gathering = False
                self._condition.notify()

    def _share(self) -> int:
        """Returns how many texts one thread takes at most, so that the others have as many."""
        return max(MIN_SHARED_TEXTS, -(-self.queued // self._count))

    def _drop_abandoned(self) -> None:
        """Removes jobs that nobody waits for any more; the lock is held."""
        self.queued -= sum(len(job.waiting) for job in self._waiting if job.future.done())
        self._waiting = deque(job for job in self._waiting if not job.future.done())

    # What follows runs in the computing threads.

    def _compute_all(self) -> None:
        # All the while, because the threads of the BLAS would wake up between batches.
        with one_thread_per_product():
            while (batch := self._take()) is not None:
                start = time.perf_counter()
                results: list[Any] = []
                error: Exception | None = None
                try:
                    results = self._compute(batch)
                except BaseException as caught:  # also a panic of a library in Rust
                    error = caught if isinstance(caught, Exception) else RuntimeError(type(caught).__name__)
                self._count_batch(batch, time.perf_counter() - start)
                self._loop.call_soon_threadsafe(self._answer, batch, results, error)

    def _count_batch(self, batch: _Batch, seconds: float) -> None:
        if batch[0][0].work.kind == "call":
            with self._condition:
                self._in_function = False
                self._condition.notify()
            return
        items = [job.items[index] for job, indices in batch for index in indices]
        self.metrics.count_batch(len(items), sum(map(_count_characters, items)), seconds)

    def _take(self) -> _Batch | None:
        """Waits for work and returns what is computed next; None at the end."""
        with self._condition:
            while True:
                self._drop_abandoned()
                possible = () if self._gathering else self._waiting
                works = (job.work for job in possible if job.work.kind != "call" or not self._in_function)
                work = next(works, None)
                if work is not None:
                    break
                if self._closing and not self._waiting:
                    self._condition.notify()
                    return None
                self._condition.wait()
            batch = self._gather(work)
            self._in_function = self._in_function or work.kind == "call"
            if self._waiting:
                self._condition.notify()
            return batch

    def _gather(self, work: Work) -> _Batch:
        """Takes jobs with this work, the oldest first, as far as the budget of tokens goes; the lock is held.

        If much waits, a part is left for the other threads. A job that has more items goes to the end of the
        queue, so that nobody waits for a long list.
        """
        budget, left = self.limits.batch_tokens, 1 if work.kind == "call" else self._share()
        width, longest = self._estimate_size(work)
        batch: _Batch = []
        others: list[_Job] = []
        unfinished: list[_Job] = []
        while self._waiting and budget > 0 and left > 0:
            job = self._waiting.popleft()
            if job.work != work:
                others.append(job)
                continue
            indices = []
            while job.waiting and budget > 0 and left > 0:
                index = job.waiting.popleft()
                tokens = max(longest, _count_characters(job.items[index]) // CHARACTERS_PER_TOKEN)
                budget -= width * (tokens + 2)
                left -= 1
                indices.append(index)
            batch.append((job, indices))
            if job.waiting:
                unfinished.append(job)
        self._waiting.extendleft(reversed(others))
        self._waiting.extend(unfinished)
        return batch

    def _estimate_size(self, work: Work) -> tuple[int, int]:
        """Returns how many hypotheses a text has, and how many tokens they may have however short it is."""
        if work.kind != "translate":
            return len(work.names), 0
        translator = self.registry.find_loaded(work.names)
        own = translator and translator.config.search
        settings = own or SearchConfig(beam=self.limits.beam)
        try:
            settings = settings.replaced(dict(work.settings), "The request")
        except AugenmerkError:  # reported when it is computed
            return len(work.names) * self.limits.beam, 0
        width = max(1 if settings.sample else settings.beam, settings.hypotheses)
        return len(work.names) * width, 0 if settings.max_ratio or own is None else settings.max_length

    def _compute(self, batch: _Batch) -> list[Any]:
        """Returns the results of all items of a batch, in their order."""
        work = batch[0][0].work
        items = [job.items[index] for job, indices in batch for index in indices]
        if work.kind == "call":
            return [function() for function in items]
        translator = self.registry.get(work.names)
        if work.kind == "score":
            translations = translator.score_all(items, heads=work.heads)
        else:
            # Samples depend on the number of a text in its own request.
            numbers = [job.numbers[index] for job, indices in batch for index in indices]
            translations = translator.translate(
                items, heads=work.heads, numbers=numbers, split_sentences=False, **dict(work.settings)
            )
        if work.attention:
            for translation in translations:
                for each in (translation, *translation.alternatives):
                    _ = each.attention, each.word_log_probabilities, each.attentions  # they are kept
        return translations

    # This runs in the event loop.

    def _answer(self, batch: _Batch, results: list[Any], error: Exception | None) -> None:
        """Gives the results to those who still wait for them."""
        with self._condition:
            self.queued -= sum(len(indices) for _, indices in batch)
        following = iter(results)
        for job, indices in batch:
            if error is None:
                for index in indices:
                    job.results[index] = next(following)
                job.missing -= len(indices)
            if job.future.done():  # the client has disconnected, or its time is over
                continue
            if error is not None:
                job.future.set_exception(error)
            elif job.missing == 0:
                job.future.set_result(job.results)


def _count_characters(item: Any) -> int:
    """Returns the length of a text or of both texts of a pair; 0 for a function."""
    return len(item) if isinstance(item, str) else 0 if callable(item) else sum(map(len, item))
