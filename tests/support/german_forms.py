"""Rules of German word formation, from a grammar, written for the tests apart from the generator.

Slots name what a form can be: gender m f n or plural p, then case n a d; "fd" is feminine dative.
"""

Slots = frozenset[str]
ALL = frozenset(gender + case for gender in "mfnp" for case in "nad")
_DER = {"er": "mn fd", "e": "fn fa pn pa", "es": "nn na", "en": "ma pd", "em": "md nd"}
_EIN = {"": "mn nn na", "e": "fn fa pn pa", "en": "ma pd", "em": "md nd", "er": "fd"}
_ARTICLES = {"der": _DER["er"], "die": _DER["e"], "das": _DER["es"], "den": _DER["en"], "dem": _DER["em"]}
RELATIVES = {**_ARTICLES, "den": "ma", "denen": "pd"}
PRONOUNS = {"er": "mn", "sie": "fn pn", "es": "nn"}
QUESTION_WORDS = {"was": "nn na", "wer": "mn", "wen": "ma", "wem": "md", "wo": "", "wann": "", "wohin": ""}
NUMERALS = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf")
POSSESSIVES = ("mein", "dein", "sein", "ihr", "unser")

WEAK = {"e": "mn fn fa nn na", "en": "ma md fd nd pn pa pd"}
_MIXED = {"er": "mn", "es": "nn na", "e": "fn fa", "en": WEAK["en"]}
STRONG = {"er": "mn fd", "e": "fn fa pn pa", "es": "nn na", "en": "ma pd", "em": "md nd"}

# What may open a noun phrase: its slots, and the adjective endings that it asks for.
DETERMINERS: dict[str, tuple[str, dict[str, str]]] = {
    **{word: (slots, WEAK) for word, slots in _ARTICLES.items()},
    **{"dies" + end: (slots, WEAK) for end, slots in _DER.items()},
    **{"ein" + end: (slots.replace(" pn pa", "").replace(" pd", ""), _MIXED) for end, slots in _EIN.items()},
    **{word + end: (slots, _MIXED) for word in (*POSSESSIVES, "kein") for end, slots in _EIN.items()},
    **dict.fromkeys(NUMERALS, ("pn pa pd", STRONG)),
    **{word + "e": ("pn pa", STRONG) for word in ("einig", "viel", "mehrer")},
    **{word + "en": ("pd", STRONG) for word in ("einig", "viel", "mehrer")},
}
PREPOSITIONS = {
    **dict.fromkeys(("durch", "für", "gegen", "ohne", "um"), "a"),
    **dict.fromkeys(("aus", "bei", "mit", "nach", "seit", "von", "zu"), "d"),
    **dict.fromkeys(("an", "auf", "hinter", "in", "neben", "über", "unter", "vor", "zwischen"), "ad"),
}
_DATIVES = {"am": "an", "beim": "bei", "im": "in", "vom": "von", "zum": "zu"}
CONTRACTIONS = {
    **{short: (preposition, "md nd") for short, preposition in _DATIVES.items()},
    **{"zur": ("zu", "fd"), "ins": ("in", "na"), "ans": ("an", "na")},
}
CONJUNCTIONS = ("während", "weil", "dass", "wenn")

# Strong and irregular verbs: infinitive, er-form, participle. Every other verb is weak.
_IRREGULAR = """
backen backt gebacken, beißen beißt gebissen, blasen bläst geblasen, bringen bringt gebracht,
denken denkt gedacht, essen isst gegessen, fahren fährt gefahren, fallen fällt gefallen,
fangen fängt gefangen, finden findet gefunden, fliegen fliegt geflogen, fressen frisst gefressen,
geben gibt gegeben, gefallen gefällt gefallen, gehen geht gegangen, gießen gießt gegossen,
greifen greift gegriffen, halten hält gehalten, heben hebt gehoben, helfen hilft geholfen,
kennen kennt gekannt, kommen kommt gekommen, kriechen kriecht gekrochen, laden lädt geladen,
laufen läuft gelaufen, leihen leiht geliehen, lesen liest gelesen, liegen liegt gelegen,
mögen mag gemocht, nehmen nimmt genommen, reiten reitet geritten, rennen rennt gerannt,
riechen riecht gerochen, rufen ruft gerufen, schlafen schläft geschlafen,
schleichen schleicht geschlichen, schließen schließt geschlossen, schieben schiebt geschoben,
schneiden schneidet geschnitten, schreiben schreibt geschrieben, schwimmen schwimmt geschwommen,
sehen sieht gesehen, singen singt gesungen, sitzen sitzt gesessen, springen springt gesprungen,
sprechen spricht gesprochen, stehen steht gestanden, steigen steigt gestiegen, stoßen stößt gestoßen,
tragen trägt getragen, trinken trinkt getrunken, verlieren verliert verloren, waschen wäscht gewaschen,
werfen wirft geworfen, wissen weiß gewusst, ziehen zieht gezogen
"""
IRREGULAR_VERBS = {
    infinitive: (present, participle)
    for infinitive, present, participle in (entry.split() for entry in _IRREGULAR.split(","))
}
_MOVING = """begegnen fahren fallen fliegen folgen gehen hüpfen klettern kommen kriechen laufen reiten rennen
schleichen schwimmen springen steigen wandern einschlafen aufstehen aufwachen""".split()
MODALS = {"darf": "dürfen", "kann": "können", "muss": "müssen", "soll": "sollen", "will": "wollen"}
MODALS |= {"möchte": "möchten"}
AUXILIARIES = {"hat": "haben", "ist": "sind", "wird": "werden", "wurde": "wurden"}
CLAUSE_TAKING = ("glauben", "hoffen", "merken", "sagen", "sehen", "wissen")
WEATHER = ("blitzen", "donnern", "regnen", "schneien")


def er_form(infinitive: str) -> str:
    """arbeiten, arbeitet; basteln, bastelt: the weak rule, unless the verb is on the list."""
    if infinitive in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[infinitive][0]
    stem = infinitive.removesuffix("n").removesuffix("e")
    return stem + ("et" if stem.endswith(("t", "d", "ffn", "chn", "gn")) else "t")


def participle(prefix: str, stem: str) -> str:
    """abholen, abgeholt; besuchen, besucht; reparieren, repariert."""
    if stem in IRREGULAR_VERBS:
        return prefix + IRREGULAR_VERBS[stem][1]
    unstressed = stem.endswith("ieren") or stem.startswith(("be", "ent", "er", "ge", "ver", "zer", "umarm"))
    return prefix + ("" if unstressed and stem != "bellen" else "ge") + er_form(stem)


def moves(prefix: str, stem: str) -> bool:
    """Whether the perfect is formed with sein."""
    return stem in _MOVING or prefix + stem in _MOVING


def dative_plural(plural: str) -> str:
    return plural if plural.endswith(("n", "s")) else plural + "n"


def is_weak(gender: str, singular: str, plural: str) -> bool:
    """den Bären, dem Jungen: masculines with a plural in -n, but for a few and for those in -or."""
    return (
        gender == "m"
        and plural in (singular + "n", singular + "en")
        and singular not in ("See", "Staat", "Strahl", "Nerv", "Muskel", "Stachel", "Pantoffel")
        and not singular.endswith("or")
    )


def adjective_stem(adjective: str) -> str:
    """müde, müde Leute; dunkel, dunkle Nacht; teuer, teure Ringe; but sauber, saubere Hände."""
    if adjective.endswith("el"):
        return adjective[:-2] + "l"
    return adjective[:-2] + "r" if adjective.endswith(("auer", "euer")) else adjective.removesuffix("e")
