"""Words results of the theory lab: yields lines with markup and tables, for the terminal and notebooks."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from augenmerk.base.console import make_table
from augenmerk.base.errors import shorten
from augenmerk.theory.results import VERDICTS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from augenmerk.theory.classroom import AnswerSheet, ForReview, GradedAnswer, TaskSummary
    from augenmerk.theory.exercises import Exercise
    from augenmerk.theory.from_run import StepReport
    from augenmerk.theory.results import Grade, Measurement, Result

WIDTH = 96
MAX_UNREAD = 20  # the most answers to be reviewed that are listed on the terminal
MAX_REPEATED = 10  # the most students with several answers who are listed


def _wrap(text: str, start: str = "", style: str = "dim", indent: int = 0) -> Iterator[str]:
    """Yields the lines of a paragraph; `start`, which stands before the text, gets a style."""
    lines = textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * indent) or [start]
    yield (f"[{style}]{escape(start)}[/]" if start else "") + escape(lines[0].removeprefix(start))
    yield from map(escape, lines[1:])


def show_result(result: "Result") -> "Iterator[RenderableType]":
    """Yields the claim, the construction, each measured number beside its prediction, and the verdict."""
    yield f"[bold]{result.task}  {escape(result.title)}[/]"
    for label, text in (("claim", result.claim), ("construction", result.construction)):
        yield from _wrap(text, f"{label:14}", indent=14)
    yield ""
    rows = (
        [*map(escape, format_measure(each)), "" if each.fits else "[red]does not fit[/]"]
        for each in result.measures
    )
    yield make_table(["", "measured", "predicted", ""], rows)
    yield ""
    for remark in result.remarks:
        yield from _wrap(remark)
    wrong = [measure.name for measure in result.measures if not measure.fits]
    tolerance = ", to within four standard errors" if any(m.error for m in result.measures) else ""
    if wrong:
        yield f"[red]does not hold[/]: not as predicted: {escape('; '.join(wrong))}."
    elif result.refuted:
        text = f", but here the claim does not hold: {result.refuted}."
        yield from _wrap(text, "as predicted", "yellow")
    else:
        yield f"[green]holds[/]: every number is as predicted{tolerance}."


def format_measure(measure: "Measurement") -> tuple[str, str, str]:
    """Returns what was measured, the number with its standard error, and the prediction."""
    measured = format_number(measure.measured)
    if measure.error >= 1e-10:  # from samples that deviate
        measured += f" ± {measure.error:.{4 if abs(measure.measured) < 1000 else 1}f}"
    sign = {"equal": "=", "at most": "≤", "at least": "≥"}[measure.relation]
    return measure.name, measured, f"{sign} {format_number(measure.predicted)}"


def show_grade(grade: "Grade") -> "Iterator[RenderableType]":
    yield f"[bold]{grade.task}  {escape('   '.join(grade.answers))}[/]"
    colour = {"right": "green", "right if": "yellow", "wrong": "red"}[grade.verdict]
    yield from _wrap(f": {grade.why}", VERDICTS[grade.verdict], colour)
    for remark in grade.remarks:
        yield from _wrap(remark)
    if not grade.conditions:
        return
    yield ""
    before, after = (
        [column for column in columns if _is_shown(grade, column)]
        for columns in (("sort", "keys", "dim", "beta", "B"), ("times", "weights", "deviation", "error"))
    )
    rows = [
        [
            *(_format_cell(column, row[column]) for column in before),
            *(_format_cell("letter", value) for value in row["letters"].values()),
            *(_format_cell(column, row[column]) for column in after),
            "holds" if row["holds"] else "fails",
        ]
        for row in grade.conditions
    ]
    letters = map(escape, grade.conditions[0]["letters"])
    yield make_table([*before, *letters, *after, ""], rows, left=0, gap=3)


def _is_shown(grade: "Grade", column: str) -> bool:
    values = [row.get(column) for row in grade.conditions]
    if column in ("sort", "beta", "times"):  # these only where they tell something
        return any(value not in ("orthonormal", 0, 1, None) for value in values)
    # Several rows of weights would be too much for a cell.
    return values[0] is not None and not (column == "weights" and isinstance(values[0][0], list))


def _format_cell(column: str, value: Any) -> str:
    if column == "weights":
        return " ".join(f"{weight:.3f}" for weight in value)
    if column == "sort":
        return str(value)
    if column in ("deviation", "error"):
        return format_number(value)
    return f"{value:.6g}" if value < 1e6 else f"{value:.2g}"


def show_question(exercise: "Exercise", hints: int, unscaled: bool = False) -> Iterator[str]:
    """Yields the question, the names that an answer may use, and the first of its hints."""
    yield f"[bold]{exercise.task}  {escape(exercise.title)}[/]"
    for paragraph in exercise.text.split("\n"):
        yield from _wrap(paragraph)
    for letter, statement in zip("ABCDEFGH", exercise.statements, strict=False):
        yield from _wrap(statement, f"{letter}  ", "bold", 3)
    if exercise.names:
        yield ""
        wide = max(map(len, exercise.names)) + 2
        for name, meaning in exercise.names.items():
            yield from _wrap(meaning, f"{name:{wide}}", "bold", wide)
    yield ""
    for number, hint in enumerate(exercise.hints[:hints], 1):
        yield from _wrap(f": {hint}", f"hint {number}", "yellow")
    left, flag = len(exercise.hints) - hints, " --unscaled" if unscaled else ""
    if left > 0:
        what = f"{left} {'more ' if hints else ''}{'hint' if left == 1 else 'hints'}"
        more = f" {hints + 1}" if hints else ""
        yield f"[dim]{what}: augenmerk theory {exercise.task}{flag} --hint{more}[/]"
    if exercise.answer:
        answer = f"--query '{exercise.answer.prompt}'"
        yield f"[dim]your answer: augenmerk theory check {exercise.task}{flag} {answer}[/]"


def show_class(
    graded: "Sequence[GradedAnswer]", summaries: "Sequence[TaskSummary]", unread: "Sequence[ForReview]"
) -> "Iterator[RenderableType]":
    """Yields what a teacher wants to know first: how many are right, which mistakes, and what to read."""
    from augenmerk.theory.classroom import VERDICTS

    verdicts = Counter(answer.verdict for answer in graded)
    students = len({answer.student for answer in graded})
    counts = ", ".join(
        f"{count:,} {'need review' if verdict == 'needs review' and count > 1 else verdict}"
        for verdict, count in verdicts.most_common()
    )
    yield f"[bold]{_count(len(graded), 'answer')} of {_count(students, 'student')}: {counts}[/]"
    yield ""
    table = [[task.task, *(f"{count:,}" for count in task.verdicts.values())] for task in summaries]
    yield make_table(["task", *VERDICTS], table, gap=3)
    mistakes = []
    for summary in summaries:
        for each in summary.mistakes:
            example = shorten(" ".join(each.examples[0][0].split()), 50)
            mistakes.append([summary.task, f"{each.count:,} x", each.name, escape(example)])
    if mistakes:
        yield ""
        yield make_table(["task", "times", "mistake", "for example"], mistakes, left=4)
    if unread:
        yield ""
        yield "[bold]To be read by you[/]"
    for one in unread[:MAX_UNREAD]:
        yield from _wrap(f"{one.where}, {shorten(one.task) or 'no task'}: {shorten(one.why, 300)}", indent=2)
    if len(unread) > MAX_UNREAD:
        yield f"and {len(unread) - MAX_UNREAD:,} more: --out and --page have them all"


def note_table(
    sheet: "AnswerSheet", graded: "Sequence[GradedAnswer]", left_out: int | None, *, written: bool
) -> Iterator[str]:
    """Yields what a teacher should know about how the table was read and written."""
    from augenmerk.theory.classroom import find_repeated, name_grade_columns

    named = (("Columns of tasks", sheet.task_columns), ("Not graded", sheet.other_columns))
    for what, columns in named if sheet.task_columns else ():
        if columns:
            yield from _wrap(f"{what}: {'; '.join(repr(shorten(each, 40)) for each in columns)}.", indent=2)
    if left_out is not None:
        yield f"Replaced by a later answer, and left out: {left_out:,}."
    if written and "verdict" not in (names := name_grade_columns(sheet)):
        yield f"The table has columns of these names already: ours are {', '.join(names)}."
    if repeated := find_repeated(graded):
        several = _count(len(repeated), "time")
        counted = "each of them is counted (--keep last counts one)"
        yield f"[yellow]A student has more than one answer to a task {several}; {counted}:[/]"
    for (student, task), lines in list(repeated.items())[:MAX_REPEATED]:
        where = ", ".join(map(str, lines))
        yield from _wrap(f"{shorten(student)}, {shorten(task) or 'no task'}: lines {where}", indent=2)
    if len(repeated) > MAX_REPEATED:
        yield f"and {len(repeated) - MAX_REPEATED:,} more"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def show_step(report: "StepReport", found: Any, step: int, where: str) -> "Iterator[RenderableType]":
    """Yields the keys of a step that `augenmerk.analysis.probe` found.

    `where` is the layer and head it was read from, if there are several.
    """
    yield f"[bold]{escape(found.translation.text)}[/]"
    if where:
        yield f"[dim]how the decoder looks at the source in {where}[/]"
    # In brackets, which can be seen without colours.
    before, after = " ".join([*found.target[: step - 1], ""]), " ".join(["", *found.target[step:]])
    shown = f"[reverse]{escape(f'[{found.target[step - 1]}]')}[/]"
    yield f"[dim]{escape(before)}[/]{shown}[dim]{escape(after)}[/]"
    yield ""
    headings = ["", "|k|", "angle", "logit", "weight", "copy", "margin", "length needed", "with noise"]
    rows = []
    for token, key in zip(found.source, report.keys, strict=True):
        can, needed = "no", f"{key.ceiling:.2f} at most"
        if key.copyable:
            can, needed = "yes", f"{key.query_needed / report.query_norm:.1f} |q|"
        numbers = f"{key.norm:.2f}", f"{key.angle:.1f}°", f"{key.logit:.2f}", f"{key.weight:.3f}"
        noisy = f"{key.noisy_low:.2f} to {key.noisy_high:.2f}"
        rows.append([escape(token), *numbers, can, f"{key.margin:.3f}", needed, noisy])
    yield make_table(headings, rows)
    yield ""
    count = sum(key.copyable for key in report.keys)
    yield from _wrap(
        f"{count} of {len(report.keys)} values could be copied by some query. This one has length "
        f"{report.query_norm:.2f}; its logits spread over {report.logit_spread:.2f}, the largest is "
        f"{report.logit_margin:.2f} above the next, and the entropy of the weights is {report.evenness:.2f} "
        f"of the largest possible. Two keys have a cosine of {report.key_cosine:.2f} on average. If the "
        f"length of each key were noisy, N(1, {report.beta:g}), another token would be attended to most in "
        f"{report.changes:.0%} of the cases. Length needed: of the best query, to leave {report.eps:.0%} "
        "elsewhere."
    )


def format_number(value: float) -> str:
    """Formats a number with four decimals; a number that is only rounding is 0."""
    if abs(value) < 1e-8:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"
