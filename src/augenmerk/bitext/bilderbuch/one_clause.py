"""Sentences of one clause: plain, with something else in front, perfect, modal, negated, passive, asked.

Each function here writes one kind of sentence to both lines; `author.py` says how often.
"""

from augenmerk.bitext.bilderbuch.choices import Choices
from augenmerk.bitext.bilderbuch.clause import Asked, Clause, FrontedObject
from augenmerk.bitext.bilderbuch.entries import Noun, Preposition, Verb
from augenmerk.bitext.bilderbuch.inflection import ACCUSATIVE, DATIVE, MASCULINE, NOMINATIVE, THE
from augenmerk.bitext.bilderbuch.phrase_choices import KNOWN, LEXICON, NEW
from augenmerk.bitext.bilderbuch.phrases import Gap, Line, Part, Stranded
from augenmerk.bitext.bilderbuch.remarks import Quality
from augenmerk.bitext.bilderbuch.verbs import ONGOING, VERBS

_PLACEABLE = tuple(
    verb for verb in VERBS["now"] if not verb.directions and not verb.flags & {"noplace", "state"}
)
_TIMED = {
    "now": ONGOING,
    "habit": VERBS["habit"],
    "past": VERBS["past"],
    "modal": VERBS["modal"],
}
"""Verbs that bear an adverbial of time: nobody likes a picture this afternoon."""


def _masculine(verb: Verb) -> tuple[Noun, ...]:
    return tuple(noun for noun in verb.accusative if noun.gender == MASCULINE and noun.counted)


_ACCUSATIVE_FIRST = tuple(
    (verb, _masculine(verb))
    for verb in VERBS["now"]
    if _masculine(verb) and not verb.dative and not verb.flags & {"state", "each", "many"}
)
"""With the objects that show their case."""
_DATIVE_FIRST = tuple(
    verb for verb in VERBS["now"] if verb.dative and not verb.accusative and verb.base != "belong"
)
_WHAT = tuple(
    verb
    for verb in VERBS["now"]
    if verb.accusative
    and not verb.dative
    and not any(noun.living for noun in verb.accusative)
    and verb.flags.isdisjoint({"state", "instrument", "each"})
)

_ASKED_FOR = Stranded(Preposition("", DATIVE, (), ()), 0)
"""The place of a clause that asks for it."""

# What can be found where: es steht, liegt, sitzt etwas im Garten.
_STANDING = tuple(
    noun
    for noun in LEXICON.nouns
    if noun.kinds & {"around", "road"} and noun.group in ("plant", "vehicle", "building")
)
_LYING = tuple(noun for noun in LEXICON.nouns if "liftable" in noun.kinds)
_SITTING = tuple(noun for noun in LEXICON.nouns if noun.kinds & {"bird", "pet"})


def write(clause: Clause, german: Line, english: Line, front: Part | None = None) -> None:
    clause.german(german, front)
    clause.english(english, front)


def plain(choices: Choices, german: Line, english: Line) -> None:
    clause = choices.clause("now")
    if "state" not in clause.verb.flags and choices.chance(0.2):
        clause.time = choices.time("now")
    write(clause, german, english)


def habit(choices: Choices, german: Line, english: Line) -> None:
    clause = choices.clause("habit", extras=0.2)
    clause.time = choices.time("habit")
    write(clause, german, english)


def time_first(choices: Choices, german: Line, english: Line) -> None:
    form = choices.pick(("now", "now", "habit", "past", "past", "modal"))
    clause = choices.clause(form, verb=choices.pick(_TIMED[form]), extras=0.2)
    if form == "modal":
        form = "soon" if "future" in choices.tags else "now"
    clause.time = choices.time(form, "front")
    choices.tags["fronted"] = None
    write(clause, german, english, clause.time)


def place_first(choices: Choices, german: Line, english: Line) -> None:
    verb = choices.pick(_PLACEABLE)
    place = choices.place(resting="place" in verb.flags)
    choices.tags["fronted"] = None
    write(choices.clause("now", verb=verb, place=place), german, english, place)


def object_first(choices: Choices, german: Line, english: Line) -> None:
    """Only where the article shows the case: a masculine accusative, or a dative."""
    choices.tags["object-first"] = None
    if choices.chance(0.4):
        verb = choices.pick(_DATIVE_FIRST)
        dative = choices.phrase(verb.dative, KNOWN, adjectives=0.2)
        clause = choices.clause("now", verb=verb, extras=0.2, dative=dative)
        write(clause, german, english, FrontedObject(dative, DATIVE))
        return
    verb, masculine = choices.pick(_ACCUSATIVE_FIRST)
    phrase = choices.phrase(masculine, (THE,), adjectives=0.4)
    phrase.plural = False
    clause = choices.clause("now", choices.subject(verb, KNOWN), verb, extras=0.2, accusative=phrase)
    write(clause, german, english, FrontedObject(phrase, ACCUSATIVE))


def perfect(choices: Choices, german: Line, english: Line) -> None:
    form = "past" if choices.chance(0.4) else "done"
    clause = choices.clause(form)
    if form == "past" or choices.chance(0.4):
        clause.time = choices.time(form)
    write(clause, german, english)


def modal(choices: Choices, german: Line, english: Line) -> None:
    clause = choices.clause("modal")
    if "future" in choices.tags and choices.chance(0.5):
        clause.time = choices.time("soon")
    write(clause, german, english)


def negated(choices: Choices, german: Line, english: Line) -> None:
    form = choices.pick(("now", "now", "done", "modal"))
    write(choices.clause(form, negated=True, extras=0), german, english)


def passive(choices: Choices, german: Line, english: Line) -> None:
    form = choices.pick(("now", "now", "past", "done"))
    clause = choices.passive(form)
    if form == "past" or choices.chance(0.2):
        clause.time = choices.time(form)
    write(clause, german, english)


def question(choices: Choices, german: Line, english: Line) -> None:
    """German only has to begin with the verb; English needs an auxiliary before the subject."""
    german.mark = english.mark = "?"
    choices.tags["question"] = None
    asked = choices.random()
    if asked < 0.2:
        verb = choices.pick(_PLACEABLE)
        clause = choices.clause("now", choices.subject(verb, KNOWN), verb, place=_ASKED_FOR)
        write(clause, german, english, Asked("wo", "where", choices.bit()))
        return
    if asked < 0.4:
        verb = choices.pick(_WHAT)
        subject = choices.subject(verb, KNOWN)
        clause = choices.clause("now", subject, verb, extras=0.2, accusative=Gap(subject))
        write(clause, german, english, Asked("was", "what", choices.bit()))
        return
    form = choices.pick(("now", "now", "habit", "past", "done"))
    verb = choices.pick(VERBS[form])
    clause = choices.clause(form, choices.subject(verb, KNOWN), verb, extras=0.2)
    if form in ("habit", "past"):
        clause.time = choices.time(form)
    write(clause, german, english, Asked("", "", 0))


def quality(choices: Choices, german: Line, english: Line) -> None:
    subject = choices.phrase(LEXICON.nouns, KNOWN, adjectives=0)
    clause = Quality(subject, choices.pick(subject.noun.qualities), choices.bit())
    clause.german(german)
    clause.english(english)


def there_is(choices: Choices, german: Line, english: Line) -> None:
    """Im Garten steht ein Baum: English opens with "there is" and names the place last."""
    nouns, verb, anywhere = choices.pick(
        (
            (_STANDING, ("steht", "stehen"), False),
            (_LYING, ("liegt", "liegen"), True),
            (_SITTING, ("sitzt", "sitzen"), True),
        )
    )
    thing = choices.phrase(nouns, NEW, adjectives=0.5)
    place = choices.place(resting=True) if anywhere else choices.outdoors()
    bit = choices.bit()
    place.german(german)
    german.add(verb[thing.plural], bit)
    thing.german(german, NOMINATIVE)
    english.add("there", bit)
    english.add("are" if thing.plural else "is", bit)
    thing.english(english)
    place.english(english)
    choices.tags["there-is"] = None
    choices.tags["fronted"] = None
