"""Checks who may ask: by the name of this server, the origin of a page, API keys, and the machine.

A page of a stranger, open in a browser on this machine, can send requests to a server on this machine. It
cannot choose the header Origin, and if its name was made to point here, that name is the Host. So both are
checked.
"""

import hashlib
import hmac
import ipaddress
import os
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from starlette.requests import Request

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import read_text
from augenmerk.serve.errors import Forbidden, ServiceError, Unauthorised

Headers = Sequence[tuple[bytes, bytes]]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

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


class Keys:
    """API keys. Only their digests are kept, and they are compared in constant time."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        """Raises AugenmerkError for a key that is too short."""
        keys = list(keys)
        for number, key in enumerate(keys, 1):
            if len(key) < MIN_KEY_LENGTH:
                raise AugenmerkError(
                    f"API key {number} has {len(key)} characters: give it {MIN_KEY_LENGTH} or more, for "
                    f"example by `openssl rand -hex 16`."
                )
        self._digests = [_digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Reads keys from a file, one a line, `#` begins a remark; or from the environment.

        Raises AugenmerkError if the file has none.
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
    """Checks who may ask."""

    def __init__(
        self,
        *,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        keys_file: Path | None = None,
        keys: Keys | None = None,
    ) -> None:
        """`hosts` are names of this server besides localhost and numeric addresses; `origins`, such as
        https://example.org, are those of pages elsewhere that may ask."""
        self._hosts = {"localhost", *(name.lower() for name in hosts)}
        self._origins = frozenset(origins)
        self._keys_file = keys_file
        self.keys = Keys.read(keys_file) if keys is None else keys
        for origin in origins:
            parts = urlsplit(origin)
            if f"{parts.scheme}://{parts.netloc}" != origin or not parts.netloc:
                raise AugenmerkError(f"--origin {origin}: expected an origin such as https://example.org.")

    def reload(self) -> None:
        """Reloads the file of keys; raises AugenmerkError and keeps the old ones if that fails."""
        if self._keys_file is not None:
            self.keys = Keys.read(self._keys_file)

    def check_origin(self, headers: Headers) -> str | None:
        """Returns the foreign origin that may read the response, or None; raises ServiceError."""
        given = dict(headers)
        host, origin = given.get(b"host", b""), given.get(b"origin")
        if sum(name == b"host" for name, _ in headers) > 1:
            raise ServiceError("There are two Host headers: send one.")
        name = _read_host(host.decode("latin-1"))
        # No stranger's page can have been loaded from a numeric address.
        if name.rstrip(".") not in self._hosts and _read_address(name) is None:
            raise Forbidden(
                f"This server is not called '{shorten(host.decode('latin-1'))}': use localhost or "
                f"its address, or start it with --allow-host NAME."
            )
        if origin is None or _is_same_origin(origin, host):
            return None
        foreign = origin.decode("latin-1")
        if foreign not in self._origins:
            raise Forbidden(
                f"Pages of '{shorten(foreign)}' may not ask this server: start it with --origin ORIGIN."
            )
        return foreign

    def check_headers(self, path: str, headers: Headers) -> None:
        """Raises Unauthorised if the headers lack a key; some paths may have it in the body."""
        if self.keys and path not in FREE_PATHS:
            given = find_key(headers)
            if given is not None or path not in KEY_IN_BODY:
                self.check_key(given)

    def check_key(self, key: str | None) -> None:
        """Raises Unauthorised unless there are no keys, or this is one."""
        if self.keys and key is None:
            raise Unauthorised("An API key is needed: send the header `Authorization: Bearer KEY`.")
        if self.keys and not self.keys.accept(key or ""):
            raise Unauthorised("The API key is not known here.")


def _read_host(host: str) -> str:
    """Returns the name or address in a Host header, without the port; empty if it is neither."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        is_valid = bracket == "]" and port[:1] in ("", ":") and _read_address(name) is not None
    else:
        name, _, port = host.partition(":")
        is_valid = port == "" or port.isdecimal()
    return name.lower() if is_valid else ""


def _read_address(name: str) -> Address | None:
    """Returns a numeric address; None for a name."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_loopback(name: str) -> bool:
    """Returns whether this is an address of this machine itself, such as 127.0.0.1."""
    address = _read_address(name)
    return address is not None and address.is_loopback


def _is_same_origin(origin: bytes, host: bytes) -> bool:
    """Returns whether a page of this origin came from this server; a proxy may have added TLS."""
    return origin.lower() in (b"http://" + host.lower(), b"https://" + host.lower())


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


def is_local(request: Request) -> bool:
    """Returns whether the request comes from this machine, and not through a proxy."""
    try:
        check_local(request)
    except Forbidden:
        return False
    return True


def check_local(request: Request) -> None:
    """Raises Forbidden unless the request comes from this machine, and not through a proxy."""
    if not _is_loopback(request.client.host if request.client else ""):
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
