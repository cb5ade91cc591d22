r"""Reads and computes a reader's formula, such as `c (k_a + k_b)/norm(k_a)`, without ever executing it.

Names stand for what the task gives: numbers, vectors, matrices. Products are those of linear algebra:
`u_b u_c^T` is a matrix, `u_b^T u_c` and `u_b.u_c` are numbers; the `*` of a product may be left out.
`notation.py` reads LaTeX and other ways to write the same. The formula is rewritten as a Python expression,
which `ast` parses; a whitelist of its nodes is computed with numpy, for many instances of a task at once.
Anything else is refused with a sentence that points at the character.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.conditions import FREE_NAME
from augenmerk.theory.notation import Token, tokens

MAX_LENGTH = 500
MAX_DEPTH = 40  # the most brackets inside one another, and the most signs in a row

_SIGN = re.compile(r"[-+*/@]")
_TWO_WAYS = "a product behind a division can be read in two ways: put brackets or *"


class NotFiniteError(AugenmerkError):
    """A formula has no value for any of the instances, for example because it divides by zero."""


class Expression:
    """A formula that is parsed once and computed for many instances of a task.

    `start` is where the formula begins in the text, for example behind `q =`; error messages count characters
    from the beginning of the text. `known` are the names that short forms such as `ka` may stand for.
    """

    def __init__(self, text: str, start: int = 0, known: Set[str] = frozenset()) -> None:
        self.text = text
        if len(text) > MAX_LENGTH:
            reason = f"an expression has at most {MAX_LENGTH} characters, this one {len(text)}"
            _refuse(text, MAX_LENGTH, reason)
        found = list(tokens(text, start, known))
        self._python, self._places, self._in_doubt = _to_python(text, start, found)
        self._calls = {
            token.place
            for token, following in pairwise(found)
            # c(k_a) is a product, and so is alpha_1(k_a), but a longer name before a bracket is a function's.
            if following.text == "(" and not FREE_NAME.fullmatch(token.text)
        }
        self._tree = ast.parse(self._python, mode="eval").body
        self._names = self._find_names()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of values, from left to right, each as often as it is written."""
        return tuple(name for name, _ in self._names)

    @property
    def constants(self) -> frozenset[float]:
        """The numbers that are written in the formula."""
        return frozenset(
            node.value
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, float)
        )

    @property
    def called_names(self) -> frozenset[str]:
        """The names that stand before a bracket as functions do."""
        return frozenset(name for name, place in self._names if place in self._calls)

    @property
    def reading(self) -> str:
        """The formula as it was understood, in plain notation."""
        text = re.sub(r"([A-Za-z_]\w*)_ ", r"\1 ", self._python).replace("** ", "^ ")
        text = text.replace(" .T", "^T").replace("@ ", "· ")
        text = re.sub(r"\.0 ", " ", text)
        text = re.sub(r"\( ", "(", re.sub(r" ([),])", r"\1", text))
        text = re.sub(r"(?<=[\w)]) ([*/^·]) ", r"\1", text)
        text = re.sub(r"(?<![\w ])\((\w+)\)", r"\1", text)
        return re.sub(rf"\b({'|'.join(_FUNCTIONS)}) \(", r"\1(", text).strip()

    def check_names(
        self, known: Mapping[str, object] | frozenset[str], offered: Sequence[str] | None = None
    ) -> None:
        """Raises AugenmerkError if the formula uses a name that the task does not have.

        The message has the names that are `offered`: those of the question, which has no synonyms.
        """
        for name, place in self._names:
            if name not in known:
                call = place in self._calls
                what = f"function '{name}'" if call else f"'{name}' in this task"
                there = ", ".join(sorted(_FUNCTIONS) if call else offered or sorted(known))
                reason = f"there is no {what}; there are {there}"
                if name.lower().startswith("v_") and any(each.startswith("k_") for each in known):
                    reason = f"'{name}' is a value, and weights depend on keys alone; there are {there}"
                elif (other := name.swapcase()) in known or (other := name.lower()) in known:
                    reason = f"there is no {what}, but '{other}'; there are {there}"
                _refuse(self.text, place, reason)

    def value(self, names: Mapping[str, Array | float]) -> Array:
        """Returns the values (N, ...) of the formula where its names stand for these, one for each instance.

        The first axis of an array is that of the instances: numbers are (N) or a float, vectors (N, d) and
        matrices (N, d, d). Raises NotFiniteError if no value is finite.
        """
        self.check_names(names)
        with np.errstate(all="ignore"):  # _apply looks for results that are not finite
            return self._compute(self._tree, names)[0]

    def value_of_shape(self, names: Mapping[str, Array | float], shape: tuple[int, ...], rule: str) -> Array:
        """Returns the values (N, *shape) of the formula; raises AugenmerkError with the rule for others.

        The number 0 stands for a vector or a matrix of zeros.
        """
        value = self.value(names)
        if value.ndim == 1 and not value.any():
            return np.zeros((len(value), *shape))
        if value.shape[1:] != shape:
            kind = ("a number", "a vector", "a matrix")[value.ndim - 1]
            size = " of another size" if value.ndim == len(shape) + 1 else ""
            raise AugenmerkError(f"'{self.text}' is {kind}{size}; {rule}.")
        return value

    def _find_names(self) -> list[tuple[str, int]]:
        """Returns each name that stands for a value, with its place in the text, from left to right."""
        functions = {node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        found = [n for n in ast.walk(self._tree) if isinstance(n, ast.Name) and n not in functions]
        in_order = sorted(found, key=lambda node: node.col_offset)
        return [(node.id[:-1], self._places[node.col_offset]) for node in in_order]

    def _compute(  # noqa: RET503
        self, node: ast.expr, names: Mapping[str, Array | float]
    ) -> tuple[Array, str]:
        """Returns a value, and which kind of product it is if what follows may belong to it.

        That is `dot` for x.y, and `quotient` for the k_a of 1/2 k_a.
        """
        place = self._places[node.col_offset]
        match node:
            case ast.Constant(value=float(number)):
                return np.array([number]), ""
            case ast.Name(id=name):
                return np.atleast_1d(np.asarray(names[name[:-1]], np.float64)), ""
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._compute(operand, names)[0], ""
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._compute(operand, names)[0], ""
            case ast.Attribute(value=operand, attr="T"):
                value = self._compute(operand, names)[0]
                if value.ndim == 2:
                    return value[:, None, :], ""
                return value.swapaxes(1, 2) if value.ndim == 3 else value, ""
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return self._compute_operation(left, operator, right, names)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name[:-1] in _FUNCTIONS:
                name = name[:-1]
                expected = 2 if name in ("dot", "outer") else 1
                if len(arguments) != expected:
                    _refuse(self.text, place, f"{name} takes {expected}, not {len(arguments)}")
                parts = [self._compute(part, names)[0] for part in arguments]
                return self._apply(name, parts, place), ""
        _refuse(self.text, place, "this has no place in an expression")

    def _compute_operation(
        self, left: ast.expr, operator: ast.operator, right: ast.expr, names: Mapping[str, Array | float]
    ) -> tuple[Array, str]:
        # Between the two operands are brackets and the sign, to which an error message points.
        sign = _SIGN.search(self._python, left.end_col_offset or 0)
        assert sign is not None
        place = self._places[sign.start()]
        (one, kind), (other, _) = self._compute(left, names), self._compute(right, names)
        if ")" in self._python[left.end_col_offset : sign.start()]:
            kind = ""  # brackets end a product
        if isinstance(operator, ast.MatMult) and kind == "dot" and other.ndim > 1:
            _refuse(self.text, place, "x.y.z can be read in two ways: put brackets around a product of two")
        value = self._apply(_OPERATORS[type(operator)], [one, other], place)
        if isinstance(operator, ast.Mult | ast.MatMult):
            if sign.start() in self._in_doubt or kind == "quotient":
                # Nothing is divided by a vector: 1/2 k_a is half of k_a. But 1/2 c might be 1/(2 c).
                if other.ndim == 1 or value.ndim == 1:
                    _refuse(self.text, place, _TWO_WAYS)
                return value, "quotient"
            if one.ndim == other.ndim == 2:
                return value, "dot"
        return value, ""

    def _apply(self, name: str, parts: Sequence[Array], place: int) -> Array:
        try:
            result = np.asarray((_call if name in _FUNCTIONS else _operate)(name, *parts), np.float64)
        except _OperandError as reason:
            _refuse(self.text, place, str(reason))
        if not np.isfinite(result).reshape(len(result), -1).all(axis=1).any():
            _refuse(self.text, place, _why_not_finite(name, parts, result), NotFiniteError)
        return result


@dataclass
class _Level:
    """What is known about the text inside one pair of brackets, up to the current token."""

    opened: int
    closer: str = ")"
    """What closes it: a bracket, or `|` for the bars of a norm."""
    is_call: bool = False
    in_exponent: bool = False
    in_divisor: bool = False


_CLOSERS = {"(": ")", "{": "}"}


def _to_python(text: str, start: int, found: Sequence[Token]) -> tuple[str, list[int], set[int]]:
    """Rewrites a formula in Python's syntax, and returns for each of its characters the place in the text.

    Returns also where a product without a sign stands behind a division. Inserts the `*` of products, and
    refuses what cannot be read, or can be read in two ways. An underscore is appended to every name, so that
    none is a keyword of Python.
    """
    python, places, in_doubt = "", list[int](), set[int]()
    levels = [_Level(start)]
    operand_expected, function, signs = True, False, 0
    for number, (kind, token, place) in enumerate(found):
        level, piece = levels[-1], token
        following = found[number + 1].text if number + 1 < len(found) else ""
        if kind == "other":
            instead = ": use ( and )" if token in "[]" else ""
            if token in ("\\infty", "∞"):
                instead = ": write c, which is as large as you like"
            _refuse(text, place, f"'{token}' has no place in an expression{instead}")
        if kind == "fraction":
            _refuse(text, place, "a fraction is written \\frac{...}{...}")
        is_opening_bar = kind == "bar" and (operand_expected or level.closer != "|")
        if kind in ("number", "name") or token in _CLOSERS or is_opening_bar:
            is_bracket = kind not in ("number", "name")
            if not operand_expected and not function:
                if kind == "number":
                    _refuse(text, place, f"a sign is missing before '{token}'")
                if level.in_divisor:
                    in_doubt.add(len(python))
                level.in_exponent = False
                python, places = f"{python}* ", [*places, place, place]
            if is_bracket:
                closer = "|" if kind == "bar" else _CLOSERS[token]
                levels.append(_Level(place, closer, is_call=function))
                if len(levels) > MAX_DEPTH + 1:
                    _refuse(text, place, f"more than {MAX_DEPTH} brackets are inside one another")
                piece = "norm_ (" if kind == "bar" else "("
            elif kind == "number":
                if not np.isfinite(float(token)):
                    _refuse(text, place, f"'{token}' is too large")
                piece = repr(float(token))
            else:
                piece = f"{token}_"
            operand_expected = is_bracket
            signs = signs if operand_expected else 0
        elif operand_expected and token not in ("+", "-"):
            _refuse(text, place, f"a name or a number was expected, not '{token}'")
        elif token in (")", "}") or kind == "bar":
            closer = "|" if kind == "bar" else token
            if len(levels) == 1:
                _refuse(text, place, f"'{token}' was not expected here")
            if kind == "bar" and token.count("|") != text[level.opened :][:2].count("|"):
                _refuse(text, place, "these bars can be read in two ways: write norm(...)")
            if level.closer != closer:
                _refuse(text, place, f"the bracket of character {level.opened + 1} is not closed")
            levels.pop()
            piece = ")"
        elif kind == "transpose":
            piece = ".T"
        else:
            if token == "," and not level.is_call:
                _refuse(text, place, "',' was not expected here")
            if token == "^" and level.in_exponent:
                _refuse(text, place, "a power of a power can be read in two ways: put brackets")
            signs = signs + 1 if operand_expected else 0
            if signs > MAX_DEPTH:
                _refuse(text, place, f"more than {MAX_DEPTH} signs are in a row")
            if not operand_expected:  # a sign between two operands, rather than before one
                level.in_exponent = token == "^"
                level.in_divisor = token == "/" or (token == "^" and level.in_divisor)
            piece = {"^": "**", "·": "@"}.get(token, token)
            operand_expected = True
        function = kind == "name" and token in _FUNCTIONS and following in _CLOSERS
        python, places = f"{python}{piece} ", places + [place] * (len(piece) + 1)
    end = len(text.rstrip())
    if operand_expected:
        _refuse(text, end, "the expression ends too early" if text[start:].strip() else "it is empty")
    if len(levels) > 1:
        _refuse(text, end, f"the bracket of character {levels[-1].opened + 1} is not closed")
    return python, places, in_doubt


def _refuse(text: str, place: int, reason: str, error: type[AugenmerkError] = AugenmerkError) -> NoReturn:
    """Raises an error with the number of the character, and with a mark in front of it."""
    shown = f"{text[:place]}▸{text[place:]}" if len(text) <= MAX_LENGTH else f"{text[:20]}..."
    sentence = f"'{shown}', character {place + 1}: {reason}."
    raise error("".join(character if character.isprintable() else " " for character in sentence))


# The operations of linear algebra, on many instances at once. Behind their axis a number has no other, a
# vector one, a matrix two; a transposed vector is a matrix of one row.

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^", ast.MatMult: "·"}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "norm": lambda x: np.abs(x) if x.ndim == 1 else np.linalg.norm(x, axis=1),
    "dot": lambda x, y: (x * y).sum(axis=1),
    "outer": lambda x, y: x[:, :, None] * y[:, None, :],
    **{"sqrt": np.sqrt, "exp": np.exp, "ln": np.log, "log": np.log, "abs": np.abs},
}


class _OperandError(Exception):
    """An operation was given operands for which it is not defined."""


def _describe(value: Array) -> str:
    transposed = value.ndim == 3 and value.shape[1] == 1
    return ("a number", "a vector", "a transposed vector" if transposed else "a matrix")[value.ndim - 1]


def _operate(sign: str, left: Array, right: Array) -> Array:
    """Applies an operator; raises _OperandError if it is not defined for these operands."""
    if sign in "+-":
        if left.shape[1:] != right.shape[1:]:
            raise _OperandError(f"{_describe(left)} and {_describe(right)} cannot be added or subtracted")
        return left + right if sign == "+" else left - right
    if sign == "/":
        if right.ndim > 1:
            raise _OperandError(f"only a number can stand below a division, not {_describe(right)}")
        return left / _widen(right, left.ndim)
    if sign == "^":
        if left.ndim > 1 or right.ndim > 1:
            raise _OperandError(f"only numbers have powers, not {_describe(max(left, right, key=np.ndim))}")
        return np.power(left, right)
    if left.ndim == 1 or right.ndim == 1:
        return _widen(left, right.ndim) * _widen(right, left.ndim)
    if left.ndim == right.ndim == 2:
        if sign == "·" and left.shape[1:] == right.shape[1:]:
            return np.asarray(_FUNCTIONS["dot"](left, right))
        raise _OperandError(
            "a product of two vectors can be a number or a matrix: write x.y (or dot(x, y)) for the "
            "number, x*y^T (or outer(x, y)) for the matrix"
        )
    matrices = [left[:, :, None] if left.ndim == 2 else left, right[:, :, None] if right.ndim == 2 else right]
    if matrices[0].shape[2] != matrices[1].shape[1]:
        raise _OperandError(f"{_describe(left)} cannot be multiplied by {_describe(right)}")
    result = matrices[0] @ matrices[1]
    if result.shape[1:] == (1, 1):
        return np.asarray(result[:, 0, 0])
    return np.asarray(result[:, :, 0]) if right.ndim == 2 else result


def _widen(value: Array, ndim: int) -> Array:
    """Returns numbers (N) with the axes of the vectors or matrices that they multiply; others as they are."""
    return value.reshape(-1, *[1] * (ndim - 1)) if value.ndim == 1 else value


def _call(name: str, *parts: Array) -> Array:
    """Calls a function; raises _OperandError if it is not defined for these arguments."""
    shown = " and ".join(map(_describe, parts))
    if name in ("dot", "outer"):
        if parts[0].ndim != 2 or parts[0].shape[1:] != parts[1].shape[1:]:
            raise _OperandError(f"{name} takes two vectors of one size, not {shown}")
    elif name == "norm" and parts[0].ndim > 2:
        raise _OperandError(f"norm takes a vector, not {shown}")
    elif name != "norm" and parts[0].ndim > 1:
        raise _OperandError(f"this takes a number, not {shown}")
    return np.asarray(_FUNCTIONS[name](*parts))


def _why_not_finite(name: str, parts: Sequence[Array], result: Array) -> str:
    if name == "/" and not np.any(parts[1]):
        return "this is a division by zero"
    if name == "^" and not np.any(parts[0]):
        return "this is a negative power of zero, a division by zero"
    if name == "^" and np.any(np.isnan(result)):
        return "there is no such power of a negative number"
    if name in _FUNCTIONS and (np.any(np.isnan(result)) or np.all(np.isneginf(result))):
        return f"there is no {name} of {float(parts[0].flat[0]):g}"
    return "this is too large for a number"
