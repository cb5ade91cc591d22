"""Patterns of attention in a split: each sentence a point, measured once and kept for the next who asks."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from pydantic import ConfigDict
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from augenmerk.analysis.measures import AttentionMeasures
from augenmerk.analysis.patterns import (
    KIND_COLOURS,
    PatternMatch,
    check_head,
    count_heads,
    find_patterns,
    summarise_patterns,
)
from augenmerk.analysis.wording import PATTERN_TEXTS, describe_pattern
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.data import SentencePair, open_data_or_bilderbuch
from augenmerk.serve.endpoint import Endpoint, RequestBody, Service, to_json
from augenmerk.serve.limits import Overloaded, ServiceError
from augenmerk.serve.workbench import render_page
from augenmerk.translation import Translation, Translator

COUNTS = (200, 500, 1000, 2000, 5000)
"""Numbers of sentences of a split that can be asked for."""
CHUNK = 50
"""Sentences that are computed together: others wait no longer, and the picture grows."""
MAX_SETS = 6
"""Most measured splits that are kept in memory."""
MAX_ACTIVE = 8
"""Most splits that are measured at the same time."""
MAX_ATTEMPTS = 60
"""How often a chunk is submitted if too much is waiting, each time after a second."""
MEASURES = tuple(field.name for field in fields(AttentionMeasures))
DIGITS = 4


class PatternsRequest(RequestBody):
    """A split of the data of a run to be measured."""

    model_config = ConfigDict(frozen=True)

    run: str
    split: str
    of: Literal["translations", "references"] = "translations"
    count: int = 1000
    layer: int | None = None
    """The layer of a Transformer whose attention is measured; None for the mean over all."""
    head: int | None = None

    @property
    def with_heads(self) -> bool:
        return self.layer is not None or self.head is not None


class SentenceRequest(PatternsRequest):
    """One of the measured sentences."""

    index: int


class PatternSet:
    """The sentences of a split as far as they are measured. Who reads them has the next ones measured."""

    def __init__(self, asked: PatternsRequest, translator: Translator, service: Service) -> None:
        self.translator = translator
        self.active = 0
        """The number of clients that are being sent what is measured."""
        self.error = ""
        self._asked = asked
        self._service = service
        self._lock = asyncio.Lock()
        self._data: tuple[str, str] | None = None
        """The name of the data and its source language, when it is read."""
        self._pairs: list[SentencePair] = []
        self._matches: dict[int, PatternMatch] = {}
        """By the index of their sentence in the split; those without attention to measure are left out."""
        self._done = 0
        self._summary: dict[str, Any] | None = None

    async def describe_sentence(self, index: int) -> dict[str, Any]:
        """Returns all about a sentence, measured alone if it is not in memory; raises ServiceError."""
        match = self._matches.get(index) or await self._measure_alone(index)
        described, translation = match.to_dict(), match.translation
        rows = (match.head or translation).attention.tolist()
        return {
            **_describe_point(index, match),
            **{key: described[key] for key in ("verdict", "moved", "reference", "tags")},
            "verdicts": {language: describe_pattern(match.pattern, language) for language in PATTERN_TEXTS},
            "source_words": translation.source_words,
            "target_words": translation.target_words,
            "attention": [[round(weight, DIGITS) for weight in row] for row in rows],
        }

    async def follow(self) -> AsyncIterator[bytes]:
        """Yields lines of JSON: what is measured, as it is, and at last the summary or what went wrong."""
        sent = 0
        self.active += 1
        try:
            while True:
                async with self._lock:
                    if sent == self._done and not self.error and self._summary is None:
                        await self._measure_more()
                start, sent = sent, self._done
                if start == 0 and self._data is not None:
                    yield _line({"data": self._data[0], "total": len(self._pairs), "measures": MEASURES})
                if sent > start:
                    found = ((index, self._matches.get(index)) for index in range(start, sent))
                    points = [_describe_point(index, match) for index, match in found if match]
                    yield _line({"sentences": points, "done": sent})
                if self.error or self._summary is not None:
                    yield _line({"error": self.error} if self.error else {"summary": self._summary})
                    return
        finally:
            self.active -= 1

    async def _measure_more(self) -> None:
        """Measures the next sentences, or the summary after the last ones; keeps what goes wrong."""
        try:
            await self._read()
            if self._done < len(self._pairs):
                await self._measure_chunk()
            else:
                of_references, matches = self._asked.of == "references", list(self._matches.values())
                self._summary = await self._service.batcher.compute(
                    lambda: summarise_patterns(self._pairs, matches, of_references=of_references)
                )
        except AugenmerkError as error:
            self.error = str(error)
        except Exception as error:  # the response has begun, so that nobody else would report it
            self.error = f"This could not be computed ({type(error).__name__})."

    async def _read(self) -> None:
        """Reads the pairs, unless they are there; by whoever holds the lock."""
        if self._data is None:
            self._data = await asyncio.to_thread(self._read_pairs)

    def _read_pairs(self) -> tuple[str, str]:
        bitext, split = open_data_or_bilderbuch(self.translator.runs[0].config.data, self._asked.split)
        self._pairs = list(islice(bitext[split], self._asked.count))
        if not self._pairs:
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{self._asked.split}'.")
        return bitext.name, bitext.source_language

    async def _measure_chunk(self) -> None:
        start = self._done
        pairs = self._pairs[start : start + CHUNK]
        for match in await self._match(pairs):
            # Heads and self-attention would fill the memory, and nothing needs them any more.
            rest = replace(match.translation, heads=(), self_attention={})
            self._matches[start + match.index] = replace(match, translation=rest)
        self._done = start + len(pairs)

    async def _measure_alone(self, index: int) -> PatternMatch:
        """Measures a sentence that is not in memory: after a restart, or when others asked for much."""
        async with self._lock:
            await self._read()
        found = await self._match(self._pairs[index : index + 1]) if index >= 0 else []
        if not found:
            raise ServiceError(404, f"There is no sentence {index} to measure in '{self._asked.split}'.")
        return replace(found[0], index=index)

    async def _match(self, pairs: list[SentencePair]) -> list[PatternMatch]:
        """Returns the patterns of some pairs, with their places among these."""
        assert self._data is not None
        asked, language = self._asked, self._data[1]
        translations = await self._translate(pairs)
        return await self._service.batcher.compute(
            lambda: find_patterns(pairs, translations, language, asked.layer, asked.head)
        )

    async def _translate(self, pairs: list[SentencePair]) -> list[Translation]:
        """Translates a chunk, or reads its references; waits if too much is waiting already."""
        asked, batcher = self._asked, self._service.batcher
        for _ in range(MAX_ATTEMPTS):
            with contextlib.suppress(Overloaded):
                if asked.of == "references":
                    both = [(pair.source, pair.target) for pair in pairs]
                    return await batcher.score(asked.run, both, heads=asked.with_heads, attention=True)
                texts = [pair.source for pair in pairs]
                return await batcher.translate(
                    asked.run, texts, heads=asked.with_heads, attention=True, split_sentences=False
                )
            await asyncio.sleep(1.0)
        raise Overloaded("Others have kept this machine busy for a minute: try again later.", 10.0)


def _describe_point(index: int, match: PatternMatch) -> dict[str, Any]:
    """Returns what the picture and the lists show of a sentence."""
    pattern = match.pattern
    return {
        "index": index,
        "kind": pattern.kind,
        "strength": round(pattern.strength, DIGITS),
        "source": match.translation.source,
        "translation": match.translation.text,
        "words": len(pattern.attention.source),
        "measures": [round(getattr(pattern.measures, name), DIGITS) for name in MEASURES],
    }


def _line(value: Any) -> bytes:
    return to_json(value) + b"\n"


class PatternSets:
    """The splits that were asked for last."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sets: OrderedDict[PatternsRequest, PatternSet] = OrderedDict()

    async def describe_sentence(self, asked: SentenceRequest) -> dict[str, Any]:
        """Returns all about a sentence; raises ServiceError."""
        split = PatternsRequest(**asked.model_dump(exclude={"index"}))
        # What was measured stays as it was, even if the run was trained further meanwhile.
        found = self._sets.get(split) or await self.get(split)
        return await found.describe_sentence(asked.index)

    async def get(self, asked: PatternsRequest) -> PatternSet:
        """Returns a split, which is measured as far as it was read before."""
        if asked.count not in COUNTS:
            raise AugenmerkError(f"The number of sentences is one of {', '.join(map(str, COUNTS))}.")
        translator = await self._load(asked.run)
        check_head(translator.config.model, asked.layer, asked.head)
        found = self._sets.get(asked)
        if found is None or found.translator is not translator or found.error:
            active = sum(each.active > 0 for each in self._sets.values())
            if active >= MAX_ACTIVE:
                raise Overloaded(f"{active} splits are being measured already: try again later.", 5.0)
            found = self._sets[asked] = PatternSet(asked, translator, self._service)
        self._sets.move_to_end(asked)
        while len(self._sets) > MAX_SETS:
            self._sets.popitem(last=False)
        return found

    async def _load(self, run: str) -> Translator:
        registry = self._service.registry
        try:
            registry.path(run)
        except ServiceError as error:  # which names an address that only programs know
            raise ServiceError(error.status, f"There is no run '{shorten(run)}' here.") from None
        return await self._service.batcher.compute(lambda: registry.get(run, fresh=True))

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


def make_endpoints(service: Service) -> list[Endpoint]:
    """Returns the endpoints of the view."""
    sets = PatternSets(service)

    def list_runs(_request: Request) -> dict[str, Any]:
        return {"runs": list(service.registry.paths()), "counts": COUNTS}

    async def describe_splits(request: Request) -> dict[str, Any]:
        return await sets.describe(request.query_params.get("run", ""))

    async def measure(_request: Request, body: PatternsRequest) -> Response:
        return StreamingResponse((await sets.get(body)).follow(), media_type="application/x-ndjson")

    async def describe_sentence(_request: Request, body: SentenceRequest) -> dict[str, Any]:
        return await sets.describe_sentence(body)

    prefix = "/workbench/patterns"
    return [
        Endpoint("GET", "/patterns", partial(render_page, view="patterns", data={"kinds": KIND_COLOURS})),
        Endpoint("GET", f"{prefix}/runs", list_runs),
        Endpoint("GET", f"{prefix}/splits", describe_splits),
        Endpoint("POST", f"{prefix}/measure", measure, PatternsRequest),
        Endpoint("POST", f"{prefix}/sentence", describe_sentence, SentenceRequest),
    ]
