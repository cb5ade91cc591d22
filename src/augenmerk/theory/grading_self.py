"""Grades answers to 1.6 (what c_2 is) and 1.7 (K, Q and V) on random orthogonal parts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.answers import Answers, show_names
from augenmerk.theory.attention import Array, orthonormal, softmax
from augenmerk.theory.conditions import Signs
from augenmerk.theory.expressions import NotFiniteError
from augenmerk.theory.letters import Choice, Letters, find_choice, settle
from augenmerk.theory.results import Grade
from augenmerk.theory.self_attention import INPUTS, PARTS, WANTED, as_sum

CONDITIONS = ((16, 10.0), (4, 10.0), (8, 30.0), (16, 1000.0))
"""Pairs of a dimension and B, the length of the parts, which is large as the tasks say."""
TOLERANCE = 0.01  # an answer holds if outputs are this near to what they should be, in units of B
LIMIT = 1e-4  # the same for the largest B
MAX_SAMPLES = 50  # the parts differ by a rotation only, so that more of them would say no more
FEW = 2  # samples with which the choice of letters is looked for
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


Numbers = Mapping[str, Array | float]


@dataclass(frozen=True)
class _Parts:
    """Orthogonal parts (N, 4, d) of length B, and the inputs (N, 3, d) that are made of them."""

    parts: Array
    B: float

    @property
    def inputs(self) -> Array:
        return INPUTS @ self.parts

    @property
    def names(self) -> Numbers:
        vectors = {f"u_{part}": self.parts[:, i] for i, part in enumerate(PARTS)}
        inputs = {f"x_{i + 1}": self.inputs[:, i] for i in range(3)}
        return {**vectors, **inputs, "B": self.B, "I": np.eye(self.parts.shape[2])[None], "e": math.e}

    def describe(self, vector: Array, sample: int) -> str:
        return as_sum(self.parts[sample] @ vector / self.B**2)


@lru_cache
def _draw_parts(number: int, samples: int, seed: int) -> _Parts:
    dim, B = CONDITIONS[number]
    rngs = [np.random.default_rng([seed, number, sample]) for sample in range(samples)]
    return _Parts(B * np.stack([orthonormal(len(PARTS), dim, rng) for rng in rngs]), B)


@dataclass(frozen=True)
class SelfExperiment:
    """An answer to 1.6 or 1.7, which can be tried with values of its letters."""

    task: str
    answers: Answers
    samples: int
    seed: int
    any_size_will_do: bool = True  # since B is large

    @property
    def letters(self) -> tuple[str, ...]:
        return self.answers.letters

    @property
    def signs(self) -> Mapping[str, Signs]:
        return self.answers.signs

    @property
    def conditions(self) -> Sequence[tuple[int, float]]:
        return CONDITIONS

    def sizes(self, number: int) -> Mapping[str, float]:
        return {"B": CONDITIONS[number][1]}

    def compute(self, parts: _Parts, letters: Letters) -> list[Array]:
        """Returns the output (N, d) of an answer to 1.6, or K, Q and V (N, d, d) of one to 1.7."""
        dim = parts.parts.shape[2]
        shape, rule = ((dim,), "an output is a vector like the u")
        if self.task == "1.7":
            shape, rule = ((dim, dim), "K, Q and V are matrices")
        return self.answers.values({**parts.names, **letters}, shape, rule)

    def outputs(self, parts: _Parts, values: Sequence[Array]) -> tuple[Array, Array]:
        """Returns what the answer gives (N, n, d), and what is wanted."""
        if self.task == "1.6":
            eye = np.eye(parts.parts.shape[2])[None]
            _, outputs = _attend(parts, eye, eye, eye)
            return np.broadcast_to(values[0], outputs[:, 1].shape)[:, None], outputs[:, 1:2]
        _, outputs = _attend(parts, *values)
        return outputs[:, list(WANTED)], np.stack([u @ parts.parts for u in WANTED.values()], axis=1)

    def holds(self, number: int, letters: Letters, in_the_limit: bool, in_all: bool = False) -> bool | None:
        error = self.error(number, letters, in_all)
        return None if math.isnan(error) else _holds(CONDITIONS[number][1], error)

    def error(self, number: int, letters: Letters, in_all: bool = False) -> float:
        parts = _draw_parts(number, self.samples if in_all else FEW, self.seed)
        try:
            values = self.compute(parts, letters)
        except NotFiniteError:
            return math.nan
        if not all(float(np.abs(value).max()) <= MAX_ENTRY for value in values):
            return math.nan
        given, wanted = self.outputs(parts, values)
        return float(np.linalg.norm(given - wanted, axis=2).max() / parts.B)

    def lean(self, number: int, letters: Letters) -> Array | None:
        parts = _draw_parts(number, FEW, self.seed)
        try:
            given, wanted = self.outputs(parts, self.compute(parts, letters))
        except NotFiniteError:
            return None
        return np.asarray((given * wanted).sum(axis=(1, 2)) / (wanted**2).sum(axis=(1, 2)) - 1)

    def query(self, letters: Letters) -> Array | None:
        return None


def _holds(B: float, error: float) -> bool:
    return error <= (LIMIT if CONDITIONS[-1][1] == B else TOLERANCE)


def _attend(parts: _Parts, K: Array, Q: Array, V: Array) -> tuple[Array, Array]:
    """Returns the weights (N, 3, 3) and outputs (N, 3, d) of all samples."""
    K, Q, V = (np.swapaxes(each, 1, 2) for each in (K, Q, V))
    x = parts.inputs
    with np.errstate(all="ignore"):
        weights = softmax((x @ Q) @ np.swapaxes(x @ K, 1, 2))
        return weights, weights @ (x @ V)


def grade(task: str, answers: Sequence[str], read: Answers, samples: int, seed: int) -> Grade:
    """Grades an answer to 1.6, which says what c_2 is, or to 1.7: K, Q, V with c_1 = u_b - u_c, c_2 = u_b."""
    experiment = SelfExperiment(task, read, samples, seed)
    choice = find_choice(experiment) if read.letters else Choice({}, "")
    cases = []
    for number in range(len(CONDITIONS)):
        letters = settle(experiment, number, choice) if choice and read.letters else _try(experiment, number)
        parts = _draw_parts(number, samples, seed)
        cases.append((parts, letters, experiment.compute(parts, letters)))
    judge = _judge_output if task == "1.6" else _judge_projections
    rows = [
        judge(experiment, parts, values) | {"letters": {name: letters[name] for name in read.letters}}
        for parts, letters, values in cases
    ]
    error, only_if = max(row["error"] for row in rows), choice.only_if if choice else ""
    holds = choice is not None and all(row["holds"] for row in rows)
    if holds:
        why = _explain_success(task, rows, error)
        why = f"{choice.where}, {why}" if choice and choice.where else why
        why = f"right only if {only_if}; then, {why}" if only_if else why
        mistake, missing = "right under a condition" if only_if else "", False
    else:
        explain = _explain_output if task == "1.6" else _explain_projections
        mistake, missing, why = explain(rows, cases)
    return Grade(
        task,
        ("right if" if only_if else "right") if holds else "wrong",
        show_names(why if why.endswith("?") else f"{why}."),
        error,
        missing,
        tuple(answers),
        tuple({name: row[name] for name in row if not name.startswith("_")} for row in rows),
        mistake,
        read.remarks,
        show_names(only_if) if holds else "",
    )


def check_shapes(experiment: SelfExperiment) -> None:
    """Refuses what is no vector or matrix, or too large, before anything is tried."""
    # Numbers of which no two are equal, since 1/(s - t) should not be a division by zero here.
    letters = {letter: 1.1 + 0.17 * number for number, letter in enumerate(experiment.letters)}
    values = experiment.compute(_draw_parts(0, FEW, experiment.seed), letters)
    for value, expression in zip(values, experiment.answers.expressions, strict=True):
        if (largest := float(np.abs(value).max())) > MAX_ENTRY:
            raise AugenmerkError(
                f"'{expression.text}' has entries of {largest:.0e}; numbers up to {MAX_ENTRY:.0e} can be graded."
            )


def _try(experiment: SelfExperiment, number: int) -> Letters:
    """Returns equal letters with which an answer fails that no choice of them saves."""
    sizes = [dict.fromkeys(experiment.letters, size) for size in (1000.0, 1.0, 1e6, 1e-3)]
    return next((letters for letters in sizes if not experiment.holds(number, letters, True)), sizes[0])


def _judge_output(experiment: SelfExperiment, parts: _Parts, values: Sequence[Array]) -> dict[str, Any]:
    given, wanted = experiment.outputs(parts, values)
    error = float(np.linalg.norm(given - wanted, axis=2).max() / parts.B)
    given, wanted = given[:, 0], wanted[:, 0]
    length = np.linalg.norm(given, axis=1)
    cosine = (given * wanted).sum(axis=1) / np.maximum(length * np.linalg.norm(wanted, axis=1), 1e-300)
    return {
        **{"dim": parts.parts.shape[2], "B": parts.B, "error": error, "holds": _holds(parts.B, error)},
        **{"_c_2": parts.describe(wanted[0], 0), "_times": float(length[0] / np.linalg.norm(wanted[0]))},
        "_cosine": float(cosine.min()),
    }


def _explain_success(task: str, rows: Sequence[Mapping[str, Any]], error: float) -> str:
    within = f"{max(error, 0.0001):.4f} B in all {len(rows)} conditions"
    if task == "1.7":
        return f"c_1 is u_b - u_c and c_2 is u_b to within {within}"
    return (
        f"c_2 comes out as {rows[0]['_c_2']}: x_2 has no part in common with the others and attends to itself; "
        f"the answer is within {within}"
    )


def _explain_output(rows: Sequence[Mapping[str, Any]], cases: Sequence["_Case"]) -> tuple[str, bool, str]:
    """Returns the mistake, whether only a factor is missing, and the reason."""
    if min(row["_cosine"] for row in rows) > 1 - TOLERANCE**2:
        times = f"{rows[0]['_times']:.3g} times as long as c_2 for B = {rows[0]['B']:g}"
        why = f"the direction is right, but not the length: the answer is {times}"
        return "factor missing", True, why
    # Without the right answer, and without the weights, which are as good: a reader may go on looking.
    row = next(row for row in rows if not row["holds"])
    distance = f"{row['error']:.{2 if row['error'] >= 0.01 else 4}f} B"
    return (
        "another output",
        False,
        f"the answer is {distance} away from c_2: which product of x_2 is the largest?",
    )


_Case = tuple[_Parts, Letters, list[Array]]  # parts, letters, and K, Q and V with them


def _explain_projections(rows: Sequence[Mapping[str, Any]], cases: Sequence[_Case]) -> tuple[str, bool, str]:
    """Returns the mistake, whether only a factor is missing, and the reason."""
    failing = [(row, case) for row, case in zip(rows, cases, strict=True) if not row["holds"]]
    bad = failing[0][0]
    attends = [", ".join(f"{weight:.2f}" for weight in weights) for weights in bad["weights"]]
    why = (
        f"for {bad['dim']} dimensions and B = {bad['B']:g}, c_1 comes out as {bad['c_1']} and c_2 as "
        f"{bad['c_2']}, instead of u_b - u_c and u_b; x_1 attends to x_1, x_2, x_3 with {attends[0]}, "
        f"x_2 with {attends[1]}"
    )
    better = [_best_resized_row(case) for _, case in failing]
    missing = all(row["holds"] for row in better)
    decided = all(max(weights) > 1 - TOLERANCE for weights in bad["weights"])
    mistake = "factor missing" if missing else "wrong value" if decided else "attention is spread"
    if missing:
        why += f"; {_describe_factors(better)}"
    return mistake, missing, why


def _judge_projections(
    experiment: SelfExperiment | None,
    parts: _Parts,
    values: Sequence[Array],
    factor: float = 1.0,
    factor_of_V: float = 1.0,
) -> dict[str, Any]:
    """Returns the worst sample under one condition, where Q and V are multiplied by factors."""
    K, Q, V = values
    weights, outputs = _attend(parts, K, factor * Q, factor_of_V * V)
    wanted = np.stack([u @ parts.parts for u in WANTED.values()], axis=1)
    errors = np.linalg.norm(outputs[:, list(WANTED)] - wanted, axis=2).max(axis=1) / parts.B
    worst = int(np.argmax(errors))
    error = float(errors[worst])
    return {
        **{"dim": parts.parts.shape[2], "B": parts.B, "error": error, "holds": _holds(parts.B, error)},
        **{"factor": factor, "factor_of_V": factor_of_V, "weights": weights[worst, :2].tolist()},
        **{f"c_{i + 1}": parts.describe(outputs[worst, i], worst) for i in range(2)},
    }


def _best_resized_row(case: _Case) -> dict[str, Any]:
    """Multiplies Q, then V, then both by the smallest factor that will do; by 1 if none does."""
    parts, _, values = case
    K, Q, _ = (np.swapaxes(each, 1, 2) for each in values)
    size = float(np.abs((parts.inputs @ Q) @ np.swapaxes(parts.inputs @ K, 1, 2)).max())
    factors = factors_to_try(size)
    of_V = _best_value_factor(case, 1.0)
    of_V_in_limit = _best_value_factor(case, factors[-1]) if factors else of_V
    tried = [(factor, 1.0) for factor in factors]
    tried += [(1.0, of_V), *((factor, of_V_in_limit) for factor in factors)]
    rows = (_judge_projections(None, parts, values, *factors) for factors in tried)
    return next((row for row in rows if row["holds"]), _judge_projections(None, parts, values))


def _best_value_factor(case: _Case, factor: float) -> float:
    """Returns the factor of V that brings the outputs nearest to the wanted ones; 1 if that is negative."""
    parts, _, (K, Q, V) = case
    _, outputs = _attend(parts, K, factor * Q, V)
    wanted = np.stack([u @ parts.parts[0] for u in WANTED.values()])
    given = outputs[0, list(WANTED)]
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
