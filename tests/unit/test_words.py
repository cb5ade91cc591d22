"""What a word is, and how words become a text again."""

import gzip
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augenmerk.text.tokenizer import normalise
from augenmerk.text.words import COMBINING, WORD_PATTERN, detokenise, split_words, word_spans
from augenmerk.theory.answers import _RELATION, _WORD

ODD = (
    "aBs1İΣẞ가ᄀक् \t\u00a0\u200b\u200c\u200d\u00ad\ufeff\0\x1f\ud800\u0301\u0338\u0345👩🏽🇩🇪\ufe0f\u20e3"
    "<=-‐'’.,:;!?()[]/#„“”‚‘\"«»…–"
)
"""Characters at which words, accents, emoji or quotations might come apart."""
texts = st.one_of(st.text(st.characters(exclude_categories=())), st.text(st.sampled_from(ODD)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Der Hund schläft.", "Der|Hund|schläft|."),
        ("Ein T-Shirt, das girl's heißt", "Ein|T-Shirt|,|das|girl's|heißt"),
        ("um 11:27 Uhr 3.5 kg, 10.000 Euro", "um|11:27|Uhr|3.5|kg|,|10.000|Euro"),
        ("Obst- und Gemüsestand", "Obst-|und|Gemüsestand"),
        ("Hund - Katze – Maus", "Hund|-|Katze|–|Maus"),
        ("the U.S. Army, z.B. hier. Ende.", "the|U.S.|Army|,|z.B.|hier|.|Ende|."),
        ("a.b c.d.e", "a|.|b|c|.|d|.|e"),
        ("„Stop“-Schild", "„|Stop|“|-|Schild"),
        ("the boys' room", "the|boys|'|room"),
        ("wait...", "wait|.|.|."),
        ("👩🏽‍💻👍 🇩🇪🇬🇧 1️⃣ 🏴󠁧󠁢󠁷󠁬󠁳󠁿", "👩🏽‍💻|👍|🇩🇪|🇬🇧|1️⃣|🏴󠁧󠁢󠁷󠁬󠁳󠁿"),
        ("हिन्दी में", "हिन्दी|में"),
        ("cafe\u0301 = \u0338", "cafe\u0301|=|\u0338"),
        ("So\u00adfa\u200bkissen\ufeff \u00ad", "So\u00adfa|kissen"),
        ("<pad> </s>", "<|pad|>|<|/|s|>"),
        ("", ""),
        (" \t\u00ad ", ""),
    ],
)
def test_words_of_a_text(text: str, words: str) -> None:
    assert split_words(text) == [word for word in words.split("|") if word]


@given(texts)
def test_spans_slice_the_text_to_its_words(text: str) -> None:
    spans = word_spans(text)
    assert [text[start:end] for start, end in spans] == split_words(text)
    ends = [0, *(end for _, end in spans)]
    assert all(before <= start < end for before, (start, end) in zip(ends, spans, strict=False))


@given(texts)
def test_what_is_left_out_between_words_is_white_space_or_invisible(text: str) -> None:
    outside = list(text)
    for start, end in word_spans(text):
        outside[start:end] = [" "] * (end - start)
    assert normalise("".join(outside)) == ""
    assert all(normalise(word) for word in split_words(text))


@given(texts, st.booleans())
@example("<\u0338 e\u00ad\u0301 3\u00ad.5 İ \u1100\u1161", True)
def test_normalising_moves_no_word_boundary(text: str, lowercase: bool) -> None:
    words = split_words(normalise(text, lowercase))
    assert len(words) == len(split_words(text))
    if "Σ" not in text:  # its lower case depends on what follows, even across words
        assert words == [normalise(word, lowercase) for word in split_words(text)]


def test_no_character_of_unicode_has_words_that_depend_on_its_encoding() -> None:
    characters = (
        char for char in map(chr, range(0x20000)) if unicodedata.category(char) not in ("Cn", "Co", "Cs")
    )
    changing = [
        char for char in characters if not unicodedata.is_normalized("NFD", char) or char.lower() != char
    ]
    assert len(changing) > 10_000
    text = " ".join(f"a{character}b {character}. .{character} 1{character}2" for character in changing)
    for form in ("NFC", "NFD"):
        encoded = unicodedata.normalize(form, text)
        assert [normalise(word) for word in split_words(encoded)] == split_words(normalise(text))
        assert len(split_words(encoded.lower())) == len(split_words(text))


@pytest.mark.parametrize(
    "text",
    [
        "Ein Mann (mit Hut) schläft, oder? Ja!",
        'He says "stop" and "go".',
        "A sign says 'stop' to the boys' dog.",
        "Auf dem „Stop“-Schild steht: „Halt!“.",
        "“Stop,” she said… ‘Why?’",
        "»Halt« und «halte» [sic] {x}",
        "Freund/in mit #8 für $5 – 50% billiger",
        "Wait... what?!",
        "Obst- und Gemüsestand, z.B. um 11:27.",
    ],
)
def test_detokenised_as_a_person_writes(text: str) -> None:
    assert detokenise(split_words(text)) == text


@given(texts)
@example("( \u0301a")
@example("🇩 🇪 / 🇩")
@example("' a - ' - b")
@example("3 . 5 , 6 / 7 : 8")
def test_detokenised_text_has_the_same_words(text: str) -> None:
    words = split_words(normalise(text))
    assert split_words(detokenise(words)) == words


@pytest.mark.parametrize("language", ["de", "en"])
def test_real_captions_come_back_exactly(multi30k_folder: Path, language: str) -> None:
    with gzip.open(multi30k_folder / f"val.{language}.gz", "rt", encoding="utf-8") as lines:
        captions = [normalise(line) for line in lines]
    exact = sum(detokenise(split_words(caption)) == caption for caption in captions)
    assert exact / len(captions) > 0.995


@pytest.mark.parametrize("piece", ["a", ".", "A.", "a-", "1,", "'", "👩\u200d", "\u0301", "\u00ad", "“", "/"])
def test_long_lines_are_no_trouble(piece: str) -> None:
    words = split_words(piece * 10_000)
    assert split_words(detokenise(words)) == words


def test_marks_belong_to_the_word_before_and_no_group_is_possessive() -> None:
    marks = [chr(point) for point in range(0x300, 0x1F000) if unicodedata.category(chr(point))[0] == "M"]
    assert len(marks) > 2000
    assert [mark for mark in marks if not re.fullmatch(COMBINING, mark)] == []
    # Up to Python 3.11.4, which Debian 12 has, such a group loses characters: "Ein" became "Ei".
    patterns = (WORD_PATTERN, _RELATION.pattern, _WORD.pattern)
    assert not [found for pattern in patterns for found in re.findall(r"\)[*+?]\+|\)\{[0-9,]+\}\+", pattern)]
    assert re.findall(r"\)[*+?]\+", "(?:a|b)++")
