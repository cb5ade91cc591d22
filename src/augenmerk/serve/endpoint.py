"""One route of the server: what it reads, what it returns, and what the description of the API says of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from augenmerk.run.records import without_nan
from augenmerk.serve.access import check_local
from augenmerk.serve.body import read_body
from augenmerk.serve.schemas import RequestBody

T = TypeVar("T")


ERRORS_OF_WORK = (400, 401, 403, 404, 408, 413, 429, 503, 504)
"""Statuses of endpoints that read a body and compute."""


@dataclass(frozen=True, eq=False)
class Endpoint:
    """A route. `handler(request)`, or `handler(request, body)`, returns a Response or data for JSON.

    The description of the API has those whose handler has a docstring, which is what it says of them.
    """

    method: str
    path: str
    handler: Callable[..., Awaitable[Any]]
    body: type[RequestBody] | None = None
    """What a request has to hold; it is validated before the handler is called."""
    response: type[BaseModel] | None = None
    errors: tuple[int, ...] = ()
    example: dict[str, Any] | None = None
    is_list: bool = False
    """Whether it returns a list of such responses."""
    local: bool = False
    """Whether only this machine may ask."""

    @property
    def summary(self) -> str:
        return self.handler.__doc__ or ""

    def make_route(self) -> Route:
        return Route(self.path, self._respond, methods=[self.method])

    async def _respond(self, request: Request) -> Response:
        if self.local:
            check_local(request)
        if self.body is None:
            content = await self.handler(request)
        else:
            raw = await read_body(request, request.app.state.service.limits)
            body = self.body.parse(raw or b"{}", request.headers.get("content-type", ""))
            content = await until_disconnect(request, self.handler(request, body))
        return content if isinstance(content, Response) else JsonResponse(content)


class JsonResponse(Response):
    """A response in JSON, as `to_json` writes it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return to_json(content)


def to_json(content: Any) -> bytes:
    """Returns JSON. Numbers that JSON does not have become null; half a surrogate pair, an escape."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(without_nan(content), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


async def until_disconnect(request: Request, work: Awaitable[T]) -> T:
    """Awaits work for a client; cancels it and raises ClientDisconnect if the client disconnects."""
    working = asyncio.ensure_future(work)
    disconnect = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait((working, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        disconnect.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
