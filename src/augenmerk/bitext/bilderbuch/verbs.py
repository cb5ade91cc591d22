"""Which verbs can be told in which way, and which keep company with a noun."""

from collections.abc import Callable

from augenmerk.bitext.bilderbuch.entries import Noun, Verb
from augenmerk.bitext.bilderbuch.lexicon import lexicon

_LEXICON = lexicon()

VerbsByNoun = dict[Noun, tuple[Verb, ...]]


def _without(*flags: str) -> tuple[Verb, ...]:
    return tuple(verb for verb in _LEXICON.verbs if verb.flags.isdisjoint(flags))


VERBS = {
    "now": _without("moment"),
    "habit": _without("moment", "present"),
    "past": _without("present"),
    "done": _without("present", "state", "place"),
    "modal": _without("present", "alone"),
}
"""By the form a clause can have with them."""
ONGOING = _without("moment", "state")
"""What can go on while something else does."""
_PASSIVE = tuple(verb for verb in _without("active") if verb.accusative and not verb.dative)
PASSIVE_VERBS = {
    form: tuple(verb for verb in VERBS[form] if verb in _PASSIVE) for form in ("now", "past", "done")
}
NEVER_NEGATED = frozenset({"alone", "instrument"})
"""The flags of verbs that make no good negation."""
NAMEABLE = frozenset(verb for verb in _LEXICON.verbs if any("child" in noun.kinds for noun in verb.subjects))
"""What a child with a name can do."""


def _by_noun(verbs: tuple[Verb, ...], nouns_of: Callable[[Verb], tuple[Noun, ...]]) -> VerbsByNoun:
    """Leaving out those that make poor company in a second clause: see, hear, please."""
    found: dict[Noun, list[Verb]] = {}
    for verb in verbs:
        if not verb.flags & {"swap", "state"} or verb.infinitive == "gehören":
            for noun in nouns_of(verb):
                found.setdefault(noun, []).append(verb)
    return {noun: tuple(fitting) for noun, fitting in found.items()}


def _done_by(form: str) -> VerbsByNoun:
    by_noun = _by_noun(VERBS[form], lambda verb: verb.subjects)
    boy = next(noun for noun in _LEXICON.nouns if noun.lemma == "Junge")
    # Children with a name do what boys do.
    return by_noun | dict.fromkeys(_LEXICON.names, by_noun[boy])


DONE_BY = {form: _done_by(form) for form in ("now", "done", "modal")}
"""What a noun does, by form."""
DONE_TO = _by_noun(
    VERBS["now"], lambda verb: () if verb.dative or verb.flags & {"many", "instrument"} else verb.accusative
)
"""What is done to it, in the accusative."""
DONE_WITH = _by_noun(VERBS["now"], lambda verb: verb.prepositional.nouns if verb.prepositional else ())
"""What is done with it, after a preposition."""
