"""`augenmerk theory check`: a reader's answer, graded by experiment, with the reason in numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory import query_trials, self_trials
from augenmerk.theory.expressions import Expression
from augenmerk.theory.query_trials import CONDITIONS, HEADS, NAMES, TOLERANCE, Trial, try_out

MOST_SAMPLES = 4000
"""Of each condition: about 20 seconds."""
TASKS = (*CONDITIONS, "1.6", "1.7")


@dataclass(frozen=True)
class Grade:
    task: str
    answers: tuple[str, ...]
    holds: bool
    why: str
    """One or two sentences, with numbers."""
    error: float
    """The worst over all conditions: weight in the wrong place; for 1.6 and 1.7 distance in units of B."""
    missing_scale: bool
    """Whether the answer would hold if only it were multiplied by a large number."""
    conditions: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "holds": self.holds,
            "why": self.why,
            "error": self.error,
            "missing_scale": self.missing_scale,
            "answers": list(self.answers),
            "conditions": list(self.conditions),
        }


def check(
    task: str, answers: Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades the answer to a task. Each may be given as `q = ...`; `scale` is as in `attend`."""
    if task not in TASKS:
        raise AugenmerkError(f"there is no task '{task}' to check; there are {', '.join(TASKS)}.")
    if samples < 10:
        raise AugenmerkError(f"--samples {samples} is too few to judge by; take 10 or more.")
    if samples > MOST_SAMPLES:
        raise AugenmerkError(f"--samples {samples} would take too long; take up to {MOST_SAMPLES:,}.")
    if task in CONDITIONS:
        return _check_queries(task, answers, samples, seed, scale)
    grade = self_trials.check_outputs if task == "1.6" else self_trials.check_projections
    expected = ("c_2",) if task == "1.6" else ("K", "Q", "V")
    found = grade(_in_order(task, answers, expected, self_trials.NAMES), samples, seed)
    return Grade(
        task, tuple(answers), found.holds, found.why, found.error, found.missing_scale, found.conditions
    )


def _in_order(
    task: str, answers: Sequence[str], expected: Sequence[str], names: frozenset[str]
) -> list[Expression]:
    """The expressions in the order of the task, whatever order they were given in."""
    if len(answers) != len(expected):
        shown = " ".join(f'--query "{name} = ..."' for name in expected)
        raise AugenmerkError(
            f"task {task} asks for {' and '.join(expected)}: {len(expected)} of --query, not {len(answers)} "
            f"({shown})."
        )
    found: dict[str, Expression] = {}
    for number, answer in enumerate(answers):
        named = re.match(r"\s*(\w+)\s*=", answer)
        name = named[1] if named else expected[number]
        if name not in expected or name in found:
            raise AugenmerkError(f"'{answer}': task {task} asks for {', '.join(expected)}, each once.")
        found[name] = Expression(answer, named.end() if named else 0)
        found[name].check_names(names)
    return [found[name] for name in expected]


def _check_queries(task: str, answers: Sequence[str], samples: int, seed: int, scale: float | None) -> Grade:
    heads = len(answers) if len(answers) in HEADS[task] else HEADS[task][0]
    expected = ("q",) if heads == 1 else tuple(f"q_{head + 1}" for head in range(heads))
    queries = _in_order(task, answers, expected, NAMES[task])
    trials, scaled = [], []
    for number, condition in enumerate(CONDITIONS[task]):
        drawn = query_trials.instances(task, condition, samples, np.random.default_rng([seed, number]))
        _check_shapes(queries, drawn[0], condition)
        trials.append(try_out(task, condition, queries, drawn, scale))
        _refuse_rounding(answers, trials[-1])
        # The same answer, made larger: does it only lack a scale?
        scaled.append(
            trials[-1] if trials[-1].holds else try_out(task, condition, queries, drawn, scale, larger=True)
        )
    holds = all(trial.holds for trial in trials)
    missing = not holds and all(trial.holds for trial in scaled)
    return Grade(
        task=task,
        answers=tuple(answers),
        holds=holds,
        why=_praise(trials) if holds else _blame(trials, scaled, missing),
        error=max(trial.error for trial in trials),
        missing_scale=missing,
        conditions=tuple(_as_row(trial) for trial in trials),
    )


def _refuse_rounding(answers: Sequence[str], trial: Trial) -> None:
    """A verdict is about the answer; where the last digits decide, there is none."""
    if trial.holds or not trial.largest_logit or not trial.rounding_may_decide:
        return
    large = not trial.largest_logit < 1
    raise AugenmerkError(
        f"'{'; '.join(answers)}' makes logits of {trial.largest_logit:.0e} for "
        f"{trial.condition.in_words()}, so {'large' if large else 'small'} that their rounding decides and "
        f"not the answer; choose a {'smaller' if large else 'larger'} number, or c, for which several sizes "
        "are tried."
    )


def _check_shapes(
    queries: Sequence[Expression], sample: query_trials.Instance, condition: query_trials.Condition
) -> None:
    sizes = {"c": 1.0, "t": 1.0, "d": float(condition.dim), "m": float(condition.keys)}
    for query in queries:
        value = query.value({**sample.names, **sizes})
        if value.shape != (condition.dim,):
            raise AugenmerkError(f"'{query.text}' is {_kind(value.ndim)}; a query is a vector like the keys.")


def _kind(axes: int) -> str:
    return ("a number", "a vector of another size", "a matrix")[axes]


def _as_row(trial: Trial) -> dict[str, Any]:
    first = trial.first_weights
    return {
        "keys": trial.condition.keys,
        "dim": trial.condition.dim,
        "beta": trial.condition.beta,
        "sort": trial.condition.sort,
        "c": trial.c,
        "weights": [float(w) for w in trial.weights[: trial.targets]],
        "deviation": float(first.std()),
        "error": trial.error,
        "holds": trial.holds,
        "samples": len(trial.fair),
        "outside_the_claim": trial.unfair_rate,
        "outside_the_claim_and_missed": trial.unfair_failures,
    }


def _praise(trials: Sequence[Trial]) -> str:
    worst = max(trials, key=lambda trial: trial.error)
    what = "v_j" if worst.targets == 1 else "(v_a + v_b)/2"
    why = (
        f"{_at_most(worst.error)} of the weight misses {what}, in any of {len(trials)} conditions up to "
        f"{max((t.condition for t in trials), key=lambda c: c.keys).in_words()}"
    )
    astray = max(trials, key=lambda trial: trial.unfair_rate)
    if astray.unfair_rate:
        why += (
            f"; that is for lambda above {query_trials.LEAST_LAMBDA}: with beta "
            f"{astray.condition.beta:g}, {astray.unfair_rate:.0%} of the samples have a lambda_a or "
            f"lambda_b below it, and {astray.unfair_failures / astray.unfair_rate:.0%} of these miss"
        )
    return why + "."


def _at_most(error: float) -> str:
    return "less than 0.0001" if error < 0.0001 else f"no more than {error:.4f}"


def _blame(trials: Sequence[Trial], scaled: Sequence[Trial], missing: bool) -> str:
    """Speaks of the friendliest condition that fails, and then of the friendliest that no scale saves."""
    trial, larger = next((own, large) for own, large in zip(trials, scaled, strict=True) if not own.holds)
    one = trial.head_weights.shape[1] == 1
    if any(each.holds for each in trials):
        lack = "the query is too short" if one else "the queries are too short"
    else:
        lack = "the query has no scale" if one else "the queries have no scale"
    small = f"the {_on_targets(trial)} only {_numbers(trial)} for {trial.condition.in_words()}: {lack}"
    if missing:
        enough = f"{larger.factor:g} times as large it holds there"
        return f"{small}; {enough}, so the scale is all that is missing."
    reason = _reason(next(each for each in scaled if not each.holds))
    # A scale is missing, besides, where making the answer larger changes what it does.
    if larger.factor != 1 and larger.error < trial.error - TOLERANCE:
        return f"{small}; and a scale would not save it: {reason}."
    return f"{reason}."


def _on_targets(trial: Trial) -> str:
    return "weight on j reaches" if trial.targets == 1 else "weights on a and b reach"


def _numbers(trial: Trial) -> str:
    w = [f"{weight:.2f}" for weight in trial.weights[: trial.targets]]
    if len(w) == 1:
        return w[0]
    return f"{w[0]} each" if w[0] == w[1] else f"{w[0]} and {w[1]}"


def _reason(trial: Trial) -> str:
    """Why even the best scale does not help."""
    where = f"for {trial.condition.in_words()}"
    first = trial.first_weights
    if trial.targets == 1:
        lost = float((first < 0.5).mean())
        return (
            f"{where} another key has the larger product with the query in {lost:.0%} of the instances "
            f"(weight on j down to {first.min():.2f})"
        )
    if trial.mean_is_right:
        low, high = np.quantile(first, [0.05, 0.95])
        return (
            f"{where} only the mean over resamplings is right: in single samples the weight on a goes from "
            f"{low:.2f} to {high:.2f} (deviation {first.std():.2f}), because q.k_a and q.k_b differ as the "
            f"keys do"
        )
    text = f"{where} the weights on a and b come to {trial.weights[0]:.2f} and {trial.weights[1]:.2f}"
    heads = trial.head_weights[trial.fair].mean(axis=0)
    if len(heads) > 1:
        each = [
            f"head {number} puts {head[0]:.2f} on a and {head[1]:.2f} on b"
            for number, head in enumerate(heads, 1)
        ]
        text += f" ({', '.join(each)})"
    return text + ", instead of 0.50 and 0.50"
