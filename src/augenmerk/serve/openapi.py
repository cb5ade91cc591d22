"""The description of the API in OpenAPI 3.1, made of its endpoints, and a plain page without scripts."""

import inspect
import json
import re
from collections.abc import Sequence
from functools import cache, partial
from types import UnionType
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from augenmerk import __version__
from augenmerk.base.settings import read_meanings
from augenmerk.serve.endpoint import Endpoint


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
def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
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
