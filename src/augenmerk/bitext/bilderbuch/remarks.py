"""Two small clauses beside the big one: how somebody is, and what the weather is like."""

from augenmerk.bitext.bilderbuch.entries import Adjective
from augenmerk.bitext.bilderbuch.inflection import NOMINATIVE
from augenmerk.bitext.bilderbuch.phrases import Line, Nominal


class Quality:
    """A clause with "ist": der Hund ist müde."""

    __slots__ = ("adjective", "bit", "subject")

    def __init__(self, subject: Nominal, adjective: Adjective, bit: int) -> None:
        self.subject = subject
        self.adjective = adjective
        self.bit = bit

    def german(self, line: Line) -> None:
        self.subject.german(line, NOMINATIVE)
        line.add("sind" if self.subject.plural else "ist", self.bit)
        line.add(self.adjective.german, self.bit << 1)

    def german_last(self, line: Line) -> None:
        self.subject.german(line, NOMINATIVE)
        line.add(self.adjective.german, self.bit << 1)
        line.add("sind" if self.subject.plural else "ist", self.bit)

    def english(self, line: Line) -> None:
        self.subject.english(line)
        line.add("are" if self.subject.plural else "is", self.bit)
        line.add(self.adjective.english, self.bit << 1)


class Weather:
    """es regnet: only ever a subordinate clause."""

    __slots__ = ("_english", "_german", "bit")

    def __init__(self, german: tuple[str, str], english: tuple[str, ...], bit: int) -> None:
        self._german = german
        self._english = english
        self.bit = bit

    def german_last(self, line: Line) -> None:
        line.add(self._german[0], self.bit)
        line.add(self._german[1], self.bit << 1)

    def english(self, line: Line) -> None:
        line.add(self._english[0], self.bit)
        for word in self._english[1:]:
            line.add(word, self.bit << 1)


WEATHER = (
    (("es", "regnet"), {"now": ("it", "is", "raining"), "habit": ("it", "rains")}),
    (("es", "schneit"), {"now": ("it", "is", "snowing"), "habit": ("it", "snows")}),
    (("es", "donnert"), {"now": ("it", "is", "thundering"), "habit": ("it", "thunders")}),
)
