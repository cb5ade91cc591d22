"""What is said if a Ray cluster cannot be joined; one that can be joined is in test_study_ray.py."""

import socket
import sys
import threading
from pathlib import Path

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.cluster.ray import connect
from tests.support.processes import PATIENCE, Command, Forker


def refusal(address: str) -> str:
    with pytest.raises(AugenmerkError) as refused, connect(address):
        pass
    return str(refused.value)


@pytest.mark.parametrize("address", ["head", "head:", ":6379", "head:0", "head:65536", "ray://head:10001"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert f"'{address}' is not the address" in refusal(address)


def test_an_address_where_nothing_answers_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert f"No Ray cluster can be reached at 127.0.0.1:{port} (Connection refused)" in refusal(
        f"127.0.0.1:{port}"
    )


def test_an_address_where_something_else_answers_is_refused(forker: Forker, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        arguments = "data prepare bilderbuch --out new --on ray --ray-address".split()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        # Ray reads these when it is imported.
        quick = {"RAY_py_gcs_connect_timeout_s": "1", "RAY_gcs_rpc_server_connect_timeout_s": "1"}
        [ended] = forker.run(tmp_path, Command([*arguments, address], environment=quick, hang=PATIENCE))
        assert (ended.code, "is not a Ray cluster" in ended.err) == (2, True), ended.err
        thread.join()


def test_without_ray_a_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert refusal("local").endswith("Ray is not installed: run pip install '.[ray]' in your clone.")
