"""The kinds of sentence, and how often each is written.

Each `draw_` function draws a sentence of one kind and returns its parts, which write themselves.
"""

from collections.abc import Callable, Sequence

from augenmerk.data.bilderbuch import lexicon as lex
from augenmerk.data.bilderbuch.grammar import (
    Arrangement,
    Clause,
    Coordination,
    FixedPhrase,
    Nominal,
    NounPhrase,
    Part,
    Pronoun,
    fix_words,
)
from augenmerk.data.bilderbuch.lexicon import ONGOING_VERBS, VERBS, VERBS_BY_SUBJECT, Adjective, Noun, Verb
from augenmerk.data.bilderbuch.sampler import Sampler

_NOTHING = fix_words("", "", 0)
"""Stands first in a clause that begins with its verb, or for the place in a clause that asks where."""
_GERMAN_COMMA = fix_words(",", "", 0)
_TIMED = {**VERBS, "now": ONGOING_VERBS}
"""Verbs that go with an adverbial of time, by form; not with it goes: likes a picture this afternoon."""


def _find_verbs(condition: Callable[[Verb], bool]) -> tuple[Verb, ...]:
    return tuple(filter(condition, VERBS["now"]))


def _find_masculine_objects(verb: Verb) -> tuple[Noun, ...]:
    return tuple(noun for noun in verb.accusative if noun.gender == lex.MASCULINE and noun.counted)


_TRANSITIVE = _find_verbs(lambda verb: bool(verb.accusative and not verb.dative))
_PLACEABLE = _find_verbs(lambda verb: not verb.directions and not verb.flags & {"noplace", "state"})
_ACCUSATIVE_FIRST = tuple(
    (verb, _find_masculine_objects(verb))
    for verb in _TRANSITIVE
    if _find_masculine_objects(verb) and not verb.flags & {"state", "each", "many"}
)
"""Verbs with those of their objects whose article shows the case."""
_DATIVE_FIRST = _find_verbs(lambda verb: bool(verb.dative) and not verb.accusative and verb.base != "belong")
_WHAT_VERBS = tuple(
    verb
    for verb in _TRANSITIVE
    if not any(noun.living for noun in verb.accusative) and not verb.flags & {"state", "instrument", "each"}
)


def draw_plain(sampler: Sampler) -> list[Part]:
    clause = sampler.draw_clause("now")
    if "state" not in clause.verb.flags and sampler.bernoulli(0.2):
        clause.time = sampler.draw_time("now")
    return [clause]


def draw_habit(sampler: Sampler) -> list[Part]:
    clause = sampler.draw_clause("habit", extras=0.2)
    clause.time = sampler.draw_time("habit")
    return [clause]


def draw_time_first(sampler: Sampler) -> list[Part]:
    form = sampler.choose(("now", "now", "habit", "past", "past", "modal"))
    clause = sampler.draw_clause(form, verb=sampler.choose(_TIMED[form]), extras=0.2)
    if form == "modal":
        form = "soon" if "future" in sampler.tags else "now"
    clause.front = clause.time = sampler.draw_time(form, "front")
    sampler.tag("fronted")
    return [clause]


def draw_place_first(sampler: Sampler) -> list[Part]:
    verb = sampler.choose(_PLACEABLE)
    place = sampler.draw_place(resting="place" in verb.flags)
    sampler.tag("fronted")
    clause = sampler.draw_clause("now", verb=verb, place=place)
    clause.front = place
    return [clause]


def draw_object_first(sampler: Sampler) -> list[Part]:
    """Draws a sentence whose object, a dative or a masculine accusative, is known as one by its article."""
    sampler.tag("object-first")
    if sampler.bernoulli(0.4):
        verb = sampler.choose(_DATIVE_FIRST)
        phrase = sampler.draw_phrase(verb.dative, lex.KNOWN, adjectives=0.2)
        clause = sampler.draw_clause("now", verb=verb, extras=0.2, dative=phrase)
    else:
        verb, masculine = sampler.choose(_ACCUSATIVE_FIRST)
        phrase = sampler.draw_phrase(masculine, (lex.THE,), adjectives=0.4)
        phrase.plural = False
        subject = sampler.draw_subject(verb, lex.KNOWN)
        clause = sampler.draw_clause("now", subject, verb, extras=0.2, accusative=phrase)
    clause.front = phrase
    return [clause]


def draw_perfect(sampler: Sampler) -> list[Part]:
    form = "past" if sampler.bernoulli(0.4) else "done"
    clause = sampler.draw_clause(form)
    if form == "past" or sampler.bernoulli(0.4):
        clause.time = sampler.draw_time(form)
    return [clause]


def draw_modal(sampler: Sampler) -> list[Part]:
    clause = sampler.draw_clause("modal")
    if "future" in sampler.tags and sampler.bernoulli(0.5):
        clause.time = sampler.draw_time("soon")
    return [clause]


def draw_negated(sampler: Sampler) -> list[Part]:
    form = sampler.choose(("now", "now", "done", "modal"))
    return [sampler.draw_clause(form, negated=True, extras=0)]


def draw_passive(sampler: Sampler) -> list[Part]:
    form = sampler.choose(("now", "now", "past", "done"))
    clause = sampler.draw_passive(form)
    if form == "past" or sampler.bernoulli(0.2):
        clause.time = sampler.draw_time(form)
    return [clause]


def draw_question(sampler: Sampler) -> list[Part]:
    """Draws a question: German begins with the verb, English needs an auxiliary before the subject."""
    sampler.tag("question")
    kind = sampler.rng()
    front = _NOTHING
    if kind < 0.2:
        verb = sampler.choose(_PLACEABLE)
        clause = sampler.draw_clause("now", sampler.draw_subject(verb, lex.KNOWN), verb, place=_NOTHING)
        front = fix_words("wo", "where", sampler.new_bit())
    elif kind < 0.4:
        verb = sampler.choose(_WHAT_VERBS)
        subject = sampler.draw_subject(verb, lex.KNOWN)
        gap = Nominal(subject.noun, subject.plural)
        clause = sampler.draw_clause("now", subject, verb, extras=0.2, accusative=gap)
        front = fix_words("was", "what", sampler.new_bit())
    else:
        form = sampler.choose(("now", "now", "habit", "past", "done"))
        verb = sampler.choose(VERBS[form])
        clause = sampler.draw_clause(form, sampler.draw_subject(verb, lex.KNOWN), verb, extras=0.2)
        if form in ("habit", "past"):
            clause.time = sampler.draw_time(form)
    clause.front, clause.is_question = front, True
    return [clause]


def draw_copula(sampler: Sampler) -> list[Part]:
    subject = sampler.draw_phrase(lex.NOUNS, lex.KNOWN, adjectives=0)
    return [_say_how(sampler, subject, subject.noun.predicates)]


def _say_how(
    sampler: Sampler, subject: Nominal, adjectives: Sequence[Adjective], verb_last: bool = False
) -> Arrangement:
    """Draws a clause that tells how somebody or something is: der Hund ist müde."""
    adjective, bit = sampler.choose(adjectives), sampler.new_bit()
    verb = fix_words("sind", "are", bit) if subject.plural else fix_words("ist", "is", bit)
    predicate = fix_words(adjective.german, adjective.english, bit << 1)
    german = (subject, predicate, verb) if verb_last else (subject, verb, predicate)
    return Arrangement(german, (subject, verb, predicate))


_LARGE = tuple(noun for noun in lex.NOUNS if noun.group in ("plant", "vehicle", "building"))
_THERE = (
    (tuple(noun for noun in _LARGE if noun.kinds & {"around", "road"}), ("steht", "stehen"), False),
    (tuple(noun for noun in lex.NOUNS if "liftable" in noun.kinds), ("liegt", "liegen"), True),
    (tuple(noun for noun in lex.NOUNS if noun.kinds & {"bird", "pet"}), ("sitzt", "sitzen"), True),
)
"""What stands, lies or sits somewhere: the nouns, the verb, and whether it may be on or under things."""


def draw_there_is(sampler: Sampler) -> list[Part]:
    """Draws: Im Garten steht ein Baum. There is a tree in the garden."""
    nouns, verb, anywhere = sampler.choose(_THERE)
    thing = sampler.draw_phrase(nouns, lex.NEW, adjectives=0.5)
    place = sampler.draw_place(resting=True) if anywhere else sampler.draw_location(lex.OUTDOORS)
    sampler.tag("there-is", "fronted")
    is_there = fix_words(verb[thing.plural], "there are" if thing.plural else "there is", sampler.new_bit())
    return [Arrangement((place, is_there, thing), (is_there, thing, place))]


_AWAY = frozenset({"schlafen", "einschlafen", "aufwachen", "aufstehen", "weglaufen", "wegfliegen"})
_STAYING_VERBS = tuple(verb for verb in ONGOING_VERBS if verb.infinitive not in _AWAY)
_FIRST_OF_TWO = tuple(verb for verb in _STAYING_VERBS if all(noun.living for noun in verb.subjects))
_SECOND_OF_TWO = {
    noun: tuple(
        verb
        for verb in verbs
        if verb.infinitive not in _AWAY and not verb.directions and "place" not in verb.flags
    )
    for noun, verbs in VERBS_BY_SUBJECT["now"].items()
}
"""Verbs for what a noun can do at the same time as something else, and in the same place."""
_PEOPLE = tuple(noun for noun in lex.NOUNS if noun.group == "person")
_WALKS = tuple(verb for verb in lex.ALL_VERBS if verb.infinitive in ("gehen", "rennen", "wandern"))
_ERRANDS = tuple(
    verb
    for verb in VERBS["modal"]
    if verb.accusative
    and not verb.dative
    and not verb.flags & {"state", "moment"}
    and {"Junge", "Frau"} <= {noun.lemma for noun in verb.subjects}
)
_THAT_VERBS = (
    (("sagt", "sagen"), ("says", "say"), ("now", "now", "done", "modal")),
    (("weiß", "wissen"), ("knows", "know"), ("now", "now", "done", "modal")),
    (("glaubt", "glauben"), ("thinks", "think"), ("now", "now", "done", "modal")),
    (("hofft", "hoffen"), ("hopes", "hope"), ("now", "done", "modal", "modal")),
    (("sieht", "sehen"), ("sees", "see"), ("now",)),
    (("merkt", "merken"), ("notices", "notice"), ("now", "now", "done")),
)
"""Verbs before "dass", singular and plural, with the forms of the clause that follows."""


def draw_two_subjects(sampler: Sampler) -> list[Part]:
    """Draws two clauses with a subject each, joined by "und" or "aber"."""
    sampler.may_coordinate = False
    bit = sampler.new_bit()
    word, translation = sampler.choose((("und", "and"), ("aber", "but")))
    first = sampler.draw_clause("now", extras=0.1)
    negated = word == "aber" and sampler.bernoulli(0.5)
    second = sampler.draw_clause("now", extras=0.1, negated=negated)
    sampler.tag("coordination")
    comma = [fix_words(",", ",", bit << 1)] if word == "aber" else []
    return [first, *comma, fix_words(word, translation, bit), second]


def draw_two_verbs(sampler: Sampler) -> list[Part]:
    """Draws two clauses; the second has no subject and, in English, no auxiliary."""
    sampler.may_coordinate = False
    first = sampler.draw_clause("now", verb=sampler.choose(_FIRST_OF_TWO), extras=0.1)
    subject = first.subject
    verb = sampler.draw_other_verb(_SECOND_OF_TWO[subject.noun], first.verb)
    if verb is None:
        return [first]
    second = sampler.draw_clause("now", Nominal(subject.noun, subject.plural), verb, extras=0)
    second.shares_auxiliary = True
    sampler.tag("coordination")
    return [first, fix_words("und", "and", sampler.new_bit()), second]


def _join_clauses(
    sampler: Sampler,
    main: Clause,
    conjunction: tuple[str, str],
    subordinate: Part,
    first: float,
) -> list[Part]:
    """Returns a main and a subordinate clause; `first` is the probability that the latter comes first."""
    bit = sampler.new_bit()
    sampler.tag("subordinate", conjunction[0])
    if isinstance(subordinate, Clause):
        subordinate.verb_last = True
    word = fix_words(*conjunction, bit)
    if sampler.bernoulli(first):
        main.front = _NOTHING
        return [word, subordinate, fix_words(",", ",", bit << 1), main]
    return [main, _GERMAN_COMMA, word, subordinate]


def _draw_weather(sampler: Sampler, form: str) -> FixedPhrase:
    return FixedPhrase(sampler.choose(lex.WEATHER[form]), sampler.new_bit())


def _draw_ongoing(sampler: Sampler, extras: float) -> Clause:
    return sampler.draw_clause("now", verb=sampler.choose(ONGOING_VERBS), extras=extras)


def draw_while(sampler: Sampler) -> list[Part]:
    weather = sampler.bernoulli(0.1)
    subordinate = _draw_weather(sampler, "now") if weather else _draw_ongoing(sampler, 0.2)
    return _join_clauses(sampler, _draw_ongoing(sampler, 0.15), ("während", "while"), subordinate, 0.5)


def draw_when(sampler: Sampler) -> list[Part]:
    weather = sampler.bernoulli(0.3)
    subordinate = _draw_weather(sampler, "habit") if weather else sampler.draw_clause("habit", extras=0.1)
    main = sampler.draw_clause("habit", extras=0.2)
    return _join_clauses(sampler, main, ("wenn", "when"), subordinate, 0.7)


def draw_because(sampler: Sampler) -> list[Part]:
    """Draws a reason, about the subject if there is a pronoun for it."""
    sampler.may_coordinate = False
    main = sampler.draw_clause("now", extras=0.1)
    subject = main.subject
    has_no_pronoun = not subject.plural and "nobody" in subject.noun.kinds
    reason: Clause | Arrangement | FixedPhrase
    if has_no_pronoun or "swap" in main.verb.flags or not subject.noun.living:
        about_weather = sampler.bernoulli(0.5)
        reason = _draw_weather(sampler, "now") if about_weather else sampler.draw_clause("now", extras=0)
    else:
        pronoun = Pronoun(subject.noun, subject.plural, bit=sampler.new_bit())
        form = sampler.choose(("done", "modal"))
        verb = sampler.draw_other_verb(VERBS_BY_SUBJECT[form][subject.noun], main.verb)
        if verb is None or sampler.bernoulli(0.45):
            reason = _say_how(sampler, pronoun, lex.REASONS, verb_last=True)
        else:
            reason = sampler.draw_clause(form, pronoun, verb, extras=0)
    return _join_clauses(sampler, main, ("weil", "because"), reason, 0.15)


def draw_that(sampler: Sampler) -> list[Part]:
    german, english, forms = sampler.choose(_THAT_VERBS)
    subject = sampler.draw_phrase(_PEOPLE, lex.SUBJECTS, adjectives=0.2)
    clause: Clause | Arrangement
    if sampler.bernoulli(0.15):
        person = sampler.draw_phrase(_PEOPLE, lex.KNOWN, adjectives=0)
        clause = _say_how(sampler, person, person.noun.predicates, verb_last=True)
    else:
        clause = sampler.draw_clause(sampler.choose(forms), extras=0.2, negated=sampler.bernoulli(0.1))
        clause.verb_last = True
    bit = sampler.new_bit()
    verb = fix_words(german[subject.plural], english[subject.plural], bit)
    sampler.tag("subordinate", "dass")
    return [subject, verb, _GERMAN_COMMA, fix_words("dass", "that", bit << 1), clause]


def draw_purpose(sampler: Sampler) -> list[Part]:
    """Draws: Der Junge rennt in den Garten, um den Hund zu füttern. The subject is human."""
    subject = sampler.draw_phrase(_PEOPLE, lex.SUBJECTS)
    main = sampler.draw_clause("now", subject, sampler.choose(_WALKS), extras=0)
    gap = Nominal(subject.noun, subject.plural)
    errand = sampler.draw_clause("infinitive", gap, sampler.choose(_ERRANDS), extras=0)
    sampler.tag("purpose")
    return [main, _GERMAN_COMMA, errand]


_CLOSED_BY_OBJECT = tuple(
    verb for verb in _TRANSITIVE if not verb.prefix and not verb.flags & {"instrument", "many"}
)
"""Transitive verbs without a prefix, which would stand between the object and its relative clause."""
_RESTING = _find_verbs(lambda verb: verb.infinitive in ("sitzen", "liegen", "schlafen"))
_RELATIVE_VERBS = {
    "subject": VERBS_BY_SUBJECT["now"],
    "object": lex.VERBS_BY_OBJECT,
    "prepositional": lex.VERBS_BY_PREPOSITIONAL_OBJECT,
    "place": dict.fromkeys(lex.SURFACES.nouns, _RESTING),
}
"""The verbs of relative clauses, by what the relative pronoun is in the clause and by the noun before it."""


def draw_subject_relative(sampler: Sampler) -> list[Part]:
    """Draws: Der Mann, der einen Hut trägt, füttert die Enten."""
    verb = sampler.choose(VERBS["now"])
    main = sampler.draw_clause("now", sampler.draw_subject(verb, lex.RELATED), verb, extras=0)
    subject = main.subject
    if isinstance(subject, NounPhrase) and subject.determiner in lex.RELATED and subject.noun.living:
        _add_relative(sampler, subject, verb, ("subject",))
    return [main]


def draw_object_relative(sampler: Sampler) -> list[Part]:
    """Draws: Die Frau sucht den Ball, den der Junge wirft."""
    verb = sampler.choose(_CLOSED_BY_OBJECT)
    main = sampler.draw_clause("now", verb=verb, extras=0, objects=lex.RELATED)
    phrase = main.accusative
    if isinstance(phrase, Coordination):
        phrase = phrase.second
    if isinstance(phrase, NounPhrase) and phrase.determiner in lex.RELATED:
        roles = [role for role, verbs in _RELATIVE_VERBS.items() if phrase.noun in verbs]
        if roles:
            _add_relative(sampler, phrase, verb, roles)
    return [main]


def _add_relative(sampler: Sampler, phrase: NounPhrase, main: Verb, roles: Sequence[str]) -> None:
    """Adds a relative clause in which its pronoun has one of the roles, unless no other verb is found.

    Roles: der Hund, der bellt (subject); der Ball, den er wirft (object); der Bus, auf den er wartet
    (prepositional); die Bank, auf der die Katze schläft (place).
    """
    role = sampler.choose(roles)
    verb = sampler.draw_other_verb(_RELATIVE_VERBS[role][phrase.noun], main)
    if verb is None:
        return
    bit, case, preposition = sampler.new_bit(), lex.ACCUSATIVE, None
    gap = Nominal(phrase.noun, phrase.plural)
    if role == "subject":
        case = lex.NOMINATIVE
        clause = sampler.draw_clause("now", gap, verb, extras=0.3)
    elif role == "object":
        clause = sampler.draw_clause("now", verb=verb, extras=0.1, accusative=gap)
    else:
        preposition = lex.SURFACES if role == "place" else verb.prepositional
        assert preposition is not None
        case, stranded = preposition.case, fix_words("", preposition.english, bit)
        if role == "place":
            clause = sampler.draw_clause("now", verb=verb, place=stranded)
        else:
            clause = sampler.draw_clause("now", verb=verb, extras=0.1, prepositional=stranded)
    clause.verb_last = True
    who = role == "subject" and phrase.noun.group == "person"
    pronoun = fix_words(lex.RELATIVE[phrase.agreement][case], "who" if who else "that", bit << 1)
    german = [fix_words(preposition.german, "", bit)] if preposition else []
    phrase.relative = Arrangement([*german, pronoun, clause], [pronoun, clause])
    sampler.tag("relative")


KINDS: tuple[tuple[int, Callable[[Sampler], list[Part]]], ...] = (
    (13, draw_plain),
    (11, draw_time_first),
    (9, draw_place_first),
    (4, draw_object_first),
    (10, draw_perfect),
    (12, draw_modal),
    (6, draw_negated),
    (6, draw_habit),
    (6, draw_passive),
    (5, draw_question),
    (3, draw_there_is),
    (2, draw_copula),
    (7, draw_while),
    (6, draw_because),
    (4, draw_when),
    (6, draw_that),
    (4, draw_purpose),
    (3, draw_two_subjects),
    (3, draw_two_verbs),
    (6, draw_subject_relative),
    (7, draw_object_relative),
)
"""The kinds of sentence with their weights: how often each is written, relative to their sum."""
