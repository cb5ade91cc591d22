"""The author: the kinds of sentence there are, how often each is written, and the finished pair."""

from collections.abc import Callable, Mapping

from augenmerk.bitext.bilderbuch import one_clause, relative, two_clauses
from augenmerk.bitext.bilderbuch.choices import Choices
from augenmerk.bitext.bilderbuch.inflection import CONTRACTIONS
from augenmerk.bitext.bilderbuch.phrases import Line
from augenmerk.bitext.pairs import SentencePair

TAGS: Mapping[str, str] = {
    "fronted": "a time or a place opens the German sentence, and the subject follows the verb",
    "object-first": "an object opens the German sentence",
    "question": "verb or question word first, and in English an auxiliary before the subject",
    "there-is": "im Garten steht ein Baum, there is a tree in the garden",
    "separable": "a verb with a separable prefix, whether it stands apart (macht ... auf) or not (aufmachen)",
    "reflexive": "a German verb with sich that has none in English",
    "dative": "a verb that governs the dative, alone or beside an accusative",
    "prepositional": "a verb with its own preposition: warten auf, wait for",
    "swap": "the German subject is the English object: das Bild gefällt dem Kind",
    "perfect": "the German perfect, participle last",
    "modal": "a modal verb, infinitive last",
    "future": "werden, infinitive last",
    "passive": "the passive, in the present, past or perfect",
    "negation": "nicht or kein",
    "coordination": "phrases or clauses joined by und, aber",
    "subordinate": "a subordinate clause, verb last; its conjunction is a tag too",
    "während": "while",
    "weil": "because",
    "wenn": "when",
    "dass": "that",
    "purpose": "um ... zu",
    "relative": "a relative clause, verb last",
    "possessive": "mein, unser, sein, ihr before a noun",
    "number": "zwei to zehn before a noun",
    "compound": "one German word for several English ones: Apfelbaum, apple tree",
    "contraction": "a preposition grown together with its article: im, zum",
}
"""What the tags of a pair mean."""

_STOP = 1
"""The first bit of every sentence links the full stops."""

_KINDS: tuple[tuple[int, Callable[[Choices, Line, Line], None]], ...] = (
    (13, one_clause.plain),
    (11, one_clause.time_first),
    (9, one_clause.place_first),
    (4, one_clause.object_first),
    (10, one_clause.perfect),
    (12, one_clause.modal),
    (6, one_clause.negated),
    (6, one_clause.habit),
    (6, one_clause.passive),
    (5, one_clause.question),
    (3, one_clause.there_is),
    (2, one_clause.quality),
    (7, two_clauses.while_),
    (6, two_clauses.because),
    (4, two_clauses.when),
    (6, two_clauses.that),
    (4, two_clauses.purpose),
    (3, two_clauses.both),
    (3, two_clauses.does_two_things),
    (6, relative.who),
    (7, relative.whom),
)
"""How often each kind of sentence is written, in parts of their sum."""
_LOTS = tuple(kind for weight, kind in _KINDS for _ in range(weight))
_CONTRACTED = frozenset(word for joined in CONTRACTIONS.values() for word in (joined, joined.capitalize()))


class Author:
    """Writes one sentence pair after another."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._choices = Choices(random)

    def pair(self) -> SentencePair:
        """The next pair, with its links and tags."""
        choices = self._choices
        choices.begin()
        german, english = Line(), Line()
        choices.pick(_LOTS)(choices, german, english)
        german.stop(_STOP)
        english.stop(_STOP)
        if not _CONTRACTED.isdisjoint(german.words):
            choices.tags["contraction"] = None
        english_links = english.links
        links = tuple(
            (i, j)
            for i, bits in enumerate(german.links)
            if bits
            for j, others in enumerate(english_links)
            if bits & others
        )
        return SentencePair(_text(german.words), _text(english.words), links, tuple(choices.tags))


def _text(words: list[str]) -> str:
    """The marks stand alone in the list: at most a few commas, and the last word."""
    text = " ".join(words[:-1]).replace(" ,", ",") + words[-1]
    return text[0].upper() + text[1:]
