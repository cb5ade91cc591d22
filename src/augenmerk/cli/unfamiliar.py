"""Warns of sentences unlike what a model learnt from, and of translations that leave something out."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from augenmerk.base.errors import format_message, shorten

if TYPE_CHECKING:
    from augenmerk.text.familiarity import Reason
    from augenmerk.translation import Translation


class Unfamiliar:
    """Counts the sentences that are unlike what the model learnt from, for one warning about all of them."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._first = 0
        self.reasons: Counter[Reason] = Counter()

    def add(self, number: int, reason: "Reason", count: int = 1) -> None:
        """Counts the sentence with this number, and others with larger ones for the same reason."""
        self._first = self._first or number
        self.reasons[reason] += count

    def describe(self, total: int) -> str:
        from augenmerk.text.familiarity import REASONS

        count = self.reasons.total()
        if count == 1:
            [reason] = self.reasons
            which = f"The {self._unit}" if total == 1 else f"{self._unit.capitalize()} {self._first:,}"
            return (
                f"{which} is unlike the text that this model was trained on (it has {REASONS[reason]}), and "
                f"its translation may be nonsense. Is it in the right language?"
            )
        reasons = "; ".join(
            f"{many:,} {'has' if many == 1 else 'have'} {REASONS[reason]}"
            for reason, many in self.reasons.most_common()
        )
        first = f", from {self._unit} {self._first:,} on," if count < total else ""
        return (
            f"{count:,} of {total:,} {self._unit}s{first} are unlike the text that this model was trained on "
            f"({reasons}); their translations may be nonsense. Are they in the right language?"
        )


class Uncovered:
    """Counts translations that probably leave out part of the source, for one warning about all of them."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._first = 0
        self._text = ""
        self.count = 0

    def add(self, number: int, text: str, count: int = 1) -> None:
        """Counts the translation with this number, which leaves out `text`, and others with larger ones."""
        if not self.count:
            self._first, self._text = number, shorten(format_message(text))
        self.count += count

    def describe(self, total: int) -> str:
        if self.count == 1:
            which = "The translation" if total == 1 else f"The translation of {self._unit} {self._first:,}"
            return f"{which} probably leaves out “{self._text}”: the model hardly looked at it."
        return (
            f"{self.count:,} of {total:,} translations probably leave out part of their {self._unit}, at "
            f"which the model hardly looked; the first is that of {self._unit} {self._first:,}, without "
            f"“{self._text}”."
        )


def warn_of_translations(translations: "Sequence[Translation]") -> None:
    """Warns of sentences of the command line unlike the training text, and of those not all translated."""
    unfamiliar, uncovered = Unfamiliar("sentence"), Uncovered("sentence")
    for number, translation in enumerate(translations, 1):
        if translation.unfamiliar is not None:
            unfamiliar.add(number, translation.unfamiliar)
        if translation.uncovered is not None:
            uncovered.add(number, translation.uncovered)
    if unfamiliar.reasons:
        typer.echo(f"augenmerk: {unfamiliar.describe(len(translations))}", err=True)
    if uncovered.count:
        typer.echo(f"augenmerk: {uncovered.describe(len(translations))}", err=True)


def warn_of_several_sentences(text: str, name: str, language: str | None) -> None:
    """Prints a warning if a text that is taken as one sentence has several."""
    from augenmerk.text.sentences import split_sentences

    if (count := len(split_sentences(text, language))) > 1:
        typer.echo(
            f"augenmerk: {name} has {count:,} sentences, which are taken as one; the model learnt from "
            f"single sentences: give one at a time.",
            err=True,
        )
