"""How translations are printed: as lines or JSON, and in sentences about those to be doubted.

To be doubted are those of an unfamiliar source, and those that leave something out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import Shown, make_table, warn
from augenmerk.base.errors import format_message, shorten
from augenmerk.base.files import format_json
from augenmerk.text.batching import REASONS, Reason
from augenmerk.text.words import split_sentences
from augenmerk.translation.translation import Translation


class BeamTree(Shown, dict[str, Any]):
    """The beam search of a sentence as plain data, of which it shows what was not pruned."""

    def show(self) -> Iterator[RenderableType]:
        yield f"[bold]{escape(self['source'])}[/]"
        children: dict[int | None, list[dict[str, Any]]] = {}
        for node in self["nodes"]:
            if node["status"] != "pruned":
                children.setdefault(node["parent"], []).append(node)
        waiting = children.get(None, [])[::-1]
        while waiting:
            node = waiting.pop()
            end = " [bold]finished[/]" if node["status"] == "finished" else ""
            yield f"{'  ' * node['step']}{escape(node['text'])}  [dim]{node['log_probability']:.2f}[/]{end}"
            waiting += children.get(node["id"], [])[::-1]
        rows = [[f"{one['score']:.3f}", escape(one["translation"])] for one in self["hypotheses"]]
        yield make_table(("score", "translation"), rows, left=0)


@dataclass(frozen=True)
class LineFormat:
    """How translations are written."""

    n_best: bool = False
    """A line for each alternative: the number of the text, the score and the translation. Of a text with
    several sentences, the alternatives of each, numbered 1.1, 1.2, and so on."""
    json: bool = False
    """Each text as one line of JSON, with all that is known about it."""
    subwords: bool = False
    """Whether JSON includes the subwords."""
    escape: bool = False
    """Whether JSON has escapes instead of all characters that are not ASCII."""
    one_line: bool = True
    """Whether a translation takes one line, also where the source has a character that breaks lines."""

    def format(self, number: int | str, translation: Translation) -> Iterator[str]:
        """Yields the lines for text `number`, counted from 1."""
        if self.json:
            yield format_json(translation.to_dict(subwords=self.subwords), escape=self.escape) + "\n"
        elif not self.n_best:
            lines = translation.text.splitlines()
            yield f"{' '.join(lines) if self.one_line else translation.text}\n"
        elif translation.sentences:
            for position, sentence in enumerate(translation.sentences, 1):
                yield from self.format(f"{number}.{position}", sentence)
        else:
            for alternative in (translation, *translation.alternatives):
                expected_chrf = alternative.expected_chrf
                score = f"{alternative.score if expected_chrf is None else expected_chrf:.4f}"
                if alternative.hypothesis is None:
                    score = ""  # an empty line; 0 would be the best of all scores
                yield f"{number}\t{score}\t{alternative.text}\n"


class Doubts:
    """Counts translations to be doubted, for one sentence about all of each kind."""

    def __init__(self, unit: str) -> None:
        """The unit is line or sentence."""
        self._unit = unit
        self._unfamiliar: Counter[Reason] = Counter()
        self._first_unfamiliar = 0
        self._uncovered = self._first_uncovered = 0
        self._missing = ""

    def add(self, number: int, translation: Translation) -> None:
        """Counts the translation with this number, if there is something to doubt."""
        if translation.unfamiliar is not None:
            self.add_unfamiliar(translation.unfamiliar, 1, number)
        if translation.uncovered is not None:
            self.add_uncovered(1, number, translation.uncovered)

    def add_unfamiliar(self, reason: Reason, count: int, first: int) -> None:
        """Counts unfamiliar sentences; their numbers are larger than those of earlier calls."""
        self._first_unfamiliar = self._first_unfamiliar or first
        self._unfamiliar[reason] += count

    def add_uncovered(self, count: int, first: int, text: str) -> None:
        """Counts translations that leave something out, the first of them `text`."""
        if not self._uncovered:
            self._first_uncovered, self._missing = first, shorten(format_message(text))
        self._uncovered += count

    def describe(self, total: int, hint: str = "") -> Iterator[str]:
        """Yields a sentence about each kind among `total` units; the hint is for what was left out."""
        unit = self._unit
        if (count := self._unfamiliar.total()) == 1:
            [reason] = self._unfamiliar
            which = f"The {unit}" if total == 1 else f"{unit.capitalize()} {self._first_unfamiliar:,}"
            which, reasons = f"{which} is", f"it has {REASONS[reason]}"
        elif count:
            which = f"{count:,} of {total:,} {unit}s, from {unit} {self._first_unfamiliar:,} on, are"
            found = self._unfamiliar.most_common()
            reasons = "; ".join(f"{many:,} with {REASONS[reason]}" for reason, many in found)
        if count:
            yield (
                f"{which} unlike the text that this model was trained on ({reasons}), and so the translation "
                f"may be nonsense. Is the text in the right language?"
            )
        if self._uncovered:
            text = ""
            if self._uncovered > 1:
                text = f"{self._uncovered:,} of {total:,} translations probably leave out something. "
            which = (
                "The translation" if total == 1 else f"The translation of {unit} {self._first_uncovered:,}"
            )
            text += f"{which} probably leaves out “{self._missing}”: the model hardly looked at it."
            yield f"{text}{hint}"


def warn_of_translations(translations: Sequence[Translation]) -> None:
    """Warns of sentences unlike the training text, and of those not all translated."""
    doubts = Doubts("sentence")
    for number, translation in enumerate(translations, 1):
        doubts.add(number, translation)
    for sentence in doubts.describe(len(translations)):
        warn(sentence)


def warn_of_several_sentences(text: str, name: str, language: str | None) -> None:
    """Prints a warning if a text that is taken as one sentence has several."""
    if (count := len(split_sentences(text, language))) > 1:
        warn(
            f"{name} has {count:,} sentences, which are taken as one; the model learnt from single "
            f"sentences: give one at a time."
        )
