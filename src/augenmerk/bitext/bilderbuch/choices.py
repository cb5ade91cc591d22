"""Drawing lots for whole clauses: a verb that can be told in that way, and all it needs."""

from collections.abc import Sequence

from augenmerk.bitext.bilderbuch.clause import MODALS, WILL, Clause
from augenmerk.bitext.bilderbuch.entries import Preposition, Verb
from augenmerk.bitext.bilderbuch.inflection import (
    BARE,
    DATIVE,
    INSTRUMENT,
    NO,
    NO_MASS,
    THE,
    A,
    Determiner,
)
from augenmerk.bitext.bilderbuch.phrase_choices import (
    GIVEN,
    KNOWN,
    MADE,
    NEGATED,
    OBJECTS,
    SEVERAL,
    SUBJECTS,
    WORN,
    PhraseChoices,
)
from augenmerk.bitext.bilderbuch.phrases import Joined, Nominal, NounPhrase, PrepositionalPhrase, Stranded
from augenmerk.bitext.bilderbuch.verbs import NEVER_NEGATED, PASSIVE_VERBS, VERBS

_VON = Preposition("von", DATIVE, ("by",), ())


class Choices(PhraseChoices):
    """The lots drawn for one sentence after another, clauses included."""

    def clause(
        self,
        form: str,
        subject: Nominal | None = None,
        verb: Verb | None = None,
        *,
        negated: bool = False,
        extras: float = 0.35,
        objects: Sequence[Determiner] = OBJECTS,
        dative: Nominal | None = None,
        accusative: Nominal | None = None,
        prepositional: Stranded | None = None,
        place: PrepositionalPhrase | Stranded | None = None,
    ) -> Clause:
        """A clause told in that form, with a place or a manner by the chance `extras`.

        What is not given is drawn: the verb, the subject, and objects with one of those determiners.
        """
        verb = verb or self.pick(VERBS[form])
        if negated:
            while verb.flags & NEVER_NEGATED or (verb.dative and verb.accusative):
                verb = self.pick(VERBS[form])
            objects = NEGATED
        if subject is None:
            subject = self.subject(verb, KNOWN if negated or "swap" in verb.flags else SUBJECTS)
        clause = Clause(verb, form, subject, self.bit())
        clause.dative = dative
        clause.accusative = accusative
        clause.prepositional = prepositional
        clause.place = place
        if form == "modal":
            self._set_modal(clause, negated)
        self._add_objects(clause, objects, negated)
        if place is None:
            self._add_extras(clause, extras, negated)
        self._tag(clause)
        return clause

    def _set_modal(self, clause: Clause, negated: bool) -> None:
        if self.chance(0.3):
            clause.modal = WILL
            self.tags["future"] = None
            return
        modal = self.pick(MODALS)
        while negated and modal.english_not is None:
            modal = self.pick(MODALS)
        clause.modal = modal
        self.tags["modal"] = None

    def _add_objects(self, clause: Clause, determiners: Sequence[Determiner], negated: bool) -> None:
        verb, subject = clause.verb, clause.subject
        if verb.dative and clause.dative is None:
            clause.dative = self.phrase(verb.dative, KNOWN, subject, adjectives=0.15)
        if verb.accusative and clause.accusative is None:
            clause.accusative = self._accusative(clause, determiners, negated)
        elif verb.prepositional and clause.prepositional is None:
            each = "each" in verb.flags
            phrase = self.phrase(verb.prepositional.nouns, WORN if each else determiners, subject)
            if each:
                _to_each(phrase, subject)
            clause.prepositional = PrepositionalPhrase(verb.prepositional, phrase, self.bit())
        elif verb.directions:
            clause.prepositional = self.somewhere(verb.directions, subject)
        if negated:
            clause.negated = clause.negated or "nicht"
            self.tags["negation"] = None

    def _accusative(
        self, clause: Clause, determiners: Sequence[Determiner], negated: bool
    ) -> NounPhrase | Joined:
        verb, flags, subject = clause.verb, clause.verb.flags, clause.subject
        if "instrument" in flags:
            return self.phrase(verb.accusative, (INSTRUMENT,), adjectives=0)
        if "each" in flags:
            determiners = WORN
        elif "many" in flags:
            determiners = (BARE,) if negated else SEVERAL
        elif verb.dative:
            determiners = GIVEN
        elif "new" in flags and not negated:
            determiners = MADE
        phrase = self.phrase(verb.accusative, determiners, subject)
        if "each" in flags:
            _to_each(phrase, subject)
        elif "new" in flags:
            _still_new(phrase)
        if negated and not phrase.definite:
            phrase.determiner = NO if phrase.noun.counted else NO_MASS
            phrase.negation = clause.not_
            clause.negated = "kein"
        elif (
            self.joining
            and "each" not in flags
            and not negated
            and not phrase.plural
            and phrase.determiner in (THE, A)
            and self.chance(0.12)
        ):
            second = self.phrase(verb.accusative, (phrase.determiner,), adjectives=0.1)
            if second.noun.head != phrase.noun.head:
                self.tags["coordination"] = None
                return Joined(phrase, second, self.bit())
        return phrase

    def _add_extras(self, clause: Clause, extras: float, negated: bool) -> None:
        verb = clause.verb
        if "place" in verb.flags:
            clause.place = self.place(resting=True)
        elif self.chance(extras):
            if verb.manner and clause.form != "modal" and not negated and self.chance(0.5):
                clause.manner = self.pick(verb.manner)
            elif "noplace" not in verb.flags and not verb.directions:
                clause.place = self.place()

    def passive(self, form: str) -> Clause:
        """Something has something done to it, half of the time by someone we are told about."""
        verb = self.pick(PASSIVE_VERBS[form])
        subject = self.phrase(verb.accusative, SUBJECTS)
        if "new" in verb.flags:
            _still_new(subject)
        clause = Clause(verb, form, subject, self.bit())
        clause.passive = True
        if self.chance(0.5):
            agent = self.phrase(verb.subjects, OBJECTS, adjectives=0.2)
            clause.agent = PrepositionalPhrase(_VON, agent, self.bit())
        elif "noplace" not in verb.flags and self.chance(0.5):
            clause.place = self.place()
        self._tag(clause)
        self.tags["passive"] = None
        return clause

    def _tag(self, clause: Clause) -> None:
        verb = clause.verb
        if verb.prefix:
            self.tags["separable"] = None
        if clause.dative:
            self.tags["dative"] = None
        if verb.prepositional:
            self.tags["prepositional"] = None
        if "sich" in verb.flags:
            self.tags["reflexive"] = None
        if "swap" in verb.flags:
            self.tags["swap"] = None
        if clause.form in ("past", "done") and not clause.passive:
            self.tags["perfect"] = None


def _to_each(phrase: NounPhrase, subject: Nominal) -> None:
    """As many as there are people: a hat for the king, hats for the kings; shoes come in pairs."""
    phrase.plural = subject.plural or "pair" in phrase.noun.kinds
    if phrase.plural and phrase.determiner is A:
        phrase.determiner = BARE


def _still_new(phrase: NounPhrase) -> None:
    phrase.adjectives = tuple(adjective for adjective in phrase.adjectives if not adjective.used)
