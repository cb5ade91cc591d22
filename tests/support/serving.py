"""A real server in a thread of the test, on a free port, and what talks to it."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import httpx

from augenmerk.serve.endpoint import Service
from augenmerk.serve.guard import Access
from augenmerk.serve.limits import Limits, ServiceError
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.server import Server, make_server, open_socket

T = TypeVar("T")
SECONDS = 60
"""As long does a test wait for what never takes long; only a hanging server makes it fail."""


class Serving:
    """A server that is running."""

    def __init__(self, server: Server, service: Service, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.service = service
        self._server = server
        self.port = port
        self.address = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.address, timeout=SECONDS)
        self._loop = loop

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        return self.client.post(path, json=body, headers=headers)

    def translate(self, text: str | list[str], **settings: object) -> list[str]:
        """Returns the translations of texts by /v1/translate."""
        answer = self.post("/v1/translate", {"text": text, **settings})
        assert answer.status_code == 200, answer.text
        return [one["translation"] for one in answer.json()["translations"]]

    def refuses(self, status: int, path: str, body: object, **headers: str) -> str:
        """Returns the sentence with which a request is refused."""
        return read_refusal(status, self.post(path, body, **headers))

    def connect(self) -> socket.socket:
        """Opens a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def serves(self, client: socket.socket) -> bool:
        """Whether the server has a connection with a client open."""
        connections = self._server._connections.open.copy()
        return client.getsockname() in [each.transport.get_extra_info("peername") for each in connections]

    def submit(self, work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
        """Runs a coroutine in the event loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[return-value]

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Keeps the (only) thread that computes from computing: whatever is asked meanwhile has to wait."""
        begun, end = threading.Event(), threading.Event()

        def wait() -> None:
            begun.set()
            assert end.wait(SECONDS)

        waiting = self.submit(self.service.batcher.compute(wait))
        assert begun.wait(SECONDS)
        try:
            yield
        finally:
            end.set()
            with suppress(ServiceError):
                waiting.result(SECONDS)  # type: ignore[call-arg]

    def wait_for_queue(self, texts: int) -> None:
        """Waits until so many texts are in the queue, functions counted in."""
        pause = threading.Event()
        for _ in range(100 * SECONDS):
            if self.service.batcher.queued == texts:
                return
            pause.wait(0.01)
        raise AssertionError(f"{self.service.batcher.queued} texts are waiting, not {texts}")


def read_refusal(status: int, answer: httpx.Response) -> str:
    """Returns the one sentence of an error."""
    assert answer.status_code == status, answer.text
    [(key, sentence)] = answer.json().items()
    assert key == "error"
    assert isinstance(sentence, str)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@contextmanager
def serving(
    registry: ModelRegistry,
    *,
    threads: int | None = None,
    pages: bool = False,
    hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
    **limits: Any,
) -> Iterator[Serving]:
    """Serves models with some limits changed."""
    access = Access(hosts=hosts, origins=origins, keys=keys)
    service = Service(registry, Limits(**limits), access, threads=threads)
    server = make_server(service, pages=pages)
    listening = open_socket("127.0.0.1", 0)
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve(sockets=[listening])

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        pause = threading.Event()
        while not server.started and thread.is_alive():
            pause.wait(0.01)
        one = Serving(server, service, listening.getsockname()[1], loops[0])
        with one.client:
            yield one
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()
