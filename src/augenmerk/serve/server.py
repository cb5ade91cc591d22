"""The app of the service and its process: routes, socket, signals, and its end."""

import asyncio
import contextlib
import gc
import logging
import math
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.api import ENDPOINTS
from augenmerk.serve.connections import Connection, Connections
from augenmerk.serve.endpoint import Service
from augenmerk.serve.guard import Guard, read_keys
from augenmerk.serve.limits import Limits, ServiceError, error_response

log = logging.getLogger("augenmerk.serve")

SPARE_FILES = 100
"""Most files kept free for models, pages and trainings, besides those that are open at the start."""
FEWEST_CONNECTIONS = 8
"""With fewer the server does not start."""
SWITCH_SECONDS = 0.0005
"""Interval at which Python's lock changes hands. A computing thread needs the lock for moments, between
products; with the usual 5 ms, it would wait that long for it whenever requests are read or answered. 7 % more
requests are answered (measured)."""


def make_app(service: Service, *, pages: bool = True) -> Starlette:
    """Returns the app: the API, and with `pages` the workbench."""
    routes = [each.make_route() for each in ENDPOINTS]
    if pages:
        from augenmerk.serve.workbench import make_pages

        routes += make_pages(service)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await service.batcher.close()
        for close in service.closing:
            await asyncio.to_thread(close)

    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, service=service, paths=[each.path for each in ENDPOINTS])],
        exception_handlers={AugenmerkError: _handle_error, HTTPException: _handle_error},
        lifespan=lifespan,
    )
    app.state.service, app.state.pages = service, pages
    return app


async def _handle_error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        sentences = {
            404: f"There is nothing at {request.url.path}: /docs lists what there is.",
            405: f"{request.method} is not possible at {request.url.path}: /docs lists the methods.",
        }
        sentence = sentences.get(error.status_code, f"{error.detail}.")
        error = ServiceError(error.status_code, sentence, error.headers)
    assert isinstance(error, AugenmerkError)
    return error_response(error)


class Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to `run` and ends idle connections."""

    def __init__(
        self, config: uvicorn.Config, connections: Connections, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._connections = connections
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(socket.SOMAXCONN)  # `backlog` is only how many are accepted in a row
        self._ending_idle = asyncio.create_task(self._connections.end_idle())
        self._on_ready()


def open_socket(host: str, port: int) -> socket.socket:
    """Opens the socket that listens; raises AugenmerkError if that is not possible."""
    if not (isinstance(port, int) and 0 <= port < 2**16):  # the system would take the rest of a division
        raise AugenmerkError(f"A port is a number from 0 to 65535, not {port}.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        dualstack = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(
            address, family=family, backlog=socket.SOMAXCONN, dualstack_ipv6=dualstack
        )
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        raise AugenmerkError(
            f"The server cannot listen at {host}, port {port} ({reason}): choose another --port or --host."
        ) from None


def make_server(
    service: Service, *, pages: bool = True, on_ready: Callable[[], None] = lambda: None
) -> Server:
    """Returns the server of a service, which is started by `serve(sockets=[...])`."""
    limits = service.limits
    connections = Connections(limits.connections, limits.idle_seconds)
    config = uvicorn.Config(
        make_app(service, pages=pages),
        loop="asyncio",
        http=partial(Connection, connections),  # type: ignore[arg-type]  # uvicorn only calls it
        ws="none",
        lifespan="on",
        log_config=None,  # nothing of a request is logged
        access_log=False,
        backlog=1,  # the next is accepted when there is room, so that files do not run out
        proxy_headers=False,  # who is on this machine is decided by the connection alone
        server_header=False,
        timeout_keep_alive=2 * math.ceil(limits.idle_seconds),  # `Connections` are faster
        timeout_graceful_shutdown=math.ceil(limits.drain_seconds),
    )
    return Server(config, connections, on_ready)


def fit_connections(limits: Limits) -> Limits:
    """Returns the limits with no more connections than this process may open, besides its files.

    Each connection is an open file. The process is first given as many as it wants, if the system permits.
    Raises AugenmerkError if there are too few to serve anybody.
    """
    try:
        import resource
    except ImportError:  # on Windows
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 2**31
    in_use = 50
    with contextlib.suppress(OSError):
        in_use = len(list(Path("/dev/fd").iterdir())) - 1  # one is open to list them
    wanted = in_use + SPARE_FILES + limits.connections
    if soft != resource.RLIM_INFINITY and soft < min(wanted, hard):
        with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
            soft = min(wanted, hard)
    if soft == resource.RLIM_INFINITY:
        return limits
    left = soft - in_use - min(SPARE_FILES, soft // 3)
    if left < min(FEWEST_CONNECTIONS, limits.connections):
        raise AugenmerkError(
            f"This process may open {soft} files and has opened {in_use}, which leaves none for connections: "
            f"allow more of them, as by `ulimit -n 1024`."
        )
    return limits.model_copy(update={"connections": min(limits.connections, left)})


def run(
    service: Service, listening: socket.socket, *, pages: bool = True, on_ready: Callable[[], None]
) -> None:
    """Serves until SIGTERM or Ctrl-C; then answers what was asked before, and returns."""
    # What is loaded by now stays: the collector would look at it again and again.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)

    async def serve() -> None:
        server = make_server(service, pages=pages, on_ready=on_ready)
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[None]] = set()

        def stop() -> None:
            if server.should_exit:  # asked twice
                server.force_exit = True
                logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # it would trace each task that ends
            service.draining = True
            server.should_exit = True

        def reload() -> None:
            tasks.add(task := loop.create_task(_reload(service)))
            task.add_done_callback(tasks.discard)

        for name, handler in (("SIGINT", stop), ("SIGTERM", stop), ("SIGHUP", reload)):
            with contextlib.suppress(AttributeError, NotImplementedError):  # on Windows
                loop.add_signal_handler(getattr(signal, name), handler)
        await server.serve(sockets=[listening])

    asyncio.run(serve())


async def _reload(service: Service) -> None:
    """Reloads keys and runs; what cannot be read stays as it was."""
    try:
        if service.keys_file is not None:
            service.access.set_keys(read_keys(service.keys_file))
        names = await service.batcher.compute(service.registry.reload)
        log.info("reloaded: %s", ", ".join(names))
    except AugenmerkError as error:
        log.error("%s", error)
