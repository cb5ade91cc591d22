"""One sheet for both halves of a homework, theory and code, and the key to it."""

import textwrap
from collections.abc import Iterable
from pathlib import Path

from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.sheet import SheetQuestion, check_language, write_sheets
from augenmerk.lab.exercises import EXERCISES, Exercise, find_exercise
from augenmerk.lab.naming import read_reference
from augenmerk.theory.exercises import choose_tasks, choose_variants, make_question


def write_homework(
    out: str | Path | None = None,
    key: str | Path | None = None,
    *,
    tasks: str = "",
    variants: Iterable[str] = (),
    exercises: Iterable[str] = (),
    language: str = "en",
) -> list[Path]:
    """Writes the tasks of the theory, such as `1.1-1.4`, and exercises in code, by default all, to a sheet.

    `key` gets the same with right answers and typical mistakes. Returns the paths.
    """
    check_language(language)
    if out is None and key is None:
        raise AugenmerkError("Name a file for the sheet, --out sheet.html, or for its key, --key key.html.")
    theory = choose_tasks(tasks, choose_variants(variants)) if tasks else []
    chosen = {find_exercise(name).name for name in exercises} or {*EXERCISES}
    code = [_make_question(each, language) for each in EXERCISES.values() if each.name in chosen]
    parts = {"theory": [make_question(each, language) for each in theory], "code": code}
    write_sheets({part: own for part, own in parts.items() if own}, language, out, key)
    return [Path(path) for path in (out, key) if path is not None]


def _make_question(exercise: Exercise, language: str) -> SheetQuestion:
    text = exercise.texts[language]
    question, _, equations = text.question.partition("\n\n")
    says = {each.id: each.says for each in reversed(exercise.mistakes) if not each.accepted}
    return SheetQuestion(
        f"{exercise.number}.",
        text.title,
        " ".join(question.split()),
        equations=textwrap.dedent(equations),
        code=exercise.make_skeleton(language),
        points=exercise.points,
        solution=read_reference(exercise.name).partition("\n\n\n")[2].strip(),  # without its imports,
        mistakes={says: name for name, says in reversed(says.items())},  # one sentence for each name
    )
