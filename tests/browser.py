"""A real browser, spoken to over a pipe: what a page asks the network for and what it complains about."""

import json
import os
import select
import shutil
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TIMEOUT = 240.0
"""Seconds to wait for an answer on a machine that has other things to do."""


class Browser:
    """Chromium without a window, with a profile of its own, that logs what its page does."""

    def __init__(self, profile: Path, width: int = 1200, dark: bool = False) -> None:
        assert CHROMIUM is not None
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        command = [CHROMIUM, *flags, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        # The browser reads its orders from descriptor 3 and answers on 4.
        moved = ["bash", "-c", f'exec "$@" 3<&{orders} 4>&{answers}', "bash", *command]
        self._process = subprocess.Popen(
            moved, pass_fds=(orders, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(orders)
        os.close(answers)
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        [page] = [t for t in self.order("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.order("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.order(f"{domain}.enable")
        phone = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.order("Emulation.setDeviceMetricsOverride", **phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.order("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._orders)
        os.close(self._answers)

    def order(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends an order and waits for its answer; what happens meanwhile is kept in `events`."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            order["sessionId"] = self._session
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        while (message := self._next()).get("id") != self._number:
            self.events.append(message)
        assert "error" not in message, message
        answer: dict[str, Any] = message["result"]
        return answer

    def open(self, path: Path) -> None:
        """Opens a file and waits until the page has loaded."""
        self.order("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.order("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """Everything the page asked for, that is not part of the page itself."""
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if not one["request"]["url"].startswith("data:")]

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """What stands in the console: messages, errors, violations."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event["method"] in kinds]

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG, for people to look at."""
        shot = self.order("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + TIMEOUT
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self._answers, 1 << 16) if ready else b""
            assert more, "the browser says nothing"
            self._unread += more
        message, self._unread = self._unread.split(b"\0", 1)
        parsed: dict[str, Any] = json.loads(message)
        return parsed
