r"""Splits a reader's formula into tokens, in any of the notations that people use at a keyboard.

`c*(k_a + k_b)`, `c(ka + kb)`, `λ_a·μ_a`, `\frac{1}{2}\left(\mathbf{k}_a + \vec{k}_{b}\right)` and
`||u_b||^2 u_b @ u_c.T` all become the same few kinds of token, each with its place in the text.
"""

import re
from collections.abc import Iterator, Set
from itertools import zip_longest
from typing import NamedTuple

GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau "
        "upsilon phi chi psi omega".split(),
        strict=True,
    )
) | {"ϵ": "epsilon", "ς": "sigma", "µ": "mu"}  # the last one is the micro sign of many keyboards
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐⱼ", "0123456789aj", strict=True))
INFINITY = "infinity"
"""The name of what is written as a number beyond all bounds: `\\infty`, `∞` or `inf`."""
PRIME = "_prime"
"""Ends the name of a letter with a prime, since a name has no apostrophe in it."""
_FUNCTIONS = ("sqrt", "exp", "ln", "log")
"""The functions whose argument may stand without brackets: `√d`, `\\ln m`."""

_FONT = r"\\(?:vec|mathbf|boldsymbol|bm|mathrm|mathit|mathsf|bf|text|operatorname|overrightarrow)(?![A-Za-z])"
_MACRO = rf"\\(?:var)?(?:{'|'.join([*GREEK.values(), *_FUNCTIONS, 'norm', 'abs', 'infty'])})(?![A-Za-z])"
_PRIME = r"(?:\s*(?:['′’]|\^\s*(?:\\prime|\{\s*\\prime\s*\})))"
_INDEX = r"_(?:[A-Za-z0-9]+|\{\s*[A-Za-z0-9]+\s*\})"
_NAME = (
    rf"(?:{_FONT}\s*(?P<braced>\{{)?\s*)?"
    rf"(?:(?:{_MACRO}|[∞{''.join(GREEK)}])(?:_[A-Za-z0-9]+)?|[A-Za-z_][A-Za-z0-9_]*)"
    rf"(?:(?<=_)\{{\s*[A-Za-z0-9]+\s*\}}|{_INDEX})?"
    rf"(?(braced)\s*\}}(?:{_INDEX})?)[{''.join(_SUBSCRIPTS)}]*(?:{_PRIME}(?:{_INDEX})?)?"
)
NAME = re.compile(_NAME)
_T = r"(?:\\top|\\intercal|\\(?:mathrm|mathsf|text)\s*(?:\{\s*T\s*\}|T)|[T⊤])"
_TOKEN = re.compile(
    r"(?P<space>\s|~|&|\\[,;:!> ]"
    r"|\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|quad|qquad)(?![A-Za-z]))"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|½)"
    rf"|(?P<transpose>\^\s*(?:\{{\s*{_T}\s*\}}|{_T})(?![A-Za-z0-9_])|ᵀ|\.T(?![A-Za-z0-9_]))"
    r"|(?P<fraction>\\[dt]?frac\s*(?P<digits>[0-9]\s*[0-9]|\{))"
    r"|(?P<bar>(?:\\\||\\[lr]?[Vv]ert(?![A-Za-z])|‖|\|\|?)(?:_(?:2|\{2\}))?)"
    r"|(?P<sign>\*\*|[-+*/^(),{}@·×⋅∗−–²]|\\(?:cdot|times|ast|div)(?![A-Za-z])"
    rf"|\.(?=\s*[A-Za-z\\(|‖{''.join(GREEK)}]))"
    rf"|(?P<name>√|{_NAME})|(?P<other>\\[A-Za-z]+|\S)"
)
_SIGNS = {
    **dict.fromkeys(("×", "∗", "\\times", "\\ast"), "*"),
    **dict.fromkeys(("@", "⋅", ".", "\\cdot"), "·"),  # of two vectors, a dot product
    **{"**": "^", "−": "-", "–": "-", "\\div": "/"},
}


class Token(NamedTuple):
    kind: str
    """number, name, sign, transpose, fraction (`\\frac{`), bar (of a norm), or other."""
    text: str
    place: int


def tokens(text: str, start: int, known: Set[str]) -> Iterator[Token]:
    """Yields the tokens of a formula; `known` are the names that `ka`, or `ck_a` for two, may stand for.

    A fraction becomes a division in brackets; one that is incomplete is left over as a token. A prime is the
    transpose in a task about matrices, as in MATLAB, and otherwise a mark that leaves a known name as it is.
    """
    braces: list[str] = []
    denominator_follows = -1  # the place of the fraction whose denominator has to follow
    for token in _bracket_arguments(list(_split(text, start, known))):
        kind, sign, place = token
        if denominator_follows >= 0 and sign != "{":
            yield Token("fraction", sign, denominator_follows)
        if kind == "fraction":
            braces.append("numerator")
            yield from (Token("sign", "(", place), Token("sign", "{", place))
            continue
        yield token
        if sign == "{":
            braces.append("group" if denominator_follows < 0 else "denominator")
        closed = braces.pop() if sign == "}" and braces else ""
        denominator_follows = place if closed == "numerator" else -1
        if closed == "numerator":
            yield Token("sign", "/", place)
        elif closed == "denominator":
            yield Token("sign", ")", place)


def _bracket_arguments(found: list[Token]) -> Iterator[Token]:
    """Puts brackets around an argument that is a single name or number, as in `√d`."""
    is_argument = False
    for token, following in zip_longest(found, found[1:]):
        if is_argument:
            yield from (Token("sign", "(", token.place), token, Token("sign", ")", token.place))
        else:
            yield token
        is_argument = (
            not is_argument
            and token.kind == "name"
            and token.text in _FUNCTIONS
            and following is not None
            and following.kind in ("name", "number")
            and following.text not in _FUNCTIONS
        )


def _split(text: str, start: int, known: Set[str]) -> Iterator[Token]:
    for match in _TOKEN.finditer(text, start):
        kind, token, place = _kind(match), match[0], match.start()
        if kind == "space":
            continue
        if kind == "name":
            name = plain_name(token)
            bare = name.removesuffix(PRIME)
            names = _split_name(bare, known)
            is_known = names[-1] in known and (len(names[-1]) > 1 or names[-1] == "I")
            if bare != name and not is_known:  # c' is another number than c
                names[-1] += PRIME
            yield from (Token(kind, each, place) for each in names)
            if bare != name and is_known and "I" in known:
                yield Token("transpose", "'", place)
        elif token == "²":
            yield from (Token("sign", "^", place), Token("number", "2", place))
        elif kind == "fraction" and match["digits"] != "{":
            yield from (Token("sign", "(", place), Token("number", match["digits"][0], place))
            yield from (Token("sign", "/", place), Token("number", match["digits"][-1], place))
            yield Token("sign", ")", place)
        elif token == "½":
            yield Token(kind, "0.5", place)
        else:
            yield Token(kind, _SIGNS.get(token, token) if kind == "sign" else token, place)


def _kind(match: re.Match[str]) -> str:
    kinds = ("space", "number", "transpose", "fraction", "bar", "sign", "name")
    return next((kind for kind in kinds if match[kind] is not None), "other")


def plain_name(token: str) -> str:
    r"""Returns a name without its LaTeX: `\mathbf{k}_{a}` and `k_a` are k_a, `\mu_b` and `μ_b` mu_b.

    A prime comes last: `k'_a` and `k_a^\prime` are k_a_prime.
    """
    if token == "√":
        return "sqrt"
    unprimed = re.sub(_PRIME, "", token)
    if unprimed != token:
        return plain_name(unprimed) + PRIME
    bare = re.sub(rf"{_FONT}|[\\{{}}\s]", "", token)
    if bare in ("∞", "infty", "inf", "Inf"):
        return INFINITY
    subscript = "".join(_SUBSCRIPTS.get(character, "") for character in bare)
    if subscript:
        bare = bare.rstrip("".join(_SUBSCRIPTS)) + f"_{subscript}"
    for letter, name in GREEK.items():
        bare = bare.replace(letter, name)
    return bare.removeprefix("var") if token.startswith("\\var") else bare


def _split_name(name: str, known: Set[str]) -> list[str]:
    """Returns the known names that a name stands for: k_a for `ka`, c and k_a for `ck_a`."""
    if name in known:
        return [name]
    short = {each.replace("_", ""): each for each in known if "_" in each}
    if name in short:
        return [short[name]]
    rest = name[1:]
    if name[0].isalpha() and (rest in short or rest in short.values()):
        return [name[0], short.get(rest, rest)]
    return [name]
