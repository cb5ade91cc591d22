"""Grades answers to 1.6 (what c_2 is) and 1.7 (K, Q and V) on random orthogonal parts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.answers import show_names
from augenmerk.theory.attention import Array, orthonormal, softmax
from augenmerk.theory.expressions import NotFiniteError
from augenmerk.theory.letters import (
    Choice,
    Experiment,
    Letters,
    distinct_values,
    find_choice,
    refuse_undecided,
    settle,
)
from augenmerk.theory.results import Grade
from augenmerk.theory.self_attention import INPUTS, PARTS, WANTED, as_sum

CONDITIONS = ((16, 10.0), (4, 10.0), (8, 30.0), (16, 1000.0))
"""Pairs of a dimension and B, the length of the parts, which is large as the tasks say."""
TOLERANCE = 0.01  # an answer holds if outputs are this near to what they should be, in units of B
LIMIT = 1e-4  # the same for the largest B
MAX_SAMPLES = 50  # the parts differ by a rotation only, so that more of them would say no more
FEW = 2  # samples with which the choice of letters is looked for
MAX_ENTRY = 1e12  # the largest entry of an answer, so that products of answers do not overflow
DECIDING = 1e4  # the number by which a short Q is multiplied to see what V makes of its choice
NAMES = frozenset({*(f"u_{part}" for part in PARTS), "x_1", "x_2", "x_3", "B", "I", "c", "e"})
ASKED = {"1.6": ("c_2",), "1.7": ("K", "Q", "V")}


@dataclass(frozen=True)
class _Parts:
    """Orthogonal parts (N, 4, d) of length B, and the inputs (N, 3, d) that are made of them."""

    parts: Array
    B: float

    @property
    def inputs(self) -> Array:
        return np.asarray(INPUTS @ self.parts)

    @property
    def names(self) -> dict[str, Array | float]:
        vectors = {f"u_{part}": self.parts[:, i] for i, part in enumerate(PARTS)}
        inputs = {f"x_{i + 1}": self.inputs[:, i] for i in range(3)}
        return {**vectors, **inputs, "B": self.B, "I": np.eye(self.parts.shape[2])[None], "e": math.e}

    def attend(self, K: Array, Q: Array, V: Array) -> tuple[Array, Array]:
        """Returns the weights (N, 3, 3) and outputs (N, 3, d) of self-attention without 1/sqrt(d)."""
        x = self.inputs
        with np.errstate(all="ignore"):
            keys, queries, values = (x @ np.swapaxes(matrix, 1, 2) for matrix in (K, Q, V))
            weights = softmax(queries @ np.swapaxes(keys, 1, 2))
            return weights, weights @ values


@lru_cache
def _draw_parts(number: int, samples: int, seed: int) -> _Parts:
    dim, B = CONDITIONS[number]
    rngs = [np.random.default_rng([seed, number, sample]) for sample in range(samples)]
    return _Parts(B * np.stack([orthonormal(len(PARTS), dim, rng) for rng in rngs]), B)


@dataclass(frozen=True)
class SelfExperiment(Experiment):
    """An answer to 1.6 or 1.7, which can be tried with values of its letters."""

    stretched: tuple[str, ...] = ()
    """Which of c_2, Q and V are multiplied by a letter of the same name, to see what is missing."""
    any_size_will_do = True  # since B is large

    @property
    def letters(self) -> tuple[str, ...]:
        return (*self.answers.letters, *self.stretched)

    @property
    def conditions(self) -> Sequence[object]:
        return CONDITIONS

    def sizes(self, number: int) -> Mapping[str, float]:
        return {"B": CONDITIONS[number][1]}

    def check_shapes(self) -> None:
        """Refuses what is no vector or matrix, or too large, before anything is tried."""
        values = self._compute(_draw_parts(0, FEW, self.seed), distinct_values(self.letters))
        for value, expression in zip(values, self.answers.expressions, strict=True):
            if (largest := float(np.abs(value).max())) > MAX_ENTRY:
                raise AugenmerkError(
                    f"'{expression.text}' has entries of {largest:.0e}; numbers up to {MAX_ENTRY:.0e} can be "
                    "graded."
                )

    def _compute(self, parts: _Parts, letters: Letters) -> list[Array]:
        """Returns the output (N, d) of an answer to 1.6, or K, Q and V (N, d, d) of one to 1.7."""
        dim = parts.parts.shape[2]
        shape, rule = ((dim,), "an output is a vector like the u")
        if self.task == "1.7":
            shape, rule = ((dim, dim), "K, Q and V are matrices")  # type: ignore[assignment]
        own = {name: letters[name] for name in self.answers.letters}
        values = self.answers.values({**parts.names, **own}, shape, rule)
        factors = {name: letters[name] for name in self.stretched}
        if len(factors) > 1:  # V can be seen to lack a factor only once Q decides
            factors["Q"] *= DECIDING
        names = ASKED[self.task][: len(values)]
        return [value * factors.get(name, 1.0) for name, value in zip(names, values, strict=True)]

    def _outputs(self, parts: _Parts, values: Sequence[Array]) -> tuple[Array, Array]:
        """Returns what the answer gives (N, n, d), and what is wanted."""
        if self.task == "1.6":
            eye = np.eye(parts.parts.shape[2])[None]
            wanted = parts.attend(eye, eye, eye)[1][:, 1:2]
            return np.broadcast_to(values[0][:, None], wanted.shape), wanted
        wanted = np.stack([u @ parts.parts for u in WANTED.values()], axis=1)
        return parts.attend(values[0], values[1], values[2])[1][:, list(WANTED)], wanted

    def error(self, number: int, letters: Letters, in_all: bool = False) -> float:
        parts = _draw_parts(number, self.samples if in_all else FEW, self.seed)
        try:
            values = self._compute(parts, letters)
        except NotFiniteError:
            return math.nan
        if not all(float(np.abs(value).max()) <= MAX_ENTRY for value in values):
            return math.nan
        given, wanted = self._outputs(parts, values)
        return float(np.linalg.norm(given - wanted, axis=2).max() / parts.B)

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
        return error <= (LIMIT if number == len(CONDITIONS) - 1 else TOLERANCE)

    def lean(self, number: int, letters: Letters) -> Array | None:
        parts = _draw_parts(number, FEW, self.seed)
        try:
            given, wanted = self._outputs(parts, self._compute(parts, letters))
        except NotFiniteError:
            return None
        return np.asarray((given * wanted).sum(axis=(1, 2)) / (wanted**2).sum(axis=(1, 2)) - 1)

    def describe(self, number: int, letters: Letters) -> dict[str, Any]:
        """Returns a row of the table: the worst sample under a condition."""
        parts = _draw_parts(number, self.samples, self.seed)
        values, (dim, B) = self._compute(parts, letters), CONDITIONS[number]
        given, wanted = self._outputs(parts, values)
        errors = np.linalg.norm(given - wanted, axis=2).max(axis=1) / B
        worst = int(np.argmax(errors))
        row = {
            **{"dim": dim, "B": B, "letters": {name: letters[name] for name in self.letters}},
            **{"error": float(errors[worst]), "holds": bool(self.holds(number, letters, True, in_all=True))},
        }
        if self.task == "1.6":
            return row | {"c_2": as_sum(parts.parts[worst] @ wanted[worst, 0] / B**2)}
        weights, outputs = parts.attend(values[0], values[1], values[2])
        shown = {f"c_{i + 1}": as_sum(parts.parts[worst] @ outputs[worst, i] / B**2) for i in range(2)}
        return row | shown | {"weights": weights[worst, :2].tolist()}


def grade(answers: Sequence[str], experiment: SelfExperiment) -> Grade:
    """Grades an answer to 1.6, which says what c_2 is, or to 1.7: K, Q, V with c_1 = u_b - u_c, c_2 = u_b."""
    task, read = experiment.task, experiment.answers
    choice = find_choice(experiment) if read.letters else Choice({}, "")
    rows = []
    for number in range(len(CONDITIONS)):
        letters = settle(experiment, number, choice) if choice else _fail(experiment, number)
        rows.append(experiment.describe(number, letters))
    error, missing = max(row["error"] for row in rows), ""
    if choice and all(row["holds"] for row in rows):
        why, only_if = choice.introduce(_explain_success(task, rows, error)), choice.only_if
        mistake = "right under a condition" if only_if else ""
    else:
        refuse_undecided(experiment)
        missing, only_if = _find_missing_factors(experiment), ""
        mistake, why = (_explain_output if task == "1.6" else _explain_projections)(rows, missing)
    return Grade(
        task,
        "right if" if only_if else "wrong" if mistake else "right",
        show_names(why if why.endswith("?") else f"{why}."),
        error,
        bool(missing),
        tuple(answers),
        tuple(rows),
        mistake,
        read.remarks,
        show_names(only_if),
    )


def _fail(experiment: SelfExperiment, number: int) -> Letters:
    """Returns equal letters with which an answer fails that no choice of them saves."""
    sizes = [dict.fromkeys(experiment.letters, size) for size in (1000.0, 1.0, 1e6, 1e-3)]
    return next((letters for letters in sizes if not experiment.holds(number, letters, True)), sizes[0])


def _find_missing_factors(experiment: SelfExperiment) -> str:
    """Returns by what an answer has to be multiplied to hold, in words, or nothing if no factor helps."""
    if experiment.letters:
        return ""
    for stretched in (("c_2",),) if experiment.task == "1.6" else (("Q",), ("V",), ("Q", "V")):
        choice = find_choice(replace(experiment, stretched=stretched))
        if choice and len(choice.relations) + len(choice.rates) == len(stretched):
            larger = ["a larger Q"] if "Q" in stretched else []
            larger += [f"a {each.letter} {each.product} times as large" for each in choice.relations]
            return " and ".join(larger)
    return ""


def _explain_success(task: str, rows: Sequence[Mapping[str, Any]], error: float) -> str:
    within = f"{max(error, 0.0001):.4f} B in all {len(rows)} conditions"
    if task == "1.7":
        return f"c_1 is u_b - u_c and c_2 is u_b to within {within}"
    return (
        f"c_2 comes out as {rows[0]['c_2']}: x_2 has no part in common with the others and attends to "
        f"itself; the answer is within {within}"
    )


def _explain_output(rows: Sequence[Mapping[str, Any]], missing: str) -> tuple[str, str]:
    """Returns the mistake and the reason."""
    if missing:
        return "factor missing", f"the direction is right, but not the length: with {missing} it holds"
    # Without the right answer, and without the weights, which are as good: a reader may go on looking.
    error = next(row["error"] for row in rows if not row["holds"])
    distance = f"{error:.{2 if error >= 0.01 else 4}f} B"
    return "another output", f"the answer is {distance} away from c_2: which product of x_2 is the largest?"


def _explain_projections(rows: Sequence[Mapping[str, Any]], missing: str) -> tuple[str, str]:
    """Returns the mistake and the reason."""
    bad = next(row for row in rows if not row["holds"])
    attends = [", ".join(f"{weight:.2f}" for weight in weights) for weights in bad["weights"]]
    why = (
        f"for {bad['dim']} dimensions and B = {bad['B']:g}, c_1 comes out as {bad['c_1']} and c_2 as "
        f"{bad['c_2']}, instead of u_b - u_c and u_b; x_1 attends to x_1, x_2, x_3 with {attends[0]}, "
        f"x_2 with {attends[1]}"
    )
    if missing:
        these = "these factors are" if " and " in missing else "the factor is"
        return "factor missing", f"{why}; with {missing} it holds, so {these} all that is missing"
    decided = all(max(weights) > 1 - TOLERANCE for weights in bad["weights"])
    return "wrong value" if decided else "attention is spread", why
