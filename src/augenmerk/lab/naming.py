"""Names mistakes: compares what an answer returns with what references with mistakes in them return.

A mistake is an edit of the reference's source. If no edited reference returns the same in all cases, those
with two mistakes are tried, and results in another shape.
"""

import __future__

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import combinations, permutations
from operator import methodcaller
from typing import Any

from torch import Tensor

from augenmerk.lab.exercises import COMMON, EXERCISES, Exercise, Mistake, read_reference
from augenmerk.lab.outcomes import Case, Outcome, call

Named = tuple[Mistake, str]
"""A mistake and the sentence about it."""
Change = Callable[[Any], Any]
Tried = tuple[Case, Outcome, Outcome]
"""An input, with what came of the answer, and what came of the reference."""
FIRST_CASES, MOST_PROMISING = 2, 6
"""A third mistake is sought for so many pairs that explain so many cases; more would take long."""


@cache
def compile_reference(name: str, edits: tuple[str, ...] = ()) -> Any:
    """Returns the reference of an exercise, with edits of its source; None if one of them does not apply."""
    exercise = EXERCISES[name]
    source = edit_source(exercise, edits)
    if source is None:
        return None
    space: dict[str, Any] = {"__name__": f"reference_{name}"}
    exec(compile(source, f"<{name}>", "exec", __future__.annotations.compiler_flag), space)
    return space[exercise.object]


def edit_source(exercise: Exercise, edits: Sequence[str]) -> str | None:
    source = read_reference(exercise.name)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if old not in source:
            return None
        source = source.replace(old, new)
    return source


def name_mistakes(exercise: Exercise, tried: Sequence[Tried]) -> list[Named]:
    """Returns the mistakes which explain all outcomes of an answer; none if they are not known.

    An accepted alternative explains an outcome too, and is returned as it is.
    """
    if all(outcome.error for _, outcome, _ in tried):
        return []
    changes = list(_list_changes(exercise, tried[-1][2].value))
    # Cases that differ from the reference are compared first: most candidates fail the first of them.
    ordered = sorted(tried, key=lambda each: each[1].equals(each[2]))

    def count(edits: tuple[str, ...], change: Change | None = None) -> int:
        """Returns how many cases such a reference explains, up to the first that it does not."""
        reference = compile_reference(exercise.name, edits)
        for done, (case, outcome, expected) in enumerate(ordered if reference else ()):
            made = call(reference, case, outcome.weights) if edits else expected
            try:
                made = Outcome(change(made.value)) if change and not made.error else made
            except (IndexError, TypeError):  # a result of another shape than the reference's
                return done
            if not outcome.equals(made):
                return done
        return len(tried) if reference else 0

    for named, change in changes:
        if count((), change) == len(tried):
            return [named]
    for mistake in exercise.mistakes:
        if count(mistake.edits) == len(tried):
            return [(mistake, mistake.says)]
    for mistake in exercise.mistakes:
        for named, change in changes:
            if count(mistake.edits, change) == len(tried):
                return _without_accepted([(mistake, mistake.says), named])
    found = _find_several(exercise, count, len(tried))
    return _without_accepted([(each, each.says) for each in found])


def _find_several(
    exercise: Exercise, count: Callable[[tuple[str, ...]], int], cases: int
) -> tuple[Mistake, ...]:
    """Returns two mistakes that explain all cases, or three of which two explain the first cases."""
    tried = set[str | None]()
    promising = []
    for pair in combinations(exercise.mistakes, 2):
        for one, other in (pair, pair[::-1]):
            edits = one.edits + other.edits
            source = edit_source(exercise, edits)
            explained = 0 if one.id == other.id or source in tried else count(edits)
            tried.add(source)
            if explained == cases:
                return pair
            if explained >= FIRST_CASES:
                promising.append((pair, edits))
    for pair, edits in promising[:MOST_PROMISING]:
        for third in exercise.mistakes:
            if cases in (count(edits + third.edits), count(third.edits + edits)):
                return *pair, third
    return ()


def _without_accepted(named: list[Named]) -> list[Named]:
    return [each for each in named if not each[0].accepted] or named


def _list_changes(exercise: Exercise, expected: Any) -> Iterator[tuple[Named, Change]]:
    """Yields what may happen to a right result on its way out."""
    names = exercise.returns
    yield _say("nothing returned"), lambda _: None
    if len(names) > 1:
        for count in range(1, len(names)):
            for kept in combinations(range(len(names)), count):
                only = " and ".join(names[n] for n in kept)
                yield _say("not all returned", output=only), partial(_take, kept)
        for order in permutations(range(len(names))):
            if order != tuple(range(len(names))):
                right = ", ".join(names)
                said = _say("returned in another order", output=right)
                yield said, partial(_take, order)
    for place, name in enumerate(names):
        part = expected if len(names) == 1 else expected[place] if expected else None
        if not isinstance(part, Tensor):
            continue
        for one, other in combinations(range(part.dim()), 2):
            said = _say("transposed", output=name, axes=f"{one} and {other}")
            yield said, _at(place, len(names), methodcaller("transpose", one, other))
        for axis in range(part.dim() + 1):
            said = _say("an axis too many", output=name)
            yield said, _at(place, len(names), methodcaller("unsqueeze", axis))
        said = _say("an axis is missing", output=name)
        yield said, _at(place, len(names), lambda x: x.squeeze() if x.squeeze().dim() else float(x))


def _say(mistake: str, **filled: str) -> Named:
    return COMMON[mistake], COMMON[mistake].says.format(**filled)


def say_observed(mistake: str, output: str = "", line: str = "") -> Named:
    """Returns a mistake that does not come from a comparison, with its sentence."""
    found = COMMON[mistake]
    sentence = found.says.format(output=output, line=line)
    return found, sentence[:1].upper() + sentence[1:]


def _take(places: Sequence[int], value: Any) -> Any:
    taken = [value[place] for place in places] if isinstance(value, list) else value
    return taken[0] if isinstance(taken, list) and len(taken) == 1 else taken


def _at(place: int, count: int, change: Change) -> Change:
    """Returns a change of one of several results."""

    def changed(value: Any) -> Any:
        if count == 1:
            return change(value) if isinstance(value, Tensor) else value
        parts = list(value)
        parts[place] = change(parts[place]) if isinstance(parts[place], Tensor) else parts[place]
        return parts

    return changed
