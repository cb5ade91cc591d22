"""The lexicon: words as they are used in sentences, read from the tables beside this file.

The header of each table explains its columns.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from augenmerk.data.bilderbuch import determiners as det

_GENDERS = {"m": det.MASCULINE, "f": det.FEMININE, "n": det.NEUTER}
_CASES = {"acc": det.ACCUSATIVE, "dat": det.DATIVE}
_LIVING = frozenset({"person", "name", "baby", "animal"})
"""The groups of nouns for people and animals."""


def read_table(name: str, separator: str = "|") -> list[list[str]]:
    """Returns the cells of each row of a table beside this file."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective in both languages."""

    german: str
    stem: str
    """The form that endings are added to: dunkel, but der dunkle Wald."""
    english: str
    kinds: frozenset[str]
    """The kinds of noun it is said of, and its marks."""
    position: int
    """Whether it is the first (1) or the second (2) of two adjectives before a noun."""


Adjectives = tuple[Adjective, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun in both languages, and what it goes with."""

    gender: int
    german: tuple[tuple[str, str, str], tuple[str, str, str]]
    """Singular and plural, each by case."""
    english: tuple[tuple[str, ...], tuple[str, ...]]
    """Singular and plural; a compound has several words."""
    group: str
    """The first of its kinds, such as person or thing."""
    kinds: frozenset[str]
    adjectives: tuple[Adjectives, Adjectives]
    """The adjectives that may stand before it, in the first and in the second position."""
    predicates: Adjectives
    """The adjectives that may follow it and "is"."""
    counted: bool

    @property
    def lemma(self) -> str:
        return self.german[0][det.NOMINATIVE]

    @property
    def head(self) -> str:
        """The last English word. Nouns that share it (tree and apple tree) are too alike for one sentence."""
        return self.english[0][-1]

    @property
    def living(self) -> bool:
        return self.group in _LIVING

    @property
    def pronoun(self) -> str:
        """The English he, she or it, by natural gender, where German goes by grammatical gender."""
        if self.group not in ("person", "name") and "she" not in self.kinds:
            return "it"
        return "he" if self.gender == det.MASCULINE and "she" not in self.kinds else "she"


def _make_adjective(spelling: str, english: str, kinds: str, position: str) -> Adjective:
    german, _, stem = spelling.partition(":")
    return Adjective(german, stem or german, english, frozenset(kinds.split()), int(position))


_ADJECTIVES = tuple(_make_adjective(*row) for row in read_table("adjectives.txt"))


def _find_adjectives(*kinds: str) -> Adjectives:
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


def _make_noun(german: str, english: str, kinds_text: str) -> Noun:
    singular, gender, plural = german.split()
    first, _, irregular = english.partition("/")
    *before, last = first.split()
    group, *others = kinds_text.split()
    if "own" in others and group in {"thing", "clothing", "vehicle"}:
        others.append("belonging")
    if "own" in others and group == "person":
        others.append("relative")
    oblique = plural if gender.endswith("~") else singular
    dative_plural = plural if plural.endswith(("n", "s")) else plural + "n"
    fitting = _find_adjectives(group, *others)
    first_position = tuple(adjective for adjective in fitting if adjective.position == 1)
    second_position = tuple(adjective for adjective in fitting if adjective.position == 2)
    return Noun(
        gender=_GENDERS[gender[0]],
        german=((singular, oblique, oblique), (plural, plural, dative_plural)),
        english=((*before, last), tuple(irregular.split()) or (*before, _add_s(last))),
        group=group,
        kinds=frozenset((group, *others)),
        adjectives=(first_position, second_position),
        predicates=_find_adjectives("!") if group in _LIVING else first_position + second_position,
        counted=plural != "-",
    )


NOUNS = tuple(_make_noun(*row) for row in read_table("nouns.txt"))
NAMES = tuple(
    replace(_make_noun(f"{name} {gender} {name}", f"{name}/{name}", "name person child"), adjectives=((), ()))
    for gender, names in (("m", "Ben Paul Max Jonas Felix Emil"), ("f", "Anna Lena Mia Clara Emma Lotte"))
    for name in names.split()
)


def _find_nouns(kinds: str) -> tuple[Noun, ...]:
    wanted = set(kinds.split())
    found = tuple(noun for noun in NOUNS if noun.kinds & wanted)
    unknown = wanted - {kind for noun in found for kind in noun.kinds}
    assert not unknown, f"no noun is of kind {unknown}"
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
    uses: dict[tuple[str, str], tuple[Noun, ...]] = {}
    for row in read_table("places.txt"):
        german, _, english = row[column].partition(" = ")
        uses[german, english] = (*uses.get((german, english), ()), nouns[row[0]])
    return uses


def _read_prepositions() -> dict[str, tuple[Preposition, ...]]:
    uses: dict[str, tuple[Preposition, ...]] = {}
    for use, german, case, english, kinds in read_table("prepositions.txt"):
        uses[use] = (*uses.get(use, ()), Preposition(german, _CASES[case], english, _find_nouns(kinds)))
    into = _group_places(2)
    uses["in"] = tuple(
        Preposition(german, det.DATIVE if german == "zu" else det.ACCUSATIVE, english, nouns)
        for (german, english), nouns in into.items()
    )
    enterable = tuple(noun for noun in into["in", "into"] if noun.kinds & {"room", "building"})
    uses["aus"] = (Preposition("aus", det.DATIVE, "out of", enterable),)
    return uses


_PREPOSITIONS = _read_prepositions()
_AT_PLACES = tuple(
    Preposition(german, det.DATIVE, english, nouns) for (german, english), nouns in _group_places(1).items()
)
LOCATIONS = (*_AT_PLACES * 2, *_PREPOSITIONS["outside"])
"""Places where anything can happen; the prepositions they have of their own are listed twice."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb in both languages, and the nouns it takes as subject and objects."""

    prefix: str
    infinitive: str
    present: tuple[str, str]
    """The third person singular and plural, without the prefix."""
    participle: str
    auxiliary: tuple[str, str]
    base: str
    third_person: str
    past: str
    past_participle: str
    ing: str
    particle: str
    subjects: tuple[Noun, ...]
    dative: tuple[Noun, ...]
    accusative: tuple[Noun, ...]
    prepositional: Preposition | None
    directions: tuple[Preposition, ...]
    manner: tuple[tuple[str, str], ...]
    flags: frozenset[str]


def _add_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


def _add_ing(base: str) -> str:
    return base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else base + "ing"


_MANNER = dict(read_table("manner.txt"))


def _make_verb(
    german: str, present: str, participle_text: str, english: str, subjects: str, frame: str, notes: str
) -> Verb:
    prefix, _, stem = german.rpartition("|")
    participle, auxiliary = participle_text.split()
    base, *irregular = (word for word in english.split() if not word.startswith("+"))
    past, past_participle, ing = (*irregular, *(("",) * (3 - len(irregular))))
    past = past or _add_ed(base)
    objects: dict[str, tuple[Noun, ...]] = {"dat": (), "acc": ()}
    prepositional: Preposition | None = None
    directions: tuple[Preposition, ...] = ()
    if ":" in frame:
        head, _, kinds = frame.partition(":")
        preposition, case, _, translation = head.split()
        prepositional = Preposition(preposition, _CASES[case], translation, _find_nouns(kinds))
    elif frame.startswith("to "):
        directions = tuple(use for name in frame.split()[1:] for use in _PREPOSITIONS[name])
    elif frame != "-":
        for part in frame.split(","):
            case, kinds = part.split(maxsplit=1)
            objects[case] = _find_nouns(kinds)
    return Verb(
        prefix=prefix,
        infinitive=prefix + stem,
        present=(present, stem),
        participle=participle,
        auxiliary=("ist", "sind") if auxiliary == "s" else ("hat", "haben"),
        base=base,
        third_person=_add_s(base),
        past=past,
        past_participle=past_participle or past,
        ing=ing or _add_ing(base),
        particle=" ".join(word[1:] for word in english.split() if word.startswith("+")),
        subjects=_find_nouns(subjects),
        dative=objects["dat"],
        accusative=objects["acc"],
        prepositional=prepositional,
        directions=directions,
        manner=tuple((word, _MANNER[word]) for word in notes.split() if not word.startswith("!")),
        flags=frozenset(word[1:] for word in notes.split() if word.startswith("!")),
    )


ALL_VERBS = tuple(_make_verb(*row) for row in read_table("verbs.txt", ";"))


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
"""Verbs for something that can go on while something else does."""
PASSIVE_VERBS = {
    form: tuple(verb for verb in verbs if verb.accusative and not verb.dative and "active" not in verb.flags)
    for form, verbs in VERBS.items()
}
CHILD_VERBS = frozenset(verb for verb in ALL_VERBS if any("child" in noun.kinds for noun in verb.subjects))
"""Verbs that a child, and so somebody with a name, can be the subject of."""

VerbsByNoun = dict[Noun, tuple[Verb, ...]]


def _group_by_noun(form: str, nouns_of: Callable[[Verb], Iterable[Noun]]) -> VerbsByNoun:
    """Returns the verbs for each noun, without those that fit badly in a second clause: see, hear, please."""
    found: VerbsByNoun = {}
    for verb in VERBS[form]:
        if not verb.flags & {"swap", "state"} or verb.infinitive == "gehören":
            for noun in nouns_of(verb):
                found[noun] = (*found.get(noun, ()), verb)
    return found


def _group_by_subject(form: str) -> VerbsByNoun:
    by_noun = _group_by_noun(form, lambda verb: verb.subjects)
    boy = next(noun for noun in NOUNS if noun.lemma == "Junge")
    # Children with a name do what boys do.
    return by_noun | dict.fromkeys(NAMES, by_noun[boy])


VERBS_BY_SUBJECT = {form: _group_by_subject(form) for form in ("now", "done", "modal")}
VERBS_BY_OBJECT = _group_by_noun(
    "now", lambda verb: () if verb.dative or verb.flags & {"many", "instrument"} else verb.accusative
)
"""The verbs for each accusative object."""
VERBS_BY_PREPOSITIONAL_OBJECT = _group_by_noun(
    "now", lambda verb: verb.prepositional.nouns if verb.prepositional else ()
)
"""The verbs with a preposition of their own for each noun that can follow it."""


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
    by_form: dict[str, tuple[Expression, ...]] = {}
    for form, *cells in read_table(name):
        by_form[form] = (*by_form.get(form, ()), parse_expression(*cells))
    return by_form


ADVERBIALS = _read_expressions("adverbials.txt")
"""Expressions of time, by the form of the clause they go with."""
WEATHER = _read_expressions("weather.txt")
