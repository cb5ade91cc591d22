r"""Reads and computes a formula, such as `c (k_a + k_b)/norm(k_a)`, without ever executing it.

Names are what the task gives: numbers, vectors, matrices. Products are those of linear algebra:
`u_b u_c^T` is a matrix, `u_b^T u_c` and `u_b.u_c` are numbers; the `*` of a product may be left out.
`notation.py` splits LaTeX and other ways to write the same into tokens, `_Parser` makes a tree of them, and
`_evaluate` computes the tree with numpy, for many instances of a task at once. For anything else the error
points at the character.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.notation import FREE_NAME, Token, tokens

MAX_LENGTH = 500
MAX_DEPTH = 40  # the most brackets inside one another, and the most signs in a row

_BARE = ("sqrt", "exp", "ln", "log")
"""The functions whose argument may be a name or number without brackets: `√d`, `\\ln m`."""
_CLOSERS = {"(": ")", "{": "}"}
_NOT_FINITE = (
    "this has no value: it divides by zero, is the root or logarithm of a number that is not positive, or is "
    "too large"
)


class NotFiniteError(AugenmerkError):
    """A formula has no value for any of the instances, for example because it divides by zero."""


class Node(NamedTuple):
    """A part of a formula."""

    kind: str  # number, name, sign, transpose, call, or the operator
    at: int  # the index in the text to which messages point
    parts: tuple["Node", ...] = ()
    value: Any = None  # of a number; of a name, sign or call what is written
    in_brackets: bool = False  # these end a product
    is_function: bool = False  # whether a name is written before a bracket as a function's is
    in_doubt: bool = False  # whether this is a product without a sign after a division

    def walk(self) -> "Iterator[Node]":
        yield self
        for part in self.parts:
            yield from part.walk()


class Expression:
    """A formula that is parsed once and computed for many instances of a task.

    `start` is where the formula begins in the text, for example after `q =`; error messages count characters
    from the beginning of the text. `known` are the names that short forms such as `ka` may mean.
    """

    def __init__(self, text: str, start: int = 0, known: Set[str] = frozenset()) -> None:
        self.text = text
        if len(text) > MAX_LENGTH:
            _fail(text, MAX_LENGTH, f"a formula has at most {MAX_LENGTH} characters, this one {len(text)}")
        parser = _Parser(text, start, known)
        self._tree = parser.parse()
        nodes = sorted(self._tree.walk(), key=lambda node: node.at)
        self._names = [node for node in nodes if node.kind == "name"]
        self.reading = re.sub(r"(?<![\w ])\((\w+)\)", r"\1", parser.reading)
        """The formula as it was understood, in plain notation, without brackets around a single name."""
        self.names = tuple(node.value for node in self._names)
        """The names of values, from left to right, each as often as it is written."""
        self.constants = frozenset(node.value for node in nodes if node.kind == "number")
        self.called_names = frozenset(node.value for node in self._names if node.is_function)
        """The names that are written before a bracket as functions are."""

    def check_names(self, known: Set[str], offered: Sequence[str] = ()) -> None:
        """Raises AugenmerkError if the formula uses a name that the task does not have.

        The message lists the names that are `offered`: those of the question, which has no synonyms.
        """
        for node in self._names:
            if node.value not in known:
                what, names = f"'{node.value}' in this task", offered or sorted(known)
                if node.is_function:
                    what, names = f"function '{node.value}'", sorted(_FUNCTIONS)
                _fail(self.text, node.at, f"there is no {what}; there are {', '.join(names)}")

    def value(self, names: Mapping[str, Array | float]) -> Array:
        """Returns the values (N, ...) of the formula, one for each instance, with these values of its names.

        The first axis of an array is that of the instances: numbers are (N) or a float, vectors (N, d) and
        matrices (N, d, d). Raises NotFiniteError if no value is finite.
        """
        self.check_names(names.keys())
        with np.errstate(all="ignore"):  # _evaluate looks for results that are not finite
            return _evaluate(self._tree, names, self.text)[0]

    def value_of_shape(self, names: Mapping[str, Array | float], shape: tuple[int, ...], rule: str) -> Array:
        """Returns the values (N, *shape) of the formula; raises AugenmerkError with the rule for others.

        The number 0 may be a vector or a matrix of zeros.
        """
        value = self.value(names)
        if value.ndim == 1 and not value.any():
            return np.zeros((len(value), *shape))
        if value.shape[1:] != shape:
            size = " of another size" if value.ndim == len(shape) + 1 else ""
            raise AugenmerkError(f"'{self.text}' is {_describe(value)}{size}; {rule}.")
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
            self.fail(token.at, f"'{token.text}' cannot be part of a formula")
        return token

    def take(self, reading: str | None = None) -> Token:
        """Moves to the next token and returns the one before, which is shown as itself or as `reading`."""
        token = self.token
        self.index += 1
        self.reading += token.text if reading is None else reading
        return token

    def fail(self, at: int, reason: str) -> NoReturn:
        _fail(self.text, at, reason)

    def parse(self) -> Node:
        tree = self.sum()
        if self.token.kind != "end":
            self.fail(self.token.at, f"'{self.token.text}' was not expected here")
        return tree

    def sum(self) -> Node:
        node = self.product()
        while self.token.text in ("+", "-"):
            sign = self.take(f" {self.token.text} ")
            node = Node(sign.text, sign.at, (node, self.product()))
        return node

    def product(self) -> Node:
        node, in_divisor = self.signed(self.power), False
        while True:
            kind, text, at = self.token
            if text in ("*", "·", "/"):
                self.take()
                in_divisor = text == "/"
                node = Node(text, at, (node, self.signed(self.power)))
            elif kind == "number":
                self.fail(at, f"a sign is missing before '{text}'")
            elif (
                kind in ("name", "fraction")
                or text in _CLOSERS
                or (kind == "bar" and self.closers[-1:] != ["|"])
            ):  # a product without a sign
                self.reading += "*"
                node = Node("*", at, (node, self.power()), in_doubt=in_divisor)
            else:
                return node

    def signed(self, operand: Callable[[], Node]) -> Node:
        signs = list[Token]()
        while self.token.text in ("+", "-"):
            signs.append(self.take())
            if len(signs) > MAX_DEPTH:
                self.fail(signs[-1].at, f"more than {MAX_DEPTH} signs are in a row")
        node = operand()
        for sign in reversed(signs):
            node = Node("sign", sign.at, (node,), sign.text)
        return node

    def power(self) -> Node:
        node = self.operand()
        if self.token.text == "^":
            node = Node("^", self.take().at, (node, self.signed(self.operand)))
            if self.token.text == "^":
                self.fail(self.token.at, "a power of a power can be read in two ways: put brackets")
        return node

    def operand(self) -> Node:
        kind, text, at = self.token
        following = self.tokens[self.index + 1] if kind == "name" else self.token
        if kind == "end":
            is_empty = not self.text[self.start :].strip()
            self.fail(at, "it is empty" if is_empty else "the formula ends too early")
        if kind == "number":
            node = self.number()
        elif kind == "fraction":
            node = self.fraction()
        elif text in _FUNCTIONS and following.text in _CLOSERS:
            self.take()
            node = self.brackets(text, at)
        elif text in _BARE and following.kind in ("name", "number") and following.text not in _BARE:
            self.take(f"{text}(")
            argument = self.number() if following.kind == "number" else self.name()
            self.reading += ")"
            node = Node("call", at, (argument,), text, in_brackets=True)
        elif kind == "name":
            node = self.name()
        elif text in _CLOSERS or kind == "bar":
            node = self.brackets("norm" if kind == "bar" else "", at)
        else:
            self.fail(at, f"a name or a number was expected, not '{text}'")
        while self.token.kind == "transpose":
            node = Node("transpose", self.take("^T").at, (node,))
        return node

    def number(self) -> Node:
        node = Node("number", self.token.at, value=float(self.token.text))
        if not np.isfinite(node.value):
            self.fail(node.at, f"'{self.token.text}' is too large")
        self.take(repr(node.value).removesuffix(".0"))
        return node

    def name(self) -> Node:
        name = self.take()
        # c(k_a) is a product, and so is alpha_1(k_a), but a longer name before a bracket is a function's.
        is_function = self.tokens[self.index].text == "(" and not FREE_NAME.fullmatch(name.text)
        return Node("name", name.at, value=name.text, is_function=is_function)

    def fraction(self) -> Node:
        r"""Reads `\frac{...}{...}`, or `\frac12`."""
        written = self.take("(")
        if digits := re.findall("[0-9]", written.text):
            parts = [Node("number", written.at, value=float(digit)) for digit in digits]
            self.reading += "/".join(digits)
        else:
            parts = []
            for separator in ("/", ""):
                if self.token.text != "{":
                    self.fail(written.at, "a fraction is written \\frac{...}{...}")
                parts.append(self.brackets("", self.token.at))
                self.reading += separator
        self.reading += ")"
        return Node("/", written.at, tuple(parts), in_brackets=True)

    def brackets(self, function: str, at: int) -> Node:
        """Reads what is in brackets or bars, with the arguments of a function if they are those of one."""
        is_norm, opened = self.token.kind == "bar", self.token.at
        closer = "|" if is_norm else _CLOSERS[self.token.text]
        self.take("norm(" if is_norm else "(")
        self.closers.append(closer)
        if len(self.closers) > MAX_DEPTH:
            self.fail(opened, f"more than {MAX_DEPTH} brackets are inside one another")
        parts = [self.sum()]
        while self.token.text == "," and function and not is_norm:
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
    found = [_evaluate(part, names, text) for part in node.parts]
    values = [value for value, _ in found]
    one, other = values[0], values[-1]
    if node.kind == "sign":
        return -one if node.value == "-" else one, ""
    if node.kind == "transpose":
        return one[:, None, :] if one.ndim == 2 else one.swapaxes(1, 2) if one.ndim == 3 else one, ""
    kind = "" if node.parts[0].in_brackets else found[0][1]
    fail = partial(_fail, text, node.at)
    if node.kind == "·" and kind == "dot" and other.ndim > 1:
        fail("x.y.z can be read in two ways: put brackets around a product of two")
    value = _call(node.value, values, fail) if node.kind == "call" else _operate(node.kind, one, other, fail)
    if not np.isfinite(value).reshape(len(value), -1).all(axis=1).any():
        fail(_NOT_FINITE, NotFiniteError)
    if node.kind in "*·":
        if node.in_doubt or kind == "quotient":
            # Nothing is divided by a vector: 1/2 k_a is half of k_a. But 1/2 c might be 1/(2 c).
            if other.ndim == 1 or value.ndim == 1:
                fail("a product after a division can be read in two ways: put brackets or *")
            return value, "quotient"
        if one.ndim == other.ndim == 2:
            return value, "dot"
    return value, ""


# The operations of linear algebra, on many instances at once. Besides their first axis a number has no other,
# a vector one, a matrix two; a transposed vector is a matrix of one row.

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "norm": lambda x: np.abs(x) if x.ndim == 1 else np.linalg.norm(x, axis=1),
    "dot": lambda x, y: (x * y).sum(axis=1),
    "outer": lambda x, y: x[:, :, None] * y[:, None, :],
    **{"sqrt": np.sqrt, "exp": np.exp, "ln": np.log, "log": np.log, "abs": np.abs},
}


def _describe(value: Array) -> str:
    transposed = value.ndim == 3 and value.shape[1] == 1
    return ("a number", "a vector", "a transposed vector" if transposed else "a matrix")[value.ndim - 1]


def _operate(sign: str, left: Array, right: Array, fail: Callable[[str], NoReturn]) -> Array:
    """Applies an operator; fails if it is not defined for these operands."""
    numbers = (left.ndim == 1) + (right.ndim == 1)
    if sign in "+-":
        if left.shape[1:] != right.shape[1:]:
            fail(f"{_describe(left)} and {_describe(right)} cannot be added or subtracted")
        return left + right if sign == "+" else left - right
    if sign == "/":
        if right.ndim > 1:
            fail(f"only a number can be below a division, not {_describe(right)}")
        return left / _widen(right, left.ndim)
    if sign == "^":
        if numbers < 2:
            fail(f"only numbers have powers, not {_describe(max(left, right, key=np.ndim))}")
        return np.power(left, right)
    if numbers:
        return _widen(left, right.ndim) * _widen(right, left.ndim)
    if left.ndim == right.ndim == 2:
        if sign == "·" and left.shape[1:] == right.shape[1:]:
            return np.asarray(_FUNCTIONS["dot"](left, right))
        fail(
            "a product of two vectors can be a number or a matrix: write x.y (or dot(x, y)) for the "
            "number, x*y^T (or outer(x, y)) for the matrix"
        )
    matrices = [value[:, :, None] if value.ndim == 2 else value for value in (left, right)]
    if matrices[0].shape[2] != matrices[1].shape[1]:
        fail(f"{_describe(left)} cannot be multiplied by {_describe(right)}")
    result = matrices[0] @ matrices[1]
    if result.shape[1:] == (1, 1):
        return np.asarray(result[:, 0, 0])
    return np.asarray(result[:, :, 0]) if right.ndim == 2 else result


def _widen(value: Array, ndim: int) -> Array:
    """Returns numbers (N) with the axes of the vectors or matrices that they multiply; others as they are."""
    return value.reshape(-1, *[1] * (ndim - 1)) if value.ndim == 1 else value


def _call(name: str, values: Sequence[Array], fail: Callable[[str], NoReturn]) -> Array:
    """Calls a function; fails if it is not defined for these arguments."""
    takes, axes = "a number", [value.ndim for value in values]
    fits = axes == [1]
    if name in ("dot", "outer"):
        takes, fits = "two vectors of one size", axes == [2, 2] and values[0].shape[1] == values[1].shape[1]
    elif name == "norm":
        takes, fits = "a vector", axes in ([1], [2])
    if not fits:
        fail(f"{name} takes {takes}, not {' and '.join(map(_describe, values))}")
    return np.asarray(_FUNCTIONS[name](*values), np.float64)
