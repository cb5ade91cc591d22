"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import PATIENCE, ROOT, Command, Forker
from tests.support.runs import SharedRuns, tiny

RECIPES = ("A new attention mechanism", "A new architecture", "A new dataset", "A new metric")
SIZES = {
    **{"data.bilderbuch.pairs": 200, "text.vocabulary_size": 400, "train.batch_size": 32},
    **{"model.embedding": 16, "model.hidden": 16, "model.key": 16},
}
TRAIN = ("train", "quick", "--data", "bilderbuch", "--device", "cpu")
SETTINGS = [f"--set={name}={value}" for name, value in SIZES.items()]
STUDY = """
question = "Does attention matter?"
seeds = [1]
splits = ["val"]
[factors]
attention = ["none"]
[settings]
data.bitext = "numbers"
model.hidden = 8
model.embedding = 8
model.key = 8
train.epochs = 1
train.bleu = false
"""
CHECK = """
import torch
from augenmerk.base.config import ModelConfig, load_config
from augenmerk.data import open_data
from augenmerk.model.interface import build_model
from augenmerk.web.bundle import LICENCES

config = load_config("quick", ["data.bitext=numbers"])
assert (config.data.languages, config.text.lowercase) == (("de", "en"), True)
assert len(list(open_data(config.data)["train"])) == 85
assert "no conditions" in LICENCES["numbers"]

# Scoring a whole target equals stepping through it: the LSTM holds to what every architecture holds to.
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


def follow(heading: str, package: Path) -> str:
    """Does what a section says: adds a file and an entry to a table. Returns the name of the file."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
    steps = re.findall(
        r"(?:`([A-Z]+)` in )?`src/augenmerk/([\w/]+\.py)`[^`]*:\n\n```python\n(.*?)```",
        text.partition("\n## ")[0],
        re.S,
    )
    [(nothing, new, module), (table, name, entry)] = steps
    assert not nothing
    assert not (package / new).exists()
    (package / new).write_text(module, encoding="utf-8")
    before, start, after = (package / name).read_text(encoding="utf-8").partition(f"\n{table}: ")
    entries, end, rest = after.partition("\n}\n")
    text = before + start + entries + "\n" + entry.rstrip() + end + rest
    (package / name).write_text(text, encoding="utf-8")
    return str(new)


class Copy:
    """A copy of the package in which all recipes were followed, with its command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "src"
        package = self.source / "augenmerk"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "augenmerk", package, ignore=ignored)
        self.files = [str(package / follow(heading, package)) for heading in RECIPES]
        (folder / "forker").mkdir()
        self.forker = Forker(folder / "forker", PYTHONPATH=str(self.source))

    def run(self, *arguments: object, code: int = 0) -> str:
        """Runs the command and returns what it prints; its last line on stderr if it should fail."""
        command = Command(
            list(map(str, arguments)), environment={"COLUMNS": "300"}, jobs_here=True, hang=PATIENCE
        )
        [ended] = self.forker.run(self.folder, command)
        assert ended.code == code, ended.err
        assert "Traceback" not in ended.err
        return ended.err.splitlines()[-1] if code else ended.out


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    copy = Copy(tmp_path_factory.mktemp("copy"))
    yield copy
    copy.forker.close()


def test_what_the_recipes_add_is_well_formed_and_works(copy: Copy) -> None:
    ruff = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), *copy.files]
    subprocess.run(ruff, check=True)
    subprocess.run(
        [sys.executable, "-c", CHECK], env={**os.environ, "PYTHONPATH": str(copy.source)}, check=True
    )


@pytest.mark.parametrize(("setting", "name"), [("model.attention", "last"), ("model.architecture", "lstm")])
def test_a_part_of_the_model_is_added_everywhere(copy: Copy, setting: str, name: str) -> None:
    copy.run(*TRAIN, *SETTINGS, f"--set={setting}={name}", "--epochs", 1, "--out", name)
    [listed] = json.loads(copy.run("config", "list", setting, "--json"))
    assert name in listed["choices"]
    assert re.search(rf"\b{name}\b", copy.run("train", "--help"))
    assert name in copy.run(*TRAIN, f"--set={setting}=nonsense", code=2)
    arguments = ("translate", "--model", name, "Ein Hund schläft.", "--json", "--beam", 2)
    translation = json.loads(copy.run(*arguments).splitlines()[0])
    assert len(translation["attention"]) == len(translation["target_words"])
    scored = copy.run("evaluate", name, "--split", "val", "--json")
    assert json.loads(scored)[0]["split"] == "val"
    exported = setting == "model.attention"
    answer = copy.run("export", name, "--out", f"{name}.html", code=0 if exported else 2)
    assert exported or f"its architecture, '{name}', is written in Python" in answer


def test_commands_list_show_and_name_a_dataset(copy: Copy) -> None:
    rows = {row["name"]: row for row in json.loads(copy.run("data", "list", "--json"))}
    assert (rows["numbers"]["available"], rows["numbers"]["languages"]) == (True, ["de", "en"])
    assert rows["numbers"]["splits"] == ["train", "val", "test"]
    show = ("data", "show", "numbers", "--pairs", 1, "--json")
    [pair] = json.loads(copy.run(*show))
    assert (pair["source"], pair["target"]) == ("eins fünf", "one five")
    assert json.loads(copy.run(*show, "--source-language", "en"))[0]["source"] == "one five"
    for command in (("data", "show"), ("data", "prepare"), ("train",)):
        assert "bilderbuch, multi30k, numbers, or" in copy.run(*command, "--help")
    assert "numbers" in copy.run("config", "list", "data")
    assert "multi30k, numbers." in copy.run("data", "show", "nothing", code=2)


def test_evaluate_computes_lists_and_tests_a_metric(copy: Copy, shared_runs: SharedRuns) -> None:
    run = shared_runs.copy(tiny(), copy.folder / "run")
    other = shared_runs.copy(tiny(train__seed=2), copy.folder / "other")
    assert "exact match" in copy.run("evaluate", "--help")
    arguments = ("evaluate", run.path, "--baseline", other.path, "--split", "val")
    [row] = json.loads(copy.run(*arguments, "--json"))
    hypotheses, references = (
        (run.path / "hypotheses" / name).read_text(encoding="utf-8").lower().splitlines()
        for name in ("val.beam1.txt", "val.reference.txt")
    )
    same = [ours == right for ours, right in zip(hypotheses, references, strict=True)]
    assert row["exact"] == pytest.approx(100 * sum(same) / len(same))
    assert row["exact_signature"] == "exact|case:lc"
    assert row["baseline"]["exact"]["metric"] == "exact match"
    table = copy.run(*arguments)
    assert "exact" in table.splitlines()[0]
    assert row["baseline"]["exact"]["in_words"] in table


def test_a_report_lists_a_metric(copy: Copy) -> None:
    (copy.folder / "study.toml").write_text(STUDY, encoding="utf-8")
    copy.run("study", "study.toml", "--out", "study", "--device", "cpu")
    assert "exact match" in copy.run("report", "study", "--format", "markdown")
    assert ",exact,val,1," in copy.run("report", "study", "--format", "csv")
