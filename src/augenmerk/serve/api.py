"""The API: requests, responses and the table of its routes, from which the app and the description are made.

A translation has the keys of `augenmerk translate --json`, a scored pair those of `augenmerk score --json`.
"""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from augenmerk.base.config import DEFAULT_SAMPLES, SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings import list_settings
from augenmerk.evaluation.evaluator import ScoreData, describe_score
from augenmerk.serve.endpoint import (
    ERRORS_OF_WORK,
    Endpoint,
    RequestBody,
    ResponseModel,
    Service,
    check_names,
    check_search,
    check_texts,
    describe_api,
    make_response,
    show_page,
    to_list,
)
from augenmerk.serve.guard import STOPPING
from augenmerk.serve.libretranslate import ENDPOINTS as LIBRETRANSLATE
from augenmerk.serve.limits import Limits, ServiceError
from augenmerk.serve.registry import Names
from augenmerk.translation.data import AttentionData, PairData, TranslationData, WordsData

Texts = str | list[str]
ModelNames = Annotated[
    Names | None, Field(description="A model of /v1/models, or several as an ensemble. Default: the first.")
]
WithAttention = Annotated[bool, Field(description="Add words, their log-probabilities and attention.")]
WithHeads = Annotated[bool, Field(description="Also add the attention of each head; one model only.")]


class _TranslateRequest(RequestBody):
    text: Texts = Field(description="A text, or a list of texts.")
    split_sentences: bool = Field(
        default=True,
        description="Translate the sentences of each text one by one; false: each is one sentence.",
    )
    model: ModelNames = None
    attention: WithAttention = False
    subwords: bool = Field(default=False, description="Also add subwords and attention over them.")
    heads: WithHeads = False

    def settings(self) -> dict[str, Any]:
        """Returns the changes of `SearchConfig` that the request asks for."""
        return self.model_dump(include=set(SearchConfig.model_fields), exclude_none=True)

    def check(self, limits: Limits) -> None:
        """Raises an error with one sentence if the request is beyond the limits."""
        check_texts(to_list(self.text), limits)
        check_names(self.model, limits)
        settings = self.settings()
        check_search(settings, limits)
        draws_default = settings.get("mbr") and settings.get("sample") and "candidates" not in settings
        if draws_default and limits.n_best < DEFAULT_SAMPLES:
            raise AugenmerkError(
                f"Without candidates, {DEFAULT_SAMPLES} would be drawn; the limit is {limits.n_best}: "
                f"set candidates."
            )


def _make_search_fields() -> dict[str, Any]:
    """Returns the fields of `SearchConfig`, all of them optional."""
    meanings = {setting.name: setting.meaning for setting in list_settings(SearchConfig())}
    return {
        name: Annotated[field.annotation | None, *field.metadata, Field(None, description=meanings[name])]
        for name, field in SearchConfig.model_fields.items()
        if field.annotation is not None
    }


TranslateRequest = create_model(
    "TranslateRequest",
    __base__=_TranslateRequest,
    __doc__="Texts to translate, and how. The run's own settings are used where nothing is given.",
    **_make_search_fields(),
)


class ScoreRequest(RequestBody):
    """Sentences and their translations, to be scored."""

    source: Texts = Field(description="A sentence, or a list of sentences.")
    target: Texts = Field(description="Its translation, or a list of as many translations.")
    model: ModelNames = None
    attention: WithAttention = False
    heads: WithHeads = False

    def check(self, limits: Limits) -> list[tuple[str, str]]:
        """Returns the pairs; raises an error with one sentence if the request is beyond the limits."""
        sources, targets = to_list(self.source), to_list(self.target)
        if len(sources) != len(targets):
            raise AugenmerkError(
                f"There are {len(sources):,} sources and {len(targets):,} targets: give as many of both."
            )
        check_texts(sources, limits)
        check_texts(targets, limits)
        check_names(self.model, limits)
        return list(zip(sources, targets, strict=True))


class ReloadRequest(RequestBody):
    """Which run to reload."""

    model: str | None = Field(default=None, description="The name of a run. Default: all of them.")


TranslationResponse = make_response(
    TranslationData, WordsData, AttentionData, PairData, name="TranslationResponse"
)
ScoredPair = make_response(ScoreData, WordsData, PairData, name="ScoredPair")
SCORES = tuple(key for key in ScoreData.__annotations__ if key not in PairData.__annotations__)


class TranslateResponse(ResponseModel):
    """The translations of all texts, in their order."""

    model: Names
    translations: list[TranslationResponse]  # type: ignore[valid-type]


class ScoreResponse(ResponseModel):
    """The scores of all pairs, in their order."""

    model: Names
    scores: list[ScoredPair]  # type: ignore[valid-type]


class ModelResponse(ResponseModel):
    """A model that requests may name."""

    name: str
    default: bool
    source_language: str | None = None
    target_language: str | None = None
    architecture: str | None = None
    attention: str | None = None
    beam: int | None = Field(default=None, description="The beam of requests that set none.")
    loaded: bool
    error: str | None = Field(default=None, description="Why the run cannot be read.")


class ModelsResponse(ResponseModel):
    """All models."""

    models: list[ModelResponse]


class ReloadResponse(ResponseModel):
    """The names of the reloaded runs."""

    reloaded: list[str]


async def translate(request: Request, body: Any) -> dict[str, Any]:
    """Translates one text or a list of texts."""
    service: Service = request.app.state.service
    body.check(service.limits)
    model = service.registry.choose(body.model)
    keys = {"attention": body.attention or body.subwords or body.heads, "subwords": body.subwords}
    translations = await service.batcher.translate(
        model,
        to_list(body.text),
        settings=body.settings(),
        heads=body.heads,
        attention=keys["attention"],
        split_sentences=body.split_sentences,
    )
    return {"model": model, "translations": [each.to_dict(**keys) for each in translations]}


async def score(request: Request, body: ScoreRequest) -> dict[str, Any]:
    """Scores given translations: log-probability, loss and perplexity."""
    service: Service = request.app.state.service
    pairs = body.check(service.limits)
    model = service.registry.choose(body.model)
    attention = body.attention or body.heads
    scored = await service.batcher.score(model, pairs, heads=body.heads, attention=attention)
    described: list[dict[str, Any]] = [{**describe_score(pair, attention=attention)} for pair in scored]
    # Scores come first here.
    return {"model": model, "scores": [{key: each[key] for key in SCORES} | each for each in described]}


def list_models(request: Request) -> dict[str, Any]:
    """Lists the models."""
    return {"models": request.app.state.service.registry.describe()}


async def reload(request: Request, body: ReloadRequest) -> dict[str, Any]:
    """Reloads runs that were trained further; only on the machine of the server."""
    service: Service = request.app.state.service
    return {"reloaded": await service.batcher.compute(lambda: service.registry.reload(body.model))}


async def live(_request: Request) -> dict[str, Any]:
    """Answers while the process runs."""
    return {"status": "alive"}


async def ready(request: Request) -> dict[str, Any]:
    """Answers 200 while requests are taken, 503 while the server stops."""
    if request.app.state.service.draining:
        raise ServiceError(503, STOPPING)
    return {"status": "ready"}


async def metrics(request: Request) -> Response:
    """Counts in the text format of Prometheus."""
    service: Service = request.app.state.service
    text = service.metrics.to_text(queued=service.batcher.queued, resident=_count_resident_bytes())
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _count_resident_bytes() -> int:
    """Returns the memory of this process, or 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


async def show_description(_request: Request) -> dict[str, Any]:
    """This description."""
    return describe_api(ENDPOINTS)


def show_docs(request: Request) -> Response:
    return show_page(request, ENDPOINTS)


ENDPOINTS = (
    Endpoint(
        *("POST", "/v1/translate", translate, TranslateRequest, TranslateResponse, ERRORS_OF_WORK),
        {"text": "Ein Hund schläft.", "beam": 5, "n_best": 2, "attention": True},
    ),
    Endpoint(
        *("POST", "/v1/score", score, ScoreRequest, ScoreResponse, ERRORS_OF_WORK),
        {"source": "Ein Hund schläft.", "target": "A dog sleeps."},
    ),
    Endpoint("GET", "/v1/models", list_models, response=ModelsResponse, errors=(401, 403)),
    Endpoint(
        *("POST", "/v1/reload", reload, ReloadRequest, ReloadResponse, (400, 401, 403, 404), {}), local=True
    ),
    *LIBRETRANSLATE,
    Endpoint("GET", "/health/live", live),
    Endpoint("GET", "/health/ready", ready),
    Endpoint("GET", "/metrics", metrics),
    Endpoint("GET", "/openapi.json", show_description),
    Endpoint("GET", "/docs", show_docs),
)
"""All routes of the API."""
