"""`augenmerk theory check`: grades a reader's answer by experiment, and gives the reason in numbers.

Queries for 1.1 to 1.5 are tried here on random instances; answers to 1.6 and 1.7 in `grading_self.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.errors import AugenmerkError
from augenmerk.theory import grading_self
from augenmerk.theory.attention import Array, choose_scale, orthonormal, softmax, total_variation
from augenmerk.theory.expressions import Expression
from augenmerk.theory.grading_self import factors_to_try
from augenmerk.theory.noise import KeyNoise
from augenmerk.theory.reach import reach
from augenmerk.theory.results import Grade

MIN_SAMPLES, MAX_SAMPLES = 10, 2000
TOLERANCE = 0.02  # an answer holds if no more weight than this is in the wrong place
STRENGTHS = (10.0, 30.0, 100.0, 1000.0, 10_000.0)
"""The values of c times the scale of the logits that are tried: c is free, so the best one counts."""
ROUNDING = 1e-3
"""If the last digit of a logit is worth more than this, rounding may decide instead of the answer."""
MIN_LAMBDA = 0.05
"""The claims are about keys of positive length; samples with a lambda below this are counted separately."""
ALPHA = 1e-6  # the variance in all directions in 1.5


@dataclass(frozen=True)
class Condition:
    keys: int
    dim: int
    beta: float = 0.0
    sort: str = "orthonormal"
    """The kind of keys in 1.1: orthonormal, random, or flat (few dimensions, very different lengths)."""

    def names(self, c: float) -> dict[str, float]:
        """Returns the numbers that an answer may use in every task."""
        return {"c": c, "t": c, "d": float(self.dim), "m": float(self.keys)}

    def __str__(self) -> str:
        kind = {"random": "random keys", "flat": "keys of unequal length"}.get(self.sort, "keys")
        noise = f" with beta {self.beta:g}" if self.beta else ""
        return f"{self.keys} {kind} in {self.dim} dimensions{noise}"


_NOISY = (Condition(8, 64, 0.1), Condition(3, 4, 0.01), Condition(64, 256, 0.1), Condition(8, 64, 0.5))
CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "1.1": (
        Condition(8, 64),
        Condition(64, 256),
        Condition(8, 64, sort="random"),
        Condition(8, 2, sort="flat"),
    ),
    "1.2": (Condition(8, 64), Condition(3, 4), Condition(64, 256), Condition(200, 200)),
    "1.3": _NOISY,
    "1.4": _NOISY,
    "1.5": (Condition(8, 64, 0.5), Condition(3, 4, 0.5), Condition(64, 256, 0.5)),
}
TASKS = (*CONDITIONS, "1.6", "1.7")
HEADS: Mapping[str, tuple[int, ...]] = {"1.1": (1,), "1.2": (1,), "1.3": (1,), "1.4": (2,), "1.5": (1, 2)}
_SIZES = frozenset({"c", "t", "d", "m"})
_OF_PAIR = _SIZES | {"k_a", "k_b", "mu_a", "mu_b"}
NAMES: Mapping[str, frozenset[str]] = {
    "1.1": _SIZES | {"k_j", "k_mean"},
    "1.2": _OF_PAIR,
    "1.3": _OF_PAIR | {"lambda_a", "lambda_b", "beta"},
    "1.4": _OF_PAIR | {"lambda_a", "lambda_b", "beta"},
    "1.5": _OF_PAIR | {"alpha"},
}


def check(
    task: str, answers: Sequence[str], *, samples: int = 100, seed: int = 1, scale: float | None = None
) -> Grade:
    """Grades the answers to a task; each may be written as `q = ...`, and `scale` is as in `attend`."""
    if task not in TASKS:
        raise AugenmerkError(f"There is no task '{task}' to check; there are {', '.join(TASKS)}.")
    if samples < MIN_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too few to judge by; take {MIN_SAMPLES} or more.")
    if samples > MAX_SAMPLES:
        raise AugenmerkError(f"--samples {samples} is too many; take up to {MAX_SAMPLES:,}.")
    if task == "1.6":
        expressions = _parse_answers(task, answers, ("c_2",), grading_self.NAMES, samples)
        return grading_self.check_output(answers, expressions, samples, seed)
    if task == "1.7":
        expressions = _parse_answers(task, answers, ("K", "Q", "V"), grading_self.NAMES, samples)
        return grading_self.check_projections(answers, expressions, samples, seed)
    return _check_queries(task, answers, samples, seed, scale)


def _parse_answers(
    task: str, answers: Sequence[str], expected: Sequence[str], names: frozenset[str], evaluations: int
) -> list[Expression]:
    """Returns the expressions in the order of `expected`; answers with a name may come in any order."""
    if len(answers) != len(expected):
        shown = " ".join(f'--query "{name} = ..."' for name in expected)
        raise AugenmerkError(
            f"Task {task} asks for {' and '.join(expected)}: {len(expected)} of --query, not {len(answers)} "
            f"({shown})."
        )
    found: dict[str, Expression] = {}
    for number, answer in enumerate(answers):
        named = re.match(r"\s*(\w+)\s*=", answer)
        name = named[1] if named else expected[number]
        if name not in expected or name in found:
            raise AugenmerkError(f"'{answer}': task {task} asks for {', '.join(expected)}, each once.")
        found[name] = Expression(answer, named.end() if named else 0, evaluations)
        found[name].check_names(names)
    return [found[name] for name in expected]


def _check_queries(task: str, answers: Sequence[str], samples: int, seed: int, scale: float | None) -> Grade:
    heads = len(answers) if len(answers) in HEADS[task] else HEADS[task][0]
    expected = ("q",) if heads == 1 else tuple(f"q_{head + 1}" for head in range(heads))
    queries = _parse_answers(task, answers, expected, NAMES[task], samples * len(STRENGTHS))
    for condition in CONDITIONS[task]:  # what cannot be computed is refused before anything is tried
        [instance] = _draw_instances(task, condition, 1, np.random.default_rng(seed))
        names = {**instance.names, **condition.names(c=1.0)}
        for query in queries:
            query.value_of_shape(names, (condition.dim,), "a query is a vector like the keys")
    trials, scaled = [], []
    for number, condition in enumerate(CONDITIONS[task]):
        drawn = _draw_instances(task, condition, samples, np.random.default_rng([seed, number]))
        own = _try_answer(task, condition, queries, drawn, scale)
        _refuse_rounding(answers, own)
        trials.append(own)
        scaled.append(own if own.holds else _try_answer(task, condition, queries, drawn, scale, larger=True))
    holds = all(trial.holds for trial in trials)
    missing = not holds and all(trial.holds for trial in scaled)
    why = _explain_success(trials) if holds else _explain_failure(trials, scaled, missing)
    error, rows = max(trial.error for trial in trials), tuple(trial.as_row() for trial in trials)
    return Grade(task, holds, why, error, missing, tuple(answers), rows)


@dataclass(frozen=True)
class _Instance:
    names: Mapping[str, Array | float]
    keys: Array  # (m, d)
    covered: bool  # whether the claim covers these keys: lambda_a and lambda_b are above MIN_LAMBDA


def _draw_instances(task: str, condition: Condition, count: int, rng: np.random.Generator) -> list[_Instance]:
    if task == "1.1":
        return [_draw_copying(condition, rng) for _ in range(count)]
    noise = KeyNoise.of_norms(condition.keys, condition.beta)
    if task == "1.5":
        noise = KeyNoise.of_first(condition.keys, condition.beta, ALPHA)
    instances = []
    for _ in range(count):
        means = orthonormal(condition.keys, condition.dim, rng)
        [lambdas], [keys] = noise.sample(means, 1, rng)
        names: dict[str, Array | float] = {
            **{"k_a": keys[0], "k_b": keys[1], "mu_a": means[0], "mu_b": means[1]},
            **{"lambda_a": float(lambdas[0]), "lambda_b": float(lambdas[1])},
            **{"beta": condition.beta, "alpha": ALPHA},
        }
        covered = bool(min(lambdas[:2]) > MIN_LAMBDA)
        instances.append(_Instance({k: v for k, v in names.items() if k in NAMES[task]}, keys, covered))
    return instances


def _draw_copying(condition: Condition, rng: np.random.Generator) -> _Instance:
    """Draws keys such that the value of the first can be copied."""
    if condition.sort == "orthonormal":
        keys = orthonormal(condition.keys, condition.dim, rng)
    else:
        keys = rng.standard_normal((condition.keys, condition.dim))
        if condition.sort == "flat":
            keys *= rng.uniform(0.3, 3.0, size=(condition.keys, 1))
        # With a large margin: the question is whether the query is right, not whether c is large enough.
        first = next((j for j in rng.permutation(len(keys)) if reach(keys, [j]).margin > 0.2), None)
        if first is None:
            return _draw_copying(condition, rng)
        keys[[0, first]] = keys[[first, 0]]
    return _Instance({"k_j": keys[0], "k_mean": keys[1:].mean(axis=0)}, keys, True)


@dataclass(frozen=True)
class _Trial:
    """The answer under one condition, with the best c."""

    condition: Condition
    c: float  # 1 for an answer without c
    factor: float  # the number by which the whole answer was multiplied
    head_weights: Array  # (samples, heads, m)
    covered: NDArray[np.bool_]  # (samples)
    wanted: Array  # (m)
    largest_logit: float

    @cached_property
    def errors(self) -> Array:
        """The weight (samples) in the wrong place."""
        return total_variation(self.head_weights.mean(axis=1), self.wanted)

    @property
    def error(self) -> float:
        """The largest error of the samples that the claim covers."""
        return float(self.errors[self.covered].max())

    @property
    def holds(self) -> bool:
        return self.error <= TOLERANCE

    @property
    def targets(self) -> int:
        """How many keys should be attended to: the first one, or the first two."""
        return int((self.wanted > 0).sum())

    @property
    def weights(self) -> Array:
        """The mean weights (m) over heads and covered samples."""
        return np.asarray(self.head_weights[self.covered].mean(axis=(0, 1)))

    @property
    def first_weights(self) -> Array:
        """The weight on the first value in each covered sample, averaged over heads."""
        return np.asarray(self.head_weights[self.covered].mean(axis=1)[:, 0])

    def as_row(self) -> dict[str, Any]:
        missed = (self.errors[~self.covered] > TOLERANCE).sum() / len(self.covered)
        return {
            **vars(self.condition),
            **{"c": self.c, "weights": self.weights[: self.targets].tolist()},
            **{"deviation": float(self.first_weights.std()), "error": self.error, "holds": self.holds},
            **{"samples": len(self.covered), "outside_the_claim": float(1 - self.covered.mean())},
            "outside_the_claim_and_missed": float(missed),
        }


def _try_answer(
    task: str,
    condition: Condition,
    answers: Sequence[Expression],
    samples: Sequence[_Instance],
    scale: float | None,
    larger: bool = False,
) -> _Trial:
    """Returns the trial with the best c, or, if `larger`, the one that holds with the smallest factor."""
    scale = choose_scale(scale, condition.dim)
    wanted = np.zeros(condition.keys)
    wanted[: 1 if task == "1.1" else 2] = 1.0 if task == "1.1" else 0.5
    has_c = any(answer.names & {"c", "t"} for answer in answers)
    covered = np.array([sample.covered for sample in samples])
    trials = []
    for strength in STRENGTHS if has_c else STRENGTHS[:1]:
        c = strength / scale
        products = []
        with np.errstate(all="ignore"):  # _refuse_rounding refuses logits that are too large
            for sample in samples:
                queries = np.stack(
                    [answer.value({**sample.names, **condition.names(c)}) for answer in answers]
                )
                products.append(queries @ sample.keys.T)
            logits = scale * np.stack(products)  # (samples, heads, m)
        # The size of the weaker head decides how much larger the answer has to be.
        size = float(np.median(np.abs(logits).max(axis=2), axis=0).min())
        for factor in (1.0, *factors_to_try(size)) if larger else (1.0,):
            grown, own_c = logits * factor, c if has_c else 1.0
            largest = float(np.abs(grown).max())
            trials.append(_Trial(condition, own_c, factor, softmax(grown), covered, wanted, largest))
    holding = [trial for trial in trials if trial.holds]
    if larger and holding:
        return min(holding, key=lambda trial: trial.factor)
    # The smallest of the sizes that are equally good up to rounding.
    return min(trials, key=lambda trial: (round(trial.error, 6), trial.factor, trial.c))


def _refuse_rounding(answers: Sequence[str], trial: _Trial) -> None:
    """Raises AugenmerkError if rounding may have decided, so that there is no verdict about the answer."""
    limits = np.finfo(np.float64)
    accurate = limits.tiny / limits.eps <= trial.largest_logit <= ROUNDING / limits.eps
    if trial.holds or not trial.largest_logit or accurate:
        return
    size, other = ("small", "larger") if trial.largest_logit < 1 else ("large", "smaller")
    raise AugenmerkError(
        f"'{'; '.join(answers)}' makes logits of {trial.largest_logit:.0e} for {trial.condition}, so {size} "
        f"that their rounding decides and not the answer; choose a {other} number, or c, for which several "
        "sizes are tried."
    )


def _explain_success(trials: Sequence[_Trial]) -> str:
    worst = max(trials, key=lambda trial: trial.error)
    error = "less than 0.0001" if worst.error < 0.0001 else f"no more than {worst.error:.4f}"
    what = "v_j" if worst.targets == 1 else "(v_a + v_b)/2"
    largest = max((trial.condition for trial in trials), key=lambda condition: condition.keys)
    why = f"{error} of the weight misses {what}, in any of {len(trials)} conditions up to {largest}"
    astray = max((trial.as_row() for trial in trials), key=lambda row: row["outside_the_claim"])
    if uncovered := astray["outside_the_claim"]:
        why += (
            f"; that is for lambda above {MIN_LAMBDA}: with beta {astray['beta']:g}, {uncovered:.0%} of the "
            "samples have a lambda_a or lambda_b below it, and "
            f"{astray['outside_the_claim_and_missed'] / uncovered:.0%} of these miss"
        )
    return why + "."


def _explain_failure(trials: Sequence[_Trial], scaled: Sequence[_Trial], missing_scale: bool) -> str:
    """Explains the first condition that fails, and then the first that fails with any scale."""
    trial, larger = next((own, large) for own, large in zip(trials, scaled, strict=True) if not own.holds)
    one_head = trial.head_weights.shape[1] == 1
    if any(each.holds for each in trials):
        lack = "the query is too short" if one_head else "the queries are too short"
    else:
        lack = "the query has no scale" if one_head else "the queries have no scale"
    targets = "weight on j reaches" if trial.targets == 1 else "weights on a and b reach"
    weights = [f"{weight:.2f}" for weight in trial.weights[: trial.targets]]
    numbers = f"{weights[0]} each" if weights == weights[:1] * 2 else " and ".join(weights)
    small = f"the {targets} only {numbers} for {trial.condition}: {lack}"
    if missing_scale:
        enough = f"{larger.factor:g} times as large it holds there"
        return f"{small}; {enough}, so the scale is all that is missing."
    reason = _explain_misses(next(each for each in scaled if not each.holds))
    # A scale is missing as well if the answer does something else when it is larger.
    if larger.factor != 1 and larger.error < trial.error - TOLERANCE:
        return f"{small}; and a scale would not save it: {reason}."
    return f"{reason}."


def _explain_misses(trial: _Trial) -> str:
    """Explains why even the best scale does not help."""
    where = f"for {trial.condition}"
    first = trial.first_weights
    if trial.targets == 1:
        lost = float((first < 0.5).mean())
        return (
            f"{where} another key has the larger product with the query in {lost:.0%} of the instances "
            f"(weight on j down to {first.min():.2f})"
        )
    standard_error = first.std() / np.sqrt(len(first))
    if total_variation(trial.weights, trial.wanted) <= TOLERANCE + 3 * standard_error:
        low, high = np.quantile(first, [0.05, 0.95])
        return (
            f"{where} only the mean over resamplings is right: in single samples the weight on a goes from "
            f"{low:.2f} to {high:.2f} (deviation {first.std():.2f}), because q.k_a and q.k_b differ as the "
            "keys do"
        )
    text = f"{where} the weights on a and b come to {trial.weights[0]:.2f} and {trial.weights[1]:.2f}"
    heads = trial.head_weights[trial.covered].mean(axis=0)
    if len(heads) > 1:
        each = [f"head {n} puts {head[0]:.2f} on a and {head[1]:.2f} on b" for n, head in enumerate(heads, 1)]
        text += f" ({', '.join(each)})"
    return text + ", instead of 0.50 and 0.50"
