"""A reader's formula, such as `c*(k_a + k_b)/norm(k_a)`, read and computed without ever being executed.

    sum      product (("+" | "-") product)*
    product  signed (("*" | "/") signed)*
    signed   ("-" | "+") signed | power
    power    atom ("^" ("T" | "-"? atom))*
    atom     number | name | name "(" sum ("," sum)* ")" | "(" sum ")"

Names stand for what the task gives: numbers, vectors, matrices. Products are those of linear algebra:
`u_b*u_c^T` is a matrix, `u_b^T*u_c` a number. Whatever cannot be read or computed is refused with a sentence
that points at the character.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from augenmerk.errors import AugenmerkError
from augenmerk.theory.operations import FUNCTIONS, OPERATIONS, TAKES_TWO, UnfitError, Value

LONGEST = 500
DEEPEST = 40
"""Brackets and signs within one another."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-zλμαβ_][A-Za-z0-9λμαβ_]*)|(?P<sign>\*\*|[-+*/^(),]))"
)
_OTHER_SPELLINGS = {"λ": "lambda", "μ": "mu", "α": "alpha", "β": "beta"}
_OTHER_SIGNS = str.maketrans({"·": "*", "×": "*", "−": "-", "⊤": "T"})


@dataclass(frozen=True)
class Node:
    """A part of an expression, with the place of the character that it is about."""

    kind: str  # number, name, call, transpose, negative, or the sign of an operation
    place: int
    text: str = ""
    parts: "tuple[Node, ...]" = ()


class Expression:
    """Read once, computed for many instances of a task.

    `start` is where the formula begins in the text, as behind `q =`: places are counted from the beginning
    of what was typed.
    """

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.tree = _Parser(text, start).whole()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(node.text for node in _walk(self.tree) if node.kind == "name")

    def check_names(self, known: Mapping[str, object] | frozenset[str]) -> None:
        """Refuses names that the task does not have."""
        for node in _walk(self.tree):
            if node.kind == "name" and node.text not in known:
                there = ", ".join(sorted(known))
                _refuse(self.text, node.place, f"there is no '{node.text}' in this task; there are {there}")

    def value(self, names: Mapping[str, Value | float]) -> Value:
        """What it comes to, where the names stand for these."""
        self.check_names(names)
        with np.errstate(all="ignore"):  # what is not finite is refused by name
            return self._compute(self.tree, names)

    def _compute(self, node: Node, names: Mapping[str, Value | float]) -> Value:
        if node.kind == "number":
            return np.asarray(float(node.text))
        if node.kind == "name":
            return np.asarray(names[node.text], np.float64)
        parts = [self._compute(part, names) for part in node.parts]
        operation = FUNCTIONS[node.text] if node.kind == "call" else OPERATIONS[node.kind]
        try:
            result = np.asarray(operation(*parts), np.float64)
        except UnfitError as reason:
            _refuse(self.text, node.place, str(reason))
        if not np.all(np.isfinite(result)):
            _refuse(self.text, node.place, _why_not_finite(node, parts, result))
        return result


def _why_not_finite(node: Node, parts: Sequence[Value], result: Value) -> str:
    if node.kind == "/" and not np.any(parts[1]):
        return "this is a division by zero"
    if node.kind == "^" and not np.any(parts[0]):
        return "this is a negative power of zero, a division by zero"
    if node.kind == "call" and (np.any(np.isnan(result)) or np.all(np.isneginf(result))):
        return f"there is no {node.text} of {float(parts[0]):g}"
    if np.any(np.isnan(result)) and node.kind == "^":
        return "there is no such power of a negative number"
    return "this is too large for a number"


def _walk(node: Node) -> list[Node]:
    return [node, *(inner for part in node.parts for inner in _walk(part))]


def _refuse(text: str, place: int, reason: str) -> NoReturn:
    """Points at the character: by its number, and by itself with a mark in front."""
    shown = f"{text[:place]}▸{text[place:]}" if len(text) <= LONGEST else f"{text[:20]}..."
    sentence = f"'{shown}', character {place + 1}: {reason}."
    raise AugenmerkError("".join(character if character.isprintable() else " " for character in sentence))


class _Parser:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        if len(text) > LONGEST:
            _refuse(text, LONGEST, f"an expression has at most {LONGEST} characters, this one {len(text)}")
        self.tokens = self._tokens()
        self.next = 0
        self.depth = 0

    def _tokens(self) -> list[tuple[str, str, int]]:
        """(kind, text, place) of each, and an end."""
        plain = self.text.translate(_OTHER_SIGNS)  # character by character: places stay
        tokens, place = [], self.start
        while plain[place:].strip():
            match = _TOKEN.match(plain, place)
            if match is None:
                place += len(plain[place:]) - len(plain[place:].lstrip())
                _refuse(self.text, place, f"'{self.text[place]}' has no place in an expression")
            kind = str(match.lastgroup)
            found = match[kind]
            if kind == "name":
                for letter, name in _OTHER_SPELLINGS.items():
                    found = found.replace(letter, name)
            tokens.append((kind, "^" if found == "**" else found, match.start(kind)))
            place = match.end()
        return [*tokens, ("end", "", len(self.text.rstrip()))]

    def whole(self) -> Node:
        node = self._sum()
        kind, found, place = self.tokens[self.next]
        if kind in ("name", "number") or found == "(":
            _refuse(self.text, place, f"a sign is missing before '{found}' (a product needs its *)")
        if kind != "end":
            _refuse(self.text, place, f"'{found}' was not expected here")
        return node

    def _take(self, *signs: str) -> tuple[str, int] | None:
        kind, found, place = self.tokens[self.next]
        if kind != "sign" or found not in signs:
            return None
        self.next += 1
        return found, place

    def _sum(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            _refuse(self.text, self.tokens[self.next][2], f"more than {DEEPEST} brackets inside one another")
        node = self._product()
        while taken := self._take("+", "-"):
            node = Node(taken[0], taken[1], parts=(node, self._product()))
        self.depth -= 1
        return node

    def _product(self) -> Node:
        node = self._signed()
        while taken := self._take("*", "/"):
            node = Node(taken[0], taken[1], parts=(node, self._signed()))
        return node

    def _signed(self) -> Node:
        taken = self._take("-", "+")
        if taken is None:
            return self._power()
        self.depth += 1
        if self.depth > DEEPEST:
            _refuse(self.text, taken[1], f"more than {DEEPEST} signs before one another")
        node = self._signed()
        self.depth -= 1
        return node if taken[0] == "+" else Node("negative", taken[1], parts=(node,))

    def _power(self) -> Node:
        node = self._atom()
        while taken := self._take("^"):
            if self.tokens[self.next][:2] == ("name", "T"):
                self.next += 1
                node = Node("transpose", taken[1], parts=(node,))
            elif node.kind == "^":
                _refuse(self.text, taken[1], "a power of a power can be read in two ways: put brackets")
            else:
                node = Node("^", taken[1], parts=(node, self._exponent()))
        return node

    def _exponent(self) -> Node:
        taken = self._take("-")
        node = self._atom()
        return Node("negative", taken[1], parts=(node,)) if taken else node

    def _atom(self) -> Node:
        kind, found, place = self.tokens[self.next]
        if kind == "end":
            _refuse(
                self.text,
                place,
                "the expression ends too early" if self.text[self.start :].strip() else "it is empty",
            )
        self.next += 1
        if kind == "number":
            if not np.isfinite(float(found)):
                _refuse(self.text, place, f"'{found}' is too large")
            return Node("number", place, found)
        if kind == "name":
            if self.tokens[self.next][:2] == ("sign", "("):
                return self._call(found, place)
            return Node("name", place, found)
        if found != "(":
            _refuse(self.text, place, f"a name or a number was expected, not '{found}'")
        node = self._sum()
        self._close(place)
        return node

    def _call(self, name: str, place: int) -> Node:
        if name not in FUNCTIONS:
            _refuse(
                self.text, place, f"there is no function '{name}'; there are {', '.join(sorted(FUNCTIONS))}"
            )
        opened = self.tokens[self.next][2]
        self.next += 1
        parts = [self._sum()]
        while self._take(","):
            parts.append(self._sum())
        self._close(opened)
        takes = 2 if name in TAKES_TWO else 1
        if len(parts) != takes:
            _refuse(self.text, place, f"{name} takes {takes}, not {len(parts)}")
        return Node("call", place, name, tuple(parts))

    def _close(self, opened: int) -> None:
        if self._take(")") is None:
            place = self.tokens[self.next][2]
            _refuse(self.text, place, f"the bracket of character {opened + 1} is not closed")
