"""Open connections: how many there may be, and how long each may wait for its client.

A process may open only so many files, and a connection is one. So there are at most so many connections; when
there are more, the one that has waited for its client the longest makes room. uvicorn reads and answers the
requests; here it is counted, from outside, what it receives and sends.
"""

import asyncio
import logging
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus

from augenmerk.serve.answers import to_json
from augenmerk.serve.errors import Overloaded

MAX_HEADER_BYTES = 64 * 1024
"""Largest size of a request's address and headers together."""
MAX_HEADER_LINES = 200
MAX_OVERHEAD_BYTES = 512 * 1024
"""Most bytes that a body in chunks may have in a row that are not its own, such as trailers."""
NO_HTTP = re.compile(rb"[^A-Za-z]|PRI ")
"""The beginning of what is encrypted, or of HTTP/2."""
END_OF_HEADERS = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\nContent-Length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\nTransfer-Encoding:", re.IGNORECASE)
UPGRADE = re.compile(rb"\r\nUpgrade:[^\r\n]*(?=\r\n)", re.IGNORECASE)
"""The offer to speak HTTP/2, with which Java and `curl --http2` begin. uvicorn would drop the body of such a
request; without this header it answers it."""
WARNING_SECONDS = 60.0
"""Shortest time between two warnings about too many connections."""
MAX_DISCARDED_BYTES = 64 * 2**20
"""Most bytes read and thrown away after a refusal, so that a client that still sends sees the answer."""
RETRY_SECONDS = 0.1
"""Pause after the system has refused a connection, because files or memory ran out."""

log = logging.getLogger("augenmerk.serve")


class Connections:
    """All open connections."""

    def __init__(self, most: int, seconds: float) -> None:
        """`seconds` is how long each may wait for a request, or for its client to read an answer."""
        self.most = most
        self.seconds = seconds
        self.open: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}
        """Those that wait for their clients, the longest first."""
        self._closed = asyncio.Event()
        self._next_warning = 0.0

    async def accept(self, listening: socket.socket, make_protocol: Callable[[], asyncio.Protocol]) -> None:
        """Accepts connections until it is cancelled."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                self._warn(f"the system refuses a connection ({error.strerror})")
                self._close_longest_waiting()
                await asyncio.sleep(RETRY_SECONDS)
                continue
            try:
                await self._make_room()
                await loop.connect_accepted_socket(lambda: Connection(make_protocol(), self), accepted)
            except OSError:  # the client has gone already
                accepted.close()
            except BaseException:
                accepted.close()
                raise

    def check_capacity(self) -> None:
        """Raises Overloaded if nearly all connections are at work; the rest is kept for health checks."""
        kept = max(1, self.most // 10)
        if len(self.open) - len(self.waiting) > max(1, self.most - kept):
            raise Overloaded(
                "The server is answering as many requests as it has connections: try again later.", 1.0
            )

    async def _make_room(self) -> None:
        while len(self.open) >= self.most:
            self._warn(f"all {self.most:,} connections are in use")
            self._close_longest_waiting()
            self._closed.clear()
            await self._closed.wait()

    def _close_longest_waiting(self) -> None:
        for connection in self.waiting:
            connection.abort()
            return

    def remove(self, connection: "Connection") -> None:
        self.open.discard(connection)
        self.waiting.pop(connection, None)
        self._closed.set()

    def _warn(self, reason: str) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._next_warning:
            self._next_warning = now + WARNING_SECONDS
            log.warning("%s: new ones replace those that have been idle the longest", reason)


class Connection(asyncio.Protocol):
    """One connection, which hands uvicorn's protocol one request at a time.

    It waits for its client, or it is at work: between reading a request and having sent the answer. uvicorn
    itself would take in any number of requests, and of headers, before it answers the first.
    """

    def __init__(self, inner: asyncio.Protocol, connections: Connections) -> None:
        self._inner = inner
        self._connections = connections
        self._timer: asyncio.TimerHandle | None = None
        self._held = bytearray()  # what has arrived of requests that uvicorn has not been given
        self._in_request = False  # from the end of its headers to the end of the answer
        self._answering = False  # the same, without a moment at the beginning
        self._left: int | None = 0  # bytes of the body still to come; None for one in chunks
        self._overhead = 0  # bytes since the last that belonged to the body
        self._paused = False  # whether the client is slow to read its answer
        self._unsent = 0  # bytes of the answer that it had not read at the last look
        self._discarded: int | None = None  # bytes since a refusal

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.open.add(self)
        self._wait()
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
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

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._paused, self._unsent = True, self._transport.get_write_buffer_size()
        self._wait()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._paused, self._unsent = False, 0
        if self._answering:
            self._work()
        self._inner.resume_writing()

    # What the app calls

    def begin_request(self) -> None:
        self._in_request = self._answering = True
        self._work()

    def end_request(self) -> None:
        self._in_request = self._answering = False
        self._wait()
        if self._held:
            asyncio.get_running_loop().call_soon(self._begin_next)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Counts the connection as one that waits for its client, for the rest of a body."""
        self._wait()
        try:
            yield
        finally:
            self._work()

    def count_body(self, size: int) -> None:
        """Is told when bytes of a body were read."""
        if size:
            self._overhead = 0

    def check_capacity(self) -> None:
        self._connections.check_capacity()

    def close(self) -> None:
        """Ends the connection after what is still to be sent."""
        self._transport.close()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._connections.waiting.pop(self, None)
        self._transport.abort()

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
                self._give(self._take(len(self._held)))  # and uvicorn refuses it
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
            self._give(UPGRADE.sub(b"", head))
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
        self._give(self._take(size))

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _give(self, data: bytes) -> None:
        token = _current.set(self)  # the task of the request, which is created here, inherits it
        try:
            self._inner.data_received(data)
        finally:
            _current.reset(token)

    # Waiting

    def _wait(self) -> None:
        if self not in self._connections.open:
            return
        self._connections.waiting.pop(self, None)
        self._connections.waiting[self] = None
        self._start_timer()

    def _work(self) -> None:
        if not self._paused:
            self._connections.waiting.pop(self, None)
            self._stop_timer()

    def _start_timer(self) -> None:
        self._stop_timer()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._connections.seconds, self._look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Ends the connection if the client has sent no request, or has read nothing since the last look."""
        unsent = self._transport.get_write_buffer_size()
        if unsent and self._unsent and unsent >= self._unsent:
            self.abort()
        elif unsent:
            self._unsent = unsent
            self._start_timer()
        elif self._answering:
            pass  # it waits for a body, which has a limit of its own
        elif self._held and not self._in_request and self._discarded is None:
            self._refuse(408, f"The headers did not arrive within {self._connections.seconds:g} seconds.")
        else:
            self.close()

    def _refuse(self, status: int, sentence: str) -> None:
        """Answers what is not a request, and reads no further one.

        The connection stays open until the client closes it or its time is over: if it were closed while
        bytes arrive, the system would discard the answer.
        """
        body = to_json({"error": sentence})
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        end = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self._transport.write((head + end).encode() + body)
        self._transport.write_eof()
        self._discarded = 0
        self._held.clear()
        self._wait()


_current: ContextVar[Connection | None] = ContextVar("connection", default=None)


def current_connection() -> Connection | None:
    """Returns the connection of the request that is being answered; None without a server, as in tests."""
    return _current.get()
