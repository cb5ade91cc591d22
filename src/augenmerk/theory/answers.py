"""Reads answers as people write them: several in one text, with names before and conditions behind them.

`q_1 = c mu_a, q_2 = c mu_b, where c >> 0` is two formulas and a condition. A letter that the task does not
have is a number of the reader's choice. Any other word is not understood, and a text that is not understood
is refused rather than guessed at: whoever reads it may find a `not` in it.
"""

import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass

from augenmerk.errors import AugenmerkError, shorten
from augenmerk.theory.expressions import Expression
from augenmerk.theory.notation import GREEK, NAME, plain_name, tokens
from augenmerk.theory.questions import QUESTIONS

MAX_TEXT = 2000  # the most characters in an answer, before anything is looked for in it
SCALES = frozenset({"c", "t"})
"""The names that every task offers for a number as large as the reader likes."""
NOISE = frozenset({"alpha", "beta"})
"""Variances in 1.3 to 1.5, and also letters that many people take for a scale."""

_MATHEMATICS = re.compile(r"\$|(?<!\\)\\[()\[\],;:>!]|\\(?:begin|end)\s*\{[a-z]+\*?\}|&")
"""What sets a formula without meaning anything; a thin space such as `\\,` must not be taken for a comma."""
_STYLED_LETTER = re.compile("[\U0001d400-\U0001d7ff\u210e]")
"""The italic, bold, ... letters of Unicode; \u210e is the italic h. Each stands for one ordinary letter."""
_PROSE = re.compile(r"(?:[^\W\d_]|[\s.,;:!?'’-])+")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
"""The comma of 0,5; one between formulas has a letter or a space beside it."""
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
_FREE_NAME = re.compile(rf"(?:[A-Za-z]|{'|'.join(GREEK.values())})(?:[0-9]+|_\w+)?|scale|const")
_LETTER = (
    rf"(?:[A-Za-z]|\\?(?:var)?(?:{'|'.join(GREEK.values())})|[{''.join(GREEK)}])(?![A-Za-z])"
    r"(?:_?(?:[A-Za-z0-9]\b|\{[A-Za-z0-9]+\}|[₀-₉]))?"
)
_LARGE = rf"(?:>>?|≫|≥|\\gg|\\geq?(?:slant)?)\s*=?\s*(?:[0-9.]+|\\?sqrt\s*[({{]?\s*[dm]\s*[)}}]?|{_LETTER})"
_HARMLESS = re.compile(
    rf"(?>(?:{_LETTER}\s*(?:{_LARGE}|(?:->|→|\\to|\\rightarrow)\s*\+?\s*(?:∞|\\infty|infinity)"
    r"|(?:∈|\\in)\s*(?:ℝ|\\?R\b|\\mathbb\s*(?:R|\{\s*R\s*\}))(?:[_^]?\{?\+\}?)?)?"
    r"|[\s,.:(){}]|\\(?:q?quad|text)\b"
    r"|(?:is|are|an|some|very|large|larger|big|huge|sufficiently|arbitrarily|enough|real|positive|constants?|"
    r"numbers?|scalars?|scale|factor|ist|sind|eine?|einer|sehr|gro(?:ß|ss)(?:e[nrs]?)?|genügend|hinreichend|"
    r"beliebig|reell|positiv|konstante|zahl|skalar|faktor)\b)*)",
    re.IGNORECASE,
)
"""Matches a condition that says no more than that a number is large, positive or real, as it is taken to be
anyway; not one that gives it a value. Nothing is matched twice, which could take for ever."""
_SMALL = re.compile(rf"({_LETTER})\s*(?:(?:->|→|\\to|\\rightarrow)\s*0|(?:<<|≪|\\ll)\s*1)")
_EQUALS = re.compile(r"\s*(?::?=|≈|∝|\\approx|\\propto)")


class IncompleteAnswerError(AugenmerkError):
    """There are fewer formulas than the task asks for, though what is there can be read."""


@dataclass(frozen=True)
class Answers:
    expressions: tuple[Expression, ...]  # in the order in which the task asks for them
    free: frozenset[str]  # the names of numbers that the reader may choose
    remarks: tuple[str, ...]  # how the text was understood, where that is not obvious

    @property
    def has_fixed_scale(self) -> bool:
        """Whether the answer has a factor without a free number in it, such as 100 or sqrt(d)."""
        numbers = {number for each in self.expressions for number in each.constants}
        sizes = {name for each in self.expressions for name in each.names & {"d", "m", "e"}}
        return not self.free and bool(sizes or any(n > 2 or 0 < n < 0.1 for n in numbers))


def split_answers(texts: Sequence[str], expected: Set[str], known: Set[str]) -> tuple[list[str], list[str]]:
    """Splits texts into formulas and the conditions around them, such as `c >> 0`.

    What names one of the `expected` or mentions a vector of the task is a formula; the rest is a condition if
    there is a formula beside it. Raises AugenmerkError if a text is too long.
    """
    vectors = _vectors(known)
    formulas, conditions = list[str](), list[str]()
    for text in texts:
        if len(text) > MAX_TEXT:
            raise AugenmerkError(f"An answer has at most {MAX_TEXT:,} characters, this one {len(text):,}.")
        text = _STYLED_LETTER.sub(lambda letter: unicodedata.normalize("NFKC", letter[0]), text)
        text = _DECIMAL_COMMA.sub(".", text)
        # Replaced by as many spaces, so that places stay the same.
        bare = _MATHEMATICS.sub(lambda sign: " " * len(sign[0]), text)
        parts = [_blank_opening(part) for part in _split_outside_brackets(bare)]
        own = [part for part in parts if _is_formula(part, expected, vectors, known)]
        formulas += own or [bare]
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
    if _split_off_name(part)[0] in expected:
        return True
    return any(token.text in vectors for token in tokens(part, 0, known))


def _split_off_name(text: str) -> tuple[str, int]:
    """Returns the name before `=`, or nothing, and the place where the formula begins."""
    place = len(text) - len(text.lstrip())
    name = NAME.match(text, place)
    equals = _EQUALS.match(text, name.end() if name else place)
    if not equals:
        return "", 0
    plain = plain_name(name[0]) if name else ""
    return re.sub(r"^([A-Za-z])([0-9])$", r"\1_\2", plain), equals.end()


def read_answers(
    task: str,
    formulas: Sequence[str],
    conditions: Sequence[str],
    expected: Sequence[str],
    known: frozenset[str],
    evaluations: int,
) -> Answers:
    """Reads one formula for each of the `expected` names; those with a name may come in any order.

    Raises IncompleteAnswerError if there are too few, and AugenmerkError for what else cannot be read.
    """
    offered = [name for names in QUESTIONS[task].names for name in names.split(", ")]
    if formulas and not any(formula.strip() for formula in formulas):
        raise AugenmerkError(f"The answer is empty; task {task} asks for one ({QUESTIONS[task].answer}).")
    for formula in formulas:
        if _is_prose(formula, known):
            raise AugenmerkError(
                f"'{shorten(' '.join(formula.split()), 200)}' has none of the names of task {task}: "
                f"{', '.join(offered)}."
            )
    if len(formulas) > len(expected) or not formulas:
        raise _wrong_count(AugenmerkError, task, formulas, expected)
    found: dict[str, Expression] = {}
    for number, formula in enumerate(formulas):
        given, start = _split_off_name(formula)
        name = given or expected[number]
        if name not in expected or name in found:
            raise AugenmerkError(
                f"'{shorten(formula.strip(), 200)}': task {task} asks for {', '.join(expected)}, each once."
            )
        found[name] = Expression(formula, start, evaluations, known)
    expressions = tuple(found[name] for name in expected if name in found)
    free, remarks = _find_free_numbers(expressions, known)
    for expression in expressions:
        expression.check_names(known | free, offered)
    if len(found) < len(expected):
        # What was left out may be a formula with a misspelt name.
        raise _wrong_count(AugenmerkError if conditions else IncompleteAnswerError, task, formulas, expected)
    for condition in conditions:
        if not _HARMLESS.fullmatch(condition) and not _has_small_divisor(condition, expressions):
            raise AugenmerkError(
                f"'{shorten(' '.join(condition.split()), 200)}', beside the formula, may change what the "
                "answer says, and is not understood: give the formula alone."
            )
    if not all(map(_reads_the_same, expressions)):
        readings = [each.reading for each in expressions]
        if len(expected) > 1:
            readings = [f"{name} = {reading}" for name, reading in zip(expected, readings, strict=True)]
        remarks = [f"Read as {'; '.join(readings)}.", *remarks]
    if conditions:
        remarks.append(f"Left out: {'; '.join(conditions)}.")
    return Answers(expressions, free, tuple(remarks))


def _has_small_divisor(condition: str, expressions: Sequence[Expression]) -> bool:
    """Returns whether a condition makes a number small by which the formulas only divide."""
    small = _SMALL.fullmatch(condition)
    if not small:
        return False
    name = re.escape(plain_name(small[1]))
    return not any(re.search(rf"(?<!/)\b{name}\b", expression.reading) for expression in expressions)


def _is_prose(text: str, known: Set[str]) -> bool:
    """Returns whether a text is words alone, none of them a name of the task."""
    if not _PROSE.fullmatch(text) or any(token.text in known for token in tokens(text, 0, known)):
        return False
    return any(len(word) > 2 and word not in GREEK.values() for word in re.findall(r"[^\W\d_]+", text))


def _wrong_count(
    kind: type[AugenmerkError], task: str, formulas: Sequence[str], expected: Sequence[str]
) -> AugenmerkError:
    how_many = "1 formula" if len(expected) == 1 else f"{len(expected)} formulas"
    shown = "; ".join(f"{name} = ..." for name in expected)
    return kind(f"Task {task} asks for {how_many} ({shown}), not {len(formulas)}.")


def _find_free_numbers(
    expressions: Sequence[Expression], known: frozenset[str]
) -> tuple[frozenset[str], list[str]]:
    used = frozenset[str]().union(*(expression.names for expression in expressions))
    called = frozenset[str]().union(*(expression.called_names for expression in expressions))
    indexed = [name.split("_", 1) for name in known if "_" in name]
    bases, indices = {"q", "v", *(base for base, _ in indexed)}, {index for _, index in indexed}
    own = {
        name
        for name in used - known - called
        if _FREE_NAME.fullmatch(name)
        and name.partition("_")[0] not in bases
        and name.partition("_")[2] not in indices
        and name[:-1] not in bases  # kc is a key that does not exist rather than a number
    }
    remarks = []
    if own:
        verb = "is a number" if len(own) == 1 else "are numbers"
        remarks.append(f"{_join(own)} {verb} of your choice{'' if len(own) == 1 else ', taken as equal'}.")
    elif not used & SCALES and (noise := used & NOISE & known):
        own |= noise
        remarks.append(
            f"{_join(noise)} is taken as a number of your choice, though it is a variance in this task."
        )
    return frozenset(own) | (used & SCALES), remarks


def _join(names: Set[str]) -> str:
    return " and ".join(sorted(names))


def _reads_the_same(expression: Expression) -> bool:
    """Returns whether the reading differs from the text in no more than spaces and signs of products."""
    text, reading = (re.sub(r"[\s*·]", "", each) for each in (expression.text, expression.reading))
    return text.endswith(reading)
