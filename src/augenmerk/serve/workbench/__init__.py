"""The pages of the workbench: a frame, one view in it for each module here, and the static files of `web/`.

A view is a module with `make_routes(workbench)`. Its page is a template of `web/workbench` that extends
`frame.html`; its JSON lives under `/workbench/VIEW/`.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from augenmerk.web.templates import WEB, render_style, render_template

if TYPE_CHECKING:
    from augenmerk.serve.app import Service

VIEWS: Mapping[str, str] = {
    "translate": "Translate",
    "runs": "Runs",
    "studies": "Studies",
    "theory": "Theory",
    "patterns": "Patterns",
}
"""The views in the order of the menu, with their English names."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
REVALIDATE = "no-cache"
"""A browser keeps what it has, and asks each time whether it is still the same (see `answer_cached`)."""

MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css"}
_IMPORT = re.compile(r'^import \{[\w\s,]+\} from "([\w./-]+\.js)";', re.M)


@dataclass(frozen=True)
class Workbench:
    """What the views need: the service behind the API, and the folder whose runs they show."""

    service: "Service"
    folder: Path


def make_pages(workbench: Workbench) -> list[BaseRoute]:
    """Returns the routes of all views and of the static files."""
    render_style()  # once, before somebody waits for it
    routes: list[BaseRoute] = [Route("/web/{name:path}", serve_static)]
    for view in VIEWS:
        routes += import_module(f"{__name__}.{view}").make_routes(workbench)
    return routes


def page_address(view: str) -> str:
    """Returns the address of a view's page."""
    return "/" if view == "translate" else f"/{view}"


def render_page(request: Request, view: str, template: str, *, script: str, **context: Any) -> Response:
    """Renders the page of a view from a template of `web/workbench`, in which every value is escaped.

    `script` is the view's module, relative to `web`; the browser is told at once of all that it imports.
    """
    text = render_template(
        f"workbench/{template}",
        view=view,
        name=VIEWS[view],
        views=[{"view": each, "name": VIEWS[each], "address": page_address(each)} for each in VIEWS],
        modules=_list_modules(script),
        **context,
    )
    response = answer_cached(request, text.encode(), "text/html; charset=utf-8")
    response.headers.update(HEADERS)
    return response


def answer_cached(request: Request, content: bytes, media_type: str) -> Response:
    """Answers with content that a browser may keep, or says that what it has is still the same."""
    headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()[:24]}"', "Cache-Control": REVALIDATE}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if headers["ETag"] in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


async def serve_static(request: Request) -> Response:
    """Serves scripts and style sheets of `web`, and nothing else."""
    found = list_static_files().get(request.path_params["name"])
    if found is None:
        return PlainTextResponse("There is no such file.", status_code=404)
    is_template = found == WEB / "page" / "page.css"
    content = render_style().encode() if is_template else found.read_bytes()
    response = answer_cached(request, content, f"{MEDIA_TYPES[found.suffix]}; charset=utf-8")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@cache
def list_static_files() -> dict[str, Path]:
    """Returns all that may be served, by its path within `web`: no path of a request reaches the disk."""
    return {
        path.relative_to(WEB).as_posix(): path
        for path in sorted(WEB.rglob("*"))
        if path.suffix in MEDIA_TYPES and path.is_file()
    }


@cache
def _list_modules(script: str) -> list[str]:
    """Returns the addresses of a module and of all that it imports, which would otherwise be found late."""
    found: dict[Path, None] = {}
    waiting = [WEB / script]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found[path] = None
            waiting += [(path.parent / name).resolve() for name in _IMPORT.findall(path.read_text("utf-8"))]
    return [f"/web/{path.relative_to(WEB).as_posix()}" for path in found]
