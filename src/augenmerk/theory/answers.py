r"""Reads answers as people write them: several in one text, with names before and conditions after them.

`q_1 = c mu_a, q_2 = c mu_b, where c >> 0` is two formulas and a condition. A letter that the task does not
have is a number of the reader's choice. A condition such as `c >> 0`, `for some large c` or
`\lim_{\tau \to 0}` may ask that it is large or small, or define it. Any other word is an error, because there
may be a `not` in the text: what is not understood is never guessed at.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.attention import Array
from augenmerk.theory.exercises import Exercise
from augenmerk.theory.expressions import Expression
from augenmerk.theory.notation import FREE_NAME, GREEK, INFINITY, NAME, PRIME, plain_name, tokens

MAX_TEXT = 2000  # the most characters in an answer, before anything is looked for in it
MAX_LETTERS = 4  # the most letters whose sizes are tried independently
SCALES = frozenset({"c", "t"})
"""Letters that every task offers for a number of the reader's choice."""
NOISE = frozenset({"alpha", "beta"})
"""Variances in 1.3 to 1.5, and also letters that many people take for a scale."""

_MATHEMATICS = re.compile(
    r"\$|(?<!\\)\\[()\[\],;:>! ]|\\(?:begin|end)\s*\{[a-z]+\*?\}|&|\\q?quad(?![A-Za-z])"
)
"""What sets a formula without meaning anything; a thin space such as `\\,` must not be taken for a comma."""
_STYLED_LETTER = re.compile("[\U0001d400-\U0001d7ff\u210e]")
"""The italic, bold, ... letters of Unicode, each a form of an ordinary one; \u210e is the italic h."""
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
"""The comma of 0,5; one between formulas has a letter or a space beside it."""
_THOUSANDS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:,\d{3}|\.000)(?![\d.,])")
"""A number that is a thousand times as large in English as in German, or the other way round."""
_SEPARATOR = re.compile(
    r"[()\[\]{}]|[;,\n]|\\\\|(?<=[^\s\d])\.(?=\s)|\.(?=\s*$|\s+(?-i:[A-ZÄÖÜ])[a-zäöü])"
    r"|(?:\\text\s*\{\s*)?\b(?:and|where|with|for|when|if|as|such that|und|wobei|mit|für|wenn)\b(?:\s*\})?",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\s*(?:(?:the|my|our|query|answer|solution|should|would|must|be|is|let|take|choose|use|set|so|then|thus|"
    r"hence|therefore|die|meine|anfrage|antwort|lösung|ist|lautet|wähle|setze|also)\b[\s:]*)+",
    re.IGNORECASE,
)
"""Words before a formula that mean no more than that it is the answer."""
_STATEMENT = re.compile(
    r"(?:^|[;,.\n]|\b(?:and|und)\b)\s*(?:(?i:statement|option|answer|aussage|antwort)\s*(?:[:=]|is|ist)?\s*"
    r"\(?(?P<named>[A-Ha-h])\)?|\(?(?P<alone>[A-H])\)?)[\s.]*$"
)
"""The letter of a statement at the end of an answer; a small letter alone may be a number."""
_EQUALS = re.compile(r"\s*(?::?=|≈|\\approx)")

Signs = frozenset[int]
"""How a letter may be: large (1), of any moderate size (0), or small (-1)."""
_LARGE, _SMALL, _ANY = frozenset({1}), frozenset({-1}), frozenset({-1, 0, 1})
MAX_BOUND = 10.0
"""The largest bound that makes a letter small: to be below a larger number means little."""
_LETTER = (
    rf"(?:[A-Za-z]|\\?(?:var)?(?:{'|'.join(GREEK.values())})|[{''.join(GREEK)}])(?![A-Za-z])"
    r"(?:_?(?:[A-Za-z0-9]\b|\{[A-Za-z0-9]+\}|[₀-₉]))?(?:'(?![A-Za-z]))?"
)
_INFINITE = r"\+?\s*(?:∞|\\infty|infinity|inf|unendlich)"
_TO = r"(?:->|→|\\to|\\rightarrow|(?:goes|tends)\s+(?:to|towards)|(?:(?:geht|strebt)\s+)?gegen)"
_BOUND = (
    r"(?:[0-9.]+(?:e[+-]?[0-9]+|\^[0-9]+)?|\\?sqrt\s*[({]?\s*[dm]\s*[)}]?|[dmB](?![A-Za-z_])"
    rf"|(?P<other>{_LETTER}))"
)
_RELATION = re.compile(
    rf"(?:0\s*<\s*)?(?P<letter>{_LETTER})\s*(?:"
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
    rf"zahl|skalar|faktor)\b|(?P<letter>{_LETTER})|[\s,.:(){{}}]+|\\text\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    rf"\\?\blim(?:its)?\s*_?\s*(?P<brace>[{{(])?\s*(?P<what>{_LETTER}\s*{_TO}\s*(?:{_INFINITE}|0\+?))\s*"
    r"(?(brace)[)}])",
    re.IGNORECASE,
)


class Formula(NamedTuple):
    name: str  # what is written before `=`, or nothing
    text: str
    start: int  # where the formula begins in the text


@dataclass(frozen=True)
class Answers:
    expressions: tuple[Expression, ...]  # in the order in which the task asks for them
    definitions: Mapping[str, Expression]  # of letters; each uses only those before it
    letters: tuple[str, ...]  # the letters whose values the reader may choose, in the order of the text
    signs: Mapping[str, Signs]  # whether a letter may be large (1), of any size (0) or small (-1)
    remarks: tuple[str, ...]  # how the text was understood, where that is not obvious
    incomplete: str = ""  # why this is not an answer, if there are too few formulas
    statement: str = ""  # the letter of the statement that was chosen, if the task has some

    @property
    def has_fixed_scale(self) -> bool:
        """Whether the answer has a factor without a free number in it, such as 100 or sqrt(d)."""
        parts = (*self.expressions, *self.definitions.values())
        sizes = any(n > 2 or 0 < n < 0.1 for each in parts for n in each.constants)
        return not self.letters and (sizes or not self.uses.isdisjoint(("d", "m", "e", "beta")))

    @property
    def uses(self) -> frozenset[str]:
        """The names in the formulas and the definitions."""
        return frozenset(n for each in (*self.expressions, *self.definitions.values()) for n in each.names)

    def values(self, names: Mapping[str, Array | float], shape: tuple[int, ...], rule: str) -> list[Array]:
        """Returns the values of the formulas, as `Expression.value_of_shape` does."""
        known = dict(names)
        for name, definition in self.definitions.items():
            known[name] = definition.value(known)
        return [each.value_of_shape(known, shape, rule) for each in self.expressions]


def split_answers(
    texts: Sequence[str], expected: Set[str], known: Set[str]
) -> tuple[list[Formula], list[str]]:
    """Splits texts into formulas and the conditions around them, such as `c >> 0`.

    What names one of the `expected` or mentions a vector of the task is a formula; the rest is a condition if
    there is a formula beside it. `q_1 = q_2 = c k_a` is two formulas. Raises AugenmerkError if a text is too
    long, or has a number that can be read in two ways.
    """
    vectors = _vectors(known)
    formulas, conditions = list[Formula](), list[str]()

    def is_formula(part: str) -> bool:
        if names := _split_off_names(part)[0]:
            return names[0] in expected
        return part.strip(" .") == "0" or any(token.text in vectors for token in tokens(part, 0, known))

    for text in texts:
        if len(text) > MAX_TEXT:
            raise AugenmerkError(f"An answer has at most {MAX_TEXT:,} characters, this one {len(text):,}.")
        text = _STYLED_LETTER.sub(lambda letter: unicodedata.normalize("NFKC", letter[0]), text)
        if number := _THOUSANDS.search(text):
            raise AugenmerkError(
                f"'{number[0]}' is one number in English and another in German: write it without the sign."
            )
        text = _DECIMAL_COMMA.sub(".", text)
        conditions += [limit["what"] for limit in _LIMIT.finditer(text)]
        # Replaced by as many spaces, so that all characters keep their index.
        for pattern in (_LIMIT, _MATHEMATICS):
            text = pattern.sub(lambda found: " " * len(found[0]), text)
        parts = _split_outside_brackets(text)
        own = [part for part in parts if is_formula(part)]
        for part in own or [text]:
            names, start = _split_off_names(part)
            formulas += [Formula(name, part, start) for name in names or [""]]
        if own:
            conditions += [part.strip() for part in parts if part not in own and part.strip()]
    return formulas, conditions


def _split_outside_brackets(text: str) -> list[str]:
    """Returns the parts of a text between separators, with spaces for the words before a formula."""
    parts, depth, begin = [], 0, 0
    for match in _SEPARATOR.finditer(text):
        if match[0] in ("(", "[", "{"):
            depth += 1
        elif match[0] in (")", "]", "}"):
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(text[begin : match.start()])
            begin = match.end()
    parts.append(text[begin:])
    openings = ((part, opening.end() if (opening := _OPENING.match(part)) else 0) for part in parts)
    return [" " * end + part[end:] for part, end in openings]


def _vectors(known: Set[str]) -> frozenset[str]:
    """Returns the names of vectors, and of the matrix I."""
    return frozenset(n for n in known if n == "I" or ("_" in n and not n.startswith("lambda")))


def _split_off_names(text: str) -> tuple[list[str], int]:
    """Returns the names before each `=`, and the index at which the formula begins."""
    names, index = list[str](), 0
    while True:
        begin = index + len(text[index:]) - len(text[index:].lstrip())
        name = NAME.match(text, begin)
        equals = _EQUALS.match(text, name.end() if name else begin)
        if not equals or (names and not name):
            return names, index
        plain = plain_name(name[0]) if name else ""
        names.append(re.sub(r"^([A-Za-z])([0-9])$", r"\1_\2", plain))
        index = equals.end()


def split_off_statement(texts: Sequence[str], count: int) -> tuple[list[str], str]:
    """Returns the texts without the letter of one of so many statements at the end of one, and the letter."""
    left, statement = list[str](), ""
    for text in texts:
        found = _STATEMENT.search(text)
        letter = (found["named"] or found["alone"]).upper() if found else ""
        if found and not statement and ord(letter) - ord("A") < count:
            text, statement = text[: found.start()], letter
        left += [text] if text.strip() else []
    return left, statement


def read_answers(
    exercise: Exercise, formulas: Sequence[Formula], conditions: Sequence[str], expected: Sequence[str]
) -> Answers:
    """Reads one formula for each of the `expected` names; those with a name may come in any order.

    Raises AugenmerkError for what cannot be read.
    """
    task, known = exercise.task, exercise.known
    how_many = "1 formula" if len(expected) == 1 else f"{len(expected)} formulas"
    asked = "; ".join(f"{name} = ..." for name in expected)
    count = f"Task {task} asks for {how_many} ({asked}), not {len(formulas)}."
    if len(formulas) > len(expected) or not formulas:
        raise AugenmerkError(count)
    found: dict[str, Expression] = {}
    for number, (given, text, start) in enumerate(formulas):
        name = given or expected[number]
        if name not in expected or name in found:
            raise AugenmerkError(
                f"'{shorten(text.strip(), 200)}': task {task} asks for {', '.join(expected)}, each once."
            )
        _check_primes(text, known)
        found[name] = Expression(text, start, known)
    expressions = tuple(found[name] for name in expected if name in found)
    letters = _find_letters(expressions, known)
    definitions, others = _find_definitions(conditions, letters, known)
    if definitions:
        letters = _find_letters((*expressions, *definitions.values()), known)
    offered = [name for names in exercise.names for name in names.split(", ")]
    for expression in (*expressions, *definitions.values()):
        expression.check_names(known | set(letters), offered)
    if len(found) < len(expected) and conditions:  # what was left out may be a formula with a misspelt name
        raise AugenmerkError(count)
    free = tuple(letter for letter in letters if letter not in definitions)
    signs = _read_signs(expressions, others, known - set(free))
    if len(free) > MAX_LETTERS:
        raise AugenmerkError(
            f"{len(free)} letters are too many to try the sizes of each; at most {MAX_LETTERS} can be graded."
        )
    remarks = _describe_reading(found, free, others, known)
    incomplete = count if len(found) < len(expected) else ""
    return Answers(expressions, definitions, free, signs, remarks, incomplete)


def _find_letters(expressions: Sequence[Expression], known: frozenset[str]) -> tuple[str, ...]:
    """Returns the names of numbers of the reader's choice, in the order of the text."""
    used = [name for expression in expressions for name in expression.names]
    called = frozenset[str]().union(*(expression.called_names for expression in expressions))
    indexed = [name.split("_", 1) for name in known if "_" in name]
    bases, indices = {"q", "v", *(base for base, _ in indexed)}, {index for _, index in indexed}
    own = {
        name
        for name in set(used) - known - called
        if FREE_NAME.fullmatch(name)
        and name.partition("_")[0] not in bases
        and name.partition("_")[2] not in indices
        and name[:-1] not in bases  # kc is a key that does not exist rather than a number
    } | SCALES.intersection(used)
    own = own or set(NOISE.intersection(used, known))
    return tuple(dict.fromkeys(name for name in used if name in own))


def _find_definitions(
    conditions: Sequence[str], letters: Sequence[str], known: frozenset[str]
) -> tuple[dict[str, Expression], list[str]]:
    """Returns the definitions of letters, such as `s = norm(k_a)^2`, in order, and the other conditions."""
    found, others = dict[str, Expression](), list[str]()
    for condition in conditions:
        names, start = _split_off_names(condition)
        if (
            len(names) != 1
            or read_condition(condition) is not None  # such as `c = ∞`, which is about how large c is
            or not FREE_NAME.fullmatch(names[0])
            or names[0] in (*found, *known - SCALES)
        ):
            others.append(condition)
        else:
            found[names[0]] = Expression(condition, start, known)
    needed = {name: [n for n in each.names if n in found] for name, each in found.items()}
    try:
        ordered = {name: found[name] for name in TopologicalSorter(needed).static_order()}
    except CycleError:
        raise AugenmerkError(
            f"{' and '.join(found)} are defined by one another: give the formula alone."
        ) from None
    wanted = set(letters).union(*(each.names for each in found.values()))
    for name in found:
        if name not in wanted:
            raise AugenmerkError(f"'{found[name].text.strip()}' defines a letter that is not in the formula.")
    return ordered, others


def _read_signs(
    expressions: Sequence[Expression], conditions: Sequence[str], known: Set[str]
) -> dict[str, Signs]:
    """Returns which sizes of the letters the conditions allow.

    What they say about names of the task would be another task, apart from B, which is large anyway.
    """
    signs: dict[str, Signs] = {}
    for condition in conditions:
        allowed = read_condition(condition)
        if allowed is None or any(n in known and (n != "B" or own != {1}) for n, own in allowed.items()):
            raise AugenmerkError(
                f"'{shorten(' '.join(condition.split()), 200)}', beside the formula, may change what the "
                "answer says, and is not understood: give the formula alone."
            )
        for letter, own in allowed.items():
            signs[letter] = signs.get(letter, own) & own
            if not signs[letter]:
                raise AugenmerkError(f"The conditions ask that {letter} is both large and small.")
    for expression in expressions:
        if expression.names.count(INFINITY) > 1:
            raise AugenmerkError(
                f"'{shorten(expression.text.strip(), 200)}' has more than one infinity, and they may "
                "differ: write c for a number as large as you like."
            )
    return signs | {INFINITY: frozenset({1})}


def read_condition(text: str) -> dict[str, Signs] | None:
    """Returns which sizes of letters a condition allows; None if it may mean anything else.

    Every letter is taken to be a positive, real constant anyway.
    """
    signs: dict[str, Signs] = {}
    letters, sizes, related = list[str](), set[Signs](), list[str]()
    index = last_letter = 0
    while index < len(text):
        if relation := _RELATION.match(text, index):
            own = _read_relation(relation)
            if own is None or (letters and not text[last_letter:index].strip()):  # of a product, `s t < 1`
                return None
            related.append(plain_name(relation["letter"]))
            signs[related[-1]] = signs.get(related[-1], _ANY) & own
            index = relation.end()
        elif word := _WORD.match(text, index):
            # `a` is an article here rather than a letter, if another word follows.
            if word["letter"] and not re.match(r"a\s+[a-z]", text[index:], re.IGNORECASE):
                letters.append(plain_name(word["letter"]))
                last_letter = word.end()
            sizes |= {_LARGE} if word["large"] else {_SMALL} if word["small"] else set()
            index = word.end()
        else:
            return None
    if len(sizes) > 1:
        return None
    for letter in (letters or related) if sizes else ():
        signs[letter] = signs.get(letter, _ANY).intersection(*sizes)
    signs = {letter: own for letter, own in signs.items() if own != _ANY}
    return signs if all(signs.values()) else None


def _read_relation(relation: re.Match[str]) -> Signs | None:
    """Returns which sizes of its letter a relation allows; None if it may mean anything else."""
    if relation["infinite"]:
        return _LARGE
    if relation["zero"]:
        return _SMALL
    if relation["real"]:
        return _ANY
    if relation["other"]:  # sizes are tried independently
        return None
    base, _, power = relation["bound"].partition("^")
    try:
        bound = float(base) ** float(power or 1)
    except (ValueError, OverflowError):  # sqrt(d), or a number that is too large
        bound = None
    if relation["above"] or relation["far_above"]:
        return _LARGE if relation["far_above"] else _ANY if bound == 0 else _ANY - _SMALL
    if bound is None or not 0 < bound <= MAX_BOUND:
        return None
    return _SMALL if relation["far_below"] else _ANY - _LARGE


def _describe_reading(
    found: Mapping[str, Expression], letters: Sequence[str], conditions: Sequence[str], known: Set[str]
) -> tuple[str, ...]:
    """Returns remarks about what is not obvious: the formulas, letters and conditions as they were read."""
    remarks = []
    plain = [[re.sub(r"[\s*·]", "", text) for text in (each.text, each.reading)] for each in found.values()]
    if not all(text.endswith(reading) for text, reading in plain):
        shown = [f"{name} = {each.reading}" for name, each in found.items()]
        if len(shown) == 1:
            shown = [each.reading for each in found.values()]
        remarks.append(f"Read as {show_names('; '.join(shown))}.")
    own = [letter for letter in letters if letter not in SCALES]
    if noise := [letter for letter in own if letter in known]:
        remarks.append(f"{' and '.join(noise)} is taken as a number of your choice, not as the variance.")
    elif own:
        verb = "is a number" if len(own) == 1 else "are numbers"
        remarks.append(f"{show_names(' and '.join(own))} {verb} of your choice.")
    if conditions:
        remarks.append(f"Taken into account: {'; '.join(conditions)}.")
    return tuple(remarks)


def _check_primes(text: str, known: Set[str]) -> None:
    """Raises AugenmerkError if some of the vectors have a prime and others do not, except for a transpose."""
    short = {vector.replace("_", "") for vector in _vectors(known)}
    plain = [plain_name(match[0]) for match in NAME.finditer(text)]
    marked = {n.endswith(PRIME) for n in plain if n.removesuffix(PRIME).replace("_", "", 1) in short}
    if len(marked) > 1 and "I" not in known:
        raise AugenmerkError(
            f"'{shorten(text.strip(), 200)}' has primes on some names and not on others, which may mean "
            "something: give the formula without primes."
        )


def show_names(text: str) -> str:
    """Returns a text with letters as people write them, c' rather than c_prime."""
    return text.replace(PRIME, "'").replace(INFINITY, "∞")
