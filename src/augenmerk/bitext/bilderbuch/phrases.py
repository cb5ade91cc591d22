"""Phrases that write themselves in both languages, word by word, each word with its link.

A link is a bit: a German and an English word are linked when they have a bit in common. So the two
sides can be put in any order, independently of each other, and the gold alignment falls out at the end.
"""

from typing import Protocol

from augenmerk.bitext.bilderbuch.entries import Adjective, Adverbial, Noun, Preposition
from augenmerk.bitext.bilderbuch.inflection import (
    CONTRACTIONS,
    DEFINITE,
    FEMININE,
    MASCULINE,
    NEUTER,
    PLURAL,
    THE,
    Determiner,
    article_a,
)

BITS = 8
"""How many bits a phrase may use, counted from its own first one."""


class Line:
    """One side of a sentence in the making."""

    __slots__ = ("links", "mark", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.links: list[int] = []
        self.mark = "."
        """What it will end with."""

    def add(self, word: str, link: int) -> None:
        self.words.append(word)
        self.links.append(link)

    def comma(self, link: int = 0) -> None:
        """A comma, unless one stands there already."""
        if self.words[-1] != ",":
            self.add(",", link)

    def stop(self, link: int) -> None:
        """The last mark, in the place of a comma that ended the last clause."""
        if self.words[-1] == ",":
            self.words.pop()
            self.links.pop()
        self.add(self.mark, link)


class Part(Protocol):
    """Anything a German sentence may open with."""

    def german(self, line: Line) -> None: ...


class Nominal(Protocol):
    """What can be a subject or an object."""

    plural: bool
    definite: bool
    noun: Noun
    """For two joined nouns, the first."""

    def german(self, line: Line, case: int) -> None: ...

    def english(self, line: Line) -> None: ...


class RelativeClause(Protocol):
    def german(self, line: Line) -> None: ...

    def english(self, line: Line) -> None: ...


class NounPhrase:
    """Determiner, adjectives, noun, and perhaps a relative clause."""

    __slots__ = ("adjectives", "bit", "definite", "determiner", "negation", "noun", "plural", "relative")

    def __init__(
        self, noun: Noun, determiner: Determiner, plural: bool, adjectives: tuple[Adjective, ...], bit: int
    ) -> None:
        self.noun = noun
        self.determiner = determiner
        self.plural = plural
        self.definite = determiner.definite
        self.adjectives = adjectives
        self.bit = bit
        self.negation = 0
        """The link of kein to the English not."""
        self.relative: RelativeClause | None = None

    @property
    def agreement(self) -> int:
        return PLURAL if self.plural else self.noun.gender

    def german(self, line: Line, case: int) -> None:
        article = self.determiner.german[PLURAL if self.plural else self.noun.gender][case]
        if article:
            line.add(article, self.bit | self.negation)
        self._german_rest(line, case)

    def german_after(self, preposition: str, bit: int, line: Line, case: int) -> None:
        """With a preposition before it, which may grow together with the article: in + dem = im."""
        if self.determiner is THE:
            joined = CONTRACTIONS.get((preposition, DEFINITE[self.agreement][case]))
            if joined:
                line.add(joined, bit | self.bit)
                self._german_rest(line, case)
                return
        line.add(preposition, bit)
        self.german(line, case)

    def _german_rest(self, line: Line, case: int) -> None:
        bit = self.bit
        if self.adjectives:
            ending = self.determiner.endings[PLURAL if self.plural else self.noun.gender][case]
            for adjective in self.adjectives:
                bit <<= 1
                line.add(adjective.stem + ending, bit)
        line.add(self.noun.german[self.plural][case], self.bit << 3)
        if self.relative:
            line.comma()
            self.relative.german(line)
            line.comma()

    def english(self, line: Line) -> None:
        bit = self.bit
        words = self.noun.english[self.plural]
        article = self.determiner.plural if self.plural else self.determiner.singular
        if article == "a":
            article = article_a(self.adjectives[0].english if self.adjectives else words[0])
        if article:
            line.add(article, bit)
        for adjective in self.adjectives:
            bit <<= 1
            line.add(adjective.english, bit)
        for word in words:
            line.add(word, self.bit << 3)
        if self.relative:
            self.relative.english(line)


class Joined:
    """Two phrases with "und" between them."""

    __slots__ = ("bit", "definite", "first", "noun", "plural", "second")

    def __init__(self, first: NounPhrase, second: NounPhrase, bit: int) -> None:
        self.first = first
        self.second = second
        self.bit = bit
        self.noun = first.noun
        self.plural = True
        self.definite = first.definite

    def german(self, line: Line, case: int) -> None:
        self.first.german(line, case)
        line.add("und", self.bit)
        self.second.german(line, case)

    def english(self, line: Line) -> None:
        self.first.english(line)
        line.add("and", self.bit)
        self.second.english(line)


class Pronoun:
    """er, sie, es for a person or animal named before; only ever a subject."""

    __slots__ = ("_english", "_german", "bit", "definite", "noun", "plural")

    def __init__(self, antecedent: Nominal, bit: int) -> None:
        noun = antecedent.noun
        self.noun = noun
        self.bit = bit
        self.plural = antecedent.plural
        self.definite = True
        if self.plural:
            self._german, self._english = "sie", "they"
        else:
            self._german = {MASCULINE: "er", FEMININE: "sie", NEUTER: "es"}[noun.gender]
            self._english = english_pronoun(noun)

    def german(self, line: Line, case: int) -> None:  # noqa: ARG002  (a subject has one case)
        line.add(self._german, self.bit)

    def english(self, line: Line) -> None:
        line.add(self._english, self.bit)


class Gap:
    """Where a clause has nothing, because its relative pronoun or the clause before it says who or what."""

    __slots__ = ("definite", "noun", "plural")

    def __init__(self, antecedent: Nominal) -> None:
        self.noun = antecedent.noun
        self.plural = antecedent.plural
        self.definite = True

    def german(self, line: Line, case: int) -> None:
        """Nothing."""

    def english(self, line: Line) -> None:
        """Nothing."""


class PrepositionalPhrase:
    """A preposition and what it governs, in the case it asks for."""

    __slots__ = ("bit", "phrase", "preposition")

    def __init__(self, preposition: Preposition, phrase: NounPhrase | Joined, bit: int) -> None:
        self.preposition = preposition
        self.phrase = phrase
        self.bit = bit

    def german(self, line: Line) -> None:
        if isinstance(self.phrase, NounPhrase):
            self.phrase.german_after(self.preposition.german, self.bit, line, self.preposition.case)
        else:
            line.add(self.preposition.german, self.bit)
            self.phrase.german(line, self.preposition.case)

    def english(self, line: Line) -> None:
        for word in self.preposition.english:
            line.add(word, self.bit)
        self.phrase.english(line)


class Stranded:
    """A preposition in a relative clause: German takes it along to the pronoun, English leaves it behind.

    die Bank, auf der die Katze schläft: the bench that the cat is sleeping on.
    """

    __slots__ = ("bit", "preposition")

    def __init__(self, preposition: Preposition, bit: int) -> None:
        self.preposition = preposition
        self.bit = bit

    def german(self, line: Line) -> None:
        """Nothing."""

    def english(self, line: Line) -> None:
        for word in self.preposition.english:
            line.add(word, self.bit)


class Time:
    """An adverbial of time."""

    __slots__ = ("adverbial", "bit")

    def __init__(self, adverbial: Adverbial, bit: int) -> None:
        self.adverbial = adverbial
        self.bit = bit

    def german(self, line: Line) -> None:
        for word, number in self.adverbial.german:
            line.add(word, self.bit << number)

    def english(self, line: Line) -> None:
        for word, number in self.adverbial.english:
            line.add(word, self.bit << number)


def english_pronoun(noun: Noun) -> str:
    """he, she or it: by nature, where German goes by grammar."""
    if "she" in noun.kinds:
        return "she"
    if noun.group in ("person", "name"):
        return "he" if noun.gender == MASCULINE else "she"
    return "it"
