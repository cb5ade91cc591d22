"""The description of the API in OpenAPI 3.1, made of the models of requests and answers, and a plain page.

The page is one file without a script and without anything from elsewhere.
"""

import json
from functools import cache
from html import escape
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from augenmerk import __version__
from augenmerk.serve import libretranslate, schemas
from augenmerk.serve.answers import JsonResponse


class Operation(NamedTuple):
    """A route as it is described."""

    method: str
    path: str
    about: str
    request: type[BaseModel] | None = None
    answer: type[BaseModel] | None = None
    errors: tuple[int, ...] = ()
    example: dict[str, Any] | None = None
    answers_list: bool = False


_OF_WORK = (400, 401, 403, 404, 408, 413, 429, 503, 504)

OPERATIONS = (
    Operation(
        "post",
        "/v1/translate",
        "Translates one text or a list of texts.",
        schemas.TranslateRequest,
        schemas.TranslateAnswer,
        _OF_WORK,
        {"text": "Ein Hund schläft.", "beam": 5, "n_best": 2, "attention": True},
    ),
    Operation(
        "post",
        "/v1/score",
        "Scores given translations: log-probability, loss and perplexity.",
        schemas.ScoreRequest,
        schemas.ScoreAnswer,
        _OF_WORK,
        {"source": "Ein Hund schläft.", "target": "A dog sleeps."},
    ),
    Operation("get", "/v1/models", "Lists the models.", None, schemas.ModelsAnswer, (401, 403)),
    Operation(
        "post",
        "/v1/reload",
        "Reads runs anew that were trained further; only on the machine of the server.",
        schemas.ReloadRequest,
        schemas.ReloadAnswer,
        (400, 401, 403, 404),
        {},
    ),
    Operation(
        "post",
        "/translate",
        "Translates as LibreTranslate does; the body may be JSON or a form.",
        libretranslate.TranslateBody,
        libretranslate.TranslatedText,
        _OF_WORK,
        {"q": "Ein Hund schläft. Eine Frau lacht.", "source": "de", "target": "en"},
    ),
    Operation(
        "get",
        "/languages",
        "Lists the languages as LibreTranslate does.",
        None,
        libretranslate.Language,
        (403,),
        answers_list=True,
    ),
    Operation(
        "post",
        "/detect",
        "Says which language a text looks like, as LibreTranslate does.",
        libretranslate.DetectBody,
        libretranslate.DetectedLanguage,
        _OF_WORK,
        {"q": "Ein Hund schläft."},
        answers_list=True,
    ),
    Operation("get", "/health/live", "Answers while the process runs."),
    Operation("get", "/health/ready", "Answers 200 while requests are taken, 503 while the server stops."),
    Operation("get", "/metrics", "Counts in the text format of Prometheus."),
    Operation("get", "/openapi.json", "This description."),
)

REASONS = {
    400: "What was asked for is not possible.",
    401: "An API key is needed.",
    403: "The page or the machine that asks may not.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "The request is too large.",
    429: "Too much is waiting; Retry-After says in how many seconds to ask again.",
    503: "The server is being stopped.",
    504: "The answer was not there in time.",
}


@cache
def describe() -> dict[str, Any]:
    """Returns the OpenAPI description of the service."""
    models: list[type[BaseModel]] = [schemas.ErrorAnswer]
    for one in OPERATIONS:
        models += [model for model in (one.request, one.answer) if model is not None]
    references, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        answer: dict[str, Any] = {"description": "The answer."}
        if one.answer is not None:
            schema: dict[str, Any] = references[one.answer, "validation"]
            if one.answers_list:
                schema = {"type": "array", "items": schema}
            answer["content"] = {"application/json": {"schema": schema}}
        error = {"application/json": {"schema": references[schemas.ErrorAnswer, "validation"]}}
        operation: dict[str, Any] = {
            "summary": one.about,
            "responses": {
                "200": answer,
                **{str(code): {"description": REASONS[code], "content": error} for code in one.errors},
            },
        }
        if one.request is not None:
            content = {"schema": references[one.request, "validation"], "example": one.example}
            operation["requestBody"] = {"required": True, "content": {"application/json": content}}
        paths.setdefault(one.path, {})[one.method] = operation
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


def make_routes() -> list[BaseRoute]:
    return [Route("/openapi.json", show_description), Route("/docs", show_page)]


async def show_description(_request: Request) -> Response:
    return JsonResponse(describe())


async def show_page(_request: Request) -> Response:
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(_render(), headers={"content-security-policy": policy})


@cache
def _render() -> str:
    parts = [_render_operation(one) for one in OPERATIONS]
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
        "color-scheme:light dark}pre{padding:.6rem;border:1px solid #8886;border-radius:.3rem}"
        "pre,td{white-space:pre-wrap;overflow-wrap:anywhere}"
        "h2{margin-top:2.5rem;font-size:1.15rem}h2 code{font-size:1.1rem}table{border-collapse:collapse}"
        "th,td{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0;font-weight:400}"
        # On a phone, what a field means stands below its name and type.
        "@media(max-width:40rem){tr{display:grid;grid-template-columns:auto 1fr;margin-bottom:.5rem}"
        "th,td{padding-block:0}td:last-child{grid-column:1/-1}}"
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Augenmerk: API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head><body>'
        f"<h1>Augenmerk {escape(__version__)}: API</h1><p>What is asked and answered is JSON. An error is "
        f'<code>{{"error": "One sentence."}}</code> with a status of 400 or more. The same for programs: '
        f'<a href="/openapi.json">/openapi.json</a>.</p>{"".join(parts)}</body></html>'
    )


def _render_operation(one: Operation) -> str:
    parts = [f"<h2><code>{one.method.upper()} {escape(one.path)}</code></h2><p>{escape(one.about)}</p>"]
    if one.request is not None:
        body = json.dumps(one.example, ensure_ascii=False)
        parts.append(f"<pre>curl localhost:8765{escape(one.path)} -d '{escape(body)}'</pre>")
        parts.append(_render_fields(one.request))
    if one.answer is not None:
        parts.append(f"<p>{'Answer, a list of' if one.answers_list else 'Answer:'}</p>")
        parts.append(_render_fields(one.answer))
    if one.errors:
        parts.append(f"<p>Errors: {', '.join(map(str, one.errors))}.</p>")
    return "".join(parts)


def _render_fields(model: type[BaseModel]) -> str:
    rows = [
        f'<tr><th scope="row"><code>{escape(name)}</code>{" *" if field.is_required() else ""}</th>'
        f"<td><code>{escape(_name_type(field.annotation))}</code></td>"
        f"<td>{escape(field.description or '')}</td></tr>"
        for name, field in model.model_fields.items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _name_type(annotation: Any) -> str:
    text = getattr(annotation, "__name__", None) if isinstance(annotation, type) else None
    text = text if text and not getattr(annotation, "__args__", None) else str(annotation)
    for module in ("augenmerk.serve.schemas.", "augenmerk.serve.libretranslate.", "typing.", " | None"):
        text = text.replace(module, "")
    return text
