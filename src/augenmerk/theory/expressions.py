r"""Reads and computes a reader's formula, such as `c (k_a + k_b)/norm(k_a)`, without ever executing it.

Names stand for what the task gives: numbers, vectors, matrices. Products are those of linear algebra:
`u_b u_c^T` is a matrix, `u_b^T u_c` and `u_b.u_c` are numbers; the `*` of a product may be left out.
`notation.py` splits LaTeX and other ways to write the same into tokens, `_Parser` makes a tree of them, and
`_evaluate` computes the tree with numpy, for many instances of a task at once. Anything else is refused with
a sentence that points at the character.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, NoReturn

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.conditions import FREE_NAME
from augenmerk.theory.notation import Token, tokens

MAX_LENGTH = 500
MAX_DEPTH = 40  # the most brackets inside one another, and the most signs in a row

_TWO_WAYS = "a product behind a division can be read in two ways: put brackets or *"
_CLOSERS = {"(": ")", "{": "}"}


class NotFiniteError(AugenmerkError):
    """A formula has no value for any of the instances, for example because it divides by zero."""


class Node(NamedTuple):
    """A part of a formula."""

    kind: str  # number, name, sign, transpose, call, or the operator
    at: int  # the index in the text to which messages point
    parts: tuple["Node", ...] = ()
    value: Any = None  # of a number; of a name, sign or call what is written
    in_brackets: bool = False  # these end a product
    is_function: bool = False  # whether a name stands before a bracket as a function's does
    in_doubt: bool = False  # whether this is a product without a sign behind a division

    def walk(self) -> "Iterator[Node]":
        yield self
        for part in self.parts:
            yield from part.walk()


class Expression:
    """A formula that is parsed once and computed for many instances of a task.

    `start` is where the formula begins in the text, for example behind `q =`; error messages count characters
    from the beginning of the text. `known` are the names that short forms such as `ka` may stand for.
    """

    def __init__(self, text: str, start: int = 0, known: Set[str] = frozenset()) -> None:
        self.text = text
        if len(text) > MAX_LENGTH:
            reason = f"an expression has at most {MAX_LENGTH} characters, this one {len(text)}"
            _fail(text, MAX_LENGTH, reason)
        parser = _Parser(text, start, known)
        self._tree = parser.parse()
        # Brackets around a single name or number, as of a fraction, are left out.
        self.reading = re.sub(r"(?<![\w ])\((\w+)\)", r"\1", parser.reading)
        """The formula as it was understood, in plain notation."""
        self._names = sorted((n for n in self._tree.walk() if n.kind == "name"), key=lambda node: node.at)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of values, from left to right, each as often as it is written."""
        return tuple(node.value for node in self._names)

    @property
    def constants(self) -> frozenset[float]:
        """The numbers that are written in the formula."""
        return frozenset(node.value for node in self._tree.walk() if node.kind == "number")

    @property
    def called_names(self) -> frozenset[str]:
        """The names that stand before a bracket as functions do."""
        return frozenset(node.value for node in self._names if node.is_function)

    def check_names(self, known: Set[str], offered: Sequence[str] | None = None) -> None:
        """Raises AugenmerkError if the formula uses a name that the task does not have.

        The message has the names that are `offered`: those of the question, which has no synonyms.
        """
        for node in self._names:
            if (name := node.value) in known:
                continue
            what = f"function '{name}'" if node.is_function else f"'{name}' in this task"
            there = ", ".join(sorted(_FUNCTIONS) if node.is_function else offered or sorted(known))
            reason = f"there is no {what}; there are {there}"
            if name.lower().startswith("v_") and any(each.startswith("k_") for each in known):
                reason = f"'{name}' is a value, and weights depend on keys alone; there are {there}"
            elif (other := name.swapcase()) in known or (other := name.lower()) in known:
                reason = f"there is no {what}, but '{other}'; there are {there}"
            _fail(self.text, node.at, reason)

    def value(self, names: Mapping[str, Array | float]) -> Array:
        """Returns the values (N, ...) of the formula where its names stand for these, one for each instance.

        The first axis of an array is that of the instances: numbers are (N) or a float, vectors (N, d) and
        matrices (N, d, d). Raises NotFiniteError if no value is finite.
        """
        self.check_names(names.keys())
        with np.errstate(all="ignore"):  # _apply looks for results that are not finite
            return _evaluate(self._tree, names, self.text)[0]

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


class _Parser:
    """Makes a tree of tokens by recursive descent; fails at what cannot be read, or can be in two ways."""

    def __init__(self, text: str, start: int, known: Set[str]) -> None:
        self.text, self.start = text, start
        self.tokens = [*tokens(text, start, known), Token("end", "", len(text.rstrip()))]
        self.index = 0
        self.closers: list[str] = []  # what closes the brackets that are open: `)`, `}`, or `|` for bars
        self.reading = ""

    @property
    def token(self) -> Token:
        """The token that comes next."""
        token = self.tokens[self.index]
        if token.kind == "other":
            instead = ": use ( and )" if token.text in "[]" else ""
            if token.text in ("\\infty", "∞"):
                instead = ": write c, which is as large as you like"
            self.fail(token.place, f"'{token.text}' has no place in an expression{instead}")
        if token.kind == "fraction":
            self.fail(token.place, "a fraction is written \\frac{...}{...}")
        return token

    def take(self, reading: str = "") -> Token:
        """Goes on to the next token, and returns the one before, which is shown as itself or as `reading`."""
        token = self.token
        self.index += 1
        self.reading += reading or token.text
        return token

    def fail(self, at: int, reason: str) -> NoReturn:
        _fail(self.text, at, reason)

    def parse(self) -> Node:
        tree = self.sum()
        if self.token.kind != "end":
            self.fail(self.token.place, f"'{self.token.text}' was not expected here")
        return tree

    def sum(self) -> Node:
        node = self.product()
        while self.token.text in ("+", "-"):
            sign = self.take(f" {self.token.text} ")
            node = Node(sign.text, sign.place, (node, self.product()))
        return node

    def product(self) -> Node:
        node, in_divisor = self.signed(self.power), False
        while True:
            kind, text, at = self.token
            opens = text in _CLOSERS or (kind == "bar" and self.closers[-1:] != ["|"])
            if text in ("*", "·", "/"):
                self.take()
                in_divisor = text == "/"
                node = Node(text, at, (node, self.signed(self.power)))
            elif kind == "number":
                self.fail(at, f"a sign is missing before '{text}'")
            elif kind == "name" or opens:  # a product without a sign
                self.reading += "*"
                node = Node("*", at, (node, self.power()), in_doubt=in_divisor)
            else:
                return node

    def signed(self, operand: Callable[[], Node]) -> Node:
        signs = list[Token]()
        while self.token.text in ("+", "-"):
            signs.append(self.take())
            if len(signs) > MAX_DEPTH:
                self.fail(signs[-1].place, f"more than {MAX_DEPTH} signs are in a row")
        node = operand()
        for sign in reversed(signs):
            node = Node("sign", sign.place, (node,), sign.text)
        return node

    def power(self) -> Node:
        node = self.operand()
        if self.token.text == "^":
            node = Node("^", self.take().place, (node, self.signed(self.operand)))
            if self.token.text == "^":
                self.fail(self.token.place, "a power of a power can be read in two ways: put brackets")
        return node

    def operand(self) -> Node:
        kind, text, at = self.token
        following = self.tokens[self.index + 1].text if kind == "name" else ""
        if kind == "end":
            is_empty = not self.text[self.start :].strip()
            self.fail(at, "it is empty" if is_empty else "the expression ends too early")
        if kind == "number":
            if not np.isfinite(float(text)):
                self.fail(at, f"'{text}' is too large")
            node = Node(kind, at, value=float(text))
            self.take(repr(node.value).removesuffix(".0"))
        elif text in _FUNCTIONS and following in _CLOSERS:
            self.take()
            node = self.brackets(text, at)
        elif kind == "name":
            # c(k_a) is a product, and so is alpha_1(k_a), but a longer name before a bracket is a function's.
            is_function = following == "(" and not FREE_NAME.fullmatch(text)
            node = Node(kind, at, value=text, is_function=is_function)
            self.take()
        elif text in _CLOSERS or kind == "bar":
            node = self.brackets("norm" if kind == "bar" else "", at)
        else:
            self.fail(at, f"a name or a number was expected, not '{text}'")
        while self.token.kind == "transpose":
            node = Node("transpose", self.take("^T").place, (node,))
        return node

    def brackets(self, function: str, at: int) -> Node:
        """Reads what is in brackets or bars, with the arguments of a function if they are those of one."""
        is_norm, opened = self.token.kind == "bar", self.token.place
        closer = "|" if is_norm else _CLOSERS[self.token.text]
        self.take("norm(" if is_norm else "(")
        self.closers.append(closer)
        if len(self.closers) > MAX_DEPTH:
            self.fail(opened, f"more than {MAX_DEPTH} brackets are inside one another")
        parts = [self.sum()]
        while self.token.text == ",":
            if is_norm or not function:
                self.fail(self.token.place, "',' was not expected here")
            self.take(", ")
            parts.append(self.sum())
        kind, text, end = self.token
        if kind == "bar" and text.count("|") != self.text[opened : opened + 2].count("|"):
            self.fail(end, "these bars can be read in two ways: write norm(...)")
        if closer != ("|" if kind == "bar" else text):
            self.fail(end, f"the bracket of character {opened + 1} is not closed")
        self.take(")")
        self.closers.pop()
        node = Node("call", at, tuple(parts), function) if function else parts[0]
        return node._replace(in_brackets=True)


def _fail(text: str, at: int, reason: str, error: type[AugenmerkError] = AugenmerkError) -> NoReturn:
    """Raises an error with the number of the character, and with a mark in front of it."""
    shown = f"{text[:at]}▸{text[at:]}" if len(text) <= MAX_LENGTH else f"{text[:20]}..."
    sentence = f"'{shown}', character {at + 1}: {reason}."
    raise error("".join(character if character.isprintable() else " " for character in sentence))


def _evaluate(node: Node, names: Mapping[str, Array | float], text: str) -> tuple[Array, str]:
    """Returns a value, and which kind of product it is if what follows may belong to it.

    That is `dot` for x.y, and `quotient` for the k_a of 1/2 k_a.
    """
    if node.kind == "number":
        return np.array([node.value]), ""
    if node.kind == "name":
        return np.atleast_1d(np.asarray(names[node.value], np.float64)), ""
    if node.kind == "call":
        expected = 2 if node.value in ("dot", "outer") else 1
        if len(node.parts) != expected:
            _fail(text, node.at, f"{node.value} takes {expected}, not {len(node.parts)}")
    values = [_evaluate(part, names, text) for part in node.parts]
    one, other = values[0][0], values[-1][0]
    if node.kind == "sign":
        return -one if node.value == "-" else one, ""
    if node.kind == "transpose":
        return one[:, None, :] if one.ndim == 2 else one.swapaxes(1, 2) if one.ndim == 3 else one, ""
    kind = "" if node.parts[0].in_brackets else values[0][1]
    if node.kind == "·" and kind == "dot" and other.ndim > 1:
        _fail(text, node.at, "x.y.z can be read in two ways: put brackets around a product of two")
    try:
        value = (
            _call(node.value, *(v for v, _ in values))
            if node.kind == "call"
            else _operate(node.kind, one, other)
        )
    except _OperandError as reason:
        _fail(text, node.at, str(reason))
    if not np.isfinite(value).reshape(len(value), -1).all(axis=1).any():
        _fail(text, node.at, _explain_not_finite(node, one, other, value), NotFiniteError)
    if node.kind in "*·":
        if node.in_doubt or kind == "quotient":
            # Nothing is divided by a vector: 1/2 k_a is half of k_a. But 1/2 c might be 1/(2 c).
            if other.ndim == 1 or value.ndim == 1:
                _fail(text, node.at, _TWO_WAYS)
            return value, "quotient"
        if one.ndim == other.ndim == 2:
            return value, "dot"
    return value, ""


# The operations of linear algebra, on many instances at once. Behind their axis a number has no other, a
# vector one, a matrix two; a transposed vector is a matrix of one row.

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
    return np.asarray(_FUNCTIONS[name](*parts), np.float64)


def _explain_not_finite(node: Node, one: Array, other: Array, result: Array) -> str:
    if node.kind == "/" and not np.any(other):
        return "this is a division by zero"
    if node.kind == "^" and not np.any(one):
        return "this is a negative power of zero, a division by zero"
    if node.kind == "^" and np.any(np.isnan(result)):
        return "there is no such power of a negative number"
    if node.kind == "call" and (np.any(np.isnan(result)) or np.all(np.isneginf(result))):
        return f"there is no {node.value} of {float(one.flat[0]):g}"
    return "this is too large for a number"
