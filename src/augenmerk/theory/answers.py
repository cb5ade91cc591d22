"""Reads answers as people write them: several in one text, with names before and conditions behind them.

`q_1 = c mu_a, q_2 = c mu_b, where c >> 0` is two formulas and a condition. A letter that the task does not
have is a number of the reader's choice. A condition may ask that it is large or small, or define it. Any
other word is not understood, and a text that is not understood is refused rather than guessed at: there may
be a `not` in it.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.attention import Array
from augenmerk.theory.conditions import FREE_NAME, Signs, find_limits, read_condition
from augenmerk.theory.exercises import Exercise
from augenmerk.theory.expressions import Expression
from augenmerk.theory.notation import GREEK, INFINITY, NAME, PRIME, plain_name, tokens

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
"""The italic, bold, ... letters of Unicode; \u210e is the italic h. Each stands for one ordinary letter."""
_PROSE = re.compile(r"(?:[^\W\d_]|[\s.,;:!?'’-])+")
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
"""Words before a formula that say no more than that it is the answer."""
_EQUALS = re.compile(r"\s*(?::?=|≈|\\approx)")


class Formula(NamedTuple):
    name: str  # what stands before `=`, or nothing
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

    @property
    def has_fixed_scale(self) -> bool:
        """Whether the answer has a factor without a free number in it, such as 100 or sqrt(d)."""
        parts = (*self.expressions, *self.definitions.values())
        numbers = {number for each in parts for number in each.constants}
        sizes = {name for each in parts for name in each.names if name in ("d", "m", "e", "beta")}
        return not self.letters and bool(sizes or any(n > 2 or 0 < n < 0.1 for n in numbers))

    @property
    def uses(self) -> frozenset[str]:
        """The names in the formulas and the definitions."""
        return frozenset(
            name for each in (*self.expressions, *self.definitions.values()) for name in each.names
        )

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
    for text in texts:
        if len(text) > MAX_TEXT:
            raise AugenmerkError(f"An answer has at most {MAX_TEXT:,} characters, this one {len(text):,}.")
        text = _STYLED_LETTER.sub(lambda letter: unicodedata.normalize("NFKC", letter[0]), text)
        if number := _THOUSANDS.search(text):
            raise AugenmerkError(
                f"'{number[0]}' is one number in English and another in German: write it without the sign."
            )
        text, limits = find_limits(_DECIMAL_COMMA.sub(".", text))
        # Replaced by as many spaces, so that places stay the same.
        bare = _MATHEMATICS.sub(lambda sign: " " * len(sign[0]), text)
        parts = [_blank_opening(part) for part in _split_outside_brackets(bare)]
        own = [part for part in parts if _is_formula(part, expected, vectors, known)]
        for part in own or [bare]:
            names, start = _split_off_names(part)
            formulas += [Formula(name, part, start) for name in names or [""]]
        conditions += limits
        if own:
            conditions += [part.strip() for part in parts if part not in own and part.strip()]
    return formulas, conditions


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for match in _SEPARATOR.finditer(text):
        if match[0] in ("(", "[", "{"):
            depth += 1
        elif match[0] in (")", "]", "}"):
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(text[begin : match.start()])
            begin = match.end()
    return [*parts, text[begin:]]


def _blank_opening(part: str) -> str:
    opening = _OPENING.match(part)
    return " " * opening.end() + part[opening.end() :] if opening else part


def _vectors(known: Set[str]) -> frozenset[str]:
    """Returns the names of vectors, and of the matrix I."""
    return frozenset(n for n in known if n == "I" or ("_" in n and not n.startswith("lambda")))


def _is_formula(part: str, expected: Set[str], vectors: Set[str], known: Set[str]) -> bool:
    if names := _split_off_names(part)[0]:
        return names[0] in expected
    return part.strip(" .") == "0" or any(token.text in vectors for token in tokens(part, 0, known))


def _split_off_names(text: str) -> tuple[list[str], int]:
    """Returns the names before each `=`, and the place where the formula begins."""
    names, place = list[str](), 0
    while True:
        begin = place + len(text[place:]) - len(text[place:].lstrip())
        name = NAME.match(text, begin)
        equals = _EQUALS.match(text, name.end() if name else begin)
        if not equals or (names and not name):
            return names, place
        plain = plain_name(name[0]) if name else ""
        names.append(re.sub(r"^([A-Za-z])([0-9])$", r"\1_\2", plain))
        place = equals.end()


def read_answers(
    exercise: Exercise, formulas: Sequence[Formula], conditions: Sequence[str], expected: Sequence[str]
) -> Answers:
    """Reads one formula for each of the `expected` names; those with a name may come in any order.

    Raises AugenmerkError for what cannot be read.
    """
    task, known = exercise.task, exercise.known
    offered = [name for names in exercise.names for name in names.split(", ")]
    if formulas and not any(text.strip() for _, text, _ in formulas):
        raise AugenmerkError(f"The answer is empty; task {task} asks for one ({exercise.key.prompt}).")
    for _, text, _ in formulas:
        if _is_prose(text, known):
            shown = shorten(" ".join(text.split()), 200)
            raise AugenmerkError(f"'{shown}' has none of the names of task {task}: {', '.join(offered)}.")
        _check_primes(text, known)
    if len(formulas) > len(expected) or not formulas:
        raise AugenmerkError(_describe_count(task, formulas, expected))
    found: dict[str, Expression] = {}
    for number, (given, text, start) in enumerate(formulas):
        name = given or expected[number]
        if name not in expected or name in found:
            raise AugenmerkError(
                f"'{shorten(text.strip(), 200)}': task {task} asks for {', '.join(expected)}, each once."
            )
        found[name] = Expression(text, start, known)
    expressions = tuple(found[name] for name in expected if name in found)
    letters = _find_letters(expressions, known)
    definitions, others = _find_definitions(conditions, letters, known)
    if definitions:
        letters = _find_letters((*expressions, *definitions.values()), known)
    for expression in (*expressions, *definitions.values()):
        expression.check_names(known | set(letters), offered)
    incomplete = _describe_count(task, formulas, expected) if len(found) < len(expected) else ""
    if incomplete and conditions:  # what was left out may be a formula with a misspelt name
        raise AugenmerkError(incomplete)
    free = tuple(letter for letter in letters if letter not in definitions)
    signs = _read_signs(expressions, others, known - set(free))
    if len(free) > MAX_LETTERS:
        raise AugenmerkError(
            f"{len(free)} letters are too many to try the sizes of each; at most {MAX_LETTERS} can be graded."
        )
    remarks = _describe_reading(list(found), [found[name] for name in found], free, others, known)
    return Answers(expressions, definitions, free, signs, tuple(remarks), incomplete)


def _find_letters(expressions: Sequence[Expression], known: frozenset[str]) -> tuple[str, ...]:
    """Returns the names that stand for numbers of the reader's choice, in the order of the text."""
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
    if not own:
        own = set(NOISE.intersection(used, known))
    return tuple(dict.fromkeys(name for name in used if name in own))


def _find_definitions(
    conditions: Sequence[str], letters: Sequence[str], known: frozenset[str]
) -> tuple[dict[str, Expression], list[str]]:
    """Returns the definitions of letters, such as `s = norm(k_a)^2`, in order, and the other conditions."""
    found, others, wanted = dict[str, Expression](), list[str](), set(letters)
    for condition in conditions:
        names, start = _split_off_names(condition)
        if read_condition(condition) is not None:  # such as `c = ∞`, which says how large c is
            others.append(condition)
            continue
        if len(names) != 1 or not FREE_NAME.fullmatch(names[0]) or names[0] in (*found, *known - SCALES):
            others.append(condition)
            continue
        found[names[0]] = Expression(condition, start, known)
    ordered: dict[str, Expression] = {}
    while len(ordered) < len(found):
        ready = [
            n for n in found if n not in ordered and not (set(found[n].names) - set(ordered)) & set(found)
        ]
        if not ready:
            raise AugenmerkError(f"{_join(found)} are defined by one another: give the formula alone.")
        ordered |= {name: found[name] for name in ready}
    wanted = wanted.union(*(set(each.names) for each in found.values()))
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
                f"'{shorten(expression.text.strip(), 200)}' has more than one infinity, and does not say "
                "whether they are equal: write c for a number as large as you like."
            )
    return signs | {INFINITY: frozenset({1})}


def _describe_reading(
    expected: Sequence[str],
    expressions: Sequence[Expression],
    letters: Sequence[str],
    conditions: Sequence[str],
    known: frozenset[str],
) -> list[str]:
    remarks = []
    if not all(map(_reads_the_same, expressions)):
        readings = [each.reading for each in expressions]
        if len(expected) > 1:
            readings = [f"{name} = {reading}" for name, reading in zip(expected, readings, strict=True)]
        remarks.append(f"Read as {show_names('; '.join(readings))}.")
    own = [letter for letter in letters if letter not in SCALES]
    if noise := [letter for letter in own if letter in known]:
        remarks.append(
            f"{_join(noise)} is taken as a number of your choice, though it is a variance in this task."
        )
    elif own:
        verb = "is a number" if len(own) == 1 else "are numbers"
        remarks.append(f"{show_names(_join(own))} {verb} of your choice.")
    if conditions:
        remarks.append(f"Taken into account: {'; '.join(conditions)}.")
    return remarks


def _check_primes(text: str, known: Set[str]) -> None:
    """Raises AugenmerkError if some of the vectors have a prime and others do not, except for a transpose."""
    vectors = _vectors(known)
    if "I" in known:
        return
    plain = [plain_name(match[0]) for match in NAME.finditer(text)]
    short = vectors | {vector.replace("_", "") for vector in vectors}
    marked = {name.endswith(PRIME) for name in plain if name.removesuffix(PRIME) in short}
    if len(marked) > 1:
        raise AugenmerkError(
            f"'{shorten(text.strip(), 200)}' has primes on some names and not on others, which may mean "
            "something: give the formula without primes."
        )


def show_names(text: str) -> str:
    """Returns a text with letters as people write them, c' rather than c_prime."""
    return text.replace(PRIME, "'").replace(INFINITY, "∞")


def _is_prose(text: str, known: Set[str]) -> bool:
    """Returns whether a text is words alone, none of them a name of the task."""
    if not _PROSE.fullmatch(text) or any(token.text in known for token in tokens(text, 0, known)):
        return False
    return any(len(word) > 2 and word not in GREEK.values() for word in re.findall(r"[^\W\d_]+", text))


def _describe_count(task: str, formulas: Sequence[Formula], expected: Sequence[str]) -> str:
    how_many = "1 formula" if len(expected) == 1 else f"{len(expected)} formulas"
    shown = "; ".join(f"{name} = ..." for name in expected)
    return f"Task {task} asks for {how_many} ({shown}), not {len(formulas)}."


def _join(names: Sequence[str] | Mapping[str, object]) -> str:
    return " and ".join(names)


def _reads_the_same(expression: Expression) -> bool:
    """Returns whether the reading differs from the text in no more than spaces and signs of products."""
    text, reading = (re.sub(r"[\s*·]", "", each) for each in (expression.text, expression.reading))
    return text.endswith(reading)
