r"""Reads the conditions that stand beside a formula: `c >> 0`, `for some large c`, `\lim_{\tau \to 0}`."""

import re

from augenmerk.theory.notation import GREEK, plain_name

Signs = frozenset[int]
"""How a letter may be: large (1), of any moderate size (0), or small (-1)."""
_LARGE, _NOT_SMALL = frozenset({1}), frozenset({0, 1})
_SMALL, _NOT_LARGE = frozenset({-1}), frozenset({0, -1})

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
_BOUND = rf"(?:[0-9.]+(?:\^[0-9]+)?|\\?sqrt\s*[({{]?\s*[dm]\s*[)}}]?|{LETTER})"
_RELATION = re.compile(
    rf"(?:0\s*<\s*)?(?P<letter>{LETTER})\s*(?:"
    rf"(?P<infinite>{_TO}\s*{_INFINITE}|=\s*{_INFINITE})(?![\w])"
    rf"|(?P<zero>{_TO}\s*(?:0\+?|zero|null)(?![\w.]))"
    rf"|(?P<far_above>(?:>>|≫|\\gg)\s*=?\s*{_BOUND})"
    rf"|(?P<far_below>(?:<<|≪|\\ll)\s*=?\s*{_BOUND})"
    rf"|(?:>|≥|\\geq?(?:slant)?)\s*=?\s*(?:(?P<positive>0(?:\.0*)?(?![\w.]))|(?P<above>{_BOUND}))"
    rf"|(?:<|≤|\\leq?(?:slant)?)\s*=?\s*(?P<below>(?=[0-9.]*[1-9])[0-9.]+|{LETTER})"
    r"|(?P<real>(?:∈|\\in)\s*(?:ℝ|\\?R\b|\\mathbb\s*(?:R|\{\s*R\s*\}))(?:[_^]?\{?(?:\+|>\s*0)\}?)?))",
    re.IGNORECASE,
)
_MEANS = {
    **{"infinite": _LARGE, "far_above": _LARGE, "zero": _SMALL, "far_below": _SMALL},
    **{"above": _NOT_SMALL, "below": _NOT_LARGE},
}
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
    letters, sizes = list[str](), set[Signs]()
    place = 0
    while place < len(text):
        if relation := _RELATION.match(text, place):
            for kind, own in _MEANS.items():
                if relation[kind]:
                    signs[plain_name(relation["letter"])] = own
            place = relation.end()
        elif word := _WORD.match(text, place):
            # `a` is an article here rather than a letter, if another word follows.
            if word["letter"] and not re.match(r"a\s+[a-z]", text[place:], re.IGNORECASE):
                letters.append(plain_name(word["letter"]))
            sizes |= {_LARGE} if word["large"] else {_SMALL} if word["small"] else set()
            place = word.end()
        else:
            return None
    if len(sizes) > 1:
        return None
    return {letter: own for own in sizes for letter in letters} | signs
