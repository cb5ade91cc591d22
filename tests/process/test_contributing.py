"""The recipes of CONTRIBUTING.md, followed to the letter on a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import augenmerk

ROOT = Path(__file__).parents[2]


def read_recipe(title: str) -> str:
    """Returns a section of CONTRIBUTING.md."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {title}\n(.+?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


class Copy:
    """A copy of the package, to which a recipe is applied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.package = folder / "augenmerk"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(augenmerk.__file__).parent, self.package, ignore=ignored)

    def run(self, *arguments: object) -> str:
        """Returns what Python prints with this copy of the package."""
        command = [sys.executable, *map(str, arguments)]
        env = {**os.environ, "PYTHONPATH": str(self._folder), "COLUMNS": "300"}
        done = subprocess.run(command, cwd=self._folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def augenmerk(self, *arguments: object) -> str:
        return self.run("-m", "augenmerk", *arguments)


class TestDataset:
    @pytest.fixture(scope="class")
    @classmethod
    def copy(cls, tmp_path_factory: pytest.TempPathFactory) -> Copy:
        """A copy with the dataset of the recipe: one new file and one entry."""
        copy = Copy(tmp_path_factory.mktemp("copy"))
        module, entry = re.findall(r"```python\n(.+?)```", read_recipe("A new dataset"), re.DOTALL)
        (copy.package / "data" / "numbers.py").write_text(module, encoding="utf-8")
        registry = copy.package / "base" / "entries.py"
        text = registry.read_text(encoding="utf-8")
        start = text.index("DATASETS: Mapping")
        end = text.index("\n}\n", start)
        registry.write_text(f"{text[:end]}\n{entry.rstrip()}{text[end:]}", encoding="utf-8")
        return copy

    def test_commands_list_and_show_it(self, copy: Copy) -> None:
        [row] = [
            row for row in json.loads(copy.augenmerk("data", "list", "--json")) if row["name"] == "numbers"
        ]
        assert (row["available"], row["languages"]) == (True, ["de", "en"])
        assert row["splits"] == ["train", "val", "test"]
        [pair] = json.loads(copy.augenmerk("data", "show", "numbers", "--pairs", 1, "--json"))
        assert (pair["source"], pair["target"]) == ("eins fünf", "one five")
        turned = ("data", "show", "numbers", "--pairs", 1, "--source-language", "en", "--json")
        assert json.loads(copy.augenmerk(*turned))[0]["source"] == "one five"

    @pytest.mark.parametrize("command", [("data", "show"), ("data", "prepare"), ("train",)])
    def test_help_names_it(self, copy: Copy, command: tuple[str, ...]) -> None:
        assert "bilderbuch, multi30k, numbers, or" in copy.augenmerk(*command, "--help")

    def test_settings_and_messages_name_it(self, copy: Copy) -> None:
        assert "numbers" in copy.augenmerk("config", "list", "data")
        failed = subprocess.run(
            [sys.executable, "-m", "augenmerk", "data", "show", "nothing"],
            env={**os.environ, "PYTHONPATH": str(copy.package.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (failed.returncode, "multi30k, numbers." in " ".join(failed.stderr.split())) == (2, True)

    def test_runs_train_on_it(self, copy: Copy) -> None:
        code = (
            "from augenmerk.base.config import load_config\n"
            "from augenmerk.data import open_data\n"
            "from augenmerk.web.bundle import LICENCES\n"
            "config = load_config('quick', ['data.bitext=numbers'])\n"
            "print(config.data.languages, config.text.lowercase)\n"
            "print(len(list(open_data(config.data)['train'])))\n"
            "print(LICENCES['numbers'])\n"
        )
        settings, pairs, licence = copy.run("-c", code).splitlines()
        assert (settings, pairs) == ("('de', 'en') True", "85")
        assert "no conditions" in licence
