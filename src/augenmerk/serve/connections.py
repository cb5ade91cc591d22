"""Open connections and the bodies of requests: how many, how large, and how long each waits for its client.

uvicorn bounds none of these: `limit_concurrency` answers 503 on connections that stay open, its timeout
begins after the first response, httptools takes headers of any size, and all pipelined requests are parsed at
once. So a `Connection` hands uvicorn's protocol one request at a time. Each connection is an open file, of
which a process may have only so many: when all are in use, the one that has waited for its client the longest
makes room.
"""

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from augenmerk.serve.limits import Limits, Overloaded, ServiceError, error_response

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
            raise Overloaded("All connections are in use by other requests: try again later.", 1.0)

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

    transport: asyncio.Transport

    def __init__(
        self,
        connections: Connections,
        *,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Takes what uvicorn passes to its own protocols, after `connections`."""
        self.connections = connections
        self.overhead = 0  # bytes of a chunked body since the last that belonged to its content
        self._inner = HttpToolsProtocol(config, server_state, {**app_state, "connection": self}, _loop)
        self._held = bytearray()  # what has arrived of requests that uvicorn has not been given
        self._in_request = False  # from the end of its headers to the end of the response
        self._left: int | None = 0  # bytes of the body still to come; None for one in chunks
        self._paused = False  # whether the client is slow to read its response
        self._unsent = 0  # bytes of the response that it had not read when that was last checked
        self._discarded: int | None = None  # bytes since a refusal

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._inner.connection_made(transport)
        self.connections.add(self)
        self.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.remove(self)
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
            self.transport.pause_reading()  # until the request is answered

    def pause_writing(self) -> None:
        self._paused, self._unsent = True, self.transport.get_write_buffer_size()
        self.wait()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._paused, self._unsent = False, 0
        if self._in_request:
            self.work()
        self._inner.resume_writing()

    # What the app calls

    def work(self) -> None:
        """Counts the connection as one at work from now on."""
        if not self._paused:
            self.connections.waiting.pop(self, None)

    def wait(self) -> None:
        """Counts the connection as one that waits for its client from now on."""
        if self in self.connections.open:
            self.connections.waiting.pop(self, None)
            self.connections.waiting[self] = asyncio.get_running_loop().time()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Counts the connection as waiting while it reads the rest of a body."""
        self.wait()
        try:
            yield
        finally:
            self.work()

    def end_request(self) -> None:
        self._in_request = False
        self.wait()
        if self._held:
            asyncio.get_running_loop().call_soon(self._begin_next)

    def abort(self) -> None:
        """Ends the connection at once."""
        self.connections.remove(self)
        self.transport.abort()

    def end_if_idle(self) -> None:
        """Ends the connection if the client sent no request, or has read nothing since the last check."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._unsent and unsent >= self._unsent:
            self.abort()
        elif unsent:
            self._unsent = unsent
            self.wait()
        elif self._in_request:
            pass  # it waits for a body, which has its own limit
        elif self._held and self._discarded is None:
            self._refuse(408, f"No headers arrived within {self.connections.idle_seconds:g} seconds.")
        else:
            self.transport.close()

    # Handing over

    def _begin_next(self) -> None:
        if not self.transport.is_closing():
            self._hand_over()
            if not (self._in_request and self._held):
                self.transport.resume_reading()

    def _hand_over(self) -> None:
        """Gives uvicorn what it may have: the headers of a request when they are complete, then its body."""
        if not self._in_request and not self._hand_over_headers():
            return
        size = len(self._held) if self._left is None else min(self._left, len(self._held))
        if not size or self.transport.is_closing():
            return
        if self._left is not None:
            self._left -= size
        else:
            self.overhead += size
            if self.overhead > MAX_OVERHEAD_BYTES:
                self.abort()
                return
        self._inner.data_received(self._take(size))

    def _hand_over_headers(self) -> bool:
        """Returns whether a request has begun; refuses headers that are too large, and what is not HTTP."""
        if self._held.startswith((b"\r", b"\n")):  # between requests they mean nothing
            self._held = self._held.lstrip(b"\r\n")
        end = self._held.find(END_OF_HEADERS, 0, MAX_HEADER_BYTES)
        if NO_HTTP.match(self._held) or (end < 0 and b"\n\n" in self._held):
            self._inner.data_received(self._take(len(self._held)))  # which refuses it
        elif end < 0 and len(self._held) >= MAX_HEADER_BYTES:
            self._refuse(431, f"The headers have more than {MAX_HEADER_BYTES:,} bytes.")
        elif self._held.count(b"\r\n", 0, max(0, end)) > MAX_HEADER_LINES:
            self._refuse(431, f"There are more than {MAX_HEADER_LINES} headers.")
        elif end >= 0:
            head = self._take(end + len(END_OF_HEADERS))
            length = LENGTH.search(head)
            self._left = None if CHUNKED.search(head) else int(length[1]) if length else 0
            self.overhead = 0
            self._in_request = True
            self._inner.data_received(UPGRADE.sub(b"", head))
        return self._in_request

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _refuse(self, status: int, sentence: str) -> None:
        """Answers what is not a request, and reads no further one.

        The connection stays open until the client closes it or its time is over: if it were closed while
        bytes arrive, the system would discard the response.
        """
        response = error_response(ServiceError(status, sentence, {"connection": "close"}))
        lines = [b"HTTP/1.1 %d %b" % (status, HTTPStatus(status).phrase.encode())]
        lines += [b"%b: %b" % header for header in response.raw_headers]
        self.transport.write(b"\r\n".join(lines) + END_OF_HEADERS + bytes(response.body))
        self.transport.write_eof()
        self._discarded = 0
        self._held.clear()
        self.wait()


class Body:
    """The body of a request: counted as it arrives, and discarded if the response comes before its end.

    Otherwise a client that sends all of its body before it reads would find the connection reset.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        headers = dict(scope["headers"])
        self._connection: Connection = scope["state"]["connection"]
        self._receive, self._send = receive, send
        self._seconds, self._most = limits.body_seconds, limits.body
        self._declared = int(headers.get(b"content-length", 0))  # the parser lets digits through only
        self._unread = self._declared > 0 or b"transfer-encoding" in headers
        self._expects_continue = b"expect" in headers  # it sends the body only when it is asked for
        self._received = 0
        self._closing = False

    def check_length(self) -> None:
        """Raises ServiceError if the body is larger than the limit."""
        if max(self._declared, self._received) > self._most:
            raise ServiceError(
                413, f"The body has more than {self._most:,} bytes, the limit here: send less at once."
            )

    async def receive(self) -> Message:
        """Returns the next piece; raises ServiceError if the body is too large."""
        self._expects_continue = False
        message = await self._receive()
        if size := len(message.get("body", b"")):
            self._received += size
            self._connection.overhead = 0
        self._unread = message["type"] == "http.request" and message.get("more_body", False)
        self.check_length()
        return message

    async def send(self, message: Message) -> None:
        """Sends a response; reads the rest of the body before its end, unless the connection is closed."""
        if message["type"] == "http.response.start":
            self._closing = (b"connection", b"close") in message["headers"]
            if not self._closing and self._unread and self._expects_continue:
                self._closing = True
                message["headers"] = [*message["headers"], (b"connection", b"close")]
        elif self._unread and not self._closing and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._discard()
            message = {"type": "http.response.body"}
        await self._send(message)

    async def _discard(self) -> None:
        """Reads the rest; closes the connection if that is too much or takes too long."""
        self._declared, self._most = 0, self._received + MAX_DISCARDED_BYTES
        with suppress(TimeoutError, ServiceError), self._connection.waiting():
            async with asyncio.timeout(self._seconds):
                while self._unread:
                    await self.receive()
        if self._unread:
            self._connection.transport.close()


async def read_body(request: Request, limits: Limits) -> bytes:
    """Returns the body of a request; raises ServiceError if it is too large or does not arrive."""
    connection: Connection = request.scope["state"]["connection"]
    try:
        with connection.waiting():
            async with asyncio.timeout(limits.body_seconds):
                body = await request.body()
    except TimeoutError:
        sentence = f"The body did not arrive within {limits.body_seconds:g} seconds."
        raise ServiceError(408, sentence, {"connection": "close"}) from None
    connection.connections.check_capacity()
    return body
