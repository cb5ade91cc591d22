"""What the theory lab found, as lines of text: the same on every terminal, since documents quote them."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

if TYPE_CHECKING:
    from augenmerk.theory.findings import Finding, Measure
    from augenmerk.theory.grading import Grade
    from augenmerk.theory.real import StepView

WIDTH = 96


def finding_lines(finding: "Finding") -> Iterator[str]:
    yield f"[bold]{finding.task}  {escape(finding.title)}[/]"
    yield from _labelled("claim", finding.claim)
    yield from _labelled("construction", finding.construction)
    yield ""
    yield f"[dim]{'':46}{'measured':>18}    predicted[/]"
    for measure in finding.measures:
        mark = "" if measure.fits else "  [red]does not fit[/]"
        if measure.only_within_its_error:
            mark = "  within its error"
        yield f"{escape(measure.name):46}{_measured(measure):>18}  {_predicted(measure)}{mark}"
    yield ""
    for remark in finding.remarks:
        yield from map(escape, textwrap.wrap(remark, WIDTH))
    wrong = [measure.name for measure in finding.measures if not measure.fits]
    chance = ", to within four standard errors" if any(m.error for m in finding.measures) else ""
    if wrong:
        yield f"[red]does not hold[/]: not as predicted: {escape('; '.join(wrong))}."
    elif finding.refuted:
        start = "as predicted, but here the claim does not hold: "
        first, *rest = textwrap.wrap(start + finding.refuted + ".", WIDTH)
        yield f"[yellow]as predicted[/]{escape(first.removeprefix('as predicted'))}"
        yield from map(escape, rest)
    else:
        yield f"[green]holds[/]: every number is as predicted{chance}."


def grade_lines(grade: "Grade") -> Iterator[str]:
    yield f"[bold]{grade.task}  {escape('   '.join(grade.answers))}[/]"
    verdict = "[green]holds[/]: " if grade.holds else "[red]fails[/]: "
    first, *rest = textwrap.wrap(grade.why, WIDTH, initial_indent=" " * 7)
    yield verdict + escape(first[7:])
    yield from map(escape, rest)
    yield ""
    columns = [
        key
        for key in ("sort", "keys", "dim", "beta", "B", "c", "weights", "deviation", "error")
        if _shown(grade, key)
    ]
    wide = {"weights": 14, "sort": 13}
    yield "[dim]" + "".join(f"{key:>{wide.get(key, 10)}}" for key in columns) + "[/]"
    for row in grade.conditions:
        cells = []
        for key in columns:
            value = row[key]
            if key == "weights":
                cells.append(f"{' '.join(f'{weight:.3f}' for weight in value):>14}")
            elif key == "sort":
                cells.append(f"{value:>13}")
            elif key in ("deviation", "error"):
                cells.append(f"{_number(value):>10}")
            else:
                cells.append(f"{value:>10.6g}")
        verdict = "holds" if row["holds"] else "fails"
        yield "".join(cells) + f"   {verdict}"


def step_lines(
    view: "StepView", source: Sequence[str], target: Sequence[str], step: int, translation: str
) -> Iterator[str]:
    yield f"[bold]{escape(translation)}[/]"
    # In brackets, which are there without colours, too.
    before, after = " ".join([*target[: step - 1], ""]), " ".join(["", *target[step:]])
    shown = f"[reverse]{escape(f'[{target[step - 1]}]')}[/]"
    yield f"[dim]{escape(before)}[/]{shown}[dim]{escape(after)}[/]"
    yield ""
    wide = max(6, *map(len, source))
    yield f"[dim]{'':{wide}}    |k|   angle   logit  weight   copy  margin  length needed   with noise[/]"
    for token, key in zip(source, view.keys, strict=True):
        needed = (
            f"{key.query_needed / view.query_norm:10.1f} |q|"
            if key.copyable
            else f"   {key.ceiling:.2f} at most"
        )
        yield (
            f"{escape(f'{token:{wide}}')}  {key.norm:5.2f}  {key.angle:5.1f}°  {key.logit:6.2f}   "
            f"{key.weight:5.3f}   {'yes' if key.copyable else 'no':>4}  {key.margin:6.3f}  {needed}  "
            f"{key.noisy_low:.2f} to {key.noisy_high:.2f}"
        )
    yield ""
    count = sum(key.copyable for key in view.keys)
    for line in textwrap.wrap(
        f"{count} of {len(view.keys)} values could be copied by some query. This one has length "
        f"{view.query_norm:.2f}; its logits spread over {view.logit_spread:.2f}, the largest is "
        f"{view.logit_margin:.2f} above the next, and the entropy of the weights is {view.evenness:.2f} "
        f"of the largest possible. Two keys have a cosine of {view.key_cosine:.2f} on average. If the "
        f"length of each key were noisy, N(1, {view.beta:g}), another token would be attended to most in "
        f"{view.changes:.0%} of the cases. Length needed: of the best query, to leave {view.eps:.0%} "
        "elsewhere.",
        WIDTH,
    ):
        yield escape(line)


def _shown(grade: "Grade", key: str) -> bool:
    if key == "beta":
        return any(row.get("beta") for row in grade.conditions)
    if key == "sort":
        return grade.task == "1.1"
    if key == "weights" and grade.task == "1.7":  # two rows of three each: too much for a column
        return False
    return all(key in row for row in grade.conditions)


def _labelled(label: str, text: str) -> Iterator[str]:
    lines = textwrap.wrap(text, WIDTH - 14)
    for number, line in enumerate(lines):
        yield f"[dim]{label if number == 0 else '':14}[/]{escape(line)}"


def _measured(measure: "Measure") -> str:
    if measure.error < 1e-10:  # no sample, or one without any deviation
        return _number(measure.measured)
    return f"{_number(measure.measured)} ± {measure.error:.{4 if abs(measure.measured) < 1000 else 1}f}"


def _predicted(measure: "Measure") -> str:
    if measure.predicted is None:
        return ""
    sign = "≤" if measure.at_most else "≥" if measure.at_least else "="
    return f"{sign} {_number(measure.predicted)}"


def _number(value: float) -> str:
    """Four digits behind the point; what is but rounding is 0."""
    if abs(value) < 1e-8:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"
