"""The pages of the workbench: a frame, one view in it for each module here, and the static files of `web/`.

A view is a module with `make_endpoints(service)`. Its page is `web/workbench/VIEW.html`, which extends
`frame.html`, with the script `VIEW.js`; its JSON is below `/workbench/VIEW/`.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from augenmerk.serve.endpoint import Endpoint, Service
from augenmerk.web.joining import list_modules
from augenmerk.web.templates import WEB, render_style, render_template

VIEWS: Mapping[str, str] = {
    "translate": "Translate",
    "runs": "Runs",
    "studies": "Studies",
    "theory": "Theory",
    "patterns": "Patterns",
    "api": "API",
}
"""The views in the order of the menu, with their English names. Without pages, a server has only the last."""
ADDRESSES = {"translate": "/", "api": "/docs"}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css"}


def make_pages(service: Service) -> list[Route]:
    """Returns the routes of all views and of the static files."""
    render_style()  # once, before somebody waits for it
    endpoints = [Endpoint("GET", "/web/{name:path}", serve_static)]
    for view in list(VIEWS)[:-1]:
        endpoints += import_module(f"{__name__}.{view}").make_endpoints(service)
    return [each.make_route() for each in endpoints]


def page_address(view: str) -> str:
    """Returns the address of a view's page."""
    return ADDRESSES.get(view, f"/{view}")


def render_page(request: Request, view: str, **context: Any) -> Response:
    """Renders the page of a view, with links to all modules that its script imports."""
    text = render_template(
        f"workbench/{view}.html",
        view=view,
        name=VIEWS[view],
        views=[{"view": each, "name": name, "address": page_address(each)} for each, name in VIEWS.items()],
        modules=[
            f"/web/{path.relative_to(WEB).as_posix()}"
            for path in list_modules(WEB / "workbench" / f"{view}.js")
        ],
        **context,
    )
    response = cached_response(request, text.encode(), "text/html; charset=utf-8")
    response.headers.update(HEADERS)
    return response


def cached_response(request: Request, content: bytes, media_type: str) -> Response:
    """Returns content that a browser may keep, or 304 if what the browser has is still the same."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}  # the browser asks each time
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def serve_static(request: Request) -> Response:
    """Serves scripts and style sheets of `web`, and nothing else."""
    path = list_static_files().get(request.path_params["name"])
    if path is None:
        return PlainTextResponse("There is no such file.", status_code=404)
    is_template = path == WEB / "page" / "page.css"
    content = render_style().encode() if is_template else path.read_bytes()
    response = cached_response(request, content, f"{MEDIA_TYPES[path.suffix]}; charset=utf-8")
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
