"""Tries answers to 1.6 (what c_2 is) and 1.7 (K, Q and V) on random orthogonal parts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array, orthonormal, softmax
from augenmerk.theory.choices import (
    Choice,
    Experiment,
    Letters,
    distinct_values,
    find_choice,
    settle,
)
from augenmerk.theory.expressions import NotFiniteError
from augenmerk.theory.grading import Outcome
from augenmerk.theory.self_attention import INPUTS, PARTS, WANTED, as_sum

TOLERANCE = 0.01  # an answer holds if outputs are this near to what they should be, in units of B
LIMIT = 1e-4  # the same for the largest B
MAX_SAMPLES = 50  # the parts differ by a rotation only, so that more of them would add nothing
FEW = 2  # samples with which the choice of letters is looked for
MAX_ENTRY = 1e12  # the largest entry of an answer, so that products of answers do not overflow


class Condition(NamedTuple):
    dim: int
    B: float  # the length of the parts, which is large as the tasks say


@lru_cache
def _draw_parts(condition: Condition, number: int, samples: int, seed: int) -> Array:
    """Draws orthogonal parts (N, 4, d) of length B."""
    rngs = [np.random.default_rng([seed, number, sample]) for sample in range(samples)]
    return condition.B * np.stack([orthonormal(len(PARTS), condition.dim, rng) for rng in rngs])


def _attend(parts: Array, K: Array, Q: Array, V: Array) -> tuple[Array, Array]:
    """Returns the weights (N, 3, 3) and outputs (N, 3, d) of self-attention without 1/sqrt(d)."""
    with np.errstate(all="ignore"):
        keys, queries, values = (INPUTS @ parts @ matrix.swapaxes(1, 2) for matrix in (K, Q, V))
        weights = softmax(queries @ keys.swapaxes(1, 2))
        return weights, weights @ values


@dataclass(frozen=True)
class SelfExperiment(Experiment):
    """An output, or K, Q and V, tried with values of their letters."""

    any_size_will_do = True  # since B is large

    @property
    def conditions(self) -> Sequence[Condition]:
        return [Condition(**fields) for fields in self.exercise.key.conditions]

    @property
    def _names(self) -> tuple[str, ...]:
        return self.exercise.key.formulas[0]

    def sizes(self, number: int) -> Mapping[str, float]:
        return {"B": self.conditions[number].B}

    def check_shapes(self) -> None:
        values = self._compute(0, self._parts(0), distinct_values(self.letters))
        for value, expression in zip(values, self.answers.expressions, strict=True):
            if (largest := float(np.abs(value).max())) > MAX_ENTRY:
                raise AugenmerkError(
                    f"'{expression.text}' has entries of {largest:.0e}; numbers up to {MAX_ENTRY:.0e} can be "
                    "graded."
                )

    def _parts(self, number: int, in_all: bool = False) -> Array:
        samples = min(self.samples, MAX_SAMPLES) if in_all else FEW
        return _draw_parts(self.conditions[number], number, samples, self.seed)

    def _compute(self, number: int, parts: Array, letters: Letters) -> list[Array]:
        """Returns an output (N, d), or K, Q and V (N, d, d)."""
        dim, B = self.conditions[number]
        shape: tuple[int, ...] = (dim,)
        rule = "an output is a vector like the u"
        if len(self._names) > 1:
            shape, rule = (dim, dim), "K, Q and V are matrices"
        names: dict[str, Array | float] = {
            **{f"u_{part}": parts[:, i] for i, part in enumerate(PARTS)},
            **{f"x_{i + 1}": (INPUTS @ parts)[:, i] for i in range(3)},
            **{"B": B, "I": np.eye(dim)[None], "e": math.e},
            **{name: letters[name] for name in self.letters},
        }
        return self.answers.values(names, shape, rule)

    def _outputs(self, parts: Array, values: Sequence[Array]) -> tuple[Array, Array]:
        """Returns what the answer gives (N, n, d), and what is wanted."""
        if len(values) == 1:
            eye = np.eye(parts.shape[2])[None]
            wanted = _attend(parts, eye, eye, eye)[1][:, 1:2]
            return np.broadcast_to(values[0][:, None], wanted.shape), wanted
        wanted = np.stack([u @ parts for u in WANTED.values()], axis=1)
        return _attend(parts, *values)[1][:, list(WANTED)], wanted

    def error(self, number: int, letters: Letters, in_all: bool = False) -> float:
        parts = self._parts(number, in_all)
        try:
            values = self._compute(number, parts, letters)
        except NotFiniteError:
            return math.nan
        if not all(float(np.abs(value).max()) <= MAX_ENTRY for value in values):
            return math.nan
        given, wanted = self._outputs(parts, values)
        return float(np.linalg.norm(given - wanted, axis=2).max() / self.conditions[number].B)

    def holds(  # B is large, whatever the letters are
        self,
        number: int,
        letters: Letters,
        in_the_limit: bool,  # noqa: ARG002
        in_all: bool = False,
    ) -> bool | None:
        error = self.error(number, letters, in_all)
        if math.isnan(error):
            return None
        return error <= (LIMIT if number == len(self.conditions) - 1 else TOLERANCE)

    def lean(self, number: int, letters: Letters) -> Array:
        parts = self._parts(number)
        try:
            given, wanted = self._outputs(parts, self._compute(number, parts, letters))
        except NotFiniteError:
            return np.array([math.nan])
        return np.asarray((given * wanted).sum(axis=(1, 2)) / (wanted**2).sum(axis=(1, 2)) - 1)

    def try_out(self, texts: Sequence[str]) -> Outcome:  # noqa: ARG002
        choice = find_choice(self) if self.letters else Choice({})
        numbers = range(len(self.conditions))
        rows = [self._attempt(n, settle(self, n, choice) if choice else self._fail(n)) for n in numbers]
        if choice and all(row["holds"] for row in rows):
            return Outcome(rows, choice.introduce(self._explain_success(rows)), only_if=choice.only_if)
        self.check_decided()
        explain = _explain_output if len(self._names) == 1 else _explain_projections
        return Outcome(rows, *explain(next(row for row in rows if not row["holds"])))

    def _fail(self, number: int) -> Letters:
        """Returns equal letters with which an answer fails that no choice of them saves."""
        sizes = [dict.fromkeys(self.letters, size) for size in (1000.0, 1.0, 1e6, 1e-3)]
        return next((letters for letters in sizes if not self.holds(number, letters, True)), sizes[0])

    def _attempt(self, number: int, letters: Letters) -> dict[str, Any]:
        """Returns what came of all samples under a condition, with the outputs of the worst in words."""
        parts, (dim, B) = self._parts(number, in_all=True), self.conditions[number]
        values = self._compute(number, parts, letters)
        given, wanted = self._outputs(parts, values)
        errors = np.linalg.norm(given - wanted, axis=2).max(axis=1) / B
        worst = int(np.argmax(errors))
        row = {
            **{"dim": dim, "B": B, "letters": {name: letters[name] for name in self.letters}},
            **{"error": float(errors[worst]), "holds": bool(self.holds(number, letters, True, in_all=True))},
        }
        if len(values) == 1:
            return row | {"c_2": as_sum(parts[worst] @ wanted[worst, 0] / B**2)}
        weights, outputs = _attend(parts, *values)
        shown = {f"c_{i + 1}": as_sum(parts[worst] @ outputs[worst, i] / B**2) for i in range(2)}
        return row | shown | {"weights": weights[worst, :2].tolist()}

    def _explain_success(self, rows: Sequence[Mapping[str, Any]]) -> str:
        error = max(row["error"] for row in rows)
        within = f"{max(error, 0.0001):.4f} B in all {len(rows)} conditions"
        if len(self._names) > 1:
            return f"c_1 is u_b - u_c and c_2 is u_b to within {within}."
        return (
            f"c_2 comes out as {rows[0]['c_2']}: x_2 has no part in common with the others and attends "
            f"to itself; the answer is within {within}."
        )


def _explain_output(failed: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the reason and the mistake."""
    # Without the right answer, and without the weights, which are as good: a reader may want to try again.
    distance = f"{failed['error']:.{2 if failed['error'] >= 0.01 else 4}f} B"
    return f"the answer is {distance} away from c_2: which product of x_2 is the largest?", "another output"


def _explain_projections(failed: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the reason and the mistake."""
    attends = [", ".join(f"{weight:.2f}" for weight in weights) for weights in failed["weights"]]
    decided = all(max(weights) > 1 - TOLERANCE for weights in failed["weights"])
    return (
        f"for {failed['dim']} dimensions and B = {failed['B']:g}, c_1 comes out as {failed['c_1']} and c_2 "
        f"as {failed['c_2']}, instead of u_b - u_c and u_b; x_1 attends to x_1, x_2, x_3 with {attends[0]}, "
        f"x_2 with {attends[1]}.",
        "wrong value" if decided else "attention is spread",
    )
