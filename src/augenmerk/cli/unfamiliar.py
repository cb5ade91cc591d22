"""Warns of sentences that are unlike what a model learnt from."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from augenmerk.familiarity import Reason
    from augenmerk.translate import Translation


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
        from augenmerk.familiarity import REASONS

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


def warn_of_unfamiliar(translations: "Sequence[Translation]") -> None:
    """Prints one warning about those sentences of the command line that are unlike the training text."""
    found = Unfamiliar("sentence")
    for number, translation in enumerate(translations, 1):
        if translation.unfamiliar is not None:
            found.add(number, translation.unfamiliar)
    if found.reasons:
        typer.echo(f"augenmerk: {found.describe(len(translations))}", err=True)
