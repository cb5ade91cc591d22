"""Pages in a real browser: what they complain about and ask for, and modules of JavaScript alone in one."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import augenmerk.web

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request, Route

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TIMEOUT = 60.0
"""Seconds to wait for what a page does, on a machine that has other things to do."""
ENGINE = Path(augenmerk.web.__file__).parent / "engine"


class WatchedTab:
    """A page in a tab, with all that it asks for and all complaints: those of the page and of the browser,
    requests that fail, and requests for what is neither in the page nor beside it on its server.

    A request that the page itself gives up, for a newer question or to go elsewhere, has not failed."""

    def __init__(self, context: "BrowserContext", address: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        # A file may ask for nothing but itself.
        self._own = address.partition("#")[0] if address.startswith("file:") else urljoin(address, ".")
        self.tab: Page = context.new_page()
        self.tab.set_default_timeout(TIMEOUT * 1000)
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("requestfailed", self._note_failure)
        self.tab.on("request", self._note_request)
        self.tab.goto(address)

    def _note_failure(self, request: "Request") -> None:
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.url}")

    def _note_request(self, request: "Request") -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self._own, "data:", "blob:")):
            self.complaints.append(f"outside: {request.url}")


def open_engine(chromium: "Browser", *modules: str, folder: Path = ENGINE) -> "Page":
    """Opens an empty page that has what these modules export, those of the engine or of another folder."""

    # A browser imports no modules from a disk.
    def serve(route: "Route") -> None:
        name = route.request.url.rpartition("/")[2]
        if name:
            route.fulfill(path=folder / name, content_type="text/javascript")
        else:
            route.fulfill(body="<!DOCTYPE html>", content_type="text/html")

    page = chromium.new_page()
    page.context.route("http://page.test/*", serve)  # also what its workers ask for
    page.goto("http://page.test/")
    for module in modules:
        page.evaluate("async (module) => void Object.assign(window, await import(module))", f"/{module}")
    return page
