"""Who may ask: checks of Host, Origin and API keys, and the size of a body, before anything else is done.

A page of a stranger, open in a browser on this machine, can send requests to a server on this machine. It
cannot choose the header Origin, and if its name was made to point here, that name is the Host. So both are
checked.
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
from contextlib import nullcontext
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import read_text
from augenmerk.serve.body import Body
from augenmerk.serve.connections import current_connection
from augenmerk.serve.errors import (
    Forbidden,
    ServiceError,
    TooSlow,
    Unauthorised,
    WrongMediaType,
    answer_error,
    answer_sentence,
)
from augenmerk.serve.limits import Limits
from augenmerk.serve.metrics import Metrics

KEYS_VARIABLE = "AUGENMERK_API_KEYS"
"""The environment variable that may hold API keys, with commas or spaces between them."""
MIN_KEY = 16
"""Shorter keys are refused, because they can be guessed."""
FREE_PATHS = frozenset({"/health/live", "/health/ready", "/languages", "/frontend/settings"})
"""What needs no key."""
KEY_IN_BODY = frozenset({"/translate", "/detect"})
"""Where the key may be in the body, as in LibreTranslate; these routes check it themselves."""
HEALTH = "/health/"
"""What begins so is answered even when all connections are at work."""
JSON_ONLY = "/workbench/"
"""What begins so is asked by the server's own pages, in JSON, which a page of a stranger cannot send before
its browser has asked whether it may. All else is for programs too, such as `curl -d`, which sends a form."""
LOCAL_NAMES = frozenset({"localhost"})
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers that a proxy adds: behind one, everybody seems to be on this machine."""
CLIENT_CLOSED_REQUEST = 499
"""The status that is counted when a client hangs up; nobody sees it."""

STOPPING = "The server is being stopped: ask another one."

log = logging.getLogger("augenmerk.serve")


class Keys:
    """API keys. Only their digests are kept, and they are compared in constant time."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        """Raises AugenmerkError for a key that is too short."""
        keys = list(keys)
        for number, key in enumerate(keys, 1):
            if len(key) < MIN_KEY:
                raise AugenmerkError(
                    f"API key {number} has {len(key)} characters: give it {MIN_KEY} or more, for example "
                    f"by `openssl rand -hex 16`."
                )
        self._digests = [_digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Reads keys from a file, one a line, `#` begins a remark; or from the environment.

        Raises AugenmerkError if the file has none: whoever names one wants keys to be asked for.
        """
        if path is None:
            return cls(os.environ.get(KEYS_VARIABLE, "").replace(",", " ").split())
        lines = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
        if not any(lines):
            raise AugenmerkError(f"{path} has no API key: write one on each line.")
        return cls(line for line in lines if line)

    def accept(self, key: str) -> bool:
        """Returns whether this is one of the keys; it takes as long for a wrong one."""
        given = _digest(key)
        return any([hmac.compare_digest(given, digest) for digest in self._digests])  # noqa: C419 (all of them)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


class Access:
    """Who may ask."""

    def __init__(
        self,
        *,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        keys_file: Path | None = None,
        keys: Keys | None = None,
    ) -> None:
        """Names the hosts that this server is, besides localhost and addresses in numbers, and the origins of
        pages elsewhere that may ask, such as https://example.org."""
        self._hosts = LOCAL_NAMES | {name.lower() for name in hosts}
        self.origins = frozenset(origins)
        self._keys_file = keys_file
        self.keys = Keys.read(keys_file) if keys is None else keys
        self._known_hosts: set[bytes] = set()
        for origin in origins:
            parts = urlsplit(origin)
            if f"{parts.scheme}://{parts.netloc}" != origin or not parts.netloc:
                raise AugenmerkError(f"--origin {origin}: expected an origin such as https://example.org.")

    def reload(self) -> None:
        """Reads the file of keys anew; raises AugenmerkError and keeps the old ones if that fails."""
        if self._keys_file is not None:
            self.keys = Keys.read(self._keys_file)

    def check_origin(self, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """Returns the foreign origin that may read the answer, or None; raises ServiceError."""
        host: bytes | None = None
        origin: bytes | None = None
        for name, value in headers:
            if name == b"host":
                if host is not None:
                    raise ServiceError("There are two Host headers: send one.")
                host = value
            elif name == b"origin":
                origin = value
        if host is None or (host not in self._known_hosts and not self._is_known_host(host)):
            raise Forbidden(
                f"This server is not called '{shorten((host or b'').decode('latin-1'))}': use localhost or "
                f"its address, or start it with --allow-host NAME."
            )
        foreign = None
        if origin is not None and not _is_same_origin(origin, host):
            foreign = origin.decode("latin-1")
            if foreign not in self.origins:
                raise Forbidden(
                    f"Pages of '{shorten(foreign)}' may not ask this server: start it with --origin ORIGIN."
                )
        return foreign

    def check_headers(self, path: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Raises Unauthorised if the headers lack a key; some paths may have it in the body."""
        if self.keys and path not in FREE_PATHS:
            given = find_key(headers)
            if given is not None or path not in KEY_IN_BODY:
                self.check_key(given)

    def check_key(self, key: str | None) -> None:
        """Raises Unauthorised unless there are no keys, or this is one."""
        if not self.keys:
            return
        if key is None:
            raise Unauthorised("An API key is needed: send the header `Authorization: Bearer KEY`.")
        if not self.keys.accept(key):
            raise Unauthorised("The API key is not known here.")

    def _is_known_host(self, host: bytes) -> bool:
        name = _read_host(host.decode("latin-1"))
        known = name.rstrip(".") in self._hosts or _is_address(name)
        if known and len(self._known_hosts) < 100:
            self._known_hosts.add(host)
        return known


def _read_host(host: str) -> str:
    """Returns the name or address in a Host header, without the port; empty if it is neither."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        is_right = bracket == "]" and (port == "" or port[0] == ":") and _is_address(name)
    else:
        name, _, port = host.partition(":")
        is_right = port == "" or port.isdecimal()
    return name.lower() if is_right else ""


def _is_address(name: str) -> bool:
    """Returns whether this is an address in numbers, which no stranger's page can have been loaded from."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_same_origin(origin: bytes, host: bytes) -> bool:
    """Returns whether a page of this origin came from this server; a proxy may have added the encryption."""
    return origin.lower() in (b"http://" + host.lower(), b"https://" + host.lower())


def find_key(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
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


def is_on_loopback(request: Request) -> bool:
    """Returns whether the request comes from this machine, and not through a proxy."""
    try:
        require_loopback(request)
    except Forbidden:
        return False
    return True


def require_loopback(request: Request) -> None:
    """Raises Forbidden unless the request comes from this machine, and not through a proxy."""
    client = request.client.host if request.client else ""
    if not _is_loopback(client):
        raise Forbidden("Only somebody on the machine of the server may do this.")
    # A proxy on this machine looks like somebody on it, but passes on the name by which others call it.
    name = _read_host(request.headers.get("host", ""))
    if any(each in request.headers for each in FORWARDED) or not (name == "localhost" or _is_loopback(name)):
        raise Forbidden(
            "This cannot be done through a proxy, only on the machine of the server, by the name localhost."
        )
    origin = request.headers.get("origin")
    if origin is not None and not _is_same_origin(origin.encode("latin-1"), request.headers["host"].encode()):
        raise Forbidden("Only the pages of this server may do this.")


def _is_loopback(name: str) -> bool:
    """Returns whether this is an address of this machine itself, such as 127.0.0.1."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


async def read_body(request: Request, limits: Limits) -> bytes:
    """Returns the body of a request; raises TooLarge or TooSlow."""
    connection = current_connection()
    try:
        with nullcontext() if connection is None else connection.waiting():
            async with asyncio.timeout(limits.body_seconds):
                body = await request.body()
    except TimeoutError:
        raise TooSlow(f"The body did not arrive within {limits.body_seconds:g} seconds.") from None
    if connection is not None:
        connection.check_capacity()
    return body


class Guard:
    """The outermost layer of the app: refuses what may not be asked, counts, and answers what went wrong."""

    def __init__(
        self, app: ASGIApp, *, access: Access, limits: Limits, metrics: Metrics, routes: Collection[str]
    ) -> None:
        """`routes` are the paths that are counted by their names; all others count as one."""
        self._app = app
        self._access = access
        self._limits = limits
        self._metrics = metrics
        self._routes = frozenset(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        begin = loop.time()
        path, status = scope["path"], 0
        foreign: str | None = None
        body = Body(scope["headers"], receive, self._limits)

        async def send_answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], *body.begin_answer(message["headers"])]
                message["headers"] = headers if foreign is None else [*headers, *_allow(foreign)]
            elif not message.get("more_body", False) and body.must_be_discarded:
                await send({**message, "more_body": True})
                await body.discard()
                message = {"type": "http.response.body"}
            await send(message)

        connection = current_connection()
        if connection is not None:
            connection.begin_request()
        try:
            try:
                if connection is not None and not path.startswith(HEALTH):
                    connection.check_capacity()
                foreign = self._access.check_origin(scope["headers"])
                if foreign is not None and scope["method"] == "OPTIONS":
                    # A browser asks this before it sends a key.
                    await Response(status_code=204)(scope, receive, send_answer)
                    return
                self._access.check_headers(path, scope["headers"])
                if scope["method"] == "POST" and path.startswith(JSON_ONLY):
                    _require_json(scope["headers"])
                body.check_length()
                await self._app(scope, body.receive, send_answer)
            except ServiceError as error:
                await answer_error(error)(scope, receive, send_answer)
            except ClientDisconnect:
                status = CLIENT_CLOSED_REQUEST
            except asyncio.CancelledError:  # the server ends, and does not wait for this request any more
                if not status:
                    stopping = answer_sentence(503, STOPPING, {"connection": "close"})
                    await stopping(scope, receive, send_answer)
            except Exception as error:
                _log_error(error)
                if status:  # it has begun to answer: the connection has to be closed
                    raise RuntimeError("an answer was not finished") from None
                sentence = "Something went wrong in the server; its log says where."
                await answer_sentence(500, sentence)(scope, receive, send_answer)
        finally:
            if connection is not None:
                connection.end_request()
            route = path if path in self._routes else "other"
            self._metrics.count_request(route, status or CLIENT_CLOSED_REQUEST, loop.time() - begin)


def _require_json(headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raises WrongMediaType unless the body is said to be JSON."""
    given = dict(headers).get(b"content-type", b"").partition(b";")[0].strip().lower()
    if given != b"application/json":
        raise WrongMediaType("The body has to be JSON: send the header `Content-Type: application/json`.")


def _allow(origin: str) -> list[tuple[bytes, bytes]]:
    """Returns the headers that let pages of another origin read an answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-headers", b"authorization, content-type, x-api-key"),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-max-age", b"600"),
        (b"vary", b"Origin"),
    ]


def _log_error(error: BaseException) -> None:
    """Logs where an error happened, but not its message, which may quote a text."""
    places = [
        f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)[-8:]
    ]
    log.error("%s at %s", type(error).__name__, ", ".join(places))
