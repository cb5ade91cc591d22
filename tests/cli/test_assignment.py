"""The whole assignment in miniature: resumed, reported in three forms, and refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

import augenmerk as am
from augenmerk.assignment import work
from augenmerk.assignment.plan import plan_comparison, read_published
from augenmerk.base.files import read_object
from augenmerk.study.plan import BUNDLED_STUDIES, read_study
from tests.support.assignment import BEAMS, copy_finished, make_tiny
from tests.support.command import fails_with_a_sentence, run_json
from tests.unit.test_documentation import load

NUMBER = re.compile(r"(?<![\w.])[+−-]?\d[\d,]*(?:\.\d+)?(?:e-\d+)?")
TIMES = {"sentences_per_second", "seconds", "date"}


@pytest.fixture
def folder(shared_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy_finished(shared_folder, tmp_path / "mine")
    make_tiny(monkeypatch)
    return tmp_path / "mine"


@pytest.fixture
def document(folder: Path) -> Any:
    return json.loads((folder / work.DOCUMENT).read_text("utf-8"))


@pytest.mark.slow
def test_an_interrupted_assignment_does_the_rest_only(folder: Path, document: Any) -> None:
    log = (folder / work.LOG).read_text("utf-8")
    assert log.count("step 2 of 4") == 2
    assert "6 of 6 runs finished" in log
    assert [row["beam"] for row in document["beams"]] == list(BEAMS)
    runs = [run for variant in document["study"]["variants"] for run in variant["runs"]]
    assert [run["state"] for run in runs] == ["finished"] * 6
    losses = document["study"]["variants"][-1]["summaries"]
    [by_seed] = [each["values"] for each in losses if each["measure"] == "validation_loss"]
    assert document["translator"]["validation_loss"] == min(by_seed.values())


@pytest.mark.slow
def test_measured_again_everything_but_the_times_is_the_same(folder: Path, document: Any) -> None:
    (folder / work.DOCUMENT).unlink()
    again = am.assignment(output=folder, device="cpu")
    assert without_times(again.to_dict()) == without_times(document)
    assert (folder / "report.html").read_text("utf-8") == again.html


def without_times(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_times(each) for key, each in tree.items() if key not in TIMES}
    return [without_times(each) for each in tree] if isinstance(tree, list) else tree


@pytest.mark.slow
def test_the_command_prints_the_document_and_a_finished_report_stays(folder: Path, document: Any) -> None:
    page = folder / "report.html"
    before = page.stat().st_mtime_ns
    assert run_json("assignment", "--output", folder) == document
    assert page.stat().st_mtime_ns == before
    assert str(am.assignment(output=folder)).count("\n") == 2 * 7 + 1


@pytest.mark.slow
def test_no_form_of_the_report_shows_a_number_that_the_document_lacks(folder: Path, document: Any) -> None:
    known = set(list_numbers(document))
    texts = " ".join(each for each in list_texts(document))
    printed = {read(each) for each in NUMBER.findall(texts)}
    markdown = re.sub(
        r"!?\[[^]]*\]\([^)]*\)|^#.*$", "", (folder / "report.md").read_text("utf-8"), flags=re.M
    )
    wrong = [each for each in NUMBER.findall(markdown) if not is_known(each, known | printed)]
    assert not wrong
    cells = set(re.findall(r"<t[hd][^>]*>(?:<bdi>)?([^<]*)", (folder / "report.html").read_text("utf-8")))
    assert {row["beam"] for row in document["beams"]} <= {
        read(each) for each in cells if NUMBER.fullmatch(each)
    }


def list_numbers(tree: Any) -> Iterator[float]:
    if isinstance(tree, dict | list):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from list_numbers(each)
    elif isinstance(tree, int | float):
        yield float(tree)


def list_texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict | list):
        yield from map(str, tree if isinstance(tree, dict) else ())
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from list_texts(each)
    elif isinstance(tree, str):
        yield tree


def read(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def is_known(number: str, known: set[float]) -> bool:
    """Returns whether a number, or the share or percentage that it may be, is a known one, rounded."""
    digits = len(number.partition(".")[2]) if "e" not in number else 5
    value, half = read(number), 0.5000001 * 10.0**-digits
    return any(abs(value - x) <= max(half, 0.05 * abs(value) if "e" in number else 0) for x in known)


@pytest.mark.slow
def test_the_notebook_is_one_and_names_what_lies_beside_it(folder: Path) -> None:
    notebook = json.loads((folder / "report.ipynb").read_text("utf-8"))
    nbformat.validate(notebook)
    code = "\n".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code")
    compile(code, "notebook", "exec")
    assert all((folder / path).exists() for path in re.findall(r'(?:open_run|Results)\("([^"]+)"\)', code))
    for task in ("1.2", "1.4", "am.theory.check", "am.patterns", "beam=[1, 2, 3]", "validation_loss"):
        assert task in code


@pytest.mark.slow
def test_the_cells_of_the_notebook_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    notebook, names = json.loads((folder / "report.ipynb").read_text("utf-8")), dict[str, Any]()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and "theory" not in cell["source"]:
            exec(cell["source"].replace("beam=[1, 2, 3]", "beam=[1]"), names)
    assert names["run"].settings.model.attention == "scaled-dot"
    assert names["found"].summary["sentences"] == 200


def test_what_is_refused(tmp_path: Path) -> None:
    assert "bilderbuch or multi30k" in fails_with_a_sentence("assignment", "--data", "pairs.tsv")
    assert "add --data multi30k" in fails_with_a_sentence("assignment", "--fast")
    (tmp_path / work.DOCUMENT).write_text('{"format": 1, "data": "multi30k", "fast": true}', encoding="utf-8")
    refusal = fails_with_a_sentence("assignment", "--output", tmp_path)
    assert "multi30k with --fast; choose another folder with --output" in refusal


def test_missing_data_is_refused_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGENMERK_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    refusal = fails_with_a_sentence("assignment", "--data", "multi30k")
    assert "augenmerk data fetch multi30k" in refusal
    assert not (tmp_path / "runs").exists()


def test_the_trainings_have_the_original_settings_and_others_numbers_are_those_of_the_study() -> None:
    [classic, fast] = (plan_comparison("multi30k", fast=fast) for fast in (False, True))
    assert len(classic.runs) == len(fast.runs) == 9
    original = read_study(BUNDLED_STUDIES["attention"])
    assert classic.runs[0].config == original.runs[0].config
    assert fast.runs[0].config.text.unit == "bpe"
    theirs = {(each.measure, each.variant): [each.mean, each.variance] for each in original.published}
    report = read_published()["reports"][1]
    assert {(key, name): report[key][name] for key, name in theirs} == theirs


def test_the_page_about_multi30k_shows_its_document_and_no_test_sentence() -> None:
    script = load("docs/assignment.py")
    document = read_object(script.DOCUMENT)
    assert script.PAGE.read_text(encoding="utf-8") == script.make_page(document), "python docs/assignment.py"
    assert document["diagrams"] == []
    assert script.leave_out_sentences({"diagrams": [1], "fast": False}) == {"diagrams": [], "fast": False}
