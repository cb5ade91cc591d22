"""A clause: who does what to whom, when, where and how; and its word order in German and in English.

German puts the finite verb second in a main clause and last in a subordinate one, and closes with
whatever else the verb consists of: the separable prefix, the participle, the infinitive. English keeps
subject, verb, object. All inversions of the picture book come from this file.
"""

from dataclasses import dataclass

from augenmerk.bitext.bilderbuch.entries import Verb
from augenmerk.bitext.bilderbuch.inflection import ACCUSATIVE, DATIVE, NOMINATIVE
from augenmerk.bitext.bilderbuch.phrases import Line, Nominal, Part, PrepositionalPhrase, Stranded, Time


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """A verb that sends the other to the end of the German clause. `english` and `english_not` end in
    what comes before the bare verb; each has a form for the singular and one for the plural."""

    german: tuple[str, str]
    english: tuple[tuple[str, ...], tuple[str, ...]]
    english_not: tuple[tuple[str, ...], tuple[str, ...]] | None


def _modal(german: str, english: str, english_not: str = "") -> Modal:
    def forms(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        singular, _, plural = text.partition("/")
        return tuple(singular.split()), tuple((plural or singular).split())

    singular, plural = german.split()
    return Modal((singular, plural), forms(english), forms(english_not) if english_not else None)


WILL = _modal("wird werden", "will", "will not")
MODALS = (
    _modal("kann können", "can", "cannot"),
    _modal("will wollen", "wants to/want to", "does not want to/do not want to"),
    _modal("darf dürfen", "is allowed to/are allowed to", "is not allowed to/are not allowed to"),
    _modal("soll sollen", "should", "should not"),
    _modal("möchte möchten", "would like to"),
    _modal("muss müssen", "has to/have to"),  # muss nicht means: need not
)


class FrontedObject:
    """An object that opens the German sentence: den Ball wirft der Junge."""

    __slots__ = ("case", "phrase")

    def __init__(self, phrase: Nominal, case: int) -> None:
        self.phrase = phrase
        self.case = case

    def german(self, line: Line) -> None:
        self.phrase.german(line, self.case)


class Asked:
    """A word that opens a question in both languages: wo, was; with no word at all, the verb opens it."""

    __slots__ = ("_english", "_german", "bit")

    def __init__(self, german: str, english: str, bit: int) -> None:
        self._german = german
        self._english = english
        self.bit = bit

    def german(self, line: Line) -> None:
        if self._german:
            line.add(self._german, self.bit)

    def english(self, line: Line) -> None:
        if self._english:
            line.add(self._english, self.bit)


IS = ("is", "are")
HAS = ("has", "have")
WAS = ("was", "were")
DOES = ("does", "do")


class Clause:
    """`form` is when: now, habit, past, done, or (with a modal) modal; `passive` turns it round."""

    __slots__ = (
        "accusative",
        "agent",
        "bit",
        "dative",
        "form",
        "manner",
        "modal",
        "negated",
        "passive",
        "place",
        "prepositional",
        "shares_auxiliary",
        "subject",
        "time",
        "verb",
    )

    def __init__(self, verb: Verb, form: str, subject: Nominal, bit: int) -> None:
        self.verb = verb
        self.form = form
        self.subject = subject
        self.bit = bit
        self.modal: Modal | None = None
        self.passive = False
        self.negated = ""
        """How German says it: "nicht", or "kein" before a new object."""
        self.dative: Nominal | None = None
        self.accusative: Nominal | None = None
        self.prepositional: PrepositionalPhrase | Stranded | None = None
        """A prepositional object or a direction."""
        self.agent: PrepositionalPhrase | None = None
        self.place: PrepositionalPhrase | Stranded | None = None
        self.time: Time | None = None
        self.manner: tuple[str, str] | None = None
        self.shares_auxiliary = False
        """is sitting and reading: the English auxiliary of the clause before will do."""

    # The bits of a clause: what carries tense, what carries meaning, the negation, the manner, worden.
    @property
    def _aux(self) -> int:
        return self.bit

    @property
    def _main(self) -> int:
        return self.bit << 1

    @property
    def not_(self) -> int:
        return self.bit << 2

    @property
    def _how(self) -> int:
        return self.bit << 3

    @property
    def _been(self) -> int:
        return self.bit << 4

    def german(self, line: Line, front: Part | None = None) -> None:
        """As a main clause, opening with the subject or with `front`, which is one of its parts."""
        finite, link, rest = self._german_verb()
        if front is None:
            self.subject.german(line, NOMINATIVE)
            line.add(finite, link)
        else:
            front.german(line)
            line.add(finite, link)
            if "sich" in self.verb.flags:
                line.add("sich", self._main)
            self.subject.german(line, NOMINATIVE)
        self._german_middle(line, front)
        for word, bit in rest:
            line.add(word, bit)

    def german_last(self, line: Line) -> None:
        """As a subordinate clause, after its conjunction or relative pronoun: the finite verb comes last."""
        finite, link, rest = self._german_verb()
        self.subject.german(line, NOMINATIVE)
        self._german_middle(line, None)
        if self.verb.prefix and not self.passive and self.form in ("now", "habit"):
            line.add(self.verb.prefix + finite, link)
            return
        for word, bit in rest:
            line.add(word, bit)
        line.add(finite, link)

    def german_infinitive(self, line: Line) -> None:
        """After "um": no subject, and the verb with zu."""
        self._german_middle(line, None)
        words = self.verb.to_infinitive
        if len(words) == 2:
            line.add(words[0], self._aux)
            line.add(words[1], self._main)
        else:
            line.add(words[0], self._aux | self._main)

    def _german_verb(self) -> tuple[str, int, tuple[tuple[str, int], ...]]:
        """The finite verb with its links, and what stands at the end of the clause."""
        verb, plural, aux, main = self.verb, self.subject.plural, self._aux, self._main
        if self.passive:
            if self.form == "done":
                return ("sind" if plural else "ist"), aux, ((verb.participle, main), ("worden", self._been))
            finite = (
                ("werden" if plural else "wird") if self.form == "now" else ("wurden" if plural else "wurde")
            )
            return finite, aux, ((verb.participle, main),)
        if self.modal:
            return self.modal.german[plural], aux, ((verb.infinitive, main),)
        if self.form in ("past", "done"):
            return verb.auxiliary[plural], aux, ((verb.participle, main),)
        return verb.present[plural], aux | main, (((verb.prefix, main),) if verb.prefix else ())

    def _german_middle(self, line: Line, front: object) -> None:
        """What stands between the verb and the end.

        Known objects come before the place and before "nicht", new ones after the place: "liest das Buch
        nicht im Garten", "liest im Garten ein Buch".
        """
        accusative, place, time = self.accusative, self.place, self.time
        fronted = front.phrase if isinstance(front, FrontedObject) else None
        if "sich" in self.verb.flags and front is None:
            line.add("sich", self._main)
        dative = None if self.dative is fronted else self.dative
        # "hilft heute dem Kind", but "hilft dem Kind oft".
        dative_first = dative is not None and time is not None and "mid" in time.adverbial.positions
        # "hat heute den Brief gelesen", but "hat den Brief schon gelesen".
        time_late = self.form == "done" and accusative is not None and accusative.definite
        if dative and dative_first:
            dative.german(line, DATIVE)
        if time and time is not front and not time_late:
            time.german(line)
        if dative and not dative_first:
            dative.german(line, DATIVE)
        if self.manner:
            line.add(self.manner[0], self._how)
        place_first = place is not None and accusative is not None and not accusative.definite
        if self.agent:
            self.agent.german(line)
        if place_first and place is not None and place is not front:
            place.german(line)
        if accusative and accusative is not fronted:
            accusative.german(line, ACCUSATIVE)
        if time and time_late:
            time.german(line)
        if self.negated == "nicht":
            line.add("nicht", self.not_)
        if not place_first and place is not None and place is not front:
            place.german(line)
        if self.prepositional:
            self.prepositional.german(line)

    def english(self, line: Line, front: object = None) -> None:
        """What the German opens with comes first only if it is a time or asks; the rest keeps its order."""
        verb, time, manner = self.verb, self.time, self.manner
        if isinstance(front, Asked) or (time and time is front):
            front.english(line)
        subject, accusative, dative = self.subject, self.accusative, self.dative
        if dative and "swap" in verb.flags:
            subject, accusative, dative = dative, subject, None
        asks = isinstance(front, Asked)
        auxiliaries, link, word, word_link = self._english_forms(subject.plural, asks)
        if asks:
            self._english_auxiliaries(line, auxiliaries[:1], link)
            auxiliaries = auxiliaries[1:]
        subject.english(line)
        if self.shares_auxiliary:
            auxiliaries = auxiliaries[1:]
        # "has finally been cleaned"; "is slowly reading a book", but "is waiting patiently for the bus".
        early = len(auxiliaries) if self.modal else 1
        self._english_auxiliaries(line, auxiliaries[:early], link)
        if time and time is not front and "mid" in time.adverbial.positions:
            time.english(line)
        self._english_auxiliaries(line, auxiliaries[early:], link)
        manner_early = bool(dative or accusative)
        if manner and manner_early:
            line.add(manner[1], self._how)
        line.add(word, word_link)
        for particle in verb.particle:
            line.add(particle, self._main)
        if manner and not manner_early:
            line.add(manner[1], self._how)
        self._english_rest(line, dative, accusative)
        if time and time is not front and "end" in time.adverbial.positions:
            time.english(line)

    def english_infinitive(self, line: Line) -> None:
        line.add("to", self._aux)
        for word in (self.verb.base, *self.verb.particle):
            line.add(word, self._main)
        self._english_rest(line, self.dative, self.accusative)

    def _english_rest(self, line: Line, dative: Nominal | None, accusative: Nominal | None) -> None:
        if dative:
            dative.english(line)
        if accusative:
            accusative.english(line)
        if self.prepositional:
            self.prepositional.english(line)
        if self.agent:
            self.agent.english(line)
        if self.place:
            self.place.english(line)

    def _english_auxiliaries(self, line: Line, words: tuple[str, ...], link: int) -> None:
        for word in words:
            if word == "not":
                line.add(word, self.not_)
            elif word == "cannot":
                line.add(word, self.not_ | link)
            else:
                line.add(word, self._been if word == "been" else link)

    def _english_forms(self, plural: bool, asks: bool) -> tuple[tuple[str, ...], int, str, int]:
        """Auxiliaries with their link, then the main verb with its own."""
        verb, aux, main = self.verb, self._aux, self._main
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
