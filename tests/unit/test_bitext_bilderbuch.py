"""Bilderbuch, read by a parser (`tests/support/german.py`) and checked against its lexicon and gold links."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import islice

import pytest

from augenmerk.data.bilderbuch import TAGS, lexicon, load
from augenmerk.text.pairs import Links, SentencePair
from augenmerk.text.words import split_words
from tests.support import german_forms
from tests.support.book import WHOLE, use_short_book, use_whole_book
from tests.support.german import ADJECTIVES, NOUNS, Clause, Ungrammatical, analyse

# A change of words or grammar changes the text. Then read some pairs, and renew this with
# python -c "from tests.unit.test_bitext_bilderbuch import checksum; print(checksum())"
CHECKSUM = "d376d2aaa2c6b7e1"

FREE_IN_GERMAN = {","}
FREE_IN_ENGLISH = {"the"}  # spielt Geige, plays the violin


def checksum() -> str:
    """Of the first thousand pairs, links and tags included."""
    pairs = islice(load()["train"], 1_000)
    return hashlib.sha256("\n".join(map(repr, pairs)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Read:
    """A pair, taken apart."""

    pair: SentencePair
    source: list[str]
    target: list[str]
    links: Links

    @cached_property
    def clauses(self) -> list[Clause]:
        return analyse(self.source)

    def linked(self, i: int) -> tuple[str, ...]:
        """The English words of a German one, the first of the sentence in lower case unless it is a name."""
        words = (self.target[j] for k, j in self.links if k == i)
        return tuple(word if word in NOUNS or word == "Sundays" else word.lower() for word in words)


@pytest.fixture(scope="module", autouse=True)
def whole_book() -> Iterator[None]:
    """Whole splits."""
    use_whole_book()
    yield
    use_short_book()


@pytest.fixture(scope="module")
def reads() -> list[Read]:
    return [
        Read(pair, split_words(pair.source), split_words(pair.target), pair.alignment or ())
        for pair in load(1_500, seed=7)["train"]
    ]


def accepts(words: list[str]) -> bool:
    try:
        return bool(analyse(words))
    except Ungrammatical:
        return False


@pytest.fixture(scope="module")
def understood(reads: list[Read]) -> list[Read]:
    """Those in good German, so that a slip fails the test about grammar and not every other one too."""
    return [read for read in reads if accepts(read.source)]


def complain(found: Iterable[str]) -> None:
    """Fail with the first few of the sentences that are wrong, and with how many there are."""
    wrong = list(found)
    assert not wrong, f"{len(wrong)} wrong, such as:\n" + "\n".join(wrong[:8])


# --- the text and its links


def test_sentences_are_set_as_sentences(reads: list[Read]) -> None:
    well_set = re.compile(r"[A-ZÄÖÜ][\w'-]*(,? [\w'-]+)*[.?]")
    texts = (text for read in reads for text in (read.pair.source, read.pair.target))
    complain(text for text in texts if not well_set.fullmatch(text))
    apart = re.compile(r"(?<!, )\b((in|an|bei|von|zu) dem|(in|an) das|zu der)\b", re.IGNORECASE)
    complain(read.pair.source for read in reads if apart.search(read.pair.source))


def test_every_word_is_linked_or_may_be_free(reads: list[Read]) -> None:
    for read in reads:
        assert list(read.links) == sorted(set(read.links)), read.pair
        assert all(0 <= i < len(read.source) and 0 <= j < len(read.target) for i, j in read.links), read.pair
    for read in reads:
        german_free = set(range(len(read.source))) - {i for i, _ in read.links}
        english_free = set(range(len(read.target))) - {j for _, j in read.links}
        assert {read.source[i] for i in german_free} <= FREE_IN_GERMAN, read.pair
        assert {read.target[j] for j in english_free} <= FREE_IN_ENGLISH, read.pair
        assert not english_free or "spiel" in read.pair.source.lower(), read.pair


NUMBERS = "two three four five six seven eight nine ten".split()
DETERMINERS = {
    **{word: {("the",)} for word in ("der", "die", "das", "den", "dem")},
    **{"ein" + end: {("a",), ("an",)} for end in ("", "e", "en", "em", "er")},
    **{"dies" + end: {("this",), ("these",)} for end in ("e", "er", "es", "en", "em")},
    **{word: {(number,)} for word, number in zip(german_forms.NUMERALS, NUMBERS, strict=False)},
}


def dictionary() -> dict[str, set[tuple[str, ...]]]:
    """German noun and adjective forms, and what they may be in English."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for noun in lexicon.NOUNS:
        for forms, english in zip(noun.german, noun.english, strict=True):
            for form in forms:
                found.setdefault(form, set()).add(english)
    for adjective, translation in ADJECTIVES:
        for end in german_forms.STRONG:
            found.setdefault(german_forms.adjective_stem(adjective) + end, set()).add((translation,))
    return found


def test_links_agree_with_the_dictionary(understood: list[Read]) -> None:
    words = dictionary()
    for read in understood:
        for phrase in (p for clause in read.clauses for p in clause.phrases if p.kind in ("noun", "prep")):
            for i in range(phrase.place, phrase.place + len(phrase.words)):
                word = read.source[i].lower() if i == 0 and phrase.kind == "noun" else read.source[i]
                opens = i + 1 < phrase.place + len(phrase.words)  # or it is a relative pronoun
                meanings = words.get(word) or (DETERMINERS.get(word) if opens else None)
                assert meanings is None or read.linked(i) in meanings, (word, read.linked(i), read.pair)


# --- German


def test_every_german_sentence_is_grammatical(reads: list[Read]) -> None:
    def objections() -> Iterable[str]:
        for read in reads:
            try:
                analyse(read.source)
            except Ungrammatical as objection:
                yield f"{read.pair.source} ({objection})"

    complain(objections())


RIGHT = """Der kleine Hund schläft im Garten.
Heute schläft ein kleiner Hund.
Die Frau sieht den kleinen Hund, der schläft.
Wenn es regnet, schläft der kleine Hund ein.
Die Frau sieht, dass der kleine Hund einschläft.
Der Hund ist eingeschlafen, weil er müde ist.
Der Mann hilft den Kindern und der Frau.
Der Junge geht in den Garten, um einen Apfel zu essen.
Die Frau malt das Kind, mit dem der Hund spielt.
Die Frau malt das Kind und lacht.
Schläft der kleine Hund im Garten?
Wo schläft der kleine Hund?
Was malt die Frau?"""

WRONG = """Die kleine Hund schläft im Garten. Der kleiner Hund schläft im Garten.
Der kleine Hund schläft in Garten. Der kleine Hund schläft in den Garten.
Der kleine Hund schläft zur Garten. Der kleinen Hunde schläft im Garten.
Der kleine Hund schlafen im Garten. Den kleinen Hund schläft im Garten.
Der kleine Hund im Garten schläft. Heute ein kleiner Hund schläft. Heute schläft ein kleine Hund.
Heute schläft kleiner Hund. Heute im Garten schläft ein Hund.
Die Frau sieht dem kleinen Hund, der schläft. Die Frau sieht den kleinen Hund, die schläft.
Die Frau sieht den kleinen Hund der schläft. Die Frau sieht den kleinen Hund, der schläft im Garten.
Die Frau, sieht den kleinen Hund. Die Frau den kleinen Hund sieht.
Die Frau sieht den kleinen Hund und der Mann. Wenn es regnet, der kleine Hund schläft ein.
Wenn es regnet schläft der kleine Hund ein. Wenn es regnet, einschläft der kleine Hund.
Wenn regnet es, schläft der kleine Hund ein. Wenn es regnet, schläft ein der kleine Hund.
Die Frau sieht, dass der kleine Hund schläft ein. Die Frau sieht dass der kleine Hund einschläft.
Der Hund hat eingeschlafen. Der Hund ist eingeschläft. Der Hund eingeschlafen ist.
Der Hund ist eingeschlafen, weil er ist müde. Der Hund will eingeschlafen.
Der Hund will schlafen ein. Der Mann hilft den Kinder. Der Mann hilft die Frau.
Der Mann helft der Frau. Der Mann und die Frau hilft den Kindern. Der Mann sieht den Junge.
Der Mann sieht den Löwe. Der Löwen schläft. Der Junge geht im Garten, um einen Apfel zu essen gehen.
Der Junge geht in den Garten um einen Apfel zu essen.
Der Junge geht in den Garten, um einen Apfel essen. Der Junge geht durch dem Garten.
Der Junge ruht aus.
Die Frau malt das Kind, mit das der Hund spielt. Die Frau malt das Kind, mit der der Hund spielt.
Die Frau malt das Kind, mit dem der Hund. Die Frau malt das Kind und lachen. Die Frau malt und das Kind.
Der kleine Hund schläft im Garten? Schläft der kleine Hund im Garten. Schläft den kleinen Hund im Garten?
Wo der kleine Hund schläft? Wo schlafen der kleine Hund? Was malen den Mann? Wem malt die Frau?"""


def test_the_parser_knows_right_from_wrong() -> None:
    complain(sentence for sentence in RIGHT.split("\n") if not accepts(split_words(sentence)))
    complain(sentence for sentence in re.findall(r"\w[^.?]+[.?]", WRONG) if accepts(split_words(sentence)))


def test_pronouns_agree_with_the_subject_they_stand_for(understood: list[Read]) -> None:
    english = {"er": {"he", "it"}, "sie": {"she", "it", "they"}, "es": {"it", "she", "he"}}
    for read in understood:
        for clause in read.clauses[:-1]:
            if clause.subject and clause.subject.words[0] in english and "nen" not in clause.frame.stem:
                pronoun, subject = clause.subject, read.clauses[-1].subject
                if clause.frame.stem in ("regnen", "schneien", "donnern", "blitzen"):
                    continue
                assert subject is not None, read.pair
                genders = {"er": "m", "sie": "p" if clause.number == "p" else "f", "es": "n"}
                assert genders[pronoun.words[0]] in subject.heads, read.pair
                (translated,) = read.linked(pronoun.place)
                assert translated in english[pronoun.words[0]], read.pair
                assert (translated == "they") == (clause.number == "p"), read.pair


# --- English


def starts_with_vowel_sound(word: str) -> bool:
    return word.startswith((*"aeiou", "hour")) and not word.startswith(("uni", "use", "eu", "one"))


def test_a_and_an(reads: list[Read]) -> None:
    seen = Counter[str]()
    for read in reads:
        for word, following in zip(read.target, read.target[1:], strict=False):
            if word.lower() in ("a", "an"):
                assert (word.lower() == "an") == starts_with_vowel_sound(following), read.pair
                seen[word.lower()] += 1
    assert seen["a"] > 100
    assert seen["an"] > 10


def test_english_determiners_agree_with_their_nouns(reads: list[Read]) -> None:
    adjectives = {english for _, english in ADJECTIVES}
    singular = {noun.english[0] for noun in lexicon.NOUNS}
    singular |= {(time,) for time in ("hour", "morning", "afternoon", "evening")}
    plural = {noun.english[1] for noun in lexicon.NOUNS if noun.counted} | {("days",)}
    wanted = dict.fromkeys(("a", "an", "this"), singular)
    wanted |= dict.fromkeys(("these", "many", *NUMBERS), plural)
    for read in reads:
        for j, word in enumerate(read.target):
            if word.lower() in wanted:
                while read.target[j + 1] in adjectives:
                    j += 1
                nouns = {tuple(read.target[j + 1 : j + 2 + length]) for length in range(3)}
                assert nouns & wanted[word.lower()], read.pair


def with_s(word: str) -> str:
    """The plural of a regular noun, the third person of a verb."""
    if re.search("[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch", "x", "z")) else "s")


HELPERS = {"is": "s", "has": "s", "was": "s", "does": "s", "wants": "s"}
HELPERS |= {"are": "p", "have": "p", "were": "p", "do": "p", "want": "p"}
TOLD_SIMPLY = {verb.base for verb in lexicon.ALL_VERBS}
TOLD_SIMPLY |= set("know say notice hope believe see rain snow thunder".split())
THIRD_PERSONS = {with_s(base) for base in TOLD_SIMPLY}


def english_verbs_agree(read: Read) -> bool:
    """Number by number: the German verb, whose subject the grammarian found, and what is linked to it."""
    for clause in read.clauses:
        number = clause.number
        if clause.frame.swapped:
            number = "p" if "pd" in clause.objects[0].slots else "s"
        words = read.linked(clause.verb)
        told = [HELPERS[word] for word in words if word in HELPERS]
        if not told and not clause.tags & {"perfect", "passive", "modal", "future", "purpose"}:
            simple = [word for word in words if word in TOLD_SIMPLY | THIRD_PERSONS]
            told = ["p" if word in TOLD_SIMPLY else "s" for word in simple]
            if not told:  # what two verbs share is said once: is laughing and singing
                told = [number for word in words if word.endswith("ing")]
            if not told:
                return False
        if told and told[0] != number:
            return False
    return True


def test_english_verbs_agree_with_their_subjects(understood: list[Read]) -> None:
    complain(f"{read.pair}" for read in understood if not english_verbs_agree(read))
    swapped = {"is": "are", "are": "is", "has": "have", "have": "has", "was": "were", "were": "was"}
    spoilt = [replace(read, target=[swapped.get(word, word) for word in read.target]) for read in understood]
    pairs = zip(understood, spoilt, strict=True)
    wrong = (other for read, other in pairs if read.target != other.target and english_verbs_agree(other))
    complain(f"{other.pair} would be accepted with {other.target}" for other in wrong)


def test_english_adverbs_stand_after_the_first_auxiliary(reads: list[Read]) -> None:
    """has already been brushed, not: has been already brushed."""
    times = (time for times in lexicon.ADVERBIALS.values() for time in times if "mid" in time.positions)
    late = re.compile(rf"\b(been|being) ({'|'.join(time.english[0][0] for time in times)})\b")
    complain(read.pair.target for read in reads if late.search(read.pair.target))


# --- phenomena


def phenomena(read: Read) -> set[str]:
    """What the pair has in it, by its words and by what the parser found."""
    found = {tag for clause in read.clauses for tag in clause.tags}
    for phrase in (p for clause in read.clauses for p in clause.phrases if p.kind in ("noun", "prep", "not")):
        for i, word in enumerate(phrase.words, start=phrase.place):
            stem = reduce(str.removesuffix, ("em", "en", "er", "e"), word) if word != "unser" else word
            found |= {"possessive"} if stem in german_forms.POSSESSIVES or stem == "uns" else set()
            found |= {"number"} if word in german_forms.NUMERALS else set()
            found |= {"negation"} if word == "nicht" or stem == "kein" else set()
            found |= {"compound"} if word in NOUNS and len(read.linked(i)) > 1 else set()
    words = [word.lower() for word in read.source]
    if "aber" in words or words.count("und") > words.count("zwischen"):
        found.add("coordination")
    if {"There", "there"} & set(read.target):
        found.add("there-is")
    if set(words) & set(german_forms.CONTRACTIONS):
        found.add("contraction")
    if read.source[-1] == "?":
        found.add("question")
    return found


def test_tags_tell_the_truth_and_the_whole_truth(understood: list[Read]) -> None:
    for read in understood:
        assert len(set(read.pair.tags)) == len(read.pair.tags)
        assert set(read.pair.tags) == phenomena(read), read.pair


def test_every_phenomenon_has_its_share(reads: list[Read]) -> None:
    counts = Counter(tag for read in reads for tag in read.pair.tags)
    assert set(counts) == set(TAGS)
    assert len(TAGS) == 26
    assert all(0.005 < count / len(reads) < 0.5 for count in counts.values()), counts

    def crosses(links: Links) -> bool:
        return any(i < k and j > m for i, j in links for k, m in links)

    assert sum(crosses(read.links) for read in reads) >= len(reads) / 3


# --- the lexicon


def test_the_lexicon_is_large_enough() -> None:
    prepositions = {use.german for use in (*lexicon.LOCATIONS, *lexicon.BETWEEN, lexicon.SURFACES)}
    prepositions |= {use.german for verb in lexicon.ALL_VERBS for use in verb.directions}
    prepositions |= {verb.prepositional.german for verb in lexicon.ALL_VERBS if verb.prepositional} | {"von"}
    assert len({noun.lemma for noun in lexicon.NOUNS}) == len(lexicon.NOUNS) >= 150
    assert len({verb.infinitive for verb in lexicon.ALL_VERBS}) >= 60
    assert len({verb.infinitive for verb in lexicon.ALL_VERBS if verb.prefix}) >= 12
    assert len({adjective for adjective, _ in ADJECTIVES}) >= 40
    assert sum(map(len, lexicon.ADVERBIALS.values())) >= 15
    assert len(prepositions) >= 12
    assert prepositions <= set(german_forms.PREPOSITIONS)
    assert any(len(noun.english[0]) > 1 for noun in lexicon.NOUNS)


ENGLISH_PLURALS = {"man": "men", "woman": "women", "child": "children", "mouse": "mice", "goose": "geese"}
ENGLISH_PLURALS |= {
    "sheep": "sheep",
    "deer": "deer",
    "wolf": "wolves",
    "shelf": "shelves",
    "scarf": "scarves",
}
ENGLISH_PLURALS |= {"tomato": "tomatoes", "potato": "potatoes", "bunch": "bunches"}


def english_plural(words: tuple[str, ...]) -> tuple[str, ...]:
    """Of the head: bunches of flowers, garden gates, snowmen."""
    head = words.index("of") - 1 if "of" in words else len(words) - 1
    root = next((root for root in ENGLISH_PLURALS if words[head].endswith(root)), "")
    plural = words[head].removesuffix(root) + ENGLISH_PLURALS[root] if root else with_s(words[head])
    return (*words[:head], plural, *words[head + 1 :])


def test_forms_of_nouns() -> None:
    without_umlaut = str.maketrans("äöü", "aou")
    for noun in lexicon.NOUNS:
        gender, (singular, *oblique), (plural, *plural_oblique) = "mfn"[noun.gender], *noun.german
        weak = german_forms.is_weak(gender, singular, plural)
        assert oblique == [plural if weak else singular] * 2, singular
        # What a noun ends in tells its gender.
        assert gender == "n" or not re.search("[^aeiou]chen$", singular), singular
        assert gender == "f" or not re.search("(ung|heit|erei|schaft|erin)$", singular), singular
        if noun.counted:
            assert plural_oblique == [plural, german_forms.dative_plural(plural)], singular
            stem = singular.lower().translate(without_umlaut)
            stem = stem.removesuffix("um" if singular[-3:] == "eum" else "")
            ending = plural.lower().translate(without_umlaut).removeprefix(stem)
            assert ending in {"", "e", "er", "n", "en", "s", "nen", "se"}, plural
            assert (ending == "nen") == (gender == "f" and singular.endswith("in")), plural
            assert noun.english[1] == english_plural(noun.english[0])


def test_forms_of_verbs() -> None:
    for verb in lexicon.ALL_VERBS:
        stem = verb.infinitive.removeprefix(verb.prefix)
        assert verb.present == (german_forms.er_form(stem), stem)
        assert verb.participle == german_forms.participle(verb.prefix, stem)
        moves = german_forms.moves(verb.prefix, stem)
        assert verb.auxiliary[0] == ("ist" if moves else "hat"), verb.infinitive
        assert verb.third_person == with_s(verb.base)
        doubled = re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]", verb.base)
        root = verb.base + verb.base[-1] if doubled else re.sub("(?<!e)e$", "", re.sub("ie$", "y", verb.base))
        assert verb.ing == root + "ing"


# --- the splits


def test_the_same_seed_gives_the_same_pairs_every_time() -> None:
    assert checksum() == CHECKSUM


def test_splits_share_no_sentence_whatever_seed_and_size() -> None:
    sources: dict[str, set[str]] = {split: set() for split in WHOLE}
    for bitext in (load(), load(500, seed=2)):
        for split in WHOLE:
            sources[split] |= {pair.source for pair in islice(bitext[split], 1_000)}
    assert sources["train"].isdisjoint(sources["val"] | sources["test"])
    assert sources["val"].isdisjoint(sources["test"])


def test_a_split_has_its_size_can_be_read_again_and_is_the_start_of_a_longer_one() -> None:
    assert WHOLE == {"train": 20_000, "val": 1_000, "test": 1_000}
    bitext = load()
    assert {split: len(bitext[split]) for split in bitext.splits} == WHOLE  # type: ignore[arg-type]
    pairs = load(50)["train"]
    assert sum(1 for _ in pairs) == len(pairs) == 50  # type: ignore[arg-type]
    assert list(pairs) == list(pairs) == list(islice(load(90)["train"], 50))
    assert list(pairs) != list(load(50, seed=2)["train"])
    new = load(60, seed=3)["train"]
    one, other = iter(new), iter(new)  # which are kept when either comes to the end
    assert next(one) == next(other)
    assert list(one) == list(other) == list(new)[1:]
