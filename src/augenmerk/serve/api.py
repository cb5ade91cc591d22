"""The API: its routes in one table, from which the app and the description are made."""

import asyncio
import os
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from augenmerk.serve import openapi
from augenmerk.serve.endpoint import ERRORS_OF_WORK, Endpoint
from augenmerk.serve.errors import sentence_response
from augenmerk.serve.guard import STOPPING
from augenmerk.serve.libretranslate import ENDPOINTS as LIBRETRANSLATE
from augenmerk.serve.schemas import (
    ModelsResponse,
    ReloadRequest,
    ReloadResponse,
    ScoreRequest,
    ScoreResponse,
    TranslateRequest,
    TranslateResponse,
    describe_score,
)
from augenmerk.serve.service import Service


async def translate(request: Request, body: Any) -> dict[str, Any]:
    """Translates one text or a list of texts."""
    service: Service = request.app.state.service
    body.check(service.limits)
    model = service.choose_model(body.model)
    translations = await service.batcher.translate(
        model,
        body.texts,
        settings=body.settings(),
        heads=body.heads,
        attention=body.with_attention,
        split_sentences=body.split_sentences,
    )
    keys = {"attention": body.with_attention, "subwords": body.subwords}
    return {"model": model, "translations": [each.to_dict(**keys) for each in translations]}


async def score(request: Request, body: ScoreRequest) -> dict[str, Any]:
    """Scores given translations: log-probability, loss and perplexity."""
    service: Service = request.app.state.service
    pairs = body.check(service.limits)
    model = service.choose_model(body.model)
    attention = body.attention or body.heads
    scored = await service.batcher.score(model, pairs, heads=body.heads, attention=attention)
    return {"model": model, "scores": [describe_score(each, attention=attention) for each in scored]}


async def list_models(request: Request) -> dict[str, Any]:
    """Lists the models."""
    return {"models": await asyncio.to_thread(request.app.state.service.registry.describe)}


async def reload(request: Request, body: ReloadRequest) -> dict[str, Any]:
    """Reloads runs that were trained further; only on the machine of the server."""
    service: Service = request.app.state.service
    return {"reloaded": await service.batcher.compute(lambda: service.registry.reload(body.model))}


async def live(_request: Request) -> dict[str, Any]:
    """Answers while the process runs."""
    return {"status": "alive"}


async def ready(request: Request) -> Any:
    """Answers 200 while requests are taken, 503 while the server stops."""
    return sentence_response(503, STOPPING) if request.app.state.service.draining else {"status": "ready"}


async def metrics(request: Request) -> Response:
    """Counts in the text format of Prometheus."""
    service: Service = request.app.state.service
    gauges = {
        "queued_texts": ("Texts that wait or are being computed.", float(service.batcher.queued)),
        "resident_bytes": ("Memory of the process.", float(_count_resident_bytes())),
    }
    text = service.metrics.to_text(gauges)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _count_resident_bytes() -> int:
    """Returns the memory of this process, or 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


async def show_description(_request: Request) -> dict[str, Any]:
    """This description."""
    return openapi.describe(ENDPOINTS)


async def show_docs(_request: Request) -> Response:
    return openapi.show_page(ENDPOINTS)


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
