"""What the signs and functions of a reader's formula do: linear algebra, with a reason where it is "
"refused."""

from collections.abc import Callable, Mapping

import numpy as np

from augenmerk.theory.attention import Array

Value = Array
"""A number has no axis, a vector one, a matrix two; a transposed vector is a matrix of one row."""


class UnfitError(Exception):
    """An operation on things it is not made for."""


def _named(value: Value) -> str:
    if value.ndim == 0:
        return "a number"
    if value.ndim == 1:
        return f"a vector of {len(value)}"
    if value.shape[0] == 1:
        return f"a transposed vector of {value.shape[1]}"
    return f"a matrix of {value.shape[0]} by {value.shape[1]}"


def _add(left: Value, right: Value) -> Value:
    if left.shape != right.shape:
        raise UnfitError(f"{_named(left)} and {_named(right)} cannot be added or subtracted")
    return left + right


def _multiply(left: Value, right: Value) -> Value:
    if left.ndim == 0 or right.ndim == 0:
        return left * right
    if left.ndim == 1 and right.ndim == 1:
        raise UnfitError(
            "a product of two vectors can be a number or a matrix: write x^T*y (or dot(x, y)) for the "
            "number, x*y^T (or outer(x, y)) for the matrix"
        )
    if left.ndim == 1:
        left = left[:, None]
    if left.shape[1] != right.shape[0]:
        raise UnfitError(f"{_named(left)} cannot be multiplied by {_named(right)}")
    result = left @ right
    return result[0, 0] if result.shape == (1, 1) else (result[0] if result.shape == (1,) else result)


def _divide(left: Value, right: Value) -> Value:
    if right.ndim:
        raise UnfitError(f"only a number can stand below a division, not {_named(right)}")
    return left / right


def _power(left: Value, right: Value) -> Value:
    if left.ndim or right.ndim:
        raise UnfitError(f"only numbers have powers, not {_named(left if left.ndim else right)}")
    return np.power(left, right)


def _transpose(value: Value) -> Value:
    return value[None, :] if value.ndim == 1 else value.T


def _vectors(left: Value, right: Value, name: str) -> None:
    if left.ndim != 1 or right.ndim != 1 or left.shape != right.shape:
        raise UnfitError(f"{name} takes two vectors of one size, not {_named(left)} and {_named(right)}")


def _dot(left: Value, right: Value) -> Value:
    _vectors(left, right, "dot")
    return np.asarray(left @ right)


def _outer(left: Value, right: Value) -> Value:
    _vectors(left, right, "outer")
    return np.outer(left, right)


def _norm(value: Value) -> Value:
    if value.ndim > 1:
        raise UnfitError(f"norm takes a vector, not {_named(value)}")
    return np.asarray(np.linalg.norm(value))


def _of_number(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    def apply(value: Value) -> Value:
        if value.ndim:
            raise UnfitError(f"this takes a number, not {_named(value)}")
        return function(value)

    return apply


OPERATIONS: Mapping[str, Callable[..., Value]] = {
    "+": _add,
    "-": lambda left, right: _add(left, -right),
    "*": _multiply,
    "/": _divide,
    "^": _power,
    "negative": lambda value: -value,
    "transpose": _transpose,
}
FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "norm": _norm,
    "dot": _dot,
    "outer": _outer,
    "sqrt": _of_number(np.sqrt),
    "exp": _of_number(np.exp),
    "ln": _of_number(np.log),
    "log": _of_number(np.log),
    "abs": _of_number(np.abs),
}
TAKES_TWO = ("dot", "outer")
