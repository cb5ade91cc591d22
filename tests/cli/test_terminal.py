"""Tables are printed whole, and progress is shown in terminals and log files."""

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import BarColumn, MofNCompleteColumn
from rich.table import Table

from augenmerk.base import console as consoles
from augenmerk.base.console import SafeConsole, make_table
from augenmerk.cli.terminal import format_json
from augenmerk.study import display as of_studies
from augenmerk.study.plan import find_study, read_study
from augenmerk.study.runner import RunStatus
from augenmerk.study.session import StudyResults
from augenmerk.training import display
from tests.process.test_report import make_result
from tests.support.command import run_command
from tests.support.runs import SharedRuns, tiny

WIDTHS = (40, 80, 200)


def draw(table: Table, width: int) -> list[str]:
    printed = io.StringIO()
    console = SafeConsole(file=printed, width=width, force_terminal=True, color_system=None, soft_wrap=True)
    console.print(table)
    return printed.getvalue().splitlines()


@given(st.integers(1, 12), st.integers(0, 5), st.sampled_from(WIDTHS), st.integers(1, 2))
def test_no_number_is_cut(columns: int, rows: int, width: int, gap: int) -> None:
    headings = ["name", *(f"column {n}" for n in range(columns))]
    cells = [[f"{1000 * row + column:,}.{column}" for column in range(columns)] for row in range(rows)]
    table = make_table(headings, [[f"variant-{n}", *row] for n, row in enumerate(cells)], gap=gap)
    lines = draw(table, width)
    assert lines[0].split() == " ".join(headings).split()
    assert [line.split()[1:] for line in lines[1:]] == cells


def test_the_tables_of_a_command_are_whole(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run").path
    wide, narrow = (
        run_command("faithfulness", run, "--index", "3", env={"COLUMNS": str(width)}).out.split()
        for width in (200, 40)
    )
    assert wide == narrow


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_of_a_study_is_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    console = SafeConsole(file=printed, width=width, highlight=False, soft_wrap=True)
    monkeypatch.setattr(consoles, "out", lambda: console)
    consoles.print_shown(StudyResults(Path("study"), make_result()))
    assert "…" not in printed.getvalue()
    assert "BLEU" in printed.getvalue()


def to_a_file(monkeypatch: pytest.MonkeyPatch, seconds: float) -> io.StringIO:
    """Returns what is printed to stderr, a file, with a line about progress after so many seconds."""
    printed = io.StringIO()
    console = SafeConsole(file=printed, width=80, highlight=False, soft_wrap=True)
    for module in (consoles, display, of_studies):
        monkeypatch.setattr(module, "err", lambda: console)
    monkeypatch.setattr(consoles, "LINE_SECONDS", seconds)
    return printed


def test_without_a_terminal_progress_is_lines_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0)
    with consoles.show_progress(MofNCompleteColumn()) as update:
        update("[test]", 1000, 4000)
        assert list(consoles.count_items("ab", "reading", update)) == ["a", "b"]
    assert printed.getvalue().splitlines() == ["[test]: 1,000 of 4,000 (25%)", "reading: 1", "reading: 2"]
    printed = to_a_file(monkeypatch, 60)
    with consoles.show_progress(MofNCompleteColumn()) as update, consoles.show_status("measuring"):
        update("test", 1, 2)
    assert printed.getvalue() == ""


def test_training_prints_its_loss_as_soon_as_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0)
    shown = display.TrainingDisplay(tiny())
    assert "nan" not in shown._bar.tasks[0].description
    shown.batch(1, 5, 10, 2.5, 1234.0)
    assert printed.getvalue() == "epoch   1/2  loss 2.500  1,234 tokens/s  25%\n"


def test_a_study_says_how_far_its_runs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0)
    planned = read_study(find_study("small")).runs[0]
    of_studies.StudyDisplay().show([RunStatus(planned, "running", phase="training", progress=0.25)])
    assert f"0 of 1 runs finished, 0:00:00: {planned.name} training 25%" in printed.getvalue()


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bold and dim are no colours; what begins with 3 or 4 is one."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    printed = io.StringIO()
    console = SafeConsole(file=printed, force_terminal=True, width=100)
    monkeypatch.setattr(consoles, "err", lambda: console)
    with consoles.show_progress(BarColumn()) as update:
        update("reading", 1, 2)
    console.print("[red]red[/] [on blue]blue[/] [bold]bold[/]")
    assert "\x1b[1mbold" in printed.getvalue()
    assert not re.search(r"\x1b\[[\d;]*\b[349]\d?(;[\d;]*)?m", printed.getvalue())
    assert "\x1b[" not in run_command("train", "--help").out


def test_a_line_of_json_stays_one_line() -> None:
    text = "a\x85b\u2028c\u2029d\n\x0b\x1c"
    line = format_json({"text": text})
    assert len(line.splitlines()) == 1
    assert json.loads(line) == {"text": text}
