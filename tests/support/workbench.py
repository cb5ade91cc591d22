"""A server with the workbench, for tests: in a thread of this process, and views of it in a browser."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from augenmerk.serve.registry import ModelRegistry
from tests.support.browser import TIMEOUT, WatchedTab
from tests.support.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext


@contextmanager
def serve_workbench(runs: Sequence[Path], folder: Path) -> Iterator[str]:
    """Serves the pages at a free port, and yields their address."""
    with serving(ModelRegistry(runs, folder=folder), pages=True) as server:
        yield server.address


def ask(address: str, question: Any = None, **headers: str) -> tuple[int, Any]:
    """Gets JSON, or posts a question, and returns the status and the answer."""
    body = None if question is None else json.dumps(question).encode()
    request = Request(address, body, {"Content-Type": "application/json", **headers})
    try:
        with urlopen(request, timeout=TIMEOUT) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


class WorkbenchTab(WatchedTab):
    """A view of the workbench in a tab."""

    def __init__(self, context: "BrowserContext", address: str) -> None:
        super().__init__(context, address)
        self.tab.wait_for_selector("#theme option", state="attached")

    def sticks_out(self) -> int:
        """By how many pixels the page is wider than the window."""
        width: int = self.tab.evaluate("document.documentElement.scrollWidth - innerWidth")
        return width
