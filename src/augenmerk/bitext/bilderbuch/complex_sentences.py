"""Sentences of two clauses: coordinate, one subordinate to the other, or one relative to a noun of the other.

Each `write_` function writes one kind of sentence in both languages.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from augenmerk.bitext.bilderbuch.clauses import WEATHER, Clause, CopulaClause, WeatherClause
from augenmerk.bitext.bilderbuch.inflection import ACCUSATIVE, NOMINATIVE, RELATIVE
from augenmerk.bitext.bilderbuch.lexicon import (
    LEXICON,
    ONGOING_VERBS,
    VERBS,
    VERBS_BY_OBJECT,
    VERBS_BY_PREPOSITIONAL_OBJECT,
    VERBS_BY_SUBJECT,
    Noun,
    Verb,
)
from augenmerk.bitext.bilderbuch.phrases import (
    Coordination,
    Gap,
    NounPhrase,
    Pronoun,
    SentenceBuilder,
    StrandedPreposition,
)
from augenmerk.bitext.bilderbuch.sampler import KNOWN, RELATED, SUBJECTS, Sampler

Subordinate = Clause | CopulaClause | WeatherClause

_MATRIX_VERBS = (
    (("sagt", "sagen"), ("says", "say"), ("now", "now", "done", "modal")),
    (("weiß", "wissen"), ("knows", "know"), ("now", "now", "done", "modal")),
    (("glaubt", "glauben"), ("thinks", "think"), ("now", "now", "done", "modal")),
    (("hofft", "hoffen"), ("hopes", "hope"), ("now", "done", "modal", "modal")),
    (("sieht", "sehen"), ("sees", "see"), ("now",)),
    (("merkt", "merken"), ("notices", "notice"), ("now", "now", "done")),
)
"""Verbs before "dass", singular and plural, with the forms of the clause that follows."""
_PEOPLE = tuple(noun for noun in LEXICON.nouns if noun.group == "person")
_AWAY = frozenset({"schlafen", "einschlafen", "aufwachen", "aufstehen", "weglaufen", "wegfliegen"})
_FIRST_OF_TWO = tuple(
    verb
    for verb in ONGOING_VERBS
    if verb.infinitive not in _AWAY and all(noun.living for noun in verb.subjects)
)
_SECOND_OF_TWO = {
    noun: tuple(
        verb
        for verb in verbs
        if verb.infinitive not in _AWAY and not verb.directions and "place" not in verb.flags
    )
    for noun, verbs in VERBS_BY_SUBJECT["now"].items()
}
"""Verbs for what a noun can do at the same time as something else, and in the same place."""
_WALKS = tuple(verb for verb in LEXICON.verbs if verb.infinitive in ("gehen", "rennen", "wandern"))
_ERRANDS = tuple(
    verb
    for verb in VERBS["modal"]
    if verb.accusative
    and not verb.dative
    and not verb.flags & {"state", "moment"}
    and {"Junge", "Frau"} <= {noun.lemma for noun in verb.subjects}
)


# Coordinate clauses -----------------------------------------------------------------------------------------


def write_two_subjects(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes two clauses with a subject each, joined by "und" or "aber"."""
    sampler.may_coordinate = False
    bit = sampler.new_bit()
    word, translation = sampler.choose((("und", "and"), ("aber", "but")))
    sampler.draw_clause("now", extras=0.1).write(german, english)
    if word == "aber":
        german.add_comma(bit << 1)
        english.add_comma(bit << 1)
    german.add(word, bit)
    english.add(translation, bit)
    second = sampler.draw_clause("now", extras=0.1, negated=word == "aber" and sampler.bernoulli(0.5))
    second.write(german, english)
    sampler.tag("coordination")


def write_two_verbs(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes two clauses of which the second has no subject and, in English, no auxiliary."""
    sampler.may_coordinate = False
    bit = sampler.new_bit()
    first = sampler.draw_clause("now", verb=sampler.choose(_FIRST_OF_TWO), extras=0.1)
    first.write(german, english)
    verb = sampler.draw_other_verb(_SECOND_OF_TWO[first.subject.noun], first.verb)
    if verb is None:
        return
    second = sampler.draw_clause("now", Gap(first.subject), verb, extras=0)
    second.shares_auxiliary = True
    german.add("und", bit)
    english.add("and", bit)
    second.write(german, english)
    sampler.tag("coordination")


# Subordinate clauses ----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _FrontedClause:
    """A subordinate clause that opens the sentence."""

    conjunction: str
    clause: Subordinate
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        out.add(self.conjunction, self.bit)
        self.clause.write_german_verb_last(out)
        out.add_comma(self.bit << 1)


def _write_with_subordinate(
    sampler: Sampler,
    german: SentenceBuilder,
    english: SentenceBuilder,
    main: Clause,
    conjunction: tuple[str, str],
    subordinate: Subordinate,
    subordinate_first: bool,
) -> None:
    """Writes a main and a subordinate clause; `conjunction` is the German and the English one."""
    bit = sampler.new_bit()
    sampler.tag("subordinate", conjunction[0])
    if subordinate_first:
        main.write_german(german, _FrontedClause(conjunction[0], subordinate, bit))
        english.add(conjunction[1], bit)
        subordinate.write_english(english)
        english.add_comma(bit << 1)
        main.write_english(english)
        return
    main.write_german(german)
    german.add_comma()
    german.add(conjunction[0], bit)
    subordinate.write_german_verb_last(german)
    main.write_english(english)
    english.add(conjunction[1], bit)
    subordinate.write_english(english)


def _draw_weather(sampler: Sampler, form: str) -> WeatherClause:
    german, english = sampler.choose(WEATHER)
    return WeatherClause(german, english[form], sampler.new_bit())


def write_while(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    subordinate: Subordinate = (
        _draw_weather(sampler, "now")
        if sampler.bernoulli(0.1)
        else sampler.draw_clause("now", verb=sampler.choose(ONGOING_VERBS), extras=0.2)
    )
    main = sampler.draw_clause("now", verb=sampler.choose(ONGOING_VERBS), extras=0.15)
    _write_with_subordinate(
        sampler, german, english, main, ("während", "while"), subordinate, sampler.bernoulli(0.5)
    )


def write_when(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    subordinate: Subordinate = (
        _draw_weather(sampler, "habit")
        if sampler.bernoulli(0.3)
        else sampler.draw_clause("habit", extras=0.1)
    )
    main = sampler.draw_clause("habit", extras=0.2)
    _write_with_subordinate(
        sampler, german, english, main, ("wenn", "when"), subordinate, sampler.bernoulli(0.7)
    )


def write_because(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes a reason, about the subject if there is a pronoun for it."""
    sampler.may_coordinate = False
    main = sampler.draw_clause("now", extras=0.1)
    subject = main.subject
    has_no_pronoun = not subject.plural and "nobody" in subject.noun.kinds
    reason: Subordinate
    if has_no_pronoun or "swap" in main.verb.flags or not subject.noun.living:
        reason = (
            _draw_weather(sampler, "now") if sampler.bernoulli(0.5) else sampler.draw_clause("now", extras=0)
        )
    else:
        pronoun = Pronoun(subject, sampler.new_bit())
        form = sampler.choose(("done", "modal"))
        verb = sampler.draw_other_verb(VERBS_BY_SUBJECT[form][subject.noun], main.verb)
        if verb is None or sampler.bernoulli(0.45):
            reason = CopulaClause(pronoun, sampler.choose(LEXICON.reasons), sampler.new_bit())
        else:
            reason = sampler.draw_clause(form, pronoun, verb, extras=0)
    _write_with_subordinate(
        sampler, german, english, main, ("weil", "because"), reason, sampler.bernoulli(0.15)
    )


def write_that(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    german_verb, english_verb, forms = sampler.choose(_MATRIX_VERBS)
    subject = sampler.draw_phrase(_PEOPLE, SUBJECTS, adjectives=0.2)
    clause: Subordinate
    if sampler.bernoulli(0.15):
        person = sampler.draw_phrase(_PEOPLE, KNOWN, adjectives=0)
        clause = CopulaClause(person, sampler.choose(person.noun.predicates), sampler.new_bit())
    else:
        clause = sampler.draw_clause(sampler.choose(forms), extras=0.2, negated=sampler.bernoulli(0.1))
    bit = sampler.new_bit()
    subject.write_german(german, NOMINATIVE)
    german.add(german_verb[subject.plural], bit)
    german.add_comma()
    german.add("dass", bit << 1)
    clause.write_german_verb_last(german)
    subject.write_english(english)
    english.add(english_verb[subject.plural], bit)
    english.add("that", bit << 1)
    clause.write_english(english)
    sampler.tag("subordinate", "dass")


def write_purpose(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes: Der Junge rennt in den Garten, um den Hund zu füttern. The subject is a person."""
    subject = sampler.draw_phrase(_PEOPLE, SUBJECTS)
    main = sampler.draw_clause("now", subject, sampler.choose(_WALKS), extras=0)
    errand = sampler.draw_clause("now", subject, sampler.choose(_ERRANDS), extras=0)
    main.write_german(german)
    german.add_comma()
    german.add("um", errand.bit)
    errand.write_german_infinitive(german)
    main.write_english(english)
    errand.write_english_infinitive(english)
    sampler.tag("purpose")


# Relative clauses -------------------------------------------------------------------------------------------

_TRANSITIVE = tuple(
    verb
    for verb in VERBS["now"]
    if verb.accusative and not verb.dative and not verb.prefix and not verb.flags & {"instrument", "many"}
)
"""Transitive verbs without a prefix, which would stand between the object and its relative clause."""
_RESTING = tuple(verb for verb in VERBS["now"] if verb.infinitive in ("sitzen", "liegen", "schlafen"))


@dataclass(slots=True, eq=False)
class RelativeClause:
    """A relative clause: perhaps a preposition, then a pronoun in the given case, then the clause."""

    antecedent: NounPhrase
    clause: Clause
    case: int
    bit: int
    stranded: StrandedPreposition | None = None

    def write_german(self, out: SentenceBuilder) -> None:
        if self.stranded:
            out.add(self.stranded.preposition.german, self.stranded.bit)
        out.add(RELATIVE[self.antecedent.agreement][self.case], self.bit)
        self.clause.write_german_verb_last(out)

    def write_english(self, out: SentenceBuilder) -> None:
        person = self.antecedent.noun.group == "person" and self.case == NOMINATIVE
        out.add("who" if person else "that", self.bit)
        self.clause.write_english(out)


RelativeMaker = Callable[[Sampler, NounPhrase, Verb], RelativeClause | None]
"""Draws a relative clause for a phrase, with another verb than that of the main clause."""


def write_subject_relative(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes: Der Mann, der einen Hut trägt, füttert die Enten."""
    verb = sampler.choose(VERBS["now"])
    main = sampler.draw_clause("now", sampler.draw_subject(verb, RELATED), verb, extras=0)
    subject = main.subject
    if isinstance(subject, NounPhrase) and subject.determiner in RELATED and subject.noun.living:
        _add_relative(sampler, subject, verb, (_draw_with_subject_gap,))
    main.write(german, english)


def write_object_relative(sampler: Sampler, german: SentenceBuilder, english: SentenceBuilder) -> None:
    """Writes: Die Frau sucht den Ball, den der Junge wirft."""
    verb = sampler.choose(_TRANSITIVE)
    main = sampler.draw_clause("now", verb=verb, extras=0, objects=RELATED)
    phrase = main.accusative
    if isinstance(phrase, Coordination):
        phrase = phrase.second
    if isinstance(phrase, NounPhrase) and phrase.determiner in RELATED:
        makers = tuple(maker for maker, nouns in _OBJECT_RELATIVES if phrase.noun in nouns)
        _add_relative(sampler, phrase, verb, makers)
    main.write(german, english)


def _add_relative(sampler: Sampler, phrase: NounPhrase, main: Verb, makers: Sequence[RelativeMaker]) -> None:
    if not makers:
        return
    phrase.relative = sampler.choose(makers)(sampler, phrase, main)
    if phrase.relative:
        sampler.tag("relative")


def _draw_with_subject_gap(sampler: Sampler, phrase: NounPhrase, main: Verb) -> RelativeClause | None:
    verb = sampler.draw_other_verb(VERBS_BY_SUBJECT["now"][phrase.noun], main)
    if verb is None:
        return None
    clause = sampler.draw_clause("now", Gap(phrase), verb, extras=0.3)
    return RelativeClause(phrase, clause, NOMINATIVE, sampler.new_bit())


def _draw_with_object_gap(sampler: Sampler, phrase: NounPhrase, main: Verb) -> RelativeClause | None:
    verb = sampler.draw_other_verb(VERBS_BY_OBJECT[phrase.noun], main)
    if verb is None:
        return None
    clause = sampler.draw_clause("now", verb=verb, extras=0.1, accusative=Gap(phrase))
    return RelativeClause(phrase, clause, ACCUSATIVE, sampler.new_bit())


def _draw_with_preposition(sampler: Sampler, phrase: NounPhrase, main: Verb) -> RelativeClause | None:
    """Draws, for example: der Bus, auf den der Junge wartet."""
    verb = sampler.draw_other_verb(VERBS_BY_PREPOSITIONAL_OBJECT[phrase.noun], main)
    if verb is None or verb.prepositional is None:
        return None
    stranded = StrandedPreposition(verb.prepositional, sampler.new_bit())
    clause = sampler.draw_clause("now", verb=verb, extras=0.1, prepositional=stranded)
    return RelativeClause(phrase, clause, verb.prepositional.case, sampler.new_bit(), stranded)


def _draw_with_resting_place(sampler: Sampler, phrase: NounPhrase, _: Verb) -> RelativeClause:
    """Draws, for example: die Bank, auf der die Katze schläft."""
    stranded = StrandedPreposition(LEXICON.surfaces, sampler.new_bit())
    clause = sampler.draw_clause("now", verb=sampler.choose(_RESTING), place=stranded)
    return RelativeClause(phrase, clause, LEXICON.surfaces.case, sampler.new_bit(), stranded)


_OBJECT_RELATIVES: tuple[tuple[RelativeMaker, Container[Noun]], ...] = (
    (_draw_with_subject_gap, VERBS_BY_SUBJECT["now"]),
    (_draw_with_object_gap, VERBS_BY_OBJECT),
    (_draw_with_preposition, VERBS_BY_PREPOSITIONAL_OBJECT),
    (_draw_with_resting_place, LEXICON.surfaces.nouns),
)
"""The kinds of relative clause that an object can have, with the nouns that they are possible for."""
