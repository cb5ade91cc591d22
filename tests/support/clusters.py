"""Real Ray clusters of several nodes on this machine, for tests."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from augenmerk.cluster.ray import OBJECT_STORE_BYTES

NODE: dict[str, Any] = {"object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # workers are nice to other processes, and would wait for other tests
    "RAY_health_check_period_ms": "500",  # a node that was killed is noticed after five checks
}


@contextmanager
def start_cluster(*cpus: int) -> Iterator[Any]:
    """Yields a `ray.cluster_utils.Cluster` with a node for each number of cores; the first is its head.

    All of its files are in a folder of its own with a short name, so that several may run at a time.
    Nothing of it is left, whatever happens meanwhile.
    """
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder,
        patch.dict(os.environ, {**SETTINGS, "RAY_TMPDIR": folder}),
    ):
        os.mkdir(f"{folder}/ray")  # noqa: PTH102
        import ray
        from ray.cluster_utils import Cluster

        before = signal.getsignal(signal.SIGTERM)
        cluster = Cluster()
        try:
            for number in cpus:
                cluster.add_node(num_cpus=number, **NODE)
            signal.signal(signal.SIGTERM, before)  # which each node replaced
            yield cluster
        finally:
            if ray.is_initialized():
                ray.shutdown()
            cluster.shutdown()  # type: ignore[no-untyped-call]
