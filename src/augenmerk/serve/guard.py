"""The outermost layer of the app: refuses who may not ask, counts, and answers what went wrong.

A stranger's page, open in a browser on this machine, can send requests to a server on this machine. It cannot
choose the header Origin, and if its name was made to point here, that name is the Host. So both are checked.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import os
import traceback
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import read_text
from augenmerk.serve.connections import Body, Connection
from augenmerk.serve.limits import ServiceError, error_response

if TYPE_CHECKING:
    from augenmerk.serve.endpoint import Service

Headers = Sequence[tuple[bytes, bytes]]

KEYS_VARIABLE = "AUGENMERK_API_KEYS"
"""The environment variable that may hold API keys, with commas or spaces between them."""
MIN_KEY_LENGTH = 16
"""Fewest characters of a key: shorter ones can be guessed."""
FREE_PATHS = frozenset({"/health/live", "/health/ready", "/languages", "/frontend/settings"})
"""Paths that need no key."""
KEY_IN_BODY = frozenset({"/translate", "/detect"})
"""Paths where the key may be in the body, as in LibreTranslate; these routes check it themselves."""
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers that a proxy adds: behind one, everybody seems to be on this machine."""
HEALTH = "/health/"
"""Paths that are answered even when all connections are at work."""
JSON_ONLY = "/workbench/"
"""Paths for the server's own pages, which send JSON. A stranger's page cannot do so before its browser has
asked whether it may. All else is for programs too, such as `curl -d`, which sends a form."""
CLIENT_CLOSED_REQUEST = 499
"""The status that is counted when a client disconnects; nobody sees it."""
STOPPING = "The server is being stopped: ask another one."

log = logging.getLogger("augenmerk.serve")


def read_keys(path: Path | None) -> list[str]:
    """Reads API keys from a file, one a line, `#` begins a remark; or from the environment.

    Raises AugenmerkError if the file has none.
    """
    if path is None:
        return os.environ.get(KEYS_VARIABLE, "").replace(",", " ").split()
    keys = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
    if not any(keys):
        raise AugenmerkError(f"{path} has no API key: write one on each line.")
    return [key for key in keys if key]


class Access:
    """Checks who may ask: by the name of this server, the origin of a page, and API keys."""

    def __init__(
        self, *, hosts: Collection[str] = (), origins: Collection[str] = (), keys: Iterable[str] = ()
    ) -> None:
        """`hosts` are names of this server besides localhost and numeric addresses; `origins`, such as
        https://example.org, are those of pages elsewhere that may ask."""
        self._hosts = {"localhost", *(name.lower() for name in hosts)}
        self._origins = frozenset(origins)
        self.set_keys(keys)
        for origin in origins:
            parts = urlsplit(origin)
            if f"{parts.scheme}://{parts.netloc}" != origin or not parts.netloc:
                raise AugenmerkError(f"--origin {origin}: expected an origin such as https://example.org.")

    def set_keys(self, keys: Iterable[str]) -> None:
        """Replaces the keys, of which only digests are kept; raises AugenmerkError for one too short."""
        keys = list(keys)
        for number, key in enumerate(keys, 1):
            if len(key) < MIN_KEY_LENGTH:
                raise AugenmerkError(
                    f"API key {number} has {len(key)} characters: give it {MIN_KEY_LENGTH} or more, for "
                    f"example by `openssl rand -hex 16`."
                )
        self._digests = [_digest(key) for key in keys]

    @property
    def needs_key(self) -> bool:
        return bool(self._digests)

    def check_origin(self, headers: Headers) -> str | None:
        """Returns the foreign origin that may read the response, or None; raises ServiceError."""
        given = dict(headers)
        host, origin = given.get(b"host", b""), given.get(b"origin")
        if sum(name == b"host" for name, _ in headers) > 1:
            raise ServiceError(400, "There are two Host headers: send one.")
        name = _read_host(host.decode("latin-1"))
        # No stranger's page can have been loaded from a numeric address.
        if name.rstrip(".") not in self._hosts and _read_address(name) is None:
            raise ServiceError(
                403,
                f"This server is not called '{shorten(host.decode('latin-1'))}': use localhost or "
                f"its address, or start it with --allow-host NAME.",
            )
        if origin is None or _is_same_origin(origin, host):
            return None
        foreign = origin.decode("latin-1")
        if foreign not in self._origins:
            raise ServiceError(
                403, f"Pages of '{shorten(foreign)}' may not ask this server: start it with --origin ORIGIN."
            )
        return foreign

    def check_headers(self, path: str, headers: Headers) -> None:
        """Raises ServiceError if the headers lack a key; some paths may have it in the body."""
        given = find_key(headers)
        if path not in FREE_PATHS and (given is not None or path not in KEY_IN_BODY):
            self.check_key(given)

    def check_key(self, key: str | None) -> None:
        """Raises ServiceError unless there are no keys, or this is one; it takes as long for a wrong one."""
        # Browsers ask for a password; a key is accepted as one.
        headers = {"www-authenticate": 'Basic realm="augenmerk", charset="UTF-8"'}
        if self.needs_key and key is None:
            sentence = "An API key is needed: send the header `Authorization: Bearer KEY`."
            raise ServiceError(401, sentence, headers)
        given = _digest(key or "")
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        if matches and not any(matches):
            raise ServiceError(401, "The API key is not known here.", headers)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def find_key(headers: Headers) -> str | None:
    """Returns the key of a request: a bearer token, the password of a browser, or X-API-Key."""
    for name, value in headers:
        if name == b"x-api-key":
            return value.decode("latin-1")
        if name == b"authorization":
            scheme, _, credentials = value.decode("latin-1").partition(" ")
            if scheme.lower() == "bearer":
                return credentials.strip()
            if scheme.lower() == "basic":
                try:
                    return b64decode(credentials, validate=True).decode().partition(":")[2]
                except (Base64Error, UnicodeDecodeError):
                    return ""
    return None


def _read_host(host: str) -> str:
    """Returns the name or address in a Host header, without the port; empty if it is neither."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        is_valid = bracket == "]" and port[:1] in ("", ":") and _read_address(name) is not None
    else:
        name, _, port = host.partition(":")
        is_valid = port == "" or port.isdecimal()
    return name.lower() if is_valid else ""


def _read_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Returns a numeric address; None for a name."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_loopback(name: str) -> bool:
    """Returns whether this is an address of this machine itself, such as 127.0.0.1."""
    return getattr(_read_address(name), "is_loopback", False)


def _is_same_origin(origin: bytes, host: bytes) -> bool:
    """Returns whether a page of this origin came from this server; a proxy may have added TLS."""
    return origin.lower() in (b"http://" + host.lower(), b"https://" + host.lower())


def is_local(request: Request) -> bool:
    """Returns whether the request comes from this machine, and not through a proxy."""
    return not _find_remote(request)


def check_local(request: Request) -> None:
    """Raises ServiceError unless the request comes from this machine, and not through a proxy."""
    if reason := _find_remote(request):
        raise ServiceError(403, reason)


def _find_remote(request: Request) -> str:
    """Returns why a request may come from elsewhere, or nothing."""
    if not _is_loopback(request.client.host if request.client else ""):
        return "Only somebody on the machine of the server may do this."
    # A proxy on this machine looks like somebody on it, but passes on the name by which others call it.
    name = _read_host(request.headers.get("host", ""))
    if any(each in request.headers for each in FORWARDED) or not (name == "localhost" or _is_loopback(name)):
        return "Only the machine of the server may do this, by the name localhost and without a proxy."
    origin = request.headers.get("origin")
    if origin is not None and not _is_same_origin(origin.encode("latin-1"), request.headers["host"].encode()):
        return "Only the pages of this server may do this."
    return ""


class Guard:
    """ASGI middleware that checks and counts every request."""

    def __init__(self, app: ASGIApp, *, service: "Service", paths: Collection[str]) -> None:
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
        body = Body(scope, receive, send, self._service.limits)

        async def send_response(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_allow(foreign)]
            await body.send(message)

        async def respond(response: Response) -> None:
            await response(scope, receive, send_response)

        connection.work()
        try:
            if not path.startswith(HEALTH):
                connection.connections.check_capacity()
            foreign = self._service.access.check_origin(scope["headers"])
            if foreign is not None and scope["method"] == "OPTIONS":  # asked before a key is sent
                await respond(Response(status_code=204))
                return
            self._service.access.check_headers(path, scope["headers"])
            if scope["method"] == "POST" and path.startswith(JSON_ONLY):
                media_type = dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0]
                if media_type.strip().lower() != b"application/json":
                    sentence = "The body has to be JSON: send the header `Content-Type: application/json`."
                    raise ServiceError(415, sentence)
            body.check_length()
            await self._app(scope, body.receive, send_response)
        except ServiceError as error:
            await respond(error_response(error))
        except ClientDisconnect:
            status = CLIENT_CLOSED_REQUEST
        except asyncio.CancelledError:  # the server ends, and does not wait for this request any more
            if not status:
                await respond(error_response(ServiceError(503, STOPPING, {"connection": "close"})))
        except Exception as error:
            _log_error(error)
            if status:  # it has begun to answer: the connection has to be closed
                raise RuntimeError("a response was not finished") from None
            sentence = "Something went wrong in the server; its log says where."
            await respond(error_response(ServiceError(500, sentence)))
        finally:
            connection.end_request()
            counted = path if path in self._paths else "other"
            seconds = loop.time() - start
            self._service.metrics.count_request(counted, status or CLIENT_CLOSED_REQUEST, seconds)


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
