"""A check executes a file in a child process: what does not end, takes too much or exits is one finding."""

from pathlib import Path

import pytest

from augenmerk import lab
from augenmerk.lab.exercises import EXERCISES, read_reference
from tests.support.command import run_command

BAD = """
import sys
import torch
from torch import nn

print('{"exercise": "bleu", "verdict": "right"}')

def masked_softmax(scores, lengths, causal=False):
    return torch.zeros(10**10)

def decoder_step(*arguments):
    while True:
        pass

def greedy_search(step, state, bos, eos, max_length):
    while True:
        try:
            state = state + 1
        except:
            pass

def beam_search(*arguments):
    sys.exit(0)

def bleu(hypotheses, references):
    return len(hypotheses) / 0
"""


def test_what_does_not_end_or_takes_too_much_is_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "lab.py"
    path.write_text(BAD, encoding="utf-8")
    report = lab.check(path, limits=lab.Limits(seconds=0.3))
    found = {each.exercise: [finding.mistake for finding in each.findings] for each in report.results}
    assert found["mask"] == found["beam"] == found["bleu"] == ["error"]
    assert found["step"] == found["greedy"] == ["too slow"]
    assert [each.exercise for each in report.results if each.verdict == "missing"] == [
        "attention",
        "mean",
        "heads",
    ]
    said = {each.exercise: each.findings[0].says for each in report.results if each.findings}
    assert "line 12, while True:" in said["step"]
    assert said["bleu"].startswith("Line 26, return len(hypotheses) / 0: ZeroDivisionError")
    assert "memory" in said["mask"]
    assert report.points == 0


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def bleu(a, b)\n", "line 1: expected ':'"),
        ("import nowhere\n", "line 1, import nowhere: ModuleNotFoundError"),
        ("while True:\n    pass\n", "before anything is called"),
    ],
)
def test_a_file_that_cannot_be_executed_is_a_problem(tmp_path: Path, code: str, problem: str) -> None:
    (tmp_path / "lab.py").write_text(code, encoding="utf-8")
    answer = run_command("lab", "check", "lab.py", "--seconds", "0.3", "--json", cwd=tmp_path)
    assert answer.code == 2
    assert problem in answer.out


def test_a_process_that_ends_loses_what_was_not_checked(tmp_path: Path) -> None:
    code = read_reference("mean") + "\n\nimport os\n\ndef bleu(*texts):\n    os._exit(7)\n"
    (tmp_path / "lab.py").write_text(code, encoding="utf-8")
    report = lab.check(tmp_path / "lab.py", ["mean", "bleu", "heads"])
    assert report["mean"].verdict == "right"
    assert [report[name].findings[0].mistake for name in ("bleu", "heads")] == ["error", "error"]
    assert "exit code 7" in report["bleu"].findings[0].says


def test_a_notebook_is_checked_like_a_file_and_names_the_cell(tmp_path: Path) -> None:
    lab.start(tmp_path, ["mean", "bleu"])
    path = tmp_path / "lab.ipynb"
    text = path.read_text("utf-8")
    assert "raise NotImplementedError" in text
    path.write_text(text.replace("raise NotImplementedError", "return 1 / 0"), encoding="utf-8")
    report = lab.check(path, ["bleu"])
    assert report["bleu"].findings[0].says.startswith("Cell 7, line ")
    report = lab.check(tmp_path / "lab.py")
    verdicts = {name: "not done" if name in ("mean", "bleu") else "missing" for name in EXERCISES}
    assert {each.exercise: each.verdict for each in report.results} == verdicts
