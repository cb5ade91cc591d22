"""CONTRIBUTING's recipe "A new metric", carried out on a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import augenmerk
from tests.support.runs import SharedRuns, tiny

PACKAGE = Path(augenmerk.__file__).parent
RECIPES = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
STUDY = """
question = "Does attention matter?"
seeds = [1]
splits = ["val"]
[factors]
attention = ["none"]
[settings]
data.bilderbuch.pairs = 100
model.hidden = 8
model.embedding = 8
model.key = 8
train.epochs = 1
train.bleu = false
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the files of the recipe: one that is new, and one with a new entry."""
    copied = tmp_path_factory.mktemp("recipe") / "src"
    shutil.copytree(PACKAGE, copied / "augenmerk", ignore=shutil.ignore_patterns("__pycache__"))
    [section] = re.findall(r"^## A new metric\n(.*?)^## ", RECIPES.read_text(encoding="utf-8"), re.M | re.S)
    new, registry = (Path(path) for path in re.findall(r"`(src/augenmerk/\w+/\w+\.py)`", section))
    code, entry = re.findall(r"```python\n(.*?)```", section, re.S)
    path = copied / new.relative_to("src")
    assert not path.exists()
    path.write_text(code, encoding="utf-8")
    path = copied / registry.relative_to("src")
    before = path.read_text(encoding="utf-8")
    end = before.index("\n}", before.index("METRICS: ")) + 1
    path.write_text(before[:end] + entry + before[end:], encoding="utf-8")
    return copied


def run_copy(source: Path, folder: Path, *arguments: object) -> str:
    """Runs a command of the copy and returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "augenmerk", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_evaluate_computes_lists_and_tests_the_metric(
    source: Path, shared_runs: SharedRuns, tmp_path: Path
) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    other = shared_runs.copy(tiny(train__seed=2), tmp_path / "other")
    assert "exact match" in run_copy(source, tmp_path, "evaluate", "--help")
    arguments = ("evaluate", run.path, "--baseline", other.path, "--split", "val")
    [row] = json.loads(run_copy(source, tmp_path, *arguments, "--json"))
    hypotheses, references = (
        (run.path / "hypotheses" / name).read_text(encoding="utf-8").lower().splitlines()
        for name in ("val.beam1.txt", "val.reference.txt")
    )
    same = [ours == right for ours, right in zip(hypotheses, references, strict=True)]
    assert row["exact"] == pytest.approx(100 * sum(same) / len(same))
    assert row["exact_signature"] == "exact|case:lc"
    assert row["baseline"]["exact"]["metric"] == "exact match"
    table = run_copy(source, tmp_path, *arguments)
    assert "exact" in table.splitlines()[0]
    assert row["baseline"]["exact"]["in_words"] in table


def test_a_report_lists_the_metric(source: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    run_copy(source, tmp_path, "study", "study.toml", "--out", "study", "--device", "cpu")
    assert "exact match" in run_copy(source, tmp_path, "report", "study", "--format", "markdown")
    assert ",exact,val,1," in run_copy(source, tmp_path, "report", "study", "--format", "csv")
