"""The view Translate: the page of `augenmerk export` with the server behind it.

The server translates, with any run, with several together, and with wide beams. Changed attention is computed
in the browser, as in an exported page; the model is sent there when it is first needed.
"""

import asyncio
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, get_args

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from augenmerk.analysis.patterns import count_heads
from augenmerk.base.errors import AugenmerkError
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.serve.answers import JsonResponse, to_json
from augenmerk.serve.guard import read_body
from augenmerk.serve.hang_up import until_hang_up
from augenmerk.serve.library import Library, hide_paths
from augenmerk.serve.schemas import Request as Question
from augenmerk.serve.schemas import check_names, check_texts
from augenmerk.serve.workbench import Workbench, answer_cached, render_page
from augenmerk.translation import Part, Translation, Translator
from augenmerk.web.bundle import LICENCES, OWN_DATA, Bundle, make_bundle
from augenmerk.web.examples import CAPTIONS, PICTURE_BOOK, make_example
from augenmerk.web.export import join_modules
from augenmerk.web.templates import WEB

MAX_PREFIX = 1000
KEPT_BUNDLES = 2
"""Models that are ready to be sent to browsers; a class opens the same one."""


class Ask(Question):
    """What the page asks of a model; `page/main.js` makes it."""

    models: list[str] = Field(min_length=1)
    text: str
    sentence: int = Field(default=0, ge=0)
    beam: int = Field(ge=1)
    prefix: list[int] = Field(default=[], max_length=MAX_PREFIX)
    tree: bool = False
    heads: Part | None = None


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the routes of the view."""
    service = workbench.service

    async def show(request: Request) -> Response:
        models = await asyncio.to_thread(describe_models, service.library)
        data = {
            "models": models,
            "examples": {"captions": CAPTIONS, "picture-book": PICTURE_BOOK},
            "max_beam": service.limits.beam,
            "max_models": service.limits.models,
        }
        page = {"view": "translate", "template": "translate.html", "script": "workbench/translate.js"}
        return render_page(request, **page, data=data)

    async def list_models(_request: Request) -> Response:
        return JsonResponse({"models": await asyncio.to_thread(describe_models, service.library)})

    async def ask(request: Request) -> Response:
        question = Ask.parse(await read_body(request, service.limits))
        check_texts([question.text], service.limits)
        check_names(question.models, service.limits)
        if question.beam > service.limits.beam:
            raise AugenmerkError(
                f"beam = {question.beam} is more than {service.limits.beam}, the limit here."
            )
        service.library.check(question.models)
        await asyncio.to_thread(service.library.forget_if_trained_further, question.models)
        return JsonResponse(await until_hang_up(request, answer(question)))

    async def answer(question: Ask) -> dict[str, Any]:
        names = question.models
        # It is searched for together with what others ask.
        settings = {"beam": question.beam, "n_best": 1}
        [translation] = await service.batcher.translate(names, [question.text], settings=settings)
        return await service.batcher.compute(lambda: describe(service.library, question, translation))

    @lru_cache(maxsize=KEPT_BUNDLES)
    def bundle(name: str, translator: Translator) -> Bundle:
        return make_bundle(translator, name)

    def read_bundle(name: str) -> Bundle:
        service.library.forget_if_trained_further([name])
        return bundle(name, service.library.get(name))

    async def send_model(request: Request) -> Response:
        name = request.path_params["name"]
        service.library.check([name])
        made = await service.batcher.compute(lambda: read_bundle(name))
        if request.url.path.endswith(".json"):
            return answer_cached(request, to_json(made.settings), "application/json")
        return answer_cached(request, made.weights, "application/octet-stream")

    async def send_engine(request: Request) -> Response:
        return answer_cached(request, join_engine(), "text/javascript; charset=utf-8")

    return [
        Route("/", show),
        Route("/workbench/translate/models", list_models),
        Route("/workbench/translate/ask", ask, methods=["POST"]),
        Route("/workbench/translate/engine.js", send_engine),
        Route("/workbench/translate/model/{name:path}.json", send_model),
        Route("/workbench/translate/model/{name:path}.bin", send_model),
    ]


def describe(library: Library, question: Ask, translation: Translation) -> dict[str, Any]:
    """Returns what the page shows of the translation of a text, in the shape of `make_example`."""
    return make_example(
        library.get(question.models),
        question.text,
        question.beam,
        sentence=question.sentence,
        prefix=question.prefix,
        tree=question.tree,
        heads=question.heads,
        translation=translation,
    )


@cache
def join_engine() -> bytes:
    """Returns the engine as one script for a worker."""
    return join_modules(WEB / "engine", "worker.js").encode()


def describe_models(library: Library) -> list[dict[str, Any]]:
    """Returns what the page shows of each model before it is asked; runs that cannot be read say why."""
    return [_describe(name, path) for name, path in library.paths().items()]


def _describe(name: str, path: Path) -> dict[str, Any]:
    try:
        config = RunDirectory.open(path).config
    except AugenmerkError as error:
        return {"name": name, "error": hide_paths(str(error), {name: path})}
    source, target = config.data.languages
    layers, _ = count_heads(config.model)
    counted = {part: count_heads(config.model, part)[1] for part in get_args(Part)}
    shipped = path.resolve() == BUNDLED_MODEL.resolve()
    return {
        "name": name,
        "source_language": source,
        "target_language": target,
        "architecture": config.model.architecture,
        "attention": config.model.attention,
        "unit": config.text.unit,
        "beam": config.search.beam,
        "layers": layers,
        "heads": {part: heads for part, heads in counted.items() if heads},
        "in_browser": config.model.runs_in("browser"),
        "licence": LICENCES.get(config.data.bitext, OWN_DATA),
        "examples": None if source != "de" else "captions" if shipped else "picture-book",
    }
