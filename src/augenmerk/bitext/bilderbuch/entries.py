"""What the lexicon knows about a word: one class for each kind of word."""

from dataclasses import dataclass

from augenmerk.bitext.bilderbuch.inflection import NOMINATIVE

LIVING = frozenset({"person", "name", "baby", "animal"})
"""The groups of nouns that do something of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    german: str
    stem: str
    """What the endings are put to: dunkel, but der dunkle Wald."""
    english: str
    used: bool = False
    """Said only of what has been there for a while: old, broken."""


Adjectives = tuple[Adjective, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    gender: int
    german: tuple[tuple[str, str, str], tuple[str, str, str]]
    """Singular and plural, each by case."""
    english: tuple[tuple[str, ...], tuple[str, ...]]
    """Singular and plural; a compound has several words."""
    group: str
    """What it is first of all."""
    kinds: frozenset[str]
    adjectives: tuple[Adjectives, Adjectives] = ((), ())
    """Those that may stand before it, in the first and in the second place."""
    qualities: Adjectives = ()
    """Those that may be said of it with "is"."""
    counted: bool = True

    @property
    def lemma(self) -> str:
        return self.german[0][NOMINATIVE]

    @property
    def head(self) -> str:
        """tree for both tree and apple tree, doctor for both Arzt and Ärztin: too alike for one sentence."""
        return self.english[0][-1]

    @property
    def living(self) -> bool:
        return self.group in LIVING


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition in one use: which case it takes, what it is in English, and the nouns it goes with."""

    german: str
    case: int
    english: tuple[str, ...]
    nouns: tuple[Noun, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    prefix: str
    infinitive: str
    present: tuple[str, str]
    """Without the prefix: third person singular, plural."""
    participle: str
    auxiliary: tuple[str, str]
    base: str
    third_person: str
    past: str
    past_participle: str
    ing: str
    particle: tuple[str, ...]
    subjects: tuple[Noun, ...]
    dative: tuple[Noun, ...]
    accusative: tuple[Noun, ...]
    prepositional: Preposition | None
    directions: tuple[Preposition, ...]
    manner: tuple[tuple[str, str], ...]
    flags: frozenset[str]

    @property
    def to_infinitive(self) -> tuple[str, ...]:
        """zu lesen, but vorzulesen in one word."""
        stem = self.infinitive.removeprefix(self.prefix)
        return (f"{self.prefix}zu{stem}",) if self.prefix else ("zu", stem)


@dataclass(frozen=True, slots=True, eq=False)
class Adverbial:
    """An expression of time. Each word comes with the number of what it is linked to (0: nothing)."""

    german: tuple[tuple[str, int], ...]
    english: tuple[tuple[str, int], ...]
    positions: frozenset[str]
