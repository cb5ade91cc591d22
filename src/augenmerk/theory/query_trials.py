"""A reader's queries for tasks 1.1 to 1.5, tried on random instances, unfriendly ones included."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augenmerk.theory.attention import Array, softmax, total_variation, usual_scale
from augenmerk.theory.expressions import Expression
from augenmerk.theory.noise import KeyNoise, orthonormal
from augenmerk.theory.reach import reach

TOLERANCE = 0.02
"""An answer holds where no more weight than this lies in the wrong place."""
STRENGTHS = (10.0, 30.0, 100.0, 1000.0, 10_000.0)
"""What c times the scale of the scores is tried with: c is the reader's to choose, so the best one counts."""
STRONGEST = 1e6
"""Up to so large a size is an answer tried that may lack a scale; rounding spoils nothing yet."""
ROUNDING = 1e-3
"""Where the last digit of a logit is worth more than this, rounding may decide instead of the answer."""
LEAST_LAMBDA = 0.05
"""The claims are about keys that stay positive; samples below this are counted apart."""
ALPHA = 1e-6
"""1.5: the variance of all directions."""


@dataclass(frozen=True)
class Condition:
    keys: int
    dim: int
    beta: float = 0.0
    sort: str = "orthonormal"
    """Of the keys, for 1.1: orthonormal, random, or flat (few dimensions, very different lengths)."""

    def in_words(self) -> str:
        words = f"{self.keys} keys in {self.dim} dimensions"
        if self.sort == "random":
            words = f"{self.keys} random keys in {self.dim} dimensions"
        elif self.sort == "flat":
            words = f"{self.keys} keys of unequal length in {self.dim} dimensions"
        return words + (f" with beta {self.beta:g}" if self.beta else "")


CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "1.1": (
        Condition(8, 64),
        Condition(64, 256),
        Condition(8, 64, sort="random"),
        Condition(8, 2, sort="flat"),
    ),
    "1.2": (Condition(8, 64), Condition(3, 4), Condition(64, 256), Condition(200, 200)),
    "1.3": (Condition(8, 64, 0.1), Condition(3, 4, 0.01), Condition(64, 256, 0.1), Condition(8, 64, 0.5)),
    "1.4": (Condition(8, 64, 0.1), Condition(3, 4, 0.01), Condition(64, 256, 0.1), Condition(8, 64, 0.5)),
    "1.5": (Condition(8, 64, 0.5), Condition(3, 4, 0.5), Condition(64, 256, 0.5)),
}
HEADS: Mapping[str, tuple[int, ...]] = {"1.1": (1,), "1.2": (1,), "1.3": (1,), "1.4": (2,), "1.5": (1, 2)}
_SHARED = frozenset({"c", "t", "d", "m"})
NAMES: Mapping[str, frozenset[str]] = {
    "1.1": _SHARED | {"k_j", "k_mean"},
    "1.2": _SHARED | {"k_a", "k_b", "mu_a", "mu_b"},
    "1.3": _SHARED | {"k_a", "k_b", "mu_a", "mu_b", "lambda_a", "lambda_b", "beta"},
    "1.4": _SHARED | {"k_a", "k_b", "mu_a", "mu_b", "lambda_a", "lambda_b", "beta"},
    "1.5": _SHARED | {"k_a", "k_b", "mu_a", "mu_b", "alpha"},
}


@dataclass(frozen=True)
class Instance:
    names: Mapping[str, Array | float]
    keys: Array  # (m, d)
    fair: bool
    """Whether the keys are as the claim supposes: lambda above LEAST_LAMBDA."""


@dataclass(frozen=True)
class Trial:
    """The answer under one condition, with the c that served it best."""

    condition: Condition
    c: float
    """1 for an answer without a c."""
    factor: float
    """What the whole answer was multiplied by."""
    head_weights: Array  # (samples, heads, m)
    fair: NDArray[np.bool_]  # (samples)
    wanted: Array  # (m)
    largest_logit: float

    @property
    def rounding_may_decide(self) -> bool:
        """Logits whose last digit matters, or so small that most of their digits are lost."""
        limits = np.finfo(np.float64)
        return not limits.tiny / limits.eps <= self.largest_logit <= ROUNDING / limits.eps

    @property
    def errors(self) -> Array:
        """(samples): the weight that lies in the wrong place."""
        return total_variation(self.head_weights.mean(axis=1), self.wanted)

    @property
    def error(self) -> float:
        """The worst of the fair samples."""
        return float(self.errors[self.fair].max())

    @property
    def holds(self) -> bool:
        return self.error <= TOLERANCE

    @property
    def targets(self) -> int:
        """How many keys should be attended to: the first one, or the first two."""
        return int((self.wanted > 0).sum())

    @property
    def weights(self) -> Array:
        """(m): averaged over heads and fair samples."""
        return np.asarray(self.head_weights[self.fair].mean(axis=(0, 1)))

    @property
    def mean_is_right(self) -> bool:
        """Whether the mean over the samples may be what is wanted, chance allowed for."""
        error = total_variation(self.weights, self.wanted)
        return bool(error <= TOLERANCE + 3 * self.first_weights.std() / np.sqrt(self.fair.sum()))

    @property
    def first_weights(self) -> Array:
        """(fair samples): what the heads together take of the first value."""
        return np.asarray(self.head_weights[self.fair].mean(axis=1)[:, 0])

    @property
    def unfair_rate(self) -> float:
        return float(1 - self.fair.mean())

    @property
    def unfair_failures(self) -> float:
        """How many of the unfair samples miss, in parts of all samples."""
        return float((self.errors[~self.fair] > TOLERANCE).sum() / len(self.fair))


def instances(task: str, condition: Condition, count: int, chance: np.random.Generator) -> list[Instance]:
    """Random ones, as the task has them."""
    if task == "1.1":
        return [_copying(condition, chance) for _ in range(count)]
    made = []
    for _ in range(count):
        means = orthonormal(condition.keys, condition.dim, chance)
        if task == "1.5":
            noise = KeyNoise.of_first(condition.keys, condition.beta, ALPHA)
        else:
            noise = KeyNoise.of_norms(condition.keys, condition.beta)
        [lambdas], [keys] = noise.sample(means, 1, chance)
        names: dict[str, Array | float] = {
            "k_a": keys[0],
            "k_b": keys[1],
            "mu_a": means[0],
            "mu_b": means[1],
            "lambda_a": float(lambdas[0]),
            "lambda_b": float(lambdas[1]),
            "beta": condition.beta,
            "alpha": ALPHA,
        }
        fair = bool(min(lambdas[:2]) > LEAST_LAMBDA)
        made.append(Instance({k: v for k, v in names.items() if k in NAMES[task]}, keys, fair))
    return made


def _copying(condition: Condition, chance: np.random.Generator) -> Instance:
    """Keys of which the first can be copied."""
    if condition.sort == "orthonormal":
        keys = orthonormal(condition.keys, condition.dim, chance)
    else:
        keys = chance.standard_normal((condition.keys, condition.dim))
        if condition.sort == "flat":
            keys *= chance.uniform(0.3, 3.0, size=(condition.keys, 1))
        # By a fair margin: the question is whether the query is right, not whether c is large enough.
        first = next((j for j in chance.permutation(len(keys)) if reach(keys, [j]).margin > 0.2), None)
        if first is None:
            return _copying(condition, chance)
        keys[[0, first]] = keys[[first, 0]]
    return Instance({"k_j": keys[0], "k_mean": keys[1:].mean(axis=0)}, keys, True)


def try_out(
    task: str,
    condition: Condition,
    answers: Sequence[Expression],
    samples: Sequence[Instance],
    scale: float | None,
    larger: bool = False,
) -> Trial:
    """The trial with the best choice of c; or, if the answer may be made `larger`, with the smallest factor
    that will do."""
    of_scores = usual_scale(condition.dim) if scale is None else scale
    wanted = np.zeros(condition.keys)
    wanted[: 1 if task == "1.1" else 2] = 1.0 if task == "1.1" else 0.5
    free = any(answer.names & {"c", "t"} for answer in answers)
    fair = np.array([sample.fair for sample in samples])
    trials = []
    for strength in STRENGTHS if free else STRENGTHS[:1]:
        c = strength / of_scores
        sizes = {"c": c, "t": c, "d": float(condition.dim), "m": float(condition.keys)}
        queries = [[answer.value({**s.names, **sizes}) for answer in answers] for s in samples]
        with np.errstate(all="ignore"):  # what is too large for a logit is refused by name
            logits = of_scores * np.stack(
                [np.stack(query) @ sample.keys.T for query, sample in zip(queries, samples, strict=True)]
            )  # (samples, heads, m)
        # Of the weaker head: the other may be as strong as it likes.
        size = float(np.median(np.abs(logits).max(axis=2), axis=0).min())
        for factor in (1.0, *factors_for(size)) if larger else (1.0,):
            grown = logits * factor
            trials.append(
                Trial(
                    condition,
                    c if free else 1.0,
                    factor,
                    softmax(grown),
                    fair,
                    wanted,
                    float(np.abs(grown).max()),
                )
            )
    if larger and any(trial.holds for trial in trials):
        return min((trial for trial in trials if trial.holds), key=lambda trial: trial.factor)
    # Of sizes that are equally good but for rounding, the smallest.
    return min(trials, key=lambda trial: (round(trial.error, 6), trial.factor, trial.c))


def factors_for(size: float, strongest: float = STRONGEST) -> list[float]:
    """1, 2, 5, 10, 20 and so on, above 1: those that make something of this size between 1 and `strongest`.

    So an answer is made larger as far as it needs, however small it is.
    """
    if not size:
        return []
    first, last = -math.log10(size), math.log10(strongest) - math.log10(size)
    decades = range(max(0, math.floor(first)), max(0, math.ceil(last)) + 1)
    # By way of text: 2 times 10^23 is not quite 2e23.
    tried = [float(f"{digit}e{decade}") for decade in decades for digit in (1, 2, 5)]
    return [factor for factor in tried if 1 < factor < math.inf and factor * size <= strongest]
