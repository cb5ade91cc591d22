"""The tutorials work from top to bottom, with small models in place of those that take minutes."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from augenmerk.study.plan import read_study
from tests.support.command import run_command

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:this[^.\n]* as `(\S+)`[^`]*)?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SMALLER = {"8000": "300", "2000": "100", "test_2016_flickr": "test", "--beam 10 --beam 20 --beam 50": ""}
TINY = (
    "--epochs 1 --set text.vocabulary_size=400 --set train.bleu=false --set train.select_by=loss "
    + " ".join(f"--set model.{size}=16" for size in ("embedding", "hidden", "key"))
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first-map", "assignment", "own-pairs", "own-mechanism"])
def test_a_tutorial_can_be_followed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "78")
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    for large, small in SMALLER.items():
        page = page.replace(large, small)
    ran = 0
    for file, language, code in BLOCK.findall(page):
        if file:
            Path(file).write_text(code, encoding="utf-8")
        elif language == "python":
            names: dict[str, Any] = {}
            exec(code, names)
        elif language == "console":
            command, _, expected = code.partition("\n")
            answer = run_command(*shlex.split(command)[2:])
            shown = (answer.out + answer.err).replace(f"{tmp_path}/", "").replace("line 301:", "line 8001:")
            assert shown == expected
            assert (answer.code == 2) == expected.startswith("augenmerk: ")
        elif language == "sh":
            for line in code.splitlines():
                few = "--data bilderbuch --set data.bilderbuch.pairs=100"
                run_line(line, few if name == "assignment" else "")
                ran += 1
    assert ran > 2
    for study in tmp_path.glob("*.toml"):
        assert len(read_study(study).runs) == 6


def run_line(line: str, data: str) -> None:
    if not line.startswith("augenmerk "):
        subprocess.run(line, shell=True, check=True)
        return
    if line.startswith("augenmerk train") and "--resume" not in line and "--from" not in line:
        line += f" {TINY} {data}"
    answer = run_command(*shlex.split(line, comments=True)[1:])
    assert answer.code == 0, f"{line}: {answer.err}"
