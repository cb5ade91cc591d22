"""Clauses, each of which can be written with the word order of German and with that of English.

German puts the finite verb second in a main clause and last in a subordinate one. The rest of the verb stands
at the end: the separable prefix, the participle, the infinitive. English keeps subject, verb, object. All
differences of word order between the two languages come from this file.
"""

from dataclasses import dataclass

from augenmerk.data.bilderbuch.determiners import ACCUSATIVE, DATIVE, NOMINATIVE, RELATIVE
from augenmerk.data.bilderbuch.lexicon import Adjective, Modal, Preposition, Verb
from augenmerk.data.bilderbuch.phrases import (
    FixedPhrase,
    Nominal,
    NounPhrase,
    Part,
    PrepositionalPhrase,
    SentenceBuilder,
    fix_words,
)

_IS = ("is", "are")
_WIRD = {"now": ("wird", "werden"), "past": ("wurde", "wurden"), "done": ("ist", "sind")}
_IS_BEING = {"now": ("is being", "are being"), "past": ("was", "were"), "done": ("has been", "have been")}
"""The auxiliaries of the passive by form."""

_TENSE, _MEANING, NEGATION, MANNER, _BEEN = range(5)
"""The link bits of a clause, counted from its first; the last is for worden and been in the passive."""
_AUXILIARY_LINKS = {"not": 1 << NEGATION, "cannot": 1 << NEGATION | 1 << _TENSE, "been": 1 << _BEEN}
"""The links of those auxiliaries that do not simply stand for the tense."""

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

    def write_german(self, out: SentenceBuilder) -> None:
        finite, rest = self._german_verb_forms()
        self._write_german_part(out, self.front or self.subject)
        if not self.verb_last:
            out.add(*finite)
        if "sich" in self.verb.flags:
            out.add("sich", self.bit << _MEANING)
        if self.front:
            self.subject.write_german(out)
        self._write_german_middle(out)
        for word, link in rest if not self.verb_last else [*rest, finite]:
            out.add(word, link)

    def _write_german_part(self, out: SentenceBuilder, part: Part) -> None:
        if isinstance(part, Nominal):
            is_object = part is self.accusative
            part.write_german(out, DATIVE if part is self.dative else ACCUSATIVE if is_object else NOMINATIVE)
        else:
            part.write_german(out)

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

    def write_english(self, out: SentenceBuilder) -> None:
        time, manner = self.time, self.manner
        if self.front and (self.is_question or self.front is time):
            self.front.write_english(out)
        subject, accusative, dative = self.subject, self.accusative, self.dative
        if dative and "swap" in self.verb.flags:
            subject, accusative, dative = dative, subject, None
        auxiliaries, word = self._english_verb_forms(subject.plural)
        link = self.bit << _MEANING | (0 if auxiliaries else self.bit << _TENSE)
        if self.is_question:
            self._write_auxiliaries(out, auxiliaries[:1])
        subject.write_english(out)
        if self.is_question or self.shares_auxiliary:
            auxiliaries = auxiliaries[1:]
        # "has finally been cleaned"; "is slowly reading a book", but "is waiting patiently for the bus".
        early = len(auxiliaries) if self.modal else 1
        self._write_auxiliaries(out, auxiliaries[:early])
        if time and time is not self.front and "mid" in time.expression.positions:
            time.write_english(out)
        self._write_auxiliaries(out, auxiliaries[early:])
        manner_early = bool(dative or accusative)
        if manner and manner_early:
            manner.write_english(out)
        out.add(word, link)
        out.add(self.verb.particle, self.bit << _MEANING)
        if manner and not manner_early:
            manner.write_english(out)
        for part in (dative, accusative, self.prepositional, self.agent, self.place):
            if part:
                part.write_english(out)
        if time and time is not self.front and "end" in time.expression.positions:
            time.write_english(out)

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


@dataclass(slots=True, eq=False)
class CopulaClause:
    """A clause that says how somebody or something is: der Hund ist müde."""

    subject: Nominal
    adjective: Adjective
    bit: int
    verb_last: bool = False

    def write_german(self, out: SentenceBuilder) -> None:
        self.subject.write_german(out)
        words = [("sind" if self.subject.plural else "ist", self.bit), (self.adjective.german, self.bit << 1)]
        for word, link in reversed(words) if self.verb_last else words:
            out.add(word, link)

    def write_english(self, out: SentenceBuilder) -> None:
        self.subject.write_english(out)
        out.add(_IS[self.subject.plural], self.bit)
        out.add(self.adjective.english, self.bit << 1)


@dataclass(slots=True, eq=False)
class ThereIsClause:
    """A clause with "there is", which in German opens with the place: im Garten steht ein Baum."""

    verb: str
    thing: NounPhrase
    place: PrepositionalPhrase
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        self.place.write_german(out)
        out.add(self.verb, self.bit)
        self.thing.write_german(out)

    def write_english(self, out: SentenceBuilder) -> None:
        out.add(f"there {_IS[self.thing.plural]}", self.bit)
        self.thing.write_english(out)
        self.place.write_english(out)


@dataclass(slots=True, eq=False)
class RelativeClause:
    """A relative clause: a preposition, if there is one, then a pronoun in the given case, then the clause.

    English puts the preposition at the end of the clause: the bench that the cat is sleeping on.
    """

    antecedent: NounPhrase
    clause: Clause
    case: int
    bit: int
    preposition: Preposition | None

    def write_german(self, out: SentenceBuilder) -> None:
        if self.preposition:
            out.add(self.preposition.german, self.bit)
        out.add(RELATIVE[self.antecedent.agreement][self.case], self.bit << 1)
        self.clause.write_german(out)

    def write_english(self, out: SentenceBuilder) -> None:
        person = self.antecedent.noun.group == "person" and self.case == NOMINATIVE
        out.add("who" if person else "that", self.bit << 1)
        self.clause.write_english(out)
