"""Tasks 1.6 and 1.7: self-attention over inputs that are sums of orthogonal parts.

    x_1 = u_d + u_b,  x_2 = u_a,  x_3 = u_c + u_b        u orthogonal, each of length B

Inputs and matrices are written as coefficients over the parts: an input is a row of 0s and 1s, and a matrix
M means sum_rs M_rs u_r u_s^T / B^2, so that it maps u_s to M_rs u_r. Such an answer holds for any choice
of the parts. There is no 1/sqrt(d) in these two tasks.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array, diameter, orthonormal, softmax
from augenmerk.theory.copying import distance_from_hull
from augenmerk.theory.results import Measurement, Result, Setup, radius

PARTS = "abcd"
PART_NAMES = ("u_a", "u_b", "u_c", "u_d")
INPUTS = np.array([[0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]], dtype=np.float64)
"""x_1, x_2, x_3 over u_a, u_b, u_c, u_d."""
U_A, U_B, U_C, U_D = np.eye(4)
WANTED: Mapping[int, Array] = {0: U_B - U_C, 1: U_B}  # what the first two outputs should be in 1.7
TOLERANCE = 0.05  # the claims hold if an output is this near to what it should be, in units of B
USUAL_B = 4.0


@dataclass(frozen=True)
class Projections:
    """K, Q and V over the parts: keys K x, queries Q x, values V x."""

    K: Array
    Q: Array
    V: Array


PUBLISHED = Projections(
    K=np.eye(4), Q=np.outer(U_D, U_A) + np.outer(U_C, U_D), V=np.outer(U_B, U_B) - np.outer(U_C, U_C)
)
"""The answer to 1.7 in the specification."""


def in_space(matrix: Array, parts: Array) -> Array:
    """Returns sum_rs M_rs u_r u_s^T / B^2 for parts (p, d) that are orthogonal and of one length."""
    return np.asarray(parts.T @ matrix @ parts / (parts[0] @ parts[0]))


def self_attend(inputs: Array, K: Array, Q: Array, V: Array, scale: float = 1.0) -> tuple[Array, Array]:
    """Returns the weights (m, m), a row for each query, and the outputs (m, d) for inputs (m, d)."""
    weights = softmax((inputs @ Q.T) @ (inputs @ K.T).T * scale)
    return weights, weights @ (inputs @ V.T)


def with_bystanders(inputs: Array, count: int) -> Array:
    """Adds inputs until there are `count`; each new one is a part that no other input contains."""
    return np.asarray(block_diag(inputs, np.eye(count - len(inputs))))


def as_sum(coefficients: Array) -> str:
    """Writes a vector over the parts as 'u_b - u_c', without the entries that round to 0."""
    text = ""
    for value, name in zip(coefficients, PART_NAMES, strict=False):
        if size := round(abs(float(value)), 2):
            sign = (" - " if text else "-") if value < 0 else (" + " if text else "")
            text += f"{sign}{'' if size == 1 else f'{size:.2f} '}{name}"
    return text or "0"


def run_without_projections(setup: Setup) -> Result:
    """Runs 1.6: q = k = v = x, for parts of length B."""
    B, all_parts = _draw_parts(setup)
    keys, eye = setup.keys, np.eye(setup.dim)
    inputs = with_bystanders(INPUTS, keys)
    leak = (keys - 1) / (math.exp(B**2) + keys - 1)
    others = 1 + (keys - 2) * math.exp(-(B**2))
    leak_added = others / (math.exp(B**2) + others)
    errors, bounds, self_weights, added_weights, added_errors, distances = [], [], [], [], [], []
    for parts in all_parts:
        x = inputs @ parts
        weights, outputs = self_attend(x, eye, eye, eye)
        errors.append(float(np.linalg.norm(outputs[1] - parts[0])))
        bounds.append(leak * radius(x, x[1]))
        self_weights.append(float(weights[1, 1]))
        for addition in (parts[3], parts[2]):
            other = x.copy()
            other[1] += addition
            weights, outputs = self_attend(other, eye, eye, eye)
            added_weights.append(float(weights[1, 1]))
            added_errors.append(float(np.linalg.norm(outputs[1] - other[1])))
            distances.append(distance_from_hull(parts[1], other) / B)
    worst, parts, x = int(np.argmax(errors)), all_parts[0], inputs @ all_parts[0]
    weights, outputs = self_attend(x, eye, eye, eye)
    # The hull of u_d + u_b, u_c + u_b and n = m - 3 inputs of one other part is nearest to u_b for a weight w
    # on each of the first two and the rest evenly on the others. The squared distance over B^2 is then
    # 2 w^2 + (1 + 1/n)(1 - 2w)^2, smallest at w = k / (1 + 2k) with k = 1 + 1/n.
    k = math.inf if keys == 3 else 1 + 1 / (keys - 3)
    least = math.sqrt(1 / (1 / k + 2))
    return Result(
        construction=_construction(B, setup),
        measures=(
            Measurement("weight of x_2 on itself", min(self_weights), 1 - leak),
            Measurement("distance of c_2 from u_a", errors[worst], bounds[worst], "at most"),
            Measurement("u_d or u_c added: weight on itself", min(added_weights), 1 - leak_added),
            Measurement(
                "... distance of c_2 from x_2",
                max(added_errors),
                leak_added * (radius(x, x[1]) + B),
                "at most",
            ),
            Measurement("... least distance to u_b of any weights / B", min(distances), least),
        ),
        weights=weights[1],
        output=outputs[1],
        error=errors[worst],
        bound=bounds[worst],
        settings=setup.to_dict(B=B, scale=1.0),
        remarks=(
            f"c_2 = {as_sum(parts[:4] @ outputs[1] / B**2)}. An output is a convex combination of the "
            f"inputs, and u_b is {distance_from_hull(parts[1], x) / B:.3f} B away from all "
            f"of these ({min(distances):.3f} B with u_d or u_c added to x_2): no queries and keys could "
            "give it without a V.",
        ),
        refuted=_refute_short_parts(B, errors[worst], "c_2 is", "u_a"),
        picture=lambda: (B, keys),
    )


def run_with_projections(setup: Setup) -> Result:
    """Runs 1.7: K, Q and V that make c_1 = u_b - u_c and c_2 = u_b."""
    B, all_parts = _draw_parts(setup)
    keys = setup.keys
    inputs = with_bystanders(INPUTS, keys)
    leak = (keys - 1) / (math.exp(B**2) + keys - 1)
    error = bound = 0.0
    for parts in all_parts[::-1]:  # the first is shown
        Q, V = in_space(PUBLISHED.Q, parts[:4]), in_space(PUBLISHED.V, parts[:4])
        x = inputs @ parts
        weights, outputs = self_attend(x, np.eye(setup.dim), Q, V)
        wrong = [float(np.linalg.norm(outputs[i] - u @ parts[:4])) for i, u in WANTED.items()]
        error, bound = max(error, *wrong), max(bound, leak * diameter(x @ V.T))
    c_1, c_2 = (as_sum(all_parts[0][:4] @ output / B**2) for output in outputs[:2])
    return Result(
        construction=_construction(B, setup),
        measures=(
            Measurement("weight of x_1 on x_3", float(weights[0, 2]), 1 - leak),
            Measurement("weight of x_2 on x_1", float(weights[1, 0]), 1 - leak),
            Measurement("distance of c_1, c_2 from what is wanted", error, bound, "at most"),
        ),
        weights=weights[1],
        output=outputs[1],
        error=error,
        bound=bound,
        settings=setup.to_dict(B=B, scale=1.0),
        remarks=(f"c_1 = {c_1}, c_2 = {c_2}.",),
        refuted=_refute_short_parts(B, error, "c_1 or c_2 is", "what it should be"),
        picture=lambda: (B, keys),
    )


def _construction(B: float, setup: Setup) -> str:
    where = f"u orthogonal, of length B = {B:g}, in {setup.dim} dimensions"
    return f"{where}; {setup.samples} random choices of them"


def _refute_short_parts(B: float, error: float, output: str, wanted: str) -> str:
    if error <= TOLERANCE * B:
        return ""
    return (
        f"parts of length {B:g} are too short, {output} {error / B:.2f} B away from {wanted} (up to "
        f"{TOLERANCE:g} B is near)"
    )


def _draw_parts(setup: Setup) -> tuple[float, list[Array]]:
    """Returns B and orthogonal parts of that length: four, and one for each input beyond the third."""
    B = USUAL_B if setup.c is None else setup.c
    if not 0 < B <= 25:
        raise AugenmerkError(f"--length {B:g} is impossible: the length B of the parts is between 0 and 25.")
    seconds = 3.5e-4 + 4e-6 * setup.keys * setup.dim
    setup.check(least=(3, setup.keys + 1, 1), sample_seconds=seconds)
    rngs = [np.random.default_rng([setup.seed, number]) for number in range(setup.samples)]
    return B, [B * orthonormal(setup.keys + 1, setup.dim, rng) for rng in rngs]
