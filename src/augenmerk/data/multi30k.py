"""Multi30k, task 1: captions of photographs in German and English, as raw text.

The files may be used for research and teaching, not commercially. They are not part of Augenmerk: they are
fetched with `augenmerk data fetch multi30k`, or placed by hand.

A download is kept beside the file as `<name>.part`, so a broken transfer continues where it stopped. Only a
part with the right SHA-256 gets the file's name, in one step (`os.replace`): there is never half a file under
that name, even if the process dies.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http.client import HTTPException, HTTPMessage, HTTPResponse, InvalidURL
from importlib import resources
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from platformdirs import user_cache_path

from augenmerk.base.errors import AugenmerkError
from augenmerk.data.files import read_parallel
from augenmerk.text.pairs import Bitext, LazySplit, SentencePair

BASE_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"

LANGUAGES = ("de", "en")

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")

_SUMS = resources.files(__package__).joinpath("multi30k.sha256").read_text(encoding="ascii")
SHA256 = {name: sha256 for sha256, name in (line.split() for line in _SUMS.splitlines())}
"""The SHA-256 of every file."""

_REQUIRED = tuple(name for name in SHA256 if name.startswith(("train.", "val.")))

MAX_BYTES = 1 << 20
"""No file is as large as this: the largest, train.de.gz, has 637,044 bytes."""

_ATTEMPTS = 4
_CHUNK_BYTES = 1 << 16
_PARTIAL_CONTENT, _REQUEST_TIMEOUT, _RANGE_NOT_SATISFIABLE, _TOO_MANY_REQUESTS = 206, 408, 416, 429

OnProgress = Callable[[int, int | None], None]
"""Called with the bytes received so far (0 if a transfer starts again) and their total (None if unknown)."""
OnFileProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, and then as OnProgress."""


def find(folder: Path | None = None) -> Path:
    """Returns the folder with the files: the given one, or under $AUGENMERK_DATA, or the user's cache."""
    if folder is not None:
        places = [folder, folder / "multi30k"]
        remedy = "place the files there, or give no folder after `augenmerk data fetch multi30k`"
    else:
        data = os.environ.get("AUGENMERK_DATA")
        places = [Path(data) / "multi30k"] if data else []
        places.append(_cache_folder())
        remedy = (
            f"run `augenmerk data fetch multi30k`, or place {_join(list(_REQUIRED))} (and the test splits "
            f"you want) there by hand, or set AUGENMERK_DATA to the folder that holds multi30k/"
        )
    for place in places:
        if not _list_missing(place):
            return place
    looked = " and ".join(
        f"{place} (lacks {_join(_list_missing(place))})" if place.is_dir() else f"{place} (no such folder)"
        for place in places
    )
    raise AugenmerkError(f"Multi30k was not found: looked in {looked}; {remedy}.")


def load(folder: Path | None = None) -> Bitext:
    """Opens the splits that are on this machine, German to English, with sentences as in the files."""
    found = find(folder)
    splits: dict[str, Iterable[SentencePair]] = {}
    files: dict[str, tuple[Path, Path]] = {}
    for name in SPLITS:
        source, target = (found / f"{name}.{language}.gz" for language in LANGUAGES)
        if source.is_file() and target.is_file():
            splits[name] = LazySplit(partial(read_parallel, source, target))
            files[name] = source, target
    return Bitext("multi30k", *LANGUAGES, splits, files=files)


def fetch(
    folder: Path | None = None,
    base_url: str = BASE_URL,
    on_progress: OnFileProgress = lambda _name, _received, _total: None,
    *,
    files: Mapping[str, str] = SHA256,
    timeout: float = 20.0,
) -> Path:
    """Downloads files that are missing or damaged to `folder` (the user's cache by default) and returns it.

    `on_progress` is also called, once, for each file that was right already.
    """
    folder = _cache_folder() if folder is None else folder
    base_url = base_url.rstrip("/")
    _check_address(base_url)
    missing: list[str] = []
    for name, sha256 in files.items():
        path = folder / name
        if path.is_file() and _compute_sha256(path) == sha256:
            on_progress(name, path.stat().st_size, path.stat().st_size)
        else:
            missing.append(name)
    for number, name in enumerate(missing):
        try:
            url, report = f"{base_url}/{name}", partial(on_progress, name)
            download(url, folder / name, files[name], report, timeout=timeout)
        except UnreachableError as error:
            raise AugenmerkError(
                f"{error.url} could not be downloaded ({error.reason}): try again when the network is there, "
                f"or place {_join(missing[number:])} by hand in {folder}, "
                f"or set AUGENMERK_DATA to a folder that holds a complete multi30k/."
            ) from None
    return folder


def _check_address(url: str) -> None:
    """Raises AugenmerkError if this is no address of a server."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # brackets of an IPv6 address that are not closed, a port that is not a number
        valid = False
    if not valid or not url.isascii() or not url.isprintable() or " " in url:
        raise AugenmerkError(
            f"{url[:100]!r} is not an address to fetch from; it should be like https://example.org/multi30k."
        )


def _cache_folder() -> Path:
    return user_cache_path("augenmerk") / "multi30k"


def _list_missing(place: Path) -> list[str]:
    return [name for name in _REQUIRED if not (place / name).is_file()]


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _compute_sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be read ({error.strerror or error}).") from None


# Downloading ------------------------------------------------------------------------------------------------


class UnreachableError(AugenmerkError):
    """Raised if the server cannot be reached, or breaks off the transfer again and again."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} could not be downloaded: {reason}.")
        self.url = url
        self.reason = reason


class _TransferError(Exception):
    """Raised if a transfer failed in a way that another attempt may put right."""


class _TooLargeError(Exception):
    """Raised if more bytes arrive, or are announced, than any of the files has."""


def download(
    url: str, path: Path, sha256: str, on_progress: OnProgress, *, timeout: float = 20.0, pause: float = 0.5
) -> None:
    """Downloads `url` to `path` and checks its SHA-256.

    A server that is silent for `timeout` seconds counts as a broken connection. The next attempt is made
    `pause` seconds after the first broken connection, and twice as long after each further one.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):  # the part of an earlier download may be outdated: then once more from scratch
            try:
                _receive_all(url, part, on_progress, timeout, pause)
                found = _compute_sha256(part)
                if found == sha256:
                    part.replace(path)
                    return
                difference = f"SHA-256 {found} instead of {sha256}"
            except _TooLargeError:
                difference = f"more than {MAX_BYTES:,} bytes"
            part.unlink(missing_ok=True)
    except OSError as error:  # errors of the network were turned into AugenmerkError below
        raise AugenmerkError(
            f"{path}: cannot be written ({error.strerror or error}); make room or choose another folder."
        ) from None
    raise AugenmerkError(
        f"{url} is not the file it should be ({difference}), so it was not kept; "
        f"look at the address in a browser, as a network's login page may have come in its place."
    )


def _receive_all(url: str, part: Path, on_progress: OnProgress, timeout: float, pause: float) -> None:
    """Receives until the server has no more to send, in several attempts if needed."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _receive(url, part, on_progress, timeout)
            return
        except _TransferError as error:
            if attempt == _ATTEMPTS:
                raise UnreachableError(url, f"{error}, {_ATTEMPTS} times") from None
            time.sleep(pause * 2 ** (attempt - 1))


def _receive(url: str, part: Path, on_progress: OnProgress, timeout: float) -> None:
    """Requests the bytes that are missing from the part, once, and appends them."""
    received = part.stat().st_size if part.exists() else 0
    response = _open(url, received, timeout)
    if response is None:
        return
    with response:
        if response.status != _PARTIAL_CONTENT:
            received = 0  # the server does not support ranges and sends the whole file
        total = None if response.length is None else received + response.length
        _check_size(total or 0)
        with part.open("ab" if received else "wb") as file:
            on_progress(received, total)
            for chunk in _read_chunks(response, timeout):
                received += len(chunk)
                _check_size(received)
                file.write(chunk)
                on_progress(received, total)
            file.flush()
            os.fsync(file.fileno())  # or a power cut after the renaming may leave a file of zeros
    if total is not None and received < total:
        raise _TransferError(f"the connection was closed after {received:,} of {total:,} bytes")


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise _TooLargeError


class _Redirects(HTTPRedirectHandler):
    """Follows a redirect to HTTP only: the library would also go to FTP."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            reason = "the server leads to another protocol"
            raise AugenmerkError(f"{req.full_url} could not be downloaded: {reason}.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(url: str, start: int, timeout: float) -> HTTPResponse | None:
    """Returns the response to a request for the bytes from `start` on, or None if there are none."""
    headers = {"User-Agent": "augenmerk"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response = build_opener(_Redirects).open(Request(url, headers=headers), timeout=timeout)
        assert isinstance(response, HTTPResponse)
        return response
    except (ValueError, InvalidURL) as error:
        raise AugenmerkError(f"{url[:100]} could not be downloaded: bad address ({error}).") from None
    except HTTPError as error:
        error.close()
        if error.code == _RANGE_NOT_SATISFIABLE and start:
            return None
        answer = f"the server answered {error.code} ({error.reason})"
        if error.code >= 500 or error.code in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS):
            raise _TransferError(answer) from None
        raise AugenmerkError(f"{url} could not be downloaded: {answer}; check the address.") from None
    except URLError as error:
        # There is no connection. We do not try again: TCP has done so itself all through the timeout, and
        # a person without a network should be told at once.
        reason = error.reason if isinstance(error.reason, OSError) else error
        if isinstance(reason, ConnectionResetError):
            raise _TransferError(_describe(reason, timeout)) from None
        raise UnreachableError(url, _describe(reason, timeout)) from None
    except (OSError, HTTPException) as error:
        raise _TransferError(_describe(error, timeout)) from None


def _read_chunks(response: HTTPResponse, timeout: float) -> Iterator[bytes]:
    """Yields the body as it arrives; `read1` returns what there is, so that a stall loses nothing."""
    try:
        while chunk := response.read1(_CHUNK_BYTES):
            yield chunk
    except (OSError, HTTPException) as error:
        raise _TransferError(_describe(error, timeout)) from None


def _describe(error: Exception, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"the server was silent for {timeout:g} seconds"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
