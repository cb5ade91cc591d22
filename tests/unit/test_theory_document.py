"""docs/explanation/theory.md shows what its commands print."""

from pathlib import Path
from types import ModuleType

import pytest

from augenmerk.theory.results import MISTAKES
from tests.unit.test_documentation import load

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/theory.py, which is a script and not part of the package."""
    return load("docs/theory.py")


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print(script: ModuleType) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert page.count("```console") >= 11
    assert script.renew_page(page) == page, "renew it: python docs/theory.py"


def test_the_page_for_teachers_is_up_to_date(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.test_documents import blocks

    page = script.TEACHING.read_text(encoding="utf-8")
    assert "theory grade answers.csv" in page
    assert script.renew_page(page) == page, "renew it: python docs/theory.py"
    [code] = blocks("docs/guides/teaching.md", "python")
    exec(code, {})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("True  (")
    assert second == "no scale"


def test_every_number_in_a_paragraph_is_printed_by_a_command_of_its_section(script: ModuleType) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert list(script.find_unprinted_numbers(page)) == []
    assert "0.632 B" in page
    assert list(script.find_unprinted_numbers(page.replace("0.632 B away", "0.633 B away", 1))) == [
        "0.633 in '1.6 Self-attention without projections'"
    ]


def test_figures_have_commands_and_mistakes_are_explained(script: ModuleType) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    drawn = {command.split()[-1] for command in script.FIGURE.findall(page)}
    there = {f"figures/theory/{path.name}" for path in (ROOT / "docs" / "figures" / "theory").glob("*")}
    assert drawn | {"figures/theory/from-run.svg"} == there  # that one needs a trained run
    page = script.TEACHING.read_text(encoding="utf-8")
    for mistake, meaning in MISTAKES.items():
        assert f"| {mistake} | {meaning} |" in page


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.test_documents import blocks

    [code] = blocks("docs/explanation/theory.md", "python")
    exec(code, {})
    printed = capsys.readouterr().out
    assert printed.count("is copied with weight") + printed.count("is hidden") == 8
    assert "the scale is all that is missing" in printed
