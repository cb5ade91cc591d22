"""The words of the picture book, read from the tables beside this file (their headers explain them)."""

from dataclasses import dataclass
from functools import cache
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


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    gender: int
    german: tuple[tuple[str, str, str], tuple[str, str, str]]
    """Singular and plural, each by case."""
    english: tuple[tuple[str, ...], tuple[str, ...]]
    """Singular and plural; a compound has several words."""
    group: str
    """What it is first of all."""
    adjectives: str
    """Which adjectives fit: those of its group, but nobody speaks of an old boy."""
    kinds: frozenset[str]
    counted: bool = True

    @property
    def lemma(self) -> str:
        return self.german[0][NOMINATIVE]


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    german: str
    stem: str
    english: str
    row: int


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


@dataclass(frozen=True, slots=True)
class Lexicon:
    nouns: tuple[Noun, ...]
    names: tuple[Noun, ...]
    adjectives: dict[str, tuple[tuple[Adjective, ...], tuple[Adjective, ...]]]
    """By noun group: those of the first and of the second row."""
    qualities: dict[str, tuple[Adjective, ...]]
    """By noun group: what can be said with "is"; under "why", what explains what somebody does."""
    verbs: tuple[Verb, ...]
    adverbials: dict[str, tuple[Adverbial, ...]]
    locations: tuple[Preposition, ...]
    surfaces: Preposition
    """auf dem Tisch: where one can sit, lie or stand, but hardly bake a cake."""
    between: tuple[Preposition, ...]
    """Two things it can be between stand in the same room, or both outdoors."""
    outdoors: tuple[Preposition, ...]
    """Where a tree or a bus can be found."""


def _rows(name: str, separator: str) -> list[list[str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


def _noun(row: list[str]) -> Noun:
    german, english, kinds_text = row
    singular, gender, plural = german.split()
    first, _, irregular = english.partition("/")
    *before, last = first.split()
    kinds = kinds_text.split()
    group = kinds[0]
    if "own" in kinds and group in {"thing", "clothing", "vehicle"}:
        kinds.append("belonging")
    if "own" in kinds and group == "person":
        kinds.append("relative")
    oblique = plural if gender.endswith("~") else singular
    return Noun(
        gender=_GENDERS[gender[0]],
        german=((singular, oblique, oblique), (plural, plural, dative_plural(plural))),
        english=(
            (*before, last),
            tuple(irregular.split()) if irregular else (*before, english_plural(last)),
        ),
        group=group,
        adjectives="child" if group == "person" and "child" in kinds else group,
        kinds=frozenset(kinds),
        counted=plural != "-",
    )


def _name(german: str, gender: int) -> Noun:
    forms = (german, german, german)
    return Noun(
        gender, (forms, forms), ((german,), (german,)), "name", "name", frozenset({"person", "child"})
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
            "durch": use("durch", ACCUSATIVE, "through", "through"),
            "um": use("um", ACCUSATIVE, "around", "around"),
            "across": use("über", ACCUSATIVE, "across", "across"),
            "water": use("über", ACCUSATIVE, "across", "water"),
            "over": use("über", ACCUSATIVE, "over", "over"),
            "above": use("über", ACCUSATIVE, "over", "through across water building"),
            "onto": use("auf", ACCUSATIVE, "onto", "on"),
            "climb": use("auf", ACCUSATIVE, "onto", "climbable"),
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
    nouns = tuple(_noun(row) for row in _rows("nouns.txt", "|"))
    names = tuple(_name(name, MASCULINE) for name in ("Ben", "Paul", "Max", "Jonas", "Felix", "Emil"))
    names += tuple(_name(name, FEMININE) for name in ("Anna", "Lena", "Mia", "Clara", "Emma", "Lotte"))
    places = _places(nouns)
    manner = dict(_rows("manner.txt", "|"))
    adjectives: dict[str, tuple[list[Adjective], list[Adjective]]] = {}
    qualities: dict[str, list[Adjective]] = {}
    for spelling, english, kinds, row in _rows("adjectives.txt", "|"):
        german, _, stem = spelling.partition(":")
        adjective = Adjective(german, stem or german, english, int(row))
        for group in kinds.replace("! why", "").replace("!", "").split():
            adjectives.setdefault(group, ([], []))[int(row) - 1].append(adjective)
        said_of = ["person", "animal", "baby", "name"] if "!" in kinds else kinds.split()
        for group in (*said_of, *(["why"] if "why" in kinds else [])):
            qualities.setdefault(group, []).append(adjective)
    adverbials: dict[str, list[Adverbial]] = {}
    for when, german, english, positions in _rows("adverbials.txt", "|"):
        adverbials.setdefault(when, []).append(_adverbial(german, english, positions))
    beside = _of_kinds(nouns, "beside indoors")
    outdoors = tuple(
        Preposition(
            use.german,
            use.case,
            use.english,
            tuple(noun for noun in use.nouns if noun.kinds.isdisjoint({"room", "building"})),
        )
        for use in places.at
    )
    return Lexicon(
        nouns=nouns,
        names=names,
        adjectives={group: (tuple(first), tuple(second)) for group, (first, second) in adjectives.items()},
        qualities={group: tuple(found) for group, found in qualities.items()},
        verbs=tuple(_verb(row, nouns, places, manner) for row in _rows("verbs.txt", ";")),
        adverbials={when: tuple(found) for when, found in adverbials.items()},
        # The places' own prepositions are the usual case, so they stand for more of the choices.
        locations=(
            *places.at * 2,
            Preposition("neben", DATIVE, ("next", "to"), beside),
            Preposition("hinter", DATIVE, ("behind",), beside),
            Preposition("vor", DATIVE, ("in", "front", "of"), beside),
            Preposition("bei", DATIVE, ("near",), beside),
            Preposition("unter", DATIVE, ("under",), _of_kinds(nouns, "under")),
        ),
        surfaces=Preposition("auf", DATIVE, ("on",), _of_kinds(nouns, "on")),
        between=tuple(
            Preposition("zwischen", DATIVE, ("between",), _of_kinds(nouns, kind))
            for kind in ("beside", "indoors")
        ),
        outdoors=outdoors,
    )
