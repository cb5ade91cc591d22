"""The tokenizer of the web page is the one of Python, on every string: Node is asked."""

import gzip
import json
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers

from augenmerk.base.config import TextConfig
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.text.tokenizer import SPECIAL_TOKENS, Tokenizer, TokenizerPair, normalise
from augenmerk.text.words import (
    COMBINING,
    INVISIBLE,
    describe_rules,
    detokenise,
    replace_sentences,
    sentence_spans,
    split_sentences,
    split_words,
    word_spans,
)
from augenmerk.web.bundle import describe_characters, describe_tokenizer
from tests.support.node import Node, run_node
from tests.support.sentence_cases import CASES, read_case
from tests.unit.test_sentences import LANGUAGES as WITH_RULES
from tests.unit.test_sentences import MARKS, languages
from tests.unit.test_sentences import texts as sentence_texts
from tests.unit.test_text import BPE, LOWERCASE_BPE, LOWERCASE_WORD, PAIRS, SENTENCES, WORD, sentences
from tests.unit.test_words import ODD, texts

SEPARATE = TokenizerPair.train(PAIRS, TextConfig(unit="word", joint=False))
TOKENIZERS = {
    "BPE": BPE,
    "lowercase BPE": LOWERCASE_BPE,
    "words": WORD,
    "lowercase words": LOWERCASE_WORD,
    "words of the source": SEPARATE.source,
    "words of the target": SEPARATE.target,
    "shipped": Tokenizer.load(BUNDLED_MODEL / "tokenizer.json"),
}
any_name = pytest.mark.parametrize("name", TOKENIZERS)

LANGUAGES = ["", *(code for code, entry in WITH_RULES.items() if "starters" in entry)]
ALL = "".join(map(chr, range(0x110000)))


@cache
def assigned() -> list[str]:
    """All characters of Python's version of Unicode."""
    return [character for character in ALL if unicodedata.category(character) not in ("Cn", "Co", "Cs")]


@cache
def marks() -> list[str]:
    """All characters that may change places with the one before when a text is normalised."""
    return [character for character in assigned() if unicodedata.combining(character)]


@cache
def blocks() -> list[str]:
    """All blocks of 4,096 code points but those that are full of one kind: unassigned, private, CJK."""
    every = [ALL[start : start + 0x1000] for start in range(0, len(ALL), 0x1000)]
    return [as_in_javascript(block) for block in every if len(set(map(unicodedata.category, block))) > 1]


TRICKY = [
    *SENTENCES[:4],
    "z.B. U.S. a.b.c.d.e.f.g.h.i. a.b.c.d.e.f.g.h.i.j. a.b.c.d.e.f.g.h.i.j a\u0301.b. 1.2. _._.",
    "T-Shirt girl's 3.5 3.a 11:27, ٣.٥ x-\u0301 -x Obst- und Gemüse-, a-\u200b b- ‐‑ a‑b- c‐",
    "👩🏽\u200d💻👍 🇩🇪🇬🇧🇩 1️⃣ 🏴󠁧󠁢󠁷󠁬󠁳󠁿 👩\u200d 💻 \u200d💻 👩\u200d\u200d💻 👩\u200da",
    "עברית مرحبا بالعالم ١٢٫٥ हिन्दी में 한국어 ᄀ\u1161\u11a8 日本語テキスト",
    "İSTANBUL ΑΣ ΣΑΣ Σ ΑΣ.Α ΑΣ' Α\u0301Σ\u0301 ΑΣ\u00ad Α1Σ ẞ ǅ Ꭰ 𐐀 ª ⓢ",
    "\ud83d\u00ad\ude00 \ud83d\ude00 \ude00\ud83d \udc80 a\udfff",
    "\0\x1f\x1c\x85\u00a0\u2028\ufeff\u180e\u2060 So\u00adfa\u200bkissen <pad> </s>",
    "<\u0338 e\u00ad\u0301 \u0301\u0316 a\u0316\u0301\u0334 \u0958 \u212b \u2126 \ufb1d",
    # Unicode 15 and 16 have characters that compose and move; to Python 3.11 they are unassigned.
    "\U00011382\U000113c9 \U00016d67\U00016d67 a\u0301\U00010efd\u0316 \U0001e4ef\U0001e4ee",
    # What objects in JavaScript have by inheritance.
    "constructor __proto__ toString hasOwnProperty",
    '." \' " « » ‹ › “ ” „ ‚ ‘ ’ - / ( ) [ ] { } # $ £ @ % … ¿ ¡',
    "",
]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """Node with what Python knows about characters, the rules of all languages and all tokenizers."""
    with run_node("tokenizer.mjs") as node:
        node.ask("takeTables", describe_characters())
        for language in LANGUAGES:
            node.ask("takeRules", [language, describe_rules(language or None)])
        for name, tokenizer in TOKENIZERS.items():
            node.ask("takeTokenizer", [name, describe_tokenizer(tokenizer)])
        yield node


def as_in_javascript(text: str) -> str:
    """Returns the text with both halves of a surrogate pair as one character, which they always are there."""
    return str(json.loads(json.dumps(text)))


def in_units(text: str, spans: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Returns spans of code points as spans of the 16-bit units in which JavaScript counts."""
    places = [0]
    for character in text:
        places.append(places[-1] + (2 if ord(character) > 0xFFFF else 1))
    return [[places[start], places[end]] for start, end in spans]


def compare_words(node: Node, batch: Iterable[str]) -> None:
    batch = [as_in_javascript(text) for text in batch]
    answers = node.ask("splitAll", batch)
    for text, answer in zip(batch, answers, strict=True):
        assert answer == {
            "words": split_words(text),
            "spans": in_units(text, word_spans(text)),
            "text": detokenise(split_words(text)),
            "normal": normalise(text),
            "lower": normalise(text, lowercase=True),
        }


def compare_encoded(node: Node, name: str, batch: Iterable[str]) -> None:
    batch = [as_in_javascript(text) for text in batch]
    answers = node.ask("encodeAll", [name, batch])
    for text, answer in zip(batch, answers, strict=True):
        encoded = TOKENIZERS[name].encode(text)
        assert answer == {
            "ids": list(encoded.ids),
            "words": list(encoded.words),
            "spans": in_units(text, encoded.spans),
            "word_of": list(encoded.word_of),
        }


def compare_decoded(node: Node, name: str, batch: Sequence[Sequence[int]]) -> None:
    answers = node.ask("decodeAll", [name, batch])
    for ids, answer in zip(batch, answers, strict=True):
        words, word_of = TOKENIZERS[name].words_of_ids(ids)
        assert answer == {
            "text": TOKENIZERS[name].decode(ids),
            "words": list(words),
            "word_of": list(word_of),
        }


def random_texts(seed: int, number: int = 1000) -> list[str]:
    """Texts of odd characters, and of any characters of Unicode, mixed and of all lengths up to 40."""
    chance = random.Random(seed)
    kinds: list[Sequence[str]] = [ODD, ODD, " ".join(SENTENCES), assigned(), marks(), ALL]
    return [
        "".join(chance.choice(chance.choice(kinds)) for _ in range(chance.randrange(40)))
        for _ in range(number)
    ]


# Characters


@pytest.mark.parametrize(
    ("method", "pattern"),
    [
        ("isWord", r"\w"),
        ("isSpace", r"\s"),
        ("isDigit", r"\d"),
        ("isLetter", r"[^\W\d_]"),
        ("isCombining", COMBINING),
        ("isInvisible", INVISIBLE.pattern),
    ],
)
def test_every_code_point_is_in_the_classes_of_python(node: Node, method: str, pattern: str) -> None:
    points = node.ask("findPoints", method)
    assert points == [ord(character) for character in re.findall(pattern, ALL)]


def test_every_code_point_is_unassigned_where_it_is_in_python(node: Node) -> None:
    points = node.ask("findPoints", "isUnassigned")
    assert points == [ord(c) for c in ALL if unicodedata.category(c) == "Cn"]


def test_what_python_takes_to_be_printable_needs_no_second_look() -> None:
    # `split_words` and `normalise` look at printable texts less closely; JavaScript makes no difference.
    odd = [*re.findall(INVISIBLE, ALL), *re.findall("[\ud800-\udfff]", ALL), "\u200b"]
    assert not any(map(str.isprintable, odd))
    assert [c for c in ALL if c.isspace()] == re.findall(r"\s", ALL) == [c for c in ALL if not c.split()]


@pytest.mark.parametrize("lowercase", [False, True])
def test_every_code_point_is_normalised_as_in_python(node: Node, lowercase: bool) -> None:
    batch = ["".join(f"x{character}" for character in block) for block in blocks()]
    answers = node.ask("normaliseAll", [batch, lowercase])
    assert answers == [normalise(text, lowercase) for text in batch]


def test_every_code_point_has_its_place_in_words(node: Node) -> None:
    answers = node.ask("findSpans", blocks())
    assert answers == [in_units(block, word_spans(block)) for block in blocks()]


def test_a_capital_sigma_is_written_as_in_python_beside_every_code_point(node: Node) -> None:
    batch = [
        " ".join(f"{c}Σ a{c}Σ{c}a" for c in assigned()[start : start + 2000])
        for start in range(0, len(assigned()), 2000)
    ]
    assert node.ask("normaliseAll", [batch, True]) == [normalise(text, lowercase=True) for text in batch]


def test_what_decomposes_is_composed_as_in_python(node: Node) -> None:
    decomposed = [
        unicodedata.normalize("NFD", character)
        for character in ALL
        if not unicodedata.is_normalized("NFD", character)
    ]
    chance = random.Random(1)
    batch = [
        form + mark
        for form in decomposed
        for mark in ("", "\u0301", "".join(chance.choices(marks(), k=3)) + chance.choice(decomposed))
    ]
    assert len(batch) > 30_000
    assert node.ask("normaliseAll", [batch, False]) == [normalise(text) for text in batch]


# Words


def test_words_of_tricky_texts(node: Node) -> None:
    compare_words(node, TRICKY)


def test_words_of_random_texts(node: Node) -> None:
    compare_words(node, random_texts(0))


@given(batch=st.lists(texts, max_size=30))
def test_words_of_any_text(node: Node, batch: list[str]) -> None:
    compare_words(node, batch)


@settings(max_examples=30)
@given(batch=st.lists(st.lists(st.one_of(st.sampled_from([*"./-'\"“”„‚‘’«»‹›()a1", "ab"]), texts))))
def test_any_words_become_a_text_as_in_python(node: Node, batch: list[list[str]]) -> None:
    batch = [[as_in_javascript(word) for word in words] for words in batch]
    answers = node.ask("joinAll", batch)
    assert [as_in_javascript(detokenise(words)) for words in batch] == answers


@pytest.mark.parametrize(
    "piece", ["a", ".", "A.", "a-", "1,", "'", "👩\u200d", "\u0301", "\u00ad", "Σ", '"', "/"]
)
def test_long_lines_are_no_trouble(node: Node, piece: str) -> None:
    compare_words(node, [piece * 10_000])


# Sentences


def compare_sentences(node: Node, batch: Iterable[tuple[str, str]]) -> None:
    batch = [(language, as_in_javascript(text)) for language, text in batch]
    answers = node.ask("splitSentences", batch)
    for (language, text), answer in zip(batch, answers, strict=True):
        spans, sentences = sentence_spans(text, language or None), split_sentences(text, language or None)
        replaced = replace_sentences(text, spans, sentences)
        assert answer == {"spans": in_units(text, spans), "sentences": sentences, "replaced": replaced}


def test_sentences_of_all_languages(node: Node) -> None:
    # Each text by the rules of its language, and by those of all others.
    compare_sentences(node, [(code, read_case(case)[0]) for _, case in CASES for code in LANGUAGES])
    compare_sentences(node, [(code, text) for text in TRICKY for code in LANGUAGES])


def test_sentences_of_random_texts(node: Node) -> None:
    chance = random.Random(0)
    words = [word for _, case in CASES for word in read_case(case)[0].split()]
    mixed = [" ".join(chance.choices(words, k=chance.randrange(30))) for _ in range(1000)]
    odd = ["".join(chance.choices(MARKS, k=chance.randrange(40))) for _ in range(1000)]
    batch = [*mixed, *odd, *random_texts(0)]
    compare_sentences(node, [(chance.choice(LANGUAGES), text) for text in batch])


def test_every_code_point_begins_a_sentence_or_not_as_in_python(node: Node) -> None:
    # One in eight: their classes, by which it is decided, are compared for all of them above.
    some = assigned()[::8]
    batch = ["".join(f"Ab{c} {c}b. {c}b" for c in some[n : n + 2000]) for n in range(0, len(some), 2000)]
    compare_sentences(node, [("", text) for text in batch])


@settings(max_examples=50)
@given(batch=st.lists(st.tuples(languages, sentence_texts), max_size=30))
def test_sentences_of_any_text(node: Node, batch: list[tuple[str | None, str]]) -> None:
    compare_sentences(node, [(language or "", text) for language, text in batch])


# Ids


@any_name
def test_tricky_texts_have_the_same_ids(node: Node, name: str) -> None:
    compare_encoded(node, name, TRICKY)
    compare_decoded(node, name, [TOKENIZERS[name].encode(text).ids for text in TRICKY])


@any_name
def test_random_texts_have_the_same_ids(node: Node, name: str) -> None:
    compare_encoded(node, name, random_texts(7))


@settings(max_examples=50)
@given(name=st.sampled_from(sorted(TOKENIZERS)), batch=st.lists(sentences, max_size=30))
def test_any_text_has_the_same_ids(node: Node, name: str, batch: list[str]) -> None:
    compare_encoded(node, name, batch)


@any_name
def test_every_entry_of_the_vocabulary_reads_the_same(node: Node, name: str) -> None:
    ids = list(range(TOKENIZERS[name].size))
    assert node.ask("readTokens", [name, ids]) == list(map(TOKENIZERS[name].token, ids))


@any_name
def test_random_ids_have_the_same_text_and_words(node: Node, name: str) -> None:
    # Every second one is a byte or a special token, so that many are not UTF-8.
    chance = random.Random(3)
    size = TOKENIZERS[name].size
    limits = (size, min(size, 260))
    batch = [
        [chance.randrange(chance.choice(limits)) for _ in range(chance.randrange(25))] for _ in range(1000)
    ]
    compare_decoded(node, name, batch)


# Bytes at the borders of what UTF-8 permits: too long, surrogates, beyond the last code point, cut off.
BORDERS = bytes.fromhex("20417f8081888f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5f7f8fcff")


@settings(max_examples=50)
@given(batch=st.lists(st.lists(st.sampled_from(BORDERS), max_size=12), max_size=100))
def test_bytes_that_are_not_utf8_are_kept_as_in_python(node: Node, batch: list[list[int]]) -> None:
    id_of = {raw[0]: i for i, raw in enumerate(BPE.bytes) if len(raw) == 1}
    compare_decoded(node, "BPE", [[id_of[byte] for byte in raw] for raw in batch])


@st.composite
def odd_merges(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Merges in an order that no training gives: the parts of a token may be merged in several ways."""
    tokens = list("abc")
    merges: dict[tuple[str, str], None] = {}
    for _ in range(draw(st.integers(1, 12))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if len("".join(pair)) <= 6:
            merges[pair] = None
            if "".join(pair) not in tokens:
                tokens.append("".join(pair))
    return draw(st.permutations(list(merges)))


@settings(max_examples=100)
@given(merges=odd_merges(), seed=st.integers(0, 1000))
def test_merges_in_any_order_are_applied_as_the_library_does(
    node: Node, merges: list[tuple[str, str]], seed: int
) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = dict.fromkeys([*SPECIAL_TOKENS, *alphabet, *map("".join, merges)])
    library = tokenizers.Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    tokenizer = Tokenizer(library)
    node.ask("takeTokenizer", ["odd", describe_tokenizer(tokenizer)])
    chance = random.Random(seed)
    batch = ["".join(chance.choices("abc", k=chance.randrange(1, 15))) for _ in range(50)]
    found = [encoded["ids"] for encoded in node.ask("encodeAll", ["odd", batch])]
    assert found == [list(tokenizer.encode(text).ids) for text in batch]


@pytest.mark.parametrize("text", ["ab" * 5_000, "ein Hund " * 1_111, "👩🏽\u200d💻" * 2_500, "A." * 5_000])
def test_a_long_text_has_the_same_ids(node: Node, text: str) -> None:
    compare_encoded(node, "shipped", [text])
    compare_decoded(node, "shipped", [TOKENIZERS["shipped"].encode(text).ids])


@pytest.mark.parametrize("name", ["shipped", "lowercase BPE", "lowercase words"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_real_captions_have_the_same_ids(node: Node, multi30k_folder: Path, language: str, name: str) -> None:
    with gzip.open(multi30k_folder / f"val.{language}.gz", "rt", encoding="utf-8") as lines:
        captions = list(lines)
    compare_encoded(node, name, captions)
    compare_decoded(node, name, TOKENIZERS[name].encode_ids(captions))


def test_tables_are_small() -> None:
    assert len(json.dumps(describe_characters(), separators=(",", ":"))) < 20_000
    assert len(json.dumps(describe_tokenizer(TOKENIZERS["shipped"]), separators=(",", ":"))) < 100_000
