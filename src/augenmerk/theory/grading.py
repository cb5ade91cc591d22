"""`augenmerk theory check`: grades an answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer, and the experiment that the exercise names tries it: `grading_queries.py` for
queries, `grading_self.py` for self-attention. `letters.py` finds how the reader's letters have to be chosen.
"""

from collections.abc import Sequence

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.answers import read_answers, show_names, split_answers
from augenmerk.theory.exercises import EXERCISES, GRADED, find_function
from augenmerk.theory.letters import Experiment
from augenmerk.theory.results import Grade

MIN_SAMPLES, MAX_SAMPLES = 10, 2000


def check(
    task: str, answers: Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades the answers to a task; each may be written as `q = ...`, and `scale` is as in `attend`.

    Raises AugenmerkError for what cannot be read or computed, which somebody has to look at.
    """
    if task not in GRADED:
        raise AugenmerkError(
            f"There is no task '{shorten(task)}' to check; the tasks are {', '.join(GRADED)}."
        )
    check_samples(samples)
    exercise = EXERCISES[task]
    key = exercise.key
    every = frozenset(name for names in key.formulas for name in names)
    formulas, conditions = split_answers(answers, every, exercise.known)
    asked = next((names for names in key.formulas if len(names) == len(formulas)), key.formulas[0])
    read = read_answers(exercise, formulas, conditions, asked)
    experiment: Experiment = find_function(key.tried_by)(exercise, read, samples, seed, scale)
    experiment.check_shapes()
    given = tuple(answers)
    if read.incomplete:
        return Grade(task, "wrong", read.incomplete, 1.0, False, given, (), "incomplete", read.remarks)
    found = experiment.try_out(answers)
    only_if = found.choice.only_if if found.choice else ""
    return Grade(
        task,
        "right if" if only_if else "right" if found.choice else "wrong",
        show_names(found.why),
        max(row["error"] for row in found.rows),
        found.missing_scale,
        given,
        tuple(found.rows),
        "right under a condition" if only_if else found.mistake,
        read.remarks,
        show_names(only_if),
    )


def check_samples(samples: int) -> None:
    """Raises AugenmerkError if so many samples are too few, or too many, to judge by."""
    if not MIN_SAMPLES <= samples <= MAX_SAMPLES:
        limits = f"take {MIN_SAMPLES} to {MAX_SAMPLES:,}"
        raise AugenmerkError(f"--samples {samples} is too few or too many to judge by: {limits}.")
