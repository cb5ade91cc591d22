"""1.6 and 1.7: self-attention over inputs that are sums of orthogonal parts.

    x_1 = u_d + u_b,  x_2 = u_a,  x_3 = u_c + u_b        u orthogonal, each of length B

Everything here is written in coefficients over the parts: an input is a row of 0s and 1s, and a matrix M
stands for sum_rs M_rs u_r u_s^T / B^2, so that it maps u_s to M_rs u_r. Such an answer is one for all parts
at once. There is no 1/sqrt(d) in these two tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, product

import numpy as np
from scipy.optimize import linprog

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array, softmax

PARTS = "abcd"
INPUTS = np.array([[0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]], dtype=np.float64)
"""x_1, x_2, x_3 over u_a, u_b, u_c, u_d."""
U_A, U_B, U_C, U_D = np.eye(4)
WANTED: Mapping[int, Array] = {0: U_B - U_C, 1: U_B}
"""1.7: what the first two outputs should be."""

MOST_CHOICES = 20_000
"""The solver tries every choice of which inputs an output is made of, so there must not be too many."""


@dataclass(frozen=True)
class Projections:
    """K, Q and V over the parts: keys K x, queries Q x, values V x."""

    K: Array
    Q: Array
    V: Array


IDENTITY = Projections(np.eye(4), np.eye(4), np.eye(4))
PUBLISHED = Projections(
    K=np.eye(4),
    Q=np.outer(U_D, U_A) + np.outer(U_C, U_D),
    V=np.outer(U_B, U_B) - np.outer(U_C, U_C),
)
"""The answer to 1.7 in the specification."""


def in_space(matrix: Array, parts: Array) -> Array:
    """sum_rs M_rs u_r u_s^T / B^2, for parts (p, d) that are orthogonal and of one length."""
    return np.asarray(parts.T @ matrix @ parts / (parts[0] @ parts[0]))


def self_attend(inputs: Array, K: Array, Q: Array, V: Array, scale: float = 1.0) -> tuple[Array, Array]:
    """Weights (m, m), a row for each query, and outputs (m, d), for inputs (m, d)."""
    weights = softmax((inputs @ Q.T) @ (inputs @ K.T).T * scale)
    return weights, weights @ (inputs @ V.T)


def with_bystanders(inputs: Array, count: int) -> Array:
    """More inputs up to `count`, each a part of its own that nothing else contains."""
    beside = count - len(inputs)
    if beside < 0:
        raise AugenmerkError(f"this task has {len(inputs)} inputs of its own: --keys {len(inputs)} or more.")
    wide = np.zeros((count, inputs.shape[1] + beside))
    wide[: len(inputs), : inputs.shape[1]] = inputs
    wide[len(inputs) :, inputs.shape[1] :] = np.eye(beside)
    return wide


def solve(inputs: Array, wanted: Mapping[int, Array]) -> Projections | None:
    """K, Q, V over the parts so that the wanted outputs come about as the parts grow long; None if no
    choice makes each of them a copy, or a plain average, of values.

    inputs (m, p) over the parts, wanted[i] (p) for some of the positions. K is the identity, without loss:
    only Q^T K matters. Of all solutions that a choice permits, the sparsest in the sense of the sum of
    |entries| is taken, which is why it can be read; plain copies are preferred to averages.
    """
    inputs = np.asarray(inputs, np.float64)
    positions = sorted(wanted)
    outputs = np.stack([np.asarray(wanted[i], np.float64) for i in positions])
    if (2 ** len(inputs) - 1) ** len(positions) > MOST_CHOICES:
        raise AugenmerkError(
            f"{len(inputs)} inputs and {len(positions)} wanted outputs are too many for the solver: there "
            f"are more than {MOST_CHOICES:,} ways to make the outputs from the inputs."
        )
    for alike in _choices(len(inputs), len(positions)):
        found = []
        for sources in alike:
            taken = np.stack([inputs[list(source)].mean(0) for source in sources])
            V = _sparsest_map(taken, outputs)
            Q = None if V is None else _queries(inputs, positions, sources)
            if V is not None and Q is not None:
                found.append(Projections(np.eye(inputs.shape[1]), Q, V))
        if found:
            return min(found, key=lambda each: round(float(np.abs(each.Q).sum() + np.abs(each.V).sum()), 6))
    return None


Sources = tuple[tuple[int, ...], ...]
"""For each wanted output, the inputs that it is the average of."""


def _choices(inputs: int, outputs: int) -> Iterator[list[Sources]]:
    """All there are, those that need equally many inputs together, fewest first."""
    subsets = [s for size in range(1, inputs + 1) for s in combinations(range(inputs), size)]

    def size(choice: Sources) -> int:
        return sum(map(len, choice))

    for _, alike in groupby(sorted(product(subsets, repeat=outputs), key=size), key=size):
        yield list(alike)


def _sparsest_map(inputs: Array, outputs: Array) -> Array | None:
    """The matrix M with M inputs_i = outputs_i and the smallest sum of |entries|; None if there is none."""
    rows = []
    for values in outputs.T:  # one row of M at a time: M_r . inputs_i = outputs_ir
        row = _smallest(equal=inputs, equal_to=values)
        if row is None:
            return None
        rows.append(row)
    return np.stack(rows)


def _queries(inputs: Array, positions: Sequence[int], sources: Sources) -> Array | None:
    """Q with (Q x_i) . x_j tied over the sources of each i, and at least 1 larger there than elsewhere."""
    size = inputs.shape[1]
    tied: list[Array] = []
    above: list[Array] = []
    for position, source in zip(positions, sources, strict=True):
        for j in range(len(inputs)):
            if j == source[0]:
                continue
            # (Q x_i) . y = sum_rs Q_rs y_r x_is
            difference = np.outer(inputs[source[0]] - inputs[j], inputs[position]).ravel()
            (tied if j in source else above).append(difference)
    answer = _smallest(
        equal=np.array(tied).reshape(-1, size * size),
        equal_to=np.zeros(len(tied)),
        at_least_one=np.array(above).reshape(-1, size * size),
    )
    return None if answer is None else answer.reshape(size, size)


def _smallest(equal: Array, equal_to: Array, at_least_one: Array | None = None) -> Array | None:
    """The x of smallest sum |x_i| with equal x = equal_to and at_least_one x >= 1, as a linear programme."""
    # x = plus - minus, both at least 0. Of solutions equally small, the later entries cost a little more, so
    # that the same one is found whatever the solver's version.
    count = equal.shape[1]
    costs = 1 + 1e-3 * np.arange(count) / count
    limits = None if at_least_one is None else np.hstack([-at_least_one, at_least_one])
    answer = linprog(
        c=np.tile(costs, 2),
        A_ub=limits,
        b_ub=None if limits is None else -np.ones(len(limits)),
        A_eq=np.hstack([equal, -equal]) if len(equal) else None,
        b_eq=equal_to if len(equal) else None,
    )
    if answer.status == 2:  # no x satisfies all of it
        return None
    plus, minus = np.split(answer.x, 2)
    return np.asarray(plus - minus)


def as_formula(matrix: Array, names: Sequence[str] = PARTS) -> str:
    """'(u_b u_b^T - u_c u_c^T)/B^2'; 'I' for the identity."""
    if np.allclose(matrix, np.eye(len(matrix))):
        return "I"
    terms = ""
    for (row, column), value in np.ndenumerate(matrix):
        if abs(value) < 1e-9:
            continue
        size = "" if abs(abs(value) - 1) < 1e-9 else f"{abs(value):g} "
        sign = ("- " if value < 0 else "") if not terms else (" - " if value < 0 else " + ")
        terms += f"{sign}{size}u_{names[row]} u_{names[column]}^T"
    return f"({terms})/B^2" if terms else "0"


def as_sum(coefficients: Array, names: Sequence[str] = PARTS, digits: int = 2) -> str:
    """'u_b - u_c': a vector over the parts, entries that round to nothing left out."""
    terms = ""
    for name, value in zip(names, coefficients, strict=False):
        rounded = round(float(value), digits)
        if rounded == 0:
            continue
        size = "" if abs(rounded) == 1 else f"{abs(rounded):.{digits}f} "
        sign = ("-" if rounded < 0 else "") if not terms else (" - " if rounded < 0 else " + ")
        terms += f"{sign}{size}u_{name}"
    return terms or "0"
