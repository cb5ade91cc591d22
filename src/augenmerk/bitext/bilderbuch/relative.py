"""Sentences with a relative clause: its German verb comes last, its English one stays beside the subject."""

from collections.abc import Callable, Container, Sequence

from augenmerk.bitext.bilderbuch.choices import Choices
from augenmerk.bitext.bilderbuch.clause import Clause
from augenmerk.bitext.bilderbuch.entries import Noun, Verb
from augenmerk.bitext.bilderbuch.inflection import ACCUSATIVE, NOMINATIVE, RELATIVE
from augenmerk.bitext.bilderbuch.one_clause import write
from augenmerk.bitext.bilderbuch.phrase_choices import LEXICON, RELATED
from augenmerk.bitext.bilderbuch.phrases import Gap, Joined, Line, NounPhrase, Stranded
from augenmerk.bitext.bilderbuch.verbs import DONE_BY, DONE_TO, DONE_WITH, VERBS

_TRANSITIVE = tuple(
    verb
    for verb in VERBS["now"]
    if verb.accusative and not verb.dative and not verb.prefix and not verb.flags & {"instrument", "many"}
)
"""Without a prefix that would come between the object and its relative clause."""
_RESTING = tuple(verb for verb in VERBS["now"] if verb.infinitive in ("sitzen", "liegen", "schlafen"))


class Relative:
    """A relative clause with its pronoun, in the case it has there, after a preposition if there is one."""

    __slots__ = ("bit", "case", "clause", "of", "stranded")

    def __init__(
        self, of: NounPhrase, clause: Clause, case: int, bit: int, stranded: Stranded | None = None
    ) -> None:
        self.of = of
        self.clause = clause
        self.case = case
        self.bit = bit
        self.stranded = stranded

    def german(self, line: Line) -> None:
        if self.stranded:
            line.add(self.stranded.preposition.german, self.stranded.bit)
        line.add(RELATIVE[self.of.agreement][self.case], self.bit)
        self.clause.german_last(line)

    def english(self, line: Line) -> None:
        person = self.of.noun.group == "person" and self.case == NOMINATIVE
        line.add("who" if person else "that", self.bit)
        self.clause.english(line)


Way = Callable[[Choices, NounPhrase, Verb], Relative | None]
"""Says something about a phrase, not with the verb of the main clause."""


def who(choices: Choices, german: Line, english: Line) -> None:
    """Der Mann, der einen Hut trägt, füttert die Enten."""
    verb = choices.pick(VERBS["now"])
    main = choices.clause("now", choices.subject(verb, RELATED), verb, extras=0)
    subject = main.subject
    if isinstance(subject, NounPhrase) and subject.determiner in RELATED and subject.noun.living:
        _relate(choices, subject, verb, (_doing,))
    write(main, german, english)


def whom(choices: Choices, german: Line, english: Line) -> None:
    """Die Frau sucht den Ball, den der Junge wirft: the clause hangs on the object, at the end."""
    verb = choices.pick(_TRANSITIVE)
    main = choices.clause("now", verb=verb, extras=0, objects=RELATED)
    phrase = main.accusative
    if isinstance(phrase, Joined):
        phrase = phrase.second
    if isinstance(phrase, NounPhrase) and phrase.determiner in RELATED:
        _relate(choices, phrase, verb, tuple(way for way, nouns in _WAYS if phrase.noun in nouns))
    write(main, german, english)


def _relate(choices: Choices, phrase: NounPhrase, main: Verb, ways: Sequence[Way]) -> None:
    """Says something about the phrase in one of these ways, if there is something to say."""
    if not ways:
        return
    phrase.relative = choices.pick(ways)(choices, phrase, main)
    if phrase.relative:
        choices.tags["relative"] = None


def _doing(choices: Choices, phrase: NounPhrase, main: Verb) -> Relative | None:
    verb = choices.verb(DONE_BY["now"][phrase.noun], main)
    if verb is None:
        return None
    clause = choices.clause("now", Gap(phrase), verb, extras=0.3)
    return Relative(phrase, clause, NOMINATIVE, choices.bit())


def _done_to(choices: Choices, phrase: NounPhrase, main: Verb) -> Relative | None:
    verb = choices.verb(DONE_TO[phrase.noun], main)
    if verb is None:
        return None
    clause = choices.clause("now", verb=verb, extras=0.1, accusative=Gap(phrase))
    return Relative(phrase, clause, ACCUSATIVE, choices.bit())


def _done_with(choices: Choices, phrase: NounPhrase, main: Verb) -> Relative | None:
    """der Bus, auf den der Junge wartet"""
    verb = choices.verb(DONE_WITH[phrase.noun], main)
    if verb is None or verb.prepositional is None:
        return None
    stranded = Stranded(verb.prepositional, choices.bit())
    clause = choices.clause("now", verb=verb, extras=0.1, prepositional=stranded)
    return Relative(phrase, clause, verb.prepositional.case, choices.bit(), stranded)


def _resting_on(choices: Choices, phrase: NounPhrase, _: Verb) -> Relative:
    """die Bank, auf der die Katze schläft"""
    stranded = Stranded(LEXICON.surfaces, choices.bit())
    clause = choices.clause("now", verb=choices.pick(_RESTING), place=stranded)
    return Relative(phrase, clause, LEXICON.surfaces.case, choices.bit(), stranded)


_WAYS: tuple[tuple[Way, Container[Noun]], ...] = (
    (_doing, DONE_BY["now"]),
    (_done_to, DONE_TO),
    (_done_with, DONE_WITH),
    (_resting_on, LEXICON.surfaces.nouns),
)
"""What can be said about an object, with the nouns of which it can be said."""
