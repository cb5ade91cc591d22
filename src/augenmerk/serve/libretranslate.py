"""The API of LibreTranslate, for clients that know that one: /translate, /languages, /detect.

As there, a text may have several lines and sentences, and its body may be JSON or a form. What a text has in
markup is not known here, so `format` may only be "text".
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.guard import find_key, read_body
from augenmerk.serve.hang_up import until_hang_up
from augenmerk.serve.schemas import check_texts, describe_problem
from augenmerk.text.languages import LANGUAGES

if TYPE_CHECKING:
    from augenmerk.serve.app import Service

AUTO = "auto"


class TranslateBody(BaseModel):
    """The body of POST /translate."""

    model_config = ConfigDict(extra="ignore")  # clients send what later versions of LibreTranslate know

    q: str | list[str] = Field(description="A text, or a list of texts.")
    source: str = Field(default=AUTO, description='The language of the text, or "auto".')
    target: str = Field(description="The language to translate into.")
    format: str = Field(default="text", description='Only "text" is possible.')
    alternatives: int = Field(default=0, ge=0, description="How many other translations to add.")
    api_key: str | None = Field(default=None, description="A key, if the server asks for one.")


class DetectBody(BaseModel):
    """The body of POST /detect."""

    model_config = ConfigDict(extra="ignore")

    q: str = Field(description="A text.")
    api_key: str | None = None


class DetectedLanguage(BaseModel):
    """A language that a text may be in: 100 if it looks like what a model learnt from, otherwise 0."""

    confidence: float
    language: str


class TranslatedText(BaseModel):
    """The answer of POST /translate; lists if `q` is a list."""

    translatedText: str | list[str]  # noqa: N815 (the key of LibreTranslate)
    alternatives: list[Any] | None = None
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815


class Language(BaseModel):
    """A language of GET /languages, and those it can be translated into."""

    code: str
    name: str
    targets: list[str]


def make_routes() -> list[BaseRoute]:
    return [
        Route("/translate", translate, methods=["POST"]),
        Route("/languages", list_languages),
        Route("/detect", detect, methods=["POST"]),
        Route("/frontend/settings", show_settings),
    ]


async def _read(request: HttpRequest, service: "Service") -> dict[str, Any]:
    """Returns what the body holds, in JSON or as a form; checks the key, which may be in it."""
    body = await read_body(request, service.limits)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded" and not body.lstrip().startswith(b"{"):
            fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
        elif kind == "multipart/form-data":
            raise AugenmerkError("The body is multipart/form-data: send JSON or a plain form.")
        else:
            fields = from_json(body)
    except ValueError:
        raise AugenmerkError("The body is neither JSON nor a form.") from None
    if not isinstance(fields, dict):
        raise AugenmerkError("The body is not a JSON object.")
    if find_key(request.scope["headers"]) is None:
        key = fields.get("api_key")
        service.access.check_key(key if isinstance(key, str) and key else None)
    return fields


async def translate(request: HttpRequest) -> Response:
    service: Service = request.app.state.service
    try:
        wanted = TranslateBody.model_validate(await _read(request, service))
    except ValidationError as error:
        raise AugenmerkError(describe_problem(error)) from None
    if wanted.format != "text":
        raise AugenmerkError(f"format = '{shorten(wanted.format)}' is not possible here: only 'text' is.")
    if wanted.alternatives >= service.limits.n_best:
        raise AugenmerkError(
            f"alternatives = {wanted.alternatives} is more than {service.limits.n_best - 1}, the limit here."
        )
    texts = [wanted.q] if isinstance(wanted.q, str) else wanted.q
    check_texts(texts, service.limits)
    name = _choose_model(service, wanted.source, wanted.target)
    settings = {"n_best": wanted.alternatives + 1} if wanted.alternatives else {}
    translations = await until_hang_up(request, service.batcher.translate(name, texts, settings=settings))
    listed = not isinstance(wanted.q, str)
    answer: dict[str, Any] = {"translatedText": [one.text for one in translations]}
    if wanted.alternatives:
        answer["alternatives"] = [[other.text for other in one.alternatives] for one in translations]
    if wanted.source == AUTO:
        language = _source(service, name)
        answer["detectedLanguage"] = [
            {"confidence": 0.0 if one.unfamiliar else 100.0, "language": language} for one in translations
        ]
    return JsonResponse(answer if listed else {key: value[0] for key, value in answer.items()})


async def list_languages(request: HttpRequest) -> Response:
    pairs = _language_pairs(request.app.state.service)
    codes = dict.fromkeys(code for pair in pairs for code in pair)
    return JsonResponse(
        [
            {
                "code": code,
                "name": LANGUAGES.get(code, code),
                "targets": list(dict.fromkeys(target for source, target in pairs if source == code)),
            }
            for code in codes
        ]
    )


async def detect(request: HttpRequest) -> Response:
    """Says of each source language whether a text looks like what its model learnt from."""
    service: Service = request.app.state.service
    try:
        wanted = DetectBody.model_validate(await _read(request, service))
    except ValidationError as error:
        raise AugenmerkError(describe_problem(error)) from None
    check_texts([wanted.q], service.limits)
    found: dict[str, float] = {}
    for name in _language_pairs(service).values():
        [one] = await until_hang_up(
            request, service.batcher.translate(name, [wanted.q], settings={"beam": 1}, split_sentences=False)
        )
        confidence = 0.0 if one.unfamiliar else 100.0
        code = _source(service, name)
        found[code] = max(confidence, found.get(code, 0.0))
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return JsonResponse([{"confidence": confidence, "language": code} for code, confidence in ranked])


async def show_settings(request: HttpRequest) -> Response:
    """Answers what clients with a page of their own ask for first."""
    service: Service = request.app.state.service
    pairs = _language_pairs(service)
    source, target = next(iter(pairs), (AUTO, "en"))
    named = {code: {"code": code, "name": LANGUAGES.get(code, code)} for code in (source, target)}
    return JsonResponse(
        {
            "apiKeys": bool(service.access.keys),
            "keyRequired": bool(service.access.keys),
            "charLimit": service.limits.characters,
            "filesTranslation": False,
            "frontendTimeout": 500,
            "language": {"source": named[source], "target": named[target]},
            "suggestions": False,
            "supportedFilesFormat": [],
        }
    )


def _language_pairs(service: "Service") -> dict[tuple[str, str], str]:
    """Returns the model of each pair of languages, the first of those that were given."""
    pairs: dict[tuple[str, str], str] = {}
    for name in service.library.names:
        source, target = service.library.languages(name)
        if source and target:
            pairs.setdefault((source, target), name)
    return pairs


def _source(service: "Service", name: str) -> str:
    return service.library.languages(name)[0] or AUTO


def _choose_model(service: "Service", source: str, target: str) -> str:
    """Returns the model for two languages; raises AugenmerkError if there is none."""
    pairs = _language_pairs(service)
    for (one, other), name in pairs.items():
        if source in (one, AUTO) and other == target:
            return name
    known = ", ".join(f"{one} to {other}" for one, other in pairs) or "no languages, for no run names any"
    raise AugenmerkError(
        f"There is no model from {shorten(source)} to {shorten(target)}: this server knows {known}."
    )
