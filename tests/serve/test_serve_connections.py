"""Connections are bounded by what the system allows, and a client that sends first sees its answer."""

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from augenmerk.serve.limits import Limits
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.server import fit_connections
from tests.support.command import COMMAND, Answer, run_command
from tests.support.processes import wait_for
from tests.support.serving import SECONDS, Serving, read_refusal, serving

resource = pytest.importorskip("resource")

TEXT = "Ein Hund schläft."
KEY = "0123456789abcdef"
MEGABYTES_10 = b" " * 10_000_000


@pytest.fixture(scope="module")
def registry() -> ModelRegistry:
    return ModelRegistry()


@pytest.fixture(scope="module")
def guarded(registry: ModelRegistry) -> Iterator[Serving]:
    with serving(registry, threads=1, pages=True, keys=(KEY,), connections=40) as server:
        yield server


@contextmanager
def limited_process(
    files: int, log: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, object]]]:
    """Starts a server that may open so many files; yields it, and what it prints about itself."""
    command = [*COMMAND, "serve", "--no-pages", "--port", "0", "--json", *options]
    program = (
        "import os, resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", program, *command], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            printed = ""
            while not printed.endswith("}\n"):
                line = process.stdout.readline()
                assert line, log.read_text()
                printed += line
            yield process, json.loads(printed)
        finally:
            process.kill()


@pytest.mark.parametrize(("files", "idle"), [(60, 200), (1024, 1100)])
def test_a_flood_of_idle_connections_does_not_use_up_all_files(files: int, idle: int, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < idle + 200:
        pytest.skip("this process may not open as many connections itself")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, idle + 200), hard))
    log = tmp_path / "log"
    with limited_process(files, log) as (process, about), ExitStack() as stack:
        assert files / 4 < int(str(about["connections"])) < files
        address = httpx.URL(str(about["address"]))
        place = (address.host, address.port)
        for number in range(2 * idle):
            connection = socket.create_connection(place, timeout=SECONDS)
            if number < idle:
                stack.callback(connection.close)
            else:  # ones that come and go, while the others stay
                connection.close()
            if number % (idle // 4) == 0:
                with httpx.Client(base_url=address, timeout=SECONDS) as client:
                    assert client.get("/health/live").status_code == 200
        with httpx.Client(base_url=address, timeout=SECONDS) as client:
            assert client.post("/v1/translate", json={"text": TEXT}).status_code == 200
        process.terminate()
        assert process.wait(SECONDS) == 0
    [line] = log.read_text().splitlines()
    assert f"all {about['connections']:,} connections are in use" in line


def test_too_few_files_are_refused_at_the_start() -> None:
    command = [*COMMAND, "serve", "--check", "--no-pages", "--port", "0"]
    program = (
        "import os, resource, sys; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *command],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("augenmerk: This process may open 14 files")


def test_the_command_prints_how_many_connections_there_may_be() -> None:
    assert "augenmerk: at most 20 connections (--limit connections)" in check("--limit", "connections=20").err
    assert json.loads(check("--json").out)["connections"] == 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        try:
            assert "the open files that the system allows" in check("--limit", f"connections={hard}").err
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def check(*options: str) -> Answer:
    answer = run_command("serve", "--check", "--no-pages", "--port", "0", *options)
    assert answer.code == 0, answer.err
    return answer


def test_the_soft_limit_is_raised() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
        wanted = Limits(connections=250)
        assert fit_connections(wanted) == wanted
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 350
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


# Refusals before the body was read


def send_first(server: Serving, head: str, body: bytes, *, chunked: bool = False) -> tuple[bytes, bytes]:
    """Sends all of a request before it reads anything; returns the head and the body of the answer."""
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    if chunked:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with server.connect() as connection:
        connection.sendall(f"{head}\r\n{length}\r\n\r\n".encode() + body)
        answer = read_answer(connection)[:2]
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        again = b"" if b"connection: close" in answer[0] else read_answer(connection)[0]
    assert again.startswith(b"HTTP/1.1 200") or b"close" in head.encode().lower()
    return answer


def read_answer(connection: socket.socket, received: bytes = b"") -> tuple[bytes, bytes, bytes]:
    """Reads one answer, a part of which may be there already; returns its head, body, and what follows."""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        assert piece, received
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        piece = connection.recv(65536)
        assert piece, body
        body += piece
    return head, body[:length], body[length:]


KEYED = f"Host: localhost\r\nX-Api-Key: {KEY}"


@pytest.mark.parametrize("closing", ["", "\r\nConnection: close"])
@pytest.mark.parametrize(
    ("status", "head"),
    [
        (413, f"POST /v1/translate HTTP/1.1\r\n{KEYED}"),
        (401, "POST /v1/translate HTTP/1.1\r\nHost: localhost"),
        (403, f"POST /v1/translate HTTP/1.1\r\nHost: evil.example\r\nX-Api-Key: {KEY}"),
        (403, f"POST /v1/translate HTTP/1.1\r\n{KEYED}\r\nOrigin: http://evil.example"),
        (413, f"POST /nowhere HTTP/1.1\r\n{KEYED}"),
        (415, f"POST /workbench/translate HTTP/1.1\r\n{KEYED}"),
    ],
)
def test_one_who_sends_a_large_body_first_sees_why_it_is_refused(
    guarded: Serving, status: int, head: str, closing: str
) -> None:
    for chunked in (False, True):
        expected = 404 if chunked and "nowhere" in head else status  # it is refused before it is counted
        top, body = send_first(guarded, head + closing, MEGABYTES_10, chunked=chunked)
        assert top.startswith(b"HTTP/1.1 %d" % expected), top
        assert list(json.loads(body)) == ["error"]


@pytest.mark.parametrize(
    ("status", "head"),
    [
        (404, f"POST /nowhere HTTP/1.1\r\n{KEYED}"),
        (405, f"POST /v1/models HTTP/1.1\r\n{KEYED}"),
        (200, f"GET /health/live HTTP/1.1\r\n{KEYED}"),
    ],
)
def test_a_body_that_nobody_reads_is_discarded(guarded: Serving, status: int, head: str) -> None:
    for chunked in (False, True):
        top, _ = send_first(guarded, head, b"x" * 900_000, chunked=chunked)
        assert top.startswith(b"HTTP/1.1 %d" % status)


def test_a_client_that_waits_for_100_continue_is_refused_at_once(guarded: Serving) -> None:
    head = f"POST /v1/translate HTTP/1.1\r\n{KEYED}\r\nExpect: 100-continue"
    with guarded.connect() as connection:
        connection.sendall(f"{head}\r\nContent-Length: 10000000\r\n\r\n".encode())
        answer, *_ = read_answer(connection)
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"connection: close" in answer
        assert connection.recv(1) == b""
    body = json.dumps({"text": TEXT}).encode()
    with guarded.connect() as connection:
        connection.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert read_answer(connection)[0].startswith(b"HTTP/1.1 200")


def test_headers_that_are_too_large_are_refused_with_a_sentence(guarded: Serving) -> None:
    for headers in (b"X: " + b"x" * 5_000_000, b"a:\r\n" * 500_000):
        with guarded.connect() as connection:
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + headers)
            head, body, _ = read_answer(connection)
            assert head.startswith(b"HTTP/1.1 431")
            assert "65,536 bytes" in json.loads(body)["error"]
            assert connection.recv(1) == b""
    large = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 60_000 + b"\r\n\r\n"
    with guarded.connect() as connection:
        connection.sendall(large)
        assert read_answer(connection)[0].startswith(b"HTTP/1.1 200")


def test_more_headers_than_anybody_needs_are_refused(guarded: Serving) -> None:
    with guarded.connect() as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + b"a:\r\n" * 300 + b"\r\n")
        head, body, _ = read_answer(connection)
    assert head.startswith(b"HTTP/1.1 431")
    assert "200 headers" in json.loads(body)["error"]


@pytest.mark.parametrize("chunked", [False, True])
def test_requests_are_understood_however_they_are_cut(guarded: Serving, chunked: bool) -> None:
    """Three requests in a row, of which any piece may arrive with any other."""
    rng = random.Random(5)
    body = json.dumps({"text": TEXT}).encode()
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    if chunked:
        body = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    post = f"POST /v1/translate HTTP/1.1\r\n{KEYED}\r\n{length}\r\n\r\n".encode() + body
    get = b"\r\nGET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    requests = [get, post, post] if not chunked else [get, post]  # after chunks, the next waits for its turn
    for cuts in range(12):
        with guarded.connect() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sent = b"".join(requests)
            places = sorted(rng.sample(range(1, len(sent)), cuts))
            for begin, end in zip([0, *places], [*places, len(sent)], strict=True):
                connection.sendall(sent[begin:end])
                time.sleep(0.01)
            rest = b""
            for _ in requests:
                head, _, rest = read_answer(connection, rest)
                assert head.startswith(b"HTTP/1.1 200")


def measure_memory() -> int:
    """Returns the bytes of the server's process, which is also that of the test."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * int(resource.getpagesize())


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_memory_stays_bounded(registry: ModelRegistry) -> None:
    """Requests without end on one connection, trailers without end, and headers on many."""
    get = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = head + b"2\r\n{}\r\n0\r\n"
    with serving(registry, threads=1, connections=200) as server, ExitStack() as stack:
        for begin, piece in (
            (b"", get * 1000),
            (chunks, b"X: " + b"a" * 50_000 + b"\r\n"),
            (chunks, b"a:\r\n" * 9000),
        ):
            before = measure_memory()
            connection = stack.enter_context(server.connect())
            connection.settimeout(0.5)
            with suppress(OSError):  # it stops reading, or ends the connection
                connection.sendall(begin)
                for _ in range(2000):
                    connection.sendall(piece)
            assert measure_memory() - before < 50_000_000
        before = measure_memory()
        for _ in range(150):
            connection = stack.enter_context(server.connect())
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 16_000)
        assert server.client.get("/health/live").status_code == 200
        assert measure_memory() - before < 50_000_000


def test_bodies_without_an_end_are_cut_off(registry: ModelRegistry) -> None:
    """Each is read for so long and no longer, whether it is refused at once or by its size."""
    with serving(registry, threads=1, body_seconds=0.3) as server:
        for path in ("/v1/translate", "/nowhere"):
            with server.connect() as connection:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                connection.sendall(head.encode())
                with suppress(OSError):  # broken or reset
                    while True:
                        connection.sendall(b"1\r\nx\r\n")
        assert server.translate(TEXT)


# Who makes room


def test_clients_that_are_slow_make_room_for_others(registry: ModelRegistry) -> None:
    """Slow requests, half headers, half bodies and unread answers are all closed before work is refused."""
    get = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    slow = (
        b"",
        b"GET / HT",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        get * 300,
    )
    with serving(registry, threads=1, connections=10) as server, ExitStack() as stack:
        for number in range(50):
            connection = stack.enter_context(server.connect())
            connection.settimeout(0.05)
            with suppress(OSError):  # it reads no more requests before its answers are read, or has closed it
                connection.sendall(slow[number % len(slow)])
            if number % 10 == 9:
                with httpx.Client(base_url=server.address, timeout=SECONDS) as client:
                    assert client.get("/health/live").status_code == 200
        assert server.translate(TEXT)


def test_health_is_answered_while_all_others_are_at_work(registry: ModelRegistry) -> None:
    with serving(registry, threads=1, connections=10) as server, ThreadPoolExecutor(9) as pool:
        with server.busy():
            waiting = [pool.submit(post_alone, server, TEXT) for _ in range(9)]
            server.wait_for_queue(1 + 9)
            with httpx.Client(base_url=server.address, timeout=SECONDS) as client:
                assert client.get("/health/live").status_code == 200
                answer = client.post("/v1/translate", json={"text": TEXT})
                assert "try again later" in read_refusal(429, answer)
                assert client.get("/health/ready").status_code == 200
        assert {one.result(SECONDS) for one in waiting} == {200}
        wait_for("the connections to be free", lambda: server.service.batcher.queued == 0)
        assert server.translate(TEXT)


def post_alone(server: Serving, text: str) -> int:
    with httpx.Client(base_url=server.address, timeout=SECONDS) as client:
        return client.post("/v1/translate", json={"text": text}).status_code


def test_requests_that_are_answered_are_not_interrupted_by_a_flood(registry: ModelRegistry) -> None:
    with serving(registry, threads=1, connections=10) as server, ThreadPoolExecutor(1) as pool:
        with server.busy():
            waiting = pool.submit(post_alone, server, TEXT)
            server.wait_for_queue(2)
            for _ in range(100):
                server.connect().close()
            idle = [server.connect() for _ in range(100)]
            with httpx.Client(base_url=server.address, timeout=SECONDS) as client:
                assert client.get("/health/live").status_code == 200
        assert waiting.result(SECONDS) == 200
        for connection in idle:
            connection.close()


@pytest.mark.parametrize("pause", [False, True])
def test_a_wish_for_another_protocol_is_ignored(guarded: Serving, pause: bool) -> None:
    """As Java and `curl --http2` send it, with the body at once or a moment later."""
    body = json.dumps({"text": TEXT}).encode()
    upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"
    head = f"POST /v1/translate HTTP/1.1\r\n{KEYED}\r\n{upgrade}\r\nContent-Length: {len(body)}\r\n\r\n"
    with guarded.connect() as connection:
        connection.sendall(head.encode())
        if pause:
            time.sleep(0.2)
        connection.sendall(body)
        assert read_answer(connection)[0].startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("signals", [1, 2])
def test_requests_that_the_server_no_longer_waits_for_are_told_so(signals: int, tmp_path: Path) -> None:
    """When `drain_seconds` are over, or SIGTERM has come twice."""
    log = tmp_path / "log"
    seconds = "0.5" if signals == 1 else "60"
    with (
        limited_process(200, log, "--limit", f"drain_seconds={seconds}") as (process, about),
        ExitStack() as stack,
    ):
        address = httpx.URL(str(about["address"]))
        long = json.dumps({"text": [f"{TEXT[:-1]} auf der Wiese."] * 500, "beam": 50, "n_best": 50}).encode()
        connections = []
        for sent in (long, b"{"):  # one is being computed, of the other the rest is awaited
            connection = stack.enter_context(socket.create_connection((address.host, address.port), SECONDS))
            head = f"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(long)}\r\n\r\n"
            connection.sendall(head.encode() + sent)
            connections.append(connection)
        time.sleep(0.5)
        for _ in range(signals):
            process.terminate()
            time.sleep(0.5)
        for connection in connections:
            top, body, _ = read_answer(connection)
            assert top.startswith(b"HTTP/1.1 503")
            assert "being stopped" in json.loads(body)["error"]
        assert process.wait(SECONDS) == 0
    assert "Traceback" not in log.read_text()
