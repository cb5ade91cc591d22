"""Finds out, by trying, how large the letters of an answer have to be: `for large c`, `only if t = c`.

A letter is a positive number of the reader's choice. It may be large, small or of any size, whatever the
others are: an answer that holds for such a choice is right. One that holds only if letters depend on one
another, or have one value, is right under a condition, which is looked for.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.answers import Signs
from augenmerk.theory.attention import Array
from augenmerk.theory.grading import Trying

Letters = Mapping[str, float]
Rates = Mapping[str, float]
"""How fast each letter grows (above 0) or shrinks (below 0); 0 if any size will do."""

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
class Experiment(Trying):
    """An answer that can be tried with values of its letters, under each condition of its exercise."""

    any_size_will_do: ClassVar[bool] = False
    """Whether something else than the letters is large, so that it is enough if they do no harm."""

    @property
    def letters(self) -> tuple[str, ...]:
        return self.answers.letters

    @property
    @abstractmethod
    def conditions(self) -> Sequence[Any]: ...

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
    def lean(self, number: int, letters: Letters) -> Array:
        """Returns for a few instances a number that is 0 where the letters are as they should be, or nan."""

    def allowed(self, letter: str) -> Signs:
        return self.answers.signs.get(letter, frozenset({-1, 0, 1}))

    def check_decided(self) -> None:
        """Raises AugenmerkError if an answer without a choice may hold for values that are hard to find."""
        related = len(self.letters) > 1 and any(_solve(self, name) is True for name in self.letters)
        if self.letters and (related or _holds_somewhere(self)):
            raise AugenmerkError(
                f"It may hold for certain values of {' and '.join(self.letters)}, which cannot be found by "
                "trying: write them down, or one letter in terms of the others."
            )


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
        """The product in words, such as `2 c/tau^2`."""
        simple = Fraction(self.factor).limit_denominator(100)
        if abs(simple - self.factor) > _EXACT * abs(self.factor):
            above, below = [f"{self.factor:.4g}"], []
        else:
            above, below = ([str(n)] if n != 1 else [] for n in (simple.numerator, simple.denominator))
        for name, power in self.powers.items():
            text = {0.5: f"sqrt({name})", 1: name}.get(abs(power), f"{name}^{abs(power):g}")
            (above if power > 0 else below).append(text)
        divisor = f"({' '.join(below)})" if len(below) > 1 else "".join(below)
        return (" ".join(above) or "1") + (f"/{divisor}" if below else "")

    def __str__(self) -> str:
        return f"{self.letter} = {self.product}"


@dataclass(frozen=True)
class Choice:
    """A choice of letters with which an answer holds."""

    rates: Rates
    where: str = ""  # such as "for large c"
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
    def max_exponent(self) -> float:
        """The largest exponent of ten with which no letter leaves the range of numbers."""
        return LARGEST / max([1.0, *(abs(rate) for rate in self.rates.values())])


def find_choice(experiment: Experiment) -> Choice | None:
    """Returns how letters have to be chosen, with as few conditions as possible; None if none is found."""
    found = _find_signs(experiment, experiment.letters)
    # A letter that does no harm where it vanishes is one that should not be there.
    if needed := [rates for rates in found if not _find_superfluous(experiment, rates)]:
        return Choice(needed[0], _describe(needed))
    for relation in _find_relations(experiment):
        if choice := _apply_relation(experiment, relation):
            return choice
    if found:
        small = " and ".join(f"{name} is small" for name in _find_superfluous(experiment, found[0]))
        return Choice(found[0], _describe([{n: r for n, r in found[0].items() if r > 0}]), small)
    for rates, text in _orders(experiment):
        if _holds_in_limit(experiment, Choice(rates)):
            return Choice(rates, _describe([rates]), text)
    vanishing = (_apply_relation(experiment, Relation(letter, 0.0)) for letter in experiment.letters)
    return next(filter(None, vanishing), None)


def distinct_values(letters: Sequence[str]) -> Letters:
    """Returns values of which no two are equal, since 1/(s - t) should not be a division by zero."""
    return {letter: 1.1 + 0.17 * number for number, letter in enumerate(letters)}


def _apply_relation(experiment: Experiment, relation: Relation) -> Choice | None:
    """Returns how the other letters have to be chosen if one is given; None if they do not make it hold."""
    if not relation.powers and 0 not in experiment.allowed(relation.letter):
        return None  # the answer asks for a large or a small number
    rest = [letter for letter in experiment.letters if letter != relation.letter]
    found = _find_signs(experiment, rest, relation)
    if found := [rates for rates in found if not _find_superfluous(experiment, rates, relation)]:
        return Choice(found[0], _describe(found), str(relation), (relation,))
    return None


def settle(experiment: Experiment, number: int, choice: Choice) -> Letters:
    """Returns the smallest letters of a choice with which the answer holds, or its limit."""
    for size in (*SIZES, *(1 / size for size in SIZES[1:])):
        if abs(math.log10(size)) <= choice.max_exponent:
            letters = choice.letters_at(size, experiment.sizes(number))
            if all(experiment.holds(number, letters, bool(choice.rates), in_all) for in_all in (False, True)):
                return letters
    return find_limit(experiment, number, choice)


def find_limit(experiment: Experiment, number: int, choice: Choice, values: Letters | None = None) -> Letters:
    """Returns the letters as far along their way as rounding does not decide."""

    def letters_at(exponent: float) -> Letters:
        return choice.letters_at(10.0**exponent, experiment.sizes(number), values)

    def is_known(exponent: float) -> bool:
        return experiment.holds(number, letters_at(exponent), True) is not None

    most = choice.max_exponent
    steps = [min(max(step, -most), most) for step in _STEPS] if any(choice.rates.values()) else [0]
    reached, beyond = steps[-1], steps[-1]
    for before, step in pairwise([steps[0], *steps]):
        if is_known(step):
            reached, beyond = step, before
            break
    for _ in range(_BISECTIONS):
        middle = (reached + beyond) / 2
        reached, beyond = (middle, beyond) if is_known(middle) else (reached, middle)
    return letters_at(reached)


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
        drawn = Choice(rates, relations=choice.relations)
        for number in range(len(experiment.conditions)):
            letters = find_limit(experiment, number, drawn, values)
            if not experiment.holds(number, letters, in_the_limit):
                return False
    return True


def _find_signs(experiment: Experiment, names: Sequence[str], *relations: Relation) -> list[Rates]:
    """Returns which letters have to be large (1) or small (-1), in each way that is not part of another."""
    found: list[Rates] = []
    ways = product((0, 1, -1), repeat=len(names))
    for signs in sorted(ways, key=lambda way: (sum(map(abs, way)), way.count(-1))):
        rates = dict(zip(names, map(float, signs), strict=True))
        if (
            any(sign not in experiment.allowed(n) for n, sign in rates.items())
            or (names and not any(signs) and not experiment.any_size_will_do)
            or any(all(not rate or rate == rates[n] for n, rate in other.items()) for other in found)
        ):
            continue
        if _holds_in_limit(experiment, Choice(rates, relations=relations), spread_rates=True):
            found.append(rates)
    return found


def _find_superfluous(experiment: Experiment, rates: Rates, *relations: Relation) -> list[str]:
    """Returns the letters that have to be small and might as well be 0, unless the answer asks for it."""
    found = []
    for name in (n for n, rate in rates.items() if rate < 0 and experiment.allowed(n) != {-1}):
        rest = {other: rate for other, rate in rates.items() if other != name}
        if _holds_in_limit(experiment, Choice(rest, relations=(*relations, Relation(name, 0.0)))):
            found.append(name)
    return found


def _find_relations(experiment: Experiment) -> Iterator[Relation]:
    """Yields what letters may have to be equal to: each other, what makes the answer even, or 1."""
    letters = experiment.letters
    for i, letter in enumerate(letters):
        for other in letters[i + 1 :]:
            yield Relation(letter, 1.0, {other: 1.0})
    solved = [found for letter in letters if isinstance(found := _solve(experiment, letter), Relation)]
    # As a product rather than a quotient, if possible.
    yield from sorted(solved, key=lambda found: sum(power < 0 for power in found.powers.values()))
    yield from (Relation(letter, 1.0) for letter in letters)


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

            def lean(exponent: float, number: int = number, values: Letters = values) -> Array:
                return experiment.lean(number, {**values, letter: 10.0**exponent})

            root = _find_root(lean)
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


def _find_root(lean: Callable[[float], Array]) -> float | None:
    """Returns the exponent of ten at which the first instance changes its sign."""
    points = np.linspace(-8, 8, 33) + 0.0123  # not at a power of ten, where a root is likely
    values = [lean(point)[0] for point in points]
    for i, (one, other) in enumerate(pairwise(values)):
        if one * other < 0:
            low, high = points[i], points[i + 1]
            for _ in range(30):
                middle = (low + high) / 2
                low, high = (middle, high) if lean(middle)[0] * one > 0 else (low, middle)
            return float(low)
    return None


def _holds_somewhere(experiment: Experiment) -> bool:
    """Returns whether, under each condition alone, some values of the letters make the answer hold."""
    rng, names = np.random.default_rng(4), experiment.letters
    low, high = (
        [sign * LARGEST if sign in experiment.allowed(name) else 0.0 for name in names] for sign in (-1, 1)
    )

    def to_letters(exponents: Array) -> Letters:
        return dict(zip(names, 10.0 ** np.clip(exponents, low, high), strict=True))

    for number in range(len(experiment.conditions)):

        def error(exponents: Array, number: int = number) -> float:
            found = experiment.error(number, to_letters(exponents))
            return found if math.isfinite(found) else 1e3

        starts = sorted(rng.uniform(-5, 5, (_STARTS, len(names))), key=error)[:2]
        ends = [minimize(error, start, method="Nelder-Mead") for start in starts]
        best = to_letters(min(ends, key=lambda end: end.fun).x)
        if not experiment.holds(number, best, in_the_limit=False, in_all=True):  # in a few it may by chance
            return False
    return True


def _orders(experiment: Experiment) -> Iterator[tuple[Rates, str]]:
    """Yields rates with which a letter is much larger, or smaller, than another (or than 1 over it)."""
    for slow, fast in permutations(experiment.letters, 2):
        for one, other in product((1, -1), repeat=2):
            if one in experiment.allowed(slow) and other in experiment.allowed(fast):
                how = "larger" if other > 0 else "smaller"
                than = slow if one == other else f"1/{slow}"
                rates = dict.fromkeys(experiment.letters, 0.0)
                yield rates | {slow: float(one), fast: 1.5 * other}, f"{fast} is much {how} than {than}"


def _describe(found: Sequence[Rates]) -> str:
    """Returns `for large c or small t` for two ways to choose letters."""
    ways = []
    for rates in found:
        grouped = {
            word: " and ".join(name for name, rate in rates.items() if rate * sign > 0)
            for word, sign in (("large", 1), ("small", -1))
        }
        words = " and ".join(f"{word} {names}" for word, names in grouped.items() if names)
        ways.append(words or f"any {' and '.join(rates)}" if rates else "")
    return f"for {' or '.join(dict.fromkeys(ways))}" if ways != [""] else ""
