"""The table of exercises, one TOML file each: all that lists exercises reads it.

To add an exercise, add a file. Its name is the name of the command; its keys are those of `Exercise`:

    title, question, hints, [names]    what the reader is asked; `[de]` has the same four in German
    formula                            a line above the question in every language
    experiment, figure                 `module:function` in this package: see `Result` for what they exchange
    claim, result_title                what the experiment shows; the title may name settings, as in {heads}
    summary, example, options          the command: its line of help, an example, and its flags with defaults
    [answer]                           what `augenmerk theory check` asks for: see `AnswerKey`
    statements                         if the answer has to choose one: these, as in `[de]`

A variant of an exercise is a file with its name and one more word, such as `1.3-observation.toml`. It has
only what differs; `[answer]` and `[de]` keep what they do not replace. Line breaks in a text mean no more
than spaces.
"""

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
from augenmerk.drawing.sheet import SheetQuestion, check_language, write_sheets

if TYPE_CHECKING:
    from rich.console import RenderableType

if TYPE_CHECKING:  # they need numpy and scipy, and a question needs neither
    from augenmerk.theory.results import Result, Setup

_ROOT = "/sqrt(d)"
_LETTER_OF_STATEMENT = ("the letter of a statement", "der Buchstabe einer Aussage")


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
    solution: str
    """A right answer, for the teacher."""
    targets: tuple[str, ...] = ()
    """The keys whose values the output has to average, if the answer is queries."""
    also_known: tuple[str, ...] = ()
    """Names that an answer may use beside those of the question."""
    withheld: tuple[str, ...] = ()
    """Names that can be read, but make an answer wrong."""
    statement: str = ""
    """The letter of the statement that is true, if there are some to choose from."""


@dataclass(frozen=True)
class Wording:
    """The question in another language; names and formulas stay as they are."""

    title: str
    text: str
    names: Mapping[str, str]
    hints: tuple[str, ...]
    claim: str
    statements: tuple[str, ...] = ()


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
    statements: tuple[str, ...] = ()
    """Statements, one of which an answer has to choose by its letter."""
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
        withheld = self.answer.withheld if self.answer else ()
        return frozenset({name for names in self.names for name in names.split(", ")}.union(also, withheld))

    @property
    def base(self) -> str:
        """The task that this is, or is a variant of."""
        return self.task.partition("-")[0]

    @property
    def is_variant(self) -> bool:
        return self.base != self.task

    def in_language(self, language: str) -> "Exercise":
        """Returns the exercise with its texts in English or German, if there are any in German."""
        if language != "de" or not self.german:
            return self
        return replace(self, **vars(self.german))

    def without_root(self) -> "Exercise":
        """Returns the exercise about attention without 1/sqrt(d), if there is such a form of it."""
        if "unscaled" not in self.options:
            return self
        german = self.german and replace(self.german, **_drop_root(self.german))
        return replace(self, **_drop_root(self), german=german)

    def to_dict(self, hints: int) -> dict[str, Any]:
        """Returns the question with the first of its hints."""
        return {
            **{"task": self.task, "title": self.title, "question": self.text, "names": dict(self.names)},
            **{"answer": self.answer.prompt if self.answer else "", "hints": list(self.hints[:hints])},
            **{"statements": list(self.statements), "hints_in_all": len(self.hints)},
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


def _drop_root(words: Exercise | Wording) -> dict[str, Any]:
    """Returns the texts that mention 1/sqrt(d), without it."""
    return {"text": words.text.replace(_ROOT, ""), "hints": tuple(h.replace(_ROOT, "") for h in words.hints)}


def _read(path: Path) -> Exercise:
    task = path.name.removesuffix(".toml")
    fields = _tidy(tomllib.loads(path.read_text("utf-8")))
    if "-" in task:
        usual = _tidy(tomllib.loads(path.with_name(f"{task.partition('-')[0]}.toml").read_text("utf-8")))
        fields = usual | fields | {part: usual[part] | fields.get(part, {}) for part in ("answer", "de")}
    formula = f"{fields.pop('formula')}\n" if "formula" in fields else ""
    fields["text"] = formula + fields.pop("question")
    if "answer" in fields:
        fields["answer"] = AnswerKey(**fields["answer"])
    if german := fields.pop("de", None):
        fields["german"] = Wording(text=formula + german.pop("question"), **german)
    return Exercise(task=task, **fields)


EXERCISES: Mapping[str, Exercise] = MappingProxyType(
    {
        path.name.removesuffix(".toml"): _read(path)
        for path in sorted(Path(__file__).parent.glob("*.toml"), key=lambda path: path.name[: -len(".toml")])
    }
)
GRADED = tuple(task for task, exercise in EXERCISES.items() if exercise.answer)
"""The tasks whose answers can be graded, with their variants."""
TASKS = tuple(task for task, exercise in EXERCISES.items() if not exercise.is_variant)
"""The tasks, without their variants."""


def list_variants() -> list[str]:
    """Returns the variants as options name them, such as `1.3=observation`."""
    return [task.replace("-", "=", 1) for task in EXERCISES if EXERCISES[task].is_variant]


def choose_variants(texts: Iterable[str]) -> dict[str, str]:
    """Reads `1.3=observation`; returns for each task that is named the name of its variant."""
    chosen = {}
    for text in texts:
        task, _, variant = (part.strip() for part in text.partition("="))
        name = task if variant in ("", "usual") else f"{task}-{variant}"
        if name not in EXERCISES or "=" not in text:
            known = ", ".join(list_variants())
            raise AugenmerkError(f"--variant {shorten(text)}: there is no such variant; there are {known}.")
        chosen[task] = name
    return chosen


def choose_tasks(text: str, variants: Mapping[str, str] | None = None) -> list[Exercise]:
    """Returns the exercises of a list such as `1.1-1.4,1.6`, each in the variant that was chosen for it."""
    chosen: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        first, _, last = (end.strip() for end in part.replace("–", "-").partition("-"))
        if part in EXERCISES:
            chosen.append(part)
        elif first in TASKS and last in TASKS and TASKS.index(first) <= TASKS.index(last):
            chosen += TASKS[TASKS.index(first) : TASKS.index(last) + 1]
        else:
            raise AugenmerkError(
                f"--tasks {shorten(text)}: there is no task '{shorten(part)}'; give names and ranges such as "
                f"1.1-1.4,1.6 of {', '.join(EXERCISES)}."
            )
    return [EXERCISES[(variants or {}).get(task, task)] for task in dict.fromkeys(chosen)]


def make_question(exercise: Exercise, language: str) -> SheetQuestion:
    """Returns what a sheet shows of an exercise."""
    exercise = exercise.in_language(language)
    *formulas, text = exercise.text.split("\n")
    asked = SheetQuestion(exercise.base, exercise.title, text, tuple(formulas), claim=exercise.claim)
    if not exercise.answer:
        return asked
    key = exercise.answer
    return replace(
        asked,
        names=exercise.names,
        statements=exercise.statements,
        answer=key.prompt if language == "en" else key.prompt.replace(*_LETTER_OF_STATEMENT),
        solution=key.solution,
        mistakes={answer: mistake for mistake, answer in key.mistakes.items()},
    )


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
    """The questions of several tasks."""

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


def ask_all(
    out: str | Path | None = None,
    *,
    tasks: str = "",
    variants: Iterable[str] = (),
    language: str = "en",
    key: str | Path | None = None,
    unscaled: bool = False,
) -> Questions:
    """Returns the questions of some tasks, by default of all, such as `1.1-1.4,1.6`.

    Writes them to a sheet, Markdown or a page to print, if one is named, and with answers to `key`.
    `variants` are those that are set, such as `1.3=observation`. Texts are in English (en) or German (de).
    """
    check_language(language)
    chosen = choose_variants(variants)
    exercises = choose_tasks(tasks or ",".join(TASKS), chosen)
    if unscaled:
        exercises = [each.without_root() for each in exercises]
    questions = [make_question(each, language) for each in exercises]
    write_sheets({"theory": questions}, language, out, key)
    return Questions(Question(each.in_language(language), unscaled=unscaled) for each in exercises)


def ask(task: str, hints: int = 0, *, unscaled: bool = False) -> Question:
    """Returns the question of a task; `unscaled` leaves out the 1/sqrt(d)."""
    return Question(find_exercise(task), hints, unscaled=unscaled)
