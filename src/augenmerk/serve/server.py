"""The process of the service: its socket, its signals, and its end."""

import asyncio
import contextlib
import gc
import logging
import math
import signal
import socket
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import uvicorn

from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.app import make_app
from augenmerk.serve.connections import Connections
from augenmerk.serve.limits import Limits
from augenmerk.serve.service import Service

log = logging.getLogger("augenmerk.serve")

SPARE_FILES = 100
"""Most files kept free for models, pages and trainings, besides those that are open at the start."""
FEWEST_CONNECTIONS = 8
"""With fewer the server does not start."""
SWITCH_SECONDS = 0.0005
"""Interval at which Python's lock changes hands. A computing thread needs the lock for moments, between
products; with the usual 5 ms, it would wait that long for it whenever requests are read or answered. 7 % more
requests are answered (measured)."""


class Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to `serve` and ends idle connections."""

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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        self._ending_idle.cancel()


def open_socket(host: str, port: int) -> socket.socket:
    """Opens the socket that listens; raises AugenmerkError if that is not possible."""
    try:
        [family, kind, protocol, _, address] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(socket.SOMAXCONN)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AugenmerkError(
            f"The server cannot listen at {host}, port {port} ({reason}): choose another --port or --host."
        ) from None
    return listening


def make_server(
    service: Service, *, pages: bool = True, on_ready: Callable[[], None] = lambda: None
) -> Server:
    """Returns the server of a service, which is started by `serve(sockets=[...])`."""
    limits = service.limits
    connections = Connections(limits.connections, limits.idle_seconds)
    config = uvicorn.Config(
        make_app(service, pages=pages),
        loop="asyncio",
        http=connections.make_protocol,  # type: ignore[arg-type]  # uvicorn only calls it
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
    in_use = _count_open_files()
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


def _count_open_files() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return sum(1 for _ in Path(folder).iterdir()) - 1  # one is open to list them
    return 50


def run(
    service: Service,
    listening: socket.socket,
    *,
    pages: bool = True,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or Ctrl-C; then answers what was asked before, and returns."""
    # What is loaded by now stays: the collector would look at it again and again.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)
    asyncio.run(_run(service, listening, pages, on_ready))


async def _run(service: Service, listening: socket.socket, pages: bool, on_ready: Callable[[], None]) -> None:
    server = make_server(service, pages=pages, on_ready=on_ready)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if server.should_exit:  # asked twice
            server.force_exit = True
            logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # it would trace each task that ends
        service.draining = True
        server.should_exit = True

    def reload() -> None:
        tasks.add(task := loop.create_task(_reload(service)))
        task.add_done_callback(tasks.discard)

    tasks: set[asyncio.Task[None]] = set()
    for name, handler in (("SIGINT", stop), ("SIGTERM", stop), ("SIGHUP", reload)):
        with contextlib.suppress(AttributeError, NotImplementedError):  # on Windows
            loop.add_signal_handler(getattr(signal, name), handler)
    await server.serve(sockets=[listening])


async def _reload(service: Service) -> None:
    try:
        service.access.reload()
        names = await service.batcher.compute(service.registry.reload)
        log.info("reloaded: %s", ", ".join(names))
    except AugenmerkError as error:
        log.error("%s", error)
