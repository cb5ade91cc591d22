"""The code of a class is graded in processes with limits, and no submission stops the others."""

import csv
import json
import zipfile
from pathlib import Path

import pytest

from augenmerk import lab
from augenmerk.base.errors import AugenmerkError
from augenmerk.lab.checking import Limits
from augenmerk.lab.classroom import ClassReport, find_submissions
from augenmerk.lab.exercises import EXERCISES, read_reference
from augenmerk.lab.sheet import start
from tests.support.command import fails_with_a_sentence, run_command

IMPORTS = "import torch\nfrom torch import Tensor\nimport augenmerk as am"
RIGHT = "\n\n\n".join([IMPORTS, read_reference("mask").partition("\n\n\n")[2]])
PARTLY = RIGHT.replace("weights.nan_to_num(0.0)", "weights")
BEFORE = {
    "hangs": ("while True: pass", "does not end within 1 s of computing: line"),
    "sleeps": ("import time; time.sleep(1000)", "does not end, and was stopped after"),
    "prints": ("for _ in range(9): print('x' * 10**6)", "prints more than 1 MB"),
    "forks": ("import os; os.fork()", "starts or stops a process"),
    "starts": ("import subprocess; subprocess.run(['true'])", "starts or stops a process"),
    "kills": ("import os; os.kill(os.getppid(), 9)", "starts or stops a process"),
    "writes": ("open('mine', 'w').write('x')", "writes, moves or deletes a file"),
    "removes": ("import os; os.remove('lab.py')", "writes, moves or deletes a file"),
    "connects": ("import socket; socket.create_connection(('127.0.0.1', 9))", "uses the network"),
    "tampers": ("import augenmerk.lab.outcomes as grader; grader.same = lambda *_: True", "reaches into"),
    "copies": ("from augenmerk.lab.exercises.mask import masked_softmax as right", "reaches into"),
    "peeks": (f"open({str(Path(lab.__file__).parent / 'exercises' / 'mask.py')!r}).read()", "reaches into"),
    "ends": ("import os; os._exit(0)", "ended the program"),
    "crashes": ("import ctypes; ctypes.string_at(1)", "ended the program"),
    "fills": ("filled = [0] * 10**11", "needs too much memory"),
    "hides": ("try: open('mine', 'w')\n    except BaseException: pass", "writes, moves or deletes a file"),
}
"""What a submission does first when it is called, and what the student is told."""
FILES = {
    "right": RIGHT,
    "partly": PARTLY,
    "empty": "",
    "syntax": "def x(:",
    "exits": "import os\nos._exit(3)\n",
    **{
        name: f"{RIGHT}\n\nmine = masked_softmax\n\n\ndef masked_softmax(*arguments, **named):\n    {code}\n"
        "    return mine(*arguments, **named)\n"
        for name, (code, _) in BEFORE.items()
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    (folder / "submissions").mkdir()
    for name, code in FILES.items():
        (folder / "submissions" / f"{name}.py").write_text(code, "utf-8")
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> ClassReport:
    return lab.grade(
        folder / "submissions",
        ["mask", "bleu"],
        seed=5,
        limits=Limits(seconds=1.0),
        out=folder / "grades.csv",
        page=folder / "mistakes.html",
        gradescope=folder / "gradescope",
        otter=folder / "final_grades.csv",
    )


def test_a_class_gets_points_and_sentences_and_nothing_stops_it(report: ClassReport) -> None:
    found = {each.name: each for each in report.reports}
    assert set(found) == set(FILES)
    assert found["right"]["mask"].verdict == "right"
    assert found["right"]["bleu"].verdict == "missing"
    assert 0 < found["partly"]["mask"].points < found["partly"]["mask"].possible
    for name, (_, sentence) in BEFORE.items():
        result = found[name]["mask"]
        assert (result.verdict, result.points) == ("wrong", 0), name
        assert sentence in result.findings[0].says, name
    assert "line 1" in found["syntax"].problem
    assert "before anything is called" in found["exits"].problem
    assert {found[name].points for name in ("empty", "syntax", "exits")} == {0}


def test_grades_in_every_format(folder: Path, report: ClassReport) -> None:
    rows = list(csv.DictReader((folder / "grades.csv").read_text("utf-8").splitlines()))
    assert [row["student"] for row in rows] == sorted(FILES)
    partly = next(row for row in rows if row["student"] == "partly")
    assert partly["mistakes"] == "mask: empty sentence; not done: bleu"
    assert (
        float(partly["points"])
        == float(partly["mask"])
        == report.reports[sorted(FILES).index("partly")].points
    )
    otter = list(csv.DictReader((folder / "final_grades.csv").read_text("utf-8").splitlines()))
    assert list(otter[0]) == ["file", "mask", "bleu", "percent_correct"]
    full = EXERCISES["mask"].points + EXERCISES["bleu"].points
    right = next(row for row in otter if row["file"] == "right.py")
    assert float(right["percent_correct"]) == pytest.approx(EXERCISES["mask"].points / full)
    results = json.loads((folder / "gradescope" / "partly.json").read_text("utf-8"))
    assert results["tests"][0]["score"] == results["score"] == float(partly["points"])
    assert "NaN" in results["tests"][0]["output"]
    page = (folder / "mistakes.html").read_text("utf-8")
    assert "empty sentence" in page
    assert "partly right" in page
    assert not any(f">{name}<" in page for name in FILES)


def test_names_are_those_of_downloads(tmp_path: Path) -> None:
    place = tmp_path / "in"
    moodle = place / "Ada Lovelace_4711_assignsubmission_file"
    moodle.mkdir(parents=True)
    (moodle / "lab.py").touch()
    (moodle / "notes.py").touch()
    (place / "Gül Öz_4712_assignsubmission_file_lab-2.ipynb").touch()
    (place / "babbageben_LATE_12_345_lab.py").touch()
    (place / "carrollcem_12_346_lab-1.py").touch()
    (place / "dora.py").touch()
    (place / "Emil").mkdir()
    for name in ("a.py", "b.py"):
        (place / "Emil" / name).touch()
    (place / "Fay").mkdir()
    with zipfile.ZipFile(place / "hal_12_347_homework.zip", "w") as archive:
        archive.writestr("work/lab.ipynb", "{}")
        archive.writestr("__MACOSX/work/._lab.py", "")
        archive.writestr("../../outside.py", "")
    (place / "ida.zip").write_bytes(b"no zip file")
    for number in (1, 2):  # two students of one name
        (place / f"Jo Doe_480{number}_assignsubmission_file_lab.py").touch()
    (place / "kim").mkdir()
    for name in ("kim.py", "kim/lab.py"):
        (place / name).touch()
    start(place / "Lou")
    (place / "Lou" / "lab.ipynb").write_text(
        "{}", encoding="utf-8"
    )  # answered there, with the skeleton beside it
    (place / "Max").mkdir()
    for name in ("lab.py", "lab.ipynb"):
        (place / "Max" / name).touch()
    (place / ".DS_Store").touch()
    found = {each.student: each.choose() for each in find_submissions(place, tmp_path / "out")}
    chosen = {name: path.name for name, (path, _) in found.items() if path}
    assert chosen == {
        **{"Ada Lovelace": "lab.py", "Gül Öz": "Gül Öz_4712_assignsubmission_file_lab-2.ipynb"},
        **{"babbageben": "babbageben_LATE_12_345_lab.py", "carrollcem": "carrollcem_12_346_lab-1.py"},
        **{"dora": "dora.py", "hal": "lab.ipynb", "Lou": "lab.ipynb"},
        **{f"Jo Doe (480{number})": f"Jo Doe_480{number}_assignsubmission_file_lab.py" for number in (1, 2)},
        **{"kim (kim)": "lab.py", "kim (kim.py)": "kim.py"},
    }
    assert found["Max"][1] == "Which of these files has the answers? lab.ipynb, lab.py"
    assert found["Emil"][1] == "Which of these files has the answers? a.py, b.py"
    assert found["Fay"][1] == found["ida"][1] == "There is no .py or .ipynb file."
    assert not (tmp_path / "outside.py").exists()
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("submissions/Ada/lab.py", "")
        archive.writestr("submissions/Ben/lab.py", "")
    assert [each.student for each in find_submissions(whole, tmp_path / "more")] == ["Ada", "Ben"]


def test_mistakes_of_the_teacher_get_one_sentence(tmp_path: Path) -> None:
    assert "no such folder" in fails_with_a_sentence("lab", "grade", tmp_path / "none")
    assert "has no submissions" in fails_with_a_sentence("lab", "grade", tmp_path)
    (tmp_path / "lab.py").write_text(RIGHT, "utf-8")
    assert "name the file with the answers" in fails_with_a_sentence("lab", "check", tmp_path)
    assert "lab.py is neither" in fails_with_a_sentence("lab", "grade", tmp_path / "lab.py")
    refused = fails_with_a_sentence("lab", "grade", tmp_path, "--out", tmp_path / "no" / "grades.csv")
    assert "there is no folder" in refused
    with pytest.raises(AugenmerkError, match="There is no exercise"):
        lab.grade(tmp_path, "nothing")


def test_a_sheet_for_both_halves_and_its_key(tmp_path: Path) -> None:
    sheet, key = tmp_path / "sheet.html", tmp_path / "key.md"
    both = ("lab", "sheet", "--tasks", "1.1-1.4", "--variant", "1.3=observation", "--language", "de")
    assert run_command(*both, "--out", sheet, "--key", key).code == 0
    page, answers = sheet.read_text("utf-8"), key.read_text("utf-8")
    for exercise in EXERCISES.values():
        assert exercise.texts["de"].title in page
        assert not any(mistake.says in page for mistake in exercise.mistakes)
        assert all((f"| {each.id} |" in answers) is not each.accepted for each in exercise.mistakes)
    assert "hidden.softmax" not in page
    assert "hidden.softmax" in answers
    assert "Was aus dem Durchschnitt wird" in page
    assert "--out sheet.html" in fails_with_a_sentence("lab", "sheet")
