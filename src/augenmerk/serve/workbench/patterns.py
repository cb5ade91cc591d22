"""Patterns of attention in a split: each sentence a point, measured once and kept for whoever asks next."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from augenmerk.analysis.patterns import (
    AttentionMeasures,
    PatternMatch,
    WordAttention,
    check_head,
    count_heads,
    find_patterns,
    summarise_patterns,
)
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.data import SentencePair, open_data_or_bilderbuch
from augenmerk.serve import schemas
from augenmerk.serve.answers import JsonResponse, to_json
from augenmerk.serve.errors import Overloaded, UnknownModel
from augenmerk.serve.guard import read_body
from augenmerk.serve.workbench import Workbench, render_page

if TYPE_CHECKING:
    from augenmerk.data import Bitext
    from augenmerk.serve.app import Service
    from augenmerk.translation import Translator

COUNTS = (200, 500, 1000, 2000, 5000)
"""How many sentences of a split can be asked for."""
CHUNK = 50
"""So many sentences are computed together: others wait no longer, and the picture grows."""
MAX_SETS = 6
"""How many measured splits are kept in memory."""
MAX_WAITING = 8
"""How many splits wait to be measured, at most."""
PATIENCE = 60
"""How often a chunk is asked for again if too much is waiting, each time after a second."""
GRACE = 10.0
"""Seconds for which a split that is being measured waits for somebody who wants it, as after a reload."""
MEASURES = tuple(field.name for field in fields(AttentionMeasures))
DIGITS = 4


@dataclass(frozen=True)
class Asked:
    """What patterns are asked for."""

    run: str
    split: str
    of_references: bool
    count: int
    layer: int | None = None
    """The layer of a Transformer whose attention is measured; None for the mean over all."""
    head: int | None = None

    @property
    def with_heads(self) -> bool:
        return self.layer is not None or self.head is not None


@dataclass(frozen=True)
class Sentence:
    """A measured sentence, in little room."""

    point: dict[str, Any]
    """What the picture and the lists show."""
    about: dict[str, Any]
    """What is shown besides when it is chosen."""
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    attention: NDArray[np.float16]

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.point,
            **self.about,
            "source_words": list(self.source_words),
            "target_words": list(self.target_words),
            "attention": [
                [round(weight, DIGITS) for weight in row] for row in self.attention.astype(float).tolist()
            ],
        }


@dataclass(eq=False)
class PatternSet:
    """The sentences of a split as far as they are measured."""

    asked: Asked
    translator: "Translator"
    """What it is measured with: one that was read anew measures anew."""
    about: dict[str, Any] = field(default_factory=dict)
    sentences: dict[int, Sentence] = field(default_factory=dict)
    """By their index in the split."""
    done: int = 0
    summary: dict[str, Any] | None = None
    error: str = ""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    readers: int = 0
    """How many clients are being sent what is measured."""
    task: asyncio.Task[None] | None = None

    @property
    def finished(self) -> bool:
        return self.summary is not None or bool(self.error)


class PatternSets:
    """Measures splits, one after another, and keeps the latest."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._sets: OrderedDict[Asked, PatternSet] = OrderedDict()
        self._turn = asyncio.Semaphore(1)

    def find(self, asked: Asked) -> PatternSet | None:
        return self._sets.get(asked)

    async def get(self, asked: Asked) -> PatternSet:
        """Returns the measured split, or one that is being measured from now on."""
        translator = await self._load(asked.run)
        check_head(translator.config.model, asked.layer, asked.head)
        known = self._sets.get(asked)
        if known is not None and known.translator is translator and not known.error:
            self._sets.move_to_end(asked)
            return known
        waiting = sum(not each.finished for each in self._sets.values())
        if waiting >= MAX_WAITING:
            raise Overloaded(f"{waiting} splits are being measured already: try again later.", 5.0)
        self._sets[asked] = found = PatternSet(asked, translator)
        self._sets.move_to_end(asked)
        for old in [each for each in self._sets.values() if each.finished][
            : max(0, len(self._sets) - MAX_SETS)
        ]:
            del self._sets[old.asked]
        found.task = asyncio.create_task(self._measure(found))
        return found

    async def _load(self, run: str) -> "Translator":
        library = self._service.library
        if run not in library.names and run not in library.found():
            raise UnknownModel(f"There is no run '{shorten(run)}' here.")

        def load() -> "Translator":
            library.forget_if_trained_further([run])
            return library.get(run)

        return await self._service.batcher.compute(load)

    async def describe(self, run: str) -> dict[str, Any]:
        """Returns the splits of a run's data, the data that is missing, and how many layers and heads."""
        config = (await self._load(run)).config
        bitext, split = await asyncio.to_thread(open_data_or_bilderbuch, config.data, None)
        layers, heads = count_heads(config.model)
        return {
            "data": bitext.name,
            "splits": list(bitext.splits),
            "split": split,
            "instead_of": config.data.bitext if bitext.name == "bilderbuch" != config.data.bitext else "",
            "layers": layers,
            "heads": heads,
        }

    async def _measure(self, found: PatternSet) -> None:
        """Measures the sentences chunk by chunk, between which others may compute."""
        try:
            async with self._turn:
                await self._measure_all(found)
        except _NobodyWaits:
            if self._sets.get(found.asked) is found:
                del self._sets[found.asked]
            return
        except AugenmerkError as error:
            found.error = str(error)
        except Exception as error:  # nobody else would hear of it
            found.error = f"This could not be computed ({type(error).__name__})."
        async with found.changed:
            found.changed.notify_all()

    async def _measure_all(self, found: PatternSet) -> None:
        asked, batcher = found.asked, self._service.batcher
        data = found.translator.runs[0].config.data

        def read() -> tuple["Bitext", list[SentencePair]]:
            bitext, split = open_data_or_bilderbuch(data, asked.split)
            return bitext, list(islice(bitext[split], asked.count))

        bitext, pairs = await asyncio.to_thread(read)
        if not pairs:
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{asked.split}'.")
        found.about = {"data": bitext.name, "total": len(pairs)}
        matches: list[PatternMatch] = []
        for start in range(0, len(pairs), CHUNK):
            await _wait_for_reader(found)
            some = pairs[start : start + CHUNK]
            translations = await self._translate(asked, some)

            def measure(
                some: list[SentencePair] = some, translations: Any = translations
            ) -> list[PatternMatch]:
                return find_patterns(some, translations, bitext.source_language, asked.layer, asked.head)

            for match in await batcher.compute(measure):
                found.sentences[start + match.index] = _pack(start + match.index, match)
                # Heads and self-attention would fill the memory, and the summary does not need them.
                rest = replace(match.translation, heads=(), self_attention={})
                matches.append(replace(match, translation=rest))
            found.done = start + len(some)
            async with found.changed:
                found.changed.notify_all()
        found.summary = await batcher.compute(
            lambda: summarise_patterns(pairs, matches, of_references=asked.of_references)
        )

    async def _translate(self, asked: Asked, pairs: list[SentencePair]) -> Any:
        """Translates a chunk, or reads its references; waits if too much is waiting already."""
        batcher = self._service.batcher
        for _ in range(PATIENCE):
            with contextlib.suppress(Overloaded):
                if asked.of_references:
                    both = [(pair.source, pair.target) for pair in pairs]
                    return await batcher.score(asked.run, both, heads=asked.with_heads, attention=True)
                texts = [pair.source for pair in pairs]
                return await batcher.translate(
                    asked.run, texts, heads=asked.with_heads, attention=True, split_sentences=False
                )
            await asyncio.sleep(1.0)
        raise Overloaded("Others have kept this machine busy for a minute: try again later.", 10.0)


def _pack(index: int, match: PatternMatch) -> Sentence:
    translation, pattern = match.translation, match.pattern
    described = match.to_dict()
    attention = WordAttention.from_translation(translation, match.head)
    return Sentence(
        point={
            "index": index,
            "kind": pattern.kind,
            "strength": round(pattern.strength, DIGITS),
            "source": translation.source,
            "translation": translation.text,
            "words": len(attention.source),
            "measures": [round(getattr(pattern.measures, name), DIGITS) for name in MEASURES],
        },
        about={key: described[key] for key in ("verdict", "moved", "reference", "tags")},
        source_words=translation.source_words,
        target_words=translation.target_words,
        attention=(match.head or translation).attention.astype(np.float16),
    )


class _NobodyWaits(Exception):  # noqa: N818 (nothing went wrong)
    """Raised when all who wanted a split have hung up."""


async def _wait_for_reader(found: PatternSet) -> None:
    """Raises _NobodyWaits if there is no client who reads, and none comes soon."""
    try:
        async with asyncio.timeout(GRACE), found.changed:
            await found.changed.wait_for(lambda: found.readers > 0)
    except TimeoutError:
        raise _NobodyWaits from None


async def _follow(found: PatternSet) -> AsyncIterator[bytes]:
    """Yields what `_follow_to_end` does, and counts who reads it."""
    found.readers += 1
    try:
        async with found.changed:
            found.changed.notify_all()
        async for line in _follow_to_end(found):
            yield line
    finally:
        found.readers -= 1


async def _follow_to_end(found: PatternSet) -> AsyncIterator[bytes]:
    """Yields lines of JSON: what is measured already, what is added, and at last the summary or why not."""
    sent = 0
    while True:
        async with found.changed:
            while not found.finished and found.done == sent:
                await found.changed.wait()
        begin, sent = sent, found.done
        if begin == 0 and found.about:
            yield _line({**found.about, "measures": MEASURES})
        if sent > begin:
            points = [
                found.sentences[index].point for index in range(begin, sent) if index in found.sentences
            ]
            yield _line({"sentences": points, "done": sent})
        if found.error:
            yield _line({"error": found.error})
            return
        if found.summary is not None and sent == found.done:
            yield _line({"summary": found.summary})
            return


def _line(value: Any) -> bytes:
    return to_json(value) + b"\n"


class PatternsRequest(schemas.Request):
    """A split of the data of a run to be measured."""

    run: str
    split: str
    of: Literal["translations", "references"] = "translations"
    count: int = 1000
    layer: int | None = None
    head: int | None = None

    def to_asked(self) -> Asked:
        if self.count not in COUNTS:
            raise AugenmerkError(f"The number of sentences is one of {', '.join(map(str, COUNTS))}.")
        return Asked(self.run, self.split, self.of == "references", self.count, self.layer, self.head)


class SentenceRequest(PatternsRequest):
    """One of the measured sentences."""

    index: int


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the page of the patterns and what it asks for."""
    service = workbench.service
    sets: list[PatternSets] = []

    def get_sets() -> PatternSets:
        if not sets:  # made when there is an event loop
            sets.append(PatternSets(service))
        return sets[0]

    async def show_page(request: Request) -> Response:
        return render_page(request, "patterns", "patterns.html", script="workbench/patterns.js")

    async def show_runs(_request: Request) -> Response:
        found = await asyncio.to_thread(service.library.found)
        return JsonResponse({"runs": list(dict.fromkeys([*service.library.names, *found])), "counts": COUNTS})

    async def show_splits(request: Request) -> Response:
        return JsonResponse(await get_sets().describe(request.query_params.get("run", "")))

    async def measure(request: Request) -> Response:
        found = await get_sets().get(
            PatternsRequest.parse(await read_body(request, service.limits)).to_asked()
        )
        return StreamingResponse(_follow(found), media_type="application/x-ndjson")

    async def show_sentence(request: Request) -> Response:
        asked = SentenceRequest.parse(await read_body(request, service.limits))
        found, number = get_sets().find(asked.to_asked()), asked.index
        if found is None or number not in found.sentences:
            raise UnknownModel("This sentence is not in memory any more: measure its split again.")
        return JsonResponse(found.sentences[number].to_dict())

    return [
        Route("/patterns", show_page),
        Route("/workbench/patterns/runs", show_runs),
        Route("/workbench/patterns/splits", show_splits),
        Route("/workbench/patterns/measure", measure, methods=["POST"]),
        Route("/workbench/patterns/sentence", show_sentence, methods=["POST"]),
    ]
