"""The theory lab as people ask for it: an experiment, and the answers of a class graded."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.progress import MofNCompleteColumn

from augenmerk.base.console import show_progress
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import atomic_write, check_folders
from augenmerk.base.frames import Rows
from augenmerk.drawing.html import render_template
from augenmerk.theory import classroom, wording
from augenmerk.theory.columns import choose_columns
from augenmerk.theory.exercises import EXERCISES, choose_variants, find_exercise
from augenmerk.theory.results import Result, Setup


def run(task: str, **settings: Any) -> Result:
    """Runs the experiment of a task, with the options of its command as keywords, such as keys=8."""
    exercise = find_exercise(task)
    for name in settings:
        if name not in exercise.options:
            known = ", ".join(exercise.options)
            raise AugenmerkError(f"Task {task} has no setting '{shorten(name)}'; its settings are {known}.")
    usual = {name: None if value == "auto" else value for name, value in exercise.options.items()}
    given = {**usual, **settings}
    c = given.pop("length" if "length" in given else "scale", None)
    return exercise.run(Setup(**given, c=c))


class Grades(Rows):
    """The graded answers of a class, one dict each."""

    def __init__(self, graded: Sequence[classroom.GradedAnswer], notes: Sequence[str]) -> None:
        super().__init__(answer.to_dict() for answer in graded)
        self._graded = graded
        self.notes = notes
        """What a teacher should know about how the table was read and written, as lines with markup."""

    def show(self) -> Iterable[RenderableType]:
        summaries, unread = classroom.summarise(self._graded), classroom.collect_for_review(self._graded)
        return wording.show_class(self._graded, summaries, unread)


def grade(
    answers: str | Path,
    *,
    out: str | Path | None = None,
    page: str | Path | None = None,
    keep: str = "all",
    student_column: str | None = None,
    columns: Iterable[str] = (),
    variants: Iterable[str] = (),
    samples: int = 100,
    seed: int = 1,
    scale: float | None = None,
    on_written: Callable[[Path], None] = lambda _path: None,
) -> Grades:
    """Grades the answers of a class in a CSV file, and writes the grades and a page of the mistakes.

    Takes what `augenmerk theory grade` takes; `scale` is as in `attend`. Calls `on_written` with each file.
    `columns` are such as `1.2=Response 2`, and `variants` such as `1.3=observation`.
    """
    if keep not in ("all", "last"):
        raise AugenmerkError(f"--keep {keep}: expected all or last.")
    sheet_path, files = Path(answers), check_folders(out, page)
    for path in files:
        if path is not None and path.exists() and path.samefile(sheet_path):
            raise AugenmerkError(f"{path} has the answers; give the grades another name.")
    chosen = choose_variants(variants)
    every = classroom.read_answer_sheet(sheet_path, student_column, choose_columns(columns), chosen)
    sheet = classroom.keep_last_answers(every) if keep == "last" else every
    with show_progress(MofNCompleteColumn()) as show:
        graded = classroom.grade_sheet(
            sheet,
            samples=samples,
            seed=seed,
            scale=scale,
            on_progress=lambda done, total: show("answers", done, total),
        )
    table, mistakes = files
    if table is not None:
        atomic_write(table, [classroom.format_grades(sheet, graded)])
        on_written(table)
    if mistakes is not None:
        context = {"graded": graded, "tasks": classroom.summarise(graded), "questions": EXERCISES}
        context |= {"unread": classroom.collect_for_review(graded), "title": "Which mistakes were made"}
        atomic_write(mistakes, [render_template("grades.html", context).encode()])
        on_written(mistakes)
    left_out = len(every.rows) - len(sheet.rows) if keep == "last" else None
    return Grades(graded, list(wording.note_table(sheet, graded, left_out, written=table is not None)))
