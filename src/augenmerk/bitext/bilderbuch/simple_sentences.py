"""Simple sentences, of one clause: plain, with another constituent first, negated, passive, questions, ...

Each `write_` function writes one kind of sentence in both languages.
"""

from augenmerk.bitext.bilderbuch.clauses import IS, CopulaClause, FrontedObject, QuestionWord
from augenmerk.bitext.bilderbuch.inflection import ACCUSATIVE, DATIVE, MASCULINE, NOMINATIVE, THE
from augenmerk.bitext.bilderbuch.lexicon import LEXICON, ONGOING_VERBS, VERBS, Noun, Preposition, Verb
from augenmerk.bitext.bilderbuch.phrases import Gap, SentenceBuilder, StrandedPreposition
from augenmerk.bitext.bilderbuch.sampler import KNOWN, NEW, Sampler

_PLACEABLE = tuple(
    verb for verb in VERBS["now"] if not verb.directions and not verb.flags & {"noplace", "state"}
)
_TIMED = {**VERBS, "now": ONGOING_VERBS}
"""Verbs that go with an adverbial of time, by form; not with it goes: likes a picture this afternoon."""


def _find_masculine_objects(verb: Verb) -> tuple[Noun, ...]:
    return tuple(noun for noun in verb.accusative if noun.gender == MASCULINE and noun.counted)


_ACCUSATIVE_FIRST = tuple(
    (verb, _find_masculine_objects(verb))
    for verb in VERBS["now"]
    if _find_masculine_objects(verb) and not verb.dative and not verb.flags & {"state", "each", "many"}
)
"""Verbs with those of their objects whose article shows the case."""
_DATIVE_FIRST = tuple(
    verb for verb in VERBS["now"] if verb.dative and not verb.accusative and verb.base != "belong"
)
_WHAT_VERBS = tuple(
    verb
    for verb in VERBS["now"]
    if verb.accusative
    and not verb.dative
    and not any(noun.living for noun in verb.accusative)
    and verb.flags.isdisjoint({"state", "instrument", "each"})
)

_NO_PLACE = StrandedPreposition(Preposition("", DATIVE, (), ()), 0)
"""The place of a clause that asks where: it writes nothing, and no other place is drawn."""

# Nouns for: im Garten steht, liegt, sitzt etwas.
_STANDING = tuple(
    noun
    for noun in LEXICON.nouns
    if noun.kinds & {"around", "road"} and noun.group in ("plant", "vehicle", "building")
)
_LYING = tuple(noun for noun in LEXICON.nouns if "liftable" in noun.kinds)
_SITTING = tuple(noun for noun in LEXICON.nouns if noun.kinds & {"bird", "pet"})


def write_plain(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    clause = sampler.draw_clause("now")
    if "state" not in clause.verb.flags and sampler.bernoulli(0.2):
        clause.time = sampler.draw_time("now")
    clause.write(german, english)


def write_habit(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    clause = sampler.draw_clause("habit", extras=0.2)
    clause.time = sampler.draw_time("habit")
    clause.write(german, english)


def write_time_first(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    form = sampler.choose(("now", "now", "habit", "past", "past", "modal"))
    clause = sampler.draw_clause(form, verb=sampler.choose(_TIMED[form]), extras=0.2)
    if form == "modal":
        form = "soon" if "future" in sampler.tags else "now"
    clause.time = sampler.draw_time(form, "front")
    sampler.tag("fronted")
    clause.write(german, english, clause.time)


def write_place_first(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    verb = sampler.choose(_PLACEABLE)
    place = sampler.draw_place(resting="place" in verb.flags)
    sampler.tag("fronted")
    sampler.draw_clause("now", verb=verb, place=place).write(german, english, place)


def write_object_first(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes a sentence whose object, a dative or a masculine accusative, is known as one by its article."""
    sampler.tag("object-first")
    if sampler.bernoulli(0.4):
        verb = sampler.choose(_DATIVE_FIRST)
        dative = sampler.draw_phrase(verb.dative, KNOWN, adjectives=0.2)
        clause = sampler.draw_clause("now", verb=verb, extras=0.2, dative=dative)
        clause.write(german, english, FrontedObject(dative, DATIVE))
        return
    verb, masculine = sampler.choose(_ACCUSATIVE_FIRST)
    phrase = sampler.draw_phrase(masculine, (THE,), adjectives=0.4)
    phrase.plural = False
    clause = sampler.draw_clause(
        "now", sampler.draw_subject(verb, KNOWN), verb, extras=0.2, accusative=phrase
    )
    clause.write(german, english, FrontedObject(phrase, ACCUSATIVE))


def write_perfect(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    form = "past" if sampler.bernoulli(0.4) else "done"
    clause = sampler.draw_clause(form)
    if form == "past" or sampler.bernoulli(0.4):
        clause.time = sampler.draw_time(form)
    clause.write(german, english)


def write_modal(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    clause = sampler.draw_clause("modal")
    if "future" in sampler.tags and sampler.bernoulli(0.5):
        clause.time = sampler.draw_time("soon")
    clause.write(german, english)


def write_negated(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    form = sampler.choose(("now", "now", "done", "modal"))
    sampler.draw_clause(form, negated=True, extras=0).write(german, english)


def write_passive(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    form = sampler.choose(("now", "now", "past", "done"))
    clause = sampler.draw_passive(form)
    if form == "past" or sampler.bernoulli(0.2):
        clause.time = sampler.draw_time(form)
    clause.write(german, english)


def write_question(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes a question: German begins with the verb, English needs an auxiliary before the subject."""
    german.end_mark = english.end_mark = "?"
    sampler.tag("question")
    kind = sampler.rng()
    if kind < 0.2:
        verb = sampler.choose(_PLACEABLE)
        clause = sampler.draw_clause("now", sampler.draw_subject(verb, KNOWN), verb, place=_NO_PLACE)
        clause.write(german, english, QuestionWord("wo", "where", sampler.new_bit()))
        return
    if kind < 0.4:
        verb = sampler.choose(_WHAT_VERBS)
        subject = sampler.draw_subject(verb, KNOWN)
        clause = sampler.draw_clause("now", subject, verb, extras=0.2, accusative=Gap(subject))
        clause.write(german, english, QuestionWord("was", "what", sampler.new_bit()))
        return
    form = sampler.choose(("now", "now", "habit", "past", "done"))
    verb = sampler.choose(VERBS[form])
    clause = sampler.draw_clause(form, sampler.draw_subject(verb, KNOWN), verb, extras=0.2)
    if form in ("habit", "past"):
        clause.time = sampler.draw_time(form)
    clause.write(german, english, QuestionWord("", "", 0))


def write_copula(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    subject = sampler.draw_phrase(LEXICON.nouns, KNOWN, adjectives=0)
    clause = CopulaClause(subject, sampler.choose(subject.noun.predicates), sampler.new_bit())
    clause.write_german(german)
    clause.write_english(english)


def write_there_is(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes: Im Garten steht ein Baum. There is a tree in the garden."""
    nouns, verb, anywhere = sampler.choose(
        (
            (_STANDING, ("steht", "stehen"), False),
            (_LYING, ("liegt", "liegen"), True),
            (_SITTING, ("sitzt", "sitzen"), True),
        )
    )
    thing = sampler.draw_phrase(nouns, NEW, adjectives=0.5)
    place = sampler.draw_place(resting=True) if anywhere else sampler.draw_location(LEXICON.outdoors)
    bit = sampler.new_bit()
    place.write_german(german)
    german.add(verb[thing.plural], bit)
    thing.write_german(german, NOMINATIVE)
    english.add("there", bit)
    english.add(IS[thing.plural], bit)
    thing.write_english(english)
    place.write_english(english)
    sampler.tag("there-is", "fronted")
