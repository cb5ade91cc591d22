"""`augenmerk theory check`: grades a reader's answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer, and the experiment that the exercise names tries it: `grading_queries.py` for
queries, `grading_self.py` for self-attention. `letters.py` finds how the reader's letters have to be chosen.
"""

from collections.abc import Sequence

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.answers import read_answers, show_names, split_answers
from augenmerk.theory.exercises import EXERCISES, GRADED, find_function
from augenmerk.theory.letters import Experiment, check_decided
from augenmerk.theory.results import Grade

MIN_SAMPLES, MAX_SAMPLES = 10, 2000


def check(
    task: str, answers: Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades the answers to a task; each may be written as `q = ...`, and `scale` is as in `attend`.

    Raises AugenmerkError for what cannot be read or computed, which a person has to look at.
    """
    if task not in GRADED:
        raise AugenmerkError(f"There is no task '{task}' to check; there are {', '.join(GRADED)}.")
    check_samples(samples)
    exercise = EXERCISES[task]
    key = exercise.key
    every = frozenset(name for names in key.formulas for name in names)
    formulas, conditions = split_answers(answers, every, exercise.known)
    asked = next((names for names in key.formulas if len(names) == len(formulas)), key.formulas[0])
    read = read_answers(exercise, formulas, conditions, asked)
    experiment: Experiment = find_function(key.tried_by)(exercise, read, samples, seed, scale)
    experiment.check_shapes()
    if read.incomplete:
        return Grade(
            task, "wrong", read.incomplete, 1.0, False, tuple(answers), (), "incomplete", read.remarks
        )
    return _grade(answers, experiment)


def check_samples(samples: int) -> None:
    """Raises AugenmerkError if so many samples are too few, or too many, to judge by."""
    if samples < MIN_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too few to judge by; take {MIN_SAMPLES} or more.")
    if samples > MAX_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too many; take up to {MAX_SAMPLES:,}.")


def _grade(answers: Sequence[str], experiment: Experiment) -> Grade:
    choice, trials = experiment.try_out(answers)
    missing_factor = False
    if choice:
        mistake = "right under a condition" if choice.only_if else ""
        why = choice.introduce(experiment.explain_success(trials))
    else:
        check_decided(experiment)
        mistake, why, missing_factor = experiment.explain_failure(trials)
    only_if = choice.only_if if choice else ""
    return Grade(
        experiment.exercise.task,
        "right if" if only_if else "right" if choice else "wrong",
        show_names(why),
        max(trial.error for trial in trials),
        missing_factor,
        tuple(answers),
        tuple(trial.as_row() for trial in trials),
        mistake,
        experiment.answers.remarks,
        show_names(only_if),
    )
