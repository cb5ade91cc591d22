"""Connections that say nothing, or too little, are closed, so that they take nothing from others.

uvicorn closes a connection that is idle after an answer, but waits forever for a first request, for the end
of its headers, and for a client that does not read its answer.
"""

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from augenmerk.serve.answers import to_json

MAX_HEADER_BYTES = 64 * 1024
"""The headers of a request, and its address, have no more bytes."""


class PatientProtocol(HttpToolsProtocol):
    """HTTP over one connection, whose client has so many seconds to send headers, and to read an answer.

    When there are too many connections, the one that has been idle for the longest time makes room.
    """

    seconds: float = 30.0
    most: int = 2_000

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._in_headers = True
        self._unsent: int | None = None  # bytes that a client has not read yet, while it is too slow
        self.idle_since: float | None = None
        """When this connection began to wait for a request; None while it has one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > self.most:
            idle = [one for one in self.connections if isinstance(one, PatientProtocol) and one.idle_since]
            min(idle, key=lambda one: one.idle_since or 0.0).transport.abort()  # this one, if no other is

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(431, f"The headers have more than {MAX_HEADER_BYTES:,} bytes.")

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._header_bytes = 0
        self.idle_since = None
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_headers = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            # uvicorn's timer ends when anything arrives; ours, when all headers have.
            self._unset_keepalive_if_required()
            self._expect_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent = None
        self._stop_timer()
        if self.idle_since is not None:  # the answer was complete before all of it was read
            self._expect_request()

    def _expect_reading(self) -> None:
        """Ends the connection unless the client has read something until the next look."""
        size = self.transport.get_write_buffer_size()
        if self._unsent is not None and size >= self._unsent:
            self.transport.abort()
            return
        self._unsent = size
        self._stop_timer()
        self._timer = self.loop.call_later(self.seconds, self._expect_reading)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _expect_request(self) -> None:
        self.idle_since = self.loop.time()
        if self._unsent is not None:
            return
        self._stop_timer()
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _give_up(self) -> None:
        if self._header_bytes:
            self._refuse(408, f"The headers did not arrive within {self.seconds:g} seconds.")
        else:
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, sentence: str) -> None:
        """Answers what is not HTTP, and closes the connection."""
        body = to_json({"error": sentence})
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        end = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write((head + end).encode() + body)
        self.transport.close()


def make_protocol(seconds: float, most: int) -> type[PatientProtocol]:
    """Returns the protocol with these limits."""
    return type("Protocol", (PatientProtocol,), {"seconds": seconds, "most": most})
