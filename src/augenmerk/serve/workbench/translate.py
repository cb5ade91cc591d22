"""The view Translate: the page of `augenmerk export` with the server behind it.

The server translates, with any run, with several together, and with wide beams. Changed attention is computed
in the browser, as in an exported page; the model is sent there when it is first needed.
"""

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from augenmerk.base.errors import AugenmerkError
from augenmerk.run.directory import RunDirectory
from augenmerk.serve.endpoint import (
    Endpoint,
    RequestBody,
    Service,
    check_names,
    check_search,
    check_texts,
    to_json,
)
from augenmerk.serve.registry import hide_path
from augenmerk.serve.workbench import cached_response, render_page
from augenmerk.translation import Part, Translator
from augenmerk.web.bundle import LICENCES, OWN_DATA, Bundle, make_bundle
from augenmerk.web.examples import choose_examples, describe_layers, make_example
from augenmerk.web.joining import join_modules
from augenmerk.web.templates import WEB

MAX_PREFIX = 1000
"""Most tokens that a translation may be made to begin with."""
MAX_BUNDLES = 2
"""Models that are kept ready to be sent to browsers; a class opens the same one."""


class TranslationRequest(RequestBody):
    """A sentence for models; `page/main.js` makes it."""

    models: list[str] = Field(min_length=1)
    text: str
    sentence: int = Field(default=0, ge=0)
    beam: int = Field(ge=1)
    prefix: list[int] = Field(default=[], max_length=MAX_PREFIX)
    tree: bool = False
    heads: Part | None = None


def make_endpoints(service: Service) -> list[Endpoint]:
    """Returns the endpoints of the view."""
    registry, limits = service.registry, service.limits

    def list_models(_request: Request) -> dict[str, Any]:
        return {"models": [_describe(name, path) for name, path in registry.paths().items()]}

    def show(request: Request) -> Response:
        data = {
            **list_models(request),
            "max_beam": limits.beam,
            "max_models": limits.models,
        }
        return render_page(request, "translate", data=data)

    async def ask(_request: Request, body: TranslationRequest) -> dict[str, Any]:
        check_texts([body.text], limits)
        check_names(body.models, limits)
        check_search({"beam": body.beam}, limits)
        registry.choose(body.models)
        await asyncio.to_thread(registry.drop_outdated, body.models)
        # It is searched for together with what others ask.
        settings = {"beam": body.beam, "n_best": 1}
        [translation] = await service.batcher.translate(body.models, [body.text], settings=settings)
        details = body.model_dump(include={"sentence", "prefix", "tree", "heads"})

        def describe() -> dict[str, Any]:
            translator = registry.get(body.models)
            return make_example(translator, body.text, body.beam, translation=translation, **details)

        return await service.batcher.compute(describe)

    @lru_cache(maxsize=MAX_BUNDLES)
    def choose(translator: Translator) -> list[str]:
        return choose_examples([translator])

    async def list_examples(request: Request) -> dict[str, Any]:
        name = request.query_params.get("model", "")
        registry.path(name)
        return {"examples": await service.batcher.compute(lambda: choose(registry.get(name, fresh=True)))}

    @lru_cache(maxsize=MAX_BUNDLES)
    def bundle(name: str, translator: Translator) -> Bundle:
        return make_bundle(translator, name)

    async def send_model(request: Request) -> Response:
        name = request.path_params["name"]
        registry.path(name)  # of one that is not there, nothing is computed
        made = await service.batcher.compute(lambda: bundle(name, registry.get(name, fresh=True)))
        if request.url.path.endswith(".json"):
            return cached_response(request, to_json(made.settings), "application/json")
        return cached_response(request, made.weights, "application/octet-stream")

    def send_engine(request: Request) -> Response:
        engine = join_modules(WEB / "engine" / "worker.js").encode()  # one script for a worker
        return cached_response(request, engine, "text/javascript; charset=utf-8")

    prefix = "/workbench/translate"
    return [
        Endpoint("GET", "/", show),
        Endpoint("GET", f"{prefix}/models", list_models),
        Endpoint("GET", f"{prefix}/examples", list_examples),
        Endpoint("POST", f"{prefix}/ask", ask, TranslationRequest),
        Endpoint("GET", f"{prefix}/engine.js", send_engine),
        Endpoint("GET", f"{prefix}/model/{{name:path}}.json", send_model),
        Endpoint("GET", f"{prefix}/model/{{name:path}}.bin", send_model),
    ]


def _describe(name: str, path: Path) -> dict[str, Any]:
    """Returns what the page shows of a model before it is asked; of one that cannot be read, why."""
    try:
        config = RunDirectory.open(path).config
    except AugenmerkError as error:
        return {"name": name, "error": hide_path(error, name, path)}
    return {
        "name": name,
        **config.describe(),
        "title": config.model.entry.title,
        "unit": config.text.unit,
        **describe_layers(config.model),
        "in_browser": config.model.runs_in("browser"),
        "licence": LICENCES.get(config.data.bitext, OWN_DATA),
    }
