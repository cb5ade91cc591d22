"""Finds out by trying how large the letters of an answer have to be: `for large c/tau`, `only if t = c`.

A letter is a positive number of the reader's choice. It may be large, small or of any size, whatever the
others are: an answer that holds for such a choice is right. One that holds only if letters depend on one
another, or have one value, is right under a condition, which is looked for.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations, product
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.answers import Answers
from augenmerk.theory.attention import Array
from augenmerk.theory.conditions import Signs
from augenmerk.theory.exercises import Exercise

Letters = Mapping[str, float]

LARGEST = 290.0  # the largest exponent of ten that is tried
_STEPS = (290, 150, 75, 40, 20, 10, 5, 2.5, 1, 0, -1, -2.5, -5, -10, -20, -40, -75, -150, -290)
_SIZES = [float(f"{digit}e{power}") for power in range(6) for digit in (1, 2, 5)]
SIZES = (*_SIZES, *(10.0**x for x in (6, 7, 8, 10, 15, 20, 30, 50, 75, 100, 150, 200, 290)))
"""Sizes of a number that is large, from which one is chosen to be shown."""
_BISECTIONS, _DRAWS, _STARTS = 5, 4, 100
_SPREAD = 0.7  # letters differ by up to this power of ten, up or down, where their size does not matter
_EVEN = 1e-6  # how far a lean may be from 0
_EXACT = 1e-5  # the error of a logarithm up to which numbers are taken as equal


@dataclass(frozen=True)
class Experiment(ABC):
    """An answer that can be tried with values of its letters, under each condition of its exercise."""

    exercise: Exercise
    answers: Answers
    samples: int
    seed: int
    scale: float | None
    any_size_will_do: ClassVar[bool] = False
    """Whether something else than the letters is large, so that it is enough if they do no harm."""

    @property
    def letters(self) -> tuple[str, ...]:
        return self.answers.letters

    @property
    @abstractmethod
    def conditions(self) -> Sequence[object]:
        """What the answer is tried under."""

    @abstractmethod
    def check_shapes(self) -> None:
        """Raises AugenmerkError if the formulas have a wrong shape, or cannot be computed."""

    @abstractmethod
    def try_out(self, texts: Sequence[str]) -> "tuple[Choice | None, Sequence[Any]]":
        """Returns with which letters the answer holds, if it does, and a trial for each condition.

        A trial has `holds`, an `error`, and a row for the table of a grade (`as_row`).
        """

    @abstractmethod
    def explain_success(self, trials: Sequence[Any]) -> str:
        """Returns the reason why the answer holds."""

    @abstractmethod
    def explain_failure(self, trials: Sequence[Any]) -> tuple[str, str, bool]:
        """Returns the mistake, the reason, and whether a factor is all that is missing."""

    @abstractmethod
    def sizes(self, number: int) -> Mapping[str, float]:
        """Returns the numbers of a condition that letters may depend on, such as the dimension."""

    @abstractmethod
    def holds(self, number: int, letters: Letters, in_the_limit: bool, in_all: bool = False) -> bool | None:
        """Returns whether the answer holds in a few instances, or in all of them.

        Returns None where numbers are too large or too small to tell.
        """

    @abstractmethod
    def error(self, number: int, letters: Letters) -> float:
        """Returns the error in a few instances, or nan."""

    @abstractmethod
    def lean(self, number: int, letters: Letters) -> Array | None:
        """Returns for a few instances a number that is 0 where the letters are as they should be."""

    def query(self, letters: Letters) -> Array | None:  # noqa: ARG002
        """Returns what the letters may do no more than stretch, if anything: the queries of an instance."""
        return None

    def allowed(self, letter: str) -> Signs:
        return self.answers.signs.get(letter, frozenset({-1, 0, 1}))


@dataclass(frozen=True)
class Relation:
    """A letter that is a product of powers of the others and of the numbers of a condition."""

    letter: str
    factor: float
    powers: Mapping[str, float] = field(default_factory=dict)

    def value(self, letters: Letters, sizes: Mapping[str, float]) -> float:
        known = {**sizes, **letters}
        if not all(known[name] for name in self.powers):
            return 0.0 if all(power > 0 for power in self.powers.values()) else math.inf
        exponent = sum(power * math.log10(known[name]) for name, power in self.powers.items())
        return self.factor * 10.0 ** min(max(exponent, -LARGEST), LARGEST)

    @property
    def product(self) -> str:
        return format_product(self.powers, self.factor)

    def __str__(self) -> str:
        return f"{self.letter} = {self.product}"


@dataclass(frozen=True)
class Choice:
    """A choice of letters with which an answer holds."""

    rates: Mapping[str, float]
    """How fast each letter grows (above 0) or shrinks (below 0); 0 if any size will do."""
    where: str  # such as "for large c"
    only_if: str = ""  # such as "t = c"
    relations: tuple[Relation, ...] = ()

    def letters_at(self, size: float, sizes: Mapping[str, float], values: Letters | None = None) -> Letters:
        """Returns the letters where a number that grows at rate 1 has this size."""
        letters = {
            name: (values[name] if values else 1.0 if rate else 2.0) * 10.0 ** (rate * math.log10(size))
            for name, rate in self.rates.items()
        }
        for relation in reversed(self.relations):  # the first may depend on the last
            letters[relation.letter] = relation.value(letters, sizes)
        return letters

    def introduce(self, why: str) -> str:
        """Puts before a reason when it is true."""
        why = f"{self.where}, {why}" if self.where else why
        return f"right only if {self.only_if}; then, {why}" if self.only_if else why

    @property
    def fits(self) -> float:
        """The largest exponent of ten with which no letter leaves the range of numbers."""
        return LARGEST / max([1.0, *(abs(rate) for rate in self.rates.values())])


def find_choice(experiment: Experiment) -> Choice | None:
    """Returns how letters have to be chosen, with as few conditions as possible; None if none is found."""
    found = _find_signs(experiment, experiment.letters)
    # A letter that does no harm where it vanishes is one that should not be there.
    if needed := [rates for rates in found if not _find_superfluous(experiment, rates)]:
        return Choice(needed[0], _describe_product(experiment) or _describe_all(needed))
    for relation in _find_relations(experiment):
        if choice := _apply_relation(experiment, relation):
            return choice
    if found:
        small = " and ".join(f"{name} is small" for name in _find_superfluous(experiment, found[0]))
        return Choice(found[0], _describe({n: r for n, r in found[0].items() if r > 0}), small)
    for rates, text in _orders(experiment):
        if _holds_in_limit(experiment, Choice(rates, "")):
            return Choice(rates, _describe(rates), text)
    for letter in experiment.letters:
        if choice := _apply_relation(experiment, Relation(letter, 0.0)):
            return choice
    return None


def check_decided(experiment: Experiment) -> None:
    """Raises AugenmerkError if an answer without a choice may hold for values that are hard to find."""
    if experiment.letters and (_are_related(experiment) or _holds_somewhere(experiment)):
        raise AugenmerkError(
            f"It may hold for certain values of {' and '.join(experiment.letters)}, which cannot be found by "
            "trying: write them down, or one letter in terms of the others."
        )


def distinct_values(letters: Sequence[str]) -> Letters:
    """Returns values of which no two are equal, since 1/(s - t) should not be a division by zero."""
    return {letter: 1.1 + 0.17 * number for number, letter in enumerate(letters)}


def _apply_relation(experiment: Experiment, relation: Relation) -> Choice | None:
    """Returns how the other letters have to be chosen if one is given; None if they do not make it hold."""
    if not relation.powers and 0 not in experiment.allowed(relation.letter):
        return None  # a number that is said to be large, or small
    rest = tuple(letter for letter in experiment.letters if letter != relation.letter)
    found = _find_signs(experiment, rest, relation)
    if found := [rates for rates in found if not _find_superfluous(experiment, rates, relation)]:
        return Choice(found[0], _describe_all(found), str(relation), (relation,))
    return None


def settle(experiment: Experiment, number: int, choice: Choice) -> Letters:
    """Returns the smallest letters of a choice with which the answer holds, or its limit."""
    sizes = experiment.sizes(number)
    for size in (*SIZES, *(1 / size for size in SIZES[1:])):
        if abs(math.log10(size)) <= choice.fits:
            letters = choice.letters_at(size, sizes)
            in_the_limit = bool(choice.rates)
            if experiment.holds(number, letters, in_the_limit) and experiment.holds(
                number, letters, in_the_limit, in_all=True
            ):
                return letters
    return find_limit(experiment, number, choice)


def find_limit(experiment: Experiment, number: int, choice: Choice, values: Letters | None = None) -> Letters:
    """Returns the letters as far along their way as rounding does not decide."""

    def is_known(exponent: float) -> bool:
        letters = choice.letters_at(10.0**exponent, experiment.sizes(number), values)
        return experiment.holds(number, letters, True) is not None

    steps = (
        [min(max(step, -choice.fits), choice.fits) for step in _STEPS] if any(choice.rates.values()) else [0]
    )
    reached, beyond = steps[-1], steps[-1]
    for before, step in pairwise([steps[0], *steps]):
        if is_known(step):
            reached, beyond = step, before
            break
    for _ in range(_BISECTIONS):
        middle = (reached + beyond) / 2
        reached, beyond = (middle, beyond) if is_known(middle) else (reached, middle)
    return choice.letters_at(10.0**reached, experiment.sizes(number), values)


def _holds_in_limit(experiment: Experiment, choice: Choice, spread_rates: bool = False) -> bool:
    """Returns whether an answer holds in the limit of a choice, however large and fast the letters are."""
    rng = np.random.default_rng(1)  # the same numbers for letters of other names
    names, in_the_limit = tuple(choice.rates), bool(choice.rates)
    # Each letter is drawn once from each part of its range, and independently of the others.
    parts = {name: (rng.permutation(_DRAWS) + rng.uniform(size=_DRAWS)) / _DRAWS for name in names}
    for draw in range(_DRAWS if choice.rates else 1):
        values = {name: 10.0 ** ((2 * part[draw] - 1) * _SPREAD) for name, part in parts.items()}
        order = rng.permutation(len(names)) if spread_rates and draw else np.zeros(len(names))
        rates = {n: choice.rates[n] * (1 + order[i] / len(names)) for i, n in enumerate(names)}
        drawn = Choice(rates, "", relations=choice.relations)
        for number in range(len(experiment.conditions)):
            letters = find_limit(experiment, number, drawn, values)
            if not experiment.holds(number, letters, in_the_limit):
                return False
    return True


def _find_signs(experiment: Experiment, names: Sequence[str], *relations: Relation) -> list[dict[str, float]]:
    """Returns which letters have to be large (1) or small (-1), in each way that is not part of another."""
    found: list[dict[str, float]] = []
    for signs in sorted(
        product((0, 1, -1), repeat=len(names)), key=lambda s: (sum(map(abs, s)), s.count(-1))
    ):
        rates = dict(zip(names, map(float, signs), strict=True))
        if any(sign not in experiment.allowed(n) for n, sign in rates.items()):
            continue
        if names and not any(signs) and not experiment.any_size_will_do:
            continue
        if any(all(not rate or rate == rates[n] for n, rate in other.items()) for other in found):
            continue
        if _holds_in_limit(experiment, Choice(rates, "", relations=relations), spread_rates=True):
            found.append(rates)
    return found


def _find_superfluous(experiment: Experiment, rates: Mapping[str, float], *relations: Relation) -> list[str]:
    """Returns the letters that have to be small and might as well be 0, unless the answer says so."""
    found = []
    for name in (name for name in rates if experiment.allowed(name) != {-1}):
        rest = {other: rate for other, rate in rates.items() if other != name}
        vanished = Choice(rest, "", relations=(*relations, Relation(name, 0.0)))
        if rates[name] < 0 and _holds_in_limit(experiment, vanished):
            found.append(name)
    return found


def _find_relations(experiment: Experiment) -> Iterator[Relation]:
    """Yields what letters may have to be equal to: each other, what makes the answer even, or 1."""
    letters = experiment.letters
    for i, letter in enumerate(letters):
        for other in letters[i + 1 :]:
            yield Relation(letter, 1.0, {other: 1.0})
    solved = [
        each for each in (_solve(experiment, letter) for letter in letters) if isinstance(each, Relation)
    ]
    # As a product rather than a quotient, if possible.
    yield from sorted(solved, key=lambda found: sum(power < 0 for power in found.powers.values()))
    yield from (Relation(letter, 1.0) for letter in letters)


def _are_related(experiment: Experiment) -> bool:
    """Returns whether a letter has one right value for each choice of the others, in a way unknown."""
    return len(experiment.letters) > 1 and any(_solve(experiment, n) is True for n in experiment.letters)


def _solve(experiment: Experiment, letter: str) -> Relation | bool:
    """Returns the product of powers that a letter has to be, from its values where nothing leans.

    If these values are not such a product, returns whether they depend on nothing but the other letters.
    """
    rng = np.random.default_rng(2)
    others = [name for name in experiment.letters if name != letter]
    names = (*others, *experiment.sizes(0))
    rows, roots = [], []
    for number in range(len(experiment.conditions)):
        for _ in range(3):
            values = {name: 10.0 ** rng.uniform(-_SPREAD, _SPREAD) for name in others}
            lean = partial(_lean_at, experiment, number, values, letter)
            root = _find_root(lambda exponent: float(lean(exponent)[0]))  # noqa: B023
            if root is None or not (np.abs(lean(root)) < _EVEN).all():
                return False
            known = {**values, **experiment.sizes(number)}
            rows.append([1.0, *(math.log10(known[name]) for name in names)])
            roots.append(root)
    logs, found = np.array(rows), np.array(roots)
    powers = np.round(2 * np.linalg.lstsq(logs, found, rcond=None)[0][1:]) / 2
    rest = found - logs[:, 1:] @ powers
    if float(np.ptp(rest)) > _EXACT:
        return True
    factor = 10.0 ** float(rest.mean())
    simple = Fraction(factor).limit_denominator(100)
    if simple and abs(float(simple) / factor - 1) < _EXACT:
        factor = float(simple)
    by_name = dict(zip(names, map(float, powers), strict=True))
    return Relation(letter, factor, {name: power for name, power in by_name.items() if power})


def _lean_at(experiment: Experiment, number: int, values: Letters, letter: str, exponent: float) -> Array:
    lean = experiment.lean(number, {**values, letter: 10.0**exponent})
    return np.array([math.nan]) if lean is None else lean


def _holds_somewhere(experiment: Experiment) -> bool:
    """Returns whether, under each condition by itself, some values of the letters make the answer hold."""
    rng, names = np.random.default_rng(4), experiment.letters
    allowed = [experiment.allowed(name) for name in names]
    low = [-LARGEST if -1 in signs else 0.0 for signs in allowed]
    high = [LARGEST if 1 in signs else 0.0 for signs in allowed]

    def to_letters(exponents: Array) -> Letters:
        return dict(zip(names, 10.0 ** np.clip(exponents, low, high), strict=True))

    def error(exponents: Array, number: int) -> float:
        found = experiment.error(number, to_letters(exponents))
        return found if math.isfinite(found) else 1e3

    for number in range(len(experiment.conditions)):
        starts = sorted(rng.uniform(-5, 5, (_STARTS, len(names))), key=partial(error, number=number))[:2]
        ends = [minimize(error, start, (number,), method="Nelder-Mead") for start in starts]
        best = to_letters(min(ends, key=lambda end: end.fun).x)
        if not experiment.holds(number, best, in_the_limit=False):
            return False
    return True


def _find_root(lean: Callable[[float], float]) -> float | None:
    """Returns the exponent of ten at which a function changes its sign."""
    points = np.linspace(-8, 8, 33) + 0.0123  # not at a power of ten, where a root is likely
    values = [lean(point) for point in points]
    for i, (one, other) in enumerate(pairwise(values)):
        if one * other < 0:
            low, high = points[i], points[i + 1]
            for _ in range(30):
                middle = (low + high) / 2
                low, high = (middle, high) if lean(middle) * one > 0 else (low, middle)
            return float(low)
    return None


def _orders(experiment: Experiment) -> Iterator[tuple[dict[str, float], str]]:
    """Yields rates with which a letter is much larger, or smaller, than another (or than 1 over it)."""
    for slow, fast in permutations(experiment.letters, 2):
        for one, other in product((1, -1), repeat=2):
            signs = {slow: one, fast: other}
            if all(sign in experiment.allowed(name) for name, sign in signs.items()):
                how = "larger" if other > 0 else "smaller"
                than = slow if one == other else f"1/{slow}"
                rates = dict.fromkeys(experiment.letters, 0.0)
                yield rates | {slow: float(one), fast: 1.5 * other}, f"{fast} is much {how} than {than}"


def _describe_product(experiment: Experiment) -> str:
    """Returns `for large c/tau` if the letters do no more than stretch the query by a product of powers."""
    names, start = experiment.letters, distinct_values(experiment.letters)
    base = experiment.query(start)
    if len(names) < 2 or base is None:
        return ""

    def stretch(letters: Letters) -> float:
        query = experiment.query(letters)
        if query is None:
            return math.nan
        factor = float((query * base).sum() / (base**2).sum())
        same = factor > 0 and np.allclose(query, factor * base, rtol=1e-9, atol=1e-12)
        return math.log2(factor) if same else math.nan

    powers = {name: stretch({**start, name: 2 * start[name]}) for name in names}
    doubled = stretch({name: 2 * value for name, value in start.items()})
    if not math.isfinite(doubled + sum(powers.values())):
        return ""
    smallest = min((abs(power) for power in powers.values() if abs(power) > _EXACT), default=1.0)
    whole = {name: round(power / smallest) for name, power in powers.items()}
    exact = all(abs(powers[name] / smallest - whole[name]) < _EXACT for name in names)
    if not exact or abs(sum(powers.values()) - doubled) > _EXACT:
        return ""
    if sum(map(bool, whole.values())) < 2 or any(abs(power) > 4 for power in whole.values()):
        return ""
    return f"for large {format_product(whole)}"


def _describe_all(found: Sequence[Mapping[str, float]]) -> str:
    return " or ".join(dict.fromkeys(map(_describe, found))).replace(" or for ", " or ")


def _describe(rates: Mapping[str, float]) -> str:
    words = []
    for word, sign in (("large", 1), ("small", -1)):
        if names := [name for name, rate in rates.items() if rate * sign > 0]:
            words.append(f"{word} {' and '.join(names)}")
    return f"for {' and '.join(words)}" if words else f"for any {' and '.join(rates)}" if rates else ""


def format_product(powers: Mapping[str, float], factor: float = 1.0) -> str:
    """Writes a product of powers, such as `2 c/tau^2`."""
    simple = Fraction(factor).limit_denominator(100)
    is_simple = abs(float(simple) - factor) <= _EXACT * abs(factor)
    above = [] if factor == 1 else [str(simple.numerator) if is_simple else f"{factor:.4g}"]
    below = [str(simple.denominator)] if is_simple and simple.denominator > 1 else []
    if above == ["1"]:
        above = []
    for name, power in powers.items():
        text = {0.5: f"sqrt({name})", 1: name}.get(abs(power), f"{name}^{abs(power):g}")
        if power:
            (above if power > 0 else below).append(text)
    divisor = " ".join(below)
    divided = f"/{f'({divisor})' if len(below) > 1 else divisor}" if below else ""
    return f"{' '.join(above) or '1'}{divided}"
