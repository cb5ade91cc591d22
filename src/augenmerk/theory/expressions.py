r"""Reads and computes a reader's formula, such as `c (k_a + k_b)/norm(k_a)`, without ever executing it.

Names stand for what the task gives: numbers, vectors, matrices. Products are those of linear algebra:
`u_b u_c^T` is a matrix, `u_b^T u_c` and `u_b.u_c` are numbers; the `*` of a product may be left out.
`notation.py` reads LaTeX and other ways to write the same. The formula is rewritten as a Python expression,
which `ast` parses; a whitelist of its nodes is computed with numpy. Anything else is refused with a sentence
that points at the character.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.notation import GREEK, Token, tokens

MAX_LENGTH = 500
MAX_DEPTH = 40  # the most brackets inside one another, and the most signs in a row
MAX_WORK = 1e9  # the most operations on numbers in all evaluations; about ten seconds
_STEP = 3000  # the time to begin an operation of numpy, in operations on numbers
_MATMUL = 16  # how much faster numpy does the multiplications in a product of matrices

_SIGN = re.compile(r"[-+*/@]")


class Expression:
    """A formula that is parsed once and computed for many instances of a task.

    `start` is where the formula begins in the text, for example behind `q =`; error messages count characters
    from the beginning of the text. A formula that would take too long for so many `evaluations` is refused
    during the first of them. `known` are the names that short forms such as `ka` may stand for.
    """

    def __init__(
        self, text: str, start: int = 0, evaluations: int = 1, known: Set[str] = frozenset()
    ) -> None:
        self.text = text
        self._evaluations = evaluations
        self._work = 0.0
        self._dots = set[ast.expr]()  # the products that were seen to be of two vectors, and a number
        if len(text) > MAX_LENGTH:
            reason = f"an expression has at most {MAX_LENGTH} characters, this one {len(text)}"
            _refuse(text, MAX_LENGTH, reason)
        found = list(tokens(text, start, known))
        self._python, self._places = _to_python(text, start, found)
        self._calls = {
            token.place
            for token, following in pairwise(found)
            # c(k_a) is a product, and so is alpha(k_a), but a longer name before a bracket is a function's.
            if following.text == "(" and len(token.text) > 1 and token.text not in GREEK.values()
        }
        self._tree = ast.parse(self._python, mode="eval").body
        self._names = self._find_names()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self._names)

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
        """Returns the value of the formula where its names stand for these."""
        self.check_names(names)
        self._work = 0.0
        with np.errstate(all="ignore"):  # _apply refuses a result that is not finite
            return self._compute(self._tree, names)

    def value_of_shape(self, names: Mapping[str, Array | float], shape: tuple[int, ...], rule: str) -> Array:
        """Returns the value of the formula; raises AugenmerkError with the rule if it has another shape.

        The number 0 stands for a vector or a matrix of zeros.
        """
        value = self.value(names)
        if not value.ndim and not value:  # 0 is what people write for a vector or a matrix of zeros
            return np.zeros(shape)
        if value.shape != shape:
            kind = ("a number", "a vector", "a matrix")[value.ndim]
            size = " of another size" if value.ndim == len(shape) else ""
            raise AugenmerkError(f"'{self.text}' is {kind}{size}; {rule}.")
        return value

    def _find_names(self) -> list[tuple[str, int]]:
        """Returns each name that stands for a value, with its place in the text, from left to right."""
        functions = {node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        found = [n for n in ast.walk(self._tree) if isinstance(n, ast.Name) and n not in functions]
        in_order = sorted(found, key=lambda node: node.col_offset)
        return [(node.id[:-1], self._places[node.col_offset]) for node in in_order]

    def _compute(self, node: ast.expr, names: Mapping[str, Array | float]) -> Array:  # noqa: RET503
        place = self._places[node.col_offset]
        match node:
            case ast.Constant(value=float(number)):
                return np.asarray(number)
            case ast.Name(id=name):
                return np.asarray(names[name[:-1]], np.float64)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._compute(operand, names)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._compute(operand, names)
            case ast.Attribute(value=operand, attr="T"):
                value = self._compute(operand, names)
                return value[None, :] if value.ndim == 1 else value.T
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                # Between the two operands are brackets and the sign, to which an error message points.
                sign = _SIGN.search(self._python, left.end_col_offset or 0)
                assert sign is not None
                parts = [self._compute(left, names), self._compute(right, names)]
                if isinstance(operator, ast.MatMult):
                    in_brackets = ")" in self._python[left.end_col_offset : sign.start()]
                    if left in self._dots and parts[1].ndim and not in_brackets:
                        reason = "x.y.z can be read in two ways: put brackets around a product of two"
                        _refuse(self.text, self._places[sign.start()], reason)
                    if parts[0].ndim == parts[1].ndim == 1:
                        self._dots.add(node)
                return self._apply(_OPERATORS[type(operator)], parts, self._places[sign.start()])
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name[:-1] in _FUNCTIONS:
                name = name[:-1]
                expected = 2 if name in ("dot", "outer") else 1
                if len(arguments) != expected:
                    _refuse(self.text, place, f"{name} takes {expected}, not {len(arguments)}")
                parts = [self._compute(part, names) for part in arguments]
                return self._apply(name, parts, place)
        _refuse(self.text, place, "this has no place in an expression")

    def _apply(self, name: str, parts: Sequence[Array], place: int) -> Array:
        self._work += _STEP + _count_work(name, parts)
        if self._work * self._evaluations > MAX_WORK:
            reason = f"up to here this is too much work for {self._evaluations:,} evaluations; shorten it"
            _refuse(self.text, place, f"{reason}, or take fewer --samples")
        try:
            result = np.asarray((_call if name in _FUNCTIONS else _operate)(name, *parts), np.float64)
        except _OperandError as reason:
            _refuse(self.text, place, str(reason))
        if not np.all(np.isfinite(result)):
            _refuse(self.text, place, _why_not_finite(name, parts, result))
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


def _to_python(text: str, start: int, found: Sequence[Token]) -> tuple[str, list[int]]:
    """Rewrites a formula in Python's syntax, and returns for each of its characters the place in the text.

    Inserts the `*` of products, and refuses what cannot be read, or can be read in two ways. An underscore is
    appended to every name, so that none is a keyword of Python.
    """
    python, places = "", list[int]()
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
                    reason = "a product behind a division can be read in two ways: put brackets or *"
                    _refuse(text, place, reason)
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
    return python, places


def _refuse(text: str, place: int, reason: str) -> NoReturn:
    """Raises AugenmerkError with the number of the character, and with a mark in front of it."""
    shown = f"{text[:place]}▸{text[place:]}" if len(text) <= MAX_LENGTH else f"{text[:20]}..."
    sentence = f"'{shown}', character {place + 1}: {reason}."
    raise AugenmerkError("".join(character if character.isprintable() else " " for character in sentence))


# The operations of linear algebra. A number has no axis, a vector one, a matrix two; a transposed vector is a
# matrix of one row.

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^", ast.MatMult: "·"}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{"norm": np.linalg.norm, "dot": np.dot, "outer": np.outer},
    **{"sqrt": np.sqrt, "exp": np.exp, "ln": np.log, "log": np.log, "abs": np.abs},
}


class _OperandError(Exception):
    """An operation was given operands for which it is not defined."""


def _describe(value: Array) -> str:
    if value.ndim == 0:
        return "a number"
    if value.ndim == 1:
        return f"a vector of {len(value)}"
    if value.shape[0] == 1:
        return f"a transposed vector of {value.shape[1]}"
    return f"a matrix of {value.shape[0]} by {value.shape[1]}"


def _operate(sign: str, left: Array, right: Array) -> Array:
    """Applies an operator; raises _OperandError if it is not defined for these operands."""
    if sign in "+-":
        if left.shape != right.shape:
            raise _OperandError(f"{_describe(left)} and {_describe(right)} cannot be added or subtracted")
        return left + right if sign == "+" else left - right
    if sign == "/":
        if right.ndim:
            raise _OperandError(f"only a number can stand below a division, not {_describe(right)}")
        return left / right
    if sign == "^":
        if left.ndim or right.ndim:
            raise _OperandError(f"only numbers have powers, not {_describe(left if left.ndim else right)}")
        return np.power(left, right)
    if left.ndim == 0 or right.ndim == 0:
        return left * right
    if left.ndim == 1 and right.ndim == 1:
        if sign == "·" and left.shape == right.shape:
            return np.asarray(left @ right)
        raise _OperandError(
            "a product of two vectors can be a number or a matrix: write x.y (or dot(x, y)) for the "
            "number, x*y^T (or outer(x, y)) for the matrix"
        )
    if left.ndim == 1:
        left = left[:, None]
    if left.shape[1] != right.shape[0]:
        raise _OperandError(f"{_describe(left)} cannot be multiplied by {_describe(right)}")
    result = left @ right
    return result.reshape(()) if result.size == 1 else result


def _call(name: str, *parts: Array) -> Array:
    """Calls a function; raises _OperandError if it is not defined for these arguments."""
    shown = " and ".join(map(_describe, parts))
    if name in ("dot", "outer"):
        if parts[0].ndim != 1 or parts[0].shape != parts[1].shape:
            raise _OperandError(f"{name} takes two vectors of one size, not {shown}")
    elif name == "norm" and parts[0].ndim > 1:
        raise _OperandError(f"norm takes a vector, not {shown}")
    elif name != "norm" and parts[0].ndim:
        raise _OperandError(f"this takes a number, not {shown}")
    return np.asarray(_FUNCTIONS[name](*parts))


def _count_work(name: str, parts: Sequence[Array]) -> float:
    """Returns how many operations on numbers this takes, as far as its operands fit one another."""
    sizes = [float(part.size) for part in parts]
    if name == "outer":
        return sizes[0] * sizes[-1]
    if name in "*·" and all(part.ndim for part in parts):
        left, right = parts
        rows, columns = left.shape[0], right.shape[-1] if right.ndim > 1 else 1
        inner = left.shape[1] if left.ndim > 1 else 1
        return float(rows * columns + rows * inner * columns / _MATMUL)
    return max(sizes)


def _why_not_finite(name: str, parts: Sequence[Array], result: Array) -> str:
    if name == "/" and not np.any(parts[1]):
        return "this is a division by zero"
    if name == "^" and not np.any(parts[0]):
        return "this is a negative power of zero, a division by zero"
    if name == "^" and np.any(np.isnan(result)):
        return "there is no such power of a negative number"
    if name in _FUNCTIONS and (np.any(np.isnan(result)) or np.all(np.isneginf(result))):
        return f"there is no {name} of {float(parts[0]):g}"
    return "this is too large for a number"
