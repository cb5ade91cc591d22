"""Why 1/sqrt(d): without it logits grow with the dimension, the softmax saturates, its gradient vanishes.

For queries and keys with independent entries of variance 1, Var(q . k) = d; times a scale, d scale^2.
"""

import math
from dataclasses import dataclass

import numpy as np

from augenmerk.theory.attention import Array, entropy, softmax, usual_scale
from augenmerk.theory.noise import chunks


@dataclass(frozen=True)
class Saturation:
    """What m random keys of d dimensions do to a random query; means over samples, each with its error."""

    dimension: int
    scale: float
    logit_variance: float
    logit_variance_error: float
    expected_logit_variance: float
    entropy: float
    """In parts of ln m: 1 is even, 0 is one key alone."""
    entropy_error: float
    gradient: float
    """1 - sum alpha_i^2, the trace of d alpha / d logits: how much the weights still answer to the logits."""
    gradient_error: float
    largest: float
    """The largest weight."""
    weights: Array
    """(m): from the largest to the smallest, averaged so."""


def saturation(
    keys: int, dimension: int, samples: int, chance: np.random.Generator, scale: float | None = None
) -> Saturation:
    """Measures `samples` random queries, each with keys of its own; `scale` as in `attend`."""
    chosen = usual_scale(dimension) if scale is None else scale
    logits = np.concatenate(
        [
            np.einsum(
                "nd,nmd->nm",
                chance.standard_normal((size, dimension)),
                chance.standard_normal((size, keys, dimension)),
            )
            for size in chunks(samples, keys * dimension)
        ]
    )
    logits *= chosen
    weights = softmax(logits)
    # Around the true mean, which is 0; the logits of a sample share a query, so the samples are what is
    # independent.
    variances = (logits**2).mean(axis=1)
    evenness = entropy(weights) / np.log(keys)
    gradients = 1 - (weights**2).sum(axis=1)
    return Saturation(
        dimension=dimension,
        scale=chosen,
        logit_variance=float(variances.mean()),
        logit_variance_error=math.sqrt(_variance_of_variances(keys, dimension, chosen) / samples),
        expected_logit_variance=dimension * chosen**2,
        entropy=float(evenness.mean()),
        entropy_error=_error(evenness),
        gradient=float(gradients.mean()),
        gradient_error=_error(gradients),
        largest=float(weights.max(axis=1).mean()),
        weights=np.sort(weights, axis=1)[:, ::-1].mean(axis=0),
    )


def expected_saturation(
    keys: int, dimension: int, scale: float, samples: int, chance: np.random.Generator
) -> tuple[Array, Array]:
    """Entropies (in parts of ln m) and gradients of samples that are drawn without queries and keys.

    Given the query, logits are independent and N(0, |q|^2 scale^2), and |q|^2 is chi-squared with d degrees.
    """
    deviations = scale * np.sqrt(chance.chisquare(dimension, size=(samples, 1)))
    weights = softmax(deviations * chance.standard_normal((samples, keys)))
    return entropy(weights) / np.log(keys), 1 - (weights**2).sum(axis=1)


def _variance_of_variances(keys: int, dimension: int, scale: float) -> float:
    """Of the mean of m squared logits |q| scale g_i, which share |q|: exact, where few samples would "
    "deceive."""
    return scale**4 * (2 * dimension + (dimension**2 + 2 * dimension) * 2 / keys)


def softmax_jacobian(weights: Array) -> Array:
    """d alpha_i / d z_j = alpha_i (1[i = j] - alpha_j)."""
    return np.asarray(np.diag(weights) - np.outer(weights, weights))


def _error(samples: Array) -> float:
    """The standard error of their mean."""
    return float(samples.std(ddof=1) / np.sqrt(len(samples)))
