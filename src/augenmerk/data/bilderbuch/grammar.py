"""Phrases and clauses that write themselves in German and in English, word by word, each word with its link.

A link is a bit mask: a German and an English word are linked if they have a bit in common. So the two sides
can be written in any order, independently of each other, and still give the gold alignment.

German puts the finite verb second in a main clause and last in a subordinate one. The rest of the verb comes
at the end: the separable prefix, the participle, the infinitive. English keeps subject, verb, object.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from augenmerk.data.bilderbuch import lexicon as lex
from augenmerk.data.bilderbuch.lexicon import (
    Adjective,
    Determiner,
    Expression,
    Modal,
    Noun,
    Preposition,
    Verb,
)

BITS = 8
"""The number of bits that a phrase may use, counted from its own first one, which is called `bit`."""

_CONTRACTIONS = (
    "in dem im, in das ins, an dem am, an das ans, von dem vom, zu dem zum, zu der zur, bei dem beim"
)
CONTRACTIONS = {text.rpartition(" ")[0]: text.rpartition(" ")[2] for text in _CONTRACTIONS.split(", ")}
"""The contraction of a preposition with its article: im for "in dem"."""


GERMAN, ENGLISH = range(2)


@dataclass(slots=True, eq=False)
class SentenceBuilder:
    """The words of a sentence in one language, as they are added, with their links."""

    language: int
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
    """A part of a sentence, which writes itself in the language of `out`."""

    def write(self, out: SentenceBuilder) -> None: ...


@dataclass(slots=True, eq=False)
class FixedPhrase:
    """Words that are always the same, such as an adverbial of time or a conjunction."""

    expression: Expression
    bit: int

    def write(self, out: SentenceBuilder) -> None:
        for word, number in (self.expression.german, self.expression.english)[out.language]:
            out.add(word, self.bit << number)


def fix_words(german: str, english: str, bit: int) -> FixedPhrase:
    """Returns a phrase of the words, which are linked as the numbers after them tell (see Expression)."""
    return FixedPhrase(lex.parse_expression(german, english), bit)


@dataclass(slots=True, eq=False)
class Arrangement:
    """Parts that are written in one order in German and in another one in English."""

    german: Sequence[Part]
    english: Sequence[Part]

    def write(self, out: SentenceBuilder) -> None:
        for part in (self.german, self.english)[out.language]:
            part.write(out)


@dataclass(slots=True, eq=False)
class Nominal:
    """A subject or an object. This base class is a gap: it writes nothing, as it was named before."""

    noun: Noun
    """The noun, or the first of two coordinated nouns."""
    plural: bool
    definite: bool = True

    @property
    def agreement(self) -> int:
        return lex.PLURAL if self.plural else self.noun.gender

    def write(self, out: SentenceBuilder, case: int = lex.NOMINATIVE) -> None:
        """Writes nothing here, and what it is called in subclasses; the case is the German one."""


@dataclass(slots=True, eq=False)
class NounPhrase(Nominal):
    """A determiner, adjectives, a noun, and perhaps a relative clause."""

    determiner: Determiner = field(kw_only=True)
    bit: int = field(kw_only=True)
    adjectives: tuple[Adjective, ...] = ()
    negation: int = 0
    """The link of kein to the English not."""
    relative: Part | None = None

    def write(self, out: SentenceBuilder, case: int = lex.NOMINATIVE) -> None:
        agreement, link, comma = self.agreement, self.bit, ""
        if out.language == GERMAN:
            article = self.determiner.german[agreement][case]
            ending = self.determiner.endings[agreement][case]
            adjectives = [adjective.stem + ending for adjective in self.adjectives]
            noun = self.noun.german[self.plural][case]
            link, comma = link | self.negation, ","
        else:
            article = self.determiner.plural if self.plural else self.determiner.singular
            adjectives = [adjective.english for adjective in self.adjectives]
            noun = " ".join(self.noun.english[self.plural])
            if article == "a" and (*adjectives, noun)[0][0] in "aeiou":
                article = "an"
        out.add(article, link)
        for number, adjective in enumerate(adjectives, 1):
            out.add(adjective, self.bit << number)
        out.add(noun, self.bit << 3)
        if self.relative:
            out.add(comma, 0)
            self.relative.write(out)
            out.add(comma, 0)


class Coordination(Nominal):
    """Two noun phrases with "und" between them."""

    def __init__(self, first: NounPhrase, second: NounPhrase, bit: int) -> None:
        super().__init__(first.noun, plural=True, definite=first.definite)
        self.first = first
        self.second = second
        self.bit = bit

    def write(self, out: SentenceBuilder, case: int = lex.NOMINATIVE) -> None:
        self.first.write(out, case)
        out.add(("und", "and")[out.language], self.bit)
        self.second.write(out, case)


@dataclass(slots=True, eq=False)
class Pronoun(Nominal):
    """er, sie or es for somebody who was named before; always a subject."""

    bit: int = field(kw_only=True)

    def write(self, out: SentenceBuilder, case: int = lex.NOMINATIVE) -> None:  # noqa: ARG002 (one case)
        english = "they" if self.plural else self.noun.pronoun
        out.add((("er", "sie", "es", "sie")[self.agreement], english)[out.language], self.bit)


@dataclass(slots=True, eq=False)
class PrepositionalPhrase:
    """A preposition and the noun phrase after it, in the case that the preposition governs."""

    preposition: Preposition
    phrase: Nominal
    bit: int

    def write(self, out: SentenceBuilder) -> None:
        """Writes the phrase and contracts a German preposition with the article: in + dem = im."""
        start = len(out.words)
        out.add((self.preposition.german, self.preposition.english)[out.language], self.bit)
        self.phrase.write(out, self.preposition.case)
        words = " ".join(out.words[start : start + 2]) if out.language == GERMAN else ""
        if contraction := CONTRACTIONS.get(words):
            out.words[start : start + 2] = [contraction]
            out.links[start : start + 2] = [out.links[start] | out.links[start + 1]]


_IS = ("is", "are")
_WIRD = {"now": ("wird", "werden"), "past": ("wurde", "wurden"), "done": ("ist", "sind")}
_IS_BEING = {"now": ("is being", "are being"), "past": ("was", "were"), "done": ("has been", "have been")}
"""The auxiliaries of the passive by form."""

_TENSE, _MEANING, NEGATION, MANNER, _BEEN = range(5)
"""The link bits of a clause, counted from its first; the last is for worden and been in the passive."""
_AUXILIARY_LINKS = {"not": 1 << NEGATION, "cannot": 1 << NEGATION | 1 << _TENSE, "been": 1 << _BEEN}
"""The links of those auxiliaries that show more than the tense."""

_Words = list[tuple[str, int]]
"""Words with their links."""


@dataclass(slots=True, eq=False)
class Clause:
    """A clause with a full verb.

    `form` is its tense: now, habit, past or done; or modal, which needs a modal verb; or infinitive (um ...
    zu), whose subject is a gap. The subject of a passive clause is the accusative object of the active one.
    """

    verb: Verb
    form: str
    subject: Nominal
    bit: int
    dative: Nominal | None = None
    accusative: Nominal | None = None
    prepositional: Part | None = None
    """A prepositional object or a direction."""
    place: Part | None = None
    modal: Modal | None = None
    passive: bool = False
    negated: str = ""
    """The German negation: "nicht", or "kein" before an indefinite object."""
    agent: PrepositionalPhrase | None = None
    time: FixedPhrase | None = None
    manner: FixedPhrase | None = None
    front: Part | None = None
    """What opens the German clause in place of the subject: one of its constituents, or a question word."""
    is_question: bool = False
    verb_last: bool = False
    """Whether the finite verb comes last, as in a subordinate clause."""
    shares_auxiliary: bool = False
    """Whether it shares the English auxiliary of the previous clause: is sitting and reading."""

    def write(self, out: SentenceBuilder) -> None:
        (self._write_german, self._write_english)[out.language](out)

    def _write_german(self, out: SentenceBuilder) -> None:
        finite, rest = self._german_verb_forms()
        self._write_german_part(out, self.front or self.subject)
        if not self.verb_last:
            out.add(*finite)
        if "sich" in self.verb.flags:
            out.add("sich", self.bit << _MEANING)
        if self.front:
            self.subject.write(out)
        self._write_german_middle(out)
        for word, link in rest if not self.verb_last else [*rest, finite]:
            out.add(word, link)

    def _write_german_part(self, out: SentenceBuilder, part: Part) -> None:
        if isinstance(part, Nominal):
            case = lex.DATIVE if part is self.dative else lex.NOMINATIVE
            part.write(out, lex.ACCUSATIVE if part is self.accusative else case)
        else:
            part.write(out)

    def _german_verb_forms(self) -> tuple[tuple[str, int], _Words]:
        """Returns the finite verb (or "um") and the verb forms at the end of the clause."""
        verb, plural = self.verb, self.subject.plural
        tense, meaning = self.bit << _TENSE, self.bit << _MEANING
        if self.form == "infinitive":
            stem = verb.infinitive.removeprefix(verb.prefix)
            separable: _Words = [(f"{verb.prefix}zu{stem}", tense | meaning)]
            return ("um", tense), separable if verb.prefix else [("zu", tense), (stem, meaning)]
        if self.passive:
            worden = [("worden", self.bit << _BEEN)] if self.form == "done" else []
            return (_WIRD[self.form][plural], tense), [(verb.participle, meaning), *worden]
        if self.modal:
            return (self.modal.german[plural], tense), [(verb.infinitive, meaning)]
        if self.form in ("past", "done"):
            return (verb.auxiliary[plural], tense), [(verb.participle, meaning)]
        if self.verb_last:
            return (verb.prefix + verb.present[plural], tense | meaning), []
        return (verb.present[plural], tense | meaning), [(verb.prefix, meaning)] if verb.prefix else []

    def _write_german_middle(self, out: SentenceBuilder) -> None:
        """Writes what stands between the finite verb and the end of the clause.

        Definite objects come before the place and before "nicht", indefinite ones after the place: "liest
        das Buch nicht im Garten", "liest im Garten ein Buch".
        """
        dative, accusative, place, time = self.dative, self.accusative, self.place, self.time
        # "hat heute den Brief gelesen", but "hat den Brief schon gelesen".
        time_late = self.form == "done" and accusative is not None and accusative.definite
        # "hilft heute dem Kind", but "hilft dem Kind oft".
        dative_first = time_late or (time is not None and "mid" in time.expression.positions)
        place_first = accusative is not None and not accusative.definite
        for part in (
            dative if dative_first else None,
            None if time_late else time,
            None if dative_first else dative,
            self.manner,
            self.agent,
            place if place_first else None,
            accusative,
            time if time_late else None,
            fix_words("nicht", "", self.bit << NEGATION) if self.negated == "nicht" else None,
            None if place_first else place,
            self.prepositional,
        ):
            if part and part is not self.front:
                self._write_german_part(out, part)

    def _write_english(self, out: SentenceBuilder) -> None:
        time, manner = self.time, self.manner
        if self.front and (self.is_question or self.front is time):
            self.front.write(out)
        subject, accusative, dative = self.subject, self.accusative, self.dative
        if dative and "swap" in self.verb.flags:
            subject, accusative, dative = dative, subject, None
        auxiliaries, word = self._english_verb_forms(subject.plural)
        link = self.bit << _MEANING | (0 if auxiliaries else self.bit << _TENSE)
        if self.is_question:
            self._write_auxiliaries(out, auxiliaries[:1])
        subject.write(out)
        if self.is_question or self.shares_auxiliary:
            auxiliaries = auxiliaries[1:]
        # "has finally been cleaned"; "is slowly reading a book", but "is waiting patiently for the bus".
        early = len(auxiliaries) if self.modal else 1
        self._write_auxiliaries(out, auxiliaries[:early])
        if time and time is not self.front and "mid" in time.expression.positions:
            time.write(out)
        self._write_auxiliaries(out, auxiliaries[early:])
        manner_early = bool(dative or accusative)
        if manner and manner_early:
            manner.write(out)
        out.add(word, link)
        out.add(self.verb.particle, self.bit << _MEANING)
        if manner and not manner_early:
            manner.write(out)
        for part in (dative, accusative, self.prepositional, self.agent, self.place):
            if part:
                part.write(out)
        if time and time is not self.front and "end" in time.expression.positions:
            time.write(out)

    def _write_auxiliaries(self, out: SentenceBuilder, words: list[str]) -> None:
        for word in words:
            out.add(word, self.bit * _AUXILIARY_LINKS.get(word, 1 << _TENSE))

    def _english_verb_forms(self, plural: bool) -> tuple[list[str], str]:
        """Returns the auxiliaries, including "not", and the main verb."""
        verb, negation = self.verb, ["not"] if self.negated else []
        if self.form == "infinitive":
            return ["to"], verb.base
        if self.modal:
            forms = self.modal.english_not if self.negated and self.modal.english_not else self.modal.english
            return forms[plural].split(), verb.base
        if self.passive:
            return _IS_BEING[self.form][plural].split(), verb.past_participle
        if self.form == "done":
            return [("has", "have")[plural], *negation], verb.past_participle
        if self.form == "now" and "state" not in verb.flags:
            return [_IS[plural], *negation], verb.ing
        if self.negated or self.is_question:
            return ["did" if self.form == "past" else ("does", "do")[plural], *negation], verb.base
        if self.form == "past":
            return [], verb.past
        return [], verb.base if plural else verb.third_person
