"""One route of the server: what it reads and returns, and what all routes need and check."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.records import without_nan
from augenmerk.serve.batcher import Batcher, Metrics
from augenmerk.serve.connections import read_body
from augenmerk.serve.guard import Access, check_local
from augenmerk.serve.limits import Limits, ServiceError
from augenmerk.serve.registry import ModelRegistry, Names

T = TypeVar("T")
ERRORS_OF_WORK = (400, 401, 403, 404, 408, 413, 429, 503, 504)
"""Statuses of endpoints that read a body and compute."""


class Service:
    """Everything a route needs; it finds it in `request.app.state.service`."""

    def __init__(
        self,
        registry: ModelRegistry,
        limits: Limits | None = None,
        access: Access | None = None,
        *,
        threads: int | None = None,
        keys_file: Path | None = None,
    ) -> None:
        """Computes with as many threads as there are cores, unless `threads` is given."""
        self.registry, self.limits, self.access = registry, limits or Limits(), access or Access()
        self.keys_file = keys_file
        """The file of API keys, which is read again after SIGHUP."""
        self.metrics = Metrics()
        self.batcher = Batcher(registry, self.limits, self.metrics, threads)
        self.draining = False
        """Whether the server ends, and takes no further requests."""
        self.closing: list[Callable[[], None]] = []
        """Functions to call when the server ends."""


class RequestBody(BaseModel):
    """The body of a request: JSON with known keys only, in which numbers are numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def parse(cls, body: bytes, _media_type: str) -> Self:
        """Reads a body; raises AugenmerkError with one sentence if it is something else."""
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise AugenmerkError(describe_problem(error)) from None


def describe_problem(error: ValidationError) -> str:
    """Returns the first problem of a body as a sentence."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = next((str(part) for part in first["loc"]), "")
    match first["type"]:
        case "json_invalid":
            return f"The body is not JSON ({first['ctx']['error']})."
        case "extra_forbidden":
            return f"'{shorten(key)}' is not known here: /docs lists what is."
        case "missing":
            return f"'{key}' is missing: /docs shows what a request holds."
    return f"'{key}' is not as expected: {first['msg'].lower()}." if key else f"{first['msg']}."


@dataclass(frozen=True, eq=False)
class Endpoint:
    """A route. `handler(request)`, or `handler(request, body)`, returns a Response or data for JSON.

    One that is no coroutine is called in a thread. The description of the API has those whose handler has a
    docstring, which is what it says of them.
    """

    method: str
    path: str
    handler: Callable[..., Any]
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
        given: list[Any] = [request]
        if self.body is not None:
            raw = await read_body(request, request.app.state.service.limits)
            given.append(self.body.parse(raw or b"{}", request.headers.get("content-type", "")))
        is_coroutine = inspect.iscoroutinefunction(self.handler)
        work = self.handler(*given) if is_coroutine else asyncio.to_thread(self.handler, *given)
        content = await work if self.body is None else await until_disconnect(request, work)
        if isinstance(content, Response):
            return content
        return Response(to_json(content), media_type="application/json")


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


def to_list(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def check_texts(texts: list[str], limits: Limits) -> None:
    if not texts:
        raise AugenmerkError("There is no text: give a sentence, or a list of at least one.")
    if len(texts) > limits.texts:
        raise ServiceError(
            413, f"There are {len(texts):,} texts; the limit of one request is {limits.texts:,}."
        )
    if (longest := max(map(len, texts))) > limits.characters:
        raise ServiceError(
            413,
            f"A text has {longest:,} characters; the limit is {limits.characters:,}: "
            f"send one sentence at a time.",
        )


def check_names(names: Names | None, limits: Limits) -> None:
    if isinstance(names, list) and not 1 <= len(names) <= limits.models:
        raise AugenmerkError(f"An ensemble has 1 to {limits.models} models here, not {len(names):,}.")


def check_search(settings: dict[str, Any], limits: Limits) -> None:
    maxima = {
        "beam": limits.beam,
        "n_best": limits.n_best,
        "candidates": limits.n_best,
        "max_length": limits.max_length,
    }
    for name, limit in maxima.items():
        if settings.get(name, 0) > limit:
            raise AugenmerkError(f"{name} = {settings[name]} is more than {limit}, the limit here.")
