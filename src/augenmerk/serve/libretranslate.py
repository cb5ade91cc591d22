"""The API of LibreTranslate, for its clients: /translate, /languages, /detect.

As there, a text may have several lines and sentences, and a body may be JSON or a form. Markup is not
recognised, so `format` may only be "text".
"""

import json
from typing import Any, Self
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.serve.endpoint import (
    ERRORS_OF_WORK,
    Endpoint,
    RequestBody,
    Service,
    check_texts,
    to_list,
)
from augenmerk.serve.guard import find_key
from augenmerk.text.words import name_language

AUTO = "auto"


class LibreTranslateBody(RequestBody):
    """A body in JSON or as a form, which may hold the key."""

    model_config = ConfigDict(extra="ignore", strict=False)  # clients send keys of later versions

    api_key: str | None = Field(default=None, description="A key, if the server asks for one.")

    @classmethod
    def parse(cls, body: bytes, media_type: str) -> Self:
        kind = media_type.partition(";")[0].strip().lower()
        if kind == "multipart/form-data":
            raise AugenmerkError("The body is multipart/form-data: send JSON or a plain form.")
        if kind != "application/x-www-form-urlencoded" or body.lstrip().startswith(b"{"):
            return super().parse(body, media_type)
        try:
            form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
        except ValueError:
            raise AugenmerkError("The body is not a form.") from None
        return super().parse(json.dumps(form).encode(), media_type)

    def check_key(self, request: Request) -> None:
        """Raises ServiceError if a key is needed and neither the headers nor the body have it."""
        if find_key(request.scope["headers"]) is None:
            request.app.state.service.access.check_key(self.api_key or None)


class TranslateBody(LibreTranslateBody):
    """The body of POST /translate."""

    q: str | list[str] = Field(description="A text, or a list of texts.")
    source: str = Field(default=AUTO, description='The language of the text, or "auto".')
    target: str = Field(description="The language to translate into.")
    format: str = Field(default="text", description='Only "text" is possible.')
    alternatives: int = Field(default=0, ge=0, description="How many other translations to add.")


class DetectBody(LibreTranslateBody):
    """The body of POST /detect."""

    q: str = Field(description="A text.")


class DetectedLanguage(BaseModel):
    """A language that a text may be in: 100 if it looks like what a model learnt from, otherwise 0."""

    confidence: float
    language: str


class TranslatedText(BaseModel):
    """The response of POST /translate; lists if `q` is a list."""

    translatedText: str | list[str]  # noqa: N815 (the key of LibreTranslate)
    alternatives: list[Any] | None = None
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815


class Language(BaseModel):
    """A language of GET /languages, and those it can be translated into."""

    code: str
    name: str
    targets: list[str]


async def translate(request: Request, body: TranslateBody) -> dict[str, Any]:
    """Translates as LibreTranslate does; the body may be JSON or a form."""
    service: Service = request.app.state.service
    body.check_key(request)
    if body.format != "text":
        raise AugenmerkError(f"format = '{shorten(body.format)}' is not possible here: only 'text' is.")
    if body.alternatives >= service.limits.n_best:
        raise AugenmerkError(
            f"alternatives = {body.alternatives} is more than {service.limits.n_best - 1}, the limit here."
        )
    texts = to_list(body.q)
    check_texts(texts, service.limits)
    name = _choose_model(service, body.source, body.target)
    settings = {"n_best": body.alternatives + 1} if body.alternatives else {}
    translations = await service.batcher.translate(name, texts, settings=settings)
    response: dict[str, Any] = {"translatedText": [each.text for each in translations]}
    if body.alternatives:
        response["alternatives"] = [[other.text for other in each.alternatives] for each in translations]
    if body.source == AUTO:
        language = service.registry.get(name).language
        response["detectedLanguage"] = [
            _describe_detected(language, is_familiar=not each.unfamiliar) for each in translations
        ]
    return response if isinstance(body.q, list) else {key: value[0] for key, value in response.items()}


def list_languages(request: Request) -> list[dict[str, Any]]:
    """Lists the languages as LibreTranslate does."""
    pairs = _language_pairs(request.app.state.service)
    codes = dict.fromkeys(code for pair in pairs for code in pair)
    return [
        {**_name_language(code), "targets": [target for source, target in pairs if source == code]}
        for code in codes
    ]


def detect(request: Request, body: DetectBody) -> list[dict[str, Any]]:
    """Reports which source languages a text looks like, as LibreTranslate does."""
    service: Service = request.app.state.service
    body.check_key(request)
    check_texts([body.q], service.limits)
    found: dict[str, bool] = {}
    for (language, _), name in _language_pairs(service).items():
        translator = service.registry.get(name)
        [ids] = translator.tokenizers.source.encode_ids([body.q])
        found[language] = found.get(language, False) or translator.familiarity.judge([ids]) == [None]
    ranked = sorted(found.items(), key=lambda item: not item[1])
    return [_describe_detected(language, is_familiar=is_familiar) for language, is_familiar in ranked]


def show_settings(request: Request) -> dict[str, Any]:
    service: Service = request.app.state.service
    source, target = next(iter(_language_pairs(service)), (AUTO, "en"))
    return {
        "apiKeys": service.access.needs_key,
        "keyRequired": service.access.needs_key,
        "charLimit": service.limits.characters,
        "filesTranslation": False,
        "frontendTimeout": 500,
        "language": {"source": _name_language(source), "target": _name_language(target)},
        "suggestions": False,
        "supportedFilesFormat": [],
    }


def _name_language(code: str) -> dict[str, str]:
    return {"code": code, "name": name_language(code) or code}


def _describe_detected(language: str | None, *, is_familiar: bool) -> dict[str, Any]:
    return {"confidence": 100.0 if is_familiar else 0.0, "language": language or AUTO}


def _language_pairs(service: Service) -> dict[tuple[str, str], str]:
    """Returns the model of each pair of languages, the first of those that were given."""
    pairs: dict[tuple[str, str], str] = {}
    for name in service.registry.names:
        source, target = service.registry.get(name).config.data.languages
        if source and target:
            pairs.setdefault((source, target), name)
    return pairs


def _choose_model(service: Service, source: str, target: str) -> str:
    """Returns the model for two languages; raises AugenmerkError if there is none."""
    pairs = _language_pairs(service)
    for (known_source, known_target), name in pairs.items():
        if source in (known_source, AUTO) and target == known_target:
            return name
    known = ", ".join(f"{one} to {other}" for one, other in pairs) or "no languages, because no run names any"
    raise AugenmerkError(
        f"There is no model from {shorten(source)} to {shorten(target)}: this server knows {known}."
    )


ENDPOINTS = (
    Endpoint(
        *("POST", "/translate", translate, TranslateBody, TranslatedText, ERRORS_OF_WORK),
        {"q": "Ein Hund schläft. Eine Frau lacht.", "source": "de", "target": "en"},
    ),
    Endpoint("GET", "/languages", list_languages, response=Language, errors=(403,), is_list=True),
    Endpoint(
        *("POST", "/detect", detect, DetectBody, DetectedLanguage, ERRORS_OF_WORK),
        {"q": "Ein Hund schläft."},
        is_list=True,
    ),
    Endpoint("GET", "/frontend/settings", show_settings),
)
