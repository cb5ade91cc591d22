"""1.1 and 1.2: which values a query can single out, or average, and how large it has to be.

A query takes the values of a subset S evenly, and nothing else, in the limit of a large scale, exactly when
it ties the keys of S and puts every other key below them. Copying is the case of one key in S.

Such a query exists exactly when no point of the convex hull of the other keys lies in the affine hull of
the keys of S: for one key, when it lies outside the hull of the others; for two, when the line through them
passes the hull of the others by, so that they span an edge. A linear programme decides it. If there are
such queries, the one of unit length with the largest margin points from the nearest point of that hull; if
there are none, a point that lies in both is the witness.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, nnls

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array

TOLERANCE = 1e-7
"""Margins below this part of the extent of the keys count as none: the linear programme is no more exact."""


@dataclass(frozen=True)
class Reach:
    """Whether a query exists for a subset of the keys, and the best one or the reason why not."""

    subset: tuple[int, ...]
    query: Array | None
    """Of unit length, with the largest margin; None if no query will do."""
    margin: float
    """How far that query lifts the subset above every other key: 0 if there is none, inf without others."""
    hull_weights: Array
    """(m): the convex combination of the other keys that comes nearest to the subset; if there is no query,
    it hits it."""
    affine_weights: Array
    """(m): the affine combination of the keys of the subset that is nearest to it, summing to 1."""

    @property
    def possible(self) -> bool:
        return self.query is not None

    @property
    def ceiling(self) -> float:
        """The most weight that a single key can have under any query; 1 if it can be copied.

        With k_j = sum_i w_i k_i also z_j = sum_i w_i z_i, so exp(z_j) <= sum_i w_i exp(z_i) (exp is convex),
        alpha_j <= sum_i w_i alpha_i <= max(w) (1 - alpha_j).
        """
        if self.possible:
            return 1.0
        largest = float(self.hull_weights.max())
        return largest / (1 + largest)


def reach(keys: Array, subset: Sequence[int]) -> Reach:
    """What queries can do for the subset, by position, among keys (m, d)."""
    keys = np.asarray(keys, np.float64)
    inside = tuple(subset)
    if not inside or len(set(inside)) < len(inside) or not all(0 <= i < len(keys) for i in inside):
        raise AugenmerkError(
            f"a subset is one or more different positions from 0 to {len(keys) - 1}, not {list(inside)}."
        )
    if not np.all(np.isfinite(keys)):
        wrong = int(np.argmin(np.isfinite(keys).all(axis=1)))
        raise AugenmerkError(f"key {wrong} has an entry that is not a finite number.")
    keys, extent = _of_extent_one(keys)
    others = [i for i in range(len(keys)) if i not in inside]
    if not others:  # the query 0 takes all evenly, whatever the keys are
        even = np.full(len(keys), 1 / len(keys))
        return Reach(inside, np.zeros(keys.shape[1]), math.inf, np.zeros(len(keys)), even)
    apart = keys[inside[0]] - keys[others]  # (others, d)
    ties = keys[list(inside[1:])] - keys[inside[0]]
    size = max(float(np.linalg.norm(apart, axis=1).max()), float(np.linalg.norm(ties, axis=1).max(initial=0)))
    # A query that ties the subset is orthogonal to its differences: only what is orthogonal to them counts.
    along = _directions(ties, size)
    free = apart - apart @ along.T @ along
    # Not divided by its own size: a subset whose ties leave nothing over has no margin but rounding.
    nearest = _nearest_in_hull(free / size) if size else np.full(len(others), 1 / len(others))
    hull = np.zeros(len(keys))
    hull[others] = nearest
    affine = _affine(keys, inside, hull @ keys)
    if not size or _best_box_margin(free / size) <= TOLERANCE:
        return Reach(inside, None, 0.0, hull, affine)
    direction = nearest @ free
    query = direction / np.linalg.norm(direction)
    return Reach(inside, query, float((apart @ query).min()) * extent, hull, affine)


def _of_extent_one(keys: Array) -> tuple[Array, float]:
    """The keys moved to the origin and made as large as 1, where no square overflows or vanishes, and how
    large they were: which queries exist depends on neither."""
    largest = float(np.abs(keys).max(initial=0.0)) or 1.0
    moved = keys / largest - keys[0] / largest
    extent = float(np.abs(moved).max(initial=0.0)) or 1.0
    return moved / extent, extent * largest


def _directions(vectors: Array, size: float) -> Array:
    """Orthonormal rows that span these vectors."""
    if not len(vectors):
        return vectors
    _, lengths, rows = np.linalg.svd(vectors, full_matrices=False)
    return np.asarray(rows[lengths > 1e-12 * size])


def _best_box_margin(apart: Array) -> float:
    """The linear programme: the largest t with q . apart_i >= t for all i and every |q_j| <= 1."""
    # In coordinates of the span, of which there are no more than keys, however many dimensions there are.
    left, lengths, _ = np.linalg.svd(apart, full_matrices=False)
    seen = left * lengths
    count, rank = seen.shape
    answer = linprog(
        c=[*[0.0] * rank, -1.0],
        A_ub=np.hstack([-seen, np.ones((count, 1))]),
        b_ub=np.zeros(count),
        bounds=[(-1, 1)] * rank + [(None, None)],
    )
    return -float(answer.fun)


def _nearest_in_hull(points: Array) -> Array:
    """The weights w of the point of the convex hull that is nearest to the origin.

    Least squares with w >= 0 for (points^T w, sum w) = (0, 1): for w = s p with p in the simplex this is
    smallest at s = 1 / (1 + |points^T p|^2), where it grows with |points^T p|. So p is exact for every s.
    """
    weights, _ = nnls(np.vstack([points.T, np.ones(len(points))]), [*[0.0] * points.shape[1], 1.0])
    return np.asarray(weights / weights.sum())


def _affine(keys: Array, inside: tuple[int, ...], point: Array) -> Array:
    """Weights over the subset, summing to 1, of the point of its affine hull that is nearest to a point."""
    weights = np.zeros(len(keys))
    first, rest = inside[0], list(inside[1:])
    if rest:
        weights[rest] = np.linalg.lstsq((keys[rest] - keys[first]).T, point - keys[first], rcond=None)[0]
    weights[first] = 1 - weights[rest].sum()
    return weights


def distance_from_hull(point: Array, points: Array) -> float:
    """How far a point is from the convex hull of others: no attention over these gives an output nearer."""
    weights = _nearest_in_hull(np.asarray(points, np.float64) - point)
    return float(np.linalg.norm(weights @ points - point))


def leak_bound(keys: int, subset: int, strength: float) -> float:
    """At most so much weight is outside the subset, where `strength` is scale times margin.

    Each of the `keys - subset` others has at most exp(-strength) of the weight of each in the subset.
    """
    beside = (keys - subset) * math.exp(-strength) if strength < 700 else 0.0
    return beside / (subset + beside)


def strength_needed(keys: int, subset: int, leak: float) -> float:
    """The least scale times margin that bounds the leak so: ln((m - n)(1 - eps) / (n eps))."""
    if not 0 < leak < 1:
        raise AugenmerkError(f"an error of {leak:g} cannot be aimed at: choose one between 0 and 1.")
    if keys == subset:
        return 0.0
    return max(0.0, math.log((keys - subset) * (1 - leak) / (subset * leak)))


def tied_weight(keys: int, subset: int, strength: float) -> float:
    """The exact weight of each key of the subset, orthonormal keys, q = c * their sum: s = c * scale.

    e^s / (n e^s + m - n)
    """
    return 1 / (subset + (keys - subset) * math.exp(-strength))
