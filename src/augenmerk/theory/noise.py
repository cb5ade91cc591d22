"""1.3, 1.4 and 1.5 by simulation: keys that come out differently each time.

    k_i = lambda_i mu_i + noise,  lambda_i ~ N(1, beta_i),  noise ~ N(0, alpha I),  mu orthonormal

so that k_i ~ N(mu_i, alpha I + beta_i mu_i mu_i^T). 1.3 and 1.4 have one beta and no alpha; 1.5 has a beta of
one half for the first key, 0 for the others, and a small alpha.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import expit

from augenmerk.theory.attention import Array, softmax, usual_scale

Origin = Literal["means", "keys"]
"""What a query is made of: the means, which are known beforehand, or the keys as they came out."""

AT_ONCE = 4_000_000
"""Numbers in the keys that are in memory at a time."""


@dataclass(frozen=True)
class KeyNoise:
    betas: Array  # (m): the variance of each key's length along its mean
    alpha: float = 0.0
    """The variance of everything else."""

    @classmethod
    def of_norms(cls, keys: int, beta: float) -> "KeyNoise":
        """1.3 and 1.4."""
        return cls(np.full(keys, float(beta)))

    @classmethod
    def of_first(cls, keys: int, beta: float, alpha: float) -> "KeyNoise":
        """1.5."""
        return cls(np.array([beta, *[0.0] * (keys - 1)]), alpha)

    def sample(self, means: Array, count: int, chance: np.random.Generator) -> tuple[Array, Array]:
        """lambdas (N, m) and keys (N, m, d)."""
        lambdas = 1 + chance.standard_normal((count, len(means))) * np.sqrt(self.betas)
        keys = lambdas[:, :, None] * means
        if self.alpha:
            keys += math.sqrt(self.alpha) * chance.standard_normal(keys.shape)
        return lambdas, keys


Queries = Callable[[Array, Array], Array]
"""From the means (m, d) and the sampled keys (N, m, d) to the queries of N samples (N, heads, d)."""


def one_head(strength: float, origin: Origin = "means", subset: tuple[int, ...] = (0, 1)) -> Queries:
    """The strategy of 1.2: one query, c times the sum over the subset."""

    def queries(means: Array, keys: Array) -> Array:
        if origin == "keys":
            return np.asarray(strength * keys[:, list(subset)].sum(1, keepdims=True))
        return np.broadcast_to(strength * means[list(subset)].sum(0), (len(keys), 1, means.shape[1]))

    return queries


def a_head_each(strength: float, origin: Origin = "means", subset: tuple[int, ...] = (0, 1)) -> Queries:
    """The strategy of 1.4: a query for each of the subset, c times its mean (or its key)."""

    def queries(means: Array, keys: Array) -> Array:
        if origin == "keys":
            return strength * keys[:, list(subset)]
        return np.broadcast_to(strength * means[list(subset)], (len(keys), len(subset), means.shape[1]))

    return queries


@dataclass(frozen=True)
class Resamplings:
    lambdas: Array  # (N, m)
    logits: Array  # (N, heads, m)

    @cached_property
    def head_weights(self) -> Array:
        """(N, heads, m)"""
        return softmax(self.logits)

    @property
    def weights(self) -> Array:
        """(N, m): what the mean over the heads takes of each value."""
        return np.asarray(self.head_weights.mean(axis=1))

    @property
    def share(self) -> Array:
        """(N): of the weight of the first head on the first two keys, how much is on the first."""
        return np.asarray(expit(self.logits[:, 0, 0] - self.logits[:, 0, 1]))

    def outputs(self, values: Array) -> Array:
        """(N, dv)."""
        return np.asarray(self.weights @ values)


def resample(
    means: Array,
    noise: KeyNoise,
    queries: Queries,
    count: int,
    chance: np.random.Generator,
    scale: float | None = None,
) -> Resamplings:
    """Draws keys again and again, and attends to them."""
    lambdas, logits = [], []
    of_scores = usual_scale(means.shape[1]) if scale is None else scale
    for size in chunks(count, means.size):
        drawn, keys = noise.sample(means, size, chance)
        lambdas.append(drawn)
        logits.append(np.einsum("nhd,nmd->nhm", queries(means, keys), keys) * of_scores)
    return Resamplings(np.concatenate(lambdas), np.concatenate(logits))


def chunks(count: int, numbers_each: int) -> Iterator[int]:
    """How many samples to draw at a time."""
    most = max(1, AT_ONCE // numbers_each)
    for start in range(0, count, most):
        yield min(most, count - start)


def orthonormal(count: int, dimension: int, chance: np.random.Generator) -> Array:
    """Orthonormal rows (count, dimension) in random directions."""
    q, r = np.linalg.qr(chance.standard_normal((dimension, count)))
    return np.asarray((q * np.sign(np.diag(r))).T)  # the signs make all directions equally likely
