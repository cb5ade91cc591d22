"""A reader's answers to 1.6 (what c_2 is) and 1.7 (K, Q and V), tried on random orthogonal parts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.expressions import Expression
from augenmerk.theory.noise import orthonormal
from augenmerk.theory.query_trials import factors_for
from augenmerk.theory.self_attention import INPUTS, PARTS, WANTED, as_sum, self_attend

CONDITIONS = ((16, 5.0), (4, 5.0), (64, 8.0), (64, 20.0))
"""(dimension, B): the length of the parts is large, as the tasks say."""
TOLERANCE = 0.01
"""Of the distance between an output and what it should be, in units of B."""
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
    cases = [_cases(answers, dim, B, samples, seed, n) for n, (dim, B) in enumerate(CONDITIONS)]
    own = [_row(each) for each in cases]
    error = max(row["error"] for row in own)
    if error <= TOLERANCE:
        within = f"{max(error, 0.0001):.4f} B in all {len(own)} conditions"
        why = f"c_1 is u_b - u_c and c_2 is u_b to within {within}."
        return Outcome(True, why, error, False, tuple(own))
    better = [row if row["holds"] else _resized(each) for row, each in zip(own, cases, strict=True)]
    missing = all(row["holds"] for row in better)
    bad = next(row for row in own if not row["holds"])
    why = (
        f"for {bad['dim']} dimensions and B = {bad['B']:g}, c_1 comes out as {bad['c_1']} and c_2 as "
        f"{bad['c_2']}, instead of u_b - u_c and u_b; x_1 attends to x_1, x_2, x_3 with "
        f"{_spoken(bad['weights'][0])}, x_2 with {_spoken(bad['weights'][1])}"
    )
    if missing:
        why += f"; {_what_is_missing([b for a, b in zip(own, better, strict=True) if not a['holds']])}"
    return Outcome(False, why + ".", error, missing, tuple(own))


def _what_is_missing(better: Sequence[Mapping[str, Any]]) -> str:
    """Which factors make the answer hold, where it does not."""
    first = better[0]
    changed = []
    if first["factor"] != 1:
        changed.append(f"a Q {first['factor']:g} times as large")
    if first["factor_of_V"] != 1:
        powers = [math.log(row["factor_of_V"]) / math.log(row["B"]) for row in better]
        power = round(powers[0])
        by = f"{first['factor_of_V']:.4g} times"
        if power and max(abs(each - power) for each in powers) < 0.01:
            by = f"{'1/' if power < 0 else ''}B{f'^{abs(power)}' if abs(power) > 1 else ''} times"
        changed.append(f"a V {by} as large")
    what = "scale" if first["factor_of_V"] == 1 else "factor"
    each = f"the {what} is" if len(changed) == 1 else "these factors are"
    return f"with {' and '.join(changed)} it holds, so {each} all that is missing"


def _spoken(weights: Sequence[float]) -> str:
    return ", ".join(f"{weight:.2f}" for weight in weights)


_Case = tuple[_Setting, Array, Array, Array]
"""Parts and inputs, and what K, Q and V come to for them."""


def _cases(
    answers: Sequence[Expression], dim: int, B: float, samples: int, seed: int, number: int
) -> list[_Case]:
    cases = []
    for chance in _chances(seed, number, samples):
        setting = _setting(dim, B, chance)
        K, Q, V = (
            _shaped(answer, answer.value(setting.names), (dim, dim), "K, Q and V are matrices")
            for answer in answers
        )
        cases.append((setting, K, Q, V))
    return cases


def _resized(cases: Sequence[_Case]) -> dict[str, Any]:
    """The answer with the smallest factor on Q that will do, then on V, then on both; else as it is."""
    setting, K, Q, _ = cases[0]
    size = float(np.abs((setting.inputs @ Q.T) @ (setting.inputs @ K.T).T).max())
    factors = factors_for(size)
    plain = _row(cases)
    by = _best_size_of_values(cases[0], 1.0)
    in_the_limit = _best_size_of_values(cases[0], factors[-1]) if factors else by
    for rows in (
        (_row(cases, factor) for factor in factors),
        iter([_row(cases, 1.0, by)]),
        (_row(cases, factor, in_the_limit) for factor in factors),
    ):
        for row in rows:
            if row["holds"]:
                return row
    return plain


def _best_size_of_values(case: _Case, factor: float) -> float:
    """What V has to be multiplied by to come nearest to what is wanted; 1 if it would have to turn round."""
    setting, K, Q, V = case
    _, outputs = self_attend(setting.inputs, K, factor * Q, V)
    wanted = np.stack([u @ setting.parts for u in WANTED.values()])
    given = outputs[list(WANTED)]
    size = float(np.abs(given).max())
    if not size:
        return 1.0
    best = float((given / size * wanted).sum() / ((given / size) ** 2).sum() / size)
    return best if 0 < best < math.inf else 1.0


def _row(cases: Sequence[_Case], factor: float = 1.0, factor_of_V: float = 1.0) -> dict[str, Any]:
    """The worst of the samples under one condition."""
    worst: dict[str, Any] = {}
    for setting, K, Q, V in cases:
        weights, outputs = self_attend(setting.inputs, K, factor * Q, factor_of_V * V)
        B = setting.B
        wrong = [float(np.linalg.norm(outputs[i] - u @ setting.parts) / B) for i, u in WANTED.items()]
        if not worst or max(wrong) > worst["error"]:
            worst = {
                "dim": setting.parts.shape[1],
                "B": B,
                "error": max(wrong),
                "holds": max(wrong) <= TOLERANCE,
                "factor": factor,
                "factor_of_V": factor_of_V,
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
