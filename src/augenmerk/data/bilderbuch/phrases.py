"""Phrases that write themselves in German and in English, word by word, each word with its link.

A link is a bit mask: a German and an English word are linked if they have a bit in common. So the two sides
can be written in any order, independently of each other, and still give the gold alignment.
"""

from dataclasses import dataclass, field
from typing import Protocol

from augenmerk.data.bilderbuch.determiners import NOMINATIVE, PLURAL, Determiner
from augenmerk.data.bilderbuch.lexicon import Adjective, Expression, Noun, Preposition, parse_expression

BITS = 8
"""The number of bits that a phrase may use, counted from its own first one, which is called `bit`."""

_CONTRACTIONS = (
    "in dem im, in das ins, an dem am, an das ans, von dem vom, zu dem zum, zu der zur, bei dem beim"
)
CONTRACTIONS = {text.rpartition(" ")[0]: text.rpartition(" ")[2] for text in _CONTRACTIONS.split(", ")}
"""The contraction of a preposition with its article: im for "in dem"."""


@dataclass(slots=True, eq=False)
class SentenceBuilder:
    """The words of a sentence in one language, as they are added, with their links."""

    words: list[str] = field(default_factory=list)
    links: list[int] = field(default_factory=list)

    def add(self, text: str, link: int) -> None:
        """Adds the words of a text, if it has any, with the same link; but no comma after a comma."""
        if text.isalpha():  # one word, as nearly always
            self.words.append(text)
            self.links.append(link)
            return
        for word in text.split():
            if word != "," or self.words[-1] != ",":
                self.words.append(word)
                self.links.append(link)

    def finish(self, mark: str) -> None:
        """Adds the mark at the end, in place of a comma that ended the last clause."""
        if self.words[-1] == ",":
            self.words.pop()
            self.links.pop()
        self.add(mark, 1)  # no phrase uses the first bit


class Part(Protocol):
    """A part of a sentence. A subject or object is written in the nominative by default."""

    def write_german(self, out: SentenceBuilder) -> None: ...

    def write_english(self, out: SentenceBuilder) -> None: ...


@dataclass(slots=True, eq=False)
class FixedPhrase:
    """Words that are always the same, such as an adverbial of time or a conjunction."""

    expression: Expression
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        for word, number in self.expression.german:
            out.add(word, self.bit << number)

    def write_english(self, out: SentenceBuilder) -> None:
        for word, number in self.expression.english:
            out.add(word, self.bit << number)


def fix_words(german: str, english: str, bit: int) -> FixedPhrase:
    """Returns a phrase of the words, which are linked as the numbers after them say (see Expression)."""
    return FixedPhrase(parse_expression(german, english), bit)


@dataclass(slots=True, eq=False)
class Nominal:
    """A subject or an object. This base class is a gap: it writes nothing, as it was named before."""

    noun: Noun
    """The noun, or the first of two coordinated nouns."""
    plural: bool
    definite: bool = True

    @property
    def agreement(self) -> int:
        return PLURAL if self.plural else self.noun.gender

    def write_german(self, out: SentenceBuilder, case: int = NOMINATIVE) -> None:
        """Writes nothing."""

    def write_english(self, out: SentenceBuilder) -> None:
        """Writes nothing."""


@dataclass(slots=True, eq=False)
class NounPhrase(Nominal):
    """A determiner, adjectives, a noun, and perhaps a relative clause."""

    determiner: Determiner = field(kw_only=True)
    bit: int = field(kw_only=True)
    adjectives: tuple[Adjective, ...] = ()
    negation: int = 0
    """The link of kein to the English not."""
    relative: Part | None = None

    def write_german(self, out: SentenceBuilder, case: int = NOMINATIVE) -> None:
        out.add(self.determiner.german[self.agreement][case], self.bit | self.negation)
        for number, adjective in enumerate(self.adjectives, 1):
            out.add(adjective.stem + self.determiner.endings[self.agreement][case], self.bit << number)
        out.add(self.noun.german[self.plural][case], self.bit << 3)
        if self.relative:
            out.add(",", 0)
            self.relative.write_german(out)
            out.add(",", 0)

    def write_english(self, out: SentenceBuilder) -> None:
        nouns = self.noun.english[self.plural]
        adjectives = [adjective.english for adjective in self.adjectives]
        article = self.determiner.plural if self.plural else self.determiner.singular
        if article == "a" and (*adjectives, *nouns)[0][0] in "aeiou":
            article = "an"
        out.add(article, self.bit)
        for number, adjective in enumerate(adjectives, 1):
            out.add(adjective, self.bit << number)
        out.add(" ".join(nouns), self.bit << 3)
        if self.relative:
            self.relative.write_english(out)


class Coordination(Nominal):
    """Two noun phrases with "und" between them."""

    def __init__(self, first: NounPhrase, second: NounPhrase, bit: int) -> None:
        super().__init__(first.noun, plural=True, definite=first.definite)
        self.first = first
        self.second = second
        self.bit = bit

    def write_german(self, out: SentenceBuilder, case: int = NOMINATIVE) -> None:
        self.first.write_german(out, case)
        out.add("und", self.bit)
        self.second.write_german(out, case)

    def write_english(self, out: SentenceBuilder) -> None:
        self.first.write_english(out)
        out.add("and", self.bit)
        self.second.write_english(out)


@dataclass(slots=True, eq=False)
class Pronoun(Nominal):
    """er, sie or es for a person or an animal that was named before; always a subject."""

    bit: int = field(kw_only=True)

    def write_german(self, out: SentenceBuilder, case: int = NOMINATIVE) -> None:  # noqa: ARG002 (one case)
        out.add(("er", "sie", "es", "sie")[self.agreement], self.bit)

    def write_english(self, out: SentenceBuilder) -> None:
        out.add("they" if self.plural else self.noun.pronoun, self.bit)


@dataclass(slots=True, eq=False)
class PrepositionalPhrase:
    """A preposition and the noun phrase after it, in the case that the preposition governs."""

    preposition: Preposition
    phrase: Nominal
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        """Writes the phrase and contracts the preposition with the article: in + dem = im."""
        start = len(out.words)
        out.add(self.preposition.german, self.bit)
        self.phrase.write_german(out, self.preposition.case)
        if contraction := CONTRACTIONS.get(" ".join(out.words[start : start + 2])):
            out.words[start : start + 2] = [contraction]
            out.links[start : start + 2] = [out.links[start] | out.links[start + 1]]

    def write_english(self, out: SentenceBuilder) -> None:
        out.add(self.preposition.english, self.bit)
        self.phrase.write_english(out)
