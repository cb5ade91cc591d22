"""How many threads compute, in this process and beside others."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from augenmerk.base.config import ModelConfig, SearchConfig
from augenmerk.base.device import count_cores, count_threads, read_cpu_limit
from augenmerk.cli.options import _use_threads
from augenmerk.model.interface import build_model
from augenmerk.translation import load
from augenmerk.translation.loading import compute_on_one_core
from tests.support.command import COMMAND, fails_with_a_sentence, run_command
from tests.support.decoding import translator_of
from tests.support.runs import tiny

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
    inside, most, lock = 0, 0, threading.Lock()
    with translator_of([model], 1) as translator:
        step = translator.models[0].step

        def look(*arguments: object) -> object:
            nonlocal inside, most
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)  # lets other threads in, if they may
            found = step(*arguments)  # type: ignore[arg-type]
            with lock:
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


def set_in_a_new_process(**environment: str) -> dict[str, str]:
    """Returns what `prepare_environment` makes of the environment."""
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MPLBACKEND")
    code = (
        "import json, os, sys;"
        "from augenmerk.base.process import prepare_environment; prepare_environment();"
        f"print(json.dumps({{name: os.environ.get(name) for name in {names}}}));"
        "assert not {'torch', 'numpy', 'matplotlib'} & sys.modules.keys()"
    )
    kept = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, check=True, capture_output=True
    )
    return {name: value for name, value in json.loads(done.stdout).items() if value is not None}


def test_threads_that_wait_stop_spinning_unless_the_user_decides_otherwise() -> None:
    assert int(set_in_a_new_process()["GOMP_SPINCOUNT"]) <= 20_000
    assert set_in_a_new_process(GOMP_SPINCOUNT="5")["GOMP_SPINCOUNT"] == "5"
    chosen = set_in_a_new_process(OMP_WAIT_POLICY="ACTIVE")
    assert (chosen["OMP_WAIT_POLICY"], chosen.get("GOMP_SPINCOUNT")) == ("ACTIVE", None)


def test_a_picture_is_drawn_where_the_backend_of_a_notebook_is_not_installed(tmp_path: Path) -> None:
    picture = tmp_path / "map.png"
    subprocess.run(
        [*COMMAND, "diagram", "Ein Hund.", "--out", picture],
        env={**os.environ, "MPLBACKEND": "module://not_installed_here.backend_inline"},
        check=True,
        capture_output=True,
    )
    assert picture.read_bytes().startswith(b"\x89PNG")


def flags() -> list[str]:
    sizes = tiny(data__bilderbuch={"pairs": 60}).flatten()
    names = ("data.bilderbuch.pairs", "model.embedding", "model.hidden", "model.key", "train.batch_size")
    settings = [*(f"{name}={sizes[name]}" for name in names), "train.bleu=false"]
    return ["--data", "bilderbuch", *(f"--set={setting}" for setting in settings)]


THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""In the environment of a command, so that what --threads sets is put back when the test has ended."""


@pytest.mark.skipif(count_cores() < 2, reason="this machine has one core")
def test_training_says_and_records_its_threads_and_keeps_them(tmp_path: Path) -> None:
    out, of_tests = tmp_path / "run", torch.get_num_threads()
    begun = run_command(
        *("train", "classic", *flags(), "--epochs", 1, "--out", out, "--threads", 2, "--json"), env=THREADS
    )
    assert "cpu, 2 threads" in begun.err.splitlines()[0]
    result = json.loads(begun.out)
    assert (result["threads"], result["device"]) == (2, "cpu, 2 threads")
    longer = run_command("train", "--resume", "--out", out, "--epochs", 2, "--json", env=THREADS)
    assert json.loads(longer.out)["threads"] == 2  # so that weights are those of an uninterrupted run
    assert "was started with" not in longer.err
    other = run_command("train", "--resume", "--out", out, "--epochs", 3, "--threads", 1, env=THREADS)
    assert "was started with 2 CPU threads and continues with 1" in other.err
    assert torch.get_num_threads() == of_tests


def test_an_exact_run_has_one_thread(tmp_path: Path) -> None:
    arguments = ("train", "classic", *flags(), "--exact", "--epochs", 1, "--out", tmp_path / "run")
    assert "leave out --threads" in fails_with_a_sentence(*arguments, "--threads", 2, env=THREADS)


def test_translating_takes_as_many_threads_as_were_asked_for() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("MKL_NUM_THREADS", "1")
        _use_threads(3)
        with load() as translator:
            assert translator.pool.threads == 3
