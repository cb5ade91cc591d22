"""Finds the columns of a class's table: as we write it, or as Moodle, Canvas and Google Forms export it.

    we               student, task, answers
    Google Forms     Timestamp, Email Address, 1.2 Averaging two values, 1.2 Averaging two values [Score], ...
    Canvas           name, id, ..., 4711: 1.2 Averaging two values, 1.0, ..., n correct, n incorrect, score
    Moodle           Last name, First name, Email address, State, ..., Question 1, Response 1, ...

The number of a task is looked for in the heading, or in Moodle's column of the question. English and German
headings are known; the options --student-column and --column name any other.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.exercises import GRADED

COLUMNS = ("student", "task", "answers")
STUDENTS = (
    *(("student",), ("name",), ("full name",), ("vollständiger name",), ("first name", "last name")),
    *(("first name", "surname"), ("vorname", "nachname"), ("username",), ("anmeldename",), ("nutzername",)),
    *(("email address",), ("e-mail-adresse",), ("email",), ("e-mail",)),
)
"""Headings of columns that have the students, the best first; of two the cells are joined."""
_OURS = {
    **dict.fromkeys(("answer", "antwort", "antworten", "response"), "answers"),
    **dict.fromkeys(("question", "frage", "aufgabe", "exercise"), "task"),
}
_WORD = r"(?:task|question|exercise|aufgabe|frage)?\s*"
_TASK = re.compile(rf"{_WORD}1\s*[.,]\s*([1-7])", re.IGNORECASE)
_TASK_FIRST = re.compile(rf"\s*{_WORD}1\s*[.,]\s*([1-7])(?!\s*[.,]?\d| *(?:and|und|&|,))", re.IGNORECASE)
_TASK_ANYWHERE = re.compile(r"(?<![\d.,])1\s*[.,]\s*([1-7])(?!\s*[.,]?\d)")
_CANVAS = re.compile(r"\s*\d{2,}\s*:\s*")
_OF_GOOGLE = re.compile(r"\s*\[[^\]]*\]\s*$")  # the score or the feedback of a question
_MOODLE = re.compile(r"(?:response|antwort)\s+(\d+)")
_OF_MOODLE = ("question {}", "frage {}")


def choose_columns(texts: Iterable[str]) -> dict[str, str]:
    """Reads `1.2=Response 2`; returns the heading of each task that is named."""
    chosen = {}
    for text in texts:
        task, _, heading = (part.strip() for part in text.partition("="))
        if task not in GRADED or not heading:
            raise AugenmerkError(
                f"--column {shorten(text)}: write a task and a heading, such as '1.2=Response 2'; the "
                f"tasks are {', '.join(GRADED)}."
            )
        chosen[task] = heading
    return chosen


def plain(heading: str) -> str:
    """Returns a heading as it is compared, with our names for ours."""
    heading = heading.strip().strip('"').strip().casefold()
    return _OURS.get(heading, heading)


def is_known(heading: str) -> bool:
    """Returns whether a table is likely to have this heading, so that its delimiter is found."""
    return plain(heading) in {*COLUMNS, *sum(STUDENTS, ())} or bool(find_task(heading))


def quote(headings: Sequence[str]) -> str:
    return shorten(", ".join(f"'{heading.strip()}'" for heading in headings), 300)


def find_task(text: str) -> str:
    """Returns the task that a text begins with, or the only one that is named in it; otherwise nothing.

    Of a task with variants the words of one may stand beside it, as in `1.3 (observation)`.
    """
    text = _CANVAS.sub("", text, count=1)
    first, found = _TASK_FIRST.match(text), _TASK_ANYWHERE.findall(text)
    if not first and len(found) != 1:
        return ""
    task = f"1.{first[1] if first else found[0]}"
    variants = (name for name in GRADED if name.startswith(f"{task}-"))
    beside = _words(text[(first or _TASK_ANYWHERE.search(text)).end() :])  # type: ignore[union-attr]
    return next((name for name in variants if beside.startswith(name[4:].replace("-", " "))), task)


def _words(text: str) -> str:
    return " ".join(re.findall(r"[\w.]+", text.casefold()))


def name_task(text: str) -> str:
    """Returns the task that a cell names, or the text if it names none."""
    found = find_task(text)
    return found if _TASK.fullmatch(text.strip()) or (found and "-" in found) else text


def find_students(path: Path, headings: Sequence[str], column: str | None) -> tuple[int, ...]:
    """Returns the columns that have the students, by default the first that are known to."""
    names = list(map(plain, headings))
    if column is not None and plain(column) not in names:
        raise AugenmerkError(f"{path}: no column is called '{column}'; the columns are {quote(headings)}.")
    wanted = [(plain(column),)] if column is not None else STUDENTS
    group = next((group for group in wanted if set(group) <= set(names)), ())
    return tuple(i for name in group for i, other in enumerate(names) if other == name)


def find_task_columns(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[str]], chosen: Mapping[str, str]
) -> dict[int, str]:
    """Returns the tasks of the columns that have the answers to one; `chosen` names some, by heading."""
    names, found = list(map(plain, headings)), dict[int, str]()
    for task, heading in chosen.items():
        if plain(heading) not in names:
            raise AugenmerkError(
                f"{path}: --column {task}={heading}: no such column; the columns are {quote(headings)}."
            )
        found[names.index(plain(heading))] = task
    named = {i: _find_task_of(i, headings, rows) for i in range(len(headings)) if i not in found}
    of_canvas = [i for i in named if _CANVAS.match(headings[i])]  # beside them are columns of points: 1.5
    for task in sorted({*named.values()} - {"", *found.values()}):
        columns = [i for i in of_canvas or named if named[i] == task]
        # A column "1.2" beside "points for 1.2" is the one.
        columns = [i for i in columns if _TASK.fullmatch(headings[i].strip())] or columns
        if len(columns) > 1:
            both = quote([headings[i] for i in columns])
            raise AugenmerkError(
                f"{path}: two columns are for task {task}, {both}; rename one of them, or choose one: "
                f"--column '{task}={headings[columns[0]].strip()}'."
            )
        found |= dict.fromkeys(columns, task)
    return dict(sorted(found.items()))


def _find_task_of(number: int, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heading = headings[number]
    if (score := _OF_GOOGLE.search(heading)) and heading[: score.start()].strip() in map(str.strip, headings):
        return ""
    if not (response := _MOODLE.fullmatch(plain(heading))):
        return find_task(heading)
    for beside in (form.format(response[1]) for form in _OF_MOODLE):
        for i, other in enumerate(headings):
            if other.strip().casefold() == beside:
                tasks = {find_task(row[i]) for row in rows if i < len(row)} - {""}
                return tasks.pop() if len(tasks) == 1 else ""
    return ""


def explain_columns(path: Path, headings: Sequence[str], has_students: bool, has_answers: bool) -> str:
    """Returns what a table lacks, and the options that say where it is."""
    lacks = [] if has_students else ["one with the students (--student-column HEADING)"]
    response = next((h.strip() for h in headings if _MOODLE.fullmatch(plain(h))), "HEADING")
    if not has_answers:
        lacks.append(f"one for each task, such as 1.2 (--column '1.2={response}')")
    missing = " and ".join(lacks) or "each of these once"
    return (
        f"{path}: the columns are {quote(headings)}. Needed are {', '.join(COLUMNS)}, or student and a "
        f"column for each task; missing is {missing}."
    )
