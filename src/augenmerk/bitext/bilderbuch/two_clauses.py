"""Sentences of two clauses, side by side or one subordinate to the other.

Each function here writes one kind of sentence to both lines; `author.py` says how often.
"""

from augenmerk.bitext.bilderbuch.choices import Choices
from augenmerk.bitext.bilderbuch.clause import Clause
from augenmerk.bitext.bilderbuch.inflection import NOMINATIVE
from augenmerk.bitext.bilderbuch.one_clause import write
from augenmerk.bitext.bilderbuch.phrase_choices import KNOWN, LEXICON, SUBJECTS
from augenmerk.bitext.bilderbuch.phrases import Gap, Line, Pronoun
from augenmerk.bitext.bilderbuch.remarks import WEATHER, Quality, Weather
from augenmerk.bitext.bilderbuch.verbs import DONE_BY, ONGOING, VERBS

Subordinate = Clause | Quality | Weather
Matrix = tuple[tuple[str, str], tuple[str, str], tuple[str, ...]]
"""A verb before "dass" in German and English, singular and plural, and how what follows can be told."""


def _matrix(german: str, english: str, forms: str) -> Matrix:
    singular, plural = german.split()
    third, base = english.split()
    return (singular, plural), (third, base), tuple(forms.split())


_THINKING = (
    _matrix("sagt sagen", "says say", "now now done modal"),
    _matrix("weiß wissen", "knows know", "now now done modal"),
    _matrix("glaubt glauben", "thinks think", "now now done modal"),
    _matrix("hofft hoffen", "hopes hope", "now done modal modal"),
    _matrix("sieht sehen", "sees see", "now"),
    _matrix("merkt merken", "notices notice", "now now done"),
)


_PEOPLE = tuple(noun for noun in LEXICON.nouns if noun.group == "person")
_AWAY = frozenset({"schlafen", "einschlafen", "aufwachen", "aufstehen", "weglaufen", "wegfliegen"})
_DEEDS = tuple(
    verb for verb in ONGOING if verb.infinitive not in _AWAY and all(noun.living for noun in verb.subjects)
)
_ALONGSIDE = {
    noun: tuple(
        verb
        for verb in verbs
        if verb.infinitive not in _AWAY and not verb.directions and "place" not in verb.flags
    )
    for noun, verbs in DONE_BY["now"].items()
}
"""What can be done at the same time as something else, and in the same place."""
_WALKS = tuple(verb for verb in LEXICON.verbs if verb.infinitive in ("gehen", "rennen", "wandern"))
_ERRANDS = tuple(
    verb
    for verb in VERBS["modal"]
    if verb.accusative
    and not verb.dative
    and not verb.flags & {"state", "moment"}
    and {"Junge", "Frau"} <= {noun.lemma for noun in verb.subjects}
)


# Side by side ---------------------------------------------------------------------------------------


def both(choices: Choices, german: Line, english: Line) -> None:
    """Two who do two things."""
    choices.joining = False
    bit = choices.bit()
    word, translation = choices.pick((("und", "and"), ("aber", "but")))
    write(choices.clause("now", extras=0.1), german, english)
    if word == "aber":
        german.comma(bit << 1)
        english.comma(bit << 1)
    german.add(word, bit)
    english.add(translation, bit)
    second = choices.clause("now", extras=0.1, negated=word == "aber" and choices.chance(0.5))
    write(second, german, english)
    choices.tags["coordination"] = None


def does_two_things(choices: Choices, german: Line, english: Line) -> None:
    """One who does two things: the second clause has no subject, and in English no auxiliary."""
    choices.joining = False
    bit = choices.bit()
    first = choices.clause("now", verb=choices.pick(_DEEDS), extras=0.1)
    write(first, german, english)
    verb = choices.verb(_ALONGSIDE[first.subject.noun], first.verb)
    if verb is None:
        return
    second = choices.clause("now", Gap(first.subject), verb, extras=0)
    second.shares_auxiliary = True
    german.add("und", bit)
    english.add("and", bit)
    write(second, german, english)
    choices.tags["coordination"] = None


# One subordinate to the other -----------------------------------------------------------------------


class _Opening:
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


def _attach(
    choices: Choices,
    german: Line,
    english: Line,
    main: Clause,
    words: tuple[str, str],
    subordinate: Subordinate,
    first: bool,
) -> None:
    """A main and a subordinate clause in either order; after the subordinate one the verb comes first."""
    bit = choices.bit()
    choices.tags["subordinate"] = None
    choices.tags[words[0]] = None
    if first:
        main.german(german, _Opening(words[0], subordinate, bit))
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


def _weather(choices: Choices, form: str) -> Weather:
    german, english = choices.pick(WEATHER)
    return Weather(german, english[form], choices.bit())


def while_(choices: Choices, german: Line, english: Line) -> None:
    subordinate: Subordinate = (
        _weather(choices, "now")
        if choices.chance(0.1)
        else choices.clause("now", verb=choices.pick(ONGOING), extras=0.2)
    )
    main = choices.clause("now", verb=choices.pick(ONGOING), extras=0.15)
    _attach(choices, german, english, main, ("während", "while"), subordinate, choices.chance(0.5))


def when(choices: Choices, german: Line, english: Line) -> None:
    subordinate: Subordinate = (
        _weather(choices, "habit") if choices.chance(0.3) else choices.clause("habit", extras=0.1)
    )
    main = choices.clause("habit", extras=0.2)
    _attach(choices, german, english, main, ("wenn", "when"), subordinate, choices.chance(0.7))


def because(choices: Choices, german: Line, english: Line) -> None:
    """The reason is about the one who acts, wherever there is a pronoun for them."""
    choices.joining = False
    main = choices.clause("now", extras=0.1)
    subject = main.subject
    nameless = not subject.plural and "nobody" in subject.noun.kinds
    reason: Subordinate
    if nameless or "swap" in main.verb.flags or not subject.noun.living:
        reason = _weather(choices, "now") if choices.chance(0.5) else choices.clause("now", extras=0)
    else:
        pronoun = Pronoun(subject, choices.bit())
        form = choices.pick(("done", "modal"))
        verb = choices.verb(DONE_BY[form][subject.noun], main.verb)
        if verb is None or choices.chance(0.45):
            reason = Quality(pronoun, choices.pick(LEXICON.reasons), choices.bit())
        else:
            reason = choices.clause(form, pronoun, verb, extras=0)
    _attach(choices, german, english, main, ("weil", "because"), reason, choices.chance(0.15))


def that(choices: Choices, german: Line, english: Line) -> None:
    german_verb, english_verb, forms = choices.pick(_THINKING)
    subject = choices.phrase(_PEOPLE, SUBJECTS, adjectives=0.2)
    clause: Subordinate
    if choices.chance(0.15):
        person = choices.phrase(_PEOPLE, KNOWN, adjectives=0)
        clause = Quality(person, choices.pick(person.noun.qualities), choices.bit())
    else:
        clause = choices.clause(choices.pick(forms), extras=0.2, negated=choices.chance(0.1))
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


def purpose(choices: Choices, german: Line, english: Line) -> None:
    """Der Junge rennt in den Garten, um den Hund zu füttern: people only, animals have no errands."""
    subject = choices.phrase(_PEOPLE, SUBJECTS)
    main = choices.clause("now", subject, choices.pick(_WALKS), extras=0)
    errand = choices.clause("now", subject, choices.pick(_ERRANDS), extras=0)
    main.german(german)
    german.comma()
    german.add("um", errand.bit)
    errand.german_infinitive(german)
    main.english(english)
    errand.english_infinitive(english)
    choices.tags["purpose"] = None
