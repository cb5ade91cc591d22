"""A reader's answers to 1.6 (what c_2 is) and 1.7 (K, Q and V), tried on random orthogonal parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.expressions import Expression
from augenmerk.theory.noise import orthonormal
from augenmerk.theory.self_attention import INPUTS, PARTS, WANTED, as_sum, self_attend

CONDITIONS = ((16, 5.0), (4, 5.0), (64, 8.0), (64, 20.0))
"""(dimension, B): the length of the parts is large, as the tasks say."""
TOLERANCE = 0.01
"""Of the distance between an output and what it should be, in units of B."""
FACTORS = (10.0, 100.0, 1000.0, 10_000.0)
LARGE = 1000.0
"""What c stands for."""
NAMES = frozenset({*(f"u_{part}" for part in PARTS), "x_1", "x_2", "x_3", "B", "I", "c"})


@dataclass(frozen=True)
class Outcome:
    holds: bool
    why: str
    error: float
    missing_scale: bool
    conditions: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class _Setting:
    parts: Array  # (4, d)
    inputs: Array  # (3, d)
    B: float

    @property
    def names(self) -> Mapping[str, Array | float]:
        vectors = {f"u_{part}": u for part, u in zip(PARTS, self.parts, strict=True)}
        inputs = {f"x_{number}": x for number, x in enumerate(self.inputs, 1)}
        return {**vectors, **inputs, "B": self.B, "I": np.eye(self.parts.shape[1]), "c": LARGE}

    def over_parts(self, vector: Array) -> Array:
        return np.asarray(self.parts @ vector / self.B**2)


def _setting(dim: int, B: float, chance: np.random.Generator) -> _Setting:
    parts = B * orthonormal(len(PARTS), dim, chance)
    return _Setting(parts, INPUTS @ parts, B)


def check_outputs(answers: Sequence[Expression], samples: int, seed: int) -> Outcome:
    """1.6: is c_2 what the reader says it is?"""
    [answer] = answers
    rows, shown = [], ""
    for number, (dim, B) in enumerate(CONDITIONS):
        errors = []
        for chance in _chances(seed, number, samples):
            setting = _setting(dim, B, chance)
            identity = np.eye(dim)
            _, outputs = self_attend(setting.inputs, identity, identity, identity)
            predicted = _shaped(
                answer, answer.value(setting.names), (dim,), "an output is a vector like the u"
            )
            errors.append(float(np.linalg.norm(outputs[1] - predicted) / B))
            shown = shown or as_sum(setting.over_parts(outputs[1]))
        rows.append({"dim": dim, "B": B, "error": max(errors), "holds": max(errors) <= TOLERANCE})
    error = max(row["error"] for row in rows)
    first = f"c_2 comes out as {shown}: x_2 has no part in common with the others and attends to itself"
    if error <= TOLERANCE:
        why = f"{first}; the answer is within {max(error, 0.0001):.4f} B in all {len(rows)} conditions."
    else:
        why = f"{first}; the answer is {rows[0]['error']:.2f} B away from it."
    return Outcome(error <= TOLERANCE, why, error, False, tuple(rows))


def check_projections(answers: Sequence[Expression], samples: int, seed: int) -> Outcome:
    """1.7: do K, Q and V give c_1 = u_b - u_c and c_2 = u_b?"""
    own = [_row(answers, dim, B, samples, [seed, number], 1.0) for number, (dim, B) in enumerate(CONDITIONS)]
    error = max(row["error"] for row in own)
    if error <= TOLERANCE:
        within = f"{max(error, 0.0001):.4f} B in all {len(own)} conditions"
        why = f"c_1 is u_b - u_c and c_2 is u_b to within {within}."
        return Outcome(True, why, error, False, tuple(own))
    larger = [
        min((_row(answers, dim, B, samples, [seed, n], f) for f in FACTORS), key=lambda row: row["error"])
        for n, (dim, B) in enumerate(CONDITIONS)
    ]
    missing = all(row["holds"] for row in larger)
    bad, better = next((a, b) for a, b in zip(own, larger, strict=True) if not a["holds"])
    why = (
        f"for {bad['dim']} dimensions and B = {bad['B']:g}, c_1 comes out as {bad['c_1']} and c_2 as "
        f"{bad['c_2']}, instead of u_b - u_c and u_b; x_1 attends to x_1, x_2, x_3 with "
        f"{_spoken(bad['weights'][0])}, x_2 with {_spoken(bad['weights'][1])}"
    )
    if missing:
        why += (
            f"; with a Q {better['factor']:.0f} times as large it holds, so the scale is all that is missing"
        )
    return Outcome(False, why + ".", error, missing, tuple(own))


def _spoken(weights: Sequence[float]) -> str:
    return ", ".join(f"{weight:.2f}" for weight in weights)


def _row(
    answers: Sequence[Expression], dim: int, B: float, samples: int, seed: Sequence[int], factor: float
) -> dict[str, Any]:
    """The worst of the samples under one condition."""
    worst: dict[str, Any] = {}
    for chance in _chances(seed[0], seed[1], samples):
        setting = _setting(dim, B, chance)
        K, Q, V = (
            _shaped(answer, answer.value(setting.names), (dim, dim), "K, Q and V are matrices")
            for answer in answers
        )
        weights, outputs = self_attend(setting.inputs, K, factor * Q, V)
        wrong = [float(np.linalg.norm(outputs[i] - u @ setting.parts) / B) for i, u in WANTED.items()]
        if not worst or max(wrong) > worst["error"]:
            worst = {
                "dim": dim,
                "B": B,
                "error": max(wrong),
                "holds": max(wrong) <= TOLERANCE,
                "factor": factor,
                "c_1": as_sum(setting.over_parts(outputs[0])),
                "c_2": as_sum(setting.over_parts(outputs[1])),
                "weights": weights[:2].tolist(),
            }
    return worst


def _shaped(answer: Expression, value: Array, shape: tuple[int, ...], otherwise: str) -> Array:
    if value.shape != shape:
        kind = ("a number", "a vector", "a matrix")[value.ndim]
        size = " of another size" if value.ndim == len(shape) else ""
        raise AugenmerkError(f"'{answer.text}' is {kind}{size}; {otherwise}.")
    return value


def _chances(seed: int, number: int, samples: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, number, sample]) for sample in range(samples)]
