"""What a study compares: contrasts, each a weighted sum of the scores of its variants.

A study file declares them as the answers to questions. By default, each variant is compared with the
baseline; if several factors vary, there are main effects and interactions of two. All contrasts of a study
are a family for which p is corrected, so a study should ask what it wants to know, and no more.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from augenmerk.base.errors import AugenmerkError

INTERACTION = " x "
AT_EACH = " at each "
"""What is between two factors in a declaration."""
LARGEST_WEIGHT = 1e6
EXAMPLE = "such as { a = 1, b = -0.5, c = -0.5 }"


@dataclass(frozen=True)
class Contrast:
    """A comparison that answers a question, or a part of it."""

    question: str
    variant: str  # what is compared: the name of a variant, or several in words
    against: str
    weights: dict[str, float]  # by variant; they sum to 0


@dataclass(frozen=True)
class Design:
    """The variants of a study, each with the value of every factor, and which of them is the baseline."""

    question: str
    variants: Mapping[str, Mapping[str, Any]]
    baseline: str
    name_values: Callable[[Mapping[str, Any]], str]
    """Returns how the names of variants write values of factors."""

    @property
    def factors(self) -> list[str]:
        """The factors that have several values."""
        return [factor for factor in self.variants[self.baseline] if len(self.levels(factor)) > 1]

    def levels(self, factor: str) -> list[Any]:
        """Returns the values of a factor, that of the baseline first."""
        found = [self.variants[self.baseline][factor]]
        for settings in self.variants.values():
            if settings[factor] not in found:  # a value may be a table, which cannot be hashed
                found.append(settings[factor])
        return found

    def average(self, wanted: Mapping[str, Any], sign: float = 1.0) -> dict[str, float]:
        """Returns the weights of the mean over all variants with these values."""
        chosen = [
            name
            for name, settings in self.variants.items()
            if all(settings[factor] == value for factor, value in wanted.items())
        ]
        return dict.fromkeys(chosen, sign / len(chosen))

    def name_mean(self, wanted: Mapping[str, Any]) -> str:
        """Returns the name of the variant with these values, or of the mean of several."""
        return self.name_values(wanted) if self.averaged(wanted) else next(iter(self.average(wanted)))

    def averaged(self, wanted: Mapping[str, Any]) -> str:
        """Returns a note on the factors over which such a mean is taken, or nothing."""
        others = [_shorten(factor) for factor in self.factors if factor not in wanted]
        return f" (averaged over {' and '.join(others)})" if others else ""


def plan_contrasts(design: Design, declared: Mapping[str, Any] | None, source: str) -> tuple[Contrast, ...]:
    """Returns the contrasts that a study file declares, by question, or the default if it declares none."""
    if declared is None:
        return tuple(_default(design))
    return tuple(
        each for question in declared for each in _read(design, question, declared[question], source)
    )


def _default(design: Design) -> Iterator[Contrast]:
    factors = design.factors
    if len(factors) < 2:
        for factor in factors:
            yield from _main(design, design.question, factor)
        return
    for factor in factors:
        yield from _main(design, f"Does {_shorten(factor)} matter?", factor)
    for factor, other in combinations(factors, 2):
        question = f"Does the effect of {_shorten(factor)} depend on {_shorten(other)}?"
        yield from _interaction(design, question, factor, other)


def _read(design: Design, question: str, declared: Any, source: str) -> Iterator[Contrast]:
    where = f"{source}: [contrasts] “{question}”"
    if not isinstance(declared, str):
        yield _weigh(design, question, declared, where)
        return
    for sign, make in ((INTERACTION, _interaction), (AT_EACH, _simple)):
        if sign in declared:
            first, _, second = declared.partition(sign)
            yield from make(design, question, *_find_factors(design, (first, second), where))
            return
    yield from _main(design, question, *_find_factors(design, (declared,), where))


def _find_factors(design: Design, names: Sequence[str], where: str) -> list[str]:
    """Returns the full names of different factors that have several values."""
    by_name = {name: factor for factor in design.factors for name in (_shorten(factor), factor)}
    found = [by_name.get(name.strip(), "") for name in names]
    for name, factor in zip(names, found, strict=True):
        if not factor or found.count(factor) > 1:
            raise AugenmerkError(
                f"{where}: '{name.strip()}' is not a factor to compare by; write one factor with several "
                f"values ({', '.join(map(_shorten, design.factors))}), A{INTERACTION}B, A{AT_EACH}B, or "
                f"weights of variants."
            )
    return found


def _main(design: Design, question: str, factor: str) -> Iterator[Contrast]:
    """Yields each value of a factor against that of the baseline, averaged over the other factors."""
    first, *others = design.levels(factor)
    for value in others:
        ours, theirs = {factor: value}, {factor: first}
        weights = _add(design.average(ours), design.average(theirs, -1))
        against = f"{design.name_mean(theirs)}{design.averaged(theirs)}"
        yield Contrast(question, design.name_mean(ours), against, weights)


def _simple(design: Design, question: str, factor: str, other: str) -> Iterator[Contrast]:
    """Yields the same separately for each value of another factor."""
    first, *values = design.levels(factor)
    for level in design.levels(other):
        for value in values:
            ours, theirs = {factor: value, other: level}, {factor: first, other: level}
            weights = _add(design.average(ours), design.average(theirs, -1))
            against = f"{design.name_mean(theirs)}{design.averaged(theirs)}"
            yield Contrast(question, design.name_mean(ours), against, weights)


def _interaction(design: Design, question: str, factor: str, other: str) -> Iterator[Contrast]:
    """Yields by how much more each value of a factor gains with each value of another one."""
    first, *values = design.levels(factor)
    usual, *conditions = design.levels(other)
    for value in values:
        gap = f"{design.name_values({factor: value})} − {design.name_values({factor: first})}"
        for condition in conditions:
            corners = (
                (value, condition, 1.0),
                (first, condition, -1.0),
                (value, usual, -1.0),
                (first, usual, 1.0),
            )
            parts = [design.average({factor: a, other: b}, sign) for a, b, sign in corners]
            at, against = (design.name_values({other: each}) for each in (condition, usual))
            yield Contrast(question, f"{gap} with {at}", f"that with {against}", _add(*parts))


def _weigh(design: Design, question: str, weights: Any, where: str) -> Contrast:
    if not isinstance(weights, dict) or not all(_is_weight(weight) for weight in weights.values()):
        raise AugenmerkError(f"{where}: write a factor, or the weights of variants, {EXAMPLE}.")
    for name in weights:
        if name not in design.variants:
            raise AugenmerkError(
                f"{where}: no variant is called '{name}'; there are {', '.join(design.variants)}."
            )
    sides = [{name: w * sign for name, w in weights.items() if w * sign > 0} for sign in (1, -1)]
    totals = [math.fsum(side.values()) for side in sides]
    if not all(sides) or not math.isclose(*totals, rel_tol=1e-6):
        raise AugenmerkError(f"{where}: the weights must sum to 0, {EXAMPLE}.")
    return Contrast(question, _name_side(sides[0]), _name_side(sides[1]), dict(weights))


def _is_weight(weight: Any) -> bool:
    # TOML has nan and inf, and integers of any length.
    return type(weight) in (int, float) and abs(weight) <= LARGEST_WEIGHT


def _name_side(side: Mapping[str, float]) -> str:
    if len(side) > 1 and len(set(side.values())) == 1 and math.isclose(sum(side.values()), 1):
        *names, last = side
        return f"the mean of {', '.join(names)} and {last}"
    return " + ".join(name if weight == 1 else f"{weight:g} {name}" for name, weight in side.items())


def _add(*parts: Mapping[str, float]) -> dict[str, float]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: math.fsum(part.get(name, 0.0) for part in parts) for name in names}


def _shorten(factor: str) -> str:
    return factor.rpartition(".")[2]
