"""Grades one answer: runs it on all inputs of its exercise, and names what is wrong."""

import inspect
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from augenmerk.base.errors import shorten
from augenmerk.lab.exercises import Exercise
from augenmerk.lab.naming import Named, Tried, compile_reference, name_mistakes, say_observed
from augenmerk.lab.outcomes import (
    Case,
    Outcome,
    Remote,
    call,
    list_missing_layers,
    list_tensors,
    same,
    show_shape,
    to_double,
    to_trained,
)

Try = Callable[..., Outcome]
"""Calls an answer or a reference with a `Case`."""
MAX_SHOWN = 16
"""Numbers of a tensor that are shown; of a larger one only the shape is."""


class TooSlowError(BaseException):
    """Raised by a timer; a BaseException, so that `except Exception` in an answer does not catch it."""


@contextmanager
def limit_seconds(seconds: float | None) -> Iterator[None]:
    """Raises TooSlowError after so many seconds of computing; never without setitimer, as on Windows."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    # Again each second, in case something catches the exception.
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Grading:
    """What is found about an answer, as data for `report.score`."""

    exercise: str
    verdict: str = "right"
    passed: int = 0
    experiments: int = 0
    findings: list[dict[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    example: dict[str, str] = field(default_factory=dict)

    def add(self, named: Named) -> None:
        """Adds a mistake, or a remark if it costs nothing."""
        mistake, sentence = named
        if mistake.cost:
            self.verdict = "wrong"
            self.findings.append({"mistake": mistake.id, "says": sentence})
        else:
            self.remarks.append(sentence)


def grade(
    exercise: Exercise,
    answer: Any,
    seed: int,
    files: Sequence[str] | None = None,
    seconds: float | None = None,
    cases: Sequence[Case] | None = None,
) -> dict[str, Any]:
    """Grades a class or a function, which is defined in one of the files.

    A single call may compute for so many seconds; only in the main thread of a process.
    """
    files = _find_files(answer) if files is None else files
    cases = cases or exercise.make_cases(seed)
    found = Grading(exercise.name, experiments=len(cases))

    def try_answer(case: Case, **how: Any) -> Outcome:
        with limit_seconds(seconds):
            return call(answer, case, **how)

    try:
        if callable(answer) or isinstance(answer, Remote):
            _grade(exercise, found, cases, files, try_answer)
        else:
            found.add(say_observed("error", f"{exercise.object} is no class or function."))
    except TooSlowError as error:
        place = find_line(error, files)
        found.add(say_observed("too slow", f"{seconds:g}", f": {place}" if place else ""))
    return vars(found)


def _grade(
    exercise: Exercise, found: Grading, cases: Sequence[Case], files: Sequence[str], try_answer: Try
) -> None:
    outcomes = []
    for case in cases:
        outcomes.append(try_answer(case))
        if outcomes[-1].error == "NotImplementedError":
            found.verdict = "not done"
            return
    reference = compile_reference(exercise.name)
    expected = [call(reference, case, each.weights) for case, each in zip(cases, outcomes, strict=True)]
    right = [one.equals(other) for one, other in zip(outcomes, expected, strict=True)]
    found.passed = sum(right)
    if any(each.changed for each in outcomes):
        found.add(say_observed("input changed"))
    again = (try_answer(case, seed=1) for case in cases)
    if not all(one.equals(other) for one, other in zip(outcomes, again, strict=True)):
        found.add(say_observed("random"))
    elif not all(right):
        _explain(exercise, found, [*zip(cases, outcomes, expected, strict=True)], files)
    elif not found.findings:
        _look_closer(found, cases[-1], try_answer, partial(call, reference))


def _explain(exercise: Exercise, found: Grading, tried: Sequence[Tried], files: Sequence[str]) -> None:
    """Names the mistakes, or shows the smallest input on which the answer is wrong."""
    named = name_mistakes(exercise, tried)
    _, first, expected = tried[0]
    failed = next((outcome for _, outcome, _ in tried if outcome.error), None)
    missing = list_missing_layers(expected, first) if not named else []
    if missing and (first.weights or failed is None):
        found.add(say_observed("layers missing", " and no ".join(missing)))
    elif not named and failed is not None:
        # What the answer returns where it does not fail may have a name.
        part = [each for each in tried if not each[1].error]
        if not all(one.equals(other) for _, one, other in part):
            named = [each for each in name_mistakes(exercise, part) if not each[0].accepted]
        explained = explain_error(failed.raised, files) if failed.raised else failed.explained
        found.add(say_observed("error", explained))
    elif named and all(mistake.accepted for mistake, _ in named):
        found.passed = len(tried)
        found.remarks += [sentence for _, sentence in named]
        return
    for each in named:
        found.add(each)
    case, outcome, wanted = next(each for each in tried if not each[1].equals(each[2]))
    if not found.findings:
        failures = f"{found.experiments - found.passed} of {found.experiments} experiments"
        found.add(
            say_observed("wrong result", f"{failures}: {_compare(exercise, outcome.value, wanted.value)}")
        )
    found.example = {
        "case": case.name,
        "input": ", ".join(map(show_value, (*case.sizes, *case.arguments))),
        "expected": show_value(wanted.value),
        "got": outcome.error or show_value(outcome.value),
    }


def _compare(exercise: Exercise, got: Any, wanted: Any) -> str:
    """Returns which of the results is wrong, or has a wrong shape, in words."""
    names = exercise.returns
    if len(names) == 1:
        got, wanted = [got], [wanted]
    if not isinstance(got, list) or len(got) != len(names):
        return f"{' and '.join(names)} are asked for, as a tuple"
    right = []
    for name, ours, theirs in zip(names, got, wanted, strict=True):
        shapes = [show_shape(each) for each in (ours, theirs) if isinstance(each, Tensor)]
        if len(set(shapes)) == 2:
            return f"{name} has the shape {shapes[0]} instead of {shapes[1]}"
        right += [name] if same(ours, theirs) else []
    wrong = [name for name in names if name not in right]
    verb = "is" if len(wrong) == 1 and not wrong[0].endswith("s") else "are"
    return f"{' and '.join(wrong)} {verb} wrong{', but not ' if right else ''}{' and '.join(right)}"


def _look_closer(found: Grading, case: Case, answer: Try, reference: Try) -> None:
    """Looks at precision, gradient and device of results that are right."""

    def compare(read: Callable[[Tensor], Any], **how: Any) -> bool:
        ours, theirs = (each(case, **how) for each in (reference, answer))
        if ours.error or not list_tensors(ours.raw):
            return True  # no reference for this
        if theirs.error:
            return False
        return list(map(read, list_tensors(ours.raw))) == list(map(read, list_tensors(theirs.raw)))

    if not compare(lambda tensor: tensor.dtype, prepare=to_double):
        found.add(say_observed("precision lost"))
    if not compare(lambda tensor: tensor.requires_grad, prepare=to_trained):
        found.add(say_observed("no gradient"))
    if not compare(lambda tensor: tensor.device, device=torch.device("meta")):
        found.add(say_observed("device"))


def _find_files(answer: Any) -> list[str]:
    """Returns the files, or cells of a notebook, in which a class or a function is defined."""
    parts = vars(answer).values() if isinstance(answer, type) else [answer]
    return [each.__code__.co_filename for each in parts if inspect.isfunction(each)]


def find_line(error: BaseException, files: Sequence[str]) -> str:
    """Returns the last line of the answer that an exception came through."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename in files]
    if not frames:
        return ""
    cell = f"{frames[-1].filename}, " if frames[-1].filename.startswith("cell ") else ""
    code = shorten((frames[-1].line or "").strip(), 80)
    return f"{cell}line {frames[-1].lineno}{f', {code}' if code else ''}"


def explain_error(error: BaseException, files: Sequence[str]) -> str:
    """Returns what an exception means, with its line in the answer."""
    text = shorten(" ".join(str(error).split()), 200)
    kind = type(error).__name__
    place = find_line(error, files)
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    if isinstance(error, TypeError) and not place:
        return f"it cannot be called as the contract says: {text}"
    if isinstance(error, MemoryError) or "can't allocate memory" in text:
        what = "needs too much memory"
    elif isinstance(error, RuntimeError) and any(word in text for word in ("shape", "size", "dimension")):
        what = f"the shapes do not fit: {text}"
    else:
        what = f"{kind}: {text}"
    return f"{place}: {what}" if place else what


def show_value(value: Any) -> str:
    """Returns a value as text: the numbers of a small tensor, and the shape of a larger one."""
    if isinstance(value, Tensor):
        if value.numel() > MAX_SHOWN:
            return f"<{show_shape(value)}>"
        value = value.tolist()
    if isinstance(value, list | tuple):
        return shorten(f"[{', '.join(map(show_value, value))}]", 200)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, nn.Module) or hasattr(value, "__dict__"):
        return f"<{type(value).__name__}>"
    return shorten(repr(value), 80)
