"""Phrases that write themselves in German and in English, word by word, each word with its link.

A link is a bit mask: a German and an English word are linked if they have a bit in common. So the two sides
can be written in any order, independently of each other, and still give the gold alignment.
"""

from dataclasses import dataclass, field
from typing import Protocol

from augenmerk.bitext.bilderbuch.inflection import (
    CONTRACTIONS,
    DEFINITE,
    FEMININE,
    MASCULINE,
    NEUTER,
    PLURAL,
    THE,
    Determiner,
    choose_a_or_an,
)
from augenmerk.bitext.bilderbuch.lexicon import Adjective, Adverbial, Noun, Preposition

BITS = 8
"""The number of bits that a phrase may use, counted from its own first one, which is called `bit`."""


@dataclass(slots=True, eq=False)
class SentenceBuilder:
    """The words of a sentence in one language, as they are added, with their links."""

    words: list[str] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    end_mark: str = "."

    def add(self, word: str, link: int) -> None:
        self.words.append(word)
        self.links.append(link)

    def add_comma(self, link: int = 0) -> None:
        """Adds a comma, unless the last word is one."""
        if self.words[-1] != ",":
            self.add(",", link)

    def finish(self, link: int) -> None:
        """Adds the mark at the end, in place of a comma that ended the last clause."""
        if self.words[-1] == ",":
            self.words.pop()
            self.links.pop()
        self.add(self.end_mark, link)


class Constituent(Protocol):
    """Anything that a German sentence may open with."""

    def write_german(self, out: SentenceBuilder) -> None: ...


class Nominal(Protocol):
    """A subject or an object."""

    plural: bool
    definite: bool
    noun: Noun
    """The noun, or the first of two coordinated nouns."""

    def write_german(self, out: SentenceBuilder, case: int) -> None: ...

    def write_english(self, out: SentenceBuilder) -> None: ...


class Modifier(Protocol):
    """A relative clause, as a noun phrase sees it."""

    def write_german(self, out: SentenceBuilder) -> None: ...

    def write_english(self, out: SentenceBuilder) -> None: ...


@dataclass(slots=True, eq=False)
class NounPhrase:
    """A determiner, adjectives, a noun, and perhaps a relative clause."""

    noun: Noun
    determiner: Determiner
    plural: bool
    adjectives: tuple[Adjective, ...]
    bit: int
    definite: bool = field(init=False)
    negation: int = 0
    """The link of kein to the English not."""
    relative: Modifier | None = None

    def __post_init__(self) -> None:
        self.definite = self.determiner.definite

    @property
    def agreement(self) -> int:
        return PLURAL if self.plural else self.noun.gender

    def write_german(self, out: SentenceBuilder, case: int) -> None:
        article = self.determiner.german[self.agreement][case]
        if article:
            out.add(article, self.bit | self.negation)
        self._write_german_rest(out, case)

    def write_german_after(self, preposition: str, bit: int, out: SentenceBuilder, case: int) -> None:
        """Writes a preposition and the phrase, and contracts it with the article: in + dem = im."""
        if self.determiner is THE:
            contraction = CONTRACTIONS.get((preposition, DEFINITE[self.agreement][case]))
            if contraction:
                out.add(contraction, bit | self.bit)
                self._write_german_rest(out, case)
                return
        out.add(preposition, bit)
        self.write_german(out, case)

    def _write_german_rest(self, out: SentenceBuilder, case: int) -> None:
        bit = self.bit
        if self.adjectives:
            ending = self.determiner.endings[self.agreement][case]
            for adjective in self.adjectives:
                bit <<= 1
                out.add(adjective.stem + ending, bit)
        out.add(self.noun.german[self.plural][case], self.bit << 3)
        if self.relative:
            out.add_comma()
            self.relative.write_german(out)
            out.add_comma()

    def write_english(self, out: SentenceBuilder) -> None:
        bit = self.bit
        words = self.noun.english[self.plural]
        article = self.determiner.plural if self.plural else self.determiner.singular
        if article == "a":
            article = choose_a_or_an(self.adjectives[0].english if self.adjectives else words[0])
        if article:
            out.add(article, bit)
        for adjective in self.adjectives:
            bit <<= 1
            out.add(adjective.english, bit)
        for word in words:
            out.add(word, self.bit << 3)
        if self.relative:
            self.relative.write_english(out)


class Coordination:
    """Two noun phrases with "und" between them."""

    __slots__ = ("bit", "definite", "first", "noun", "plural", "second")

    def __init__(self, first: NounPhrase, second: NounPhrase, bit: int) -> None:
        self.first = first
        self.second = second
        self.bit = bit
        self.noun = first.noun
        self.plural = True
        self.definite = first.definite

    def write_german(self, out: SentenceBuilder, case: int) -> None:
        self.first.write_german(out, case)
        out.add("und", self.bit)
        self.second.write_german(out, case)

    def write_english(self, out: SentenceBuilder) -> None:
        self.first.write_english(out)
        out.add("and", self.bit)
        self.second.write_english(out)


class Pronoun:
    """er, sie or es for a person or an animal that was named before; always a subject."""

    __slots__ = ("_english", "_german", "bit", "definite", "noun", "plural")

    def __init__(self, antecedent: Nominal, bit: int) -> None:
        self.noun = antecedent.noun
        self.bit = bit
        self.plural = antecedent.plural
        self.definite = True
        if self.plural:
            self._german, self._english = "sie", "they"
        else:
            self._german = {MASCULINE: "er", FEMININE: "sie", NEUTER: "es"}[self.noun.gender]
            self._english = english_pronoun(self.noun)

    def write_german(self, out: SentenceBuilder, case: int) -> None:  # noqa: ARG002 (a subject has one case)
        out.add(self._german, self.bit)

    def write_english(self, out: SentenceBuilder) -> None:
        out.add(self._english, self.bit)


class Gap:
    """An empty subject or object, because a relative pronoun or the clause before names it already."""

    __slots__ = ("definite", "noun", "plural")

    def __init__(self, antecedent: Nominal) -> None:
        self.noun = antecedent.noun
        self.plural = antecedent.plural
        self.definite = True

    def write_german(self, out: SentenceBuilder, case: int) -> None:
        """Writes nothing."""

    def write_english(self, out: SentenceBuilder) -> None:
        """Writes nothing."""


@dataclass(slots=True, eq=False)
class PrepositionalPhrase:
    """A preposition and the noun phrase after it, in the case that the preposition governs."""

    preposition: Preposition
    phrase: NounPhrase | Coordination
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        if isinstance(self.phrase, NounPhrase):
            self.phrase.write_german_after(self.preposition.german, self.bit, out, self.preposition.case)
        else:
            out.add(self.preposition.german, self.bit)
            self.phrase.write_german(out, self.preposition.case)

    def write_english(self, out: SentenceBuilder) -> None:
        for word in self.preposition.english:
            out.add(word, self.bit)
        self.phrase.write_english(out)


@dataclass(slots=True, eq=False)
class StrandedPreposition:
    """A preposition in a relative clause, which German puts before the pronoun and English at the end.

    die Bank, auf der die Katze schläft: the bench that the cat is sleeping on.
    """

    preposition: Preposition
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        """Writes nothing: the relative clause writes it before its pronoun."""

    def write_english(self, out: SentenceBuilder) -> None:
        for word in self.preposition.english:
            out.add(word, self.bit)


@dataclass(slots=True, eq=False)
class Time:
    """An adverbial of time."""

    adverbial: Adverbial
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        for word, number in self.adverbial.german:
            out.add(word, self.bit << number)

    def write_english(self, out: SentenceBuilder) -> None:
        for word, number in self.adverbial.english:
            out.add(word, self.bit << number)


def english_pronoun(noun: Noun) -> str:
    """Returns he, she or it, by natural gender, where German goes by grammatical gender."""
    if "she" in noun.kinds:
        return "she"
    if noun.group in ("person", "name"):
        return "he" if noun.gender == MASCULINE else "she"
    return "it"
