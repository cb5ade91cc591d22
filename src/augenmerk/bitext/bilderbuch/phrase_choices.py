"""Drawing lots for the parts of a clause: nouns with what stands before them, subjects, places, times.

Everything random comes from one stream of uniform numbers, so the same seed writes the same book on
every machine.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from augenmerk.bitext.bilderbuch.entries import Adjective, Noun, Preposition, Verb
from augenmerk.bitext.bilderbuch.inflection import (
    BARE,
    FEMININE,
    HER,
    HIS,
    IHR_ITS,
    ITS,
    MANY,
    MASCULINE,
    MY,
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
from augenmerk.bitext.bilderbuch.lexicon import lexicon
from augenmerk.bitext.bilderbuch.phrases import (
    BITS,
    Joined,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Time,
    english_pronoun,
)
from augenmerk.bitext.bilderbuch.verbs import NAMEABLE

_T = TypeVar("_T")

LEXICON = lexicon()

# Two that are only promises of a determiner: of a possessive, and of a number.
_OWN = Determiner((), "", "", STRONG)
_COUNT = Determiner((), "", "", STRONG, definite=False)

SUBJECTS = (*[THE] * 12, *[A] * 5, _OWN, *[_COUNT] * 2, THIS, MANY, SOME)
OBJECTS = (*[THE] * 8, *[A] * 8, *[_OWN] * 2, _COUNT, THIS, SOME, BARE)
GIVEN = (*[THE] * 4, *[A] * 4, _OWN, _COUNT)
WORN = (*[THE] * 3, *[A] * 4, *[_OWN] * 3)
MADE = (*[THE] * 2, *[A] * 4, _COUNT)
PLACES = (*[THE] * 12, *[A] * 2, _OWN)
KNOWN = (*[THE] * 4, _OWN)
RELATED = (*[THE] * 2, A)
NEW = (*[A] * 5, *[_COUNT] * 2, SOME)
NEGATED = (THE, A, A, _OWN)
SEVERAL = (*[BARE] * 2, SOME, _COUNT)
_PLURALS = frozenset({_COUNT, MANY, SOME, BARE})
_MAY_BE_PLURAL = frozenset({THE, THIS, _OWN})

_EACH_HAS_ONE = frozenset({"thing", "clothing", "food", "fruit", "berry", "vegetable"})
"""What several owners have several of: die Kinder suchen ihre Bälle, but: ihren Hund."""


class PhraseChoices:
    """The lots drawn for one sentence after another; `begin` comes before each."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.random = random
        self.tags: dict[str, None] = {}
        self.joining = True
        """Whether phrases may be joined by "und"; not where clauses are."""
        self._used: set[str] = set()
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

    def verb(self, verbs: Sequence[Verb], other: Verb) -> Verb | None:
        """One of the verbs that says something else than that other, which the sentence has already."""
        for _ in range(8):
            verb = self.pick(verbs)
            if verb.base != other.base and verb.infinitive != other.infinitive:
                return verb
        return None

    def noun(self, nouns: Sequence[Noun]) -> Noun:
        """One that the sentence does not have yet, unless luck is very bad."""
        noun = self.pick(nouns)
        for _ in range(8):
            if noun.head not in self._used:
                break
            noun = self.pick(nouns)
        self._used.add(noun.head)
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
        kinds = noun.kinds
        determiner = self.pick(determiners)
        plural = determiner in _PLURALS or (determiner in _MAY_BE_PLURAL and self.chance(0.2))
        if not noun.counted:
            determiner, plural = (THE if determiner.definite else BARE), False
        elif determiner is _OWN or "kin" in kinds:
            determiner = self._possessive(noun, owner)
            if determiner is THEIR and noun.group in _EACH_HAS_ONE:
                plural = True
            elif "single" in kinds:
                plural = False
        elif determiner is _COUNT:
            determiner = self.pick(NUMBERS)
            self.tags["number"] = None
        elif determiner is BARE and noun.group == "person":
            determiner = SOME
        if len(noun.english[0]) > 1:
            self.tags["compound"] = None
        return NounPhrase(noun, determiner, plural, self._adjectives(noun, adjectives), self.bit())

    def _possessive(self, noun: Noun, owner: Nominal | None) -> Determiner:
        if "own" not in noun.kinds:
            return THE
        if owner is None or owner.noun is noun or not _can_own(owner.noun, noun):
            self.tags["possessive"] = None
            return MY if self.chance(0.6) else OUR
        if not owner.plural and "nobody" in owner.noun.kinds:
            if "kin" not in noun.kinds:
                return THE
            self.tags["possessive"] = None
            return OUR
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
        first, second = noun.adjectives
        chosen: tuple[Adjective, ...] = ()
        if first and self.chance(probability):
            chosen = (self.pick(first),)
        if second and self.chance(probability / 2):
            chosen += (self.pick(second),)
        return chosen

    def subject(self, verb: Verb, determiners: Sequence[Determiner] = SUBJECTS) -> NounPhrase | Joined:
        """Now and then a child with a name, or two who do it together."""
        if verb in NAMEABLE and self.chance(0.08):
            phrase = NounPhrase(self.noun(LEXICON.names), BARE, False, (), self.bit())
            phrase.definite = True
            return phrase
        if self.joining and self.chance(0.06):
            return self._two(verb.subjects, THE if self.chance(0.6) else A)
        return self.phrase(verb.subjects, determiners)

    def _two(self, nouns: Sequence[Noun], determiner: Determiner) -> NounPhrase | Joined:
        """Two of the nouns joined by "und", or one of them where there is no other."""
        first, second = (self.phrase(nouns, (determiner,), adjectives=0.15) for _ in range(2))
        if first.noun.head == second.noun.head:
            return first
        self.tags["coordination"] = None
        return Joined(first, second, self.bit())

    def place(self, resting: bool = False, owner: Nominal | None = None) -> PrepositionalPhrase:
        """Where it happens; who is `resting` there may do so on, under or between things."""
        locations = LEXICON.locations
        if resting:
            if self.chance(0.08):
                between = self.pick(LEXICON.between)
                first, second = (self.singular(between.nouns) for _ in range(2))
                return PrepositionalPhrase(between, Joined(first, second, self.bit()), self.bit())
            if self.chance(0.4):
                locations = LEXICON.nooks
        return self.somewhere(locations, owner)

    def outdoors(self) -> PrepositionalPhrase:
        """Where there is room for a tree."""
        return self.somewhere(LEXICON.outdoors)

    def somewhere(
        self, prepositions: Sequence[Preposition], owner: Nominal | None = None
    ) -> PrepositionalPhrase:
        preposition = self.pick(prepositions)
        return PrepositionalPhrase(preposition, self.singular(preposition.nouns, owner), self.bit())

    def singular(self, nouns: Sequence[Noun], owner: Nominal | None = None) -> NounPhrase:
        phrase = self.phrase(nouns, PLACES, owner, adjectives=0.2)
        phrase.plural = False
        return phrase

    def time(self, when: str, position: str = "") -> Time:
        """An adverbial for that tense, one that may stand in that position if any is named."""
        adverbials = LEXICON.adverbials[when]
        if position:
            adverbials = tuple(one for one in adverbials if position in one.positions)
        return Time(self.pick(adverbials), self.bit())


def _can_own(owner: Noun, noun: Noun) -> bool:
    """People can own anything, animals a ball, but no aunt."""
    return owner.living and (owner.group != "animal" or noun.group not in ("person", "animal"))
