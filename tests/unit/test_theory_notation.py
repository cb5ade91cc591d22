"""The notations that people use for one and the same formula: plain, LaTeX, Unicode, numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.expressions import MAX_LENGTH, Expression

A, B = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])
NAMES: dict[str, Array | float] = {
    **{
        "k_a": A[None],
        "k_b": B[None],
        "mu_a": A[None],
        "x_1": B[None],
        "lambda_a": 3.0,
        "c": 2.0,
        "alpha": 5.0,
        "tau": 4.0,
        "d": 9.0,
    },
    **{"B": 4.0},
}
KNOWN = frozenset(NAMES)


@pytest.mark.parametrize(
    ("text", "reading", "value"),
    [
        (r"\alpha(k_a+k_b)", "alpha*(k_a + k_b)", 5 * (A + B)),
        (r"\alpha \mu_a", "alpha*mu_a", 5 * A),
        (r"\alpha\mu_{a}", "alpha*mu_a", 5 * A),
        (r"c \cdot \lambda_{a} \times \mu_a", "c·lambda_a*mu_a", 6 * A),
        (r"\frac{1}{2}\left(\mathbf{k}_a + \vec{k}_{b}\right)", "(1/2)*(k_a + k_b)", (A + B) / 2),
        (r"\dfrac{c}{\sqrt{d}} \, k_a", "(c/(sqrt(d)))*k_a", 2 / 3 * A),
        (r"\frac12 k_a", "(1/2)*k_a", A / 2),
        (r"\frac{k_a + k_b}{\tau}", "((k_a + k_b)/tau)", (A + B) / 4),
        (r"\frac{1}{\frac{1}{c}} k_a", "(1/((1/c)))*k_a", 2 * A),
        (r"\boldsymbol{\mu}_a + \mathbf k_b", "mu_a + k_b", A + B),
        (r"\bigl(k_a\bigr)^\top k_b", "k_a^T*k_b", A @ B),
        (r"k_a k_b^{\top}", "k_a*k_b^T", np.outer(A, B)),
        (r"k_a k_b^{\mathrm{T}} k_b", "k_a*k_b^T*k_b", A * (B @ B)),
        (r"k_a k_b^{T}", "k_a*k_b^T", np.outer(A, B)),
        (r"\frac{k_a k_b^T}{c}", "((k_a*k_b^T)/c)", np.outer(A, B) / 2),
        (r"{k_a k_b^\mathrm{T}}", "(k_a*k_b^T)", np.outer(A, B)),
        ("k_a kₐᵀ k_b", "k_a*k_a^T*k_b", A * (A @ B)),
        ("k_a @ k_b.T", "k_a·k_b^T", np.outer(A, B)),
        (r"\lVert k_a + k_b \rVert_2 k_a", "norm(k_a + k_b)*k_a", np.linalg.norm(A + B) * A),
        (r"k_a/\|k_a\|^{2}", "k_a/norm(k_a)^2", A / (A @ A)),
        ("k_a/||k_a||", "k_a/norm(k_a)", A / np.linalg.norm(A)),
        ("‖k_a‖ k_b − |c| k_a", "norm(k_a)*k_b - norm(c)*k_a", np.linalg.norm(A) * B - 2 * A),
        ("c(ka + kb)", "c*(k_a + k_b)", 2 * (A + B)),
        ("cka + ck_b", "c*k_a + c*k_b", 2 * (A + B)),
        ("cλ_aµ_a", "c*lambda_a*mu_a", 6 * A),  # with the micro sign
        ("B² x1", "B^2*x_1", 16 * B),
        (r"\exp\left(c\right) k_a", "exp(c)*k_a", np.exp(2) * A),
        (r"\ln{c} k_a", "ln(c)*k_a", np.log(2) * A),
        ("2 \\quad k_a", "2*k_a", 2 * A),
    ],
)
def test_all_notations_mean_the_same(text: str, reading: str, value: Array | float) -> None:
    expression = Expression(text, known=KNOWN)
    assert expression.reading == reading
    np.testing.assert_allclose(expression.value(NAMES)[0], value)
    # What is shown as the reading is read as the same.
    np.testing.assert_allclose(Expression(reading, known=KNOWN).value(NAMES)[0], value)


@pytest.mark.parametrize(
    ("text", "character", "reason"),
    [
        (r"\frac{1} k_a", 1, r"a fraction is written \frac{...}{...}"),
        (r"\frac{1", 8, "the bracket of character 6 is not closed"),
        (r"\frac{1}{", 10, "ends too early"),
        (r"\frac{}{c}", 7, "a name or a number was expected"),
        ("(k_a}", 5, "the bracket of character 1 is not closed"),
        ("k_a}", 4, "'}' was not expected here"),
        ("|k_a||k_a|", 5, "these bars can be read in two ways: write norm(...)"),
        ("|k_a", 5, "the bracket of character 1 is not closed"),
        (r"\nabla k_a", 1, r"'\nabla' cannot be part"),
        ("c[k_a + k_b]", 2, "'[' cannot be part of a formula"),
        ("softmax(k_a)", 1, "no function 'softmax'"),
        ("ka2", 1, "no 'ka2' in this task"),
        (r"\frac{1}{2}" * 50, MAX_LENGTH + 1, "at most"),
        (r"\frac{" * 60, 6 * 41, "brackets are inside one another"),
        ("|" * 300, 2 * 40 + 1, "brackets are inside one another"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text: str, character: int, reason: str) -> None:
    with pytest.raises(AugenmerkError) as refused:
        Expression(text, known=KNOWN).value(NAMES)
    assert f"character {character}:" in str(refused.value)
    assert reason in str(refused.value)


PIECES = [
    r"\frac",
    "{",
    "}",
    "(",
    ")",
    "|",
    "||",
    r"\|",
    "k_a",
    "ka",
    r"\mu_a",
    r"\mathbf",
    r"\left",
    "_",
    "^",
]
PIECES += [
    "T",
    r"\top",
    "c",
    "2",
    "+",
    "-",
    "/",
    "²",
    "ₐ",
    r"\sqrt",
    r"\cdot",
    "$",
    "\\",
    ",",
    " ",
    "norm",
    ".",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_latex_does_anything_but_come_to_a_value_or_a_sentence(text: str) -> None:
    sentence, value = "character ", np.zeros(0)
    try:
        value = Expression(text, known=KNOWN).value(NAMES)
    except AugenmerkError as refused:
        sentence = str(refused)
    assert "character " in sentence
    assert np.all(np.isfinite(value))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [r"\frac{", "|", "k_", r"\mathbf{", r"\text ", "_{", "^{T", "λ", "a" * 9])
def test_no_text_takes_long_to_take_apart(piece: str) -> None:
    """A pattern that tries every way to match would take years for some of these."""
    text = (piece * MAX_LENGTH)[:MAX_LENGTH]
    with pytest.raises(AugenmerkError):
        Expression(text, known=KNOWN).value(NAMES)
