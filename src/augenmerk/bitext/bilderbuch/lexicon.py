"""The lexicon: words as they are used in sentences, read from the tables beside this file.

The header of each table explains its columns.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files

from augenmerk.bitext.bilderbuch.inflection import (
    ACCUSATIVE,
    DATIVE,
    FEMININE,
    MASCULINE,
    NEUTER,
    NOMINATIVE,
    dative_plural,
    english_ing,
    english_past,
    english_plural,
    english_third_person,
)

_GENDERS = {"m": MASCULINE, "f": FEMININE, "n": NEUTER}
_CASES = {"acc": ACCUSATIVE, "dat": DATIVE}
_BOYS = ("Ben", "Paul", "Max", "Jonas", "Felix", "Emil")
_GIRLS = ("Anna", "Lena", "Mia", "Clara", "Emma", "Lotte")


LIVING = frozenset({"person", "name", "baby", "animal"})
"""The groups of nouns for people and animals."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective in both languages."""

    german: str
    stem: str
    """The form that endings are added to: dunkel, but der dunkle Wald."""
    english: str
    used: bool = False
    """Whether it is said only of things that have been there for a while: old, broken."""


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
    adjectives: tuple[Adjectives, Adjectives] = ((), ())
    """The adjectives that may stand before it, in the first and in the second position."""
    predicates: Adjectives = ()
    """The adjectives that may follow it and "is"."""
    counted: bool = True

    @property
    def lemma(self) -> str:
        return self.german[0][NOMINATIVE]

    @property
    def head(self) -> str:
        """The last English word. Nouns that share it (tree and apple tree) are too alike for one sentence."""
        return self.english[0][-1]

    @property
    def living(self) -> bool:
        return self.group in LIVING


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition in one use: the case it governs, its translation, and the nouns it goes with."""

    german: str
    case: int
    english: tuple[str, ...]
    nouns: tuple[Noun, ...]


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
        """The infinitive with zu: two words (zu lesen), or one for a separable verb (vorzulesen)."""
        stem = self.infinitive.removeprefix(self.prefix)
        return (f"{self.prefix}zu{stem}",) if self.prefix else ("zu", stem)


@dataclass(frozen=True, slots=True, eq=False)
class Adverbial:
    """An expression of time. Words with the same number are linked; 0 is for words without a link."""

    german: tuple[tuple[str, int], ...]
    english: tuple[tuple[str, int], ...]
    positions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words that sentences are made of."""

    nouns: tuple[Noun, ...]
    names: tuple[Noun, ...]
    reasons: Adjectives
    """Adjectives that explain what somebody does: because he is hungry."""
    verbs: tuple[Verb, ...]
    adverbials: dict[str, tuple[Adverbial, ...]]
    """Expressions of time, by the tense they go with."""
    locations: tuple[Preposition, ...]
    """Places where anything can happen."""
    resting_places: tuple[Preposition, ...]
    """Places where one can sit, lie or hide, but hardly bake a cake: unter dem Tisch."""
    surfaces: Preposition
    """auf, with the nouns that things can lie on."""
    between: tuple[Preposition, ...]
    """zwischen, once for things in a room and once for things outdoors."""
    outdoors: tuple[Preposition, ...]
    """Places where a tree or a bus can be found."""


def _read_table(name: str, separator: str = "|") -> list[list[str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


@dataclass(frozen=True, slots=True)
class _AdjectiveTable:
    """Every adjective with the kinds of noun it is said of, and its position before the noun."""

    rows: tuple[tuple[Adjective, frozenset[str], int], ...]

    def find_attributive(self, kinds: frozenset[str], position: int) -> Adjectives:
        return tuple(adjective for adjective, said_of, at in self.rows if at == position and said_of & kinds)

    def find_marked(self, mark: str) -> Adjectives:
        return tuple(adjective for adjective, said_of, _ in self.rows if mark in said_of)


def _read_adjectives() -> _AdjectiveTable:
    rows = []
    for spelling, english, kinds, position in _read_table("adjectives.txt"):
        german, _, stem = spelling.partition(":")
        said_of = frozenset(kinds.split())
        rows.append((Adjective(german, stem or german, english, "used" in said_of), said_of, int(position)))
    return _AdjectiveTable(tuple(rows))


def _make_noun(row: list[str], adjectives: _AdjectiveTable) -> Noun:
    german, english, kinds_text = row
    singular, gender, plural = german.split()
    first, _, irregular = english.partition("/")
    *before, last = first.split()
    group, *others = kinds_text.split()
    if "own" in others and group in {"thing", "clothing", "vehicle"}:
        others.append("belonging")
    if "own" in others and group == "person":
        others.append("relative")
    kinds = frozenset((group, *others))
    oblique = plural if gender.endswith("~") else singular
    fitting = (adjectives.find_attributive(kinds, 1), adjectives.find_attributive(kinds, 2))
    return Noun(
        gender=_GENDERS[gender[0]],
        german=((singular, oblique, oblique), (plural, plural, dative_plural(plural))),
        english=(
            (*before, last),
            tuple(irregular.split()) if irregular else (*before, english_plural(last)),
        ),
        group=group,
        kinds=kinds,
        adjectives=fitting,
        predicates=adjectives.find_marked("!") if group in LIVING else (*fitting[0], *fitting[1]),
        counted=plural != "-",
    )


def _make_name(name: str, gender: int, adjectives: _AdjectiveTable) -> Noun:
    forms = (name, name, name)
    return Noun(
        gender,
        german=(forms, forms),
        english=((name,), (name,)),
        group="name",
        kinds=frozenset({"person", "child"}),
        predicates=adjectives.find_marked("!"),
    )


def _find_nouns(nouns: tuple[Noun, ...], kinds: str) -> tuple[Noun, ...]:
    wanted = set(kinds.split())
    found = tuple(noun for noun in nouns if noun.kinds & wanted)
    unknown = wanted - {kind for noun in found for kind in noun.kinds}
    assert not unknown, f"no noun is of kind {unknown}"
    return found


@dataclass(frozen=True, slots=True)
class _Places:
    """Prepositions of place and of direction, each with the nouns that take it."""

    at: tuple[Preposition, ...]
    directions: dict[str, tuple[Preposition, ...]]


def _read_places(nouns: tuple[Noun, ...]) -> _Places:
    by_lemma = {noun.lemma: noun for noun in nouns}
    at: dict[tuple[str, str], list[Noun]] = {}
    into: dict[tuple[str, str], list[Noun]] = {}
    for lemma, where, whereto in _read_table("places.txt"):
        for uses, cell in ((at, where), (into, whereto)):
            german, _, english = cell.partition(" = ")
            uses.setdefault((german, english), []).append(by_lemma[lemma])
    enterable = tuple(noun for noun in into["in", "into"] if noun.kinds & {"room", "building"})

    def use(german: str, case: int, english: str, kinds: str) -> tuple[Preposition, ...]:
        return (Preposition(german, case, tuple(english.split()), _find_nouns(nouns, kinds)),)

    return _Places(
        at=tuple(Preposition(de, DATIVE, (en,), tuple(those)) for (de, en), those in at.items()),
        directions={
            "in": tuple(
                Preposition(de, DATIVE if de == "zu" else ACCUSATIVE, (en,), tuple(those))
                for (de, en), those in into.items()
            ),
            "zu": use("zu", DATIVE, "to", "beside"),
            "sight": use("zu", DATIVE, "to", "sight"),
            "drive": use("in", ACCUSATIVE, "into", "driven"),
            "durch": use("durch", ACCUSATIVE, "through", "through"),
            "hike": use("durch", ACCUSATIVE, "through", "hiked"),
            "um": use("um", ACCUSATIVE, "around", "around"),
            "across": use("über", ACCUSATIVE, "across", "across"),
            "water": use("über", ACCUSATIVE, "across", "water"),
            "over": use("über", ACCUSATIVE, "over", "over"),
            "above": use("über", ACCUSATIVE, "over", "through across water building"),
            "onto": use("auf", ACCUSATIVE, "onto", "on"),
            "wide": use("über", ACCUSATIVE, "over", "wide water"),
            "climb": use("auf", ACCUSATIVE, "onto", "climbable"),
            "up": use("auf", ACCUSATIVE, "up", "up"),
            "unter": use("unter", ACCUSATIVE, "under", "under"),
            "hinter": use("hinter", ACCUSATIVE, "behind", "beside indoors"),
            "aus": (Preposition("aus", DATIVE, ("out", "of"), enterable),),
        },
    )


def _make_verb(row: list[str], nouns: tuple[Noun, ...], places: _Places, manner: dict[str, str]) -> Verb:
    german, present, participle_text, english, subjects, frame, notes = row
    prefix, _, stem = german.rpartition("|")
    participle, auxiliary = participle_text.split()
    english_words = english.split()
    particle = tuple(word[1:] for word in english_words if word.startswith("+"))
    base, *irregular = (word for word in english_words if not word.startswith("+"))
    past, past_participle, ing = (*irregular, *(("",) * (3 - len(irregular))))
    past = past or english_past(base)
    words = notes.split()
    objects: dict[str, tuple[Noun, ...]] = {"dat": (), "acc": ()}
    prepositional: Preposition | None = None
    directions: tuple[Preposition, ...] = ()
    if ":" in frame:
        head, _, kinds = frame.partition(":")
        preposition, case, _, english_preposition = head.split()
        prepositional = Preposition(
            preposition, _CASES[case], (english_preposition,), _find_nouns(nouns, kinds)
        )
    elif frame.startswith("to "):
        directions = tuple(use for name in frame.split()[1:] for use in places.directions[name])
    elif frame != "-":
        for part in frame.split(","):
            case, kinds = part.split(maxsplit=1)
            objects[case] = _find_nouns(nouns, kinds)
    return Verb(
        prefix=prefix,
        infinitive=prefix + stem,
        present=(present, stem),
        participle=participle,
        auxiliary=("ist", "sind") if auxiliary == "s" else ("hat", "haben"),
        base=base,
        third_person=english_third_person(base),
        past=past,
        past_participle=past_participle or past,
        ing=ing or english_ing(base),
        particle=particle,
        subjects=_find_nouns(nouns, subjects),
        dative=objects["dat"],
        accusative=objects["acc"],
        prepositional=prepositional,
        directions=directions,
        manner=tuple((word, manner[word]) for word in words if not word.startswith("!")),
        flags=frozenset(word[1:] for word in words if word.startswith("!")),
    )


def _make_adverbial(german: str, english: str, positions: str) -> Adverbial:
    def parse(cell: str) -> tuple[tuple[str, int], ...]:
        parts = (word.partition("/") for word in cell.split())
        return tuple((word, int(number or 0)) for word, _, number in parts)

    return Adverbial(parse(german), parse(english), frozenset(positions.split()))


def _read_lexicon() -> Lexicon:
    adjectives = _read_adjectives()
    nouns = tuple(_make_noun(row, adjectives) for row in _read_table("nouns.txt"))
    names = tuple(_make_name(name, MASCULINE, adjectives) for name in _BOYS)
    names += tuple(_make_name(name, FEMININE, adjectives) for name in _GIRLS)
    places = _read_places(nouns)
    manner = dict(_read_table("manner.txt"))
    adverbials: dict[str, list[Adverbial]] = {}
    for when, german, english, positions in _read_table("adverbials.txt"):
        adverbials.setdefault(when, []).append(_make_adverbial(german, english, positions))

    def around(kind: str) -> tuple[Preposition, ...]:
        those = _find_nouns(nouns, kind)
        return (
            Preposition("neben", DATIVE, ("next", "to"), those),
            Preposition("hinter", DATIVE, ("behind",), those),
            Preposition("vor", DATIVE, ("in", "front", "of"), those),
            Preposition("bei", DATIVE, ("near",), those),
        )

    surfaces = Preposition("auf", DATIVE, ("on",), _find_nouns(nouns, "on"))
    return Lexicon(
        nouns=nouns,
        names=names,
        reasons=adjectives.find_marked("why"),
        verbs=tuple(_make_verb(row, nouns, places, manner) for row in _read_table("verbs.txt", ";")),
        adverbials={when: tuple(found) for when, found in adverbials.items()},
        # The prepositions that places have of their own are more common, so they are listed twice.
        locations=(*places.at * 2, *around("beside")),
        resting_places=(
            *around("indoors"),
            *[Preposition("unter", DATIVE, ("under",), _find_nouns(nouns, "under"))] * 2,
            *[surfaces] * 5,
        ),
        surfaces=surfaces,
        between=tuple(
            Preposition("zwischen", DATIVE, ("between",), _find_nouns(nouns, kind))
            for kind in ("beside", "indoors")
        ),
        outdoors=tuple(
            replace(
                use,
                nouns=tuple(noun for noun in use.nouns if noun.kinds.isdisjoint({"room", "building", "dim"})),
            )
            for use in places.at
        ),
    )


LEXICON = _read_lexicon()


VerbsByNoun = dict[Noun, tuple[Verb, ...]]


def _without(*flags: str) -> tuple[Verb, ...]:
    return tuple(verb for verb in LEXICON.verbs if verb.flags.isdisjoint(flags))


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
_PASSIVE = tuple(verb for verb in _without("active") if verb.accusative and not verb.dative)
PASSIVE_VERBS = {
    form: tuple(verb for verb in VERBS[form] if verb in _PASSIVE) for form in ("now", "past", "done")
}
NEVER_NEGATED = frozenset({"alone", "instrument"})
"""The flags of verbs that make no good negation."""
CHILD_VERBS = frozenset(
    verb for verb in LEXICON.verbs if any("child" in noun.kinds for noun in verb.subjects)
)
"""Verbs that a child, and so somebody with a name, can be the subject of."""


def _group_by_noun(verbs: tuple[Verb, ...], nouns_of: Callable[[Verb], tuple[Noun, ...]]) -> VerbsByNoun:
    """Returns the verbs for each noun, without those that fit badly in a second clause: see, hear, please."""
    found: dict[Noun, list[Verb]] = {}
    for verb in verbs:
        if not verb.flags & {"swap", "state"} or verb.infinitive == "gehören":
            for noun in nouns_of(verb):
                found.setdefault(noun, []).append(verb)
    return {noun: tuple(fitting) for noun, fitting in found.items()}


def _group_by_subject(form: str) -> VerbsByNoun:
    by_noun = _group_by_noun(VERBS[form], lambda verb: verb.subjects)
    boy = next(noun for noun in LEXICON.nouns if noun.lemma == "Junge")
    # Children with a name do what boys do.
    return by_noun | dict.fromkeys(LEXICON.names, by_noun[boy])


VERBS_BY_SUBJECT = {form: _group_by_subject(form) for form in ("now", "done", "modal")}
VERBS_BY_OBJECT = _group_by_noun(
    VERBS["now"], lambda verb: () if verb.dative or verb.flags & {"many", "instrument"} else verb.accusative
)
"""The verbs for each accusative object."""
VERBS_BY_PREPOSITIONAL_OBJECT = _group_by_noun(
    VERBS["now"], lambda verb: verb.prepositional.nouns if verb.prepositional else ()
)
"""The verbs with a preposition of their own for each noun that can follow it."""
