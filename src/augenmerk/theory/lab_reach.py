"""The experiments 1.1 and 1.2: copying and averaging, for orthonormal keys and for any."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from augenmerk.theory.attention import Array, attend, attention_weights, diameter, usual_scale
from augenmerk.theory.findings import Finding, Measure, plane_values
from augenmerk.theory.noise import orthonormal
from augenmerk.theory.reach import Reach, leak_bound, reach, strength_needed, tied_weight
from augenmerk.theory.sizes import check_sizes, check_time, seconds_to_reach

MOST_IN_THE_PLANE = 10
"""Keys of which every pair is tried, for the picture."""
MOST_DIMENSIONS = 6
"""Of random keys: in many more, every pair spans an edge."""
ROUNDING = 1e-6
"""What a very large query makes of the last digit of a tie."""


@dataclass(frozen=True)
class CopyingPicture:
    keys: Array
    reaches: tuple[Reach, ...]
    scale: float
    eps: float


def copying(
    keys: int = 8,
    dim: int = 2,
    c: float | None = None,
    eps: float = 0.01,
    samples: int = 20,
    seed: int = 1,
    scale: float | None = None,
) -> Finding:
    """1.1, on `samples` sets of random keys; the first of them is the one that is shown."""
    check_sizes(keys=keys, least_keys=2, dim=dim, least_dim=1, samples=samples, c=c)
    check_time(samples * keys * seconds_to_reach(keys, dim), keys, dim, samples)
    of_scores = usual_scale(dim) if scale is None else scale
    values = plane_values(keys)
    chance = np.random.default_rng(seed)
    first: tuple[Array, tuple[Reach, ...]] | None = None
    copied, highest, errors, bounds = [], [], [], []
    for _ in range(samples):
        points = chance.standard_normal((keys, dim))
        reaches = tuple(reach(points, [j]) for j in range(keys))
        first = first or (points, reaches)
        for j, found in enumerate(reaches):
            if found.query is None:
                highest.append(_highest_weight(points, j, chance, of_scores) / found.ceiling)
                continue
            strength = strength_needed(keys, 1, eps) if c is None else c * of_scores * found.margin
            weights, output = attend(
                found.query * strength / (of_scores * found.margin), points, values, of_scores
            )
            leak = leak_bound(keys, 1, strength)
            copied.append(float(weights[j] / (1 - leak)))
            errors.append(float(np.linalg.norm(output - values[j])))
            bounds.append(leak * float(np.linalg.norm(values - values[j], axis=1).max()))
    assert first is not None
    points, reaches = first
    shown = next(j for j, found in enumerate(reaches) if found.possible)
    found = reaches[shown]
    assert found.query is not None
    chosen = strength_needed(keys, 1, eps) / (of_scores * found.margin) if c is None else c
    weights, output = attend(found.query * chosen, points, values, of_scores)
    worst = int(np.argmax(errors))
    measures = (
        Measure(
            f"weight on k_{shown + 1}",
            float(weights[shown]),
            _floor(keys, chosen, found, of_scores),
            at_least=True,
        ),
        Measure("any reachable key: least weight / its bound", min(copied), 1.0, at_least=True),
        Measure("any hidden key: most weight / its ceiling", max(highest, default=0.0), 1.0, at_most=True),
        Measure("largest error of an output", errors[worst], bounds[worst], at_most=True),
    )
    return Finding(
        task="1.1",
        title="Copying one value",
        claim="a = v_j in the limit exactly if k_j lies outside the convex hull of the other keys; then "
        "alpha_j >= 1 - eps once c margin scale >= ln((m-1)(1-eps)/eps). A key inside, k_j = sum w_i "
        "k_i, never gets more than max(w)/(1 + max(w)), whatever the query.",
        construction=f"q = c q_j, q_j the unit vector from the nearest point of that hull to k_j; for "
        f"k_{shown + 1}: margin {found.margin:.3f}, c = {chosen:.1f}",
        measures=measures,
        weights=[float(w) for w in weights],
        output=[float(x) for x in output],
        error=errors[worst],
        bound=bounds[worst],
        settings={
            "keys": keys,
            "dim": dim,
            "c": c,
            "eps": eps,
            "samples": samples,
            "seed": seed,
            "scale": of_scores,
        },
        remarks=(
            _which(reaches),
            f"In {samples} such sets of keys: {len(copied)} can be copied, {len(highest)} cannot.",
        ),
        picture=lambda: CopyingPicture(points, reaches, of_scores, eps),
    )


def _floor(keys: int, c: float, found: Reach, scale: float) -> float:
    return 1 - leak_bound(keys, 1, c * scale * found.margin)


def _which(reaches: tuple[Reach, ...]) -> str:
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


def _highest_weight(keys: Array, j: int, chance: np.random.Generator, scale: float) -> float:
    """The most weight that any of many queries of all sizes gives to a key."""
    queries = chance.standard_normal((400, keys.shape[1])) * 10 ** chance.uniform(-1, 3, size=(400, 1))
    return float(attention_weights(queries, keys, scale)[:, j].max())


@dataclass(frozen=True)
class AveragingPicture:
    keys: int
    dim: int
    c: float
    scale: float
    strengths: Array
    measured: Array  # (strengths, 2): the weight of a, and of another key
    points: Array  # keys in the plane
    edges: tuple[tuple[int, int], ...]


def averaging(
    keys: int = 8,
    dim: int = 64,
    c: float | None = None,
    eps: float = 0.01,
    samples: int = 200,
    seed: int = 1,
    scale: float | None = None,
) -> Finding:
    """1.2: orthonormal keys; and the first two of `samples` sets of random keys."""
    check_sizes(keys=keys, least_keys=3, dim=dim, least_dim=keys, samples=samples, c=c)
    seconds = samples * seconds_to_reach(keys, MOST_DIMENSIONS) + seconds_to_reach(keys, dim)
    check_time(seconds, keys, dim, samples)
    of_scores = usual_scale(dim) if scale is None else scale
    chance = np.random.default_rng(seed)
    values = plane_values(keys)
    points = orthonormal(keys, dim, chance)
    chosen = strength_needed(keys, 2, eps) / of_scores if c is None else c
    weights, output = attend(chosen * (points[0] + points[1]), points, values, of_scores)
    exact = tied_weight(keys, 2, chosen * of_scores)
    error = float(np.linalg.norm(output - values[:2].mean(axis=0)))
    bound = (1 - 2 * exact) * diameter(values)
    best = reach(points, (0, 1))
    pairs = _random_pairs(keys, samples, chance, eps)
    # Of its own chance, so that more samples do not change the picture.
    flat = np.random.default_rng([seed, 31]).standard_normal((min(keys, MOST_IN_THE_PLANE), 2))
    strengths = np.linspace(0, 12, 49)
    sweep = [
        attention_weights(s / of_scores * (points[0] + points[1]), points, of_scores)[[0, 2]]
        for s in strengths
    ]
    return Finding(
        task="1.2",
        title="Averaging two values",
        claim="For orthonormal keys q = c (k_a + k_b) gives alpha_a = alpha_b = e^s/(2 e^s + m - 2), s = "
        "c scale. For any keys, two can be averaged exactly if they span an edge of the hull.",
        construction=f"q = c (k_a + k_b), c = {chosen:.1f} (s = {chosen * of_scores:.2f}), {keys} "
        f"orthonormal keys in {dim} dimensions",
        measures=(
            Measure("alpha_a", float(weights[0]), exact),
            Measure("alpha_b", float(weights[1]), exact),
            Measure(
                "weight elsewhere",
                float(1 - weights[:2].sum()),
                leak_bound(keys, 2, chosen * of_scores),
                at_most=True,
            ),
            Measure("error of the output", error, bound, at_most=True),
            Measure("margin of the best unit query", best.margin, float(np.sqrt(1 / 2 + 1 / (keys - 2)))),
            Measure("random keys, an edge: |alpha_a - alpha_b|", pairs.tie, ROUNDING, at_most=True),
            Measure("random keys, an edge: weight elsewhere", pairs.leak, eps, at_most=True),
            Measure("random keys, no edge: gap of the witness", pairs.witness, ROUNDING, at_most=True),
        ),
        weights=[float(w) for w in weights],
        output=[float(x) for x in output],
        error=error,
        bound=bound,
        settings={
            "keys": keys,
            "dim": dim,
            "c": chosen,
            "eps": eps,
            "samples": samples,
            "seed": seed,
            "scale": of_scores,
        },
        remarks=(
            f"In {samples} sets of {keys} random keys in 2 to {MOST_DIMENSIONS} dimensions the first two "
            "could be "
            f"averaged {pairs.possible} times; for the others there is a witness, a point of the line "
            "through "
            f"them in the hull of the rest.",
        ),
        picture=lambda: AveragingPicture(
            keys, dim, chosen, of_scores, strengths, np.array(sweep), flat, _edges(flat)
        ),
    )


def _edges(points: Array) -> tuple[tuple[int, int], ...]:
    """The pairs that can be averaged."""
    return tuple(pair for pair in combinations(range(len(points)), 2) if reach(points, pair).possible)


@dataclass(frozen=True)
class _RandomPairs:
    """The worst that happened to the first two of many sets of random keys."""

    possible: int
    tie: float
    leak: float
    witness: float
    """How far apart the two combinations are that should be one point, where no query exists."""


def _random_pairs(keys: int, samples: int, chance: np.random.Generator, eps: float) -> _RandomPairs:
    ties, leaks, witnesses = [0.0], [0.0], [0.0]
    for _ in range(samples):
        points = chance.standard_normal((keys, chance.integers(2, MOST_DIMENSIONS + 1)))
        found = reach(points, (0, 1))
        if found.query is None:
            apart = found.hull_weights @ points - found.affine_weights @ points
            witnesses.append(float(np.linalg.norm(apart)))
            continue
        c = strength_needed(keys, 2, eps) / found.margin
        weights = attention_weights(c * found.query, points, 1.0)
        ties.append(float(abs(weights[0] - weights[1])))
        leaks.append(float(1 - weights[:2].sum()))
    return _RandomPairs(len(ties) - 1, max(ties), max(leaks), max(witnesses))
