"""Grades the answers of a whole class, a CSV file with a row, or a cell, for each student and task.

A file that is no such table is refused with a sentence. An answer that cannot be read never stops the others:
it needs review, by the teacher.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.grading import TASKS, check, check_samples
from augenmerk.theory.mistakes import MISTAKES

COLUMNS = ("student", "task", "answers")
MAX_BYTES = 10_000_000
MAX_EXAMPLES = 5  # the most answers that are shown for a mistake

Verdict = Literal["right", "right if", "wrong", "needs review", "empty"]
VERDICTS: tuple[Verdict, ...] = ("right", "right if", "wrong", "needs review", "empty")

_TASK = re.compile(r"(?:task|question|aufgabe|frage)?\s*1\s*[.,]\s*([1-7])", re.IGNORECASE)
_TASK_IN_HEADING = re.compile(r"(?<![\d.,])1\s*[.,]\s*([1-7])(?!\s*[.,]?\d)")
_DATE = re.compile(r"\d{4}|jan|feb|m[aä]r|apr|ma[iy]|jun|jul", re.IGNORECASE)
_LIKELY = {
    **dict.fromkeys(("name", "full name", "e-mail", "email", "id", "vorname"), "student"),
    **dict.fromkeys(("question", "exercise", "frage", "aufgabe"), "task"),
    **dict.fromkeys(("response", "solution", "antwort", "antworten", "lösung"), "answers"),
}
"""Headings of forms that are likely to be meant, for a message only: a guess must not decide on grades."""
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

    def as_dict(self) -> dict[str, Any]:
        holds = {"right": True, "right if": False, "wrong": False}.get(self.verdict)
        return {**vars(self), "holds": holds}


def read_answer_sheet(path: Path, student_column: str | None = None) -> AnswerSheet:
    """Reads the table; raises AugenmerkError if the file is not UTF-8, or lacks a column or an answer.

    The students are in the column of this heading; by default in `student`, or else in `name`.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise AugenmerkError(f"{path} has {size:,} bytes; answers of a class have up to {MAX_BYTES:,}.")
    data = path.read_bytes()
    text = _decode(path, data)
    delimiter, header_line = _find_delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    table = []
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise AugenmerkError(
                f"{path}, line {line}: this is not CSV ({error}); a quotation mark may be open or misplaced."
            ) from None
        if line >= header_line and any(cell.strip() for cell in cells):
            table.append((line, cells))
    if not table:
        raise AugenmerkError(f"{path} is empty; its first line must name the columns {_names(COLUMNS)}.")
    headings = table[0][1]
    table[0] = (table[0][0], _name_students(path, headings, student_column))
    table, task_columns = _unfold(path, table)
    columns = _read_header(path, table[0][1], headings)
    # Which cell of a row with a cell for each task was cut in two cannot be known.
    joint = None if task_columns else delimiter
    rows = [_make_row(line, columns, cells, joint) for line, cells in table[1:]]
    if not rows:
        raise AugenmerkError(f"{path} has no answers, only the line that names the columns.")
    return AnswerSheet(columns, tuple(rows), delimiter, data.startswith(codecs.BOM_UTF8), task_columns)


def _unfold(
    path: Path, table: list[tuple[int, list[str]]]
) -> tuple[list[tuple[int, list[str]]], tuple[str, ...]]:
    """Makes rows of the columns of a table that has one for each task, as forms on the web write it.

    Returns the rows, and the headings of these columns.
    """
    headings = table[0][1]
    if set(map(_plain, headings)) & {"task", "answers"}:
        return table, ()
    tasks = {place: task for place, heading in enumerate(headings) if (task := _find_task(heading))}
    for task in sorted(set(tasks.values())):
        places = [place for place in tasks if tasks[place] == task]
        exact = [place for place in places if _TASK.fullmatch(headings[place].strip())]
        if len(exact or places) > 1:
            named = " and ".join(f"'{shorten(headings[place].strip())}'" for place in exact or places)
            raise AugenmerkError(f"{path}: two columns are for task {task}, {named}; rename one of them.")
        if exact:  # a column "1.2" beside "points for 1.2"
            tasks = {place: each for place, each in tasks.items() if each != task or place in exact}
    if not tasks:
        return table, ()
    unfolded = [(table[0][0], [*_without(headings, tasks), "task", "answers"])]
    for line, cells in table[1:]:
        padded = [*cells, *[""] * (len(headings) - len(cells))]
        # Cells behind the last column come last, where they are seen to be too many.
        kept, extra = _without(padded[: len(headings)], tasks), padded[len(headings) :]
        unfolded += [(line, [*kept, task, padded[place], *extra]) for place, task in tasks.items()]
    return unfolded, tuple(headings[place].strip() for place in tasks)


def _name_students(path: Path, headings: Sequence[str], student_column: str | None) -> list[str]:
    """Returns the headings with `student` for the one that has the students."""
    plain = list(map(_plain, headings))
    wanted = _plain(student_column or ("student" if "student" in plain else "name"))
    if student_column is not None and wanted not in plain:
        found = shorten(_names([f"'{cell.strip()}'" for cell in headings]), 300)
        raise AugenmerkError(f"{path}: no column is called '{student_column}'; the columns are {found}.")
    return ["student" if name == wanted else heading for name, heading in zip(plain, headings, strict=True)]


def _find_task(heading: str) -> str:
    """Returns the task of a heading with one number of a task, such as `Aufgabe 1.4 - two heads`, or ""."""
    found = _TASK_IN_HEADING.findall(heading)
    return f"1.{found[0]}" if len(found) == 1 else ""


def _without(cells: Sequence[str], places: Container[int]) -> list[str]:
    return [cell for place, cell in enumerate(cells) if place not in places]


def _decode(path: Path, data: bytes) -> str:
    remedy = "save the table as CSV in UTF-8 (in Excel: Save As, CSV UTF-8)"
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise AugenmerkError(f"{path} is a spreadsheet, not CSV; {remedy}.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise AugenmerkError(f"{path} is UTF-16; {remedy}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise AugenmerkError(f"{path}, line {line}: this is not UTF-8; {remedy}.") from None


def _find_delimiter(text: str) -> tuple[str, int]:
    """Returns the delimiter with which the first line names most columns, and the number of that line."""
    lines = text.splitlines()
    number = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if lines and (given := re.fullmatch(r"sep=([,;\t])", lines[number].strip(" "))):  # a line for Excel
        return given[1], number + 2
    first = lines[number] if lines else ""
    cells = {sign: first.split(sign) for sign in (",", ";", "\t")}
    return max(cells, key=lambda sign: (sum(map(_is_ours, cells[sign])), len(cells[sign]))), number + 1


def _plain(heading: str) -> str:
    heading = heading.strip().strip('"').strip().casefold()
    return "answers" if heading == "answer" else heading


def _is_ours(heading: str) -> bool:
    return _plain(heading) in (*COLUMNS, "name") or bool(_find_task(heading))


def _names(columns: Sequence[str]) -> str:
    return ", ".join(columns)


def _read_header(path: Path, cells: Sequence[str], written: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the columns; `written` are those of the file, before tasks became rows."""
    columns = tuple(_plain(cell) if _plain(cell) in COLUMNS else cell.strip() for cell in cells)
    found = shorten(_names([f"'{cell.strip()}'" for cell in written]), 300)
    if missing := [name for name in COLUMNS if name not in columns]:
        renamed = [
            f"'{cell.strip()}' to '{_LIKELY[_plain(cell)]}'"
            for cell in written
            if _LIKELY.get(_plain(cell)) in missing
        ]
        raise AugenmerkError(
            f"{path}: no column is called {' or '.join(missing)}; the columns are {found}. Needed are "
            f"{_names(COLUMNS)}, or student and a column for each task, called 1.2 and so on: rename "
            f"{' and '.join(renamed) if renamed else 'the columns'} in the first line of the file."
        )
    for name in COLUMNS:
        if columns.count(name) > 1:
            raise AugenmerkError(f"{path}: there are two columns '{name}': {found}.")
    return columns


def _make_row(line: int, columns: Sequence[str], cells: list[str], delimiter: str | None) -> Row:
    # A delimiter in an answer that is not in quotation marks makes more cells of the answer.
    if delimiter is not None and len(cells) > len(columns) and columns[-1] == "answers":
        last = len(columns) - 1
        cells = [*cells[:last], delimiter.join(cells[last:])]
    problem = ""
    if any(cell.strip() for cell in cells[len(columns) :]) or len(cells) < len(columns):
        problem = f"The row has {len(cells)} cells, and the table {len(columns)} columns."
    padded = (*cells, *[""] * len(columns))[: len(columns)]
    by_name = dict(zip(columns, padded, strict=True))
    student, task, answers = (_ESCAPED.sub("", by_name[name]).strip() for name in COLUMNS)
    if named := _TASK.fullmatch(task):
        task = f"1.{named[1]}"
    return Row(line, student, task, answers, padded, problem if answers or len(cells) > len(columns) else "")


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
    found = {(row.task, row.answers): _Verdict("needs review") for row in sheet.rows}
    # Task by task, since instances of a task are drawn once for all answers to it.
    for number, (task, answers) in enumerate(sorted(found), 1):
        found[task, answers] = _grade(task, answers, samples, seed, scale)
        if on_progress is not None:
            on_progress(number, len(found))
    graded = []
    for row in sheet.rows:
        verdict = _Verdict("needs review", "", row.problem) if row.problem else found[row.task, row.answers]
        graded.append(GradedAnswer(row.line, row.student, row.task, row.answers, *verdict))
    return graded


class _Verdict(NamedTuple):
    verdict: Verdict
    mistake: str = ""
    why: str = ""
    remarks: str = ""


def _grade(task: str, answers: str, samples: int, seed: int, scale: float | None) -> _Verdict:
    if task not in TASKS:
        date = "; a spreadsheet may have made a date of it" if _DATE.search(task) else ""
        why = f"There is no task '{shorten(task)}' to check; there are {', '.join(TASKS)}{date}."
        return _Verdict("needs review", why=why)
    if not answers:
        return _Verdict("empty", why="There is no answer.")
    if answers.startswith("#"):  # for example #NAME?
        return _Verdict(
            "needs review", why="A spreadsheet took the answer for a formula and put an error there."
        )
    try:
        grade = check(task, [answers], samples=samples, seed=seed, scale=scale)
    except AugenmerkError as error:
        return _Verdict("needs review", why=str(error))
    why = grade.why[0].upper() + grade.why[1:] if not grade.why.startswith("c_") else grade.why
    return _Verdict(grade.verdict, grade.mistake, why, " ".join(grade.remarks))


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
    verdicts: dict[Verdict, int]
    mistakes: tuple[MistakeCount, ...]  # the most frequent first


@dataclass(frozen=True)
class ForReview:
    """An answer that the teacher has to read, and the lines where it stands."""

    task: str
    answers: str
    why: str
    lines: tuple[int, ...]
    students: tuple[str, ...]  # one for each line

    @property
    def where(self) -> str:
        """The first of the lines, with the students, in words."""
        places = zip(self.lines[:MAX_EXAMPLES], self.students, strict=False)
        shown = ", ".join(f"{line} ({shorten(name)})" if name else str(line) for line, name in places)
        more = f" and {len(self.lines) - MAX_EXAMPLES} more" if len(self.lines) > MAX_EXAMPLES else ""
        return f"{'line' if len(self.lines) == 1 else 'lines'} {shown}{more}"


class Repeated(NamedTuple):
    """Several answers of one student to one task."""

    student: str
    task: str
    lines: tuple[int, ...]


def find_repeated(graded: Sequence[GradedAnswer]) -> list[Repeated]:
    """Returns which students have several answers to a task that are not empty, in the order of the table."""
    lines: dict[tuple[str, str], list[int]] = {}
    for answer in graded:
        if answer.student and answer.verdict != "empty":
            lines.setdefault((answer.student, answer.task), []).append(answer.line)
    return [Repeated(*who, tuple(where)) for who, where in lines.items() if len(where) > 1]


def keep_last_answers(sheet: AnswerSheet) -> AnswerSheet:
    """Returns the table without the answers that the same student replaced by another one further below."""
    last = {(row.student, row.task): row.line for row in sheet.rows if row.answers}
    kept = [
        row
        for row in sheet.rows
        if not row.student or last.get((row.student, row.task), row.line) == row.line
    ]
    return replace(sheet, rows=tuple(kept))


def collect_for_review(graded: Sequence[GradedAnswer]) -> list[ForReview]:
    """Returns each answer that a person has to read once, task by task, the most frequent first."""
    alike: dict[tuple[str, str, str], list[GradedAnswer]] = {}
    for answer in graded:
        if answer.verdict == "needs review":
            alike.setdefault((answer.task, answer.answers, answer.why), []).append(answer)
    found = [
        ForReview(*what, tuple(one.line for one in same), tuple(one.student for one in same))
        for what, same in alike.items()
    ]
    return sorted(found, key=lambda one: (one.task, -len(one.lines), one.lines))


def summarise(graded: Sequence[GradedAnswer]) -> list[TaskSummary]:
    """Counts verdicts and mistakes for each task that exists."""
    summaries = []
    for task in TASKS:
        own = [answer for answer in graded if answer.task == task]
        if not own:
            continue
        verdicts = Counter(answer.verdict for answer in own)
        mistakes = Counter(answer.mistake for answer in own if answer.mistake)
        summaries.append(
            TaskSummary(
                task,
                len(own),
                {verdict: verdicts[verdict] for verdict in VERDICTS},
                tuple(_count_mistake(name, count, own) for name, count in mistakes.most_common()),
            )
        )
    return summaries


def _count_mistake(name: str, count: int, graded: Sequence[GradedAnswer]) -> MistakeCount:
    examples = Counter(answer.answers for answer in graded if answer.mistake == name).most_common()
    shown = tuple(examples[:MAX_EXAMPLES])
    return MistakeCount(name, MISTAKES[name], count, shown, len(examples) - len(shown))
