"""The words of the picture book, read from the tables beside this file (their headers explain them)."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from augenmerk.bitext.bilderbuch.entries import (
    LIVING,
    Adjective,
    Adjectives,
    Adverbial,
    Noun,
    Preposition,
    Verb,
)
from augenmerk.bitext.bilderbuch.inflection import (
    ACCUSATIVE,
    DATIVE,
    FEMININE,
    MASCULINE,
    NEUTER,
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


@dataclass(frozen=True, slots=True)
class Lexicon:
    nouns: tuple[Noun, ...]
    names: tuple[Noun, ...]
    reasons: Adjectives
    """What explains what somebody does: because he is hungry."""
    verbs: tuple[Verb, ...]
    adverbials: dict[str, tuple[Adverbial, ...]]
    """By the tense they go with."""
    locations: tuple[Preposition, ...]
    """Where anything can happen."""
    nooks: tuple[Preposition, ...]
    """Where one can sit, lie or hide, but hardly bake a cake: unter dem Tisch."""
    surfaces: Preposition
    """auf dem Tisch."""
    between: tuple[Preposition, ...]
    """Two things it can be between stand in the same room, or both outdoors."""
    outdoors: tuple[Preposition, ...]
    """Where a tree or a bus can be found."""


def _rows(name: str, separator: str) -> list[list[str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


@dataclass(frozen=True, slots=True)
class _Adjectives:
    """The table of adjectives, ready to be asked which fit."""

    rows: tuple[tuple[Adjective, frozenset[str], int], ...]

    def before(self, kinds: frozenset[str], place: int) -> Adjectives:
        return tuple(adjective for adjective, said_of, row in self.rows if row == place and said_of & kinds)

    def marked(self, mark: str) -> Adjectives:
        return tuple(adjective for adjective, said_of, _ in self.rows if mark in said_of)


def _adjectives() -> _Adjectives:
    rows = []
    for spelling, english, kinds, row in _rows("adjectives.txt", "|"):
        german, _, stem = spelling.partition(":")
        said_of = frozenset(kinds.split())
        rows.append((Adjective(german, stem or german, english, "used" in said_of), said_of, int(row)))
    return _Adjectives(tuple(rows))


def _noun(row: list[str], adjectives: _Adjectives) -> Noun:
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
    fitting = (adjectives.before(kinds, 1), adjectives.before(kinds, 2))
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
        qualities=adjectives.marked("!") if group in LIVING else (*fitting[0], *fitting[1]),
        counted=plural != "-",
    )


def _name(name: str, gender: int, adjectives: _Adjectives) -> Noun:
    forms = (name, name, name)
    return Noun(
        gender,
        german=(forms, forms),
        english=((name,), (name,)),
        group="name",
        kinds=frozenset({"person", "child"}),
        qualities=adjectives.marked("!"),
    )


def _of_kinds(nouns: tuple[Noun, ...], kinds: str) -> tuple[Noun, ...]:
    wanted = set(kinds.split())
    found = tuple(noun for noun in nouns if noun.kinds & wanted)
    unknown = wanted - {kind for noun in found for kind in noun.kinds}
    assert not unknown, f"no noun is of kind {unknown}"
    return found


@dataclass(frozen=True, slots=True)
class _Places:
    """Where (`at`) and whereto (`into`), one preposition with the nouns that take it."""

    at: tuple[Preposition, ...]
    directions: dict[str, tuple[Preposition, ...]]


def _places(nouns: tuple[Noun, ...]) -> _Places:
    by_lemma = {noun.lemma: noun for noun in nouns}
    at: dict[tuple[str, str], list[Noun]] = {}
    into: dict[tuple[str, str], list[Noun]] = {}
    for lemma, where, whereto in _rows("places.txt", "|"):
        for uses, cell in ((at, where), (into, whereto)):
            german, _, english = cell.partition(" = ")
            uses.setdefault((german, english), []).append(by_lemma[lemma])
    enterable = tuple(noun for noun in into["in", "into"] if noun.kinds & {"room", "building"})

    def use(german: str, case: int, english: str, kinds: str) -> tuple[Preposition, ...]:
        return (Preposition(german, case, tuple(english.split()), _of_kinds(nouns, kinds)),)

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


def _verb(row: list[str], nouns: tuple[Noun, ...], places: _Places, manner: dict[str, str]) -> Verb:
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
            preposition, _CASES[case], (english_preposition,), _of_kinds(nouns, kinds)
        )
    elif frame.startswith("to "):
        directions = tuple(use for name in frame.split()[1:] for use in places.directions[name])
    elif frame != "-":
        for part in frame.split(","):
            case, kinds = part.split(maxsplit=1)
            objects[case] = _of_kinds(nouns, kinds)
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
        subjects=_of_kinds(nouns, subjects),
        dative=objects["dat"],
        accusative=objects["acc"],
        prepositional=prepositional,
        directions=directions,
        manner=tuple((word, manner[word]) for word in words if not word.startswith("!")),
        flags=frozenset(word[1:] for word in words if word.startswith("!")),
    )


def _adverbial(german: str, english: str, positions: str) -> Adverbial:
    def linked(cell: str) -> tuple[tuple[str, int], ...]:
        parts = (word.partition("/") for word in cell.split())
        return tuple((word, int(number or 0)) for word, _, number in parts)

    return Adverbial(linked(german), linked(english), frozenset(positions.split()))


@cache
def lexicon() -> Lexicon:
    """All tables, read and cross-referenced once."""
    adjectives = _adjectives()
    nouns = tuple(_noun(row, adjectives) for row in _rows("nouns.txt", "|"))
    names = tuple(_name(name, MASCULINE, adjectives) for name in _BOYS)
    names += tuple(_name(name, FEMININE, adjectives) for name in _GIRLS)
    places = _places(nouns)
    manner = dict(_rows("manner.txt", "|"))
    adverbials: dict[str, list[Adverbial]] = {}
    for when, german, english, positions in _rows("adverbials.txt", "|"):
        adverbials.setdefault(when, []).append(_adverbial(german, english, positions))

    def around(kind: str) -> tuple[Preposition, ...]:
        those = _of_kinds(nouns, kind)
        return (
            Preposition("neben", DATIVE, ("next", "to"), those),
            Preposition("hinter", DATIVE, ("behind",), those),
            Preposition("vor", DATIVE, ("in", "front", "of"), those),
            Preposition("bei", DATIVE, ("near",), those),
        )

    surfaces = Preposition("auf", DATIVE, ("on",), _of_kinds(nouns, "on"))
    return Lexicon(
        nouns=nouns,
        names=names,
        reasons=adjectives.marked("why"),
        verbs=tuple(_verb(row, nouns, places, manner) for row in _rows("verbs.txt", ";")),
        adverbials={when: tuple(found) for when, found in adverbials.items()},
        # The places' own prepositions are the usual case, so they stand for more of the choices.
        locations=(*places.at * 2, *around("beside")),
        nooks=(
            *around("indoors"),
            *[Preposition("unter", DATIVE, ("under",), _of_kinds(nouns, "under"))] * 2,
            *[surfaces] * 5,
        ),
        surfaces=surfaces,
        between=tuple(
            Preposition("zwischen", DATIVE, ("between",), _of_kinds(nouns, kind))
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
