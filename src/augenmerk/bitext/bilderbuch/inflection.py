"""Inflection: German articles and adjective endings, English plurals and verb forms.

Cases are numbered NOMINATIVE, ACCUSATIVE, DATIVE; a phrase agrees as MASCULINE, FEMININE, NEUTER or,
in the plural, where German has no gender, as PLURAL.
"""

from dataclasses import dataclass

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
MASCULINE, FEMININE, NEUTER, PLURAL = range(4)

Paradigm = tuple[tuple[str, str, str], ...]
"""Forms by agreement, then by case."""


def _paradigm(table: str) -> Paradigm:
    """Returns a paradigm from twelve forms, three cases for each agreement; "-" stands for no word."""
    forms = ["" if form == "-" else form for form in table.split()]
    return tuple((forms[i], forms[i + 1], forms[i + 2]) for i in range(0, 12, 3))


DEFINITE = _paradigm("der den dem  die die der  das das dem  die die den")
RELATIVE = _paradigm("der den dem  die die der  das das dem  die die denen")
"""The relative pronoun: like the article, except for the dative plural."""
NO_ARTICLE = _paradigm("- - -  - - -  - - -  - - -")

WEAK = _paradigm("e en en  e e en  e e en  en en en")
"""Adjective endings after der, dieser."""
MIXED = _paradigm("er en en  e e en  es es en  en en en")
"""Adjective endings after ein, kein, mein."""
STRONG = _paradigm("er en em  e e er  es es em  e e en")
"""Adjective endings where no article shows the case: heißer Tee, zwei kleine Hunde."""


def _like_ein(stem: str) -> Paradigm:
    e, en, em, er = (stem + ending for ending in ("e", "en", "em", "er"))
    return _paradigm(f"{stem} {en} {em}  {e} {e} {er}  {stem} {stem} {em}  {e} {e} {en}")


def _unchanging(word: str) -> Paradigm:
    return tuple((word, word, word) for _ in range(4))


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """A word before the noun, in both languages, and the adjective endings that follow it."""

    german: Paradigm
    singular: str
    plural: str
    endings: Paradigm
    definite: bool = True
    """Whether it refers to something known: objects and nicht stand elsewhere in the German clause then."""


THE = Determiner(DEFINITE, "the", "the", WEAK)
A = Determiner(_like_ein("ein"), "a", "", MIXED, definite=False)
THIS = Determiner(
    _paradigm("dieser diesen diesem  diese diese dieser  dieses dieses diesem  diese diese diesen"),
    "this",
    "these",
    WEAK,
)
MY = Determiner(_like_ein("mein"), "my", "my", MIXED)
OUR = Determiner(_like_ein("unser"), "our", "our", MIXED)
NO = Determiner(_like_ein("kein"), "a", "any", MIXED, definite=False)
NO_MASS = Determiner(_like_ein("kein"), "any", "any", MIXED, definite=False)
"""kein is "not" in English, which stands elsewhere: not a hat, not any hats, not any milk."""
INSTRUMENT = Determiner(NO_ARTICLE, "the", "the", STRONG, definite=False)
"""spielt Gitarre, plays the guitar."""
BARE = Determiner(NO_ARTICLE, "", "", STRONG, definite=False)
MANY = Determiner(_paradigm("- - -  - - -  - - -  viele viele vielen"), "", "many", STRONG, definite=False)
SOME = Determiner(_paradigm("- - -  - - -  - - -  einige einige einigen"), "", "some", STRONG, definite=False)
NUMBERS = tuple(
    Determiner(_unchanging(german), "", english, STRONG, definite=False)
    for german, english in zip(
        "zwei drei vier fünf sechs sieben acht neun zehn".split(),
        "two three four five six seven eight nine ten".split(),
        strict=True,
    )
)
HIS = Determiner(_like_ein("sein"), "his", "his", MIXED)
ITS = Determiner(_like_ein("sein"), "its", "its", MIXED)
SEIN_HER = Determiner(_like_ein("sein"), "her", "her", MIXED)
"""das Mädchen und sein Hund, the girl and her dog: Mädchen is neuter."""
HER = Determiner(_like_ein("ihr"), "her", "her", MIXED)
IHR_ITS = Determiner(_like_ein("ihr"), "its", "its", MIXED)
THEIR = Determiner(_like_ein("ihr"), "their", "their", MIXED)

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("bei", "dem"): "beim",
}


def dative_plural(plural: str) -> str:
    """Returns the dative plural: den Hunden, but den Autos and den Mädchen."""
    return plural if plural.endswith(("n", "s")) else plural + "n"


def english_plural(word: str) -> str:
    """Returns the plural of a regular noun; irregular ones are spelt out in the lexicon."""
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def english_past(base: str) -> str:
    """Returns the past of a regular verb."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


def english_ing(base: str) -> str:
    """Returns the -ing form of a regular verb: hiding, seeing."""
    return base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else base + "ing"


english_third_person = english_plural
"""The third person singular (washes, carries, sings) follows the rule for plurals."""


def choose_a_or_an(next_word: str) -> str:
    return "an" if next_word[0] in "aeiou" else "a"
