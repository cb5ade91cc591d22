"""`augenmerk theory check`: grades a reader's answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer. Queries for 1.1 to 1.5 are tried on random instances in `trials.py`, and
explained in `mistakes.py`; answers to 1.6 and 1.7 are graded in `grading_self.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory import grading_self
from augenmerk.theory.answers import Answers, read_answers, show_names, split_answers
from augenmerk.theory.letters import (
    Choice,
    find_choice,
    find_limit,
    refuse_undecided,
    settle,
)
from augenmerk.theory.mistakes import explain_failure, explain_success
from augenmerk.theory.results import Grade
from augenmerk.theory.trials import (
    CONDITIONS,
    LIMIT,
    NAMES,
    QueryExperiment,
    Trial,
    enlarge,
    to_limit,
)

MIN_SAMPLES, MAX_SAMPLES = 10, 2000
ROUNDING = 1e-3
"""If the last digit of a logit is worth more than this, rounding may decide instead of the answer."""
TASKS = (*CONDITIONS, "1.6", "1.7")
HEADS: Mapping[str, tuple[int, ...]] = {"1.1": (1,), "1.2": (1,), "1.3": (1,), "1.4": (2,), "1.5": (1, 2)}


def check(
    task: str, answers: Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades the answers to a task; each may be written as `q = ...`, and `scale` is as in `attend`.

    Raises AugenmerkError for what cannot be read or computed, which a person has to look at.
    """
    if task not in TASKS:
        raise AugenmerkError(f"There is no task '{task}' to check; there are {', '.join(TASKS)}.")
    check_samples(samples)
    known = NAMES[task] if task in CONDITIONS else grading_self.NAMES
    expected = grading_self.ASKED.get(task, ("q", "q_1", "q_2"))
    formulas, conditions = split_answers(answers, frozenset(expected), known)
    if task in CONDITIONS:
        heads = len(formulas) if len(formulas) in HEADS[task] else HEADS[task][0]
        expected = expected[:1] if heads == 1 else expected[1:]
    read = read_answers(task, formulas, conditions, expected, known)
    experiment: QueryExperiment | grading_self.SelfExperiment
    if task in CONDITIONS:
        experiment = QueryExperiment(task, read, samples, seed, scale)
    else:
        experiment = grading_self.SelfExperiment(task, read, min(samples, grading_self.MAX_SAMPLES), seed)
    experiment.check_shapes()
    if read.incomplete:
        return Grade(
            task, "wrong", read.incomplete, 1.0, False, tuple(answers), (), "incomplete", read.remarks
        )
    if isinstance(experiment, QueryExperiment):
        return _grade_queries(answers, experiment)
    return grading_self.grade(answers, experiment)


def check_samples(samples: int) -> None:
    """Raises AugenmerkError if so many samples are too few, or too many, to judge by."""
    if samples < MIN_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too few to judge by; take {MIN_SAMPLES} or more.")
    if samples > MAX_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too many; take up to {MAX_SAMPLES:,}.")


def _grade_queries(answers: Sequence[str], experiment: QueryExperiment) -> Grade:
    read, missing = experiment.answers, False
    choice, trials = _try(answers, experiment)
    if choice:
        if not choice.rates and not _grows(read, experiment):
            conditions = [*filter(None, [choice.only_if]), "m and d are not too large"]
            choice = replace(choice, only_if=" and ".join(conditions))
        why, mistake = (
            choice.introduce(explain_success(trials)),
            "right under a condition" if choice.only_if else "",
        )
    else:
        refuse_undecided(experiment)
        scaled = [trial if trial.holds else enlarge(trial) for trial in trials]
        missing = all(trial.holds for trial in scaled)
        mistake, why = explain_failure(read, trials, scaled, missing)
        why += _name_other_size(read, experiment)
    return Grade(
        experiment.task,
        "right if" if choice and choice.only_if else "right" if choice else "wrong",
        show_names(why),
        max(trial.error for trial in trials),
        missing,
        tuple(answers),
        tuple(trial.as_row() for trial in trials),
        mistake,
        read.remarks,
        show_names(choice.only_if) if choice else "",
    )


def _try(answers: Sequence[str], experiment: QueryExperiment) -> tuple[Choice | None, list[Trial]]:
    """Tries an answer on all instances; returns with which letters it holds, if it does, and the trials."""
    numbers = range(len(experiment.conditions))
    if experiment.letters:
        if choice := find_choice(experiment):
            trials = [experiment.attempt(number, settle(experiment, number, choice)) for number in numbers]
            limits = [experiment.attempt(n, find_limit(experiment, n, choice)) for n in numbers]
            if all(trial.holds for trial in trials) and (
                not choice.rates or all(limit.error <= LIMIT for limit in limits)
            ):
                return choice, trials
        return None, [experiment.try_plainly(number) for number in numbers]
    trials = [experiment.attempt(number, {}) for number in numbers]
    for trial in trials:
        _refuse_rounding(answers, trial)
    # What holds at one size only, and not at every larger one, is shown where it fails.
    trials = [limit if trial.holds and not (limit := to_limit(trial)).holds else trial for trial in trials]
    return Choice({}, "") if all(trial.holds for trial in trials) else None, trials


def _grows(read: Answers, experiment: QueryExperiment) -> bool:
    """Returns whether an answer without letters is larger for more keys, and for more dimensions."""
    return {"m", "d"} <= read.uses | (set() if experiment.scale is None else {"d"})


def _name_other_size(read: Answers, experiment: QueryExperiment) -> str:
    """Says with which sizes of letters the answer would hold, if its own conditions rule them out."""
    if not any(letter in read.signs for letter in read.letters):
        return ""
    choice = find_choice(replace(experiment, answers=replace(read, signs={})))
    if choice is None:
        return ""
    where = f"only if {choice.only_if}" if choice.only_if else choice.where
    return f" It would hold {where}, but its own conditions rule this out."


def _refuse_rounding(answers: Sequence[str], trial: Trial) -> None:
    """Raises AugenmerkError if rounding may have decided, so that there is no verdict about the answer."""
    limits = np.finfo(np.float64)
    accurate = limits.tiny / limits.eps <= trial.largest_logit <= ROUNDING / limits.eps
    if trial.holds or trial.letters or not trial.largest_logit or accurate:
        return
    size, other = ("small", "larger") if trial.largest_logit < 1 else ("large", "smaller")
    shown = shorten("; ".join(answers), 200)
    raise AugenmerkError(
        f"'{shown}' makes logits of {trial.largest_logit:.0e} for {trial.condition}, so {size} that their "
        f"rounding decides and not the answer; choose a {other} number, or c, for which several sizes are "
        "tried."
    )
