"""`augenmerk theory check`: grades an answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer, and the experiment that the exercise names tries it: `grading_queries.py` for
queries, `grading_self.py` for self-attention. `letters.py` finds how the reader's letters have to be chosen.
"""

from collections.abc import Mapping, Sequence

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.answers import read_answers, show_names, split_answers
from augenmerk.theory.exercises import EXERCISES, GRADED, find_function
from augenmerk.theory.letters import Experiment
from augenmerk.theory.results import Grade

MIN_SAMPLES, MAX_SAMPLES = 10, 2000
MISTAKES: Mapping[str, str] = {
    "no scale": "The direction is right, but the query is too short for the softmax to decide.",
    "scale too small": "There is a scale, but one that is too small for many keys or many dimensions.",
    "right only on average": "Every sample leans to one side; only the mean over many is the average.",
    "leans to one": "Both keys are above all others, but not equally, and a scale magnifies the difference.",
    "only one of two": "The query points to one of the two keys alone.",
    "points away": "The query points away from what it should attend to.",
    "other keys": "Keys are attended to that should not be.",
    "another key wins": "Another key has the larger product with the query, for some sets of keys.",
    "both heads on one key": "Both heads copy the same value.",
    "a head on two keys": "A head attends to two keys, and swings between them as a single head does.",
    "zero query": "The query is 0 and attends to everything alike.",
    "right under a condition": "It holds only for some letters, such as t = c, or up to some size.",
    "incomplete": "There are fewer formulas than the task asks for.",
    "another output": "c_2 comes out differently: what is the largest product of x_2?",
    "factor missing": "Only a factor is missing or wrong, such as 1/B^2 for the length of the parts.",
    "wrong value": "Each input attends to one input, but V does not make the wanted output of it.",
    "attention is spread": "An input attends to several inputs.",
}
"""The kinds of mistake, each in a sentence for the teacher."""


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
        found.missing_factor,
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
