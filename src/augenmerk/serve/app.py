"""The app: the routes of the API and of the workbench behind the guard."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.api import ENDPOINTS
from augenmerk.serve.errors import error_response, sentence_response
from augenmerk.serve.guard import Guard
from augenmerk.serve.service import Service


def make_app(service: Service, *, pages: bool = True) -> Starlette:
    """Returns the app: the API, and with `pages` the workbench."""
    routes: list[BaseRoute] = [each.make_route() for each in ENDPOINTS]
    if pages:
        from augenmerk.serve.workbench import Workbench, make_pages

        routes += make_pages(Workbench(service, service.registry.folder or Path("runs")))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await service.batcher.close()
        for close in service.closing:
            await asyncio.to_thread(close)

    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, service=service, paths=[each.path for each in ENDPOINTS])],
        exception_handlers={AugenmerkError: _handle_error, HTTPException: _handle_http_error},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


async def _handle_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AugenmerkError)
    return error_response(error)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: f"There is nothing at {request.url.path}: /docs lists what there is.",
        405: f"{request.method} is not possible at {request.url.path}: /docs lists the methods.",
    }
    sentence = sentences.get(error.status_code, f"{error.detail}.")
    return sentence_response(error.status_code, sentence, error.headers)
