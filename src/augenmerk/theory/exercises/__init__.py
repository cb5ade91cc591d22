"""The table of exercises, one TOML file each: all that lists exercises reads it.

To add an exercise, add a file. Its name is the name of the command; its keys are those of `Exercise`:

    title, question, hints, [names]    what the reader is asked; `[de]` has the same four in German
    formula                            a line above the question in every language
    experiment, figure                 `module:function` in this package: see `Result` for what they exchange
    claim, result_title                what the experiment shows; the title may name settings, as in {heads}
    summary, example, options          the command: its line of help, an example, and its flags with defaults
    [answer]                           what `augenmerk theory check` asks for: see `AnswerKey`

Line breaks in a text mean no more than spaces.
"""

import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from augenmerk.base.console import Shown
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import atomic_write

if TYPE_CHECKING:
    from rich.console import RenderableType

if TYPE_CHECKING:  # they need numpy and scipy, and a question needs neither
    from augenmerk.theory.results import Result, Setup

_ROOT = "/sqrt(d)"
QUESTION_WIDTH = 96
"""Columns of a hand-out of questions."""


@dataclass(frozen=True)
class AnswerKey:
    """What an answer must give, and what it is tried under."""

    prompt: str
    """What to give to `augenmerk theory check`, with the answer itself left out."""
    formulas: tuple[tuple[str, ...], ...]
    """The names of the formulas that are asked for; several if there may be one query or two."""
    tried_by: str
    """`module:class` of the `Experiment` that tries an answer."""
    conditions: tuple[Mapping[str, Any], ...]
    """What it is tried under: the fields of each of the experiment's conditions."""
    mistakes: Mapping[str, str]
    """Typical mistakes, by their names in `results.py`, each with an answer that makes it."""
    targets: tuple[str, ...] = ()
    """The keys whose values the output has to average, if the answer is queries."""
    also_known: tuple[str, ...] = ()
    """Names that an answer may use beside those of the question."""


@dataclass(frozen=True)
class Wording:
    """The question in another language; names and formulas stay as they are."""

    title: str
    text: str
    names: Mapping[str, str]
    hints: tuple[str, ...]


@dataclass(frozen=True)
class Exercise:
    task: str
    title: str
    text: str
    """The question, below the formula if there is one."""
    hints: tuple[str, ...]
    """Hints that give away more and more."""
    summary: str
    experiment: str
    figure: str
    example: str
    claim: str
    options: Mapping[str, Any]
    names: Mapping[str, str] = field(default_factory=dict)
    """The names in the question, each with its meaning."""
    result_title: str = ""
    answer: AnswerKey | None = None
    german: Wording | None = None

    @property
    def key(self) -> AnswerKey:
        """What an answer must give, of an exercise whose answers can be graded."""
        assert self.answer is not None
        return self.answer

    @cached_property
    def known(self) -> frozenset[str]:
        """The names that an answer may use."""
        also = self.answer.also_known if self.answer else ()
        return frozenset({name for names in self.names for name in names.split(", ")}.union(also))

    def without_root(self) -> "Exercise":
        """Returns the exercise about attention without 1/sqrt(d), if there is such a form of it."""
        if "unscaled" not in self.options:
            return self
        hints = tuple(hint.replace(_ROOT, "") for hint in self.hints)
        return replace(self, text=self.text.replace(_ROOT, ""), hints=hints)

    def to_dict(self, hints: int) -> dict[str, Any]:
        """Returns the question with the first of its hints."""
        return {
            **{"task": self.task, "title": self.title, "question": self.text, "names": dict(self.names)},
            **{"answer": self.answer.prompt if self.answer else "", "hints": list(self.hints[:hints])},
            "hints_in_all": len(self.hints),
        }

    def run(self, setup: "Setup") -> "Result":
        """Runs the experiment."""
        result: Result = find_function(self.experiment)(setup)
        title = (self.result_title or self.title).format(**result.settings)
        return replace(result, task=self.task, title=title, claim=self.claim)


def find_function(reference: str) -> Callable[..., Any]:
    """Imports `module:function` of this package."""
    module, _, name = reference.partition(":")
    return getattr(import_module(f"augenmerk.theory.{module}"), name)  # type: ignore[no-any-return]


def _tidy(value: Any) -> Any:
    """Returns a value of a TOML file without line breaks in texts, and with tuples for lists."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return tuple(map(_tidy, value))
    return {key: _tidy(each) for key, each in value.items()} if isinstance(value, dict) else value


def _read(path: Path) -> Exercise:
    fields = _tidy(tomllib.loads(path.read_text("utf-8")))
    formula = f"{fields.pop('formula')}\n" if "formula" in fields else ""
    fields["text"] = formula + fields.pop("question")
    if "answer" in fields:
        fields["answer"] = AnswerKey(**fields["answer"])
    if german := fields.pop("de", None):
        fields["german"] = Wording(text=formula + german.pop("question"), **german)
    return Exercise(task=path.name.removesuffix(".toml"), **fields)


EXERCISES: Mapping[str, Exercise] = MappingProxyType(
    {each.task: each for each in map(_read, sorted(Path(__file__).parent.glob("*.toml")))}
)
GRADED = tuple(task for task, exercise in EXERCISES.items() if exercise.answer)
"""The tasks whose answers can be graded."""


def format_questions(exercises: Iterable[Exercise]) -> str:
    """Formats questions, without hints, as a Markdown document."""
    lines = ["# What attention can and cannot compute: the questions", ""]
    for exercise in exercises:
        *formulas, text = exercise.text.split("\n")
        lines += [f"## {exercise.task}: {exercise.title}", ""]
        lines += [part for formula in formulas for part in (f"    {formula}", "")]
        lines += [*textwrap.wrap(text, QUESTION_WIDTH), ""]
        if exercise.answer:
            lines += ["| name | meaning |", "|---|---|"]
            lines += [f"| {name} | {meaning} |" for name, meaning in exercise.names.items()]
            lines += ["", f"Answer: {exercise.answer.prompt}", ""]
    return "\n".join(lines)


class Question(Shown):
    """A question with the first of its hints."""

    def __init__(self, exercise: Exercise, hints: int = 0, *, unscaled: bool = False) -> None:
        self.exercise = exercise.without_root() if unscaled else exercise
        self.hints, self._unscaled = hints, unscaled

    def to_dict(self) -> dict[str, Any]:
        return self.exercise.to_dict(self.hints)

    def show(self) -> "Iterable[RenderableType]":
        from augenmerk.theory import wording

        return wording.show_question(self.exercise, self.hints, self._unscaled)


class Questions(Shown, list[Question]):
    """The questions of all tasks."""

    def to_dict(self) -> dict[str, Any]:
        return {"questions": [each.to_dict() for each in self]}

    def show(self) -> "Iterator[RenderableType]":
        for each in self:
            yield from each.show()
            yield ""


def find_exercise(task: str) -> Exercise:
    """Returns an exercise, or raises AugenmerkError if there is none of this name."""
    if task not in EXERCISES:
        raise AugenmerkError(f"There is no task '{shorten(task)}'; the tasks are {', '.join(EXERCISES)}.")
    return EXERCISES[task]


def ask_all(out: str | Path | None = None, *, unscaled: bool = False) -> Questions:
    """Returns the questions of all tasks, and writes them to a Markdown file if one is named."""
    found = Questions(Question(each, unscaled=unscaled) for each in EXERCISES.values())
    if out is not None:
        if Path(out).suffix.lower() not in (".md", ".txt"):
            raise AugenmerkError(f"{out}: questions are written as Markdown, to a name that ends in .md.")
        atomic_write(Path(out), [format_questions([each.exercise for each in found]).encode()])
    return found


def ask(task: str, hints: int = 0, *, unscaled: bool = False) -> Question:
    """Returns the question of a task; `unscaled` leaves out the 1/sqrt(d)."""
    return Question(find_exercise(task), hints, unscaled=unscaled)
