"""The outermost layer of the app: refuses what may not be asked, counts, and answers what went wrong."""

import asyncio
import logging
import traceback
from collections.abc import Collection
from pathlib import Path

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from augenmerk.serve.access import Headers
from augenmerk.serve.body import Body
from augenmerk.serve.connections import Connection
from augenmerk.serve.errors import ServiceError, WrongMediaType, error_response, sentence_response
from augenmerk.serve.service import Service

HEALTH = "/health/"
"""Paths that are answered even when all connections are at work."""
JSON_ONLY = "/workbench/"
"""Paths for the server's own pages, which send JSON. A page of a stranger cannot do so before its browser has
asked whether it may. All else is for programs too, such as `curl -d`, which sends a form."""
CLIENT_CLOSED_REQUEST = 499
"""The status that is counted when a client disconnects; nobody sees it."""
STOPPING = "The server is being stopped: ask another one."

log = logging.getLogger("augenmerk.serve")


class Guard:
    """ASGI middleware that checks and counts every request."""

    def __init__(self, app: ASGIApp, *, service: Service, paths: Collection[str]) -> None:
        """`paths` are counted by their names; all others count as one."""
        self._app = app
        self._service = service
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        start, path, status = loop.time(), scope["path"], 0
        foreign: str | None = None
        connection: Connection = scope["state"]["connection"]
        body = Body(scope, receive, self._service.limits)

        async def send_response(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*body.begin_response(message["headers"]), *_allow(foreign)]
            elif not message.get("more_body", False) and body.must_be_discarded:
                await send({**message, "more_body": True})
                await body.discard()
                message = {"type": "http.response.body"}
            await send(message)

        async def respond(response: Response) -> None:
            await response(scope, receive, send_response)

        connection.begin_request()
        try:
            if not path.startswith(HEALTH):
                connection.check_capacity()
            foreign = self._service.access.check_origin(scope["headers"])
            if (
                foreign is not None and scope["method"] == "OPTIONS"
            ):  # asked by a browser before it sends a key
                await respond(Response(status_code=204))
                return
            self._service.access.check_headers(path, scope["headers"])
            if scope["method"] == "POST" and path.startswith(JSON_ONLY):
                _check_json(scope["headers"])
            body.check_length()
            await self._app(scope, body.receive, send_response)
        except ServiceError as error:
            await respond(error_response(error))
        except ClientDisconnect:
            status = CLIENT_CLOSED_REQUEST
        except asyncio.CancelledError:  # the server ends, and does not wait for this request any more
            if not status:
                await respond(sentence_response(503, STOPPING, {"connection": "close"}))
        except Exception as error:
            _log_error(error)
            if status:  # it has begun to answer: the connection has to be closed
                raise RuntimeError("a response was not finished") from None
            await respond(sentence_response(500, "Something went wrong in the server; its log says where."))
        finally:
            connection.end_request()
            counted = path if path in self._paths else "other"
            seconds = loop.time() - start
            self._service.metrics.count_request(counted, status or CLIENT_CLOSED_REQUEST, seconds)


def _check_json(headers: Headers) -> None:
    """Raises WrongMediaType unless the body is declared as JSON."""
    media_type = dict(headers).get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != b"application/json":
        raise WrongMediaType("The body has to be JSON: send the header `Content-Type: application/json`.")


def _allow(origin: str | None) -> list[tuple[bytes, bytes]]:
    """Returns the headers that let pages of another origin read a response."""
    if origin is None:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-headers", b"authorization, content-type, x-api-key"),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-max-age", b"600"),
        (b"vary", b"Origin"),
    ]


def _log_error(error: BaseException) -> None:
    """Logs where an error happened, but not its message, which may quote a text."""
    frames = [
        f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)[-8:]
    ]
    log.error("%s at %s", type(error).__name__, ", ".join(frames))
