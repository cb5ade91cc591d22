"""How many threads compute, in this process and beside others."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from augenmerk.config import ModelConfig, SearchConfig
from augenmerk.device import count_cores, count_threads, read_cpu_limit
from augenmerk.model import build_model
from augenmerk.translate.decoding import compute_on_one_core
from tests.decoding import translator_of

EIGHT_THREADS = """
import threading, augenmerk
from threadpoolctl import threadpool_info
from augenmerk.inference.gru import GRUTranslator

def products():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

seen, step = set(), GRUTranslator.step
def look(*arguments):
    seen.update(products())
    return step(*arguments)
GRUTranslator.step = look

before, translator = products(), augenmerk.load()
translator.translate("Ein Hund schläft.")  # this thread is the first that sets a limit
lines = ["Ein Hund.", "Zwei Kinder spielen im Park."] * 20
threads = [threading.Thread(target=translator.translate, args=(lines,)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(before, seen, products())
"""


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_each_of_eight_threads_computes_its_products_alone_and_others_have_theirs_again() -> None:
    before, inside, afterwards = run_python(EIGHT_THREADS, OPENBLAS_NUM_THREADS="2").split()
    assert inside == "{1}"
    assert afterwards == before


def test_no_more_threads_compute_at_once_than_there_are_cores() -> None:
    config = {"architecture": "gru", "attention": "scaled-dot", "embedding": 8, "hidden": 8, "key": 8}
    model = build_model(ModelConfig.model_validate(config), 30, 30).eval()
    inside, most = 0, 0
    with translator_of([model], 1) as translator:
        step = translator.models[0].step

        def look(*arguments: object) -> object:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            time.sleep(0.002)  # lets other threads in, if they may
            found = step(*arguments)  # type: ignore[arg-type]
            inside -= 1
            return found

        translator.models[0].step = look  # type: ignore[assignment, method-assign]
        search = SearchConfig(beam=2, max_length=8)
        with ThreadPoolExecutor(count_cores() + 6) as callers:
            list(callers.map(lambda _: translator.decode([[5, 6, 7]], search), range(count_cores() + 6)))
    assert 1 <= most <= count_cores()


def _compute() -> None:
    with compute_on_one_core():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have() -> None:
    leave, inside = threading.Event(), threading.Barrier(count_cores() + 1)

    def compute() -> None:
        with compute_on_one_core():
            inside.wait()
            leave.wait()

    threads = [threading.Thread(target=compute) for _ in range(count_cores())]
    for thread in threads:
        thread.start()
    inside.wait()
    try:
        child = get_context("fork").Process(target=_compute)
        child.start()
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()
        leave.set()
        for thread in threads:
            thread.join()


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


CONTAINER = "0::/\n"
OLD = "12:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/docker/a\n0::/\n"


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, float("inf")),  # not Linux
        ({"proc/self/cgroup": CONTAINER, "sys/fs/cgroup/cpu.max": "max 100000\n"}, float("inf")),
        ({"proc/self/cgroup": CONTAINER, "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        # A group of a group: each limit holds.
        (
            {
                "proc/self/cgroup": "0::/user.slice/run-1.scope\n",
                "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
                "sys/fs/cgroup/user.slice/run-1.scope/cpu.max": "400000 100000\n",
            },
            1.5,
        ),
        # The first version of control groups, as the machine sees it, and as the container does.
        (
            {
                "proc/self/cgroup": OLD,
                "sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (
            {
                "proc/self/cgroup": OLD,
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
    ],
)
def test_the_limit_of_a_container_is_read(tmp_path: Path, files: dict[str, str], cores: float) -> None:
    assert read_cpu_limit(write(tmp_path, files)) == cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    may_use = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, [min(may_use)])
        assert count_cores() == 1
    finally:
        os.sched_setaffinity(0, may_use)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,1")
    assert count_threads() == 3
