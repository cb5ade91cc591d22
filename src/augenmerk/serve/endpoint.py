"""One route of the server: what it reads and returns, what all routes need and check, and their description.

The description of the API in OpenAPI 3.1, and a page without scripts, are made of the endpoints.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    ForwardRef,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import models_json_schema
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import without_nan
from augenmerk.base.settings import read_meanings
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


# The description of the API


class ResponseModel(BaseModel):
    """A response, or a part of one. Its keys are all there are, which a test checks."""

    model_config = ConfigDict(extra="forbid")


def make_response(keys: Any, *bases: Any, name: str = "") -> Any:
    """Returns the model with the keys of a TypedDict, each described by the text below it.

    `bases` are the TypedDicts that it inherits from, which Python 3.11 does not keep.
    """
    name, meanings = name or keys.__name__, dict[str, str]()
    for each in (*bases, keys):
        meanings |= read_meanings(each)

    def convert(hint: Any) -> Any:
        if is_typeddict(hint):  # which pydantic takes from Python 3.12 on only
            return ForwardRef(name) if hint is keys else make_response(hint)
        origin, parts = get_origin(hint), get_args(hint)
        if origin in (None, Literal):
            return hint
        converted = tuple(map(convert, parts))
        return Union[converted] if origin is UnionType else origin[converted]  # noqa: UP007

    fields: dict[str, Any] = {}
    for key, hint in get_type_hints(keys).items():
        is_required, kind = key in keys.__required_keys__, convert(hint)
        default = Field(... if is_required else None, description=meanings.get(key))
        fields[key] = (kind if is_required else kind | None, default)
    return create_model(name, __base__=ResponseModel, __doc__=keys.__doc__, **fields)


class ErrorResponse(BaseModel):
    """What is returned instead, with a status of 400 or more."""

    error: str = Field(description="One sentence that says what was wrong and what to do.")


REASONS = {
    400: "The request is not possible.",
    401: "An API key is needed.",
    403: "This page or machine is not allowed to ask.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "The request is too large.",
    429: "Too much is waiting; Retry-After has the number of seconds after which to ask again.",
    503: "The server is being stopped.",
    504: "The response was not ready in time.",
}


@cache
def describe_api(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Returns the OpenAPI description of endpoints."""
    described = [each for each in endpoints if each.summary]
    models: list[type[BaseModel]] = [ErrorResponse]
    models += [model for each in described for model in (each.body, each.response) if model is not None]
    references, definitions = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
    )

    def content(model: type[BaseModel], **more: Any) -> dict[str, Any]:
        return {"application/json": {"schema": references[model, "validation"], **more}}

    paths: dict[str, Any] = {}
    for each in described:
        response: dict[str, Any] = {"description": "The response."}
        if each.response is not None:
            response["content"] = content(each.response)
            if each.is_list:
                schema = references[each.response, "validation"]
                response["content"]["application/json"]["schema"] = {"type": "array", "items": schema}
        errors = {
            str(status): {"description": REASONS[status], "content": content(ErrorResponse)}
            for status in each.errors
        }
        operation: dict[str, Any] = {"summary": each.summary, "responses": {"200": response, **errors}}
        if each.body is not None:
            operation["requestBody"] = {"required": True, "content": content(each.body, example=each.example)}
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Augenmerk",
            "version": __version__,
            "description": "Translates with small models that show what they attend to.",
        },
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def show_page(request: Request, endpoints: Sequence[Endpoint]) -> Response:
    """Returns the description for people: a view of the workbench or, without that, a page alone."""
    from augenmerk.web.templates import WEB, hash_for_policy, make_policy, render_style, render_template

    context = {
        "endpoints": [each for each in endpoints if each.summary],
        "fields_of": _list_fields,
        "parts_of": _list_parts,
        "dump": partial(json.dumps, ensure_ascii=False),
        "host": request.headers["host"],  # which the guard has checked
        "needs_key": request.app.state.service.access.needs_key,
    }
    if request.app.state.pages:
        from augenmerk.serve.workbench import render_page

        return render_page(request, "api", **context)
    style = render_style() + (WEB / "workbench" / "api.css").read_text(encoding="utf-8")
    policy = make_policy("none", hash_for_policy(style))
    page = render_template("workbench/api.html", style=style, **context)
    return HTMLResponse(page, headers={"content-security-policy": policy})


def _list_parts(annotation: Any, known: tuple[type[BaseModel], ...] = ()) -> tuple[type[BaseModel], ...]:
    """Returns the models in an annotation, each followed by those that its fields have."""
    within = get_args(annotation)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel) and annotation not in known:
        known = (*known, annotation)
        within = tuple(field.annotation for field in annotation.model_fields.values())
    for each in within:
        known = _list_parts(each, known)
    return known


def _list_fields(model: type[BaseModel]) -> list[tuple[str, bool, str, str]]:
    """Returns the name of each field, whether it is required, its type and its description."""
    return [
        (name, field.is_required(), _name_type(field.annotation), field.description or "")
        for name, field in model.model_fields.items()
    ]


def _name_type(annotation: Any) -> str:
    is_class = isinstance(annotation, type) and not getattr(annotation, "__args__", None)
    text = annotation.__name__ if is_class else str(annotation)
    text = re.sub(r"augenmerk[\w.]*\.|typing\.| \| None", "", text)
    text = re.sub(r"Optional\[(.*)\]", r"\1", text)
    return re.sub(r"Literal\[(.*?)\]", lambda choices: choices[1].replace(", ", " | "), text)
