"""Fetching one file over HTTP: whole and verified, or not at all.

What has arrived is kept beside the file as `<name>.part`, so a broken transfer goes on where it
stopped. Only a part with the right SHA-256 takes the file's name, and in one step (`os.replace`):
nobody ever sees half a file, whenever the process dies.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from augenmerk.errors import AugenmerkError

_ATTEMPTS = 4
_CHUNK = 1 << 16
_PARTIAL_CONTENT, _REQUEST_TIMEOUT, _RANGE_NOT_SATISFIABLE, _TOO_MANY_REQUESTS = 206, 408, 416, 429


Progress = Callable[[int, int | None], None]
"""Told the bytes that are there, of how many (None: the server did not say).

The first may fall back to 0, when a transfer has to start again.
"""


class UnreachableError(AugenmerkError):
    """The server cannot be reached, or breaks off again and again: another way to the file is needed."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} could not be downloaded: {reason}.")
        self.url = url
        self.reason = reason


class _BrokenOffError(Exception):
    """The transfer failed in a way that another attempt may put right."""


def download(
    url: str, path: Path, sha256: str, progress: Progress, *, timeout: float = 20.0, pause: float = 0.5
) -> None:
    """Fetches `url` to `path`; a server silent for `timeout` seconds counts as a broken connection.

    After a broken connection we wait `pause` seconds, twice as long after the next.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):  # a part left from another day may be of another file: once more from scratch
            _complete(url, part, progress, timeout, pause)
            found = sha256_of(part)
            if found == sha256:
                part.replace(path)
                return
            part.unlink()
    except OSError as error:  # trouble with the network has become an error of ours further down
        raise AugenmerkError(
            f"{path}: cannot be written ({error.strerror or error}); make room or choose another folder."
        ) from None
    raise AugenmerkError(
        f"{url} is not the file it should be (SHA-256 {found} instead of {sha256}), so it was not kept; "
        f"look at the address in a browser, as a network's login page may have come in its place."
    )


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _complete(url: str, part: Path, progress: Progress, timeout: float, pause: float) -> None:
    """Receives until the server has no more to send, with several attempts."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _receive(url, part, progress, timeout)
            return
        except _BrokenOffError as error:
            if attempt == _ATTEMPTS:
                raise UnreachableError(url, f"{error}, {_ATTEMPTS} times") from None
            time.sleep(pause * 2 ** (attempt - 1))


def _receive(url: str, part: Path, progress: Progress, timeout: float) -> None:
    """One attempt: asks for what is missing from the part and adds it."""
    received = part.stat().st_size if part.exists() else 0
    response = _open(url, received, timeout)
    if response is None:
        return
    with response:
        if response.status != _PARTIAL_CONTENT:
            received = 0  # the server knows no ranges and sends the file from its beginning
        total = None if response.length is None else received + response.length
        with part.open("ab" if received else "wb") as file:
            progress(received, total)
            for chunk in _chunks(response, timeout):
                file.write(chunk)
                received += len(chunk)
                progress(received, total)
            file.flush()
            os.fsync(file.fileno())  # or a power cut after the renaming could leave a file of zeros
    if total is not None and received < total:
        raise _BrokenOffError(f"the connection was closed after {received:,} of {total:,} bytes")


def _open(url: str, start: int, timeout: float) -> HTTPResponse | None:
    """The answer to a request for the bytes from `start` on; None when there are none."""
    headers = {"User-Agent": "augenmerk"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=timeout)
        return response
    except HTTPError as error:
        error.close()
        if error.code == _RANGE_NOT_SATISFIABLE and start:
            return None
        answer = f"the server answered {error.code} ({error.reason})"
        if error.code >= 500 or error.code in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS):
            raise _BrokenOffError(answer) from None
        raise AugenmerkError(f"{url} could not be downloaded: {answer}; check the address.") from None
    except URLError as error:
        # No connection came about. We do not try again: TCP has done so itself all through the timeout,
        # and whoever has no network should read so at once.
        reason = error.reason if isinstance(error.reason, OSError) else error
        if isinstance(reason, ConnectionResetError):
            raise _BrokenOffError(_describe(reason, timeout)) from None
        raise UnreachableError(url, _describe(reason, timeout)) from None
    except (OSError, HTTPException) as error:
        raise _BrokenOffError(_describe(error, timeout)) from None


def _chunks(response: HTTPResponse, timeout: float) -> Iterator[bytes]:
    """The body as it arrives: `read1` hands over what there is, so that a stall loses nothing."""
    try:
        while chunk := response.read1(_CHUNK):
            yield chunk
    except (OSError, HTTPException) as error:
        raise _BrokenOffError(_describe(error, timeout)) from None


def _describe(error: Exception, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"the server was silent for {timeout:g} seconds"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
