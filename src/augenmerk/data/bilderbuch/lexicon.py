"""The lexicon: words as they are used in sentences, most of them read from the tables beside this file.

The header of each table explains its columns. Cases are numbered NOMINATIVE, ACCUSATIVE, DATIVE; a phrase
agrees as MASCULINE, FEMININE, NEUTER or, in the plural, where German has no gender, as PLURAL.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TypeVar

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
MASCULINE, FEMININE, NEUTER, PLURAL = range(4)

Paradigm = tuple[tuple[str, ...], ...]
"""Forms by agreement, then by case."""


def _inflect(endings: str, stem: str = "") -> Paradigm:
    """Returns a stem with twelve endings, three cases for each agreement; "-" means no ending."""
    forms = [stem + ending.replace("-", "") for ending in endings.split()]
    return tuple(tuple(forms[i : i + 3]) for i in range(0, 12, 3))


_LIKE_EIN = "- en em  e e er  - - em  e e en"
_LIKE_DIESER = "er en em  e e er  es es em  e e en"
RELATIVE = _inflect("der den dem  die die der  das das dem  die die denen")
"""The relative pronoun: like the article, except for the dative plural."""
WEAK = _inflect("e en en  e e en  e e en  en en en")
"""Adjective endings after der, dieser."""
MIXED = _inflect("er en en  e e en  es es en  en en en")
"""Adjective endings after ein, kein, mein."""
STRONG = _inflect(_LIKE_DIESER)
"""Adjective endings where no article shows the case: heißer Tee, zwei kleine Hunde."""


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """A word before the noun, in both languages, and the adjective endings that follow it."""

    german: Paradigm
    singular: str
    plural: str
    endings: Paradigm
    definite: bool = True
    """Whether it refers to something known; the German positions of objects and of "nicht" depend on it."""


def _like_ein(stem: str, singular: str, plural: str, definite: bool = True) -> Determiner:
    return Determiner(_inflect(_LIKE_EIN, stem), singular, plural, MIXED, definite)


def _uninflected(german: str, english: str) -> Determiner:
    return Determiner(((german,) * 3,) * 4, english, english, STRONG, definite=False)


THE = Determiner(_inflect("der den dem  die die der  das das dem  die die den"), "the", "the", WEAK)
A = _like_ein("ein", "a", "", definite=False)
THIS = Determiner(_inflect(_LIKE_DIESER, "dies"), "this", "these", WEAK)
MANY = Determiner(_inflect(_LIKE_DIESER, "viel"), "", "many", STRONG, definite=False)
SOME = Determiner(_inflect(_LIKE_DIESER, "einig"), "", "some", STRONG, definite=False)
NO = _like_ein("kein", "a", "any", definite=False)
NO_MASS = _like_ein("kein", "any", "any", definite=False)
"""English has "not" for kein, at the verb, and keeps "a" or "any" here: not a hat, not any milk."""
BARE = _uninflected("", "")
INSTRUMENT = _uninflected("", "the")
"""spielt Gitarre, plays the guitar."""
_NUMBERS = "zwei:two drei:three vier:four fünf:five sechs:six sieben:seven acht:eight neun:nine zehn:ten"
NUMBERS = tuple(_uninflected(*number.split(":")) for number in _NUMBERS.split())
MY = _like_ein("mein", "my", "my")
OUR = _like_ein("unser", "our", "our")
THEIR = _like_ein("ihr", "their", "their")
HIS_HER_ITS = {
    (gender, pronoun): _like_ein("ihr" if gender == FEMININE else "sein", english, english)
    for gender in (MASCULINE, FEMININE, NEUTER)
    for pronoun, english in (("he", "his"), ("she", "her"), ("it", "its"))
}
"""By the gender of the owner and its English pronoun: das Mädchen und sein Hund, the girl and her dog."""

# Placeholders: a possessive, or a number, is drawn in their place.
POSSESSIVE = Determiner((), "", "", STRONG)
NUMBER = Determiner((), "", "", STRONG, definite=False)

# Determiners to choose from, each as often as it is listed.
SUBJECTS = (*[THE] * 12, *[A] * 5, POSSESSIVE, *[NUMBER] * 2, THIS, MANY, SOME)
OBJECTS = (*[THE] * 8, *[A] * 8, *[POSSESSIVE] * 2, NUMBER, THIS, SOME, BARE)
GIVEN = (*[THE] * 4, *[A] * 4, POSSESSIVE, NUMBER)
WORN = (*[THE] * 3, *[A] * 4, *[POSSESSIVE] * 3)
MADE = (*[THE] * 2, *[A] * 4, NUMBER)
PLACES = (*[THE] * 12, *[A] * 2, POSSESSIVE)
KNOWN = (*[THE] * 4, POSSESSIVE)
RELATED = (*[THE] * 2, A)
NEW = (*[A] * 5, *[NUMBER] * 2, SOME)
NEGATED = (THE, A, A, POSSESSIVE)
SEVERAL = (*[BARE] * 2, SOME, NUMBER)
ALWAYS_PLURAL = frozenset({NUMBER, MANY, SOME, BARE})
SOMETIMES_PLURAL = frozenset({THE, THIS, POSSESSIVE})

# Tables

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")
_GENDERS = {"m": MASCULINE, "f": FEMININE, "n": NEUTER}
_CASES = {"acc": ACCUSATIVE, "dat": DATIVE}


def read_table(name: str, separator: str = "|") -> list[list[str]]:
    """Returns the cells of each row of a table beside this file."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


def _group(items: Iterable[tuple[_Key, _Item]]) -> dict[_Key, tuple[_Item, ...]]:
    """Returns the items by key."""
    groups: dict[_Key, list[_Item]] = {}
    for key, item in items:
        groups.setdefault(key, []).append(item)
    return {key: tuple(group) for key, group in groups.items()}


class Adjective:
    """An adjective in both languages."""

    def __init__(self, spelling: str, english: str, kinds: str, position: str) -> None:
        self.german, _, stem = spelling.partition(":")
        self.stem = stem or self.german
        """The form that endings are added to: dunkel, but der dunkle Wald."""
        self.english = english
        self.kinds = frozenset(kinds.split())
        """The kinds of noun that it can describe, and its flags."""
        self.position = int(position)
        """Whether it is the first (1) or the second (2) of two adjectives before a noun."""


_ADJECTIVES = tuple(Adjective(*row) for row in read_table("adjectives.txt"))


def _find_adjectives(*kinds: str) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in _ADJECTIVES if not adjective.kinds.isdisjoint(kinds))


REASONS = _find_adjectives("why")
"""Adjectives that explain what somebody does: because he is hungry."""


def _add_s(word: str) -> str:
    """Returns the regular plural of a noun, or the third person singular of a verb: boxes, carries, sings."""
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


class Noun:
    """A noun in both languages, and what it goes with."""

    def __init__(self, german: str, english: str, kinds: str) -> None:
        self.lemma, gender, plural = german.split()
        self.gender = _GENDERS[gender[0]]
        oblique = plural if gender.endswith("~") else self.lemma
        dative_plural = plural if plural.endswith(("n", "s")) else plural + "n"
        self.german = ((self.lemma, oblique, oblique), (plural, plural, dative_plural))
        """Singular and plural, each by case."""
        singular, _, irregular = english.partition("/")
        *before, self.head = singular.split()
        """The last English word. Nouns that share it (tree and apple tree) are too alike for one sentence."""
        self.english = (*before, self.head), tuple(irregular.split()) or (*before, _add_s(self.head))
        """Singular and plural; a compound has several words."""
        self.group, *others = kinds.split()
        """The first of its kinds, such as person or thing."""
        if "own" in others and self.group in {"thing", "clothing", "vehicle"}:
            others.append("belonging")
        if "own" in others and self.group == "person":
            others.append("relative")
        self.kinds = frozenset((self.group, *others))
        self.living = self.group in {"person", "name", "baby", "animal"}
        self.counted = plural != "-"
        fitting = _find_adjectives(*self.kinds)
        first, second = (tuple(each for each in fitting if each.position == n) for n in (1, 2))
        self.adjectives = first, second
        """The adjectives that may come before it, in the first and in the second position."""
        self.predicates = _find_adjectives("!") if self.living else first + second
        """The adjectives that may follow it and "is"."""
        # By natural gender, where German goes by grammatical gender.
        is_person = self.group in ("person", "name") or "she" in self.kinds
        is_she = self.gender != MASCULINE or "she" in self.kinds
        self.pronoun = ("she" if is_she else "he") if is_person else "it"


def _make_name(name: str, gender: str) -> Noun:
    noun = Noun(f"{name} {gender} {name}", f"{name}/{name}", "name person child")
    noun.adjectives = (), ()
    return noun


NOUNS = tuple(Noun(*row) for row in read_table("nouns.txt"))
NAMES = tuple(
    _make_name(name, gender)
    for gender, names in (("m", "Ben Paul Max Jonas Felix Emil"), ("f", "Anna Lena Mia Clara Emma Lotte"))
    for name in names.split()
)


def _find_nouns(kinds: str) -> tuple[Noun, ...]:
    found = tuple(noun for noun in NOUNS if not noun.kinds.isdisjoint(kinds.split()))
    assert set(kinds.split()) <= {kind for noun in found for kind in noun.kinds}, kinds
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition in one use: the case it governs, its translation, and the nouns it goes with."""

    german: str
    case: int
    english: str
    nouns: tuple[Noun, ...]


def _group_places(column: int) -> dict[tuple[str, str], tuple[Noun, ...]]:
    """Returns the places for each preposition, German and English, in a column of places.txt."""
    nouns = {noun.lemma: noun for noun in NOUNS}
    rows = [(row[column].partition(" = "), nouns[row[0]]) for row in read_table("places.txt")]
    return _group(((german, english), noun) for (german, _, english), noun in rows)


def _read_prepositions() -> dict[str, tuple[Preposition, ...]]:
    uses = _group(
        (use, Preposition(german, _CASES[case], english, _find_nouns(kinds)))
        for use, german, case, english, kinds in read_table("prepositions.txt")
    )
    into = _group_places(2)
    uses["in"] = tuple(
        Preposition(german, DATIVE if german == "zu" else ACCUSATIVE, english, nouns)
        for (german, english), nouns in into.items()
    )
    enterable = tuple(noun for noun in into["in", "into"] if noun.kinds & {"room", "building"})
    uses["aus"] = (Preposition("aus", DATIVE, "out of", enterable),)
    return uses


_PREPOSITIONS = _read_prepositions()
_AT_PLACES = tuple(
    Preposition(german, DATIVE, english, nouns) for (german, english), nouns in _group_places(1).items()
)
LOCATIONS = (*_AT_PLACES * 2, *_PREPOSITIONS["outside"])
"""Places where anything can happen; each place's own preposition is listed twice."""
RESTING_PLACES = (*_PREPOSITIONS["inside"], *_PREPOSITIONS["beneath"] * 2, *_PREPOSITIONS["surface"] * 5)
"""Places where one can sit, lie or hide, but hardly bake a cake: unter dem Tisch."""
[SURFACES] = _PREPOSITIONS["surface"]
"""auf, with the nouns that things can lie on."""
BETWEEN = _PREPOSITIONS["between"]
"""zwischen, once for things outdoors and once for things in a room."""
OUTDOORS = tuple(
    replace(use, nouns=tuple(noun for noun in use.nouns if not noun.kinds & {"room", "building", "dim"}))
    for use in _AT_PLACES
)
"""Places where a tree or a bus can be found."""


def _add_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


def _add_ing(base: str) -> str:
    return base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else base + "ing"


_MANNER = dict(read_table("manner.txt"))


class Verb:
    """A verb in both languages, and the nouns it takes as subject and objects."""

    def __init__(
        self, german: str, present: str, participle: str, english: str, subjects: str, frame: str, notes: str
    ) -> None:
        self.prefix, _, stem = german.rpartition("|")
        self.infinitive = self.prefix + stem
        self.present = present, stem
        """The third person singular and plural, without the prefix."""
        self.participle, auxiliary = participle.split()
        self.auxiliary = ("ist", "sind") if auxiliary == "s" else ("hat", "haben")
        self.base, *irregular = (word for word in english.split() if not word.startswith("+"))
        past, past_participle, ing = (*irregular, "", "", "")[:3]
        self.third_person = _add_s(self.base)
        self.past = past or _add_ed(self.base)
        self.past_participle = past_participle or self.past
        self.ing = ing or _add_ing(self.base)
        self.particle = " ".join(word[1:] for word in english.split() if word.startswith("+"))
        self.subjects = _find_nouns(subjects)
        objects: dict[str, tuple[Noun, ...]] = {"dat": (), "acc": ()}
        self.prepositional: Preposition | None = None
        self.directions: tuple[Preposition, ...] = ()
        if ":" in frame:
            head, _, kinds = frame.partition(":")
            preposition, case, _, translation = head.split()
            self.prepositional = Preposition(preposition, _CASES[case], translation, _find_nouns(kinds))
        elif frame.startswith("to "):
            self.directions = tuple(use for name in frame.split()[1:] for use in _PREPOSITIONS[name])
        elif frame != "-":
            for part in frame.split(","):
                case, kinds = part.split(maxsplit=1)
                objects[case] = _find_nouns(kinds)
        self.dative, self.accusative = objects["dat"], objects["acc"]
        self.manner = tuple((word, _MANNER[word]) for word in notes.split() if not word.startswith("!"))
        self.flags = frozenset(word[1:] for word in notes.split() if word.startswith("!"))


ALL_VERBS = tuple(Verb(*row) for row in read_table("verbs.txt", ";"))


def _without(*flags: str) -> tuple[Verb, ...]:
    return tuple(verb for verb in ALL_VERBS if verb.flags.isdisjoint(flags))


VERBS = {
    "now": _without("moment"),
    "habit": _without("moment", "present"),
    "past": _without("present"),
    "done": _without("present", "state", "place"),
    "modal": _without("present", "alone"),
}
"""The verbs by the form that a clause can have with them."""
ONGOING_VERBS = _without("moment", "state")
"""Verbs for something that can happen while something else does."""
PASSIVE_VERBS = {
    form: tuple(verb for verb in verbs if verb.accusative and not verb.dative and "active" not in verb.flags)
    for form, verbs in VERBS.items()
}
CHILD_VERBS = frozenset(verb for verb in ALL_VERBS if any("child" in noun.kinds for noun in verb.subjects))
"""Verbs that a child, and so somebody with a name, can be the subject of."""

VerbsByNoun = dict[Noun, tuple[Verb, ...]]


def _group_by_noun(form: str, nouns_of: Callable[[Verb], Iterable[Noun]]) -> VerbsByNoun:
    """Returns the verbs for each noun, without those that fit badly in a second clause: see, hear, please."""
    verbs = [v for v in VERBS[form] if not v.flags & {"swap", "state"} or v.infinitive == "gehören"]
    return _group((noun, verb) for verb in verbs for noun in nouns_of(verb))


[_BOY] = (noun for noun in NOUNS if noun.lemma == "Junge")
VERBS_BY_SUBJECT = {
    form: _group_by_noun(form, lambda verb: verb.subjects) for form in ("now", "done", "modal")
}
for _verbs in VERBS_BY_SUBJECT.values():  # children with a name do what boys do
    _verbs |= dict.fromkeys(NAMES, _verbs[_BOY])
VERBS_BY_OBJECT = _group_by_noun(
    "now", lambda verb: () if verb.dative or verb.flags & {"many", "instrument"} else verb.accusative
)
"""The verbs for each accusative object."""
VERBS_BY_PREPOSITIONAL_OBJECT = _group_by_noun(
    "now", lambda verb: verb.prepositional.nouns if verb.prepositional else ()
)
"""The prepositional verbs for each noun that can follow the preposition."""


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """A modal verb, singular and plural, which moves the main verb to the end of the German clause.

    The English forms hold all words before the infinitive; `english_not` is empty if none means the same.
    """

    german: list[str]
    english: list[str]
    english_not: list[str]


WILL, *MODALS = (
    Modal(*(cell.split(" / ") if cell else [] for cell in row)) for row in read_table("modals.txt")
)


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """Fixed words, for example an adverbial of time. A German and an English word with one number are linked.

    `positions` are the places where an adverbial may stand: front, mid, end.
    """

    german: tuple[tuple[str, int], ...]
    english: tuple[tuple[str, int], ...]
    positions: frozenset[str]


@cache
def parse_expression(german: str, english: str, positions: str = "") -> Expression:
    """Returns an expression from words such as `im/1 Moment/2`; the number of a word without one is 0."""

    def parse(text: str) -> tuple[tuple[str, int], ...]:
        parts = (word.partition("/") for word in text.split())
        return tuple((word, int(number or 0)) for word, _, number in parts)

    return Expression(parse(german), parse(english), frozenset(positions.split()))


def _read_expressions(name: str) -> dict[str, tuple[Expression, ...]]:
    return _group((form, parse_expression(*cells)) for form, *cells in read_table(name))


ADVERBIALS = _read_expressions("adverbials.txt")
"""Expressions of time, by the form of the clause they go with."""
WEATHER = _read_expressions("weather.txt")
