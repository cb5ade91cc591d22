r"""Splits a formula into tokens, in any of the notations that people use at a keyboard.

`c*(k_a + k_b)`, `c(ka + kb)`, `λ_a·μ_a`, `\frac{1}{2}\left(\mathbf{k}_a + \vec{k}_{b}\right)` and
`||u_b||^2 u_b @ u_c.T` all become the same few kinds of token, each with its index in the text.
"""

import re
from collections.abc import Iterator, Set
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
"""The name of a number beyond all bounds: `\\infty`, `∞` or `inf`."""
PRIME = "_prime"
"""The ending of the name of a letter with a prime, since a name has no apostrophe in it."""
FREE_NAME = re.compile(rf"(?:[A-Za-z]|{'|'.join(GREEK.values())})(?:[0-9]+|_\w+)?|scale|const|infinity")
"""The names that a number of the reader's choice may have."""

_FONT = r"\\(?:vec|mathbf|boldsymbol|bm|mathrm|mathit|mathsf|bf|text|operatorname|overrightarrow)(?![A-Za-z])"
_MACRO = rf"\\(?:var)?(?:{'|'.join(GREEK.values())}|sqrt|exp|ln|log|norm|abs|infty)(?![A-Za-z])"
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
    r"|(?P<fraction>\\[dt]?frac(?![A-Za-z])(?:\s*[0-9]\s*[0-9])?)"
    r"|(?P<bar>(?:\\\||\\[lr]?[Vv]ert(?![A-Za-z])|‖|\|\|?)(?:_(?:2|\{2\}))?)"
    r"|(?P<sign>\*\*|[-+*/^(),{}@·×⋅∗−–²]|\\(?:cdot|times|ast|div)(?![A-Za-z])"
    rf"|\.(?=\s*[A-Za-z\\(|‖{''.join(GREEK)}]))"
    rf"|(?P<name>√|{_NAME})|(?P<other>\\[A-Za-z]+|\S)"
)
_ALIKE = {
    **dict.fromkeys(("×", "∗", "\\times", "\\ast"), "*"),
    **dict.fromkeys(("@", "⋅", ".", "\\cdot"), "·"),  # of two vectors, a dot product
    **{"**": "^", "−": "-", "–": "-", "\\div": "/", "½": "0.5"},
}


class Token(NamedTuple):
    kind: str
    """number, name, sign, transpose, fraction (`\\frac`, or `\\frac12`), bar (of a norm), or other."""
    text: str
    at: int  # its index in the text


def tokens(text: str, start: int, known: Set[str]) -> Iterator[Token]:
    """Yields the tokens of a formula; `known` are the names that `ka`, or `ck_a` for two, may mean.

    A prime is the transpose in a task about matrices, as in MATLAB; in others it changes no known name.
    """
    for match in _TOKEN.finditer(text, start):
        kind, written, at = match.lastgroup or "other", match[0], match.start()
        if kind == "name":
            name = plain_name(written)
            bare = name.removesuffix(PRIME)
            names = _split_name(bare, known)
            is_known = names[-1] in known and (len(names[-1]) > 1 or names[-1] == "I")
            if bare != name and not is_known:  # c' is another number than c
                names[-1] += PRIME
            yield from (Token(kind, each, at) for each in names)
            if bare != name and is_known and "I" in known:
                yield Token("transpose", "'", at)
        elif written == "²":
            yield from (Token("sign", "^", at), Token("number", "2", at))
        elif kind != "space":
            yield Token(kind, written if kind == "other" else _ALIKE.get(written, written), at)


def plain_name(written: str) -> str:
    r"""Returns a name without its LaTeX: `\mathbf{k}_{a}` and `k_a` are k_a, `\mu_b` and `μ_b` mu_b.

    A prime comes last: `k'_a` and `k_a^\prime` are k_a_prime.
    """
    if written == "√":
        return "sqrt"
    unprimed = re.sub(_PRIME, "", written)
    if unprimed != written:
        return plain_name(unprimed) + PRIME
    bare = re.sub(rf"{_FONT}|[\\{{}}\s]", "", written)
    if bare in ("∞", "infty", "inf", "Inf"):
        return INFINITY
    if subscript := "".join(_SUBSCRIPTS.get(character, "") for character in bare):
        bare = bare.rstrip("".join(_SUBSCRIPTS)) + f"_{subscript}"
    for letter, name in GREEK.items():
        bare = bare.replace(letter, name)
    return bare.removeprefix("var") if written.startswith("\\var") else bare


def _split_name(name: str, known: Set[str]) -> list[str]:
    """Returns the known names that a name is short for: k_a for `ka`, c and k_a for `ck_a`."""
    short = {each.replace("_", ""): each for each in known if "_" in each}
    rest = name[1:]
    if name in known or name in short:
        return [name if name in known else short[name]]
    if name[0].isalpha() and (rest in short or rest in short.values()):
        return [name[0], short.get(rest, rest)]
    return [name]
