"""The author: the kinds of sentence there are, how often each is written, and the finished pair."""

from collections.abc import Callable

from augenmerk.bitext.bilderbuch.choices import KNOWN, LEXICON, NEW, RELATED, SUBJECTS, VERBS, Choices
from augenmerk.bitext.bilderbuch.clause import WEATHER, Clause, FrontedObject, Quality, Weather
from augenmerk.bitext.bilderbuch.inflection import (
    ACCUSATIVE,
    DEFINITE,
    MASCULINE,
    NOMINATIVE,
    THE,
)
from augenmerk.bitext.bilderbuch.lexicon import Noun, Verb
from augenmerk.bitext.bilderbuch.phrases import (
    Gap,
    Joined,
    Line,
    NounPhrase,
    Part,
    Pronoun,
)
from augenmerk.bitext.pairs import SentencePair

_STOP = 1
"""The first bit of every sentence links the full stops."""

Subordinate = Clause | Quality | Weather


def _matrix(german: str, english: str) -> tuple[tuple[str, str], tuple[str, str]]:
    singular, plural = german.split()
    third, base = english.split()
    return (singular, plural), (third, base)


_THINKING = (
    _matrix("sagt sagen", "says say"),
    _matrix("weiß wissen", "knows know"),
    _matrix("glaubt glauben", "thinks think"),
    _matrix("hofft hoffen", "hopes hope"),
    _matrix("sieht sehen", "sees see"),
    _matrix("merkt merken", "notices notice"),
)


def _by_noun(
    verbs: tuple[Verb, ...], nouns_of: Callable[[Verb], tuple[Noun, ...]]
) -> dict[Noun, tuple[Verb, ...]]:
    """Which of the verbs go with a noun, leaving out those that make poor company: see, hear, please."""
    found: dict[Noun, list[Verb]] = {}
    for verb in verbs:
        if not (verb.flags & {"swap", "state"}) or verb.infinitive == "gehören":
            for noun in nouns_of(verb):
                found.setdefault(noun, []).append(verb)
    return {noun: tuple(fitting) for noun, fitting in found.items()}


_DONE_BY = {form: _by_noun(VERBS[form], lambda verb: verb.subjects) for form in ("now", "done", "modal")}
_DONE_TO = _by_noun(VERBS["now"], lambda verb: () if verb.dative else verb.accusative)
_ANY_CHILD = next(noun for noun in LEXICON.nouns if noun.lemma == "Junge")

_WALKS = tuple(
    verb for verb in LEXICON.verbs if verb.directions and verb.infinitive in ("gehen", "rennen", "wandern")
)
_ERRANDS = tuple(
    verb
    for verb in VERBS["modal"]
    if verb.accusative
    and not verb.dative
    and not verb.flags & {"state", "sich", "moment"}
    and {"Junge", "Frau"} <= {noun.lemma for noun in verb.subjects}
)
_PEOPLE = tuple(noun for noun in LEXICON.nouns if noun.group == "person")

# What can be found where: es steht, liegt, sitzt etwas im Garten.
_STANDING = tuple(
    noun
    for noun in LEXICON.nouns
    if noun.kinds & {"around", "road"} and noun.group in ("plant", "vehicle", "building")
)
_LYING = tuple(noun for noun in LEXICON.nouns if "liftable" in noun.kinds)
_SITTING = tuple(noun for noun in LEXICON.nouns if noun.kinds & {"bird", "pet"})


class Relative:
    """A relative clause with its pronoun; `role` is the case the pronoun has in it."""

    __slots__ = ("bit", "clause", "of", "role")

    def __init__(self, of: NounPhrase, clause: Clause, role: int, bit: int) -> None:
        self.of = of
        self.clause = clause
        self.role = role
        self.bit = bit

    def german(self, line: Line) -> None:
        line.add(DEFINITE[self.of.agreement][self.role], self.bit)
        self.clause.german_last(line)

    def english(self, line: Line) -> None:
        person = self.of.noun.group == "person" and self.role == NOMINATIVE
        line.add("who" if person else "that", self.bit)
        self.clause.english(line)


class Author:
    """Writes one sentence pair after another."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._choices = Choices(random)
        # How often each kind of sentence is written, in parts of their sum.
        kinds: tuple[tuple[int, Callable[[Line, Line], None]], ...] = (
            (13, self._plain),
            (11, self._time_first),
            (9, self._place_first),
            (3, self._object_first),
            (10, self._perfect),
            (12, self._modal),
            (6, self._negated),
            (6, self._habit),
            (7, self._while),
            (6, self._because),
            (4, self._when),
            (6, self._that),
            (5, self._who),
            (5, self._whom),
            (6, self._passive),
            (4, self._and),
            (4, self._purpose),
            (3, self._there_is),
            (2, self._quality),
        )
        self._kinds = tuple(kind for weight, kind in kinds for _ in range(weight))

    def pair(self) -> SentencePair:
        """The next pair, with its links and tags."""
        choices = self._choices
        choices.begin()
        german, english = Line(), Line()
        choices.pick(self._kinds)(german, english)
        german.stop(_STOP)
        english.stop(_STOP)
        english_links = english.links
        links = tuple(
            (i, j)
            for i, bits in enumerate(german.links)
            if bits
            for j, others in enumerate(english_links)
            if bits & others
        )
        return SentencePair(_text(german.words), _text(english.words), links, tuple(choices.tags))

    # Main clauses -------------------------------------------------------------------------------

    def _write(self, clause: Clause, german: Line, english: Line, front: Part | None = None) -> None:
        clause.german(german, front)
        clause.english(english, front)

    def _plain(self, german: Line, english: Line) -> None:
        clause = self._choices.clause("now")
        if "state" not in clause.verb.flags and self._choices.chance(0.2):
            clause.time = self._choices.time("now")
        self._write(clause, german, english)

    def _habit(self, german: Line, english: Line) -> None:
        clause = self._choices.clause("habit", extras=0.2)
        clause.time = self._choices.time("habit")
        self._write(clause, german, english)

    def _time_first(self, german: Line, english: Line) -> None:
        choices = self._choices
        form = choices.pick(("now", "now", "habit", "past", "past", "soon"))
        clause = choices.clause("modal" if form == "soon" else form, extras=0.2)
        if form == "soon" and "modal" in choices.tags:
            form = "now"
        clause.time = choices.time(form, "front")
        choices.tags["fronted"] = None
        self._write(clause, german, english, clause.time)

    def _place_first(self, german: Line, english: Line) -> None:
        choices = self._choices
        clause = choices.clause("now", verb=choices.pick(_PLACEABLE), extras=0)
        clause.place = choices.place()
        choices.tags["fronted"] = None
        self._write(clause, german, english, clause.place)

    def _object_first(self, german: Line, english: Line) -> None:
        """Only where the article shows the case: a masculine accusative."""
        choices = self._choices
        verb = choices.pick(_WITH_MASCULINE)
        masculine = tuple(noun for noun in verb.accusative if noun.gender == MASCULINE)
        phrase = choices.phrase(masculine, (THE,), adjectives=0.4)
        phrase.plural = False
        clause = choices.clause("now", choices.subject(verb, KNOWN), verb, extras=0.2, accusative=phrase)
        choices.tags["object-first"] = None
        self._write(clause, german, english, FrontedObject(phrase))

    def _perfect(self, german: Line, english: Line) -> None:
        choices = self._choices
        form = "past" if choices.chance(0.4) else "done"
        clause = choices.clause(form)
        if form == "past" or choices.chance(0.4):
            clause.time = choices.time(form)
        self._write(clause, german, english)

    def _modal(self, german: Line, english: Line) -> None:
        choices = self._choices
        clause = choices.clause("modal")
        if "future" in choices.tags and choices.chance(0.5):
            clause.time = choices.time("soon")
        self._write(clause, german, english)

    def _negated(self, german: Line, english: Line) -> None:
        choices = self._choices
        form = choices.pick(("now", "now", "done", "modal"))
        self._write(choices.clause(form, negated=True, extras=0.2), german, english)

    def _passive(self, german: Line, english: Line) -> None:
        choices = self._choices
        form = choices.pick(("now", "now", "past", "done"))
        clause = choices.passive(form)
        if form == "past":
            clause.time = choices.time("past")
        elif choices.chance(0.2):
            clause.time = choices.time(form)
        self._write(clause, german, english)

    def _quality(self, german: Line, english: Line) -> None:
        subject = self._choices.phrase(LEXICON.nouns, KNOWN, adjectives=0.2)
        self._say_quality(subject, german, english)

    def _say_quality(self, subject: NounPhrase, german: Line, english: Line) -> None:
        choices = self._choices
        said = {adjective.german for adjective in subject.adjectives}
        fitting = tuple(one for one in LEXICON.qualities[subject.noun.group] if one.german not in said)
        quality = Quality(subject, choices.pick(fitting), choices.bit())
        quality.german(german)
        quality.english(english)

    def _there_is(self, german: Line, english: Line) -> None:
        """Im Garten steht ein Baum: English opens with "there is" and names the place last."""
        choices = self._choices
        nouns, verb, surface = choices.pick(
            (
                (_STANDING, "steht stehen", False),
                (_LYING, "liegt liegen", True),
                (_SITTING, "sitzt sitzen", True),
            )
        )
        thing = choices.phrase(nouns, NEW, adjectives=0.5)
        place = choices.place(surface) if surface else choices.outdoors()
        bit = choices.bit()
        place.german(german)
        german.add(verb.split()[thing.plural], bit)
        thing.german(german, NOMINATIVE)
        english.add("there", bit)
        english.add("are" if thing.plural else "is", bit)
        thing.english(english)
        place.english(english)
        choices.tags["there-is"] = None
        choices.tags["fronted"] = None

    # Several clauses ----------------------------------------------------------------------------

    def _and(self, german: Line, english: Line) -> None:
        choices = self._choices
        choices.joining = False
        bit = choices.bit()
        word, translation = choices.pick((("und", "and"), ("und", "and"), ("aber", "but")))
        self._write(choices.clause("now", extras=0.1), german, english)
        if word == "aber":
            german.comma(bit << 1)
            english.comma(bit << 1)
        german.add(word, bit)
        english.add(translation, bit)
        second = choices.clause("now", extras=0.1, negated=word == "aber" and choices.chance(0.5))
        self._write(second, german, english)
        choices.tags["coordination"] = None

    def _attach(
        self,
        german: Line,
        english: Line,
        main: Clause,
        words: tuple[str, str],
        subordinate: Subordinate,
        first: bool,
    ) -> None:
        """A main and a subordinate clause in either order; after the subordinate one the verb comes first."""
        choices = self._choices
        bit = choices.bit()
        choices.tags["subordinate"] = None
        choices.tags[words[0]] = None
        if first:
            opening = Opening(words[0], subordinate, bit)
            main.german(german, opening)
            english.add(words[1], bit)
            subordinate.english(english)
            english.comma(bit << 1)
            main.english(english)
            return
        main.german(german)
        german.comma()
        german.add(words[0], bit)
        subordinate.german_last(german)
        main.english(english)
        english.add(words[1], bit)
        subordinate.english(english)

    def _weather(self, form: str) -> Weather:
        german, english = self._choices.pick(WEATHER)
        return Weather(german, english[form], self._choices.bit())

    def _while(self, german: Line, english: Line) -> None:
        choices = self._choices
        subordinate: Subordinate = (
            self._weather("now") if choices.chance(0.1) else choices.clause("now", extras=0.2)
        )
        main = choices.clause("now", extras=0.15)
        self._attach(german, english, main, ("während", "while"), subordinate, choices.chance(0.5))

    def _when(self, german: Line, english: Line) -> None:
        choices = self._choices
        subordinate: Subordinate = (
            self._weather("habit") if choices.chance(0.3) else choices.clause("habit", extras=0.1)
        )
        main = choices.clause("habit", extras=0.2)
        self._attach(german, english, main, ("wenn", "when"), subordinate, choices.chance(0.7))

    def _because(self, german: Line, english: Line) -> None:
        """The reason is about the one who acts, wherever there is a pronoun for them."""
        choices = self._choices
        main = choices.clause("now", extras=0.1)
        subject = main.subject
        mentioned = subject.plural or "nobody" not in subject.noun.kinds
        reason: Subordinate
        if not mentioned or "swap" in main.verb.flags or subject.noun.group not in _LIVING:
            reason = self._weather("now") if choices.chance(0.5) else choices.clause("now", extras=0)
        elif choices.chance(0.45):
            adjective = choices.pick(LEXICON.qualities["why"])
            reason = Quality(Pronoun(subject, choices.bit()), adjective, choices.bit())
        else:
            pronoun = Pronoun(subject, choices.bit())
            form = choices.pick(("done", "modal"))
            noun = _ANY_CHILD if subject.noun.group == "name" else subject.noun
            reason = choices.clause(form, pronoun, choices.pick(_DONE_BY[form][noun]), extras=0)
        self._attach(german, english, main, ("weil", "because"), reason, choices.chance(0.15))

    def _that(self, german: Line, english: Line) -> None:
        choices = self._choices
        (german_verb, english_verb) = choices.pick(_THINKING)
        subject = choices.phrase(_PEOPLE, SUBJECTS, adjectives=0.2)
        form = choices.pick(("now", "now", "done", "modal"))
        clause: Subordinate
        if choices.chance(0.15):
            person = choices.phrase(_PEOPLE, KNOWN, adjectives=0)
            clause = Quality(person, choices.pick(LEXICON.qualities["name"]), choices.bit())
        else:
            clause = choices.clause(form, extras=0.2, negated=choices.chance(0.1))
        bit = choices.bit()
        subject.german(german, NOMINATIVE)
        german.add(german_verb[subject.plural], bit)
        german.comma()
        german.add("dass", bit << 1)
        clause.german_last(german)
        subject.english(english)
        english.add(english_verb[subject.plural], bit)
        english.add("that", bit << 1)
        clause.english(english)
        choices.tags["subordinate"] = None
        choices.tags["dass"] = None

    def _purpose(self, german: Line, english: Line) -> None:
        choices = self._choices
        main = choices.clause("now", verb=choices.pick(_WALKS), extras=0)
        errand = choices.clause("modal", main.subject, choices.pick(_ERRANDS), extras=0)
        for tag in ("modal", "future"):
            choices.tags.pop(tag, None)
        main.german(german)
        german.comma()
        german.add("um", errand.bit)
        errand.german_infinitive(german)
        main.english(english)
        errand.english_infinitive(english)
        choices.tags["purpose"] = None

    # Relative clauses ---------------------------------------------------------------------------

    def _who(self, german: Line, english: Line) -> None:
        """Der Mann, der einen Hut trägt, füttert die Enten."""
        choices = self._choices
        main = choices.clause("now", extras=0)
        subject = main.subject
        if isinstance(subject, NounPhrase) and subject.noun in _DONE_BY["now"]:
            self._relate(subject, NOMINATIVE, main.verb)
        self._write(main, german, english)

    def _whom(self, german: Line, english: Line) -> None:
        """Die Frau sucht den Ball, den der Junge wirft: the clause hangs on the object, at the end."""
        choices = self._choices
        verb = choices.pick(_PLAIN_TRANSITIVE)
        main = choices.clause("now", verb=verb, extras=0, objects=RELATED)
        phrase = main.accusative
        if isinstance(phrase, Joined):
            phrase = phrase.second
        if isinstance(phrase, NounPhrase):
            by = phrase.noun in _DONE_BY["now"] and choices.chance(0.5)
            if by or phrase.noun in _DONE_TO:
                self._relate(phrase, NOMINATIVE if by else ACCUSATIVE, main.verb)
        self._write(main, german, english)

    def _relate(self, phrase: NounPhrase, role: int, main: Verb) -> None:
        """Says something more about the phrase, preferably not with the verb of the main clause."""
        choices = self._choices
        verbs = (_DONE_BY["now"] if role == NOMINATIVE else _DONE_TO)[phrase.noun]
        verb = choices.pick(verbs)
        for _ in range(4):
            if verb.base != main.base:
                break
            verb = choices.pick(verbs)
        gap = Gap(phrase)
        if role == NOMINATIVE:
            clause = choices.clause("now", gap, verb, extras=0.3)
        else:
            clause = choices.clause("now", verb=verb, extras=0.1, accusative=gap)
        phrase.relative = Relative(phrase, clause, role, choices.bit())
        choices.tags["relative"] = None


class Opening:
    """A subordinate clause that opens the sentence."""

    __slots__ = ("bit", "clause", "word")

    def __init__(self, word: str, clause: Subordinate, bit: int) -> None:
        self.word = word
        self.clause = clause
        self.bit = bit

    def german(self, line: Line) -> None:
        line.add(self.word, self.bit)
        self.clause.german_last(line)
        line.comma(self.bit << 1)


_LIVING = frozenset({"person", "animal", "name"})
_PLACEABLE = tuple(
    verb for verb in VERBS["now"] if not verb.directions and not verb.flags & {"noplace", "state"}
)
_PLAIN_TRANSITIVE = tuple(
    verb for verb in VERBS["now"] if verb.accusative and not verb.dative and not verb.prefix
)
_WITH_MASCULINE = tuple(
    verb
    for verb in _PLAIN_TRANSITIVE
    if any(noun.gender == MASCULINE and noun.counted for noun in verb.accusative)
    and "state" not in verb.flags
)


def _text(words: list[str]) -> str:
    text = " ".join(words).replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]
