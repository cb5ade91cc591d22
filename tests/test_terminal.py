"""Tables and progress bars fit into every terminal, and lose columns rather than digits."""

import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from augenmerk.cli import study, terminal, train
from augenmerk.cli.terminal import FittingProgress, SafeConsole, format_json, make_table
from augenmerk.study.plan import find_study, read_study
from augenmerk.study.runner import RunStatus
from tests.command import run_command
from tests.runs import SharedRuns, tiny
from tests.test_report import make_result

NUMBER = re.compile(r"\d[\d,.]*")
WIDTHS = (40, 80, 200)


def draw(table: terminal.FittingTable, width: int) -> list[str]:
    printed = io.StringIO()
    SafeConsole(file=printed, width=width, force_terminal=True, color_system=None, soft_wrap=True).print(
        table
    )
    return printed.getvalue().splitlines()


@given(
    st.integers(1, 12), st.integers(0, 5), st.sampled_from(WIDTHS), st.integers(1, 2), st.integers(0, 999_999)
)
def test_no_figure_is_cut_and_no_line_is_too_long(
    columns: int, rows: int, width: int, gap: int, number: int
) -> None:
    headings = ["name", *(f"figure {n}" for n in range(columns))]
    figures = [
        [f"{number + 1000 * row + column:,}.{column}" for column in range(columns)] for row in range(rows)
    ]
    table = make_table(headings, [[f"variant-{row}", *cells] for row, cells in enumerate(figures)], gap=gap)
    lines = draw(table, width)
    hidden = [line for line in lines if line.startswith("not shown here: ")]
    shown = columns - (len(hidden[0].split(", ")) if hidden else 0)
    assert shown >= 1
    for cells, line in zip(figures, lines[1:], strict=False):
        assert line.split()[1:] == cells[:shown]
        assert len(line.rstrip()) <= width
    if not hidden:
        assert shown == columns
    elif rows:  # one more column would not have fitted
        wide = [max(len(h), *(len(row[n]) for row in figures)) for n, h in enumerate(headings[1:])]
        assert len("variant-0") + sum(gap + size for size in wide[: shown + 1]) > width


def test_a_long_name_is_broken_into_lines_but_kept() -> None:
    lines = draw(make_table(("run", "BLEU"), [["runs/" + "x" * 90 + "1", "12.34"]]), 40)
    assert "12.34" in lines[1]
    assert max(map(len, lines)) <= 40
    assert "".join(line.split()[0] for line in lines[1:]) == "runs/" + "x" * 90 + "1"


def test_a_table_in_a_pipe_is_as_wide_as_it_needs_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    printed = io.StringIO()
    headings = [f"column-{n}" for n in range(30)]
    SafeConsole(file=printed, soft_wrap=True).print(make_table(headings, [["1"] * 30]))
    assert printed.getvalue().splitlines()[0].split() == headings


def test_every_table_is_one_that_fits() -> None:
    for path in Path(terminal.__file__).parent.glob("*.py"):
        if path.name not in ("terminal.py", "help.py"):
            assert "rich.table" not in path.read_text(encoding="utf-8"), path.name
            assert not re.search(r"\bProgress\(", path.read_text(encoding="utf-8")), path.name


def test_the_tables_of_a_command_fit(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run").path
    wide, *narrow = (
        run_command("faithfulness", run, "--index", "3", env={"COLUMNS": str(width)}).out
        for width in (200, 80, 40)
    )
    assert "not shown here" not in wide
    assert "not shown here" in narrow[-1]
    for shown in narrow:
        assert "…" not in shown
        assert set(NUMBER.findall(shown)) <= set(NUMBER.findall(wide))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_of_a_study_fits(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from augenmerk.cli import study

    printed = io.StringIO()
    console = SafeConsole(file=printed, width=width, highlight=False, soft_wrap=True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(study, "out", lambda: console)
    study._print_result(make_result())
    table = printed.getvalue().split("mean ±")[0].splitlines()
    assert max(map(len, table)) <= max(width, len(table[-1]))
    assert "…" not in printed.getvalue()
    assert "BLEU" in printed.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_progress_bar_fits(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    console = SafeConsole(file=printed, width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(terminal, "err", lambda: console)
    columns = [TextColumn(f"{{task.fields[n{n}]}}") for n in range(6)]
    bar = FittingProgress(columns[0], BarColumn(), *columns[1:])
    fields: dict[str, Any] = {f"n{n}": f"{n}2345.678" for n in range(6)}
    bar.add_task("", **fields)
    console.print(bar.make_tasks_table(bar.tasks))
    shown = NUMBER.findall(printed.getvalue())
    assert shown == list(fields.values())[: len(shown)]
    assert len(shown) == {40: 3, 80: 6, 200: 6}[width]
    assert len(bar.columns) == 7


def to_a_file(monkeypatch: pytest.MonkeyPatch, seconds: float) -> io.StringIO:
    """Returns what is printed to stderr, a file, with a line about progress after so many seconds."""
    printed = io.StringIO()
    console = SafeConsole(file=printed, width=80, highlight=False, soft_wrap=True)
    for module in (terminal, train, study):
        monkeypatch.setattr(module, "err", lambda: console)
    monkeypatch.setattr(terminal, "LINE_SECONDS", seconds)
    return printed


def test_without_a_terminal_progress_is_lines_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0)
    with terminal.show_progress(MofNCompleteColumn()) as update:
        update("[test]", 1, 4)
        update("[test]", 2, 4)
    first, second = printed.getvalue().splitlines()
    assert re.fullmatch(r"\[test\] +1/4  25%", first)
    assert re.fullmatch(r"\[test\] +2/4  50%  about 0:00:\d\d left", second)
    with FittingProgress(TextColumn("{task.description}")) as bar:
        assert list(bar.track((each for each in "ab"), description="reading")) == ["a", "b"]
    assert printed.getvalue().splitlines()[-1] == "reading  2"


def test_short_work_prints_no_such_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 60)
    with terminal.show_progress(MofNCompleteColumn()) as update, terminal.show_status("measuring"):
        update("test", 1, 2)
    assert printed.getvalue() == ""


def test_work_of_unknown_length_prints_that_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0.001)
    with terminal.show_status("[measuring]") as change:
        change("[drawing]")
        while not printed.getvalue().endswith("\n"):
            time.sleep(0.001)
    assert printed.getvalue().splitlines()[0] in ("[measuring]  0:00:00", "[drawing]  0:00:00")


def test_training_prints_its_loss_as_soon_as_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0)
    display = train.TrainingDisplay(tiny())
    [task] = display._bar.tasks
    figures = [column(task) for column in display._bar.columns if isinstance(column, TextColumn)]
    assert "nan" not in "".join(map(str, figures))
    display.batch(1, 5, 10, 2.5, 1234.0)
    assert printed.getvalue() == "epoch   1/2  loss 2.500  1,234 tokens/s  25%\n"


def test_a_study_says_how_far_its_runs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = to_a_file(monkeypatch, 0)
    planned = read_study(find_study("small")).runs[0]
    study.StudyDisplay().show([RunStatus(planned, "running", phase="training", progress=0.25)])
    assert f"0 of 1 runs finished, 0:00:00: {planned.name} training 25%" in printed.getvalue()


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bold and dim are no colours; what begins with 3 or 4 is one."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    printed = io.StringIO()
    console = SafeConsole(file=printed, force_terminal=True, width=100)
    monkeypatch.setattr(terminal, "err", lambda: console)
    with terminal.show_progress(BarColumn()) as update:
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
