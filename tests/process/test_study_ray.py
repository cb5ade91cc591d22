"""Studies on a real Ray cluster of two nodes, which it outlives in part."""

import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import gt
from pathlib import Path
from typing import Any

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.cluster.ray import Node, connect, list_nodes
from augenmerk.run.directory import RunDirectory
from augenmerk.study.clusters import RayCluster
from augenmerk.study.jobs import Job, execute
from augenmerk.study.plan import read_study
from augenmerk.study.runner import RunStatus, StudyInterrupted, run_study
from tests.support.cluster_study import EPOCHS, epochs, local_result, read_result, runs, write_study
from tests.support.clusters import NODE, start_cluster
from tests.support.command import run_command
from tests.support.processes import Command, Forker, wait_for


@pytest.fixture(scope="module")
def file(shared_folder: Path) -> Path:
    return write_study(shared_folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes, with a core each."""
    with start_cluster(1, 1) as cluster:
        yield cluster


def test_a_cluster_is_joined_and_left_as_it_was(cluster: Any) -> None:
    before, node = signal.getsignal(signal.SIGTERM), Node(socket.gethostname(), cpus=1, gpus=0)
    with connect(cluster.address):
        assert list_nodes() == [node, node]
        assert signal.getsignal(signal.SIGTERM) is before


def test_resources_that_no_machine_has(cluster: Any, file: Path, tmp_path: Path) -> None:
    options = ("--on", "ray", "--ray-address", cluster.address, "--gpus-per-job", "1")
    answer = run_command("study", file, "--out", tmp_path / "out", *options)
    assert answer.code == 2
    assert answer.err.splitlines()[-1].endswith(
        "A run would wait for ever: it needs 1 cores and 1 GPUs, but the machines of the Ray cluster have "
        "1 and 0; see --cpus-per-job and --gpus-per-job."
    )
    assert not (tmp_path / "out" / "study.json").exists()


def test_a_study_that_is_interrupted_saves_its_runs(cluster: Any, file: Path, tmp_path: Path) -> None:
    seen: set[str] = set()

    def press_ctrl_c(statuses: Sequence[RunStatus]) -> None:
        seen.update(status.state for status in statuses)
        if any(status.epoch > 1 for status in statuses) and "pressed" not in seen:
            seen.add("pressed")
            raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted):
        run_study(
            read_study(file),
            tmp_path / "out",
            jobs=3,
            device="cpu",
            on_progress=press_ctrl_c,
            cluster=RayCluster(cluster.address),
        )
    assert {"queued", "running", "stopped"} <= seen
    states = [RunDirectory.open(run).load_state() for run in runs(tmp_path / "out") if epochs(run)]
    assert states
    assert all(state is not None and 0 < state[1]["epoch"] < EPOCHS for state in states)


def test_a_study_is_killed_and_goes_on_then_a_node_is_killed(
    cluster: Any, file: Path, forker: Forker, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    on_ray = ("--on", "ray", "--ray-address", cluster.address)
    killed = forker.start_command(Command(["study", str(file), "--out", str(out), *on_ray]), tmp_path)
    wait_for("the first epoch", lambda: any(map(epochs, runs(out))))
    killed.kill()
    before = [epochs(run) for run in runs(out)]
    states: list[list[str]] = [["waiting"] * 2]
    nodes = cluster.list_all_nodes()

    def kill_node(statuses: Sequence[RunStatus]) -> None:
        states.append([status.state for status in statuses])
        if cluster.list_all_nodes() == nodes and all(map(gt, map(epochs, runs(out)), before)):
            cluster.remove_node(nodes[1], allow_graceful=False)
            cluster.add_node(num_cpus=1, **NODE)

    study, on = read_study(file), RayCluster(cluster.address)
    run_study(study, out, jobs=2, device="cpu", on_progress=kill_node, cluster=on)
    assert cluster.list_all_nodes() != nodes
    assert read_result(out) == local_result(file)
    begun = [
        pair for run in zip(*states, strict=True) for pair in pairwise(run) if pair[1] == "running" != pair[0]
    ]
    assert len(begun) == 3, states  # each once, and that of the node that was killed once more


def test_another_version_on_another_machine(tmp_path: Path) -> None:
    job = Job(str(tmp_path / "run"), {}, [], [], [], "cpu")
    with pytest.raises(AugenmerkError, match=r"has augenmerk .*, but the study was started with 0\.0\.1"):
        execute(replace(job, version="0.0.1"), lambda **_: None)
