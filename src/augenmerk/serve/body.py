"""The body of a request: its size is limited, and what nobody reads is discarded."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext, suppress

from starlette.types import Message, Receive

from augenmerk.serve.connections import MAX_DISCARDED_BYTES, current_connection
from augenmerk.serve.errors import TooLarge
from augenmerk.serve.limits import Limits


class Body:
    """The body of a request: counted as it arrives, and discarded if an answer was given before its end.

    A client that sends all of its body before it reads the answer would otherwise find the connection reset.
    """

    def __init__(self, headers: Sequence[tuple[bytes, bytes]], receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._limits = limits
        self._declared = 0
        self._expects_continue = False  # it sends the body only when it is asked for
        self._unread = False  # whether some of it is still to come
        self._received = 0
        self._closing = False
        for name, value in headers:
            if name == b"content-length":
                self._declared = int(value)  # the parser lets digits through only
                self._unread = self._declared > 0
            elif name == b"transfer-encoding":
                self._unread = True
            elif name == b"expect":
                self._expects_continue = True

    def check_length(self) -> None:
        """Raises TooLarge if the body is larger than the limit."""
        if max(self._declared, self._received) > self._limits.body:
            raise TooLarge(
                f"The body has more than {self._limits.body:,} bytes, the limit here: ask for less at once."
            )

    async def receive(self) -> Message:
        """Returns the next piece; raises TooLarge."""
        message = await self._receive_piece()
        self.check_length()
        return message

    async def _receive_piece(self) -> Message:
        self._expects_continue = False
        message = await self._receive()
        size = len(message.get("body", b""))
        self._received += size
        if (connection := current_connection()) is not None:
            connection.count_body(size)
        self._unread = message["type"] == "http.request" and message.get("more_body", False)
        return message

    def begin_answer(self, headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Returns the header that an answer needs in addition if the body will not be read."""
        self._closing = (b"connection", b"close") in headers
        if self._closing or not (self._unread and self._expects_continue):
            return []
        self._closing = True
        return [(b"connection", b"close")]

    @property
    def must_be_discarded(self) -> bool:
        return self._unread and not self._closing

    async def discard(self) -> None:
        """Reads the rest; closes the connection if that is too much or takes too long."""
        connection = current_connection()
        most = self._received + MAX_DISCARDED_BYTES
        with suppress(TimeoutError), nullcontext() if connection is None else connection.waiting():
            async with asyncio.timeout(self._limits.body_seconds):
                while self._unread and self._received < most:
                    await self._receive_piece()
        if self._unread and connection is not None:
            connection.close()
