"""A server as people ask for it: `augenmerk serve` in a function, with a handle that stops it."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Self

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import Shown
from augenmerk.base.device import CPU, choose_translating_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import as_list, as_paths
from augenmerk.serve.endpoint import Service
from augenmerk.serve.guard import Access, read_keys
from augenmerk.serve.limits import Limits
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.server import Server, fit_connections, make_server, open_socket, run


class ServerHandle(Shown):
    """A server: its address and its models. `stop` ends it, and so does the end of a `with` block."""

    def __init__(
        self,
        runs: Any = (),
        *,
        folder: str | Path = "runs",
        host: str = "127.0.0.1",
        port: int = 8765,
        limits: Mapping[str, Any] | Sequence[str] | None = None,
        keys: str | Path | None = None,
        allow_host: str | Sequence[str] | None = None,
        origin: str | Sequence[str] | None = None,
        pages: bool = True,
        device: str = CPU,
    ) -> None:
        """Loads the models and opens the socket; takes what `augenmerk serve` takes."""
        if isinstance(limits, Mapping):
            limits = [f"{name}={value}" for name, value in limits.items()]
        self._wanted = Limits.parse(limits or ())
        keys_file = None if keys is None else Path(keys)
        hosts, origins = as_list(allow_host, str), as_list(origin, str)
        access = Access(hosts=hosts, origins=origins, keys=read_keys(keys_file))
        chosen = str(choose_translating_device(device))
        registry = ModelRegistry(as_paths(runs), folder=Path(folder), device=chosen)
        self.models, self.pages = registry.names, pages
        self._limits = fit_connections(self._wanted)
        # A GPU computes one batch after another; cores compute as many as there are of them.
        computing = None if chosen == CPU else 1
        self._service = Service(registry, self._limits, access, threads=computing, keys_file=keys_file)
        self._listening = open_socket(host, port)
        # An address for a browser on this machine.
        name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
        number = self._listening.getsockname()[1]
        self.address = f"http://{f'[{name}]' if ':' in name else name}:{number}/"
        self._server: Server | None = None

    def to_dict(self) -> dict[str, Any]:
        about = {"address": self.address, "models": self.models, "pages": self.pages}
        return {**about, "connections": self._limits.connections}

    def show(self) -> Iterator[RenderableType]:
        reason = "the open files that the system allows, see `ulimit -n`"
        if self._limits.connections == self._wanted.connections:
            reason = "--limit connections"
        yield f"{escape(', '.join(self.models))} at [link={self.address}]{self.address}[/link]"
        yield f"at most {self._limits.connections:,} connections ({reason})"

    def check(self) -> None:
        """Finds mistakes without serving, and closes the socket."""
        self._listening.close()
        make_server(self._service, pages=self.pages)

    def run(self, on_ready: Any) -> None:
        """Serves in this thread until SIGTERM or Ctrl-C."""
        run(self._service, self._listening, pages=self.pages, on_ready=on_ready)

    def start(self) -> Self:
        """Serves in a thread of its own, and returns when that answers."""
        ready = threading.Event()
        self._server = make_server(self._service, pages=self.pages, on_ready=ready.set)

        def serve(server: Server) -> None:
            try:
                asyncio.run(server.serve(sockets=[self._listening]))
            finally:
                ready.set()

        self._thread = threading.Thread(target=partial(serve, self._server), daemon=True)
        self._thread.start()
        ready.wait()
        if not self._server.started and not self._thread.is_alive():
            raise AugenmerkError(f"The server at {self.address} could not start.")
        return self

    def stop(self) -> None:
        """Answers what was asked before, and ends the server."""
        if self._server is not None:
            self._service.draining = self._server.should_exit = True
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve(runs: Any = (), **options: Any) -> ServerHandle:
    """Translates over HTTP, and shows the workbench, until the handle that is returned is stopped.

    `runs` are runs or their paths, by default the bundled model. The options are those of `augenmerk serve`:
    folder, host, port (0 for any that is free), limits, keys, allow_host, origin, pages, device.
    """
    return ServerHandle(runs, **options).start()


serve.__signature__ = signature(ServerHandle)  # type: ignore[attr-defined]  # what help shows
