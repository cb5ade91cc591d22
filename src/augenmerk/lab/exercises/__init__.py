"""The table of exercises in code: all that lists exercises reads it.

To add an exercise, add two files of its name. `NAME.py` has the reference, under the name that the answer
must have, and `make_cases(draw)`, which yields the inputs, the smallest first. `NAME.toml` has

    number, points     its place in the sheet, and what it is worth
    object             the name of the class or function that is asked for
    returns            names of what it returns
    [en], [de]         title, question and contract; the contract becomes the docstring of the skeleton
    [[mistakes]]       id, says (a sentence for the student), edits of the reference (old, new, old, new),
                       and cost, the share of the points that it loses, if it is not 0.5
    [[alternatives]]   id, says, edits: what the contract does not ask for, but is accepted
"""

import ast
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.frames import as_list

WITHOUT_NAME = ("error", "wrong result", "not done", "missing")
"""Findings that name no mistake."""
COST = 0.5
"""The share of an exercise's points that a mistake loses, unless its entry or the rubric has another."""


@dataclass(frozen=True)
class Mistake:
    id: str
    says: str
    edits: tuple[str, ...] = ()
    cost: float = COST
    accepted: bool = False


def _read_mistakes(fields: dict[str, Any]) -> Iterator[Mistake]:
    for accepted, key in ((True, "alternatives"), (False, "mistakes")):
        for each in fields.pop(key, []):
            edits, says = tuple(each.pop("edits", ())), " ".join(each.pop("says").split())
            yield Mistake(**each, says=says, edits=edits, accepted=accepted)


_FOLDER = Path(__file__).parent
_COMMON_FILE = _FOLDER.parent / "mistakes.toml"
COMMON = {each.id: each for each in _read_mistakes(tomllib.loads(_COMMON_FILE.read_text("utf-8")))}
"""Mistakes that are possible in every exercise, by id."""


@dataclass(frozen=True)
class Wording:
    """What students read, in one language."""

    title: str
    question: str
    contract: str


@dataclass(frozen=True)
class Exercise:
    name: str
    number: int
    points: float
    object: str
    returns: tuple[str, ...]
    texts: Mapping[str, Wording]
    """By language, `en` and `de`."""
    mistakes: tuple[Mistake, ...]

    @property
    def title(self) -> str:
        return self.texts["en"].title

    @cached_property
    def source(self) -> str:
        """The file with the reference."""
        return (_FOLDER / f"{self.name}.py").read_text("utf-8")

    @property
    def costs(self) -> dict[str, float]:
        """The share of the points that each mistake loses."""
        own = {each.id: each for each in self.mistakes if not each.accepted}
        return {
            name: each.cost for name, each in (own | COMMON).items() if each.cost and name not in WITHOUT_NAME
        }

    def make_cases(self, seed: int) -> list[Any]:
        """Returns the inputs for a seed, as `Case`s."""
        from augenmerk.lab.outcomes import Draw

        module = import_module(f"augenmerk.lab.exercises.{self.name}")
        return list(module.make_cases(Draw(f"{self.name} {seed}")))

    def make_skeleton(self, language: str = "en") -> str:
        """Returns the class or function without its body: what a student fills in."""
        (found,) = (each for each in ast.parse(self.source).body if getattr(each, "name", "") == self.object)
        text = self.texts[language]
        described = textwrap.indent(f'"""{text.title}.\n\n{text.contract}\n"""', "    ")
        to_do = "    raise NotImplementedError"
        if isinstance(found, ast.FunctionDef):
            return f"{self._read_head(found)}\n{described}\n{to_do}"
        assert isinstance(found, ast.ClassDef)
        parts = [f"class {self.object}(nn.Module):\n{described}"]
        for each in found.body:
            if isinstance(each, ast.FunctionDef) and each.name in ("__init__", "forward"):
                start = "        super().__init__()\n" if each.name == "__init__" else ""
                parts.append(f"{self._read_head(each)}\n{start}    {to_do}")
        return "\n\n".join(parts)

    def _read_head(self, function: ast.FunctionDef) -> str:
        lines = self.source.splitlines()[function.lineno - 1 : function.body[0].lineno - 1]
        return "\n".join(line.partition("  # noqa")[0] for line in lines)


def _read(path: Path) -> Exercise:
    fields = tomllib.loads(path.read_text("utf-8"))
    mistakes = tuple(_read_mistakes(fields))
    texts = {
        language: Wording(**{name: text.strip() for name, text in fields.pop(language).items()})
        for language in ("en", "de")
    }
    returns = tuple(fields.pop("returns"))
    return Exercise(path.stem, **fields, returns=returns, texts=texts, mistakes=mistakes)


EXERCISES: Mapping[str, Exercise] = {
    each.name: each for each in sorted(map(_read, _FOLDER.glob("*.toml")), key=lambda each: each.number)
}


def find_exercise(name: str) -> Exercise:
    """Returns an exercise, or raises AugenmerkError if there is none of this name."""
    if name not in EXERCISES:
        known = ", ".join(EXERCISES)
        raise AugenmerkError(f"There is no exercise '{shorten(name)}'; the exercises are {known}.")
    return EXERCISES[name]


def choose_exercises(names: Iterable[str] | str | None) -> list[Exercise]:
    """Returns the exercises of these names in their order, or all for none."""
    chosen = {find_exercise(name).name for name in as_list(names, str)} or {*EXERCISES}
    return [each for name, each in EXERCISES.items() if name in chosen]


def read_reference(name: str) -> str:
    """Returns the source of a reference, without its inputs."""
    return EXERCISES[name].source.partition("\n\ndef make_cases(")[0]
