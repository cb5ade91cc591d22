"""Whoever only translates and looks needs no torch, no matplotlib and no scipy."""

import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import augenmerk
from augenmerk import AugenmerkError
from augenmerk.base import device
from tests.support.processes import PATIENCE, ROOT, Command, Forker, Outcome
from tests.support.runs import SharedRuns, tiny

LEFT_OUT = ("torch", "matplotlib", "scipy")
SENTENCE, TRANSLATION = "Ein kleiner Hund schläft.", "A small dog is sleeping.\n"

NEED_NOTHING = [
    "--version",
    "translate 'Ein Hund.'",
    "translate 'Ein Hund.' --beam 3 --json",
    "translate 'Ein Hund.' --sample --seed 1",
    "score 'Ein Hund.' 'A dog.'",
    "diagram 'Ein Hund.'",
    "diagram 'Ein Hund.' --json",
    "translate Hund. --model run",
    "translate Hund. --model run --mbr --beam 3",
    "translate Hund. --model run --model run",
    "evaluate run --split val",
    "evaluate run --split val --alignment",
    "patterns run --split val",
    "faithfulness run --wanted dog 'Ein Hund.'",
    "data show bilderbuch",
    "config show quick",
    "train --help",
    "data check pairs.tsv",
    "data export bilderbuch --pairs 20 --out pairs --overwrite",
    "evaluate run --data bilderbuch --split val",
    "export --out page.html --overwrite",
    "serve --check --port 0 --json",
    "theory questions",
    "theory 1.3 --question",
    "theory scaling --hint",
]
NEED_ONE = {
    "train quick --data bilderbuch --out new": "torch",
    "faithfulness run --split val": "torch",
    "demo": "torch",
    "bench train": "torch",
    "study small --out new": "torch",
    "theory 1.1": "scipy",
    "theory check 1.1 --query 'q = c k_j'": "scipy",
    "diagram 'Ein Hund.' --out dog.png": "matplotlib",
}


@pytest.fixture(scope="module")
def folder(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and a place from which Python learns that some modules are not to be found."""
    folder = tmp_path_factory.mktemp("slim")
    shared_runs.copy(tiny(), folder / "run")
    (folder / "pairs.tsv").write_text("Ein Hund.\tA dog.\nEin Ball.\tA ball.\nEin Baum.\tA tree.\n")
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in LEFT_OUT)
    (folder / "without").mkdir()
    (folder / "without" / "sitecustomize.py").write_text(f"import sys\n{blocked}")
    return folder


@pytest.fixture(scope="module")
def slim(folder: Path) -> Iterator[Forker]:
    """Starts processes in which these modules are not to be found."""
    (folder / "forker").mkdir()
    forker = Forker(
        folder / "forker", PYTHONPATH=os.pathsep.join((str(folder / "without"), str(ROOT / "src")))
    )
    yield forker
    forker.close()


def run(slim: Forker, folder: Path, command: str) -> Outcome:
    return slim.run(folder, Command(shlex.split(command), hang=PATIENCE))[0]


@pytest.mark.parametrize("command", NEED_NOTHING)
def test_what_needs_no_torch_works_without_it(command: str, folder: Path, slim: Forker) -> None:
    done = run(slim, folder, command)
    assert done.code == 0, done.err
    assert done.out or "Written: " in done.err


@pytest.mark.parametrize(
    "command", [*NEED_ONE, *(f"translate Hund. --device {name}" for name in ("cuda", "cuda:1"))]
)
def test_what_needs_more_says_what_is_missing(command: str, folder: Path, slim: Forker) -> None:
    done = run(slim, folder, command)
    name = NEED_ONE.get(command)
    assert done.code == 2
    if name:
        assert done.err.startswith(f"augenmerk: This needs {name}, which is not installed here")
        assert done.err.endswith(f": pip install {name}.\n")
        assert done.err.count("\n") == 1
    else:
        sentence = "A GPU needs torch, which is not installed here: pip install torch, or use the CPU."
        assert done.err == f"augenmerk: {sentence}\n"


def test_a_driver_of_a_gpu_makes_no_difference_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_has_nvidia_driver", lambda: True)
    monkeypatch.setattr(device, "find_spec", lambda _name: None)
    assert device.choose_translating_device("auto") == "cpu"


@pytest.mark.parametrize("name", ["gpu", "numpy", "CPU", "cpu:0", ""])
def test_what_is_no_device_is_refused(name: str) -> None:
    with pytest.raises(AugenmerkError, match=f"'{name}' is not a device: expected auto, cpu or cuda"):
        augenmerk.load(device=name)


def test_the_slim_distribution_needs_what_the_full_one_needs_except_for_what_it_leaves_out() -> None:
    full, slim = (
        tomllib.loads((ROOT / path).read_text())["project"]
        for path in ("pyproject.toml", "slim/pyproject.toml")
    )
    left_out = [each for each in full["dependencies"] if each.startswith(LEFT_OUT)]
    assert len(left_out) == len(LEFT_OUT)
    assert slim["dependencies"] == [each for each in full["dependencies"] if each not in left_out]
    assert (slim["requires-python"], slim["scripts"]) == (full["requires-python"], full["scripts"])


def link_requirements(distribution: metadata.Distribution, packages: Path) -> None:
    """Puts all that a distribution needs beside it, as links to what is installed here."""
    for requirement in map(Requirement, distribution.requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needed = metadata.distribution(requirement.name)
            names = {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}
            if new := [name for name in names if not (packages / name).exists()]:
                for name in new:
                    (packages / name).symlink_to(str(needed.locate_file(name)))
                link_requirements(needed, packages)


def test_the_slim_distribution_translates_in_an_environment_of_its_own(tmp_path: Path) -> None:
    # An environment without a pip of its own, which the pip of this one fills, is there much sooner.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    pip = (sys.executable, "-m", "pip", "--python", str(binaries / "python"), "--disable-pip-version-check")
    options = ("--quiet", "--no-compile", "--no-deps")
    install = [*pip, "install", *options, str(ROOT / "slim")]
    installed = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    if installed.returncode and "onnection" in installed.stderr:
        pytest.skip("pip cannot install anything without a network")
    assert installed.returncode == 0, installed.stderr
    [info] = (tmp_path / "venv").glob("**/site-packages/augenmerk*.dist-info")
    link_requirements(metadata.Distribution.at(info), info.parent)
    there = {path.name for path in info.parent.iterdir()}
    assert {"augenmerk", "numpy"} <= there
    assert there.isdisjoint(LEFT_OUT)
    translate = [str(binaries / "augenmerk"), "translate", SENTENCE]
    done = subprocess.run(
        translate, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, TRANSLATION), done.stderr
