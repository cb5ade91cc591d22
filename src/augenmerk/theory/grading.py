"""`augenmerk theory check`: grades an answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer, and the class that the exercise names tries it: `grading_queries.py` for
queries, `grading_self.py` for self-attention, `grading_logits.py` for what a given query does. How large the
letters of an answer have to be is found out in `choices.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.answers import Answers, read_answers, show_names, split_answers, split_off_statement
from augenmerk.theory.exercises import GRADED, Exercise, find_exercise, find_function
from augenmerk.theory.results import MISTAKES, Grade


class Outcome(NamedTuple):
    """What came of trying an answer."""

    rows: Sequence[dict[str, Any]]  # one for each condition, with its `error` and whether it `holds`
    why: str
    mistake: str = ""  # one of MISTAKES, unless it holds
    only_if: str = ""  # the condition under which it holds, if it does under one only
    missing_scale: bool = False  # whether a scale is all that is missing


@dataclass(frozen=True)
class Trying(ABC):
    """An answer that can be tried."""

    exercise: Exercise
    answers: Answers
    samples: int
    seed: int
    scale: float | None

    @abstractmethod
    def check_shapes(self) -> None:
        """Raises AugenmerkError if the formulas have a wrong shape, or cannot be computed."""

    @abstractmethod
    def try_out(self, texts: Sequence[str]) -> Outcome:
        """Finds out whether the answer holds, or why it fails; the texts are for messages."""


MIN_SAMPLES, MAX_SAMPLES = 10, 2000


def check(
    task: str, answers: str | Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades an answer to a task, one formula or several; each may be written as `q = ...`.

    `scale` is as in `attend`.

    Raises AugenmerkError for what cannot be read or computed, which somebody has to look at.
    """
    if task not in GRADED:
        raise AugenmerkError(
            f"There is no task '{shorten(task)}' to check; the tasks are {', '.join(GRADED)}."
        )
    exercise = find_exercise(task)
    if not answers:
        raise AugenmerkError(
            f"Give your answer, --query '{exercise.key.prompt}'; for the question: augenmerk theory "
            f"{task} --question."
        )
    check_samples(samples)
    answers = [answers] if isinstance(answers, str) else answers
    key, given = exercise.key, tuple(answers)
    statement = ""
    if exercise.statements:
        answers, statement = split_off_statement(answers, len(exercise.statements))
    every = frozenset(name for names in key.formulas for name in names)
    formulas, conditions = split_answers(answers, every, exercise.known)
    asked = next((names for names in key.formulas if len(names) == len(formulas)), key.formulas[0])
    read = replace(read_answers(exercise, formulas, conditions, asked), statement=statement)
    trying: Trying = find_function(key.tried_by)(exercise, read, samples, seed, scale)
    trying.check_shapes()

    def refuse(mistake: str, why: str) -> Grade:
        return Grade(task, "wrong", why, 1.0, False, given, (), mistake, read.remarks)

    if read.incomplete:
        return refuse("incomplete", read.incomplete)
    if seen := sorted(read.uses & set(key.withheld)):
        return refuse("sees the sample", f"{' and '.join(seen)}: {MISTAKES['sees the sample']}")
    found = trying.try_out(answers)
    return Grade(
        task,
        "wrong" if found.mistake else "right if" if found.only_if else "right",
        show_names(found.why),
        max(row["error"] for row in found.rows),
        found.missing_scale,
        given,
        tuple(found.rows),
        "right under a condition" if found.only_if else found.mistake,
        read.remarks,
        show_names(found.only_if),
    )


def check_samples(samples: int) -> None:
    """Raises AugenmerkError if so many samples are too few, or too many, to judge by."""
    if not MIN_SAMPLES <= samples <= MAX_SAMPLES:
        limits = f"take {MIN_SAMPLES} to {MAX_SAMPLES:,}"
        raise AugenmerkError(f"--samples {samples} is too few or too many to judge by: {limits}.")
