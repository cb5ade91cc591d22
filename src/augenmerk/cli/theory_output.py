"""Writes results of the theory lab as lines of text, which are the same on every terminal."""

import csv
import io
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from augenmerk.base.errors import shorten

if TYPE_CHECKING:
    from augenmerk.theory.classroom import AnswerSheet, ForReview, GradedAnswer, Repeated, TaskSummary
    from augenmerk.theory.from_run import StepReport
    from augenmerk.theory.questions import Question
    from augenmerk.theory.results import Grade, Measurement, Result

WIDTH = 96
MAX_UNREAD = 20  # the most answers to be reviewed that are listed on the terminal
MAX_REPEATED = 10  # the most students of whom it is said that they answered twice
OWN_COLUMNS = ("verdict", "mistake", "why", "remarks")
"""What grades add to the table of a class."""


def result_lines(result: "Result") -> Iterator[str]:
    yield f"[bold]{result.task}  {escape(result.title)}[/]"
    yield from _labelled("claim", result.claim)
    yield from _labelled("construction", result.construction)
    yield ""
    yield f"[dim]{'':46}{'measured':>18}    predicted[/]"
    for measure in result.measures:
        mark = "  within its error" if measure.only_within_its_error else ""
        mark = mark if measure.fits else "  [red]does not fit[/]"
        sign = {"equal": "=", "at most": "≤", "at least": "≥"}[measure.relation]
        predicted = f"{sign} {_number(measure.predicted)}{mark}"
        yield f"{escape(measure.name):46}{_measured(measure):>18}  {predicted}"
    yield ""
    for remark in result.remarks:
        yield from map(escape, textwrap.wrap(remark, WIDTH))
    wrong = [measure.name for measure in result.measures if not measure.fits]
    tolerance = ", to within four standard errors" if any(m.error for m in result.measures) else ""
    if wrong:
        yield f"[red]does not hold[/]: not as predicted: {escape('; '.join(wrong))}."
    elif result.refuted:
        start = "as predicted, but here the claim does not hold: "
        first, *rest = textwrap.wrap(start + result.refuted + ".", WIDTH)
        yield f"[yellow]as predicted[/]{escape(first.removeprefix('as predicted'))}"
        yield from map(escape, rest)
    else:
        yield f"[green]holds[/]: every number is as predicted{tolerance}."


def grade_lines(grade: "Grade") -> Iterator[str]:
    yield f"[bold]{grade.task}  {escape('   '.join(grade.answers))}[/]"
    colour, verdict = {
        "right": ("green", "holds"),
        "right if": ("yellow", "holds in part"),
        "wrong": ("red", "fails"),
    }[grade.verdict]
    first, *rest = textwrap.wrap(f"{verdict}: {grade.why}", WIDTH)
    yield f"[{colour}]{verdict}[/]{escape(first.removeprefix(verdict))}"
    yield from map(escape, rest)
    for remark in grade.remarks:
        yield from (f"[dim]{escape(line)}[/]" for line in textwrap.wrap(remark, WIDTH))
    if not grade.conditions:
        return
    yield ""
    letters = list(grade.conditions[0]["letters"])
    before = [key for key in ("sort", "keys", "dim", "beta", "B") if _is_shown(grade, key)]
    after = [key for key in ("times", "weights", "deviation", "error") if _is_shown(grade, key)]
    widths = [{"weights": 14, "sort": 13}.get(key, 10) for key in (*before, *letters, *after)]
    headings = [f"{key:>{width}}" for key, width in zip((*before, *letters, *after), widths, strict=True)]
    yield f"[dim]{escape(''.join(headings))}[/]"
    for row in grade.conditions:
        cells = [_cell(key, row[key]) for key in before]
        cells += [_cell("", row["letters"][letter]) for letter in letters]
        cells += [_cell(key, row[key]) for key in after]
        line = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"{line}   {'holds' if row['holds'] else 'fails'}"


def question_lines(question: "Question", hints: int, unscaled: bool = False) -> Iterator[str]:
    """Yields the question, the names that an answer may use, and the first of its hints."""
    yield f"[bold]{question.task}  {escape(question.title)}[/]"
    for paragraph in question.text.split("\n"):
        yield from map(escape, textwrap.wrap(paragraph, WIDTH))
    if question.names:
        yield ""
        wide = max(map(len, question.names)) + 2
        for name, meaning in question.names.items():
            first, *rest = textwrap.wrap(meaning, WIDTH - wide)
            yield f"{escape(f'{name:{wide}}')}[dim]{escape(first)}[/]"
            yield from (f"{'':{wide}}[dim]{escape(line)}[/]" for line in rest)
    yield ""
    for number, hint in enumerate(question.hints[:hints], 1):
        first, *rest = textwrap.wrap(f"hint {number}: {hint}", WIDTH)
        yield f"[yellow]hint {number}[/]{escape(first.removeprefix(f'hint {number}'))}"
        yield from map(escape, rest)
    left, flag = len(question.hints) - hints, " --unscaled" if unscaled else ""
    if left > 0:
        what = f"{left} {'more ' if hints else ''}{'hint' if left == 1 else 'hints'}"
        more = f" {hints + 1}" if hints else ""
        yield f"[dim]{what}: augenmerk theory {question.task}{flag} --hint{more}[/]"
    if question.answer:
        answer = f"--query '{question.answer}'"
        yield f"[dim]your answer: augenmerk theory check {question.task}{flag} {answer}[/]"


def format_questions(questions: "Sequence[Question]") -> str:
    """Formats questions, without hints, as a Markdown document."""
    lines = ["# What attention can and cannot compute: the questions", ""]
    for question in questions:
        *formulas, text = question.text.split("\n")
        lines += [f"## {question.task}: {question.title}", ""]
        lines += [part for formula in formulas for part in (f"    {formula}", "")]
        lines += [*textwrap.wrap(text, WIDTH), ""]
        if question.names:
            lines += ["| name | what it stands for |", "|---|---|"]
            lines += [f"| {name} | {meaning} |" for name, meaning in question.names.items()]
            lines += ["", f"Answer: {question.answer}", ""]
    return "\n".join(lines)


def class_lines(
    graded: "Sequence[GradedAnswer]", summaries: "Sequence[TaskSummary]", unread: "Sequence[ForReview]"
) -> Iterator[str]:
    """Yields what a teacher wants to know first: how many are right, which mistakes, and what to read."""
    from augenmerk.theory.classroom import VERDICTS

    verdicts = Counter(answer.verdict for answer in graded)
    students = len({answer.student for answer in graded})
    named = {"needs review": "need review"}  # for more than one
    counts = ", ".join(
        f"{count:,} {named.get(verdict, verdict) if count > 1 else verdict}"
        for verdict, count in verdicts.most_common()
    )
    yield f"[bold]{_count(len(graded), 'answer')} of {_count(students, 'student')}: {counts}[/]"
    yield ""
    yield f"[dim]{'task':5}{''.join(f'{verdict:>{len(verdict) + 3}}' for verdict in VERDICTS)}[/]"
    for task in summaries:
        cells = (f"{count:{len(verdict) + 3},}" for verdict, count in task.verdicts.items())
        yield f"{task.task:5}{''.join(cells)}"
    for task in summaries:
        for number, mistake in enumerate(task.mistakes):
            if not number:
                yield ""
            label = f"{task.task if not number else '':6}{mistake.count:4,} x {mistake.name:24}"
            room = max(10, min(50, _get_width() - len(label)))
            example = shorten(" ".join(mistake.examples[0][0].split()), room)
            yield f"{escape(label)}[dim]{escape(example)}[/]"
    if unread:
        yield ""
        yield "[bold]To be read by you[/]"
    for one in unread[:MAX_UNREAD]:
        text = f"{one.where}, {shorten(one.task) or 'no task'}: {shorten(one.why, 300)}"
        yield from map(escape, textwrap.wrap(text, _get_width(), subsequent_indent="  "))
    if len(unread) > MAX_UNREAD:
        yield f"and {len(unread) - MAX_UNREAD:,} more: --out and --page have them all"


def column_lines(sheet: "AnswerSheet") -> Iterator[str]:
    """Yields which columns were taken for tasks and which were not, if a table has a column for each task."""
    if not sheet.task_columns:
        return
    named = [
        "; ".join(f"'{shorten(each, 40)}'" for each in c) for c in (sheet.task_columns, sheet.other_columns)
    ]
    yield from map(
        escape, textwrap.wrap(f"Columns of tasks: {named[0]}.", _get_width(), subsequent_indent="  ")
    )
    if sheet.other_columns:
        yield from map(
            escape, textwrap.wrap(f"Not graded: {named[1]}.", _get_width(), subsequent_indent="  ")
        )


def repeated_lines(repeated: "Sequence[Repeated]") -> Iterator[str]:
    """Yields a warning if students have several answers to a task, all of which are graded and counted."""
    if not repeated:
        return
    several = _count(len(repeated), "time")
    counted = "each of them is counted (--keep last counts one)"
    yield f"[yellow]A student has more than one answer to a task {several}; {counted}:[/]"
    for one in repeated[:MAX_REPEATED]:
        lines = ", ".join(map(str, one.lines))
        text = f"{shorten(one.student)}, {shorten(one.task) or 'no task'}: lines {lines}"
        yield from map(escape, textwrap.wrap(text, _get_width(), subsequent_indent="  "))
    if len(repeated) > MAX_REPEATED:
        yield f"and {len(repeated) - MAX_REPEATED:,} more"


def _get_width() -> int:
    """Returns how wide text for a teacher is: as on paper, but no wider than the terminal."""
    from augenmerk.cli.terminal import out

    return min(WIDTH, max(20, out().width)) if out().is_terminal else WIDTH


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def name_own_columns(sheet: "AnswerSheet") -> dict[str, str]:
    """Returns the headings under which grades are written: with a number behind them if a table has them."""
    taken, number = {column.casefold() for column in sheet.columns}, 1
    names = {column: column for column in OWN_COLUMNS}
    while taken & set(names.values()):
        number += 1
        names = {column: f"{column}_{number}" for column in OWN_COLUMNS}
    return names


def format_grades(sheet: "AnswerSheet", graded: "Sequence[GradedAnswer]") -> bytes:
    """Formats the table of a class with what was found, as CSV of the kind that was read."""
    from augenmerk.study.report.tables import escape_csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter=sheet.delimiter, lineterminator="\n")
    writer.writerow([*map(escape_csv, sheet.columns), *name_own_columns(sheet).values()])
    for row, answer in zip(sheet.rows, graded, strict=True):
        found = [getattr(answer, column) for column in OWN_COLUMNS]
        writer.writerow([escape_csv(cell) for cell in (*row.cells, *found)])
    return text.getvalue().encode("utf-8-sig" if sheet.byte_order_mark else "utf-8")


def _cell(key: str, value: Any) -> str:
    if key == "weights":
        return " ".join(f"{weight:.3f}" for weight in value)
    if key == "sort":
        return str(value)
    if key in ("deviation", "error"):
        return _number(value)
    return f"{value:.6g}" if value < 1e6 else f"{value:.2g}"  # which fits the column


def step_lines(
    report: "StepReport", source: Sequence[str], target: Sequence[str], step: int, translation: str
) -> Iterator[str]:
    yield f"[bold]{escape(translation)}[/]"
    # In brackets, which can be seen without colours.
    before, after = " ".join([*target[: step - 1], ""]), " ".join(["", *target[step:]])
    shown = f"[reverse]{escape(f'[{target[step - 1]}]')}[/]"
    yield f"[dim]{escape(before)}[/]{shown}[dim]{escape(after)}[/]"
    yield ""
    wide = max(6, *map(len, source))
    yield f"[dim]{'':{wide}}    |k|   angle   logit  weight   copy  margin  length needed   with noise[/]"
    for token, key in zip(source, report.keys, strict=True):
        needed = f"   {key.ceiling:.2f} at most"
        if key.copyable:
            needed = f"{key.query_needed / report.query_norm:10.1f} |q|"
        yield (
            f"{escape(f'{token:{wide}}')}  {key.norm:5.2f}  {key.angle:5.1f}°  {key.logit:6.2f}   "
            f"{key.weight:5.3f}   {'yes' if key.copyable else 'no':>4}  {key.margin:6.3f}  {needed}  "
            f"{key.noisy_low:.2f} to {key.noisy_high:.2f}"
        )
    yield ""
    count = sum(key.copyable for key in report.keys)
    summary = (
        f"{count} of {len(report.keys)} values could be copied by some query. This one has length "
        f"{report.query_norm:.2f}; its logits spread over {report.logit_spread:.2f}, the largest is "
        f"{report.logit_margin:.2f} above the next, and the entropy of the weights is {report.evenness:.2f} "
        f"of the largest possible. Two keys have a cosine of {report.key_cosine:.2f} on average. If the "
        f"length of each key were noisy, N(1, {report.beta:g}), another token would be attended to most in "
        f"{report.changes:.0%} of the cases. Length needed: of the best query, to leave {report.eps:.0%} "
        "elsewhere."
    )
    yield from map(escape, textwrap.wrap(summary, WIDTH))


def _is_shown(grade: "Grade", key: str) -> bool:
    if key == "beta":
        return any(row.get("beta") for row in grade.conditions)
    if key == "sort":
        return grade.task == "1.1"
    if key == "times":
        return any(row.get("times", 1) != 1 for row in grade.conditions)
    if key == "weights" and grade.task == "1.7":  # two rows of three each: too much for a column
        return False
    return all(key in row for row in grade.conditions)


def _labelled(label: str, text: str) -> Iterator[str]:
    for number, line in enumerate(textwrap.wrap(text, WIDTH - 14)):
        yield f"[dim]{label if number == 0 else '':14}[/]{escape(line)}"


def _measured(measure: "Measurement") -> str:
    if measure.error < 1e-10:  # not from samples, or from samples that do not deviate
        return _number(measure.measured)
    return f"{_number(measure.measured)} ± {measure.error:.{4 if abs(measure.measured) < 1000 else 1}f}"


def _number(value: float) -> str:
    """Writes a number with four decimals; a number that is only rounding is 0."""
    if abs(value) < 1e-8:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"
