"""The body of a request: its size and time are limited, and what nobody reads is discarded."""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from augenmerk.serve.connections import MAX_DISCARDED_BYTES, Connection
from augenmerk.serve.errors import BodyTimeout, TooLarge
from augenmerk.serve.limits import Limits


async def read_body(request: Request, limits: Limits) -> bytes:
    """Returns the body of a request; raises TooLarge or BodyTimeout."""
    connection: Connection = request.scope["state"]["connection"]
    try:
        with connection.waiting():
            async with asyncio.timeout(limits.body_seconds):
                body = await request.body()
    except TimeoutError:
        raise BodyTimeout(f"The body did not arrive within {limits.body_seconds:g} seconds.") from None
    connection.check_capacity()
    return body


class Body:
    """The body of a request: counted as it arrives, and discarded if the response comes before its end.

    Otherwise a client that sends all of its body before it reads would find the connection reset.
    """

    def __init__(self, scope: Scope, receive: Receive, limits: Limits) -> None:
        headers = dict(scope["headers"])
        self._connection: Connection = scope["state"]["connection"]
        self._receive = receive
        self._limits = limits
        self._declared = int(headers.get(b"content-length", 0))  # the parser lets digits through only
        self._unread = self._declared > 0 or b"transfer-encoding" in headers
        self._expects_continue = b"expect" in headers  # it sends the body only when it is asked for
        self._received = 0
        self._closing = False

    def check_length(self) -> None:
        """Raises TooLarge if the body is larger than the limit."""
        if max(self._declared, self._received) > self._limits.body:
            raise TooLarge(
                f"The body has more than {self._limits.body:,} bytes, the limit here: send less at once."
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
        self._connection.count_body(size)
        self._unread = message["type"] == "http.request" and message.get("more_body", False)
        return message

    def begin_response(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Returns the headers of a response, with one more if the body will not be read."""
        self._closing = (b"connection", b"close") in headers
        if not self._closing and self._unread and self._expects_continue:
            self._closing = True
            return [*headers, (b"connection", b"close")]
        return headers

    @property
    def must_be_discarded(self) -> bool:
        return self._unread and not self._closing

    async def discard(self) -> None:
        """Reads the rest; closes the connection if that is too much or takes too long."""
        limit = self._received + MAX_DISCARDED_BYTES
        with suppress(TimeoutError), self._connection.waiting():
            async with asyncio.timeout(self._limits.body_seconds):
                while self._unread and self._received < limit:
                    await self._receive_piece()
        if self._unread:
            self._connection.close()
