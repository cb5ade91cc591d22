"""Random instances of the exercises that ask for queries, and what an answer does on them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.theory.attention import Array, orthonormal, softmax, total_variation
from augenmerk.theory.copying import reach
from augenmerk.theory.letters import Letters
from augenmerk.theory.noise import KeyNoise

TOLERANCE = 0.02  # an answer holds if no more weight than this is in the wrong position
LIMIT = 1e-5  # the same where letters are as large or as small as can be
FEW = 8  # samples with which the choice of letters is looked for
MAX_LOGIT = 1e9  # logits up to this are known to within LIMIT: a product may lose dozens of its last units
MIN_LAMBDA = 0.05
"""The claims are about keys of positive length; samples with a lambda below this are counted separately."""
ALPHA = 1e-36
"""The variance in all directions in 1.5: tiny, as the task says, so that no size of c makes it matter."""
FAR = 1e5
"""How far keys are from the origin where it must not matter, so that nothing but k_j - h_j is right."""


@dataclass(frozen=True)
class Condition:
    keys: int
    dim: int
    beta: float = 0.0
    sort: str = "orthonormal"
    """The kind of keys in 1.1: orthonormal, random, flat (few dimensions, very different lengths) or far
    (random, and all of them far from the origin)."""
    first_only: bool = False
    """Whether only the first key is noisy, as in 1.5, which has no name for the variance."""

    def __str__(self) -> str:
        kinds = {"random": "random keys", "flat": "keys of unequal length", "far": "keys far from 0"}
        noise = f" with beta {self.beta:g}" if self.beta and not self.first_only else ""
        return f"{self.keys} {kinds.get(self.sort, 'keys')} in {self.dim} dimensions{noise}"


@dataclass(frozen=True)
class Instances:
    """Many instances of a task under one condition.

    Vectors are given by their coordinates in the span of those that have names, which is all that matters of
    them: whatever the dimension, there are no more than four.
    """

    names: Mapping[str, Array]  # (N) or (N, r)
    keys: Array  # (N, m, r)
    covered: NDArray[np.bool_]  # (N): whether the claim covers them: lambda_a, lambda_b are above MIN_LAMBDA

    def few(self) -> "Instances":
        """Returns the first instances that the claim covers."""
        first = np.flatnonzero(self.covered)[:FEW]
        names = {name: values[first] for name, values in self.names.items()}
        return Instances(names, self.keys[first], self.covered[first])


@lru_cache(maxsize=5)  # the conditions of one task, since a class answers it many times
def draw_instances(
    known: frozenset[str], condition: Condition, count: int, seeds: tuple[int, int]
) -> Instances:
    """Draws instances of the task with these names under a condition, the same for the same seeds."""
    rng = np.random.default_rng(seeds)
    draw = _draw_copying if "k_j" in known else _draw_pair
    keys, all_names = [], []
    for _ in range(count):
        own, names = draw(condition, rng)
        vectors = [value for value in names.values() if isinstance(value, np.ndarray)]
        basis, _ = np.linalg.qr(np.stack(vectors, axis=1))
        keys.append(own @ basis)
        all_names.append({n: v @ basis if isinstance(v, np.ndarray) else v for n, v in names.items()})
    joined = {name: np.array([names[name] for names in all_names]) for name in all_names[0]}
    covered = np.ones(count, np.bool_)
    for name in {"lambda_a", "lambda_b"} & joined.keys():
        covered &= joined[name] > MIN_LAMBDA
    offered = {name: values for name, values in joined.items() if name in known}
    return Instances(offered, np.stack(keys), covered)


def _draw_pair(condition: Condition, rng: np.random.Generator) -> tuple[Array, dict[str, Array | float]]:
    """Draws noisy keys (m, d), the values of the first two of which are to be averaged, and names."""
    noise = KeyNoise.of_norms(condition.keys, condition.beta)
    if condition.first_only:
        noise = KeyNoise.of_first(condition.keys, condition.beta, ALPHA)
    means = orthonormal(condition.keys, condition.dim, rng)
    [lambdas], [keys] = noise.sample(means, 1, rng)
    return keys, {
        **{"k_a": keys[0], "k_b": keys[1], "mu_a": means[0].copy(), "mu_b": means[1].copy()},
        **{"lambda_a": float(lambdas[0]), "lambda_b": float(lambdas[1])},
        **{"beta": condition.beta, "alpha": ALPHA},
    }


def _draw_copying(condition: Condition, rng: np.random.Generator) -> tuple[Array, dict[str, Array | float]]:
    """Draws keys such that the value of the first can be copied, and names."""
    if condition.sort == "orthonormal":
        keys = orthonormal(condition.keys, condition.dim, rng)
        nearest = keys[1:].mean(axis=0)  # by symmetry
    else:
        keys = rng.standard_normal((condition.keys, condition.dim))
        if condition.sort == "flat":
            keys *= rng.uniform(0.3, 3.0, size=(condition.keys, 1))
        if condition.sort == "far":
            keys += FAR * orthonormal(1, condition.dim, rng)
        # With a large margin: the question is whether the query is right, not whether c is large enough.
        found = (reach(keys, [j]) for j in rng.permutation(len(keys)))
        best = next((each for each in found if each.margin > 0.2), None)
        if best is None:
            return _draw_copying(condition, rng)
        nearest, [first] = best.hull_weights @ keys, best.subset
        keys[[0, first]] = keys[[first, 0]]
    return keys, {"k_j": keys[0], "k_mean": keys[1:].mean(axis=0), "h_j": nearest}


@dataclass(frozen=True)
class Trial:
    """The answer under one condition."""

    condition: Condition
    letters: Letters
    logits: Array  # (samples, heads, m)
    covered: NDArray[np.bool_]  # (samples)
    targets: int  # how many of the first keys the answer should attend to: one or two
    factor: float = 1.0  # the number by which the whole answer was multiplied
    is_limit: bool = False  # whether letters, or a factor, are as large as can be, to see what it tends to

    @cached_property
    def head_weights(self) -> Array:
        """The weights (samples, heads, m)."""
        return softmax(self.logits)

    @property
    def wanted(self) -> Array:
        """The weights (m) that the answer should give."""
        return np.repeat([1 / self.targets, 0.0], [self.targets, self.condition.keys - self.targets])

    @cached_property
    def errors(self) -> Array:
        """The weight (samples) in the wrong position."""
        return total_variation(self.head_weights.mean(axis=1), self.wanted)

    @property
    def error(self) -> float:
        """The largest error of the samples that the claim covers."""
        return float(self.errors[self.covered].max())

    @property
    def holds(self) -> bool:
        return self.error <= (LIMIT if self.is_limit else TOLERANCE)

    @property
    def weights(self) -> Array:
        """The mean weights (m) over heads and covered samples."""
        return np.asarray(self.head_weights[self.covered].mean(axis=(0, 1)))

    @property
    def first_weights(self) -> Array:
        """The weight on the first value in each covered sample, averaged over heads."""
        return np.asarray(self.head_weights[self.covered].mean(axis=1)[:, 0])

    def as_row(self) -> dict[str, Any]:
        hidden = {"first_only", "beta"} if self.condition.first_only else {"first_only"}
        return {
            **{name: value for name, value in vars(self.condition).items() if name not in hidden},
            **{"letters": dict(self.letters), "times": self.factor},
            **{"weights": self.weights[: self.targets].tolist()},
            **{"deviation": float(self.first_weights.std()), "error": self.error, "holds": self.holds},
            **{"samples": len(self.covered), "outside_the_claim": float(1 - self.covered.mean())},
        }

    def to_limit(self) -> "Trial":
        """Multiplies each head by a number that is as large as rounding allows."""
        sizes = np.abs(self.logits[self.covered]).max(axis=(0, 2))
        factors = np.where(sizes > 0, MAX_LOGIT / np.where(sizes > 0, sizes, 1.0), 1.0)
        logits = self.logits * factors[:, None]
        return replace(self, factor=float(factors.max()), logits=logits, is_limit=True)

    def enlarge(self) -> "Trial":
        """Multiplies a failing answer by 2, 5, 10, ... until it holds; returns its limit if none helps."""
        limit = self.to_limit()
        # The size of the weaker head decides how much larger the answer has to be.
        size = float(np.median(np.abs(self.logits[self.covered]).max(axis=2), axis=0).min())
        if not limit.holds or not size:
            return limit
        first = max(0, math.floor(-math.log10(size)))
        # From text, because 2 times 10^23 is not quite 2e23.
        factors = (float(f"{digit}e{power}") for power in range(first, first + 9) for digit in (1, 2, 5))
        larger = (replace(self, factor=by, logits=self.logits * by) for by in factors if by * size <= 1e6)
        return next((each for each in larger if each.holds), limit)
