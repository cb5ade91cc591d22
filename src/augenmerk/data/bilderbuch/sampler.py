"""Random choice of words, phrases and clauses.

All randomness comes from one stream of uniform numbers, so a seed gives the same sentences on every machine.
The order of the calls is therefore part of what a seed means.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from augenmerk.data.bilderbuch import lexicon as lex
from augenmerk.data.bilderbuch.grammar import (
    BITS,
    MANNER,
    NEGATION,
    Clause,
    Coordination,
    FixedPhrase,
    Nominal,
    NounPhrase,
    Part,
    PrepositionalPhrase,
    fix_words,
)
from augenmerk.data.bilderbuch.lexicon import Adjective, Determiner, Noun, Preposition, Verb

_T = TypeVar("_T")

_ONE_PER_OWNER = frozenset({"thing", "clothing", "food", "fruit", "berry", "vegetable"})
"""Groups of nouns that several owners have several of: die Kinder suchen ihre Bälle, but: ihren Hund."""

_BY = Preposition("von", lex.DATIVE, "by", ())


class Sampler:
    """Draws the parts of one sentence. `tags` are the phenomena in the sentence so far."""

    def __init__(self, rng: Callable[[], float]) -> None:
        self.rng = rng
        """Returns uniform random numbers from 0 to 1."""
        self.tags: dict[str, None] = {}  # a set that keeps its order
        self.may_coordinate = True
        """Whether phrases may be joined by "und"; not in sentences whose clauses are."""
        self._used: set[str] = set()
        self._bit = 1

    def tag(self, *tags: str) -> None:
        for tag in tags:
            self.tags[tag] = None

    def new_bit(self) -> int:
        """Returns the first of `BITS` link bits that no other part of the sentence uses."""
        self._bit <<= BITS
        return self._bit

    def bernoulli(self, probability: float) -> bool:
        return self.rng() < probability

    def choose(self, options: Sequence[_T]) -> _T:
        return options[int(self.rng() * len(options))]

    def draw_other_verb(self, verbs: Sequence[Verb], verb: Verb) -> Verb | None:
        """Draws one of the verbs that differs from `verb` in both languages, or None after 8 attempts."""
        for _ in range(8):
            other = self.choose(verbs)
            if other.base != verb.base and other.infinitive != verb.infinitive:
                return other
        return None

    def draw_noun(self, nouns: Sequence[Noun]) -> Noun:
        """Draws a noun that is not in the sentence yet, if one is found in 9 attempts."""
        noun = self.choose(nouns)
        for _ in range(8):
            if noun.head not in self._used:
                break
            noun = self.choose(nouns)
        self._used.add(noun.head)
        return noun

    def draw_phrase(
        self,
        nouns: Sequence[Noun],
        determiners: Sequence[Determiner],
        owner: Nominal | None = None,
        adjectives: float = 0.3,
    ) -> NounPhrase:
        """Draws a noun with a determiner that fits and at most two adjectives.

        `adjectives` is the probability of the first adjective; that of the second is half of it.
        """
        noun = self.draw_noun(nouns)
        kinds = noun.kinds
        determiner = self.choose(determiners)
        plural = determiner in lex.ALWAYS_PLURAL or (
            determiner in lex.SOMETIMES_PLURAL and self.bernoulli(0.2)
        )
        if not noun.counted:
            determiner, plural = (lex.THE if determiner.definite else lex.BARE), False
        elif determiner is lex.POSSESSIVE or "kin" in kinds:
            determiner = self._draw_possessive(noun, owner)
            if determiner is lex.THEIR and noun.group in _ONE_PER_OWNER:
                plural = True
            elif "single" in kinds:
                plural = False
        elif determiner is lex.NUMBER:
            determiner = self.choose(lex.NUMBERS)
            self.tag("number")
        elif determiner is lex.BARE and noun.group == "person":
            determiner = lex.SOME
        if len(noun.english[0]) > 1:
            self.tag("compound")
        drawn = self._draw_adjectives(noun, adjectives)
        return NounPhrase(noun, plural, determiner.definite, drawn, determiner=determiner, bit=self.new_bit())

    def _draw_possessive(self, noun: Noun, owner: Nominal | None) -> Determiner:
        if "own" not in noun.kinds:
            return lex.THE
        if owner is None or owner.noun is noun or not _can_own(owner.noun, noun):
            possessive = lex.MY if self.bernoulli(0.6) else lex.OUR
        elif owner.plural:
            possessive = lex.THEIR
        elif "nobody" not in owner.noun.kinds:
            possessive = lex.HIS_HER_ITS[owner.noun.gender, owner.noun.pronoun]
        elif "kin" in noun.kinds:
            possessive = lex.OUR
        else:
            return lex.THE
        self.tag("possessive")
        return possessive

    def _draw_adjectives(self, noun: Noun, probability: float) -> tuple[Adjective, ...]:
        drawn = []
        for options in noun.adjectives:
            if options and self.rng() < probability:
                drawn.append(self.choose(options))
            probability /= 2
        return tuple(drawn)

    def draw_subject(self, verb: Verb, determiners: Sequence[Determiner] = lex.SUBJECTS) -> Nominal:
        """Draws a subject for the verb: a noun, sometimes a child's name or two coordinated nouns."""
        if verb in lex.CHILD_VERBS and self.bernoulli(0.08):
            name = self.draw_noun(lex.NAMES)
            return NounPhrase(name, plural=False, determiner=lex.BARE, bit=self.new_bit())
        if self.may_coordinate and self.bernoulli(0.06):
            determiners = (lex.THE,) if self.bernoulli(0.6) else (lex.A,)
            first, second = (self.draw_phrase(verb.subjects, determiners, adjectives=0.15) for _ in range(2))
            if first.noun.head == second.noun.head:
                return first
            self.tag("coordination")
            return Coordination(first, second, self.new_bit())
        return self.draw_phrase(verb.subjects, determiners)

    def draw_place(self, resting: bool = False) -> PrepositionalPhrase:
        """Draws where something happens; if somebody is `resting` there, also on, under or between things."""
        locations = lex.LOCATIONS
        if resting:
            if self.bernoulli(0.08):
                between = self.choose(lex.BETWEEN)
                first, second = (self._draw_singular(between.nouns) for _ in range(2))
                both = Coordination(first, second, self.new_bit())
                return PrepositionalPhrase(between, both, self.new_bit())
            if self.bernoulli(0.4):
                locations = lex.RESTING_PLACES
        return self.draw_location(locations)

    def draw_location(self, uses: Sequence[Preposition], owner: Nominal | None = None) -> PrepositionalPhrase:
        """Draws one of the uses of prepositions and a singular noun that goes with it."""
        preposition = self.choose(uses)
        return PrepositionalPhrase(preposition, self._draw_singular(preposition.nouns, owner), self.new_bit())

    def _draw_singular(self, nouns: Sequence[Noun], owner: Nominal | None = None) -> NounPhrase:
        phrase = self.draw_phrase(nouns, lex.PLACES, owner, adjectives=0.2)
        phrase.plural = False
        return phrase

    def draw_time(self, when: str, position: str = "") -> FixedPhrase:
        """Draws an adverbial for the tense, one that fits `position` if that is given."""
        fitting = [time for time in lex.ADVERBIALS[when] if not position or position in time.positions]
        return FixedPhrase(self.choose(fitting), self.new_bit())

    def draw_clause(
        self,
        form: str,
        subject: Nominal | None = None,
        verb: Verb | None = None,
        *,
        negated: bool = False,
        extras: float = 0.35,
        objects: Sequence[Determiner] = lex.OBJECTS,
        dative: Nominal | None = None,
        accusative: Nominal | None = None,
        prepositional: Part | None = None,
        place: Part | None = None,
    ) -> Clause:
        """Draws the parts of a clause that are not given: the verb, the subject and the objects.

        Objects get one of the determiners in `objects`. `extras` is the probability of a place or a manner.
        """
        verb = verb or self.choose(lex.VERBS[form])
        if negated:
            while verb.flags & {"alone", "instrument"} or (verb.dative and verb.accusative):
                verb = self.choose(lex.VERBS[form])
            objects = lex.NEGATED
        if subject is None:
            subject = self.draw_subject(verb, lex.KNOWN if negated or "swap" in verb.flags else lex.SUBJECTS)
        clause = Clause(verb, form, subject, self.new_bit(), dative, accusative, prepositional, place)
        if form == "modal":
            self._add_modal(clause, negated)
        self._add_objects(clause, objects, negated)
        if place is None:
            self._add_extras(clause, extras, negated)
        self._tag_clause(clause)
        return clause

    def draw_passive(self, form: str) -> Clause:
        """Draws a passive clause, in half of the cases with an agent."""
        verb = self.choose(lex.PASSIVE_VERBS[form])
        subject = self.draw_phrase(verb.accusative, lex.SUBJECTS)
        if "new" in verb.flags:
            _remove_used(subject)
        clause = Clause(verb, form, subject, self.new_bit(), passive=True)
        if self.bernoulli(0.5):
            agent = self.draw_phrase(verb.subjects, lex.OBJECTS, adjectives=0.2)
            clause.agent = PrepositionalPhrase(_BY, agent, self.new_bit())
        elif "noplace" not in verb.flags and self.bernoulli(0.5):
            clause.place = self.draw_place()
        self._tag_clause(clause)
        self.tag("passive")
        return clause

    def _add_modal(self, clause: Clause, negated: bool) -> None:
        if self.bernoulli(0.3):
            clause.modal = lex.WILL
            self.tag("future")
            return
        clause.modal = self.choose(lex.MODALS)
        while negated and not clause.modal.english_not:
            clause.modal = self.choose(lex.MODALS)
        self.tag("modal")

    def _add_objects(self, clause: Clause, determiners: Sequence[Determiner], negated: bool) -> None:
        verb, subject = clause.verb, clause.subject
        if verb.dative and clause.dative is None:
            clause.dative = self.draw_phrase(verb.dative, lex.KNOWN, subject, adjectives=0.15)
        if verb.accusative and clause.accusative is None:
            clause.accusative = self._draw_accusative(clause, determiners, negated)
        elif verb.prepositional and clause.prepositional is None:
            each = "each" in verb.flags
            phrase = self.draw_phrase(verb.prepositional.nouns, lex.WORN if each else determiners, subject)
            if each:
                _distribute(phrase, subject)
            clause.prepositional = PrepositionalPhrase(verb.prepositional, phrase, self.new_bit())
        elif verb.directions:
            clause.prepositional = self.draw_location(verb.directions, subject)
        if negated:
            clause.negated = clause.negated or "nicht"
            self.tag("negation")

    def _draw_accusative(self, clause: Clause, determiners: Sequence[Determiner], negated: bool) -> Nominal:
        verb, flags, subject = clause.verb, clause.verb.flags, clause.subject
        if "instrument" in flags:
            return self.draw_phrase(verb.accusative, (lex.INSTRUMENT,), adjectives=0)
        if "each" in flags:
            determiners = lex.WORN
        elif "many" in flags:
            determiners = (lex.BARE,) if negated else lex.SEVERAL
        elif verb.dative:
            determiners = lex.GIVEN
        elif "new" in flags and not negated:
            determiners = lex.MADE
        phrase = self.draw_phrase(verb.accusative, determiners, subject)
        if "each" in flags:
            _distribute(phrase, subject)
        elif "new" in flags:
            _remove_used(phrase)
        if negated and not phrase.definite:
            phrase.determiner = lex.NO if phrase.noun.counted else lex.NO_MASS
            phrase.negation = clause.bit << NEGATION
            clause.negated = "kein"
            return phrase
        joinable = (
            not negated
            and not phrase.plural
            and phrase.determiner in (lex.THE, lex.A)
            and "each" not in flags
        )
        if self.may_coordinate and joinable and self.bernoulli(0.12):
            second = self.draw_phrase(verb.accusative, (phrase.determiner,), adjectives=0.1)
            if second.noun.head != phrase.noun.head:
                self.tag("coordination")
                return Coordination(phrase, second, self.new_bit())
        return phrase

    def _add_extras(self, clause: Clause, probability: float, negated: bool) -> None:
        verb = clause.verb
        if "place" in verb.flags:
            clause.place = self.draw_place(resting=True)
        elif self.bernoulli(probability):
            if verb.manner and clause.form != "modal" and not negated and self.bernoulli(0.5):
                clause.manner = fix_words(*self.choose(verb.manner), clause.bit << MANNER)
            elif "noplace" not in verb.flags and not verb.directions:
                clause.place = self.draw_place()

    def _tag_clause(self, clause: Clause) -> None:
        verb = clause.verb
        phenomena = {
            "separable": verb.prefix,
            "dative": clause.dative,
            "prepositional": verb.prepositional,
            "reflexive": "sich" in verb.flags,
            "swap": "swap" in verb.flags,
            "perfect": clause.form in ("past", "done") and not clause.passive,
        }
        self.tag(*(tag for tag, present in phenomena.items() if present))


def _can_own(owner: Noun, noun: Noun) -> bool:
    """Returns whether the owner can have the noun: people anything, animals a ball but not an aunt."""
    return owner.living and (owner.group != "animal" or noun.group not in ("person", "animal"))


def _distribute(phrase: NounPhrase, subject: Nominal) -> None:
    """Makes the phrase as many as the subjects: a hat for the king, hats for the kings; shoes are a pair."""
    phrase.plural = subject.plural or "pair" in phrase.noun.kinds
    if phrase.plural and phrase.determiner is lex.A:
        phrase.determiner = lex.BARE


def _remove_used(phrase: NounPhrase) -> None:
    """Removes adjectives that something new cannot have, such as old."""
    phrase.adjectives = tuple(adjective for adjective in phrase.adjectives if "used" not in adjective.kinds)
