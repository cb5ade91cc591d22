"""The experiments 1.6 and 1.7, self-attention over orthogonal parts, and the one about 1/sqrt(d)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array, attend
from augenmerk.theory.findings import Finding, Measure, plane_values
from augenmerk.theory.noise import orthonormal
from augenmerk.theory.reach import distance_from_hull
from augenmerk.theory.scaling import Saturation, expected_saturation, saturation
from augenmerk.theory.self_attention import (
    INPUTS,
    PUBLISHED,
    U_C,
    U_D,
    WANTED,
    Projections,
    as_formula,
    as_sum,
    in_space,
    self_attend,
    solve,
    with_bystanders,
)
from augenmerk.theory.sizes import check_sizes, check_time

NEAR = 0.05
"""An output this near to what the claim says, in units of B, is near enough."""
DIMENSIONS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class SelfPicture:
    """Panels side by side, each with the scores and weights of the three inputs and their outputs over the
    parts."""

    titles: tuple[str, ...]
    scores: tuple[Array, ...]  # (3, 3) each, in units of B^2
    weights: tuple[Array, ...]  # (3, 3) each
    outputs: tuple[Array, ...]  # (3, 4) each
    projections: Projections | None = None
    inputs: int = 3
    """How many there were; the first three are shown."""


def without_projections(
    keys: int = 3, dim: int = 16, c: float | None = None, samples: int = 20, seed: int = 1
) -> Finding:
    """1.6: q = k = v = x. `c` is B, the length of the parts."""
    B, all_parts = _parts(keys, dim, c, 4.0, samples, seed)
    inputs = with_bystanders(INPUTS, keys)
    leak = (keys - 1) / (math.exp(B**2) + keys - 1)
    leak_added = (1 + (keys - 2) * math.exp(-(B**2))) / (math.exp(B**2) + 1 + (keys - 2) * math.exp(-(B**2)))
    errors, bounds, self_weights, added_weights, added_errors, distances = [], [], [], [], [], []
    for parts in all_parts:
        eye = np.eye(dim)
        x = inputs @ parts
        weights, outputs = self_attend(x, eye, eye, eye)
        errors.append(float(np.linalg.norm(outputs[1] - parts[0])))
        bounds.append(leak * float(np.linalg.norm(x - x[1], axis=1).max()))
        self_weights.append(float(weights[1, 1]))
        for addition in (parts[3], parts[2]):
            other = x.copy()
            other[1] += addition
            weights, outputs = self_attend(other, eye, eye, eye)
            added_weights.append(float(weights[1, 1]))
            added_errors.append(float(np.linalg.norm(outputs[1] - other[1])))
            distances.append(distance_from_hull(parts[1], other) / B)
    widest = max(float(np.linalg.norm(x - x[1], axis=1).max()) for x in (inputs @ all_parts[0],)) + B
    worst = int(np.argmax(errors))
    parts = all_parts[0]
    weights, outputs = self_attend(inputs @ parts, np.eye(dim), np.eye(dim), np.eye(dim))
    return Finding(
        task="1.6",
        title="Self-attention without projections",
        claim="x_1 = u_d + u_b, x_2 = u_a, x_3 = u_c + u_b, q = k = v = x, no 1/sqrt(d): c_2 = u_a in "
        "the limit of long parts. Adding u_d or u_c to x_2 cannot give u_b: x_2 then attends to itself, "
        "c_2 = x_2.",
        construction=f"u orthogonal, of length B = {B:g}, in {dim} dimensions; {samples} random choices of "
        "them",
        measures=(
            Measure("weight of x_2 on itself", min(self_weights), 1 - leak),
            Measure("distance of c_2 from u_a", errors[worst], bounds[worst], at_most=True),
            Measure("u_d or u_c added: weight on itself", min(added_weights), 1 - leak_added),
            Measure("... distance of c_2 from x_2", max(added_errors), leak_added * widest, at_most=True),
            Measure(
                "... least distance to u_b of any weights / B", min(distances), _least_distance(keys - 3)
            ),
        ),
        weights=[float(w) for w in weights[1]],
        output=[float(v) for v in outputs[1]],
        error=errors[worst],
        bound=bounds[worst],
        settings={"keys": keys, "dim": dim, "B": B, "samples": samples, "seed": seed, "scale": 1.0},
        remarks=(
            f"c_2 = {as_sum(parts[:4] @ outputs[1] / B**2)}. An output is a convex combination of the "
            f"inputs, and u_b is {distance_from_hull(parts[1], inputs @ parts) / B:.3f} B away from all "
            f"of these ({min(distances):.3f} B with u_d or u_c added to x_2): no queries and keys could "
            "give it without a V.",
        ),
        refuted=_too_short(B, errors[worst], "c_2 is", "u_a"),
        picture=lambda: replace(_compare(B), inputs=keys),
    )


def _least_distance(alone: int) -> float:
    """How near to u_b the hull of u_d + u_b, u_c + u_b and `alone` inputs of one part each comes, over B.

    Weights w, w on the first two and the rest evenly on the others: 2 w^2 + (1 + 1/n)(1 - 2w)^2, smallest at
    k / (1 + 2k) with k = 1 + 1/n.
    """
    k = math.inf if alone == 0 else 1 + 1 / alone
    return math.sqrt(1 / (1 / k + 2))


def _compare(B: float) -> SelfPicture:
    """x_2 as it is, and with u_d or u_c added, in coefficients over the parts."""
    titles, scores, weights, outputs = [], [], [], []
    for title, addition in (("x_2 = u_a", 0 * U_D), ("x_2 = u_a + u_d", U_D), ("x_2 = u_a + u_c", U_C)):
        x = INPUTS.copy()
        x[1] += addition
        alpha, c = self_attend(x, np.eye(4), np.eye(4), np.eye(4), scale=B**2)
        titles.append(title)
        scores.append(x @ x.T)
        weights.append(alpha)
        outputs.append(c)
    return SelfPicture(tuple(titles), tuple(scores), tuple(weights), tuple(outputs))


def with_projections(
    keys: int = 3, dim: int = 16, c: float | None = None, samples: int = 20, seed: int = 1
) -> Finding:
    """1.7: K, Q and V that make c_1 = u_b - u_c and c_2 = u_b; and those that the solver finds."""
    B, all_parts = _parts(keys, dim, c, 4.0, samples, seed)
    inputs = with_bystanders(INPUTS, keys)
    leak = (keys - 1) / (math.exp(B**2) + keys - 1)
    found = solve(INPUTS, WANTED)
    assert found is not None
    errors: dict[str, list[float]] = {"published": [], "found": []}
    bounds: dict[str, float] = {}
    shown: tuple[Array, Array] | None = None
    for parts in all_parts:
        x, four = inputs @ parts, parts[:4]
        for name, answer in (("published", PUBLISHED), ("found", found)):
            K, Q, V = np.eye(dim), in_space(answer.Q, four), in_space(answer.V, four)
            weights, outputs = self_attend(x, K, Q, V)
            errors[name] += [float(np.linalg.norm(outputs[i] - u @ four)) for i, u in WANTED.items()]
            values = x @ V.T
            apart = np.linalg.norm(values[:, None] - values[None], axis=-1).max()
            bounds[name] = max(bounds.get(name, 0.0), leak * float(apart))
            shown = shown or (weights, outputs)
    assert shown is not None
    weights, outputs = shown
    return Finding(
        task="1.7",
        title="Self-attention with K, Q and V",
        claim="V = (u_b u_b^T - u_c u_c^T)/B^2, K = I, Q = (u_d u_a^T + u_c u_d^T)/B^2 make c_1 = u_b - "
        "u_c and c_2 = u_b in the limit of long parts: x_2 asks for u_d, which x_1 has, x_1 for u_c, "
        "which x_3 has.",
        construction=f"u orthogonal, of length B = {B:g}, in {dim} dimensions; {samples} random choices of "
        "them",
        measures=(
            Measure("weight of x_1 on x_3", float(weights[0, 2]), 1 - leak),
            Measure("weight of x_2 on x_1", float(weights[1, 0]), 1 - leak),
            Measure(
                "distance of c_1, c_2 from what is wanted",
                max(errors["published"]),
                bounds["published"],
                at_most=True,
            ),
            Measure(
                "... with the K, Q, V of the solver", max(errors["found"]), bounds["found"], at_most=True
            ),
        ),
        weights=[float(w) for w in weights[1]],
        output=[float(v) for v in outputs[1]],
        error=max(errors["published"]),
        bound=bounds["published"],
        settings={"keys": keys, "dim": dim, "B": B, "samples": samples, "seed": seed, "scale": 1.0},
        remarks=(
            f"c_1 = {as_sum(all_parts[0][:4] @ outputs[0] / B**2)}, c_2 = "
            f"{as_sum(all_parts[0][:4] @ outputs[1] / B**2)}.",
            f"The solver finds K = {as_formula(found.K)}, Q = {as_formula(found.Q)}, V = "
            f"{as_formula(found.V)}.",
        ),
        refuted=_too_short(B, max(errors["published"]), "c_1 or c_2 is", "what it should be"),
        picture=lambda: replace(_solution(B), inputs=keys),
    )


def _solution(B: float) -> SelfPicture:
    alpha, c = self_attend(INPUTS, PUBLISHED.K, PUBLISHED.Q, PUBLISHED.V, scale=B**2)
    scores = INPUTS @ PUBLISHED.Q.T @ INPUTS.T
    return SelfPicture(("",), (scores,), (alpha,), (c,), PUBLISHED)


def _too_short(B: float, error: float, what: str, wanted: str) -> str:
    """The claims are about the limit of long parts; these may not be long enough."""
    if error <= NEAR * B:
        return ""
    return (
        f"parts of length {B:g} are too short, {what} {error / B:.2f} B away from {wanted} (up to {NEAR:g} B "
        "is near)"
    )


def _parts(
    keys: int, dim: int, c: float | None, usual: float, samples: int, seed: int
) -> tuple[float, list[Array]]:
    """B, and orthogonal parts of that length: four, and one for each input beyond the third."""
    B = usual if c is None else c
    check_sizes(keys=keys, least_keys=3, dim=dim, least_dim=keys + 1, samples=samples)
    if not 0 < B <= 25:
        raise AugenmerkError(f"--scale {B:g} is impossible: the length B of the parts is between 0 and 25.")
    check_time(samples * (2.5e-4 + 1e-8 * keys * dim * (keys + dim)), keys, dim, samples)
    return B, [B * orthonormal(keys + 1, dim, np.random.default_rng([seed, n])) for n in range(samples)]


@dataclass(frozen=True)
class ScalingPicture:
    scaled: tuple[Saturation, ...]
    plain: tuple[Saturation, ...]
    keys: int


def scaling(keys: int = 32, dim: int = 1024, samples: int = 200, seed: int = 1) -> Finding:
    """With and without 1/sqrt(d), for dimensions up to `dim`."""
    check_sizes(keys=keys, least_keys=2, dim=dim, least_dim=1, samples=samples, least_samples=10)
    check_time(4.5e-8 * samples * keys * dim, keys, dim, samples, 10)
    dimensions = [*(d for d in DIMENSIONS if d < dim), dim]
    chance = np.random.default_rng(seed)
    scaled = tuple(saturation(keys, d, samples, chance) for d in dimensions)
    plain = tuple(saturation(keys, d, samples, chance, 1.0) for d in dimensions)
    query, points = chance.standard_normal(dim), chance.standard_normal((keys, dim))
    weights, output = attend(query, points, plane_values(keys))
    first, last = (scaled[0], plain[0]), (scaled[-1], plain[-1])
    return Finding(
        task="scaling",
        title="Why 1/sqrt(d)",
        claim="For entries of variance 1, Var(q.k) = d: without the 1/sqrt(d) logits grow with the "
        "dimension, the weights go to one key and the gradient of the softmax vanishes; with it nothing "
        "depends on d.",
        construction=f"{samples} random queries with {keys} random keys each, in {dimensions[0]} to {dim} "
        "dimensions",
        measures=(
            Measure(
                f"variance of a logit, d = {dim}, with",
                last[0].logit_variance,
                1.0,
                last[0].logit_variance_error,
            ),
            Measure(
                f"variance of a logit, d = {dim}, without",
                last[1].logit_variance,
                float(dim),
                last[1].logit_variance_error,
            ),
            *_entropy_and_gradient(last[0], keys, "with", samples, chance),
            *_entropy_and_gradient(last[1], keys, "without", samples, chance),
        ),
        weights=[float(w) for w in weights],
        output=[float(x) for x in output],
        error=abs(last[0].logit_variance - 1),
        bound=4 * last[0].logit_variance_error,
        settings={"keys": keys, "dim": dim, "samples": samples, "seed": seed},
        remarks=(
            f"Without it the largest weight is {first[1].largest:.3f} at d = {dimensions[0]} and "
            f"{last[1].largest:.3f} at d = {dim}; with it {first[0].largest:.3f} and "
            f"{last[0].largest:.3f}.",
        ),
        refuted=(
            f"in {dim} dimensions the gradient without it is still {last[1].gradient:.2f}, with it "
            f"{last[0].gradient:.2f} (less than half should be left)"
            if last[1].gradient > last[0].gradient / 2
            else ""
        ),
        picture=lambda: ScalingPicture(scaled, plain, keys),
    )


def _entropy_and_gradient(
    measured: Saturation, keys: int, form: str, samples: int, chance: np.random.Generator
) -> tuple[Measure, Measure]:
    """Beside what independent normal logits give."""
    names = (f"evenness (entropy / ln m), {form}", f"gradient 1 - sum alpha^2, {form}")
    found = ((measured.entropy, measured.entropy_error), (measured.gradient, measured.gradient_error))
    drawn = expected_saturation(keys, measured.dimension, measured.scale, 20_000, chance)
    entropy, gradient = (
        # The error of few samples is itself uncertain: that of the many is put in its place if larger.
        Measure(
            name,
            value,
            float(many.mean()),
            math.hypot(
                max(error, float(many.std()) / math.sqrt(samples)), float(many.std()) / math.sqrt(20_000)
            ),
        )
        for name, (value, error), many in zip(names, found, drawn, strict=True)
    )
    return entropy, gradient
