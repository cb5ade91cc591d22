"""`augenmerk theory check`: grades a reader's answer by experiment, and gives the reason in numbers.

`answers.py` reads the answer. Queries for 1.1 to 1.5 are tried on random instances in `trials.py`, and
explained in `mistakes.py`; answers to 1.6 and 1.7 are graded in `grading_self.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from augenmerk.errors import AugenmerkError, shorten
from augenmerk.theory import grading_self
from augenmerk.theory.answers import Answers, read_answers, show_names, split_answers
from augenmerk.theory.letters import find_choice, find_limit, settle
from augenmerk.theory.mistakes import explain_failure, explain_success
from augenmerk.theory.results import Grade
from augenmerk.theory.trials import (
    CONDITIONS,
    LIMIT,
    NAMES,
    RULE,
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
    possible = {"1.6": ("c_2",), "1.7": ("K", "Q", "V")}.get(task, ("q", "q_1", "q_2"))
    formulas, conditions = split_answers(answers, frozenset(possible), known)
    expected = possible
    if task in CONDITIONS:
        heads = len(formulas) if len(formulas) in HEADS[task] else HEADS[task][0]
        expected = possible[:1] if heads == 1 else possible[1:]
    read = read_answers(task, formulas, conditions, expected, known)
    if task in CONDITIONS:
        queries = QueryExperiment(task, read, samples, seed, scale)
        _check_shapes(read, queries)
    else:
        samples = min(samples, grading_self.MAX_SAMPLES)
        grading_self.check_shapes(grading_self.SelfExperiment(task, read, samples, seed))
    if read.incomplete:
        return Grade(
            task, "wrong", read.incomplete, 1.0, False, tuple(answers), (), "incomplete", read.remarks
        )
    if task not in CONDITIONS:
        return grading_self.grade(task, answers, read, samples, seed)
    return _grade_queries(answers, read, queries)


def check_samples(samples: int) -> None:
    """Raises AugenmerkError if so many samples are too few, or too many, to judge by."""
    if samples < MIN_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too few to judge by; take {MIN_SAMPLES} or more.")
    if samples > MAX_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too many; take up to {MAX_SAMPLES:,}.")


def _grade_queries(answers: Sequence[str], read: Answers, experiment: QueryExperiment) -> Grade:
    numbers = range(len(experiment.conditions))
    choice = find_choice(experiment) if read.letters else None
    if choice is not None:
        trials = [experiment.attempt(number, settle(experiment, number, choice)) for number in numbers]
        limits = [experiment.attempt(n, find_limit(experiment, n, choice)) for n in numbers]
        holds = all(trial.holds for trial in trials)
        holds = holds and (not choice.rates or all(limit.error <= LIMIT for limit in limits))
    if choice is None or not holds:
        choice = None
        plain = [experiment.try_plainly(n) if read.letters else experiment.attempt(n, {}) for n in numbers]
        for trial in plain:
            _refuse_rounding(answers, trial)
        # What holds at one size only, and not at every larger one, is shown where it fails.
        trials = [limit if trial.holds and not (limit := to_limit(trial)).holds else trial for trial in plain]
        holds = all(trial.holds for trial in trials)
        if holds and read.letters:
            raise AugenmerkError(
                f"It holds if {' and '.join(read.letters)} are equal, but for which others cannot be found by trying."
            )
    rows, error = tuple(trial.as_row() for trial in trials), max(trial.error for trial in trials)
    only_if = choice.only_if if choice else ""
    if holds and not (choice and choice.rates) and not _grows(read, experiment):
        only_if = " and ".join(filter(None, (only_if, "m and d are not too large")))
    if holds:
        where = choice.where if choice else ""
        why = explain_success(trials, where, only_if)
        mistake = "right under a condition" if only_if else ""
        verdict = "right if" if only_if else "right"
        return Grade(
            experiment.task,
            verdict,
            show_names(why),
            error,
            False,
            tuple(answers),
            rows,
            mistake,
            read.remarks,
            show_names(only_if),
        )
    scaled = [trial if trial.holds else enlarge(trial) for trial in trials]
    missing = all(trial.holds for trial in scaled)
    mistake, why = explain_failure(read, trials, scaled, missing)
    why += _name_other_size(read, experiment)
    return Grade(
        experiment.task, "wrong", show_names(why), error, missing, tuple(answers), rows, mistake, read.remarks
    )


def _check_shapes(read: Answers, experiment: QueryExperiment) -> None:
    """Refuses what is no query, or cannot be computed, before anything is tried."""
    own = ", ".join(show_names(letter) for letter in read.letters)
    rule = f"{RULE}{f' (read as numbers: {own})' if own else ''}"
    # Numbers of which no two are equal, since 1/(s - t) should not be a division by zero here.
    letters = {letter: 1.1 + 0.17 * number for number, letter in enumerate(read.letters)}
    for number in range(len(experiment.conditions)):
        trial = experiment.attempt(number, letters, few=True, rule=rule)
        if not read.letters and not np.isfinite(trial.logits).all():
            raise AugenmerkError(
                f"'{shorten('; '.join(each.text.strip() for each in read.expressions), 200)}' cannot be computed for some of the keys: it has a root or "
                "a logarithm of a negative number, a division by zero, or a number that is too large."
            )


def _grows(read: Answers, experiment: QueryExperiment) -> bool:
    """Returns whether an answer without letters is larger for more keys, and for more dimensions."""
    return {"m", "d"} <= read.uses | (set() if experiment.scale is None else {"d"})


def _name_other_size(read: Answers, experiment: QueryExperiment) -> str:
    """Says with which sizes of letters the answer would hold, if its own conditions rule them out."""
    if not any(letter in read.signs for letter in read.letters):
        return ""
    try:
        choice = find_choice(replace(experiment, answers=replace(read, signs={})))
    except AugenmerkError:
        return ""
    if choice is None:
        return ""
    where = f" only if {choice.only_if}" if choice.only_if else f" {choice.where}"
    return f" It would hold{where}, but its own conditions rule this out."


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
