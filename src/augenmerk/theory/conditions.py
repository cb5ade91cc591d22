r"""Reads the conditions that stand beside a formula: `c >> 0`, `for some large c`, `\lim_{\tau \to 0}`."""

import re

from augenmerk.theory.notation import GREEK, plain_name

Signs = frozenset[int]
"""How a letter may be: large (1), of any moderate size (0), or small (-1)."""
_LARGE, _NOT_SMALL = frozenset({1}), frozenset({0, 1})
_SMALL, _NOT_LARGE = frozenset({-1}), frozenset({0, -1})
_ANY = frozenset({-1, 0, 1})

FREE_NAME = re.compile(rf"(?:[A-Za-z]|{'|'.join(GREEK.values())})(?:[0-9]+|_\w+)?|scale|const|infinity")
"""The names that a number of the reader's choice may have."""
LETTER = (
    rf"(?:[A-Za-z]|\\?(?:var)?(?:{'|'.join(GREEK.values())})|[{''.join(GREEK)}])(?![A-Za-z])"
    r"(?:_?(?:[A-Za-z0-9]\b|\{[A-Za-z0-9]+\}|[₀-₉]))?(?:'(?![A-Za-z]))?"
)
_INFINITE = r"\+?\s*(?:∞|\\infty|infinity|inf|unendlich)"
_TO = (
    r"(?:->|→|\\to|\\rightarrow|(?:goes|tends)\s+(?:to|towards)"
    r"|(?:(?:geht|strebt)\s+)?gegen)"
)
_NUMBER = r"[0-9.]+(?:e[+-]?[0-9]+|\^[0-9]+)?"
_BOUND = rf"(?:{_NUMBER}|\\?sqrt\s*[({{]?\s*[dm]\s*[)}}]?|[dmB](?![A-Za-z_])|(?P<other>{LETTER}))"
LARGEST_BOUND = 10.0
"""A larger number says little about a letter that is below it."""
_RELATION = re.compile(
    rf"(?:0\s*<\s*)?(?P<letter>{LETTER})\s*(?:"
    rf"(?P<infinite>{_TO}\s*{_INFINITE}|=\s*{_INFINITE})(?![\w])"
    rf"|(?P<zero>{_TO}\s*(?:0\+?|zero|null)(?![\w.]))"
    rf"|(?:(?P<far_above>>>|≫|\\gg)|(?P<far_below><<|≪|\\ll)"
    r"|(?P<above>>|≥|\\geq?(?:slant)?)|(?P<below><|≤|\\leq?(?:slant)?))"
    rf"\s*=?\s*(?P<bound>{_BOUND})(?![\w.^])"
    r"|(?P<real>(?:∈|\\in)\s*(?:ℝ|\\?R\b|\\mathbb\s*(?:R|\{\s*R\s*\}))(?:[_^]?\{?(?:\+|>\s*0)\}?)?))",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"(?P<large>large|larger|big|huge|gro(?:ß|ss)(?:e[nrs]?)?)\b|(?P<small>small|tiny|klein(?:e[nrs]?)?)\b"
    r"|(?:is|are|be|sei|an|some|very|sufficiently|arbitrarily|enough|real|positive|constants?|numbers?|scalars?|"
    r"scale|factor|ist|sind|eine?|einer|sehr|genügend|hinreichend|genug|beliebig|reell|positiv|konstante|"
    rf"zahl|skalar|faktor)\b|(?P<letter>{LETTER})|[\s,.:(){{}}]+|\\text\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    rf"\\?\blim(?:its)?\s*_?\s*(?P<brace>[{{(])?\s*(?P<what>{LETTER}\s*{_TO}\s*(?:{_INFINITE}|0\+?))\s*"
    r"(?(brace)[)}])",
    re.IGNORECASE,
)


def find_limits(text: str) -> tuple[str, list[str]]:
    r"""Returns a text with spaces for each `\lim_{c \to \infty}`, and what they say as conditions."""
    limits = [match["what"] for match in _LIMIT.finditer(text)]
    return _LIMIT.sub(lambda match: " " * len(match[0]), text), limits


def read_condition(text: str) -> dict[str, Signs] | None:
    """Returns what a condition says about the sizes of letters; None if it may say anything else.

    That a number is positive, real or a constant says nothing, since every letter is taken to be that.
    """
    signs: dict[str, Signs] = {}
    letters, sizes, related = list[str](), set[Signs](), list[str]()
    place = last_letter = 0
    while place < len(text):
        if relation := _RELATION.match(text, place):
            own = _read_relation(relation)
            if own is None or (letters and not text[last_letter:place].strip()):  # of a product, `s t < 1`
                return None
            related.append(plain_name(relation["letter"]))
            signs[related[-1]] = signs.get(related[-1], _ANY) & own
            place = relation.end()
        elif word := _WORD.match(text, place):
            # `a` is an article here rather than a letter, if another word follows.
            if word["letter"] and not re.match(r"a\s+[a-z]", text[place:], re.IGNORECASE):
                letters.append(plain_name(word["letter"]))
                last_letter = word.end()
            sizes |= {_LARGE} if word["large"] else {_SMALL} if word["small"] else set()
            place = word.end()
        else:
            return None
    if len(sizes) > 1:
        return None
    for letter in letters or related:
        for own in sizes:
            signs[letter] = signs.get(letter, _ANY) & own
    signs = {letter: own for letter, own in signs.items() if own != _ANY}
    return signs if all(signs.values()) else None


def _read_relation(relation: re.Match[str]) -> Signs | None:
    """Returns what one relation says about its letter; None if it may say anything else."""
    if relation["infinite"]:
        return _LARGE
    if relation["zero"]:
        return _SMALL
    if relation["real"]:
        return _ANY
    if relation["other"]:  # sizes are tried independently
        return None
    bound = _read_number(relation["bound"])
    if relation["above"] or relation["far_above"]:
        return _LARGE if relation["far_above"] else _ANY if bound == 0 else _NOT_SMALL
    if bound is None or not 0 < bound <= LARGEST_BOUND:
        return None
    return _SMALL if relation["far_below"] else _NOT_LARGE


def _read_number(text: str) -> float | None:
    base, _, power = text.partition("^")
    try:
        return float(float(base) ** float(power or 1))
    except (ValueError, OverflowError):
        return None
