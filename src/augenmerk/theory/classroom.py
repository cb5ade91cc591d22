"""Grades the answers of a whole class: a CSV file with one row, or one cell, per student and task.

A file that is no such table is an error. An answer that cannot be read never stops the others: it needs
review, by the teacher.
"""

import codecs
import csv
import html
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.frames import format_rows
from augenmerk.theory.columns import (
    COLUMNS,
    explain_columns,
    find_students,
    find_task_columns,
    is_known,
    name_task,
    plain,
)
from augenmerk.theory.exercises import GRADED
from augenmerk.theory.grading import check, check_samples
from augenmerk.theory.results import MISTAKES

MAX_BYTES = 10_000_000
GRADE_COLUMNS = ("verdict", "mistake", "why", "remarks")
"""What grades add to the table of a class."""
MAX_EXAMPLES = 5  # the most answers that are shown for a mistake

Verdict = Literal["right", "right if", "wrong", "needs review", "empty"]
VERDICTS: tuple[Verdict, ...] = ("right", "right if", "wrong", "needs review", "empty")

NOTHING = "-"
"""What Moodle writes where there is no answer."""
AVERAGES = ("overall average", "gesamtdurchschnitt")
"""The name of the last row in some of Moodle's tables."""
_TAG = re.compile(r"</?(?:p|br|div|span)\b[^<>]*>", re.IGNORECASE)
_ESCAPED = re.compile(r"'(?=\s*[-=+@])")  # as this command escapes what a spreadsheet takes for a formula


@dataclass(frozen=True)
class Row:
    """A row of the table; `cells` are those of all columns, also those that are only copied."""

    line: int
    student: str
    task: str
    answers: str
    cells: tuple[str, ...]
    problem: str = ""  # why the row cannot be read


@dataclass(frozen=True)
class AnswerSheet:
    """The table of a class, and how it was written."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    delimiter: str
    byte_order_mark: bool
    task_columns: tuple[str, ...] = ()
    """The headings of the columns that were taken for tasks, if there is one for each task."""

    @property
    def other_columns(self) -> tuple[str, ...]:
        """The columns that are only copied."""
        return tuple(column for column in self.columns if column not in COLUMNS)


@dataclass(frozen=True)
class GradedAnswer:
    line: int
    student: str
    task: str
    answers: str
    verdict: Verdict
    mistake: str  # one of MISTAKES for an answer that is wrong, or right under a condition
    why: str
    remarks: str

    def to_dict(self) -> dict[str, Any]:
        holds = {"right": True, "right if": False, "wrong": False}.get(self.verdict)
        return {**vars(self), "holds": holds}


def read_answer_sheet(
    path: Path,
    student_column: str | None = None,
    columns: Mapping[str, str] | None = None,
    variants: Mapping[str, str] | None = None,
) -> AnswerSheet:
    """Reads the table; raises AugenmerkError if the file is not UTF-8, or lacks a column or an answer.

    The students are in the column of this heading; by default in one that `columns.py` knows. A table that
    has a column for each task, as forms on the web write it, gets a row for each of these cells; `columns`
    are headings of some of them, by task. `variants` are those that count, by task.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise AugenmerkError(f"{path} has {size:,} bytes; answers of a class have up to {MAX_BYTES:,}.")
    data = path.read_bytes()
    try:
        delimiter, table = _parse(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = "save the table as CSV in UTF-8 (in Excel: Save As, CSV UTF-8)"
        raise AugenmerkError(f"{path}, line {line}: this is not UTF-8; {remedy}.") from None
    headings = table[0][1]
    students = find_students(path, headings, student_column)
    names = [name if (name := plain(h)) in COLUMNS[1:] else h.strip() for h in headings]
    names = ["student" if students == (i,) else name for i, name in enumerate(names)]
    rows_below = [cells for _, cells in table[1:]]
    tasks = (
        {}
        if not columns and {"task", "answers"} & set(names)
        else find_task_columns(path, headings, rows_below, columns or {})
    )
    kept = [i for i in range(len(names)) if i not in tasks]
    own_columns = (*(names[i] for i in kept), *(("task", "answers") if tasks else ()))
    if len(students) > 1:
        own_columns = ("student", *own_columns)
    if any(own_columns.count(name) != 1 for name in COLUMNS):
        has_answers = bool(tasks) or {"task", "answers"} <= set(names)
        raise AugenmerkError(explain_columns(path, headings, bool(students), has_answers))
    rows = []
    for line, cells in table[1:]:
        last = len(names) - 1
        if not tasks and len(cells) > len(names) and names[last] == "answers":
            # A delimiter in an answer that is not in quotation marks made more cells of it.
            cells = [*cells[:last], delimiter.join(cells[last:])]
        padded = [*cells, *[""] * len(names)][: len(names)]
        misfit = any(cell.strip() for cell in cells[len(names) :]) or (len(cells) < len(names) and not tasks)
        problem = f"The row has {len(cells)} cells, and the table {len(names)} columns." if misfit else ""
        joined = " ".join(padded[i].strip() for i in students).strip()
        if joined.casefold() in AVERAGES:
            continue
        own = (*([joined] if len(students) > 1 else ()), *(padded[i] for i in kept))
        for each in [(*own, task, padded[i]) for i, task in tasks.items()] or [own]:
            by_name = dict(zip(own_columns, each, strict=True))
            student, task, answers = (_ESCAPED.sub("", by_name[name]).strip() for name in COLUMNS)
            task = name_task(task)
            given = answers or len(cells) > len(names)
            answers = "" if answers == NOTHING and tasks else _strip_tags(answers)
            task = (variants or {}).get(task, task)
            rows.append(Row(line, student, task, answers, each, problem if given else ""))
    if not rows:
        raise AugenmerkError(f"{path} has no answers, only the line that names the columns.")
    task_columns = tuple(headings[i].strip() for i in tasks)
    marked = data.startswith(codecs.BOM_UTF8)
    return AnswerSheet(own_columns, tuple(rows), delimiter, marked, task_columns)


def _strip_tags(answers: str) -> str:
    """Returns the text of an answer that was written in an editor for web pages."""
    return html.unescape(_TAG.sub(" ", answers)).strip() if _TAG.search(answers) else answers


def _parse(path: Path, text: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """Returns the delimiter with which the first line names most columns, and all lines with text."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    heading = lines[first] if lines else ""
    if given := re.fullmatch(r"sep=([,;\t])", heading.strip(" ")):  # a line for Excel
        delimiter, first = given[1], first + 1
    else:
        cells = {sign: heading.split(sign) for sign in (",", ";", "\t")}
        delimiter = max(cells, key=lambda sign: (sum(map(is_known, cells[sign])), len(cells[sign])))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    table, line = [], 1
    try:
        for row in reader:
            if line > first and any(cell.strip() for cell in row):
                table.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise AugenmerkError(
            f"{path}, line {line}: this is not CSV ({error}); a quotation mark may be open or misplaced."
        ) from None
    if not table:
        raise AugenmerkError(f"{path} is empty; its first line must name the columns {', '.join(COLUMNS)}.")
    return delimiter, table


def grade_sheet(
    sheet: AnswerSheet,
    *,
    samples: int = 100,
    seed: int = 1,
    scale: float | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[GradedAnswer]:
    """Grades every row, and the same answer to a task only once; settings are those of `check`."""
    check_samples(samples)  # otherwise each answer would need review
    found: dict[tuple[str, str], tuple[Verdict, str, str, str]] = {}
    # Task by task, since instances of a task are drawn once for all answers to it.
    different = sorted({(row.task, row.answers) for row in sheet.rows})
    for number, (task, answers) in enumerate(different, 1):
        found[task, answers] = _grade(task, answers, samples, seed, scale)
        if on_progress is not None:
            on_progress(number, len(different))
    return [
        GradedAnswer(
            *(row.line, row.student, row.task, row.answers),
            *(("needs review", "", row.problem, "") if row.problem else found[row.task, row.answers]),
        )
        for row in sheet.rows
    ]


def _grade(
    task: str, answers: str, samples: int, seed: int, scale: float | None
) -> tuple[Verdict, str, str, str]:
    """Returns the verdict, the mistake, the reason and remarks."""
    if task in GRADED and not answers:
        return "empty", "", "There is no answer.", ""
    try:
        grade = check(task, [answers], samples=samples, seed=seed, scale=scale)
    except AugenmerkError as error:
        return "needs review", "", str(error), ""
    why = grade.why[0].upper() + grade.why[1:] if not grade.why.startswith("c_") else grade.why
    return grade.verdict, grade.mistake, why, " ".join(grade.remarks)


def keep_last_answers(sheet: AnswerSheet) -> AnswerSheet:
    """Returns the table without the answers that the same student replaced by another one further below."""
    last = {(row.student, row.task): row.line for row in sheet.rows if row.answers}
    rows = (
        row
        for row in sheet.rows
        if not row.student or last.get((row.student, row.task), row.line) == row.line
    )
    return replace(sheet, rows=tuple(rows))


def find_repeated(graded: Sequence[GradedAnswer]) -> dict[tuple[str, str], list[int]]:
    """Returns which students have several answers to a task that are not empty, and in which lines."""
    lines: dict[tuple[str, str], list[int]] = {}
    for answer in graded:
        if answer.student and answer.verdict != "empty":
            lines.setdefault((answer.student, answer.task), []).append(answer.line)
    return {who: where for who, where in lines.items() if len(where) > 1}


@dataclass(frozen=True)
class ForReview:
    """An answer that the teacher has to read, and the lines that have it."""

    task: str
    answers: str
    why: str
    lines: tuple[int, ...]
    students: tuple[str, ...]  # one for each line

    @property
    def where(self) -> str:
        """The first of the lines, with the students, in words."""
        found = list(zip(self.lines, self.students, strict=True))
        shown = ", ".join(f"{n} ({shorten(name)})" if name else str(n) for n, name in found[:MAX_EXAMPLES])
        more = f" and {len(found) - MAX_EXAMPLES} more" if len(found) > MAX_EXAMPLES else ""
        return f"{'line' if len(found) == 1 else 'lines'} {shown}{more}"


def collect_for_review(graded: Sequence[GradedAnswer]) -> list[ForReview]:
    """Returns each answer that the teacher has to read once, task by task, the most frequent first."""
    alike: dict[tuple[str, str, str], list[GradedAnswer]] = {}
    for answer in graded:
        if answer.verdict == "needs review":
            alike.setdefault((answer.task, answer.answers, answer.why), []).append(answer)
    found = [
        ForReview(*what, tuple(one.line for one in same), tuple(one.student for one in same))
        for what, same in alike.items()
    ]
    return sorted(found, key=lambda one: (one.task, -len(one.lines), one.lines))


@dataclass(frozen=True)
class MistakeCount:
    name: str
    explanation: str
    count: int
    examples: tuple[tuple[str, int], ...]
    """The most frequent answers with this mistake, each with how often it was given."""
    more: int  # how many other answers there are with it


@dataclass(frozen=True)
class TaskSummary:
    task: str
    answers: int
    verdicts: Mapping[str, int]
    mistakes: tuple[MistakeCount, ...]  # the most frequent first


def summarise(graded: Sequence[GradedAnswer]) -> list[TaskSummary]:
    """Counts verdicts and mistakes for each task that was answered."""
    own = {task: [answer for answer in graded if answer.task == task] for task in GRADED}
    counted = {task: Counter(answer.verdict for answer in answers) for task, answers in own.items()}
    return [
        TaskSummary(task, len(answers), {v: counted[task][v] for v in VERDICTS}, (*_count_mistakes(answers),))
        for task, answers in own.items()
        if answers
    ]


def _count_mistakes(graded: Sequence[GradedAnswer]) -> Iterator[MistakeCount]:
    for name, count in Counter(answer.mistake for answer in graded if answer.mistake).most_common():
        examples = Counter(answer.answers for answer in graded if answer.mistake == name).most_common()
        shown = tuple(examples[:MAX_EXAMPLES])
        yield MistakeCount(name, MISTAKES[name], count, shown, len(examples) - len(shown))


# What a teacher gets as a file


def name_grade_columns(sheet: AnswerSheet) -> list[str]:
    """Returns the headings under which grades are written: with a number if the table has them already."""
    taken, names, number = {column.casefold() for column in sheet.columns}, list(GRADE_COLUMNS), 1
    while taken.intersection(names):
        number += 1
        names = [f"{column}_{number}" for column in GRADE_COLUMNS]
    return names


def format_grades(sheet: AnswerSheet, graded: Sequence[GradedAnswer]) -> bytes:
    """Formats the table of a class with what was found, as CSV of the kind that was read."""
    rows = [[*sheet.columns, *name_grade_columns(sheet)]]
    for row, answer in zip(sheet.rows, graded, strict=True):
        rows.append([*row.cells, *(vars(answer)[column] for column in GRADE_COLUMNS)])
    text = format_rows(rows, sheet.delimiter)
    return text.encode("utf-8-sig" if sheet.byte_order_mark else "utf-8")
