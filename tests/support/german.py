"""A parser of German that checks the sentences of bilderbuch.

It shares only the lexicon with the generator (the words, their gender and plural, the objects of a verb).
`analyse` returns the clauses of a sentence, or raises `Ungrammatical`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import permutations

from augenmerk.data.bilderbuch import lexicon
from augenmerk.data.bilderbuch.lexicon import Verb
from tests.support.german_forms import (
    ALL,
    AUXILIARIES,
    CLAUSE_TAKING,
    CONJUNCTIONS,
    CONTRACTIONS,
    DETERMINERS,
    MODALS,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    RELATIVES,
    STRONG,
    WEAK,
    WEATHER,
    Slots,
    adjective_stem,
    dative_plural,
    er_form,
    is_weak,
    moves,
    participle,
)


class Ungrammatical(Exception):  # noqa: N818 - a verdict on a sentence, not a failure
    """Raised with the reason why a sentence is not grammatical."""


def _noun_slots() -> dict[str, Slots]:
    slots: dict[str, set[str]] = {}
    for noun in lexicon.NOUNS:
        gender, singular, plural = "mfn"[noun.gender], noun.german[0][0], noun.german[1][0]
        oblique = plural if is_weak(gender, singular, plural) else singular
        forms = ((singular, gender + "n"), (oblique, gender + "a"), (oblique, gender + "d"))
        plurals = ((plural, "pn"), (plural, "pa"), (dative_plural(plural), "pd")) if noun.counted else ()
        for form, slot in forms + plurals:
            slots.setdefault(form, set()).add(slot)
    for name in lexicon.NAMES:
        slots[name.lemma] = {"mfn"[name.gender] + case for case in "nad"}
    return {form: frozenset(found) for form, found in slots.items()}


NOUNS = _noun_slots()
_ADJECTIVES = files("augenmerk.data.bilderbuch").joinpath("adjectives.txt").read_text(encoding="utf-8")
ADJECTIVES = set(re.findall(r"^(\w+)(?::\w+)? *\| ([\w-]+) *\|", _ADJECTIVES, re.MULTILINE))
"""German and English, uninflected."""
_PLAIN = {word for word, _ in ADJECTIVES}
_ENDED = {adjective_stem(word) + end: end for word in _PLAIN for end in STRONG}
_MANNER = {german for verb in lexicon.ALL_VERBS for german, _ in verb.manner}
_TIMES = {tuple(word for word, _ in time.german) for times in lexicon.ADVERBIALS.values() for time in times}
_INSTRUMENTS = {noun.lemma for noun in lexicon.NOUNS if "instrument" in noun.kinds}
_WITHOUT_ARTICLE = {name.lemma for name in lexicon.NAMES}
_WITHOUT_ARTICLE |= {noun.lemma for noun in lexicon.NOUNS if not noun.counted}


@dataclass(frozen=True)
class Frame:
    """A verb and what has to stand beside it."""

    prefix: str
    stem: str
    objects: str = ""
    preposition: tuple[str, str] | None = None
    companions: Slots = frozenset()
    """Forms of the nouns that go with the preposition: auf den Bus warten, but auf der Straße is where."""
    directed: bool = False
    reflexive: bool = False
    swapped: bool = False
    """The dative is what English makes the subject."""
    auxiliary: str = ""

    @property
    def present(self) -> dict[str, str]:
        return {er_form(self.stem): "s", self.stem: "p"}


def frame(verb: Verb) -> Frame:
    stem = verb.infinitive.removeprefix(verb.prefix)
    use = verb.prepositional
    return Frame(
        prefix=verb.prefix,
        stem=stem,
        objects="d" * bool(verb.dative) + "a" * bool(verb.accusative),
        preposition=(use.german, "nad"[use.case]) if use else None,
        companions=frozenset(form for noun in use.nouns for forms in noun.german for form in forms)
        if use
        else frozenset(),
        directed=bool(verb.directions),
        reflexive="sich" in verb.flags,
        swapped="swap" in verb.flags,
        auxiliary="ist" if moves(verb.prefix, stem) else "hat",
    )


_FRAMES = [frame(verb) for verb in lexicon.ALL_VERBS]
_FRAMES += [Frame("", stem, auxiliary="hat") for stem in (*CLAUSE_TAKING, *WEATHER)]
_PREFIXES = {found.prefix for found in _FRAMES} - {""}
_FINITE = {*MODALS, *MODALS.values(), *AUXILIARIES, *AUXILIARIES.values()}
_ZU_FORMS = {f"{found.prefix}zu{found.stem}" for found in _FRAMES if found.prefix}
_VERB_FORMS = {"worden", *_FINITE, *_ZU_FORMS}
for _frame in _FRAMES:
    for _form in (*_frame.present, participle("", _frame.stem)):
        _VERB_FORMS |= {_form, _frame.prefix + _form}


@dataclass(frozen=True)
class Phrase:
    """A constituent: a noun phrase, a prepositional one, a time, a verb form, ..."""

    kind: str
    words: tuple[str, ...]
    place: int
    """Where its first word stands in the sentence."""
    slots: Slots = frozenset()
    heads: Slots = frozenset()
    """Genders a relative pronoun may refer to."""

    @property
    def cases(self) -> str:
        return "".join(case for case in "nad" if any(slot[1] == case for slot in self.slots))


@dataclass
class Clause:
    frame: Frame
    number: str
    """Of the verb and its subject: s or p."""
    verb: int
    """Where the finite verb stands."""
    subject: Phrase | None
    objects: list[Phrase]
    phrases: list[Phrase]
    tags: set[str] = field(default_factory=set)


class _Reader:
    """Divides words into phrases."""

    def __init__(self, words: Sequence[str], place: int) -> None:
        self.words, self.place = words, place

    def phrases(self) -> list[Phrase]:
        found: list[Phrase] = []
        i = 0
        while i < len(self.words):
            phrase = self._next(i)
            found.append(phrase)
            i += len(phrase.words)
        return found

    def _next(self, i: int) -> Phrase:
        word, ahead = self.words[i], tuple(self.words[i : i + 3])
        for length in (3, 2, 1):
            if ahead[:length] in _TIMES and len(ahead) >= length:
                return self._phrase("time", i, i + length)
        if word in _PREFIXES and (i + 1 == len(self.words) or self.words[i + 1] == "und"):
            return self._phrase("prefix", i, i + 1)
        if word in PREPOSITIONS and not _VERB_FORMS.intersection(ahead[1:2]):
            return self._prepositional(i, word, ALL, None)
        if word in CONTRACTIONS:
            preposition, slots = CONTRACTIONS[word]
            return self._prepositional(i, preposition, frozenset(slots.split()), WEAK)
        kinds = {"und": "and", "nicht": "not", "sich": "sich", "zu": "zu"}
        if word in kinds:
            return self._phrase(kinds[word], i, i + 1)
        if word in _VERB_FORMS and not (word in _PLAIN and i and self.words[i - 1] in ("ist", "sind")):
            return self._phrase("verb", i, i + 1)
        if word in _MANNER or (
            word in _PLAIN and self.words[i + 1 : i + 2] in ([], ["ist"], ["sind"], ["und"])
        ):
            return self._phrase("adverb", i, i + 1)
        if word in PRONOUNS:
            return self._phrase("noun", i, i + 1, frozenset(PRONOUNS[word].split()))
        if word in QUESTION_WORDS and i == 0:
            asked = frozenset(QUESTION_WORDS[word].split())
            return self._phrase("noun" if asked else "asked", i, i + 1, asked)
        return self._noun_phrase(i, ALL, None)

    def _phrase(self, kind: str, start: int, end: int, slots: Slots = frozenset()) -> Phrase:
        heads = frozenset(slot[0] for slot in slots)
        return Phrase(kind, tuple(self.words[start:end]), self.place + start, slots, heads)

    def _noun_phrase(self, i: int, slots: Slots, endings: dict[str, str] | None) -> Phrase:
        start, bare = i, endings is None
        if endings is None:
            determiner, endings = DETERMINERS.get(" ".join(self.words[i : i + 1]), ("", STRONG))
            if determiner:
                slots &= frozenset(determiner.split())
                i, bare = i + 1, False
        while i < len(self.words) and self.words[i] in _ENDED:
            if [self.words[i]] == self.words[i + 1 : i + 2]:
                raise Ungrammatical(f"said twice: {self.words[i]}")
            slots &= frozenset(endings.get(_ENDED[self.words[i]], "").split())
            i += 1
        text = " ".join(self.words[start : i + 1])
        if i == len(self.words) or self.words[i] not in NOUNS:
            raise Ungrammatical(f"no noun where one should end: {text}")
        slots &= NOUNS[self.words[i]]
        if bare and self.words[i] not in _WITHOUT_ARTICLE:
            played = start == i and self.words[i] in _INSTRUMENTS  # spielt Geige
            slots = frozenset(slot for slot in slots if slot[0] == "p" or (played and slot[1] == "a"))
        if not slots:
            raise Ungrammatical(f"article, adjectives and noun do not agree: {text}")
        return self._phrase("noun", start, i + 1, slots)

    def _prepositional(
        self, i: int, preposition: str, slots: Slots, endings: dict[str, str] | None
    ) -> Phrase:
        cases = PREPOSITIONS[preposition]
        slots = frozenset(slot for slot in slots if slot[1] in cases)
        inner = self._noun_phrase(i + 1, slots, endings)
        end = i + 1 + len(inner.words)
        if preposition == "zwischen":
            if self.words[end : end + 1] != ["und"]:
                raise Ungrammatical("zwischen needs two things")
            other = self._noun_phrase(end + 1, slots, None)
            if other.words[-1] == inner.words[-1]:
                raise Ungrammatical(f"between a thing and itself: {other.words[-1]}")
            end += 1 + len(other.words)
        phrase = self._phrase("prep", i, end, inner.slots)
        return replace(phrase, words=(preposition, *phrase.words[1:]))


def _coordinate(left: Phrase, right: Phrase) -> Phrase:
    """Joins two phrases by `und`: plural, in a case that both can have."""
    words, place = (*left.words, "und", *right.words), left.place
    if left.kind == right.kind == "adverb":
        return replace(left, words=words)
    if left.kind not in ("noun", "prep") or right.kind != "noun":
        raise Ungrammatical(f"und joins what does not belong together: {' '.join(words)}")
    if left.words[-1] == right.words[-1]:
        raise Ungrammatical(f"und joins a thing with itself: {' '.join(words)}")
    slots = frozenset("p" + case for case in left.cases if case in right.cases)
    if not slots:
        raise Ungrammatical(f"und joins different cases: {' '.join(words)}")
    return Phrase(left.kind, words, place, slots, right.heads | {"p"})


def _subject_again(clause: list[Phrase]) -> Phrase:
    """Returns the subject of a clause, which the next one leaves out: Das Kind lacht und singt."""
    for phrase in clause:
        if phrase.kind == "noun" and "n" in phrase.cases:
            return replace(phrase, slots=frozenset(slot for slot in phrase.slots if slot[1] == "n"))
    raise Ungrammatical("und joins a verb to nobody")


def _join(phrases: list[Phrase], *, main: bool) -> list[list[Phrase]]:
    """Resolves every `und`, which joins either two phrases or two main clauses, and returns the clauses."""
    clauses: list[list[Phrase]] = [[]]
    waiting = iter(range(len(phrases)))
    for i in waiting:
        clause = clauses[-1]
        if phrases[i].kind != "and":
            clause.append(phrases[i])
            continue
        finite_ahead = [phrase.kind for phrase in phrases[i + 2 : i + 3]] == ["verb"]
        complete = len(clause) > 1 and (
            clause[1].words[0] not in _FINITE or clause[-1].kind in ("verb", "adverb")
        )
        if main and complete and clause[1].kind == "verb" and finite_ahead:
            clauses.append([])
        elif main and complete and [phrase.kind for phrase in phrases[i + 1 : i + 2]] == ["verb"]:
            clauses.append([_subject_again(clause)])
        elif clause and i + 1 < len(phrases):
            clause[-1] = _coordinate(clause[-1], phrases[next(waiting)])
        else:
            raise Ungrammatical("und stands at an edge")
    return clauses


def _readings(
    finite: str, others: list[str], prefix: str, *, joined: bool
) -> Iterator[tuple[Frame, str, str]]:
    """Yields what the verb forms of a clause can be together: verb, number, and tense or voice."""
    helpers = {**MODALS, **AUXILIARIES}
    helper = finite if finite in helpers else next((s for s, p in helpers.items() if p == finite), "")
    number = "s" if finite in helpers else "p"
    for verb in _FRAMES:
        done = participle(verb.prefix, verb.stem)
        if not others:
            for form, its_number in verb.present.items():
                if finite == (verb.prefix + form if joined else form) and prefix == (
                    "" if joined else verb.prefix
                ):
                    yield verb, its_number, "present"
        elif prefix:
            continue
        elif others == [verb.prefix + verb.stem] and (helper in MODALS or helper == "wird"):
            yield verb, number, "future" if helper == "wird" else "modal"
        elif others == [done] and helper == verb.auxiliary:
            yield verb, number, "perfect"
        elif "a" in verb.objects and (others, helper) in (
            ([done], "wird"),
            ([done], "wurde"),
            ([done, "worden"], "ist"),
        ):
            yield verb, number, "passive"
    if helper == "ist" and not others and not prefix:
        yield Frame("", "sein"), number, "copula"


def _governs(verb: Frame, prepositional: list[Phrase]) -> bool:
    """Returns whether the verb allows its prepositional phrases: in the dative, unless it governs them."""
    reasons = [phrase for phrase in prepositional if "d" not in phrase.cases]
    if verb.preposition:
        preposition, case = verb.preposition
        known = {*verb.companions, *RELATIVES}
        fitting = [
            phrase
            for phrase in prepositional
            if phrase.words[0] == preposition and phrase.words[-1] in known and case in phrase.cases
        ]
        return bool(fitting) and all(phrase in fitting[:1] for phrase in reasons)
    return len(reasons) <= verb.directed <= len(prepositional)


def _assign(
    clause: list[Phrase], verb: Frame, number: str, wanted: str
) -> tuple[Phrase | None, list[Phrase]] | None:
    """Returns the subject and the objects among the noun phrases, or None if the cases do not fit."""
    nouns = [phrase for phrase in clause if phrase.kind == "noun"]
    if len(nouns) != len(wanted):
        return None
    for order in permutations(nouns):
        if any(case not in phrase.cases for phrase, case in zip(order, wanted, strict=True)):
            continue
        if "n" not in wanted:
            return None, list(order)
        subject = order[0]
        if not any((slot[0] == "p") == (number == "p") for slot in subject.slots if slot[1] == "n"):
            continue
        # Nothing but the verb and sich stands between the subject and the front.
        between = [p for p in clause[1 : clause.index(subject)] if p.kind not in ("verb", "sich")]
        relative = clause[0].words[-1:] and clause[0].words[-1] in RELATIVES
        opens = clause[0] is subject or clause[1].kind == "verb" or relative
        if (opens and not between) or verb.swapped:
            return subject, list(order[1:])
    return None


def read_clause(clause: list[Phrase], order: str) -> Clause:
    """Find the verb where the order (main, sub, purpose) puts it, and give every phrase its part."""
    text = " ".join(word for phrase in clause for word in phrase.words)
    verbs = [i for i, phrase in enumerate(clause) if phrase.kind in ("verb", "prefix", "zu")]
    if order == "main":
        if verbs[:1] != [1] or clause[0].kind not in ("noun", "prep", "time", "clause", "asked"):
            raise Ungrammatical(f"the verb is not second: {text}")
        finite, tail = 1, verbs[1:]
    else:
        finite, tail = len(clause) - 1, verbs
    if tail != list(range(len(clause) - len(tail), len(clause))) or not verbs:
        raise Ungrammatical(f"the rest of the verb is not at the end: {text}")
    kinds = [clause[i].kind for i in tail]
    forms = [clause[i].words[0] for i in tail if clause[i].kind == "verb"]
    prefix = clause[-1].words[0] if kinds[-1:] == ["prefix"] else ""
    if order == "purpose":
        infinitive = ["zu", *forms] if kinds == ["zu", "verb"] else forms
        readings = [
            (verb, "", "purpose")
            for verb in _FRAMES
            if infinitive == ([f"{verb.prefix}zu{verb.stem}"] if verb.prefix else ["zu", verb.stem])
        ]
    else:
        if order == "sub":
            forms = forms[:-1]
        readings = list(_readings(clause[finite].words[0], forms, prefix, joined=order == "sub"))
    prepositional = [phrase for phrase in clause if phrase.kind == "prep"]
    # What can be an object of the verb is one: spielt mit dem Ball.
    for verb, number, tense in sorted(readings, key=lambda reading: reading[0].preposition is None):
        wanted = ("" if order == "purpose" else "n") + ("" if tense == "passive" else verb.objects)
        parts = _assign(clause, verb, number, wanted)
        reflexive = sum(phrase.kind == "sich" for phrase in clause)
        predicate = tense != "copula" or any(phrase.kind == "adverb" for phrase in clause)
        if parts and reflexive == verb.reflexive and predicate and _governs(verb, prepositional):
            asked = clause[0].words[:1] and clause[0].words[0] in QUESTION_WORDS
            tags = {tense} - {"present", "copula"}
            tags |= {"separable"} if verb.prefix else set()
            tags |= {"reflexive"} if verb.reflexive else set()
            tags |= {"dative"} if "d" in verb.objects else set()
            tags |= {"prepositional"} if verb.preposition else set()
            tags |= {"swap"} if verb.swapped else set()
            tags |= {"object-first"} if order == "main" and clause[0] in parts[1] and not asked else set()
            tags |= {"fronted"} if order == "main" and clause[0].kind in ("prep", "time") else set()
            return Clause(verb, number, clause[finite].place, *parts, clause, tags)
    raise Ungrammatical(f"verb, subject, objects and cases do not fit together: {text}")


def _relative(words: list[str], place: int, heads: Slots) -> Phrase:
    """Returns a relative pronoun, perhaps after a preposition, in the gender of its antecedent."""
    cases = PREPOSITIONS[words[0]] if len(words) > 1 else "nad"
    slots = (slot for slot in RELATIVES[words[-1]].split() if slot[0] in heads and slot[1] in cases)
    return Phrase("prep" if len(words) > 1 else "noun", tuple(words), place, frozenset(slots))


def analyse(words: Sequence[str]) -> list[Clause]:
    """Returns the clauses of a sentence, given its words with punctuation split off.

    Raises Ungrammatical if it is not a German sentence.
    """
    if words[-1] not in (".", "?") or {".", "?"} & set(words[:-1]):
        raise Ungrammatical("a sentence ends with its only full stop")
    asking = words[-1] == "?"
    words = [words[0] if words[0] in NOUNS else words[0].lower(), *words[1:-1]]
    if asking != (words[0] in QUESTION_WORDS or words[0] in _VERB_FORMS):
        raise Ungrammatical("a question begins with its verb or a question word, and nothing else does")
    clauses: list[Clause] = []
    # In a yes-no question, an empty phrase takes the position before the verb.
    main = [Phrase("asked", (), 0)] if words[0] in _VERB_FORMS else []
    done: list[list[Phrase]] = []
    may_go_on = True  # whether a main clause may begin or continue here
    commas = [i for i, word in enumerate(words) if word == ","]
    for start, end in zip([0, *(i + 1 for i in commas)], [*commas, len(words)], strict=True):
        segment = words[start:end]
        if not segment:
            raise Ungrammatical("a comma with nothing to set off")
        opening = segment[0]
        rest = _Reader(segment[1:], start + 1)
        relative = segment[: 1 + (opening in PREPOSITIONS)]
        relative = relative if relative[-1] in RELATIVES else []
        if opening in CONJUNCTIONS:
            (joined,) = _join(rest.phrases(), main=False)
            clauses.append(read_clause(joined, "sub"))
            clauses[-1].tags |= {"subordinate", opening}
            main = main or [Phrase("clause", (opening,), start)]
            may_go_on = start == 0
        elif opening == "um" and ("zu" in segment[-2:-1] or segment[-1] in _ZU_FORMS):
            (joined,) = _join(rest.phrases(), main=False)
            clauses.append(read_clause(joined, "purpose"))
            may_go_on = False
        elif relative and start and segment[-1] in _VERB_FORMS and main[-1:] and main[-1].heads:
            heads = main[-1].heads | ({"p"} if [p.kind for p in main[-2:-1]] == ["and"] else set())
            (joined,) = _join(_Reader(segment[len(relative) :], start + len(relative)).phrases(), main=False)
            clauses.append(read_clause([_relative(relative, start, heads), *joined], "sub"))
            clauses[-1].tags.add("relative")
            may_go_on = True
        elif opening == "aber" and start:
            done.append(main)
            main, may_go_on = rest.phrases(), False
        elif may_go_on:
            main += _Reader(segment, start).phrases()
            may_go_on = False
        else:
            raise Ungrammatical(f"a comma stands before {' '.join(segment)}")
    for phrases in (*done, main):
        clauses += [read_clause(clause, "main") for clause in _join(phrases, main=True)]
    return clauses
