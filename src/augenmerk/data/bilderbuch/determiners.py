"""German cases and genders, and the determiners of both languages with the pools that they are drawn from.

Cases are numbered NOMINATIVE, ACCUSATIVE, DATIVE; a phrase agrees as MASCULINE, FEMININE, NEUTER or,
in the plural, where German has no gender, as PLURAL.
"""

from dataclasses import dataclass

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
