"""Attention as a function, equations 1 and 2, in float64.

    alpha_i = exp(q . k_i / sqrt(d)) / sum_j exp(q . k_j / sqrt(d))        (1)
    a       = sum_j alpha_j v_j                                            (2)

There are m keys of dimension d and values of dimension dv; leading axes (...) are separate attentions.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class AttentionOutput(NamedTuple):
    weights: Array  # (..., m), at least 0, summing to 1
    output: Array  # (..., dv)


def attend(
    query: ArrayLike, keys: ArrayLike, values: ArrayLike, scale: float | None = None
) -> AttentionOutput:
    """Returns the weights and the output for a query (..., d), keys (..., m, d) and values (..., m, dv).

    `scale` multiplies the logits: the default is 1/sqrt(d), and 1 is the form without it.
    """
    weights = attention_weights(query, keys, scale)
    return AttentionOutput(weights, np.einsum("...m,...mv->...v", weights, np.asarray(values, np.float64)))


def attention_weights(query: ArrayLike, keys: ArrayLike, scale: float | None = None) -> Array:
    """Returns the weights (..., m) of equation 1."""
    q, k = np.asarray(query, np.float64), np.asarray(keys, np.float64)
    return softmax(np.einsum("...d,...md->...m", q, k) * choose_scale(scale, k.shape[-1]))


def choose_scale(scale: float | None, dimension: int) -> float:
    """Returns the given scale, or 1/sqrt(d) if it is None."""
    return 1 / math.sqrt(dimension) if scale is None else scale


def softmax(logits: ArrayLike) -> Array:
    """Returns the softmax over the last axis without overflow; infinite logits share all the weight."""
    z = np.asarray(logits, np.float64)
    highest = z.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is replaced by 0 below
        exponentials = np.exp(np.where(z == highest, 0.0, z - highest))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def entropy(weights: ArrayLike) -> Array:
    """Returns the entropy over the last axis in nats: 0 if one key has all the weight, ln m if it is even."""
    w = np.asarray(weights, np.float64)
    return np.asarray(-np.sum(w * np.log(np.where(w > 0, w, 1.0)), axis=-1))


def total_variation(weights: ArrayLike, wanted: ArrayLike) -> Array:
    """Returns how much weight is in the wrong position: half the sum of |difference| over the last axis.

    The error of the output is at most this times the largest distance between two values.
    """
    return np.asarray(np.abs(np.asarray(weights, np.float64) - np.asarray(wanted, np.float64)).sum(-1) / 2)


def diameter(values: ArrayLike) -> float:
    """Returns the largest distance between two values."""
    v = np.asarray(values, np.float64)
    return float(np.linalg.norm(v[:, None, :] - v[None, :, :], axis=-1).max())


def orthonormal(count: int, dimension: int, rng: np.random.Generator) -> Array:
    """Returns orthonormal rows (count, dimension) in random directions."""
    q, r = np.linalg.qr(rng.standard_normal((dimension, count)))
    return np.asarray((q * np.sign(np.diag(r))).T)  # the signs make all directions equally likely
