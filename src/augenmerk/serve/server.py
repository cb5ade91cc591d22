"""The process of the service: its socket, its signals, and its end."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Generator

import uvicorn

from augenmerk.errors import AugenmerkError
from augenmerk.serve.app import Service, make_app
from augenmerk.serve.connections import make_protocol

log = logging.getLogger("augenmerk.serve")


SPARE_FILES = 100
"""Files that are open besides connections."""
SWITCH_SECONDS = 0.0005
"""A thread that computes needs Python's lock for moments, between products. While requests are read or
answered, it would wait for it 5 ms each time, as is usual; so 7 % more are answered (measured)."""


class Server(uvicorn.Server):
    """uvicorn's server, whose signals are `serve`'s own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def open_socket(host: str, port: int) -> socket.socket:
    """Opens the socket to listen on; raises AugenmerkError if that is not possible."""
    try:
        [family, kind, protocol, _, address] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AugenmerkError(
            f"The server cannot listen at {host}, port {port} ({reason}): choose another --port or --host."
        ) from None
    return listening


def make_server(service: Service, *, pages: bool = True) -> Server:
    """Returns the server of a service, which is started by `serve(sockets=[...])`."""
    config = uvicorn.Config(
        make_app(service, pages=pages),
        loop="asyncio",
        http=make_protocol(service.limits.idle_seconds, service.limits.connections),
        ws="none",
        lifespan="on",
        log_config=None,  # nothing of a request is logged
        access_log=False,
        proxy_headers=False,  # who is on this machine is decided by the connection alone
        server_header=False,
        timeout_keep_alive=int(service.limits.idle_seconds),
        timeout_graceful_shutdown=int(service.limits.drain_seconds),
    )
    return Server(config)


def raise_file_limit(wanted: int) -> None:
    """Lets the process have as many files open, where the system permits: each connection is one."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def run(
    service: Service,
    listening: socket.socket,
    *,
    pages: bool = True,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or Ctrl-C; then answers what was asked before, and returns."""
    raise_file_limit(service.limits.connections + SPARE_FILES)
    # What is loaded by now stays: the collector would look at it again and again.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)
    asyncio.run(_run(service, listening, pages, on_ready))


async def _run(service: Service, listening: socket.socket, pages: bool, on_ready: Callable[[], None]) -> None:
    server = make_server(service, pages=pages)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if server.should_exit:  # asked twice
            server.force_exit = True
        service.state.draining = True
        server.should_exit = True

    def reload() -> None:
        tasks.add(task := loop.create_task(_reload(service)))
        task.add_done_callback(tasks.discard)

    tasks: set[asyncio.Task[None]] = set()
    for name, handler in (("SIGINT", stop), ("SIGTERM", stop), ("SIGHUP", reload)):
        with contextlib.suppress(AttributeError, NotImplementedError):  # on Windows
            loop.add_signal_handler(getattr(signal, name), handler)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        on_ready()
    await serving


async def _reload(service: Service) -> None:
    try:
        service.access.reload()
        names = await service.batcher.compute(service.library.reload)
        log.info("read anew: %s", ", ".join(names))
    except AugenmerkError as error:
        log.error("%s", error)
