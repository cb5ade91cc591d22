"""A whole class at once: tables as teachers have them, and answers as students give them."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory import classroom
from augenmerk.theory.classroom import (
    AnswerSheet,
    GradedAnswer,
    collect_for_review,
    grade_sheet,
    read_answer_sheet,
    summarise,
)
from augenmerk.theory.grading import check
from augenmerk.theory.results import Grade
from tests.support.command import fails_with_a_sentence, run_command, run_json

TABLE = """student,task,answers
Ada,1.2,c(k_a + k_b)
Béla,1.2,k_a + k_b
Cem,1.2,"$q = \\alpha (k_a + k_b)$, where $\\alpha \\gg 0$"
Dora,1.2,=c*k_a
Emil,1.4,
Fay,1.4,"q_1 = c mu_a, q_2 = c mu_b"
Gül,1.4,ask me tomorrow
Hal,1.9,c k_a
"""


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "answers.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def grade(folder: Path, content: str | bytes) -> list[GradedAnswer]:
    return grade_sheet(read_answer_sheet(write(folder, content)), samples=10)


def test_a_class_is_graded_and_nothing_stops_the_others(tmp_path: Path) -> None:
    graded = grade(tmp_path, TABLE)
    assert [(answer.student, answer.verdict, answer.mistake) for answer in graded] == [
        ("Ada", "right", ""),
        ("Béla", "wrong", "no scale"),
        ("Cem", "right", ""),
        ("Dora", "wrong", "only one of two"),
        ("Emil", "empty", ""),
        ("Fay", "right", ""),
        ("Gül", "needs review", ""),
        ("Hal", "needs review", ""),
    ]
    assert [answer.line for answer in graded] == list(range(2, 10))
    assert "Taken into account: \\alpha \\gg 0." in graded[2].remarks
    assert "There is no task '1.9' to check; the tasks are 1.1, " in graded[7].why
    assert all(answer.why.endswith(".") for answer in graded)


def as_excel_writes_it(table: str, delimiter: str) -> bytes:
    text = io.StringIO()
    rows = csv.reader(io.StringIO(table))
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8-sig")


@pytest.mark.parametrize(
    "content",
    [
        as_excel_writes_it(TABLE, ";"),
        as_excel_writes_it(TABLE, "\t"),
        as_excel_writes_it(TABLE, ","),
        TABLE.replace("student,task,answers", ' Student , "Task", ANSWER'),
        TABLE.replace("student", "\n\n , , \nstudent"),
        "sep=,\n" + TABLE,
        TABLE.replace("\n", "\n\n"),
        TABLE.replace(",1.2,", ",Task 1.2,").replace(",1.4,", ',"1,4",'),
        TABLE.replace('"q_1 = c mu_a, q_2 = c mu_b"', "q_1 = c mu_a, q_2 = c mu_b"),  # without its quotes
        TABLE.replace("=c*k_a", "'=c*k_a"),  # escaped by a spreadsheet, or by this command
        TABLE.rstrip("\n"),
        TABLE.replace("\n", "\r"),
    ],
)
def test_tables_of_all_kinds_are_read_alike(tmp_path: Path, content: str | bytes) -> None:
    sheet = read_answer_sheet(write(tmp_path, content))
    rows = [(row.student, row.task, row.answers) for row in sheet.rows]
    plain = read_answer_sheet(write(tmp_path, TABLE))
    assert rows == [(row.student, row.task, row.answers) for row in plain.rows]


def test_a_table_with_a_column_for_each_task_is_read_too(tmp_path: Path) -> None:
    """As forms on the web write it."""
    table = "Timestamp;Student;1.2;Task 1.4\nMonday;Ada;c(k_a + k_b);q_1 = c mu_a\nTuesday;Ben;k_a + k_b\n"
    sheet = read_answer_sheet(write(tmp_path, table.replace("q_1 = c mu_a", '"c mu_a; c mu_b"')))
    assert sheet.columns == ("Timestamp", "student", "task", "answers")
    assert [(row.line, row.student, row.task, row.answers) for row in sheet.rows] == [
        (2, "Ada", "1.2", "c(k_a + k_b)"),
        (2, "Ada", "1.4", "c mu_a; c mu_b"),
        (3, "Ben", "1.2", "k_a + k_b"),
        (3, "Ben", "1.4", ""),
    ]
    assert [one.verdict for one in grade_sheet(sheet, samples=10)] == ["right", "right", "wrong", "empty"]


def test_a_heading_with_one_number_of_a_task_is_its_column(tmp_path: Path) -> None:
    headings = ["Student", "Aufgabe 1.1: Wann?", "Aufgabe 1.2 (Mittelwert)", "Aufgabe 1.3", "1.4 – zwei"]
    headings += ["1.6", "1.7 K, Q, V", "points for 1.6", "1.3 and 1.5", "Version 1.2.3", "1.25"]
    path = write(tmp_path, ",".join(f'"{each}"' for each in headings) + "\nAda,a,b,c,d,e,f,g,h,i,j\n")
    sheet = read_answer_sheet(path)
    assert " ".join(f"{row.task}{row.answers}" for row in sheet.rows) == "1.1a 1.2b 1.3c 1.4d 1.6e 1.7f"
    assert sheet.task_columns == tuple(headings[1:7])
    assert sheet.other_columns == tuple(headings[7:])
    said = " ".join(run_command("theory", "grade", path, "--samples", "10").err.split())
    assert "Columns of tasks: 'Aufgabe 1.1: Wann?'; 'Aufgabe 1.2 (Mittelwert)'; 'Aufgabe 1.3';" in said
    assert "Not graded: 'points for 1.6'; '1.3 and 1.5'; 'Version 1.2.3'; '1.25'." in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("student,1.2 x,points 1.2\nA,b,c\n", "two columns are for task 1.2, '1.2 x', 'points 1.2'; rename"),
        ("", "is empty; its first line must name the columns student, task, answers"),
        ("\n \n", "is empty"),
        ("student,task,answers\n", "has no answers, only the line that names the columns"),
        ("student,answers\nAda,k_a\n", "'student', 'answers'. Needed are student, task, answers, or student"),
        ("id;task;answers\nAda;1.2;k_a\n", "the columns are 'id', 'task', 'answers'"),
        ("Time;Name;Sache;Text\nx;Ada;1.2;k_a\n", "'Text'. Needed are .*--column '1.2=HEADING'"),
        ("Matrikel,Frage 1.2\nAda,k_a\n", "Needed are .* one with the students .--student-column HEAD"),
        ("Ada,1.2,k_a\n", "the columns are 'Ada', '1.2', 'k_a'. Needed are student"),
        ("student,task,answer,answers\nA,1.2,c,c\n", "'student', 'task', 'answer', 'answers'. Needed are"),
        (TABLE.encode("cp1252"), "line 3: this is not UTF-8; save the table as CSV in UTF-8 .in Excel"),
        (TABLE.encode("utf-16"), "line 1: this is not UTF-8; save the table as CSV in UTF-8"),
        (b"PK\x03\x04\xd0rest of an xlsx", "this is not UTF-8; save the table as CSV"),
        ('student,task,answers\nAda,1.2,"c k_a\nBen,1.2,k_a\n', "line 2: this is not CSV .unexpected end"),
        ('student,task,answers\nAda,1.2,"c" k_a\n', "line 2: this is not CSV"),
        (f"student,task,answers\nAda,1.2,{'k_a+' * 50_000}k_a\n", "line 2: this is not CSV .field larger"),
    ],
)
def test_a_file_that_is_no_table_gets_a_sentence(tmp_path: Path, content: str | bytes, reason: str) -> None:
    with pytest.raises(AugenmerkError, match=reason):
        read_answer_sheet(write(tmp_path, content))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Ada,01. Feb,c k_a", "There is no task '01. Feb' to check; the tasks are 1.1,"),
        ("Ada,,c k_a", "There is no task ''"),
        ("Ada,1.2,#NAME?", "'#' cannot be part of a formula"),
        ("Ada", "There is no task ''"),
        ("Ada,1.2," + "(" * 300, "more than 40 brackets"),
        ("Ada,1.2," + "k_a+" * 2000, "at most 2,000 characters"),
        ("Ada,1.2,__import__('os').system('true')", "character 12"),
        ("Ada,1.2,c*(" + " + ".join(["outer(k_a k_b)"] * 20) + ")*k_a", "a product of two vectors can be"),
        ("Ada,1.2,\x00", "cannot be part"),
        ("Ada,1.2,1e999 k_a", "too large"),
        ("Ada,1.2,exp(1000) k_a", "or is too large"),
    ],
)
def test_a_row_that_cannot_be_read_is_left_to_the_teacher(tmp_path: Path, row: str, reason: str) -> None:
    first, second = grade(tmp_path, f"student,task,answers\n{row}\nBen,1.2,c(k_a + k_b)\n")
    assert first.verdict == "needs review"
    assert re.search(reason, first.why)
    assert second.verdict == "right"


def test_rows_of_another_length_are_left_to_the_teacher(tmp_path: Path) -> None:
    table = "student,answers,task\nAda,c mu_a,c mu_b,1.4\nBen,c(k_a + k_b),1.2,\nCem,k_a\n"
    ada, ben, cem = grade(tmp_path, table)
    assert (ada.verdict, ada.why) == ("needs review", "The row has 4 cells, and the table 3 columns.")
    assert ben.verdict == "right"
    assert (cem.verdict, cem.why) == ("needs review", "The row has 2 cells, and the table 3 columns.")
    table = "student;1.2;1.4\nAda;c(k_a + k_b);c mu_a; c mu_b\nBen;c(k_a + k_b);;\n"
    graded = grade(tmp_path, table)
    assert [one.task for one in graded] == ["1.2", "1.4"] * 2
    assert [one.verdict for one in graded] == ["needs review", "needs review", "right", "empty"]
    assert graded[0].why == "The row has 4 cells, and the table 3 columns."


def test_the_same_answer_is_graded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def count(task: str, answers: Sequence[str], **settings: Any) -> Grade:
        asked.append((task, *answers))
        return check(task, answers, **settings)

    monkeypatch.setattr(classroom, "check", count)
    rows = [f"S,{row}\n" for row in ("1.2,k_a", "1.3,c mu_a", "1.2,k_a", "1.3,k_a", "1.2,k_a")] * 20
    sheet = read_answer_sheet(write(tmp_path, "student,task,answers\n" + "".join(rows)))
    done = []
    graded = grade_sheet(sheet, samples=10, on_progress=lambda *progress: done.append(progress))
    assert sorted(asked) == [("1.2", "k_a"), ("1.3", "c mu_a"), ("1.3", "k_a")]
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert len(graded) == 100


def test_mistakes_are_counted(tmp_path: Path) -> None:
    answers = ["k_a + k_b"] * 3 + ["k_b + k_a", "c k_a", "c(k_a + k_b)", "c(", "c(", ""]
    answers += [f"k_a +{' ' * n}k_b" for n in range(2, 8)]
    table = "student,task,answers\n" + "".join(f"S{n},1.2,{a}\n" for n, a in enumerate(answers))
    graded = grade(tmp_path, table)
    [summary] = summarise(graded)
    assert summary.verdicts == {"right": 1, "right if": 0, "wrong": 11, "needs review": 2, "empty": 1}
    no_scale, one = summary.mistakes
    assert (no_scale.name, no_scale.count, no_scale.more) == ("no scale", 10, 3)
    assert no_scale.examples[0] == ("k_a + k_b", 3)
    assert (one.name, one.count, one.examples) == ("only one of two", 1, (("c k_a", 1),))
    [unread] = collect_for_review(graded)
    assert (unread.answers, unread.lines, unread.where) == ("c(", (8, 9), "lines 8 (S6), 9 (S7)")
    assert summarise(grade_sheet(AnswerSheet(("student",), (), ",", False))) == []


def test_the_command_writes_a_table_and_a_page(tmp_path: Path) -> None:
    path = write(tmp_path, as_excel_writes_it(TABLE.replace("Dora", "=HYPERLINK(1)"), ";"))
    out, page = tmp_path / "grades.csv", tmp_path / "mistakes.html"
    arguments = ("theory", "grade", path, "--samples", "10")
    answer = run_command(*arguments, "--out", out, "--page", page)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("8 answers of 8 students: 3 right, 2 wrong, 2 need review, 1 empty\n")
    assert re.search(r"1 x +only one of two +=c\*k_a", answer.out)
    assert "line 8 (Gül), 1.4:" in answer.out
    # As the teacher's spreadsheet wrote it: with semicolons, and a mark that says UTF-8.
    assert out.read_bytes().startswith(b"\xef\xbb\xbfstudent;task;answers;verdict;mistake;why;remarks\n")
    rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8-sig")), delimiter=";"))
    assert [row["verdict"] for row in rows][:4] == ["right", "wrong", "right", "wrong"]
    assert (rows[3]["student"], rows[3]["answers"]) == ("'=HYPERLINK(1)", "'=c*k_a")
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    shown = page.read_text("utf-8")
    assert "only one of two" in shown
    assert "Béla" not in shown
    assert "HYPERLINK" not in shown
    assert "line 8" not in shown  # it would tell who it was
    assert "2 answers could not be read by the program" in shown
    assert "ask me tomorrow" not in shown  # there may be a name in it
    # Graded once more, it keeps what a teacher may have written into it.
    again = tmp_path / "again.csv"
    twice = run_command("theory", "grade", out, "--samples", "10", "--out", again)
    assert twice.code == 0
    assert "already: ours are verdict_2, mistake_2, why_2, remarks_2." in twice.err
    old, new = (csv.reader(io.StringIO(p.read_text("utf-8-sig")), delimiter=";") for p in (out, again))
    for before, after in zip(old, new, strict=True):
        assert after[: len(before)] == before
        assert [cell.removesuffix("_2") for cell in after[len(before) :]] == before[-4:]
    found = run_json(*arguments)
    assert [row["holds"] for row in found] == [True, False, True, False, None, True, None, None]
    assert found[1].keys() >= {"student", "task", "holds", "why", "answers", "verdict", "mistake", "remarks"}
    json.dumps(found)


def test_a_cell_is_written_as_it_was_read(tmp_path: Path) -> None:
    path = write(tmp_path, "student,task,answers,nickname,Why\n'Ada',1.2,k_a,'s-Gravenhage,late\n")
    out = tmp_path / "grades.csv"
    assert run_command("theory", "grade", path, "--samples", "10", "--out", out).code == 0
    header, row = csv.reader(out.read_text("utf-8").splitlines())
    assert header[:6] == ["student", "task", "answers", "nickname", "Why", "verdict_2"]
    assert row[:6] == ["'Ada'", "1.2", "k_a", "'s-Gravenhage", "late", "wrong"]


def test_a_student_who_answers_twice_is_named(tmp_path: Path) -> None:
    rows = ["Ada,1.2,k_a", "Ben,1.2,k_b", "Ada,1.2,c(k_a + k_b)", "Ada,1.4,", "Ada,1.4,c mu_a"]
    path = write(tmp_path, "student,task,answers\n" + "\n".join(rows) + "\n")
    answer = run_command("theory", "grade", path, "--samples", "10")
    assert "A student has more than one answer to a task 1 time; each of them is counted" in answer.err
    assert "Ada, 1.2: lines 2, 4\n" in answer.err
    assert "1.4" not in answer.err
    out = tmp_path / "grades.csv"
    last = run_command("theory", "grade", path, "--samples", "10", "--keep", "last", "--out", out)
    assert "Replaced by a later answer, and left out: 2.\n" in last.err  # with the empty one
    assert "more than one" not in last.err
    assert last.out.startswith("3 answers of 2 students: 2 wrong, 1 right\n")
    assert [row[0] for row in csv.reader(out.read_text("utf-8").splitlines())][1:] == ["Ben", "Ada", "Ada"]
    path = write(tmp_path, "student,task,answers\nAda,1.4,c mu_a\n")
    alone = run_command("theory", "grade", path, "--samples", "10")
    assert "more than one" not in alone.err
    assert alone.out.startswith("1 answer of 1 student: 1 wrong\n")
    assert re.search(r"1 x +incomplete", alone.out)


def test_students_may_be_in_another_column(tmp_path: Path) -> None:
    path = write(tmp_path, "Mail,Name,1.2\na@b,Ada,k_a\n")
    assert [row.student for row in read_answer_sheet(path).rows] == ["Ada"]
    assert [row.student for row in read_answer_sheet(path, "mail").rows] == ["a@b"]


def test_mistakes_of_the_teacher_get_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, TABLE)
    for arguments, said in (
        ((path, "--out", path), "has the answers; give the grades another name"),
        ((path, "--out", tmp_path / "no" / "grades.csv"), "there is no folder"),
        ((path, "--keep", "first"), "--keep first: expected all or last"),
        ((path, "--student-column", "Matrikel"), "no column is called 'Matrikel'; the columns are 'student'"),
        ((tmp_path / "none.csv",), "there is no such file"),
        ((tmp_path,), "cannot be used"),
    ):
        assert said in fails_with_a_sentence("theory", "grade", *arguments)
    assert path.read_text("utf-8") == TABLE
    too_few = run_command("theory", "grade", path, "--samples", "3")
    assert (too_few.code, too_few.out) == (2, "")
    assert "Invalid value for '--samples': '3' should be greater than or equal to 10" in too_few.err
    monkeypatch.setattr(classroom, "MAX_BYTES", 100)
    assert "answers of a class have up to 100" in fails_with_a_sentence("theory", "grade", path)


def test_names_and_answers_are_no_markup(tmp_path: Path) -> None:
    path = write(tmp_path, "student,task,answers\n[red]Ada[/],1.2,[/x]\n\x1b[31mBen,[bold],c k_a\n")
    answer = run_command("theory", "grade", path, "--samples", "10")
    assert answer.code == 0, answer.err
    assert "[/x]" in answer.out
    assert "[bold]" in answer.out
    assert "\x1b" not in answer.out
