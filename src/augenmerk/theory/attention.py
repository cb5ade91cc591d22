"""Attention as a function, equations 1 and 2, in float64.

    alpha_i = exp(q . k_i / sqrt(d)) / sum_j exp(q . k_j / sqrt(d))        (1)
    a       = sum_j alpha_j v_j                                            (2)

m keys, d their dimension, dv that of the values; leading axes (...) are so many separate attentions.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Attended(NamedTuple):
    weights: Array  # (..., m), at least 0, summing to 1
    output: Array  # (..., dv)


def attend(query: ArrayLike, keys: ArrayLike, values: ArrayLike, scale: float | None = None) -> Attended:
    """query (..., d), keys (..., m, d), values (..., m, dv).

    `scale` multiplies the scores: 1/sqrt(d) if none is given; 1 is the form without it.
    """
    weights = attention_weights(query, keys, scale)
    return Attended(weights, np.einsum("...m,...mv->...v", weights, np.asarray(values, np.float64)))


def attention_weights(query: ArrayLike, keys: ArrayLike, scale: float | None = None) -> Array:
    """Equation 1: (..., m)."""
    q, k = np.asarray(query, np.float64), np.asarray(keys, np.float64)
    chosen = usual_scale(k.shape[-1]) if scale is None else scale
    return softmax(np.einsum("...d,...md->...m", q, k) * chosen)


def usual_scale(dimension: int) -> float:
    return 1 / math.sqrt(dimension)


def softmax(logits: ArrayLike) -> Array:
    """Over the last axis; never overflows. Infinite logits share all the weight, as in the limit."""
    z = np.asarray(logits, np.float64)
    highest = z.max(axis=-1, keepdims=True)
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # inf - inf, which is replaced below; and to -inf, as meant
        lowered = z - highest
    lowered = np.where(z == highest, 0.0, lowered)
    exponentials = np.exp(lowered)
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def entropy(weights: ArrayLike) -> Array:
    """In nats, over the last axis: 0 where all the weight is on one key, ln m where it is even."""
    w = np.asarray(weights, np.float64)
    return np.asarray(-np.sum(w * np.log(np.where(w > 0, w, 1.0)), axis=-1))


def total_variation(weights: ArrayLike, wanted: ArrayLike) -> Array:
    """How much weight lies where it should not: half the sum of |difference|, over the last axis.

    Whatever the values, the output is off by at most this times the largest distance between two of them.
    """
    return np.asarray(np.abs(np.asarray(weights, np.float64) - np.asarray(wanted, np.float64)).sum(-1) / 2)


def diameter(values: ArrayLike) -> float:
    """The largest distance between two values."""
    v = np.asarray(values, np.float64)
    return float(np.linalg.norm(v[:, None, :] - v[None, :, :], axis=-1).max())
