"""A real server in a thread of this process, on a port that is free."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from augenmerk.serve.app import Service
from augenmerk.serve.library import Library
from augenmerk.serve.limits import Limits
from augenmerk.serve.server import make_server, open_socket


class RunningServer:
    """The service with its pages; it listens while the context is open."""

    def __init__(self, runs: Sequence[Path], *, folder: Path, **limits: Any) -> None:
        self.service = Service.of(Library(runs, folder=folder), Limits(**limits))
        self._server = make_server(self.service)
        self._socket = open_socket("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            self._thread.join(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
