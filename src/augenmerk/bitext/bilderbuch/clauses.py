"""Clauses: who does what to whom, when, where and how, with the word order of German and of English.

German puts the finite verb second in a main clause and last in a subordinate one. The rest of the verb stands
at the end: the separable prefix, the participle, the infinitive. English keeps subject, verb, object. All
differences of word order between the two languages come from this file.
"""

from dataclasses import dataclass

from augenmerk.bitext.bilderbuch.inflection import ACCUSATIVE, DATIVE, NOMINATIVE
from augenmerk.bitext.bilderbuch.lexicon import Adjective, Verb
from augenmerk.bitext.bilderbuch.phrases import (
    Constituent,
    Nominal,
    PrepositionalPhrase,
    SentenceBuilder,
    StrandedPreposition,
    Time,
)


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """A modal verb, which moves the main verb to the end of the German clause.

    Each language has a form for the singular and one for the plural. The English forms hold all words
    before the infinitive; `english_not` is the negated form, or None if there is none.
    """

    german: tuple[str, str]
    english: tuple[tuple[str, ...], tuple[str, ...]]
    english_not: tuple[tuple[str, ...], tuple[str, ...]] | None


def _make_modal(german: str, english: str, english_not: str = "") -> Modal:
    def forms(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        singular, _, plural = text.partition("/")
        return tuple(singular.split()), tuple((plural or singular).split())

    singular, plural = german.split()
    return Modal((singular, plural), forms(english), forms(english_not) if english_not else None)


WILL = _make_modal("wird werden", "will", "will not")
MODALS = (
    _make_modal("kann können", "can", "cannot"),
    _make_modal("will wollen", "wants to/want to", "does not want to/do not want to"),
    _make_modal("darf dürfen", "is allowed to/are allowed to", "is not allowed to/are not allowed to"),
    _make_modal("soll sollen", "should", "should not"),
    _make_modal("möchte möchten", "would like to"),
    _make_modal("muss müssen", "has to/have to"),  # muss nicht means: need not
)


@dataclass(slots=True, eq=False)
class FrontedObject:
    """An object that opens the German sentence: den Ball wirft der Junge."""

    phrase: Nominal
    case: int

    def write_german(self, out: SentenceBuilder) -> None:
        self.phrase.write_german(out, self.case)


@dataclass(slots=True, eq=False)
class QuestionWord:
    """A word that opens a question in both languages (wo, was); empty words if the verb opens it."""

    german: str
    english: str
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        if self.german:
            out.add(self.german, self.bit)

    def write_english(self, out: SentenceBuilder) -> None:
        if self.english:
            out.add(self.english, self.bit)


IS = ("is", "are")
HAS = ("has", "have")
WAS = ("was", "were")
DOES = ("does", "do")

_TENSE, _MEANING, NEGATION, _MANNER, _BEEN = range(5)
"""The link bits of a clause, counted from its first; the last is for worden and been in the passive."""


@dataclass(slots=True, eq=False)
class Clause:
    """A clause with a full verb.

    `form` is its tense: now, habit, past or done; or modal, which needs a modal verb. In a passive clause
    the subject is what the verb has as its accusative object otherwise.
    """

    verb: Verb
    form: str
    subject: Nominal
    bit: int
    modal: Modal | None = None
    passive: bool = False
    negated: str = ""
    """The German negation: "nicht", or "kein" before an indefinite object."""
    dative: Nominal | None = None
    accusative: Nominal | None = None
    prepositional: PrepositionalPhrase | StrandedPreposition | None = None
    """A prepositional object or a direction."""
    agent: PrepositionalPhrase | None = None
    place: PrepositionalPhrase | StrandedPreposition | None = None
    time: Time | None = None
    manner: tuple[str, str] | None = None
    shares_auxiliary: bool = False
    """Whether the English auxiliary of the clause before is used: is sitting and reading."""

    def write(
        self, german: SentenceBuilder, english: SentenceBuilder, front: Constituent | None = None
    ) -> None:
        """Writes a main clause in both languages; the German one opens with the subject or `front`."""
        self.write_german(german, front)
        self.write_english(english, front)

    def write_german(self, out: SentenceBuilder, front: Constituent | None = None) -> None:
        """Writes a main clause that opens with the subject or with `front`, one of its constituents."""
        finite, link, rest = self._german_verb_forms()
        if front is None:
            self.subject.write_german(out, NOMINATIVE)
            out.add(finite, link)
        else:
            front.write_german(out)
            out.add(finite, link)
            if "sich" in self.verb.flags:
                out.add("sich", self.bit << _MEANING)
            self.subject.write_german(out, NOMINATIVE)
        self._write_german_middle(out, front)
        for word, bit in rest:
            out.add(word, bit)

    def write_german_verb_last(self, out: SentenceBuilder) -> None:
        """Writes a subordinate clause, after its conjunction or relative pronoun: the finite verb is last."""
        finite, link, rest = self._german_verb_forms()
        self.subject.write_german(out, NOMINATIVE)
        self._write_german_middle(out, None)
        if self.verb.prefix and not self.passive and self.form in ("now", "habit"):
            out.add(self.verb.prefix + finite, link)
            return
        for word, bit in rest:
            out.add(word, bit)
        out.add(finite, link)

    def write_german_infinitive(self, out: SentenceBuilder) -> None:
        """Writes the clause after "um": without a subject, and the verb with zu."""
        self._write_german_middle(out, None)
        words = self.verb.to_infinitive
        if len(words) == 2:
            out.add(words[0], self.bit << _TENSE)
            out.add(words[1], self.bit << _MEANING)
        else:
            out.add(words[0], self.bit << _TENSE | self.bit << _MEANING)

    def _german_verb_forms(self) -> tuple[str, int, tuple[tuple[str, int], ...]]:
        """Returns the finite verb with its links, and the verb forms at the end of the clause."""
        verb, plural, aux, main = self.verb, self.subject.plural, self.bit << _TENSE, self.bit << _MEANING
        if self.passive:
            forms = {"now": ("wird", "werden"), "past": ("wurde", "wurden"), "done": ("ist", "sind")}
            worden = (("worden", self.bit << _BEEN),) if self.form == "done" else ()
            return forms[self.form][plural], aux, ((verb.participle, main), *worden)
        if self.modal:
            return self.modal.german[plural], aux, ((verb.infinitive, main),)
        if self.form in ("past", "done"):
            return verb.auxiliary[plural], aux, ((verb.participle, main),)
        return verb.present[plural], aux | main, (((verb.prefix, main),) if verb.prefix else ())

    def _write_german_middle(self, out: SentenceBuilder, front: object) -> None:
        """Writes what stands between the finite verb and the end of the clause.

        Definite objects come before the place and before "nicht", indefinite ones after the place: "liest
        das Buch nicht im Garten", "liest im Garten ein Buch".
        """
        accusative, place, time = self.accusative, self.place, self.time
        fronted = front.phrase if isinstance(front, FrontedObject) else None
        if "sich" in self.verb.flags and front is None:
            out.add("sich", self.bit << _MEANING)
        dative = None if self.dative is fronted else self.dative
        # "hilft heute dem Kind", but "hilft dem Kind oft".
        dative_first = dative is not None and time is not None and "mid" in time.adverbial.positions
        # "hat heute den Brief gelesen", but "hat den Brief schon gelesen".
        time_late = self.form == "done" and accusative is not None and accusative.definite
        if dative and dative_first:
            dative.write_german(out, DATIVE)
        if time and time is not front and not time_late:
            time.write_german(out)
        if dative and not dative_first:
            dative.write_german(out, DATIVE)
        if self.manner:
            out.add(self.manner[0], self.bit << _MANNER)
        place_first = place is not None and accusative is not None and not accusative.definite
        if self.agent:
            self.agent.write_german(out)
        if place_first and place is not None and place is not front:
            place.write_german(out)
        if accusative and accusative is not fronted:
            accusative.write_german(out, ACCUSATIVE)
        if time and time_late:
            time.write_german(out)
        if self.negated == "nicht":
            out.add("nicht", self.bit << NEGATION)
        if not place_first and place is not None and place is not front:
            place.write_german(out)
        if self.prepositional:
            self.prepositional.write_german(out)

    def write_english(self, out: SentenceBuilder, front: object = None) -> None:
        """Writes the clause. `front`, which opens the German clause, comes first if it is a time or asks."""
        verb, time, manner = self.verb, self.time, self.manner
        if isinstance(front, QuestionWord) or (time and time is front):
            front.write_english(out)
        subject, accusative, dative = self.subject, self.accusative, self.dative
        if dative and "swap" in verb.flags:
            subject, accusative, dative = dative, subject, None
        asks = isinstance(front, QuestionWord)
        auxiliaries, link, word, word_link = self._english_verb_forms(subject.plural, asks)
        if asks:
            self._write_english_auxiliaries(out, auxiliaries[:1], link)
            auxiliaries = auxiliaries[1:]
        subject.write_english(out)
        if self.shares_auxiliary:
            auxiliaries = auxiliaries[1:]
        # "has finally been cleaned"; "is slowly reading a book", but "is waiting patiently for the bus".
        early = len(auxiliaries) if self.modal else 1
        self._write_english_auxiliaries(out, auxiliaries[:early], link)
        if time and time is not front and "mid" in time.adverbial.positions:
            time.write_english(out)
        self._write_english_auxiliaries(out, auxiliaries[early:], link)
        manner_early = bool(dative or accusative)
        if manner and manner_early:
            out.add(manner[1], self.bit << _MANNER)
        out.add(word, word_link)
        for particle in verb.particle:
            out.add(particle, self.bit << _MEANING)
        if manner and not manner_early:
            out.add(manner[1], self.bit << _MANNER)
        self._write_english_rest(out, dative, accusative)
        if time and time is not front and "end" in time.adverbial.positions:
            time.write_english(out)

    def write_english_infinitive(self, out: SentenceBuilder) -> None:
        out.add("to", self.bit << _TENSE)
        for word in (self.verb.base, *self.verb.particle):
            out.add(word, self.bit << _MEANING)
        self._write_english_rest(out, self.dative, self.accusative)

    def _write_english_rest(
        self, out: SentenceBuilder, dative: Nominal | None, accusative: Nominal | None
    ) -> None:
        for part in (dative, accusative, self.prepositional, self.agent, self.place):
            if part:
                part.write_english(out)

    def _write_english_auxiliaries(self, out: SentenceBuilder, words: tuple[str, ...], link: int) -> None:
        for word in words:
            if word == "not":
                out.add(word, self.bit << NEGATION)
            elif word == "cannot":
                out.add(word, self.bit << NEGATION | link)
            else:
                out.add(word, self.bit << _BEEN if word == "been" else link)

    def _english_verb_forms(self, plural: bool, asks: bool) -> tuple[tuple[str, ...], int, str, int]:
        """Returns the auxiliaries with their link, and the main verb with its link."""
        verb, aux, main = self.verb, self.bit << _TENSE, self.bit << _MEANING
        negation = ("not",) if self.negated else ()
        if self.modal:
            forms = self.modal.english_not if self.negated and self.modal.english_not else self.modal.english
            return forms[plural], aux, verb.base, main
        if self.passive:
            auxiliaries = {
                "now": (IS[plural], "being"),
                "past": (WAS[plural],),
                "done": (HAS[plural], "been"),
            }
            return auxiliaries[self.form], aux, verb.past_participle, main
        if self.form == "done":
            return (HAS[plural], *negation), aux, verb.past_participle, main
        if self.form == "now" and "state" not in verb.flags:
            return (IS[plural], *negation), aux, verb.ing, main
        past = self.form == "past"
        if self.negated or asks:
            return ("did" if past else DOES[plural], *negation), aux, verb.base, main
        if past:
            return (), aux, verb.past, aux | main
        return (), aux, verb.base if plural else verb.third_person, aux | main


@dataclass(slots=True, eq=False)
class CopulaClause:
    """A clause that says how somebody or something is: der Hund ist müde."""

    subject: Nominal
    adjective: Adjective
    bit: int

    def write_german(self, out: SentenceBuilder) -> None:
        self.subject.write_german(out, NOMINATIVE)
        out.add("sind" if self.subject.plural else "ist", self.bit)
        out.add(self.adjective.german, self.bit << 1)

    def write_german_verb_last(self, out: SentenceBuilder) -> None:
        self.subject.write_german(out, NOMINATIVE)
        out.add(self.adjective.german, self.bit << 1)
        out.add("sind" if self.subject.plural else "ist", self.bit)

    def write_english(self, out: SentenceBuilder) -> None:
        self.subject.write_english(out)
        out.add(IS[self.subject.plural], self.bit)
        out.add(self.adjective.english, self.bit << 1)


@dataclass(slots=True, eq=False)
class WeatherClause:
    """A subordinate clause about the weather: es regnet."""

    german: tuple[str, str]
    english: tuple[str, ...]
    bit: int

    def write_german_verb_last(self, out: SentenceBuilder) -> None:
        out.add(self.german[0], self.bit)
        out.add(self.german[1], self.bit << 1)

    def write_english(self, out: SentenceBuilder) -> None:
        out.add(self.english[0], self.bit)
        for word in self.english[1:]:
            out.add(word, self.bit << 1)


WEATHER = (
    (("es", "regnet"), {"now": ("it", "is", "raining"), "habit": ("it", "rains")}),
    (("es", "schneit"), {"now": ("it", "is", "snowing"), "habit": ("it", "snows")}),
    (("es", "donnert"), {"now": ("it", "is", "thundering"), "habit": ("it", "thunders")}),
)
