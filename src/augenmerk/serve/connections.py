"""Open connections: how many there may be, and how long each may wait for its client.

uvicorn bounds neither: `limit_concurrency` answers 503 on connections that stay open, its timeout begins
after the first response, httptools takes headers of any size, and all pipelined requests are parsed at once.
So each of uvicorn's protocols is wrapped in a `Connection`, which hands it one request at a time. A process
may open only so many files, and a connection is one: when all are in use, the one that has waited for its
client the longest makes room.
"""

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from augenmerk.serve.errors import Overloaded, sentence_response

MAX_HEADER_BYTES = 64 * 1024
"""Largest size of a request's address and headers together."""
MAX_HEADER_LINES = 200
MAX_OVERHEAD_BYTES = 512 * 1024
"""Most bytes in a row that a chunked body may have besides its content, such as trailers."""
MAX_DISCARDED_BYTES = 64 * 2**20
"""Most bytes read and thrown away after a refusal, so that a client that still sends sees the response."""
WARNING_SECONDS = 60.0
"""Shortest time between two warnings about too many connections."""
END_OF_HEADERS = b"\r\n\r\n"
NO_HTTP = re.compile(rb"[^A-Za-z]|PRI ")
"""The beginning of TLS or HTTP/2."""
LENGTH = re.compile(rb"\r\nContent-Length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\nTransfer-Encoding:", re.IGNORECASE)
UPGRADE = re.compile(rb"\r\nUpgrade:[^\r\n]*(?=\r\n)", re.IGNORECASE)
"""The offer to speak HTTP/2, with which Java and `curl --http2` begin. uvicorn would drop the body of such a
request; without this header it answers it."""

log = logging.getLogger("augenmerk.serve")


class Connections:
    """All open connections."""

    def __init__(self, limit: int, idle_seconds: float) -> None:
        """`idle_seconds` is how long each may wait for a request, or for its client to read a response."""
        self.limit = limit
        self.idle_seconds = idle_seconds
        self.open: set[Connection] = set()
        self.waiting: dict[Connection, float] = {}
        """Those that wait for their clients, and since when; the longest first."""
        self._next_warning = 0.0

    def make_protocol(
        self,
        *,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> "Connection":
        """Makes the protocol of a new connection, as uvicorn asks for it."""
        return Connection(self, config, server_state, app_state, _loop)

    def add(self, connection: "Connection") -> None:
        """Adds a connection; closes the one that has waited the longest if there are too many."""
        self.open.add(connection)
        if len(self.open) > self.limit:
            now = asyncio.get_running_loop().time()
            if now >= self._next_warning:
                self._next_warning = now + WARNING_SECONDS
                log.warning(
                    "all %s connections are in use: new ones replace those that have been idle the longest",
                    f"{self.limit:,}",
                )
            next(iter(self.waiting), connection).abort()

    def remove(self, connection: "Connection") -> None:
        self.open.discard(connection)
        self.waiting.pop(connection, None)

    def check_capacity(self) -> None:
        """Raises Overloaded if nearly all connections are at work; the rest is kept for health checks."""
        if len(self.open) - len(self.waiting) > max(1, self.limit - max(1, self.limit // 10)):
            raise Overloaded(
                "The server is answering as many requests as it has connections: try again later.", 1.0
            )

    async def end_idle(self) -> None:
        """Ends connections that have waited too long, until it is cancelled."""
        while True:
            await asyncio.sleep(self.idle_seconds / 4)
            latest = asyncio.get_running_loop().time() - self.idle_seconds
            for connection in [each for each, since in self.waiting.items() if since <= latest]:
                connection.end_if_idle()


class Connection(asyncio.Protocol):
    """One connection, which hands uvicorn's protocol one request at a time.

    It waits for its client, or it is at work: between reading a request and having sent the response. The app
    finds it in `scope["state"]["connection"]`.
    """

    def __init__(
        self,
        connections: Connections,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self._inner = HttpToolsProtocol(config, server_state, {**app_state, "connection": self}, loop)
        self._connections = connections
        self._held = bytearray()  # what has arrived of requests that uvicorn has not been given
        self._in_request = False  # from the end of its headers to the end of the response
        self._left: int | None = 0  # bytes of the body still to come; None for one in chunks
        self._overhead = 0  # bytes since the last that belonged to the body
        self._paused = False  # whether the client is slow to read its response
        self._unsent = 0  # bytes of the response that it had not read when that was last checked
        self._discarded: int | None = None  # bytes since a refusal

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(transport)
        self._connections.add(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._discarded is not None:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED_BYTES:
                self.abort()
            return
        self._held += data
        self._hand_over()
        if self._in_request and self._held:
            self._transport.pause_reading()  # until the request is answered

    def eof_received(self) -> None:
        self._inner.eof_received()

    def pause_writing(self) -> None:
        self._paused, self._unsent = True, self._transport.get_write_buffer_size()
        self._wait()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._paused, self._unsent = False, 0
        if self._in_request:
            self._work()
        self._inner.resume_writing()

    # What the app calls

    def begin_request(self) -> None:
        self._work()

    def end_request(self) -> None:
        self._in_request = False
        self._wait()
        if self._held:
            asyncio.get_running_loop().call_soon(self._begin_next)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Counts the connection as waiting while it reads the rest of a body."""
        self._wait()
        try:
            yield
        finally:
            self._work()

    def count_body(self, size: int) -> None:
        """Notes that bytes of a body were read."""
        if size:
            self._overhead = 0

    def check_capacity(self) -> None:
        self._connections.check_capacity()

    def close(self) -> None:
        """Ends the connection after what is still to be sent."""
        self._transport.close()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._connections.remove(self)
        self._transport.abort()

    def end_if_idle(self) -> None:
        """Ends the connection if the client sent no request, or has read nothing since the last check."""
        unsent = self._transport.get_write_buffer_size()
        if unsent and self._unsent and unsent >= self._unsent:
            self.abort()
        elif unsent:
            self._unsent = unsent
            self._wait()
        elif self._in_request:
            pass  # it waits for a body, which has its own limit
        elif self._held and self._discarded is None:
            self._refuse(
                408, f"The headers did not arrive within {self._connections.idle_seconds:g} seconds."
            )
        else:
            self.close()

    # Handing over

    def _begin_next(self) -> None:
        if not self._transport.is_closing():
            self._hand_over()
            if not (self._in_request and self._held):
                self._transport.resume_reading()

    def _hand_over(self) -> None:
        """Gives uvicorn what it may have: the headers of a request when they are complete, then its body."""
        if not self._in_request:
            if self._held.startswith((b"\r", b"\n")):  # between requests they mean nothing
                self._held = self._held.lstrip(b"\r\n")
            end = self._held.find(END_OF_HEADERS, 0, MAX_HEADER_BYTES)
            if NO_HTTP.match(self._held) or (end < 0 and b"\n\n" in self._held):
                self._inner.data_received(self._take(len(self._held)))  # which refuses it
                return
            if end < 0:
                if len(self._held) >= MAX_HEADER_BYTES:
                    self._refuse(431, f"The headers have more than {MAX_HEADER_BYTES:,} bytes.")
                return
            head = self._take(end + len(END_OF_HEADERS))
            if head.count(b"\r\n") > MAX_HEADER_LINES:
                self._refuse(431, f"There are more than {MAX_HEADER_LINES} headers.")
                return
            length = LENGTH.search(head)
            self._left = None if CHUNKED.search(head) else int(length[1]) if length else 0
            self._overhead = 0
            self._in_request = True
            self._inner.data_received(UPGRADE.sub(b"", head))
        size = len(self._held) if self._left is None else min(self._left, len(self._held))
        if not size or self._transport.is_closing():
            return
        if self._left is not None:
            self._left -= size
        else:
            self._overhead += size
            if self._overhead > MAX_OVERHEAD_BYTES:
                self.abort()
                return
        self._inner.data_received(self._take(size))

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _wait(self) -> None:
        """Counts the connection as one that waits for its client from now on."""
        if self in self._connections.open:
            self._connections.waiting.pop(self, None)
            self._connections.waiting[self] = asyncio.get_running_loop().time()

    def _work(self) -> None:
        if not self._paused:
            self._connections.waiting.pop(self, None)

    def _refuse(self, status: int, sentence: str) -> None:
        """Answers what is not a request, and reads no further one.

        The connection stays open until the client closes it or its time is over: if it were closed while
        bytes arrive, the system would discard the response.
        """
        response = sentence_response(status, sentence, {"connection": "close"})
        lines = [b"HTTP/1.1 %d %b" % (status, HTTPStatus(status).phrase.encode())]
        lines += [b"%b: %b" % header for header in response.raw_headers]
        self._transport.write(b"\r\n".join(lines) + END_OF_HEADERS + bytes(response.body))
        self._transport.write_eof()
        self._discarded = 0
        self._held.clear()
        self._wait()
