"""The recipes of CONTRIBUTING.md for a mechanism and an architecture, followed in a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIZES = {
    **{"data.bilderbuch.pairs": 200, "text.vocabulary_size": 400, "train.batch_size": 32},
    **{"model.embedding": 16, "model.hidden": 16, "model.key": 16},
}
TRAIN = ("train", "quick", "--data", "bilderbuch", "--device", "cpu")
SETTINGS = [f"--set={name}={value}" for name, value in SIZES.items()]


def follow(heading: str, package: Path) -> list[Path]:
    """Does what a section says: a block for a new file is its content, one for a table is a new entry."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
    steps = re.findall(
        r"(?:table `(\w+)` in )?`src/augenmerk/([\w/]+\.py)`:\n\n```python\n(.*?)```",
        text.partition("\n## ")[0],
        re.S,
    )
    for table, name, code in steps:
        path = package / name
        if not table:
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
            continue
        before, start, after = path.read_text(encoding="utf-8").partition(f"\n{table}: ")
        entries, end, rest = after.partition("\n}\n")
        path.write_text(before + start + entries + "\n" + code.rstrip() + end + rest, encoding="utf-8")
    return [package / name for _, name, _ in steps]


class Copy:
    """A copy of the package, with its command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "src" / "augenmerk"
        shutil.copytree(
            ROOT / "src" / "augenmerk", self.package, ignore=shutil.ignore_patterns("__pycache__")
        )

    def run(self, *arguments: object, code: int = 0) -> str:
        """Runs the command and returns what it prints; its last line on stderr if it should fail."""
        environment = os.environ | {"PYTHONPATH": str(self.package.parent), "COLUMNS": "200"}
        answer = subprocess.run(
            [sys.executable, "-m", "augenmerk", *map(str, arguments)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert answer.returncode == code, answer.stderr
        assert "Traceback" not in answer.stderr
        return answer.stderr.splitlines()[-1] if code else answer.stdout


@pytest.mark.parametrize(
    ("heading", "setting", "name", "what"),
    [
        ("A new attention mechanism", "model.attention", "last", "attention mechanism"),
        ("A new architecture", "model.architecture", "lstm", "architecture"),
    ],
)
def test_the_recipe_adds_it_everywhere(
    heading: str, setting: str, name: str, what: str, tmp_path: Path
) -> None:
    copy = Copy(tmp_path)
    files = follow(heading, copy.package)
    assert len(files) == 2
    ruff = [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", *files]
    subprocess.run(list(map(str, ruff)), check=True)

    copy.run(*TRAIN, *SETTINGS, f"--set={setting}={name}", "--epochs", 1, "--out", "run")
    [listed] = json.loads(copy.run("config", "list", setting, "--json"))
    assert name in listed["choices"]
    assert re.search(rf"\b{name}\b", copy.run("train", "--help"))
    assert name in copy.run(*TRAIN, f"--set={setting}=nonsense", code=2)

    arguments = ("translate", "--model", "run", "Ein Hund schläft.", "--json", "--beam", 2)
    translation = json.loads(copy.run(*arguments).splitlines()[0])
    assert len(translation["attention"]) == len(translation["target_words"])
    scored = copy.run("evaluate", "run", "--split", "val", "--json")
    assert json.loads(scored)[0]["split"] == "val"
    refusal = copy.run("export", "run", "--out", "page.html", code=2)
    assert f"its {what}, '{name}', is written in Python, which a browser cannot run" in refusal


def test_scoring_a_whole_target_equals_stepping_through_it(tmp_path: Path) -> None:
    """The LSTM of the recipe holds to what every architecture holds to."""
    copy = Copy(tmp_path)
    follow("A new architecture", copy.package)
    check = """
import torch
from augenmerk.base.config import ModelConfig
from augenmerk.model.interface import build_model

config = ModelConfig(architecture="lstm", embedding=8, hidden=6, key=8, layers=2, tie="target")
model = build_model(config, 30, 40).double().eval()
src, tgt = torch.randint(4, 30, (3, 5)), torch.randint(4, 40, (3, 6))
mask = torch.arange(5) < torch.tensor([[5], [3], [1]])
expected, weights = model(src, mask, tgt, need_weights=True)
source = model.encode(src, mask)
state = source.start
for position in range(6):
    found, row, state = model.step(tgt[:, position : position + 1], state, source.memory)
    assert torch.allclose(found[:, 0], expected[:, position])
    assert torch.allclose(row[:, 0], weights[:, position])
alone, _ = model(src[1:2, :3], mask[1:2, :3], tgt[1:2])
assert torch.allclose(alone, expected[1:2])
"""
    environment = os.environ | {"PYTHONPATH": str(copy.package.parent)}
    subprocess.run([sys.executable, "-c", check], env=environment, check=True)
