"""Drawing lots for the parts of a sentence: nouns with what stands before them, places, whole clauses.

Everything random comes from one stream of uniform numbers, so the same seed writes the same book on
every machine.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from augenmerk.bitext.bilderbuch.clause import MODALS, WILL, Clause
from augenmerk.bitext.bilderbuch.inflection import (
    BARE,
    DATIVE,
    FEMININE,
    HER,
    HIS,
    IHR_ITS,
    ITS,
    MANY,
    MASCULINE,
    MY,
    NO,
    NUMBERS,
    OUR,
    SEIN_HER,
    SOME,
    STRONG,
    THE,
    THEIR,
    THIS,
    A,
    Determiner,
)
from augenmerk.bitext.bilderbuch.lexicon import Adjective, Noun, Preposition, Verb, lexicon
from augenmerk.bitext.bilderbuch.phrases import (
    BITS,
    Joined,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Time,
    english_pronoun,
)

_T = TypeVar("_T")

LEXICON = lexicon()

# Two that are only promises of a determiner: of a possessive, and of a number.
_OWN = Determiner((), "", "", STRONG)
_COUNT = Determiner((), "", "", STRONG, definite=False)

SUBJECTS = (*[THE] * 11, *[A] * 4, *[_OWN] * 3, *[_COUNT] * 2, THIS, MANY, SOME)
OBJECTS = (*[THE] * 8, *[A] * 8, *[_OWN] * 3, _COUNT, THIS, SOME, BARE)
PLACES = (*[THE] * 12, *[A] * 2, _OWN)
KNOWN = (*[THE] * 4, _OWN)
RELATED = (*[THE] * 2, A)
NEW = (*[A] * 5, *[_COUNT] * 2, SOME)
_PLURALS = frozenset({_COUNT, MANY, SOME, BARE})
_MAY_BE_PLURAL = frozenset({THE, THIS, _OWN})

_VON = Preposition("von", DATIVE, ("by",), ())

# Which verbs can be told in which way.
VERBS = {
    "now": tuple(verb for verb in LEXICON.verbs if "moment" not in verb.flags),
    "habit": tuple(verb for verb in LEXICON.verbs if not verb.flags & {"moment", "swap"}),
    "past": tuple(verb for verb in LEXICON.verbs if "present" not in verb.flags),
    "done": tuple(verb for verb in LEXICON.verbs if not verb.flags & {"present", "state"}),
    "modal": tuple(verb for verb in LEXICON.verbs if not verb.flags & {"present", "alone"}),
}
_PASSIVE = tuple(
    verb for verb in LEXICON.verbs if verb.accusative and not verb.dative and "active" not in verb.flags
)
PASSIVE_VERBS = {
    form: tuple(verb for verb in VERBS[form] if verb in _PASSIVE) for form in ("now", "past", "done")
}
_NAMEABLE = frozenset(verb for verb in LEXICON.verbs if any("child" in noun.kinds for noun in verb.subjects))


class Choices:
    """The lots drawn for one sentence after another; `begin` before each."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.random = random
        self.tags: dict[str, None] = {}
        self.joining = True
        """Whether phrases may be joined by "und"; not where clauses are."""
        self._used: set[Noun] = set()
        self._bit = 1

    def begin(self) -> None:
        self.tags = {}
        self.joining = True
        self._used = set()
        self._bit = 1

    def bit(self) -> int:
        """The first of `BITS` bits that no other part of the sentence uses."""
        self._bit <<= BITS
        return self._bit

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, those: Sequence[_T]) -> _T:
        return those[int(self.random() * len(those))]

    def noun(self, nouns: Sequence[Noun]) -> Noun:
        """One that the sentence does not have yet, unless luck is very bad."""
        noun = self.pick(nouns)
        for _ in range(8):
            if noun not in self._used:
                break
            noun = self.pick(nouns)
        self._used.add(noun)
        return noun

    def phrase(
        self,
        nouns: Sequence[Noun],
        determiners: Sequence[Determiner],
        owner: Nominal | None = None,
        adjectives: float = 0.3,
    ) -> NounPhrase:
        """A noun with a fitting determiner; each of at most two adjectives comes with that chance."""
        noun = self.noun(nouns)
        determiner = self.pick(determiners)
        plural = determiner in _PLURALS or (determiner in _MAY_BE_PLURAL and self.chance(0.2))
        if not noun.counted:
            determiner, plural = (THE if self.chance(0.3) else BARE), False
        elif determiner is _OWN:
            determiner = self._possessive(noun, owner)
        elif determiner is _COUNT:
            determiner = self.pick(NUMBERS)
            self.tags["number"] = None
        if len(noun.english[0]) > 1:
            self.tags["compound"] = None
        return NounPhrase(noun, determiner, plural, self._adjectives(noun, adjectives), self.bit())

    def _possessive(self, noun: Noun, owner: Nominal | None) -> Determiner:
        if "own" not in noun.kinds:
            return THE
        if owner is None or owner.noun is noun:
            self.tags["possessive"] = None
            return MY if self.chance(0.6) else OUR
        if not owner.plural and "nobody" in owner.noun.kinds:
            return THE
        self.tags["possessive"] = None
        if owner.plural:
            return THEIR
        english = english_pronoun(owner.noun)
        if owner.noun.gender == FEMININE:
            return HER if english == "she" else IHR_ITS
        if owner.noun.gender == MASCULINE:
            return HIS if english == "he" else ITS
        return SEIN_HER if english == "she" else ITS

    def _adjectives(self, noun: Noun, probability: float) -> tuple[Adjective, ...]:
        rows = LEXICON.adjectives.get(noun.adjectives)
        if rows is None:
            return ()
        first, second = rows
        chosen: tuple[Adjective, ...] = ()
        if self.chance(probability):
            chosen = (self.pick(first),)
        if second and self.chance(probability / 2):
            chosen += (self.pick(second),)
        return chosen

    def subject(self, verb: Verb, determiners: Sequence[Determiner] = SUBJECTS) -> NounPhrase | Joined:
        """Now and then a child with a name, or two who do it together."""
        if verb in _NAMEABLE and self.chance(0.08):
            phrase = NounPhrase(self.noun(LEXICON.names), BARE, False, (), self.bit())
            phrase.definite = True
            return phrase
        if self.joining and self.chance(0.06) and len(verb.subjects) > 3:
            self.tags["coordination"] = None
            first, second = (self.phrase(verb.subjects, (THE, A), adjectives=0.1) for _ in range(2))
            return Joined(first, second, self.bit())
        return self.phrase(verb.subjects, determiners)

    def place(self, surface: bool = False, owner: Nominal | None = None) -> PrepositionalPhrase:
        """Where it happens; `surface` allows "auf dem Tisch"."""
        if self.chance(0.05):
            between = self.pick(LEXICON.between)
            first, second = (self._singular(between.nouns) for _ in range(2))
            return PrepositionalPhrase(between, Joined(first, second, self.bit()), self.bit())
        preposition = LEXICON.surfaces if surface and self.chance(0.3) else self.pick(LEXICON.locations)
        return PrepositionalPhrase(preposition, self._singular(preposition.nouns, owner), self.bit())

    def outdoors(self) -> PrepositionalPhrase:
        """Where there is room for a tree."""
        preposition = self.pick(LEXICON.outdoors)
        return PrepositionalPhrase(preposition, self._singular(preposition.nouns), self.bit())

    def _singular(self, nouns: Sequence[Noun], owner: Nominal | None = None) -> NounPhrase:
        phrase = self.phrase(nouns, PLACES, owner, adjectives=0.2)
        phrase.plural = False
        return phrase

    def time(self, when: str, position: str = "") -> Time:
        """An adverbial for that tense, one that may stand in that position if any is named."""
        adverbials = LEXICON.adverbials[when]
        if position:
            adverbials = tuple(one for one in adverbials if position in one.positions)
        return Time(self.pick(adverbials), self.bit())

    def clause(
        self,
        form: str,
        subject: Nominal | None = None,
        verb: Verb | None = None,
        *,
        negated: bool = False,
        extras: float = 0.35,
        objects: Sequence[Determiner] = OBJECTS,
        accusative: Nominal | None = None,
    ) -> Clause:
        """A clause told in that form, with a place or a manner by the chance `extras`.

        What is not given is drawn: the verb, the subject, and objects with one of those determiners.
        """
        verb = verb or self.pick(VERBS[form])
        if negated:
            while "alone" in verb.flags or verb.dative:
                verb = self.pick(VERBS[form])
            objects = (THE, A, A, _OWN)
        if subject is None:
            swap = "swap" in verb.flags
            subject = self.subject(verb, KNOWN if negated or swap else SUBJECTS)
        clause = Clause(verb, form, subject, self.bit())
        clause.accusative = accusative
        if form == "modal":
            self._set_modal(clause, negated)
        self._add_objects(clause, objects, negated)
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
        if verb.dative:
            clause.dative = self.phrase(verb.dative, KNOWN, subject, adjectives=0.15)
        if verb.accusative and clause.accusative is None:
            phrase = self.phrase(verb.accusative, determiners, subject)
            clause.accusative = phrase
            if negated and not phrase.definite:
                phrase.determiner = NO
                phrase.negation = clause.not_
                clause.negated = "kein"
            elif self.joining and phrase.determiner in (THE, A) and not negated and self.chance(0.1):
                self.tags["coordination"] = None
                second = self.phrase(verb.accusative, (phrase.determiner,), adjectives=0.1)
                clause.accusative = Joined(phrase, second, self.bit())
        elif verb.prepositional:
            phrase = self.phrase(verb.prepositional.nouns, determiners, subject)
            clause.prepositional = PrepositionalPhrase(verb.prepositional, phrase, self.bit())
        elif verb.directions:
            direction = self.pick(verb.directions)
            phrase = self._singular(direction.nouns, subject)
            clause.prepositional = PrepositionalPhrase(direction, phrase, self.bit())
        if negated:
            clause.negated = clause.negated or "nicht"
            self.tags["negation"] = None

    def _add_extras(self, clause: Clause, extras: float, negated: bool) -> None:
        verb = clause.verb
        if "place" in verb.flags:
            clause.place = self.place(surface="sich" not in verb.flags)
        elif self.chance(extras):
            if verb.manner and clause.form != "modal" and not negated and self.chance(0.5):
                clause.manner = self.pick(verb.manner)
            elif "noplace" not in verb.flags and not verb.directions:
                clause.place = self.place()

    def passive(self, form: str) -> Clause:
        """Something has something done to it, half of the time by someone we are told about."""
        verb = self.pick(PASSIVE_VERBS[form])
        clause = Clause(verb, form, self.phrase(verb.accusative, SUBJECTS), self.bit())
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
        if clause.verb.prefix:
            self.tags["separable"] = None
        if clause.dative:
            self.tags["dative"] = None
        if "sich" in clause.verb.flags:
            self.tags["reflexive"] = None
        if clause.form in ("past", "done") and not clause.passive:
            self.tags["perfect"] = None
