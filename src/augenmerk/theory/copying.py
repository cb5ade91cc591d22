"""Tasks 1.1 and 1.2: which values a query can copy or average, and how large it has to be.

In the limit of a large scale, a query averages the values of a subset S exactly if it ties the keys of S and
puts every other key below them. Copying is the case of one key in S.

Such a query exists exactly if no point of the convex hull of the other keys lies in the affine hull of the
keys of S: for one key, if it lies outside the hull of the others; for two, if the line through them misses
the hull of the others, so that they span an edge. A linear programme decides it. If there are such queries,
the unit vector with the largest margin points away from the nearest point of that hull; if there are none, a
point that lies in both hulls proves it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, nnls

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array, attend, attention_weights, diameter, orthonormal
from augenmerk.theory.results import Measurement, Result, Setup, plane_values, radius

TOLERANCE = 1e-7
"""Margins below this part of the extent of the keys count as 0: the linear programme is no more exact."""
MAX_RANDOM_DIM = 6
"""The largest dimension of the random keys of 1.2: in many more dimensions every pair spans an edge."""
ROUNDING = 1e-6  # the error that a very large query may make in a tie by rounding


@dataclass(frozen=True)
class Reach:
    """Whether a query exists that averages a subset of the keys: the best one, or why there is none."""

    subset: tuple[int, ...]
    query: Array | None  # the unit vector with the largest margin; None if there is no such query
    margin: float
    """How far the query lifts the subset above every other key; 0 without a query, inf without other keys."""
    hull_weights: Array
    """(m): the convex combination of the other keys that is nearest to the affine hull of the subset."""
    affine_weights: Array
    """(m): the affine combination of the keys of the subset that is nearest to that point."""

    @property
    def possible(self) -> bool:
        return self.query is not None

    @property
    def ceiling(self) -> float:
        """The largest weight that any query can give a single key; 1 if it can be copied.

        With k_j = sum_i w_i k_i also z_j = sum_i w_i z_i, so exp(z_j) <= sum_i w_i exp(z_i) (exp is convex),
        alpha_j <= sum_i w_i alpha_i <= max(w) (1 - alpha_j).
        """
        if self.possible:
            return 1.0
        largest = float(self.hull_weights.max())
        return largest / (1 + largest)


def reach(keys: Array, subset: Sequence[int]) -> Reach:
    """Finds the best query that averages a subset, given by position, of the keys (m, d)."""
    keys, inside = np.asarray(keys, np.float64), tuple(subset)
    if not inside or len(set(inside)) < len(inside) or not set(inside) <= set(range(len(keys))):
        raise AugenmerkError(
            f"A subset is one or more different positions from 0 to {len(keys) - 1}, not {list(inside)}."
        )
    if not np.all(np.isfinite(keys)):
        wrong = int(np.argmin(np.isfinite(keys).all(axis=1)))
        raise AugenmerkError(f"Key {wrong} has an entry that is not a finite number.")
    keys, extent = _normalise(keys)
    others = [i for i in range(len(keys)) if i not in inside]
    if not others:  # the query 0 averages all values
        even = np.full(len(keys), 1 / len(keys))
        return Reach(inside, np.zeros(keys.shape[1]), math.inf, np.zeros(len(keys)), even)
    apart = keys[inside[0]] - keys[others]  # (others, d)
    ties = keys[list(inside[1:])] - keys[inside[0]]
    size = max(float(np.linalg.norm(apart, axis=1).max()), float(np.linalg.norm(ties, axis=1).max(initial=0)))
    # A query that ties the subset is orthogonal to its differences, so components along them do not count.
    _, lengths, rows = np.linalg.svd(ties, full_matrices=False)
    along = rows[lengths > 1e-12 * size]
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


def _normalise(keys: Array) -> tuple[Array, float]:
    """Moves the keys to the origin and scales them to extent 1, and returns them with their former extent.

    Which queries exist depends on neither, and no square overflows or vanishes.
    """
    largest = float(np.abs(keys).max(initial=0.0)) or 1.0
    moved = keys / largest - keys[0] / largest
    extent = float(np.abs(moved).max(initial=0.0)) or 1.0
    return moved / extent, extent * largest


def _best_box_margin(apart: Array) -> float:
    """Solves the linear programme: the largest t with q . apart_i >= t for all i and every |q_j| <= 1."""
    # In coordinates of the span, which has no more dimensions than there are keys.
    left, lengths, _ = np.linalg.svd(apart, full_matrices=False)
    count, rank = left.shape
    limits = np.hstack([-left * lengths, np.ones((count, 1))])
    bounds = [(-1, 1)] * rank + [(None, None)]
    for method in ("highs", "highs-ipm"):  # among hundreds of nearly equal keys, simplex finds nothing
        answer = linprog([*[0.0] * rank, -1.0], limits, np.zeros(count), bounds=bounds, method=method)
        if answer.fun is not None:
            return -float(answer.fun)
    raise AugenmerkError(f"{count + 1} keys are too nearly equal to say which values could be copied.")


def _nearest_in_hull(points: Array) -> Array:
    """Returns the weights w of the point of the convex hull that is nearest to the origin.

    Least squares with w >= 0 for (points^T w, sum w) = (0, 1): for w = s p with p in the simplex this is
    smallest at s = 1 / (1 + |points^T p|^2), where it grows with |points^T p|. So p is exact for every s.
    """
    weights, _ = nnls(np.vstack([points.T, np.ones(len(points))]), [*[0.0] * points.shape[1], 1.0])
    return np.asarray(weights / weights.sum())


def _affine(keys: Array, inside: tuple[int, ...], point: Array) -> Array:
    """Returns weights over the subset that sum to 1: the point of its affine hull nearest to a point."""
    weights = np.zeros(len(keys))
    first, rest = inside[0], list(inside[1:])
    if rest:
        weights[rest] = np.linalg.lstsq((keys[rest] - keys[first]).T, point - keys[first], rcond=None)[0]
    weights[first] = 1 - weights[rest].sum()
    return weights


def distance_from_hull(point: Array, points: Array) -> float:
    """Returns how far a point is from the convex hull of others, which no attention over them undercuts."""
    weights = _nearest_in_hull(np.asarray(points, np.float64) - point)
    return float(np.linalg.norm(weights @ points - point))


def leak_bound(keys: int, subset: int, strength: float) -> float:
    """Returns a bound of the weight outside the subset, where `strength` is size of the query times margin.

    Each of the `keys - subset` others has at most exp(-strength) times the weight of each in the subset.
    """
    beside = (keys - subset) * math.exp(-strength) if strength < 700 else 0.0
    return beside / (subset + beside)


def strength_needed(keys: int, subset: int, leak: float) -> float:
    """Returns the least size of the query times margin for this leak: ln((m - n)(1 - eps) / (n eps))."""
    if not 0 < leak < 1:
        raise AugenmerkError(f"--eps {leak:g} is impossible: choose a weight between 0 and 1.")
    if keys == subset:
        return 0.0
    return max(0.0, math.log((keys - subset) * (1 - leak) / (subset * leak)))


def tied_weight(keys: int, subset: int, strength: float) -> float:
    """Returns the exact weight of each key of the subset, e^s / (n e^s + m - n), with s = c * scale.

    The keys are orthonormal, and q = c times the sum over the subset.
    """
    return 1 / (subset + (keys - subset) * math.exp(-strength))


def _reach_seconds(keys: int, dim: int) -> float:
    """Returns about what `reach` takes, a linear program and a least-squares problem over all keys."""
    return 3e-3 + 2e-6 * keys * dim


def run_copying(setup: Setup) -> Result:
    """Runs 1.1 on sets of random keys; the first set is shown."""
    keys, dim, c, eps, scale = setup.keys, setup.dim, setup.c, setup.eps, setup.scale
    setup.check(least=(2, 1, 1), sample_seconds=keys * _reach_seconds(keys, dim))
    values, rng = plane_values(keys), np.random.default_rng(setup.seed)
    sets, copied, highest, errors, bounds = [], [], [], [], []
    for _ in range(setup.samples):
        points = rng.standard_normal((keys, dim))
        reaches = tuple(reach(points, [j]) for j in range(keys))
        sets.append((points, reaches))
        for j, found in enumerate(reaches):
            if found.query is None:
                highest.append(_highest_weight(points, j, rng, scale) / found.ceiling)
                continue
            size = strength_needed(keys, 1, eps) / (scale * found.margin) if c is None else c
            weights, output = attend(size * found.query, points, values, scale)
            leak = leak_bound(keys, 1, size * scale * found.margin)
            copied.append((float(weights[j] / (1 - leak)), j, size, weights, output, 1 - leak))
            errors.append(float(np.linalg.norm(output - values[j])))
            bounds.append(leak * radius(values, values[j]))
    points, reaches = sets[0]
    _, j, size, weights, output, floor = copied[0]  # some key is a corner of the hull
    worst, least = int(np.argmax(errors)), min(each[0] for each in copied)
    return Result(
        construction="q = c q_j, q_j the unit vector from the nearest point of that hull to k_j; for "
        f"k_{j + 1}: margin {reaches[j].margin:.3f}, c = {size:.1f}",
        measures=(
            Measurement(f"weight on k_{j + 1}", float(weights[j]), floor, "at least"),
            Measurement("any reachable key: least weight / its bound", least, 1.0, "at least"),
            Measurement(
                "any hidden key: most weight / its ceiling", max(highest, default=0.0), 1.0, "at most"
            ),
            Measurement("largest error of an output", errors[worst], bounds[worst], "at most"),
        ),
        weights=weights,
        output=output,
        error=errors[worst],
        bound=bounds[worst],
        settings=setup.to_dict(c=c, eps=eps, scale=scale),
        remarks=(
            _describe_hidden(reaches),
            f"In {setup.samples} such sets of keys: {len(copied)} can be copied, {len(highest)} cannot.",
        ),
        picture=lambda: (points, reaches, scale, eps),
    )


def _describe_hidden(reaches: tuple[Reach, ...]) -> str:
    hidden = [j for j, found in enumerate(reaches) if not found.possible]
    if not hidden:
        return "Every key shown can be copied."
    j = hidden[0]
    mix = " + ".join(f"{w:.2f} k_{i + 1}" for i, w in enumerate(reaches[j].hull_weights) if w > 0.005)
    names = ", ".join(f"k_{i + 1}" for i in hidden)
    return (
        f"Of the keys shown {names} cannot be copied: k_{j + 1} = {mix}, so that its weight is at most "
        f"{reaches[j].ceiling:.3f}."
    )


def _highest_weight(keys: Array, j: int, rng: np.random.Generator, scale: float) -> float:
    """Returns the largest weight that any of many queries of all sizes gives to a key."""
    queries = rng.standard_normal((400, keys.shape[1])) * 10 ** rng.uniform(-1, 3, size=(400, 1))
    return float(attention_weights(queries, keys, scale)[:, j].max())


def run_averaging(setup: Setup) -> Result:
    """Runs 1.2 on orthonormal keys, and on the first two of sets of random keys."""
    keys, dim, eps, scale = setup.keys, setup.dim, setup.eps, setup.scale
    sample_seconds = _reach_seconds(keys, MAX_RANDOM_DIM)
    setup.check((3, keys, 1), sample_seconds, start_seconds=_reach_seconds(keys, dim) + 2e-8 * keys**3)
    values, rng = plane_values(keys), np.random.default_rng(setup.seed)
    points = orthonormal(keys, dim, rng)
    c = strength_needed(keys, 2, eps) / scale if setup.c is None else setup.c
    s = c * scale
    weights, output = attend(c * (points[0] + points[1]), points, values, scale)
    elsewhere = float(1 - weights[:2].sum())
    exact = tied_weight(keys, 2, s)
    error = float(np.linalg.norm(output - values[:2].mean(axis=0)))
    bound = (1 - 2 * exact) * diameter(values)
    best = reach(points, (0, 1))
    ties, leaks, gaps = _average_random_pairs(setup, rng)
    return Result(
        construction=f"q = c (k_a + k_b), c = {c:.1f} (s = {s:.2f}), {keys} orthonormal keys in {dim} "
        "dimensions",
        measures=(
            Measurement("alpha_a", float(weights[0]), exact),
            Measurement("alpha_b", float(weights[1]), exact),
            Measurement("weight elsewhere", elsewhere, leak_bound(keys, 2, s), "at most"),
            Measurement("error of the output", error, bound, "at most"),
            Measurement("margin of the best unit query", best.margin, math.sqrt(1 / 2 + 1 / (keys - 2))),
            Measurement(
                "random keys, an edge: |alpha_a - alpha_b|", max(ties, default=0.0), ROUNDING, "at most"
            ),
            Measurement("random keys, an edge: weight elsewhere", max(leaks, default=0.0), eps, "at most"),
            Measurement(
                "random keys, no edge: gap of the witness", max(gaps, default=0.0), ROUNDING, "at most"
            ),
        ),
        weights=weights,
        output=output,
        error=error,
        bound=bound,
        settings=setup.to_dict(c=c, eps=eps, scale=scale),
        remarks=(
            f"In {setup.samples} sets of {keys} random keys in 2 to {MAX_RANDOM_DIM} dimensions the first "
            f"two could be averaged {len(ties)} times; for the others there is a witness, a point of the "
            "line through them in the hull of the rest.",
        ),
        picture=lambda: (points, c, scale, setup.seed),
    )


def _average_random_pairs(
    setup: Setup, rng: np.random.Generator
) -> tuple[list[float], list[float], list[float]]:
    """Averages the first two of random keys.

    Returns |alpha_a - alpha_b| and the weight elsewhere for each set where a query exists, and the distance
    between the two combinations that should be the same point where none does.
    """
    ties, leaks, gaps = [], [], []
    for _ in range(setup.samples):
        points = rng.standard_normal((setup.keys, rng.integers(2, MAX_RANDOM_DIM + 1)))
        found = reach(points, (0, 1))
        if found.query is None:
            gap = found.hull_weights @ points - found.affine_weights @ points
            gaps.append(float(np.linalg.norm(gap)))
            continue
        c = strength_needed(setup.keys, 2, setup.eps) / found.margin
        weights = attention_weights(c * found.query, points, 1.0)
        ties.append(float(abs(weights[0] - weights[1])))
        leaks.append(float(1 - weights[:2].sum()))
    return ties, leaks, gaps
