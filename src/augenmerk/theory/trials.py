"""Random instances of tasks 1.1 to 1.5, and an answer tried on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.theory.answers import SCALES, Answers
from augenmerk.theory.attention import Array, choose_scale, orthonormal, softmax, total_variation
from augenmerk.theory.copying import reach
from augenmerk.theory.grading_self import MAX_LOGIT, factors_to_try
from augenmerk.theory.noise import KeyNoise

TOLERANCE = 0.02  # an answer holds if no more weight than this is in the wrong place
STRENGTHS = (10.0, 30.0, 100.0, 1000.0, 10_000.0)
"""The values of c times the scale of the logits that are tried: c is free, so the best one counts."""
MIN_LAMBDA = 0.05
"""The claims are about keys of positive length; samples with a lambda below this are counted separately."""
ALPHA = 1e-20
"""The variance in all directions in 1.5: tiny, as the task says, so that no size of c makes it matter."""


@dataclass(frozen=True)
class Condition:
    keys: int
    dim: int
    beta: float = 0.0
    sort: str = "orthonormal"
    """The kind of keys in 1.1: orthonormal, random, or flat (few dimensions, very different lengths)."""
    first_only: bool = False
    """Whether only the first key is noisy, as in 1.5, which has no name for the variance."""

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that an answer may use in every task, without those that the reader may choose."""
        return {"d": float(self.dim), "m": float(self.keys), "e": math.e}

    def __str__(self) -> str:
        kind = {"random": "random keys", "flat": "keys of unequal length"}.get(self.sort, "keys")
        noise = f" with beta {self.beta:g}" if self.beta and not self.first_only else ""
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
    "1.5": tuple(Condition(*sizes, 0.5, first_only=True) for sizes in ((8, 64), (3, 4), (64, 256))),
}
_SIZES = SCALES | {"d", "m", "e"}
_OF_PAIR = _SIZES | {"k_a", "k_b", "mu_a", "mu_b"}
NAMES: Mapping[str, frozenset[str]] = {
    "1.1": _SIZES | {"k_j", "k_mean", "h_j"},
    "1.2": _OF_PAIR,
    "1.3": _OF_PAIR | {"lambda_a", "lambda_b", "beta"},
    "1.4": _OF_PAIR | {"lambda_a", "lambda_b", "beta"},
    "1.5": _OF_PAIR | {"alpha"},
}


@dataclass(frozen=True)
class Instance:
    names: Mapping[str, Array | float]
    keys: Array  # (m, d)
    covered: bool  # whether the claim covers these keys: lambda_a and lambda_b are above MIN_LAMBDA


@lru_cache(maxsize=4)  # the conditions of one task, since a class answers it many times
def draw_instances(task: str, number: int, count: int, seed: int) -> list[Instance]:
    """Draws instances of a task under the condition with this number, the same for the same seed."""
    return _draw(task, CONDITIONS[task][number], count, np.random.default_rng([seed, number]))


def draw_instance(task: str, condition: Condition, seed: int) -> Instance:
    """Draws a single instance, on which an answer can be tried at once."""
    return _draw(task, condition, 1, np.random.default_rng(seed))[0]


def _draw(task: str, condition: Condition, count: int, rng: np.random.Generator) -> list[Instance]:
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
            **{"k_a": keys[0], "k_b": keys[1], "mu_a": means[0].copy(), "mu_b": means[1].copy()},
            **{"lambda_a": float(lambdas[0]), "lambda_b": float(lambdas[1])},
            **{"beta": condition.beta, "alpha": ALPHA},
        }
        covered = bool(min(lambdas[:2]) > MIN_LAMBDA)
        instances.append(Instance({k: v for k, v in names.items() if k in NAMES[task]}, keys, covered))
    return instances


def _draw_copying(condition: Condition, rng: np.random.Generator) -> Instance:
    """Draws keys such that the value of the first can be copied."""
    if condition.sort == "orthonormal":
        keys = orthonormal(condition.keys, condition.dim, rng)
        nearest = keys[1:].mean(axis=0)  # by symmetry
    else:
        keys = rng.standard_normal((condition.keys, condition.dim))
        if condition.sort == "flat":
            keys *= rng.uniform(0.3, 3.0, size=(condition.keys, 1))
        # With a large margin: the question is whether the query is right, not whether c is large enough.
        found = (reach(keys, [j]) for j in rng.permutation(len(keys)))
        best = next((each for each in found if each.margin > 0.2), None)
        if best is None:
            return _draw_copying(condition, rng)
        nearest, [first] = best.hull_weights @ keys, best.subset
        keys[[0, first]] = keys[[first, 0]]
    names = {"k_j": keys[0], "k_mean": keys[1:].mean(axis=0), "h_j": nearest}
    return Instance(names, keys, True)


@dataclass(frozen=True)
class Trial:
    """The answer under one condition, with the best c."""

    condition: Condition
    c: float  # 1 for an answer without c
    factor: float  # the number by which the whole answer was multiplied
    logits: Array  # (samples, heads, m)
    covered: NDArray[np.bool_]  # (samples)
    wanted: Array  # (m)
    along_first: bool  # whether the first query is a multiple of the first key, in every sample
    is_limit: bool = False  # whether the answer was multiplied by a very large number to see what it tends to

    @cached_property
    def head_weights(self) -> Array:
        """The weights (samples, heads, m)."""
        return softmax(self.logits)

    @property
    def largest_logit(self) -> float:
        return float(np.abs(self.logits).max())

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
        hidden = {"first_only", "beta"} if self.condition.first_only else {"first_only"}
        return {
            **{name: value for name, value in vars(self.condition).items() if name not in hidden},
            **{"c": self.c * self.factor, "weights": self.weights[: self.targets].tolist()},
            **{"deviation": float(self.first_weights.std()), "error": self.error, "holds": self.holds},
            **{"samples": len(self.covered), "outside_the_claim": float(1 - self.covered.mean())},
            "outside_the_claim_and_missed": float(missed),
        }


def try_sizes(
    task: str, condition: Condition, answers: Answers, instances: Sequence[Instance], scale: float | None
) -> list[Trial]:
    """Returns a trial for each value of c, or one trial for an answer without c."""
    scale = choose_scale(scale, condition.dim)
    sizes = [strength / scale for strength in (STRENGTHS if answers.free else STRENGTHS[:1])]
    trials = [_try_size(task, condition, answers, instances, scale, c) for c in sizes]
    if answers.free - SCALES and not any(trial.holds for trial in trials):
        # A number of another name, such as tau, may be meant to be small.
        small = [_try_size(task, condition, answers, instances, scale, 1 / c) for c in sizes]
        trials += [trial for trial in small if trial.holds]
    return trials


def choose_best(trials: Sequence[Trial]) -> Trial:
    """Returns the best trial, with the smallest of the sizes that are equally good up to rounding.

    What only holds at some size is not enough, since the tasks ask for a value as nearly as one likes: where
    an answer fails in the limit of a large scale, the limit is returned.
    """
    best = min(trials, key=lambda trial: (round(trial.error, 6), trial.factor, trial.c))
    if not best.holds:
        return best
    accurate = [trial for trial in trials if trial.largest_logit <= MAX_LOGIT]
    limit = _enlarge_to_limit(max(accurate, key=lambda trial: trial.largest_logit, default=best))
    return best if limit.holds else limit


def _enlarge_to_limit(trial: Trial) -> Trial:
    size = trial.largest_logit
    factor = MAX_LOGIT / size if 0 < size < MAX_LOGIT else 1.0
    return replace(trial, factor=factor, logits=trial.logits * factor, is_limit=True)


def enlarge(trials: Sequence[Trial]) -> Trial:
    """Multiplies the answer by numbers; returns the trial that holds with the smallest, or the best trial."""
    larger = list(trials)
    for trial in trials:
        # The size of the weaker head decides how much larger the answer has to be.
        size = float(np.median(np.abs(trial.logits).max(axis=2), axis=0).min())
        larger += [replace(trial, factor=by, logits=trial.logits * by) for by in factors_to_try(size)]
    best = choose_best(larger)
    holding = [trial for trial in larger if trial.holds] if best.holds else []
    return min(holding, key=lambda trial: (trial.factor, trial.c), default=best)


def _try_size(
    task: str,
    condition: Condition,
    answers: Answers,
    instances: Sequence[Instance],
    scale: float,
    c: float,
) -> Trial:
    wanted = np.zeros(condition.keys)
    wanted[: 1 if task == "1.1" else 2] = 1.0 if task == "1.1" else 0.5
    covered = np.array([instance.covered for instance in instances])
    chosen = {**condition.numbers, **dict.fromkeys(answers.free, c)}
    products, along = [], True
    with np.errstate(all="ignore"):  # logits that are too large are refused when all are known
        for instance in instances:
            names, shape = {**instance.names, **chosen}, (condition.dim,)
            rule = "a query is a vector like the keys"
            queries = np.stack([each.value_of_shape(names, shape, rule) for each in answers.expressions])
            products.append(queries @ instance.keys.T)
            along = along and _are_parallel(queries[0], instance.keys[0])
        logits = scale * np.stack(products)  # (samples, heads, m)
    return Trial(condition, c if answers.free else 1.0, 1.0, logits, covered, wanted, along)


def _are_parallel(one: Array, other: Array) -> bool:
    size = float(np.linalg.norm(one))
    return size > 0 and float(one @ other) / size > (1 - 1e-9) * float(np.linalg.norm(other))
