"""`augenmerk theory check`: grades a reader's answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer. Queries for 1.1 to 1.5 are tried on random instances in `trials.py`, and
explained in `mistakes.py`; answers to 1.6 and 1.7 are graded in `grading_self.py`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from augenmerk.errors import AugenmerkError, shorten
from augenmerk.theory import grading_self
from augenmerk.theory.answers import read_answers, split_answers
from augenmerk.theory.mistakes import explain_failure, explain_success
from augenmerk.theory.results import Grade
from augenmerk.theory.trials import (
    CONDITIONS,
    NAMES,
    STRENGTHS,
    Trial,
    choose_best,
    draw_instance,
    draw_instances,
    enlarge,
    try_sizes,
)

MIN_SAMPLES, MAX_SAMPLES = 10, 2000
ROUNDING = 1e-3
"""If the last digit of a logit is worth more than this, rounding may decide instead of the answer."""
FIXED_SIZE = (
    "A fixed number is large enough only up to some number of keys and dimensions; c, which is as large as "
    "you like, always is."
)
TASKS = (*CONDITIONS, "1.6", "1.7")
HEADS: Mapping[str, tuple[int, ...]] = {"1.1": (1,), "1.2": (1,), "1.3": (1,), "1.4": (2,), "1.5": (1, 2)}


def check(
    task: str, answers: Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades the answers to a task; each may be written as `q = ...`, and `scale` is as in `attend`."""
    if task not in TASKS:
        raise AugenmerkError(f"There is no task '{task}' to check; there are {', '.join(TASKS)}.")
    check_samples(samples)
    if task in CONDITIONS:
        return _check_queries(task, answers, samples, seed, scale)
    expected = ("c_2",) if task == "1.6" else ("K", "Q", "V")
    formulas, conditions = split_answers(answers, frozenset(expected), grading_self.NAMES)
    read = read_answers(task, formulas, conditions, expected, grading_self.NAMES, samples)
    grade = grading_self.check_output if task == "1.6" else grading_self.check_projections
    return grade(answers, read, samples, seed)


def check_samples(samples: int) -> None:
    """Raises AugenmerkError if so many samples are too few, or too many, to judge by."""
    if samples < MIN_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too few to judge by; take {MIN_SAMPLES} or more.")
    if samples > MAX_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too many; take up to {MAX_SAMPLES:,}.")


def _check_queries(task: str, answers: Sequence[str], samples: int, seed: int, scale: float | None) -> Grade:
    formulas, conditions = split_answers(answers, {"q", "q_1", "q_2"}, NAMES[task])
    heads = len(formulas) if len(formulas) in HEADS[task] else HEADS[task][0]
    expected = ("q",) if heads == 1 else tuple(f"q_{head + 1}" for head in range(heads))
    # Each strength, and its reciprocal, for names such as tau, which may be meant to be small.
    read = read_answers(task, formulas, conditions, expected, NAMES[task], 2 * samples * len(STRENGTHS))
    for condition in CONDITIONS[task]:  # what cannot be computed is refused before anything is tried
        names = {**draw_instance(task, condition, seed).names, **condition.numbers}
        names |= dict.fromkeys(read.free, 1.0)
        for query in read.expressions:
            own = ", ".join(sorted(query.names & read.free))
            rule = f"a query is a vector like the keys{f' (read as numbers: {own})' if own else ''}"
            query.value_of_shape(names, (condition.dim,), rule)
    trials, scaled = [], []
    for number, condition in enumerate(CONDITIONS[task]):
        tried = try_sizes(task, condition, read, draw_instances(task, number, samples, seed), scale)
        best = choose_best(tried)
        _refuse_rounding(answers, best)
        trials.append(best)
        scaled.append(best if best.holds else enlarge(tried))
    holds = all(trial.holds for trial in trials)
    missing = not holds and all(trial.holds for trial in scaled)
    mistake, why = explain_success(trials) if holds else explain_failure(read, trials, scaled, missing)
    error, rows = max(trial.error for trial in trials), tuple(trial.as_row() for trial in trials)
    remarks = read.remarks
    if holds and not any(query.names & (read.free | {"d", "m"}) for query in read.expressions):
        remarks += (FIXED_SIZE,)
    return Grade(task, holds, why, error, missing, tuple(answers), rows, mistake, remarks)


def _refuse_rounding(answers: Sequence[str], trial: Trial) -> None:
    """Raises AugenmerkError if rounding may have decided, so that there is no verdict about the answer."""
    limits = np.finfo(np.float64)
    accurate = limits.tiny / limits.eps <= trial.largest_logit <= ROUNDING / limits.eps
    if trial.holds or not trial.largest_logit or accurate:
        return
    size, other = ("small", "larger") if trial.largest_logit < 1 else ("large", "smaller")
    shown = shorten("; ".join(answers), 200)
    raise AugenmerkError(
        f"'{shown}' makes logits of {trial.largest_logit:.0e} for {trial.condition}, so {size} that their "
        f"rounding decides and not the answer; choose a {other} number, or c, for which several sizes are "
        "tried."
    )
