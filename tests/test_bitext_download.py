"""Downloading from a real server on this machine that fails in every way we know of."""

import hashlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augenmerk.base.errors import AugenmerkError
from augenmerk.data.multi30k import MAX_BYTES, UnreachableError, download

BODY = bytes(range(256)) * 1000
"""Larger than what one read from a socket hands over."""


class Server(ThreadingHTTPServer):
    """Serves `files`; each of `failures` spoils one request, in turn, and then all is well.

    A failure is a status to answer with, an address to lead to, "drop" (no answer at all), "cut" (half of the
    body, then the connection is closed), "stall" (half of the body, then silence) or "cut without length".
    """

    def __init__(self, files: dict[str, bytes], ranges: bool, endless: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.ranges = ranges
        self.endless = endless
        self.failures: list[int | str] = []
        self.requests: list[tuple[str, str | None]] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def asked_ranges(self) -> list[str | None]:
        return [asked for _, asked in self.requests]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.server.requests.append((self.path, asked))
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
        start = 0
        if asked and self.server.ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        rest = body[start:]
        if failure != "cut without length" and not self.server.endless:
            self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        with suppress(ConnectionError):  # who has had enough hangs up
            self.wfile.write(rest[: len(rest) // 2] if failure else rest)
        if failure == "stall":
            self.server.closing.wait()

    def log_message(self, *_: object) -> None:
        """The tests print nothing."""


@contextmanager
def serve(files: dict[str, bytes], *, ranges: bool = True, endless: bool = False) -> Iterator[Server]:
    """Serves the files; if `endless`, without saying how long they are."""
    server = Server(files, ranges, endless)
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
    server: Server, path: Path, body: bytes = BODY, timeout: float = 10.0
) -> list[tuple[int, int | None]]:
    """Downloads `body` as it should be, and returns what was reported on the way."""
    reports: list[tuple[int, int | None]] = []
    download(
        f"{server.url}/file",
        path,
        sha256(body),
        lambda received, total: reports.append((received, total)),
        timeout=timeout,
        pause=0.0,
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
    reports = get(server, path)
    assert path.read_bytes() == BODY
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
    assert reports[0] == (0, len(BODY))
    assert reports[-1] == (len(BODY), len(BODY))
    assert reports == sorted(reports)


@pytest.mark.parametrize("failure", ["cut", "stall"])
def test_a_transfer_that_breaks_off_goes_on_where_it_stopped(
    server: Server, tmp_path: Path, failure: str
) -> None:
    server.failures = [failure]
    reports = get(server, tmp_path / "file", timeout=3.0 if failure == "stall" else 60.0)
    assert (tmp_path / "file").read_bytes() == BODY
    assert server.asked_ranges == [None, f"bytes={len(BODY) // 2}-"]
    assert reports == sorted(reports)
    assert reports[-1] == (len(BODY), len(BODY))


def test_a_server_without_ranges_sends_everything_again(tmp_path: Path) -> None:
    with serve({"file": BODY}, ranges=False) as server:
        server.failures = ["cut", "cut"]
        reports = get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
    assert server.asked_ranges == [None, *[f"bytes={len(BODY) // 2}-"] * 2]
    assert [received for received, _ in reports].count(0) == 3
    assert reports[-1] == (len(BODY), len(BODY))


@pytest.mark.parametrize("failure", [500, 503, 429, "drop", "cut without length"])
def test_what_may_pass_is_tried_again(server: Server, tmp_path: Path, failure: int | str) -> None:
    server.failures = [failure]
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (502, "answered 502"),
        ("drop", "closed connection"),
        ("cut", "was closed after"),
        ("stall", "silent for 0.4 seconds"),
    ],
)
def test_a_server_that_never_recovers_is_given_up(
    server: Server, tmp_path: Path, failure: int | str, reason: str
) -> None:
    server.failures = [failure] * 100
    with pytest.raises(UnreachableError, match=rf"/file could not be downloaded: .*{reason}.*, 4 times\.$"):
        get(server, tmp_path / "file", timeout=0.4 if failure == "stall" else 10.0)
    assert len(server.requests) == 4
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("status", [404, 403])
def test_a_refused_request_is_not_repeated(server: Server, tmp_path: Path, status: int) -> None:
    server.failures = [status]
    with pytest.raises(
        AugenmerkError, match=rf"^{server.url}/file could not be downloaded: .*answered {status}"
    ):
        get(server, tmp_path / "file")
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_file_is_not_kept(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"what was there before")
    with pytest.raises(AugenmerkError, match=rf"SHA-256 {sha256(BODY)} instead of {sha256(b'other')}"):
        get(server, tmp_path / "file", body=b"other")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"what was there before"


@pytest.mark.parametrize("failure", [None, "announced"])
def test_more_than_any_file_has_is_not_received(tmp_path: Path, failure: str | None) -> None:
    received: list[int] = []
    body = bytes(50 * MAX_BYTES)
    with (
        serve({"file": body}, endless=failure is None) as server,
        pytest.raises(AugenmerkError, match=r"should be \(more than 1,048,576 bytes\), so it was not kept"),
    ):
        download(f"{server.url}/file", tmp_path / "file", sha256(body), lambda n, _: received.append(n))
    assert max(received, default=0) <= MAX_BYTES
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stale", [b"of another file", b"of another file" * 20_000])
def test_a_stale_part_is_thrown_away(server: Server, tmp_path: Path, stale: bytes) -> None:
    (tmp_path / "file.part").write_bytes(stale)
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
    assert server.asked_ranges == [f"bytes={len(stale)}-", None]


def test_a_complete_part_is_taken_without_sending_it_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(BODY)
    assert get(server, tmp_path / "file") == []
    assert (tmp_path / "file").read_bytes() == BODY
    assert not (tmp_path / "file.part").exists()


@pytest.mark.parametrize(
    "url", [nowhere(), "http://augenmerk.invalid"], ids=["nobody listens", "unknown host"]
)
def test_no_way_to_the_server_is_said_at_once(tmp_path: Path, url: str) -> None:
    with pytest.raises(UnreachableError, match=rf"^{url}/file could not be downloaded: ") as caught:
        download(f"{url}/file", tmp_path / "file", sha256(BODY), lambda _received, _total: None, pause=0.0)
    assert "times" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_a_sentence(server: Server, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(AugenmerkError, match=r"taken/file: cannot be written \(.+\); make room"):
        get(server, tmp_path / "taken" / "file")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_a_sentence(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").symlink_to("/dev/full")
    with pytest.raises(
        AugenmerkError, match=r"file: cannot be written \(No space left on device\); make room"
    ):
        get(server, tmp_path / "file")
    assert len(server.requests) == 1
    assert not (tmp_path / "file").exists()


@settings(max_examples=30, deadline=None)
@given(
    body=st.binary(min_size=1, max_size=300),
    failures=st.lists(st.sampled_from(["cut", "drop", 500]), max_size=3),
    part=st.binary(max_size=20) | st.none(),
    ranges=st.booleans(),
)
def test_whatever_happens_the_file_is_whole(
    body: bytes, failures: list[int | str], part: bytes | None, ranges: bool
) -> None:
    with tempfile.TemporaryDirectory() as name, serve({"file": body}, ranges=ranges) as server:
        path = Path(name) / "file"
        if part is not None:
            path.with_name("file.part").write_bytes(part)
        server.failures = list(failures)
        get(server, path, body)
        assert path.read_bytes() == body
        assert [entry.name for entry in path.parent.iterdir()] == ["file"]


@settings(max_examples=20, deadline=None)
@given(stop_after=st.integers(min_value=0, max_value=len(BODY)))
def test_an_interruption_leaves_no_file_and_loses_nothing(stop_after: int) -> None:
    def interrupt(received: int, _total: int | None) -> None:
        if received >= stop_after:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as name, serve({"file": BODY}) as server:
        path = Path(name) / "file"
        with pytest.raises(KeyboardInterrupt):
            download(f"{server.url}/file", path, sha256(BODY), interrupt)
        assert not path.exists()
        kept = path.with_name("file.part").stat().st_size
        assert kept >= stop_after
        get(server, path)
        assert path.read_bytes() == BODY
        assert server.asked_ranges[1] == (f"bytes={kept}-" if kept else None)


def test_a_redirect_is_followed_to_http_only(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(BODY)
    with serve({"file": BODY, "other": BODY}) as server, socket.create_server(("127.0.0.1", 0)) as ftp:
        ftp.settimeout(0.0)
        for address in (secret.as_uri(), f"ftp://127.0.0.1:{ftp.getsockname()[1]}/file", "data:,x"):
            server.failures = [address]
            with pytest.raises(AugenmerkError, match="could not be downloaded"):
                get(server, tmp_path / "file", timeout=1.0)
            assert not (tmp_path / "file").exists()
        with pytest.raises(BlockingIOError):  # nobody has called
            ftp.accept()
        server.failures = [f"{server.url}/other"]
        get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
