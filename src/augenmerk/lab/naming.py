"""Names mistakes: compares what an answer returns with what references with mistakes in them return.

A mistake is an edit of the reference's source. If no edited reference returns the same in all cases, those
with two mistakes are tried, and results in another shape.
"""

import __future__

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations, permutations
from operator import methodcaller
from pathlib import Path
from typing import Any

from torch import Tensor

from augenmerk.lab.exercises import EXERCISES, Exercise, Mistake
from augenmerk.lab.outcomes import Case, Outcome, call

_COMMON = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text("utf-8"))
SHAPES = {each["id"]: Mistake(**each) for each in _COMMON["shapes"]}
OBSERVED = {each["id"]: Mistake(**each) for each in _COMMON["observed"]}

Named = tuple[Mistake, str]
"""A mistake and the sentence about it."""
Change = Callable[[Any], Any]


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


def read_reference(name: str) -> str:
    """Returns the source of a reference, without its inputs."""
    return EXERCISES[name].source.partition("\n\ndef make_cases(")[0]


def edit_source(exercise: Exercise, edits: Sequence[str]) -> str | None:
    source = read_reference(exercise.name)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if old not in source:
            return None
        source = source.replace(old, new)
    return source


def name_mistakes(
    exercise: Exercise,
    cases: Sequence[Case],
    outcomes: Sequence[Outcome],
    expected: Sequence[Outcome],
) -> list[Named]:
    """Returns the mistakes which explain all outcomes of an answer; none if they are not known.

    An accepted alternative explains an outcome too, and is returned as it is.
    """
    changes = list(_list_changes(exercise, [each.value for each in expected]))
    # The case that differs first is compared first: most candidates fail it.
    order = sorted(range(len(cases)), key=lambda n: outcomes[n].equals(expected[n]))

    def fits(edits: tuple[str, ...], change: Change | None = None) -> bool:
        reference = compile_reference(exercise.name, edits)
        if reference is None:
            return False
        for n in order:
            made = call(reference, cases[n], outcomes[n].weights) if edits else expected[n]
            if change is not None and made.error is None:
                try:
                    made = Outcome(change(made.value))
                except (IndexError, TypeError):  # a result of another shape than the reference's
                    return False
            if not outcomes[n].equals(made):
                return False
        return any(each.error is None for each in outcomes)

    for named, change in changes:
        if fits((), change):
            return [named]
    for mistake in exercise.mistakes:
        if fits(mistake.edits):
            return [(mistake, mistake.says)]
    for mistake in exercise.mistakes:
        for named, change in changes:
            if fits(mistake.edits, change):
                return _without_accepted((mistake, mistake.says), named)
    tried = set[str | None]()
    for one, other in combinations(exercise.mistakes, 2):
        for edits in (one.edits + other.edits, other.edits + one.edits):
            source = edit_source(exercise, edits)
            if one.id != other.id and source not in tried and fits(edits):
                return _without_accepted((one, one.says), (other, other.says))
            tried.add(source)
    return []


def _without_accepted(*named: Named) -> list[Named]:
    return [each for each in named if not each[0].accepted] or list(named)


def _list_changes(exercise: Exercise, expected: Sequence[Any]) -> Iterator[tuple[Named, Change]]:
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
        part = expected[-1] if len(names) == 1 else expected[-1][place] if expected[-1] else None
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
    return SHAPES[mistake], SHAPES[mistake].says.format(**filled)


def say_observed(mistake: str, output: str = "", line: str = "") -> Named:
    """Returns a mistake that does not come from a comparison, with its sentence."""
    found = OBSERVED[mistake]
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


def list_mistakes(exercise: Exercise) -> Mapping[str, float]:
    """Returns the ids of all mistakes of an exercise, with the share of the points that each loses."""
    own = {each.id: each.cost for each in exercise.mistakes if not each.accepted}
    return own | {each.id: each.cost for each in (*SHAPES.values(), *OBSERVED.values())}
