"""Joining and starting a Ray cluster."""

import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from augenmerk.cluster import Node, connect, list_nodes
from augenmerk.errors import AugenmerkError
from tests.clusters import start_cluster


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


def test_an_address_where_something_else_answers_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert "is not a Ray cluster" in refusal(f"127.0.0.1:{other.getsockname()[1]}")
        thread.join()


def test_a_cluster_is_joined_and_left_as_it_was() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with start_cluster(1, 3) as cluster:
        for _ in range(2):
            with connect(cluster.address):
                nodes = list_nodes()
                assert signal.getsignal(signal.SIGTERM) is before
            host = socket.gethostname()
            assert sorted(nodes, key=lambda node: node.cpus) == [Node(host, 1, 0), Node(host, 3, 0)]


def test_without_ray_a_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError\n", encoding="utf-8")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from augenmerk.cluster import connect\n"
        "with connect(): pass\n"
    )
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert failed.stderr.splitlines()[-1].endswith("Ray is not installed: pip install 'augenmerk[ray]'.")
