"""Downloading from a real server on this machine that fails in every way we know of."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.data.multi30k import fetch

BODY = bytes(range(256)) * 1000
"""Larger than what one read from a socket hands over."""


class Server(ThreadingHTTPServer):
    """Serves `files`; each of `failures` spoils one request, in turn, and then all is well.

    A failure is a status to answer with, an address to lead to, "drop" (no answer at all), "cut" (half of the
    body, then the connection is closed), "stall" (half of the body, then silence) or "cut without length".
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.failures: list[int | str] = []
        self.requests: list[str] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        failure = self.server.failures.pop(0) if self.server.failures else None
        body = self.server.files.get(self.path.removeprefix("/"))
        if failure == "drop":
            return
        if isinstance(failure, str) and ":" in failure:
            self.send_response(302)
            self.send_header("Location", failure)
            self.end_headers()
            return
        if isinstance(failure, int) or body is None:
            self.send_error(failure if isinstance(failure, int) else 404)
            return
        self.send_response(200)
        if failure != "cut without length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # who has had enough hangs up
            self.wfile.write(body[: len(body) // 2] if failure else body)
        if failure == "stall":
            self.server.closing.wait()

    def log_message(self, *_: object) -> None:
        """The tests print nothing."""


@contextmanager
def serve(files: dict[str, bytes]) -> Iterator[Server]:
    """Serves the files."""
    server = Server(files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def nowhere() -> str:
    """An address on this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def get(
    url: str, folder: Path, body: bytes = BODY, timeout: float = 10.0, retries: int = 0
) -> list[tuple[int, int | None]]:
    """Fetches `file`, which should be `body`, and returns what was reported on the way."""
    reports: list[tuple[int, int | None]] = []
    files = {"file": sha256(body)}
    fetch(
        folder, url, lambda _, *report: reports.append(report), files=files, timeout=timeout, retries=retries
    )
    return reports


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment of the tests must not come between us and our server."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[Server]:
    with serve({"file": BODY}) as running:
        yield running


def test_a_file_arrives_whole_in_a_folder_that_was_not_there(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    reports = get(server.url, path.parent)
    assert path.read_bytes() == BODY
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644
    assert len(reports) > 3
    assert reports[-1] == (len(BODY), len(BODY))
    assert reports == sorted(reports)
    assert all(total == len(BODY) for _, total in reports)


@pytest.mark.parametrize("failure", ["cut", "stall", "drop", "cut without length", 503])
def test_what_may_pass_is_tried_again(server: Server, tmp_path: Path, failure: int | str) -> None:
    server.failures = [failure]
    get(server.url, tmp_path, timeout=1.0 if failure == "stall" else 10.0, retries=1)
    assert (tmp_path / "file").read_bytes() == BODY
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (404, "404 Client Error: Not Found"),
        ("drop", "closed connection"),
        ("cut", "more expected"),
        ("stall", "timed out"),
        ("data:,x", "No connection adapters"),
        ("ftp://127.0.0.1/file", "No connection adapters"),
        ("file:///etc/hostname", "No connection adapters"),
    ],
)
def test_a_server_may_be_given_up(server: Server, tmp_path: Path, failure: int | str, reason: str) -> None:
    server.failures = [failure] * 100
    said = rf"^{server.url}/file could not be downloaded \(.*{reason}.*\): "
    with pytest.raises(AugenmerkError, match=said):
        get(server.url, tmp_path, timeout=0.4 if failure == "stall" else 10.0)
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_redirect_is_followed(tmp_path: Path) -> None:
    with serve({"file": b"", "other": BODY}) as server:
        server.failures = [f"{server.url}/other"]
        get(server.url, tmp_path)
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_wrong_file_is_not_kept(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"what was there before")
    with pytest.raises(AugenmerkError, match=rf"its SHA-256 is not {sha256(b'other')}\), so it was not kept"):
        get(server.url, tmp_path, body=b"other")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"what was there before"


def test_without_a_network_or_a_folder_one_sentence_says_so(server: Server, tmp_path: Path) -> None:
    for url in (nowhere(), "http://augenmerk.invalid"):
        with pytest.raises(AugenmerkError, match=rf"^{url}/file could not be downloaded \(.+\): ") as caught:
            get(url, tmp_path)
        assert "HTTPConnectionPool" not in str(caught.value)
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(AugenmerkError, match=r"taken/file: cannot be written \(.+\); make room"):
        get(server.url, tmp_path / "taken")


def test_an_interruption_leaves_no_file(server: Server, tmp_path: Path) -> None:
    def interrupt(_name: str, received: int, _total: int | None) -> None:
        if received > len(BODY) // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path, server.url, interrupt, files={"file": sha256(BODY)})
    assert list(tmp_path.iterdir()) == []
    get(server.url, tmp_path)
    assert (tmp_path / "file").read_bytes() == BODY


def test_fetching_twice_at_once_loses_nothing(server: Server, tmp_path: Path) -> None:
    threads = [threading.Thread(target=get, args=(server.url, tmp_path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == BODY
