"""Nobody can ask too much, and nobody who misbehaves harms another."""

import asyncio
import json
import logging
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.batcher import Batcher, Metrics, Work
from augenmerk.serve.guard import Access, check_local, read_keys
from augenmerk.serve.limits import Limits, ServiceError
from augenmerk.serve.registry import ModelRegistry
from augenmerk.translation import Translator
from tests.support.processes import wait_for
from tests.support.serving import SECONDS, Serving, read_refusal, serving

TEXT = "Ein Hund schläft."
KEY = "0123456789abcdef"
NAME = "multi30k-de-en"


@pytest.fixture(scope="module")
def registry() -> ModelRegistry:
    return ModelRegistry()


@pytest.fixture(scope="module")
def strict(registry: ModelRegistry) -> Iterator[Serving]:
    """A server with small limits."""
    limits: dict[str, Any] = {"characters": 30, "texts": 4, "beam": 5, "n_best": 3, "body": 2000, "models": 2}
    with serving(registry, threads=1, **limits) as server:
        yield server


@pytest.mark.parametrize(
    ("status", "body", "named"),
    [
        (413, {"text": "x" * 31}, "31"),
        (413, {"text": ["x"] * 5}, "5 texts"),
        (413, {"text": ["x", "x" * 31]}, "31"),
        (400, {"text": "x", "beam": 6}, "beam = 6"),
        (400, {"text": "x", "n_best": 4}, "n_best = 4"),
        (400, {"text": "x", "mbr": True, "candidates": 1000}, "candidates = 1000"),
        (400, {"text": "x", "max_length": 1001}, "max_length = 1001"),
        (400, {"text": "x", "mbr": True, "sample": True}, "50 would be drawn"),
        (400, {"text": "x", "model": [NAME] * 3}, "1 to 2 models"),
        (400, {"text": "x", "model": []}, "1 to 2 models"),
        (400, {"text": []}, "no text"),
        (400, {"text": 5}, "text"),
        (400, {"text": [None]}, "text"),
        (400, {}, "text"),
        (400, {"text": "x", "beam": "5"}, "beam"),
        (400, {"text": "x", "beam": 0}, "beam"),
        (400, {"text": "x", "beam": 10**30}, "beam"),
        (400, {"text": "x", "beam": 2, "n_best": 3}, "wider beam"),
        (400, {"text": "x", "temperature": 0}, "temperature"),
        (400, {"text": "x", "beams": 5}, "beams"),
        (400, [], "object"),
        (413, {"text": "x", "beams": "y" * 3000}, "2,000 bytes"),
    ],
)
def test_what_is_too_much_or_wrong_is_refused(strict: Serving, status: int, body: object, named: str) -> None:
    assert named in strict.refuses(status, "/v1/translate", body)
    assert strict.translate(TEXT)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"text": "\\ud800"}', b"[" * 1500, b"null"])
def test_what_is_not_json_is_refused(strict: Serving, body: bytes) -> None:
    read_refusal(400, strict.client.post("/v1/translate", content=body))
    read_refusal(400, strict.client.post("/v1/score", content=body))
    read_refusal(400, strict.client.post("/translate", content=body))


def test_limits_of_scores_and_of_libretranslate(strict: Serving) -> None:
    strict.refuses(413, "/v1/score", {"source": "x", "target": "x" * 31})
    strict.refuses(413, "/translate", {"q": "x" * 31, "target": "en"})
    strict.refuses(413, "/translate", {"q": "Eis. Tee. Kuh. Aal. Uhr. Ohr.", "target": "en"})
    strict.refuses(400, "/translate", {"q": "x", "target": "en", "alternatives": 3})
    strict.refuses(413, "/detect", {"q": "x" * 31})


def test_a_body_of_unknown_length_is_counted(strict: Serving) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    read_refusal(413, strict.client.post("/v1/translate", content=pieces()))
    assert strict.translate(TEXT)


def test_too_many_who_wait_are_told_when_to_come_back(registry: ModelRegistry) -> None:
    with serving(registry, threads=1, queue=5) as server, ThreadPoolExecutor(1) as pool:
        with server.busy():
            waiting = pool.submit(server.translate, [TEXT] * 4)
            server.wait_for_queue(5)
            answer = server.post("/v1/translate", {"text": TEXT})
            assert "5 texts are waiting" in read_refusal(429, answer)
            assert int(answer.headers["retry-after"]) >= 1
            assert server.client.get("/health/live").status_code == 200
        assert len(waiting.result(SECONDS)) == 4
        assert server.translate(TEXT)


def test_who_waits_too_long_is_told_so_and_forgotten(registry: ModelRegistry) -> None:
    with serving(registry, threads=1, deadline=0.3) as server:
        with server.busy():
            assert "0.3 seconds" in server.refuses(504, "/v1/translate", {"text": TEXT})
            server.refuses(504, "/translate", {"q": TEXT, "target": "en"})
        computed = server.service.metrics.batch_sizes
        server.wait_for_queue(0)
        assert sum(computed.counts) == 0


def test_waiting_work_of_a_client_that_hangs_up_is_dropped(registry: ModelRegistry) -> None:
    with serving(registry, threads=1) as server:
        with server.busy():
            for _ in range(3):
                connection = server.connect()
                connection.sendall(make_request(json.dumps({"text": [TEXT] * 7}).encode()))
                server.wait_for_queue(1 + 7)
                hang_up(connection)
                wait_for("somebody to hang up", lambda: count_hung_up(server) > 0)
                server.service.metrics.requests.clear()
                server.submit(touch_queue(server)).result(SECONDS)  # type: ignore[call-arg]
                server.wait_for_queue(1)
        assert sum(server.service.metrics.batch_sizes.counts) == 0


async def touch_queue(server: Serving) -> None:
    """Has the batcher notice who has gone, as it does whenever somebody asks or a batch is done."""
    with server.service.batcher._condition:
        server.service.batcher._drop_abandoned()


def count_hung_up(server: Serving) -> int:
    return sum(count for (_, status), count in server.service.metrics.requests.items() if status == 499)


def test_one_who_hangs_up_in_a_batch_does_not_harm_the_others(
    registry: ModelRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client goes while its text is being computed together with those of others."""
    computing, go_on = threading.Event(), threading.Event()
    translate = Translator.translate

    def slow(self: Translator, texts: list[str], **settings: object) -> object:
        if len(texts) > 1:
            computing.set()
            assert go_on.wait(SECONDS)
        return translate(self, texts, **settings)  # type: ignore[call-overload]

    texts = [f"{TEXT.rstrip('.')}{' und ein Mann' * number}." for number in range(8)]
    with serving(registry, threads=1) as server, ThreadPoolExecutor(8) as pool:
        expected = [server.translate(text, beam=1) for text in texts]
        monkeypatch.setattr(Translator, "translate", slow)
        with server.busy():
            gone = server.connect()
            gone.sendall(make_request(json.dumps({"text": TEXT, "beam": 1}).encode()))
            server.wait_for_queue(2)
            others = [pool.submit(server.translate, text, beam=1) for text in texts]
            server.wait_for_queue(10)
        assert computing.wait(SECONDS)
        hang_up(gone)
        wait_for("one to hang up", lambda: count_hung_up(server) == 1)
        go_on.set()
        assert [other.result(SECONDS) for other in others] == expected


def test_an_error_in_the_server_is_answered_and_tells_no_text(
    registry: ModelRegistry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_self: Translator, texts: list[str], **_settings: object) -> None:
        raise ValueError(f"cannot do {texts}")

    with serving(registry, threads=1) as server, caplog.at_level(logging.DEBUG):
        with monkeypatch.context() as patch:
            patch.setattr(Translator, "translate", fail)
            assert "went wrong" in server.refuses(500, "/v1/translate", {"text": "Geheimnis"})
        assert server.translate("Geheimnis")
        server.refuses(400, "/v1/translate", {"text": "Geheimnis", "n_best": "Geheimnis"})
        server.refuses(404, "/v1/translate", {"text": "x", "model": "Geheimnis"})
    own = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    assert any("ValueError at" in message and "batcher.py" in message for message in own)
    assert "Geheimnis" not in "".join(own)


# Clients that misbehave on bare connections


def make_request(body: bytes, *, length: int | None = None, path: str = "/v1/translate") -> bytes:
    size = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode() + body


def hang_up(connection: socket.socket) -> None:
    """Ends a connection at once, as a client that was killed does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_all(connection: socket.socket) -> bytes:
    """Reads until the server closes the connection."""
    received = b""
    with connection:
        while True:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                return received
            if not piece:
                return received
            received += piece


@pytest.fixture(scope="module")
def impatient(registry: ModelRegistry) -> Iterator[Serving]:
    with serving(registry, threads=1, body_seconds=0.3, idle_seconds=0.3, connections=60) as server:
        yield server


def test_half_a_body_is_waited_for_only_so_long(impatient: Serving) -> None:
    connection = impatient.connect()
    connection.sendall(make_request(b'{"text": "Ein', length=100))
    received = read_all(connection)
    assert received.startswith(b"HTTP/1.1 408")
    assert b'{"error":"The body did not arrive within 0.3 seconds."}' in received
    connection = impatient.connect()
    connection.sendall(make_request(b'{"text": "Ein', length=100))
    hang_up(connection)
    assert impatient.translate(TEXT)


def test_dripping_bytes_do_not_hold_a_connection(impatient: Serving) -> None:
    for begin in (b"POST /v1/translate HT", make_request(b"", length=10_000), b""):
        connection = impatient.connect()
        connection.sendall(begin)
        with pytest.raises(OSError):  # noqa: PT011, PT012 (broken, reset or aborted, sooner or later)
            for _ in range(100 * SECONDS):
                connection.sendall(b"x")
                time.sleep(0.01)
        connection.close()
    assert impatient.translate(TEXT)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # as a browser begins that expects encryption
        b"\0" * 1000,
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\nHost: localhost\n\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000,
    ],
)
def test_garbage_is_refused(impatient: Serving, garbage: bytes) -> None:
    connection = impatient.connect()
    try:
        connection.sendall(garbage)
    except OSError:  # it has closed the connection already
        assert len(garbage) > 100_000
    received = read_all(connection)
    assert re.match(rb"HTTP/1.1 4(00|31) ", received), received[:100]
    assert received.endswith((b"Invalid HTTP request received.", b'."}'))
    assert impatient.translate(TEXT)


def test_idle_connections_make_room(registry: ModelRegistry) -> None:
    """Many connections that say nothing: the oldest are closed, and whoever asks is answered."""
    with serving(registry, threads=1, connections=50) as server:
        idle = []
        for _ in range(300):
            idle.append(server.connect())
        assert server.translate(TEXT)
        with httpx.Client(base_url=server.address, timeout=SECONDS) as other:
            assert other.get("/health/live").status_code == 200
        assert read_all(idle[0]) == b""
        for connection in idle:
            connection.close()


def test_idle_connections_are_closed_after_a_while(impatient: Serving) -> None:
    silent, asked = impatient.connect(), impatient.connect()
    asked.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert read_all(silent) == b""
    assert read_all(asked).endswith(b'{"status":"alive"}')


def test_a_client_that_does_not_read_its_answers_is_let_go(impatient: Serving) -> None:
    with socket.socket() as connection:
        connection.settimeout(SECONDS)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", impatient.port))
        # The answers are larger than all buffers between. It reads none of them.
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        wait_for("the server to accept it", lambda: impatient.serves(connection))
        wait_for("the server to hang up", lambda: not impatient.serves(connection))
        assert impatient.translate(TEXT)


def test_pipelined_requests_are_answered_in_their_order(impatient: Serving) -> None:
    connection = impatient.connect()
    requests = [make_request(json.dumps({"text": f"Ein Hund {number}."}).encode()) for number in range(5)]
    connection.sendall(b"".join(requests))
    received = read_all(connection).decode()
    assert re.findall(r'"source":"Ein Hund (\d)\."', received) == list("01234")


def test_a_translation_does_not_wait_for_a_function(registry: ModelRegistry) -> None:
    """They arrive together; the thread that takes the function has to wake another one."""

    async def ask() -> bool:
        batcher = Batcher(registry, Limits(), Metrics(), threads=2)
        batcher.start()
        await asyncio.sleep(0.05)  # both threads wait
        over = threading.Event()
        function = asyncio.create_task(batcher.compute(lambda: over.wait(SECONDS)))
        try:
            [found] = await batcher.translate(NAME, [TEXT])
            return bool(found.text) and not function.done()
        finally:
            over.set()
            await function
            await batcher.close()

    assert asyncio.run(ask())


def test_who_translates_is_not_disturbed_when_runs_are_read_anew() -> None:
    registry = ModelRegistry()
    translator = registry.get(NAME)
    registry.reload()
    assert registry.get(NAME) is not translator
    texts = [f"{TEXT} {number}" for number in range(300)]
    assert len(translator.translate(texts, beam=1)) == 300


def test_batches_are_small_where_texts_have_many_hypotheses(registry: ModelRegistry) -> None:
    batcher = Batcher(registry, Limits(), Metrics())
    own = registry.get(NAME).config.search

    def estimate(**settings: Any) -> tuple[int, int]:
        return batcher._estimate_size(Work("translate", (NAME,), tuple(settings.items())))

    assert own.max_ratio > 0
    assert estimate() == (own.beam, 0)
    assert estimate(beam=7, n_best=2) == (7, 0)
    assert estimate(mbr=True, sample=True) == (50, 0)
    assert estimate(sample=True) == (1, 0)
    assert estimate(beam=2, n_best=9) == (50, 0)  # refused when it is computed


# Who may ask


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:80", "192.168.1.5", "lap.local"]
)
def test_known_hosts(host: str) -> None:
    assert Access(hosts=["Lap.local"]).check_origin([(b"host", host.encode())]) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a@localhost", "[::1", "[x]"],
)
def test_unknown_hosts(host: str) -> None:
    with pytest.raises(ServiceError) as refused:
        Access().check_origin([(b"host", host.encode())])
    assert refused.value.status == 403


def test_host_and_origin_are_checked(registry: ModelRegistry) -> None:
    friend = "https://friend.example"
    with serving(registry, threads=1, origins=(friend,)) as server:
        own = server.address
        assert "evil.example" in server.refuses(403, "/v1/translate", {"text": "x"}, host="evil.example")
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://friend.example.evil"):
            assert "may not ask" in server.refuses(403, "/v1/translate", {"text": "x"}, origin=origin)
        # Neither may forms, for which a browser does not ask first; programs without an origin may.
        form = {"content-type": "application/x-www-form-urlencoded"}
        for path, body in (("/v1/translate", b'{"text": "x"}'), ("/translate", b"q=x&target=en")):
            evil = {**form, "origin": "http://evil.example"}
            assert server.client.post(path, content=body, headers=evil).status_code == 403
            assert server.client.post(path, content=body, headers=form).status_code == 200
        answer = server.post("/v1/translate", {"text": "x"}, origin=own)
        assert answer.status_code == 200
        assert not [name for name in answer.headers if name.startswith("access-control")]
        answer = server.post("/v1/translate", {"text": "x"}, origin=friend)
        assert answer.headers["access-control-allow-origin"] == friend
        assert answer.headers["vary"] == "Origin"
        preflight = server.client.options("/v1/translate", headers={"origin": friend})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, friend)
        refused = server.client.options("/v1/translate", headers={"origin": "http://evil.example"})
        assert "access-control-allow-origin" not in refused.headers


def test_keys_are_asked_for(registry: ModelRegistry) -> None:
    with serving(registry, threads=1, keys=("another-key-of-somebody", KEY)) as server:
        body = {"text": TEXT}
        answer = server.post("/v1/translate", body)
        assert "API key" in read_refusal(401, answer)
        assert answer.headers["www-authenticate"].startswith("Basic")
        for header in ({"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}):
            assert server.post("/v1/translate", body, **header).status_code == 200
        assert server.client.post("/v1/translate", json=body, auth=("anybody", KEY)).status_code == 200
        for header in ({"authorization": f"Bearer {KEY}x"}, {"authorization": "Basic %"}, {"x-api-key": ""}):
            assert "not known" in server.refuses(401, "/v1/translate", body, **header)
        for path in ("/metrics", "/v1/models", "/docs", "/openapi.json", "/nowhere"):
            assert server.client.get(path).status_code == 401
        for path in ("/health/live", "/health/ready", "/languages"):
            assert server.client.get(path).status_code == 200
        wanted = {"q": TEXT, "source": "de", "target": "en"}
        assert server.client.post("/translate", data={**wanted, "api_key": KEY}).status_code == 200
        server.refuses(401, "/translate", wanted)
        server.refuses(401, "/translate", {**wanted, "api_key": f"{KEY}x"})
        server.refuses(401, "/translate", {**wanted, "api_key": KEY}, authorization="Bearer wrong")
        for path in ("/translate", "/detect"):
            server.refuses(401, path, wanted, authorization="Unknown scheme")


def test_pages_from_elsewhere_may_send_keys(registry: ModelRegistry) -> None:
    """A browser asks first, without the key, whether it may send one."""
    friend = "https://friend.example"
    with serving(registry, threads=1, origins=(friend,), keys=(KEY,)) as server:
        preflight = server.client.options("/v1/translate", headers={"origin": friend})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, friend)
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        refused = server.post("/v1/translate", {"text": TEXT}, origin=friend)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, friend)
        answer = server.post("/v1/translate", {"text": TEXT}, origin=friend, authorization=f"Bearer {KEY}")
        assert answer.status_code == 200


def test_keys_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGENMERK_API_KEYS", f"{KEY}, another-key-of-somebody")
    keys = read_keys(None)
    assert keys == [KEY, "another-key-of-somebody"]
    access = Access(keys=keys)
    for key in keys:
        access.check_key(key)
    for wrong in ("", None):
        with pytest.raises(ServiceError):
            access.check_key(wrong)
    monkeypatch.delenv("AUGENMERK_API_KEYS")
    assert not read_keys(None)
    with pytest.raises(AugenmerkError, match="16"):
        Access(keys=["short"])


def test_only_this_machine_may_change_something(registry: ModelRegistry) -> None:
    def request(client: str, **headers: str) -> Request:
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        return Request({"type": "http", "client": (client, 1), "headers": pairs})

    for client in ("127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"):
        check_local(request(client, host="localhost:8765"))
    for host in ("127.0.0.1:8765", "[::1]:8765", "LOCALHOST"):
        check_local(request("127.0.0.1", host=host, origin=f"http://{host}"))
    for client in ("192.168.1.5", "8.8.8.8", "fe80::1", "", "testclient", "::ffff:8.8.8.8"):
        with pytest.raises(ServiceError, match="machine"):
            check_local(request(client, host="localhost"))
    for header in ("x_forwarded_for", "forwarded", "x_real_ip"):
        with pytest.raises(ServiceError, match="proxy"):
            check_local(request("127.0.0.1", host="localhost", **{header: "for=127.0.0.1"}))
    for host in ("translate.example.org", "192.168.1.5:8765", "", "["):
        with pytest.raises(ServiceError, match="proxy"):
            check_local(request("127.0.0.1", host=host))
    for origin in ("https://friend.example", "null", "http://localhost:1"):
        with pytest.raises(ServiceError, match="pages of this server"):
            check_local(request("127.0.0.1", host="localhost:8765", origin=origin))
    with serving(registry, threads=1) as server:
        headers = {"x-forwarded-for": "127.0.0.1"}
        assert "proxy" in read_refusal(403, server.client.post("/v1/reload", headers=headers))


def test_limits_are_read_from_the_command_line() -> None:
    limits = Limits.parse(["beam=7", "deadline=2.5"])
    assert (limits.beam, limits.deadline, limits.texts) == (7, 2.5, Limits().texts)
    for wrong in ("beam", "beam=", "beam=0", "beam=many", "beans=3", "deadline=-1", "=", "queue=1.5"):
        with pytest.raises(AugenmerkError, match="--limit"):
            Limits.parse([wrong])


def test_the_page_has_every_limit() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "serving.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| (.+) \|$", page, re.M)
    assert rows == [
        (
            name,
            f"{field.default:g}" if isinstance(field.default, float) else str(field.default),
            field.description,
        )
        for name, field in Limits.model_fields.items()
    ]
