"""The connection to a Ray cluster, which is joined, or started on this machine alone.

    with connect("10.0.0.1:6379"):
        nodes = list_nodes()

Ray is optional and imported here only when it is needed.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from augenmerk.base.device import Place
from augenmerk.base.errors import AugenmerkError, check_choice
from augenmerk.base.files import error_reason

OBJECT_STORE_BYTES = 100 * 2**20
"""Ray would reserve 30 percent of the memory, though only short messages pass through it here."""
CONNECT_TIMEOUT = 10
"""Seconds that a cluster may take to answer; `ray.init` would try for minutes."""
LOCAL, AUTO = "local", "auto"
RESUMABLE = "Finished blocks are kept: run the same command again to resume."
"""What work in blocks reports when it is interrupted."""


@dataclass(frozen=True)
class Node:
    """A machine of the cluster and what Ray may use of it."""

    host: str
    cpus: int
    gpus: int


@contextmanager
def connect(address: str | None = None) -> Iterator[None]:
    """Joins the cluster at `address` (HOST:PORT), or starts one on this machine and ends it afterwards.

    Without an address, $RAY_ADDRESS names the cluster; if that is not set either, one is started. "local"
    always starts one, "auto" joins the one on this machine. Ray may import Python code on other machines, but
    brings none there: augenmerk must be installed on each.

    Raises AugenmerkError if ray is not installed or the cluster cannot be reached.
    """
    # Ray reads these when it is imported. It would send statistics about its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_py_gcs_connect_timeout_s", str(CONNECT_TIMEOUT))
    try:
        import ray
    except ImportError:
        raise AugenmerkError("Ray is not installed: run pip install '.[ray]' in your clone.") from None
    address = address or os.environ.get("RAY_ADDRESS") or LOCAL
    if address not in (LOCAL, AUTO):
        _check_reachable(address)
    options: dict[str, Any] = {}
    before = signal.getsignal(signal.SIGTERM)
    with ExitStack() as stack:
        if address == LOCAL:
            # For sockets and logs; the path of a socket must not exceed 107 bytes.
            short = "/tmp" if Path("/tmp").is_dir() else None
            folder = TemporaryDirectory(prefix="ray-", dir=short, ignore_cleanup_errors=True)
            options = {
                "object_store_memory": OBJECT_STORE_BYTES,
                "include_dashboard": False,
                "_temp_dir": stack.enter_context(folder),
            }
        stack.callback(ray.shutdown)
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **options)
        except Exception as error:  # Ray raises a bare Exception if its start takes too long
            hint = "; `ray start` starts one on this machine" if address == AUTO else ""
            raise AugenmerkError(
                f"The Ray cluster at {address} cannot be used: {first_line(error)}{hint}."
            ) from None
        except SystemExit:
            # Ray replaces the handler of SIGTERM by one that exits; our own handler is called instead.
            signal.signal(signal.SIGTERM, before)
            signal.raise_signal(signal.SIGTERM)
            raise
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, before)
        yield


@contextmanager
def connect_if_asked(on: Place, address: str | None) -> Iterator[None]:
    """Connects to the Ray cluster if one was asked for; an interrupt tells how to resume."""
    check_choice("on", on, get_args(Place))
    if on == "local" and address is not None:
        raise AugenmerkError("--ray-address is for a Ray cluster: add --on ray.")
    try:
        with connect(address) if on == "ray" else nullcontext():
            yield
    except KeyboardInterrupt as interrupt:
        interrupt.args = (RESUMABLE,)
        raise


def list_nodes() -> list[Node]:
    """Returns the machines of the cluster that are alive, with their cores and GPUs."""
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [
        Node(
            node["NodeManagerHostname"],
            cpus=int(node["Resources"].get("CPU", 0)),
            gpus=int(node["Resources"].get("GPU", 0)),
        )
        for node in nodes
        if node["Alive"]
    ]


def _check_reachable(address: str) -> None:
    """Raises AugenmerkError unless a Ray cluster answers there."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]  # which `ray health-check` asks
    from ray.exceptions import RayError

    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16 or "://" in address:
        raise AugenmerkError(
            f"'{address}' is not the address of a Ray cluster: expected HOST:PORT, as in 10.0.0.1:6379, "
            f"or auto or local."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT).close()
        GcsClient(address=address)
    except OSError as error:
        raise AugenmerkError(
            f"No Ray cluster can be reached at {address} ({error_reason(error)}); is its head running there?"
        ) from None
    except RayError:
        raise AugenmerkError(
            f"What answers at {address} is not a Ray cluster; the port is that of `ray start --head`, "
            f"6379 unless it was chosen."
        ) from None


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message that is not blank, or the name of its class."""
    lines = (line.strip(" .") for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
