"""Grades answers to 1.6 (what c_2 is) and 1.7 (K, Q and V) on random orthogonal parts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.answers import Answers
from augenmerk.theory.attention import Array, orthonormal
from augenmerk.theory.expressions import Expression
from augenmerk.theory.results import Grade
from augenmerk.theory.self_attention import INPUTS, PARTS, WANTED, as_sum, self_attend

CONDITIONS = ((16, 5.0), (4, 5.0), (64, 8.0), (64, 20.0))
"""Pairs of a dimension and B, the length of the parts, which is large as the tasks say."""
TOLERANCE = 0.01  # an answer holds if outputs are this near to what they should be, in units of B
LARGE = 1000.0  # the value of c
MAX_ENTRY = 1e12  # the largest entry of an answer, so that products of answers do not overflow
MAX_LOGIT = 1e6  # an answer that may lack a scale is tried up to this size; rounding does not matter yet
NAMES = frozenset({*(f"u_{part}" for part in PARTS), "x_1", "x_2", "x_3", "B", "I", "c", "e"})


def factors_to_try(size: float) -> list[float]:
    """Returns the numbers 2, 5, 10, 20, 50, ... that bring something of this size between 1 and MAX_LOGIT."""
    if not size:
        return []
    first, last = -math.log10(size), math.log10(MAX_LOGIT) - math.log10(size)
    decades = range(max(0, math.floor(first)), max(0, math.ceil(last)) + 1)
    # From text, because 2 times 10^23 is not quite 2e23.
    factors = [float(f"{digit}e{decade}") for decade in decades for digit in (1, 2, 5)]
    return [factor for factor in factors if 1 < factor < math.inf and factor * size <= MAX_LOGIT]


@dataclass(frozen=True)
class _Instance:
    parts: Array  # (4, d)
    inputs: Array  # (3, d)
    B: float

    @property
    def names(self) -> Mapping[str, Array | float]:
        vectors = {f"u_{part}": u for part, u in zip(PARTS, self.parts, strict=True)}
        inputs = {f"x_{number}": x for number, x in enumerate(self.inputs, 1)}
        return {**vectors, **inputs, "B": self.B, "I": np.eye(self.parts.shape[1]), "c": LARGE, "e": math.e}

    def describe(self, vector: Array) -> str:
        return as_sum(self.parts @ vector / self.B**2)


def _draw_instances(number: int, samples: int, seed: int) -> list[_Instance]:
    dim, B = CONDITIONS[number]
    rngs = [np.random.default_rng([seed, number, sample]) for sample in range(samples)]
    all_parts = [B * orthonormal(len(PARTS), dim, rng) for rng in rngs]
    return [_Instance(parts, INPUTS @ parts, B) for parts in all_parts]


def _evaluate(
    expression: Expression, names: Mapping[str, Array | float], shape: tuple[int, ...], rule: str
) -> Array:
    value = expression.value_of_shape(names, shape, rule)
    if (largest := float(np.abs(value).max())) > MAX_ENTRY:
        raise AugenmerkError(
            f"'{expression.text}' has entries of {largest:.0e}; numbers up to {MAX_ENTRY:.0e} can be graded."
        )
    return value


def check_output(answers: Sequence[str], read: Answers, samples: int, seed: int) -> Grade:
    """Grades an answer to 1.6, which says what c_2 is."""
    [expression], free = read.expressions, dict.fromkeys(read.free, LARGE)
    rows, lengths, cosines = [], list[float](), list[float]()
    for number, (dim, B) in enumerate(CONDITIONS):
        errors = []
        for instance in _draw_instances(number, samples, seed):
            eye = np.eye(dim)
            _, outputs = self_attend(instance.inputs, eye, eye, eye)
            rule = "an output is a vector like the u"
            predicted = _evaluate(expression, {**instance.names, **free}, (dim,), rule)
            errors.append(float(np.linalg.norm(outputs[1] - predicted) / B))
            length = float(np.linalg.norm(predicted))
            lengths.append(length / float(np.linalg.norm(outputs[1])))
            cosines.append(float(predicted @ outputs[1]) / (B * length) if length else 0.0)
            shown = instance.describe(outputs[1])
        rows.append({"dim": dim, "B": B, "error": max(errors), "holds": max(errors) <= TOLERANCE})
    error = max(row["error"] for row in rows)
    if error <= TOLERANCE:
        why = (
            f"c_2 comes out as {shown}: x_2 has no part in common with the others and attends to itself; the "
            f"answer is within {max(error, 0.0001):.4f} B in all {len(rows)} conditions."
        )
        return Grade("1.6", True, why, error, False, tuple(answers), tuple(rows), remarks=read.remarks)
    if min(cosines) > 1 - TOLERANCE**2:
        times = f"{lengths[0]:.3g} times as long as c_2 for B = {rows[0]['B']:g}"
        why = f"the direction is right, but not the length: the answer is {times}."
        return Grade(
            "1.6", False, why, error, True, tuple(answers), tuple(rows), "factor missing", read.remarks
        )
    # Without the right answer, and without the weights, which are as good: a reader may go on looking.
    why = f"the answer is {rows[0]['error']:.2f} B away from c_2: which product of x_2 is the largest?"
    return Grade("1.6", False, why, error, False, tuple(answers), tuple(rows), "another output", read.remarks)


_Case = tuple[_Instance, Array, Array, Array]  # an instance, and K, Q and V for it


def check_projections(answers: Sequence[str], read: Answers, samples: int, seed: int) -> Grade:
    """Grades an answer to 1.7: K, Q and V should give c_1 = u_b - u_c and c_2 = u_b."""
    all_cases: list[list[_Case]] = []
    for number, (dim, _) in enumerate(CONDITIONS):
        cases = []
        for instance in _draw_instances(number, samples, seed):
            names, rule = {**instance.names, **dict.fromkeys(read.free, LARGE)}, "K, Q and V are matrices"
            K, Q, V = (_evaluate(each, names, (dim, dim), rule) for each in read.expressions)
            cases.append((instance, K, Q, V))
        all_cases.append(cases)
    rows = [_worst_row(cases) for cases in all_cases]
    error = max(row["error"] for row in rows)
    failing = [(row, cases) for row, cases in zip(rows, all_cases, strict=True) if not row["holds"]]
    missing, mistake = False, ""
    if not failing:
        within = f"{max(error, 0.0001):.4f} B in all {len(rows)} conditions"
        why = f"c_1 is u_b - u_c and c_2 is u_b to within {within}"
    else:
        bad = failing[0][0]
        attends = [", ".join(f"{weight:.2f}" for weight in weights) for weights in bad["weights"]]
        why = (
            f"for {bad['dim']} dimensions and B = {bad['B']:g}, c_1 comes out as {bad['c_1']} and c_2 as "
            f"{bad['c_2']}, instead of u_b - u_c and u_b; x_1 attends to x_1, x_2, x_3 with {attends[0]}, "
            f"x_2 with {attends[1]}"
        )
        better = [_best_resized_row(cases) for _, cases in failing]
        missing = all(row["holds"] for row in better)
        decided = all(max(weights) > 1 - TOLERANCE for weights in bad["weights"])
        mistake = "factor missing" if missing else "wrong value" if decided else "attention is spread"
        if missing:
            why += f"; {_describe_factors(better)}"
    return Grade(
        "1.7", not failing, why + ".", error, missing, tuple(answers), tuple(rows), mistake, read.remarks
    )


def _worst_row(cases: Sequence[_Case], factor: float = 1.0, factor_of_V: float = 1.0) -> dict[str, Any]:
    """Returns the worst sample under one condition, where Q and V are multiplied by factors."""
    worst: dict[str, Any] = {}
    for instance, K, Q, V in cases:
        weights, outputs = self_attend(instance.inputs, K, factor * Q, factor_of_V * V)
        B, errors = instance.B, [outputs[i] - u @ instance.parts for i, u in WANTED.items()]
        error = max(float(np.linalg.norm(each) / B) for each in errors)
        if not worst or error > worst["error"]:
            worst = {
                **{"dim": instance.parts.shape[1], "B": B, "error": error, "holds": error <= TOLERANCE},
                **{"factor": factor, "factor_of_V": factor_of_V, "weights": weights[:2].tolist()},
                **{f"c_{number}": instance.describe(outputs[number - 1]) for number in (1, 2)},
            }
    return worst


def _best_resized_row(cases: Sequence[_Case]) -> dict[str, Any]:
    """Multiplies Q, then V, then both by the smallest factor that will do; by 1 if none does."""
    instance, K, Q, _ = cases[0]
    size = float(np.abs((instance.inputs @ Q.T) @ (instance.inputs @ K.T).T).max())
    factors = factors_to_try(size)
    of_V = _best_value_factor(cases[0], 1.0)
    of_V_in_limit = _best_value_factor(cases[0], factors[-1]) if factors else of_V
    tried = [(factor, 1.0) for factor in factors]
    tried += [(1.0, of_V), *((factor, of_V_in_limit) for factor in factors)]
    rows = (_worst_row(cases, factor, factor_of_V) for factor, factor_of_V in tried)
    return next((row for row in rows if row["holds"]), _worst_row(cases))


def _best_value_factor(case: _Case, factor: float) -> float:
    """Returns the factor of V that brings the outputs nearest to the wanted ones; 1 if that is negative."""
    instance, K, Q, V = case
    _, outputs = self_attend(instance.inputs, K, factor * Q, V)
    wanted = np.stack([u @ instance.parts for u in WANTED.values()])
    given = outputs[list(WANTED)]
    size = float(np.abs(given).max())
    if not size:
        return 1.0
    best = float((given / size * wanted).sum() / ((given / size) ** 2).sum() / size)
    return best if 0 < best < math.inf else 1.0


def _describe_factors(better: Sequence[Mapping[str, Any]]) -> str:
    """Says which factors make the answer hold under the conditions where it does not."""
    first = better[0]
    changed = []
    if first["factor"] != 1:
        changed.append(f"a Q {first['factor']:g} times as large")
    if first["factor_of_V"] != 1:
        powers = [math.log(row["factor_of_V"]) / math.log(row["B"]) for row in better]
        power = round(powers[0])
        by = f"{first['factor_of_V']:.4g}"
        if power and max(abs(each - power) for each in powers) < 0.01:
            by = f"{'1/' if power < 0 else ''}B{f'^{abs(power)}' if abs(power) > 1 else ''}"
        changed.append(f"a V {by} times as large")
    each = "the factor is" if len(changed) == 1 else "these factors are"
    return f"with {' and '.join(changed)} it holds, so {each} all that is missing"
