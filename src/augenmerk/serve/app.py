"""The routes of the service, and what they need."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from augenmerk.base.errors import AugenmerkError
from augenmerk.evaluation.scored import describe_score
from augenmerk.serve import libretranslate, openapi
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.batcher import Batcher
from augenmerk.serve.errors import answer_error, answer_sentence
from augenmerk.serve.guard import STOPPING, Access, Guard, read_body, require_loopback
from augenmerk.serve.hang_up import until_hang_up
from augenmerk.serve.library import Library
from augenmerk.serve.limits import Limits
from augenmerk.serve.metrics import Metrics
from augenmerk.serve.schemas import Names, ReloadRequest, ScoreRequest, TranslateRequest


@dataclass
class State:
    """Whether the service is ready for requests."""

    draining: bool = False


@dataclass(frozen=True)
class Service:
    """Everything a route needs."""

    library: Library
    batcher: Batcher
    limits: Limits
    metrics: Metrics
    access: Access = field(default_factory=Access)
    state: State = field(default_factory=State)
    closing: list[Callable[[], None]] = field(default_factory=list)
    """What is called when the server ends."""

    @classmethod
    def of(
        cls,
        library: Library,
        limits: Limits | None = None,
        access: Access | None = None,
        *,
        threads: int | None = None,
    ) -> "Service":
        """Makes a service of a library; it computes with as many threads as there are cores, unless told."""
        limits, metrics = limits or Limits(), Metrics()
        batcher = Batcher(library, limits, metrics, threads)
        return cls(library, batcher, limits, metrics, access or Access())

    def choose_model(self, names: Names | None) -> str | list[str]:
        """Returns the model that a request names, or the default; raises UnknownModel."""
        if names is None:
            return self.library.names[0]
        self.library.check([names] if isinstance(names, str) else names)
        return names


def make_app(service: Service, *, pages: bool = True) -> Starlette:
    """Returns the app: the API, and with `pages` the workbench."""
    routes: list[BaseRoute] = [
        Route("/v1/translate", translate, methods=["POST"]),
        Route("/v1/score", score, methods=["POST"]),
        Route("/v1/models", list_models),
        Route("/v1/reload", reload, methods=["POST"]),
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/metrics", metrics),
        *libretranslate.make_routes(),
        *openapi.make_routes(),
    ]
    counted = [route.path for route in routes if isinstance(route, Route)]
    if pages:
        from augenmerk.serve.workbench import Workbench, make_pages

        routes += make_pages(Workbench(service, service.library.folder or Path("runs")))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await service.batcher.close()
        for close in service.closing:
            await asyncio.to_thread(close)

    guard = Middleware(
        Guard, access=service.access, limits=service.limits, metrics=service.metrics, routes=counted
    )
    app = Starlette(
        routes=routes,
        middleware=[guard],
        exception_handlers={AugenmerkError: _answer_error, HTTPException: _answer_http_error},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


async def _answer_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AugenmerkError)
    return answer_error(error)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: f"There is nothing at {request.url.path}: /docs lists what there is.",
        405: f"{request.method} is not possible at {request.url.path}: /docs says what is.",
    }
    sentence = sentences.get(error.status_code, f"{error.detail}.")
    return answer_sentence(error.status_code, sentence, dict(error.headers or {}))


async def translate(request: Request) -> Response:
    service: Service = request.app.state.service
    wanted = TranslateRequest.parse(await read_body(request, service.limits))
    wanted.check(service.limits)
    model = service.choose_model(wanted.model)
    translations = await until_hang_up(
        request,
        service.batcher.translate(
            model,
            wanted.texts,
            settings=wanted.settings(),
            heads=wanted.heads,
            attention=wanted.with_attention,
            split_sentences=wanted.split_sentences,
        ),
    )
    return JsonResponse(
        {
            "model": model,
            "translations": [
                one.to_dict(attention=wanted.with_attention, subwords=wanted.subwords) for one in translations
            ],
        }
    )


async def score(request: Request) -> Response:
    service: Service = request.app.state.service
    wanted = ScoreRequest.parse(await read_body(request, service.limits))
    wanted.check(service.limits)
    model = service.choose_model(wanted.model)
    with_attention = wanted.attention or wanted.heads
    scored = await until_hang_up(
        request,
        service.batcher.score(model, wanted.pairs, heads=wanted.heads, attention=with_attention),
    )
    return JsonResponse(
        {"model": model, "scores": [describe_score(one, attention=with_attention) for one in scored]}
    )


async def list_models(request: Request) -> Response:
    service: Service = request.app.state.service
    return JsonResponse({"models": await asyncio.to_thread(service.library.describe)})


async def reload(request: Request) -> Response:
    service: Service = request.app.state.service
    require_loopback(request)
    wanted = ReloadRequest.parse(await read_body(request, service.limits) or b"{}")
    reloaded = await service.batcher.compute(lambda: service.library.reload(wanted.model))
    return JsonResponse({"reloaded": reloaded})


async def live(_request: Request) -> Response:
    return JsonResponse({"status": "alive"})


async def ready(request: Request) -> Response:
    service: Service = request.app.state.service
    if service.state.draining:
        return answer_sentence(503, STOPPING)
    return JsonResponse({"status": "ready"})


async def metrics(request: Request) -> Response:
    service: Service = request.app.state.service
    gauges = {
        "queued_texts": ("Texts that wait or are being computed.", float(service.batcher.queued)),
        "resident_bytes": ("Memory of the process.", float(_resident_bytes())),
    }
    return PlainTextResponse(
        service.metrics.to_text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _resident_bytes() -> int:
    """Returns the memory of this process, or 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0
