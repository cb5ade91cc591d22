"""A reader's formulas: read as they are meant, or refused with a finger on the character."""

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
    **{"k_a": A[None], "k_b": B[None], "mu_a": A[None], "I": np.eye(3)[None]},
    **{"c": 2.0, "lambda_a": 3.0, "B": 4.0},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k_a.k_b", A @ B),
        ("c k_a . k_b", 2 * A @ B),
        ("k_a/(k_a·k_b)", A / (A @ B)),
        ("(k_a @ k_b)·k_a", (A @ B) * A),
        ("c·B·k_a·k_b^T", 8 * np.outer(A, B)),
        ("2.k_a", 2 * A),
        ("c*(k_a + k_b)", 2 * (A + B)),
        ("(k_a+k_b)/norm(k_a+k_b)", (A + B) / np.linalg.norm(A + B)),
        ("k_a - k_b - k_b", A - 2 * B),
        ("-k_a^T", -A[None, :]),
        ("k_a*k_b^T", np.outer(A, B)),
        ("k_a^T*k_b", A @ B),
        ("k_a*k_b^T*k_b", A * (B @ B)),
        ("(k_a*k_b^T)^T", np.outer(B, A)),
        ("outer(k_a, k_b)/B^2", np.outer(A, B) / 16),
        ("dot(k_a, k_b)", A @ B),
        ("I*k_a", A),
        ("λ_a·μ_a − k_b", 3 * A - B),
        ("2**3 - 2^-1", 7.5),
        ("-2^2", -4.0),
        ("6/2/3 - 1e1*.5", -4.0),
        ("ln(exp(c)) + log(1) + sqrt(4) + abs(-1)", 5.0),
        ("+c", 2.0),
        ("  c\n", 2.0),
        ("c(k_a + k_b)", 2 * (A + B)),
        ("2 mu_a - c k_b", 2 * A - 2 * B),
        ("(k_a + k_b)(c)/norm (k_a)", 2 * (A + B) / np.linalg.norm(A)),
        ("c^2 k_a k_b^T", 4 * np.outer(A, B)),
        ("2norm(k_a) k_a^T k_b", 2 * np.linalg.norm(A) * (A @ B)),
        ("λ_a(μ_a)", 3 * A),
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
        ("c; c", 2, "';' cannot be part"),
        ("c = 3", 3, "'=' cannot be part"),
        ('"c"', 1, "cannot be part"),
        ("exec(c)", 1, "no function 'exec'"),
        ("norm", 1, "no 'norm' in this task"),
        ("k_c + k_a", 1, "no 'k_c' in this task; there are B, I, c,"),
        ("k_a k_b", 5, "a product of two vectors"),
        ("c 2", 3, "a sign is missing before '2'"),
        ("1.5.5", 4, "a sign is missing before '.5'"),
        ("k_a/c c", 7, "can be read in two ways"),
        ("k_a/c(c)", 6, "can be read in two ways"),
        ("c + (k_a)k_b", 10, "a product of two vectors"),
        ("lambda k_a", 1, "no 'lambda' in this task"),
        ("c if c else c", 3, "no 'if' in this task"),
        ("(c, c)", 3, "character 1 is not closed"),
        ("norm()", 6, "a name or a number was expected"),
        ("2^-3^4", 5, "put brackets"),
        ("2^(3)^4", 6, "put brackets"),
        ("k_a*k_b", 4, "a product of two vectors"),
        ("k_a + 1", 5, "a vector and a number"),
        ("c/k_a", 2, "only a number can be below a division"),
        ("k_a^2", 4, "only numbers have powers"),
        ("2^3^4", 4, "put brackets"),
        ("9^999", 2, "has no value"),
        ("c/(c - c)", 2, "divides by zero"),
        ("1e999", 1, "too large"),
        ("ln(0)", 1, "the root or logarithm"),
        ("dot(k_a)", 1, "takes two vectors of one size, not a vector"),
        ("norm(k_a, k_b)", 1, "takes a vector, not a vector and a vector"),
        ("dot(k_a, c)", 1, "two vectors"),
        ("sqrt(k_a)", 1, "takes a number"),
        ("norm(I)", 1, "takes a vector"),
        ("k_a^T*I*k_b^T", 8, "cannot be multiplied"),
        ("(c", 3, "character 1 is not closed"),
        ("c)", 2, "not expected"),
        ("c +", 4, "ends too early"),
        ("*c", 1, "a name or a number"),
        ("", 1, "empty"),
        ("(" * 60, MAX_DEPTH + 1, "inside one another"),
        ("-" * 60 + "c", MAX_DEPTH + 1, "signs"),
        ("c" * (MAX_LENGTH + 1), MAX_LENGTH + 1, f"at most {MAX_LENGTH} characters"),
        ("c +\n\x00", 5, "cannot be part"),
    ],
)
def test_everything_else_is_refused_at_its_character(text: str, character: int, reason: str) -> None:
    with pytest.raises(AugenmerkError) as refused:
        Expression(text).value(NAMES)
    sentence = str(refused.value)
    assert f"character {character}:" in sentence
    assert reason in sentence
    assert sentence.endswith(".")
    assert sentence.isprintable()


@given(st.text(max_size=40) | st.from_regex(r"[ck_ab+*/^()\-,. 0-9T]{0,40}", fullmatch=True))
def test_no_text_does_anything_but_come_to_a_value_or_a_sentence(text: str) -> None:
    sentence, value = "", np.zeros(0)
    try:
        value = Expression(text).value(NAMES)
    except AugenmerkError as refused:
        sentence = str(refused)
    assert not sentence or re.search(r"character \d+: .*\.$", sentence)
    assert np.all(np.isfinite(value))


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
