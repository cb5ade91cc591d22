"""Pages in a real browser: what they complain about and ask for, and modules of JavaScript alone in one."""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
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
        self.visits = 0
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

    def wait(self, expression: str, argument: Any = None) -> None:
        """Waits until an expression is true; Playwright's own way would need eval, which pages forbid."""
        until = time.monotonic() + TIMEOUT
        while not self.tab.evaluate(expression, argument):
            assert time.monotonic() < until, expression
            time.sleep(0.01)

    def go(self, fragment: str = "") -> None:
        """Leads a page that is open to another state, as a link does."""
        self.visits += 1  # no two addresses are equal, so the page always notices
        self.tab.evaluate(
            """hash => new Promise(resolve => {
              addEventListener("hashchange", resolve, { once: true });
              location.hash = hash;
            })""",
            f"#{self.visits}&{fragment}",
        )

    def fragment(self) -> dict[str, str]:
        """What the address says after its #."""
        hash_ = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
        found: dict[str, str] = self.tab.evaluate(hash_)
        return found

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
