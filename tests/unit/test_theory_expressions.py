"""A reader's formulas, in plain text, LaTeX, Unicode or numpy: read as they are meant, or refused with a
finger on the character."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augenmerk.theory
from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.expressions import MAX_DEPTH, MAX_LENGTH, Expression

A, B = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])
NAMES: dict[str, Array | float] = {
    **{"k_a": A[None], "k_b": B[None], "mu_a": A[None], "x_1": B[None], "I": np.eye(3)[None]},
    **{"c": 2.0, "lambda_a": 3.0, "B": 4.0, "alpha": 5.0, "tau": 4.0, "d": 9.0},
}
KNOWN = frozenset(NAMES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k_a.k_b", A @ B),
        ("c k_a . k_b", 2 * A @ B),
        ("k_a/(k_a·k_b)", A / (A @ B)),
        ("(k_a @ k_b)·k_a", (A @ B) * A),
        ("c·B·k_a·k_b^T", 8 * np.outer(A, B)),
        ("2.k_a", 2 * A),
        ("k_a - k_b - k_b", A - 2 * B),
        ("-k_a^T", -A[None, :]),
        ("k_a*k_b^T", np.outer(A, B)),
        ("k_a^T*k_b", A @ B),
        ("k_a*k_b^T*k_b", A * (B @ B)),
        ("(k_a*k_b^T)^T", np.outer(B, A)),
        ("outer(k_a, k_b)/B^2", np.outer(A, B) / 16),
        ("dot(k_a, k_b)", A @ B),
        ("λ_a·μ_a − k_b", 3 * A - B),
        ("2**3 - 2^-1", 7.5),
        ("-2^2", -4.0),
        ("6/2/3 - 1e1*.5", -4.0),
        ("ln(exp(c)) + log(1) + sqrt(4) + abs(-1)", 5.0),
        ("  c\n", 2.0),
        ("c(k_a + k_b)", 2 * (A + B)),
        ("(k_a + k_b)(c)/norm (k_a)", 2 * (A + B) / np.linalg.norm(A)),
        ("c^2 k_a k_b^T", 4 * np.outer(A, B)),
        ("2norm(k_a) k_a^T k_b", 2 * np.linalg.norm(A) * (A @ B)),
        ("(2^3)^2 - 2^(3^2)", 64.0 - 512),
        ("007", 7.0),
    ],
)
def test_formulas_mean_what_they_say(text: str, value: Array | float) -> None:
    np.testing.assert_allclose(Expression(text).value(NAMES)[0], value)


@pytest.mark.parametrize(
    ("text", "character", "reason"),
    [
        ("__import__('os')", 12, "cannot be part"),
        ("k_a.__class__", 4, "'.' cannot be part"),
        ("k_a[0]", 4, "'[' cannot be part"),
        ("lambda: 0", 7, "':' cannot be part"),
        ("exec(c)", 1, "no function 'exec'"),
        ("k_c + k_a", 1, "no 'k_c' in this task; there are B, I, alpha,"),
        ("k_a k_b", 5, "a product of two vectors"),
        ("c 2", 3, "a sign is missing before '2'"),
        ("k_a/c c", 7, "can be read in two ways"),
        ("c if c else c", 3, "no 'if' in this task"),
        ("(c, c)", 3, "character 1 is not closed"),
        ("norm()", 6, "a name or a number was expected"),
        ("2^-3^4", 5, "put brackets"),
        ("k_a*k_b", 4, "a product of two vectors"),
        ("k_a + 1", 5, "a vector and a number"),
        ("c/k_a", 2, "only a number can be below a division"),
        ("k_a^2", 4, "only numbers have powers"),
        ("9^999", 2, "has no value"),
        ("c/(c - c)", 2, "divides by zero"),
        ("1e999", 1, "too large"),
        ("ln(0)", 1, "the root or logarithm"),
        ("dot(k_a)", 1, "takes two vectors of one size, not a vector"),
        ("norm(k_a, k_b)", 1, "takes a vector, not a vector and a vector"),
        ("sqrt(k_a)", 1, "takes a number"),
        ("k_a^T*I*k_b^T", 8, "cannot be multiplied"),
        ("(c", 3, "character 1 is not closed"),
        ("c)", 2, "not expected"),
        ("c +", 4, "ends too early"),
        ("*c", 1, "a name or a number"),
        ("", 1, "empty"),
        ("(" * 60, MAX_DEPTH + 1, "inside one another"),
        ("-" * 60 + "c", MAX_DEPTH + 1, "signs"),
        ("c" * (MAX_LENGTH + 1), MAX_LENGTH + 1, f"at most {MAX_LENGTH} characters"),
        (r"\frac{1} k_a", 1, r"a fraction is written \frac{...}{...}"),
        (r"\frac{1", 8, "the bracket of character 6 is not closed"),
        (r"\frac{1}{", 10, "ends too early"),
        (r"\frac{}{c}", 7, "a name or a number was expected"),
        ("(k_a}", 5, "the bracket of character 1 is not closed"),
        ("|k_a||k_a|", 5, "these bars can be read in two ways: write norm(...)"),
        (r"\nabla k_a", 1, r"'\nabla' cannot be part"),
        (r"\frac{1}{2}" * 50, MAX_LENGTH + 1, "at most"),
        ("|" * 300, 2 * 40 + 1, "brackets are inside one another"),
    ],
)
def test_everything_else_is_refused_at_its_character(text: str, character: int, reason: str) -> None:
    with pytest.raises(AugenmerkError) as refused:
        Expression(text, known=KNOWN).value(NAMES)
    sentence = str(refused.value)
    assert f"character {character}:" in sentence
    assert reason in sentence
    assert sentence.endswith(".")
    assert sentence.isprintable()


@pytest.mark.parametrize(
    ("text", "reading", "value"),
    [
        (r"\alpha(k_a+k_b)", "alpha*(k_a + k_b)", 5 * (A + B)),
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
        (r"\frac{k_a k_b^T}{c}", "((k_a*k_b^T)/c)", np.outer(A, B) / 2),
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
    ],
)
def test_all_notations_mean_the_same(text: str, reading: str, value: Array | float) -> None:
    expression = Expression(text, known=KNOWN)
    assert expression.reading == reading
    np.testing.assert_allclose(expression.value(NAMES)[0], value)
    # What is shown as the reading is read as the same.
    np.testing.assert_allclose(Expression(reading, known=KNOWN).value(NAMES)[0], value)


PIECES = r"\frac { } ( ) | || \| k_a ka \mu_a \mathbf \left _ ^ T \top c 2 + - / ² ₐ \sqrt \cdot $ \ , norm ."


@given(
    st.text(max_size=40)
    | st.from_regex(r"[ck_ab+*/^()\-,. 0-9T]{0,40}", fullmatch=True)
    | st.lists(st.sampled_from([*PIECES.split(), " "]), max_size=25).map("".join),
    st.sampled_from([KNOWN, frozenset()]),
)
def test_no_text_does_anything_but_come_to_a_value_or_a_sentence(text: str, known: frozenset[str]) -> None:
    sentence, value = "", np.zeros(0)
    try:
        value = Expression(text, known=known).value(NAMES)
    except AugenmerkError as refused:
        sentence = str(refused)
    assert not sentence or re.search(r"character \d+: .*\.$", sentence)
    assert np.all(np.isfinite(value))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [r"\frac{", "|", "k_", r"\mathbf{", r"\text ", "_{", "^{T", "λ", "a" * 9])
def test_no_text_takes_long_to_take_apart(piece: str) -> None:
    """A pattern that tries every way to match would take years for some of these."""
    text = (piece * MAX_LENGTH)[:MAX_LENGTH]
    with pytest.raises(AugenmerkError):
        Expression(text, known=KNOWN).value(NAMES)


numbers = st.integers(1, 9).map(str)
sums = st.recursive(
    numbers,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        )
        | inner.map(lambda x: f"-{x}")
    ),
    max_leaves=8,
)


@given(sums)
def test_arithmetic_is_that_of_python(text: str) -> None:
    try:
        expected = eval(text)
    except ZeroDivisionError:
        with pytest.raises(AugenmerkError, match="divides by zero"):
            Expression(text).value({})
    else:
        assert Expression(text).value({})[0] == pytest.approx(expected)


def test_the_lab_never_evaluates_code() -> None:
    for path in Path(augenmerk.theory.__file__).parent.glob("*.py"):
        names = {n.id for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__", "getattr"} - (
            {"getattr"} if path.name.startswith(("drawing", "__init__")) else set()
        ), path
