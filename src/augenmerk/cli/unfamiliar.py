"""Warns of sentences unlike what a model learnt from, and of translations that leave something out."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from augenmerk.base.errors import format_message, shorten

if TYPE_CHECKING:
    from augenmerk.text.familiarity import Reason
    from augenmerk.translation import Translation


def warn(message: str) -> None:
    typer.echo(f"augenmerk: {message}", err=True)


class DoubtfulTranslations:
    """Counts translations to be doubted, for one warning about all of each kind."""

    def __init__(self, unit: str) -> None:
        """The unit is what is translated, such as a line."""
        self._unit = unit
        self._reasons: Counter[Reason] = Counter()
        self._first_unfamiliar = 0
        self._uncovered = 0
        self._first_uncovered = 0
        self._missing = ""

    def add(self, number: int, translation: "Translation") -> None:
        """Counts the translation with this number, if there is something to doubt."""
        if translation.unfamiliar is not None:
            self.add_unfamiliar(number, translation.unfamiliar)
        if translation.uncovered is not None:
            self.add_uncovered(number, translation.uncovered)

    def add_unfamiliar(self, number: int, reason: "Reason", count: int = 1) -> None:
        """Counts an unfamiliar sentence, and others with larger numbers for the same reason."""
        self._first_unfamiliar = self._first_unfamiliar or number
        self._reasons[reason] += count

    def add_uncovered(self, number: int, text: str, count: int = 1) -> None:
        """Counts a translation that leaves out `text`, and others with larger numbers."""
        if not self._uncovered:
            self._first_uncovered, self._missing = number, shorten(format_message(text))
        self._uncovered += count

    def warn(self, total: int, hint: str = "") -> None:
        """Prints what was counted among so many; the hint is for translations that leave something out."""
        if self._reasons:
            warn(self._describe_unfamiliar(total))
        if self._uncovered:
            warn(f"{self._describe_uncovered(total)}{hint}")

    def _describe_unfamiliar(self, total: int) -> str:
        from augenmerk.text.familiarity import REASONS

        count, unit, first = self._reasons.total(), self._unit, self._first_unfamiliar
        if count == 1:
            [reason] = self._reasons
            which = f"The {unit}" if total == 1 else f"{unit.capitalize()} {first:,}"
            return (
                f"{which} is unlike the text that this model was trained on (it has {REASONS[reason]}), and "
                f"its translation may be nonsense. Is it in the right language?"
            )
        reasons = "; ".join(
            f"{many:,} {'has' if many == 1 else 'have'} {REASONS[reason]}"
            for reason, many in self._reasons.most_common()
        )
        start = f", from {unit} {first:,} on," if count < total else ""
        return (
            f"{count:,} of {total:,} {unit}s{start} are unlike the text that this model was trained on "
            f"({reasons}); their translations may be nonsense. Are they in the right language?"
        )

    def _describe_uncovered(self, total: int) -> str:
        count, unit, first = self._uncovered, self._unit, self._first_uncovered
        if count == 1:
            which = "The translation" if total == 1 else f"The translation of {unit} {first:,}"
            return f"{which} probably leaves out “{self._missing}”: the model hardly looked at it."
        return (
            f"{count:,} of {total:,} translations probably leave out part of their {unit}, at which the "
            f"model hardly looked; the first is that of {unit} {first:,}, without “{self._missing}”."
        )


def warn_of_translations(translations: "Sequence[Translation]") -> None:
    """Warns of sentences of the command line unlike the training text, and of those not all translated."""
    doubtful = DoubtfulTranslations("sentence")
    for number, translation in enumerate(translations, 1):
        doubtful.add(number, translation)
    doubtful.warn(len(translations))


def warn_of_several_sentences(text: str, name: str, language: str | None) -> None:
    """Prints a warning if a text that is taken as one sentence has several."""
    from augenmerk.text.sentences import split_sentences

    if (count := len(split_sentences(text, language))) > 1:
        warn(
            f"{name} has {count:,} sentences, which are taken as one; the model learnt from single "
            f"sentences: give one at a time."
        )
