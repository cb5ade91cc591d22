"""Where sentences end, in all alphabets, and that nothing of a text is lost between them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augenmerk.text.words import (
    is_small,
    read_languages,
    replace_sentences,
    sentence_spans,
    split_sentences,
)
from tests.support.sentence_cases import CASES, read_case
from tests.unit.test_words import ODD

MARKS = ODD + "....!?…。？！।؟;»«\n\r\u2028 \u00a0" + "AaÄČžΩωЖж狗1２IVX" + "z. B. Dr. am 3. Mai\n\n"
LANGUAGES = read_languages()["languages"]
languages = st.sampled_from([None, *(code for code, entry in LANGUAGES.items() if "starters" in entry)])
texts = st.one_of(st.text(st.characters(exclude_categories=())), st.text(st.sampled_from(MARKS), max_size=60))


def test_there_are_enough_cases_in_enough_languages() -> None:
    assert len(CASES) >= 100
    assert len({language for language, _ in CASES}) >= 30
    assert all(("abbreviations" in entry) == ("starters" in entry) for entry in LANGUAGES.values())
    assert all(
        LANGUAGES[code].get("ordinals", True)
        for code in {"de", "cs", "sk", "pl", "da", "no", "fi", "hu", "hr", "sr", "tr"}
    )


@pytest.mark.parametrize(("language", "case"), CASES)
def test_sentences_of_a_text(language: str, case: str) -> None:
    text, sentences = read_case(case)
    assert split_sentences(text, language or None) == sentences


@pytest.mark.parametrize("language", ["de", "de-AT", "DE_ch"])
def test_a_region_does_not_matter(language: str) -> None:
    found = split_sentences("Er kommt am 3. Mai bzw. Juni. Gut.", language)
    assert found == ["Er kommt am 3. Mai bzw. Juni.", "Gut."]


def test_every_capital_of_every_alphabet_begins_a_sentence() -> None:
    # The splitter of /translate took small č, š, ž and ř for capitals: it asked for "no letter from a to z".
    capitals = [c for c in map(chr, range(0x10FFFF)) if c.isupper() and c.lower() != c]
    small = [c for c in map(chr, range(0x10FFFF)) if is_small(c)]
    assert len(capitals) > 1000
    assert len(small) > 1000
    for letter in capitals:
        assert split_sentences(f"Pes spí. {letter}bc je.", "cs") == ["Pes spí.", f"{letter}bc je."]
    for letter in small:
        assert split_sentences(f"Pes spí. {letter}bc je.", "cs") == [f"Pes spí. {letter}bc je."]


@given(text=texts, language=languages)
@example(text="\n Ein Hund.\r\n\r\n---\n Zwei.  Drei\u2028", language="de")
@example(text="", language=None)
def test_nothing_is_lost(text: str, language: str | None) -> None:
    spans = sentence_spans(text, language)
    sentences = [text[start:end] for start, end in spans]
    assert sentences == split_sentences(text, language)
    assert all(one and one == one.strip() for one in sentences)
    ends = [0, *(end for _, end in spans)]
    between = [text[end:start] for end, start in zip(ends, [*(s for s, _ in spans), len(text)], strict=True)]
    # The pieces and what is between them are the text; letters and digits are in the pieces.
    assert "".join(part for pair in zip(between, [*sentences, ""], strict=True) for part in pair) == text
    assert not any(map(str.isalnum, "".join(between)))
    assert bool(sentences) == bool(text.strip())


@given(text=texts)
def test_a_sentence_has_no_line_break(text: str) -> None:
    if any(map(str.isalnum, text)):  # otherwise it is not taken apart
        assert all(len(one.splitlines()) == 1 for one in split_sentences(text))


def test_other_sentences_in_place_of_the_first_keep_paragraphs() -> None:
    text = "\n# Titel\n\n  Ein Hund schläft.  Gut.\r\n---\r\nEnde\n"
    spans = sentence_spans(text, "de")
    numbered = [f"<{number}>" for number in range(len(spans))]
    assert replace_sentences(text, spans, numbered) == "\n<0>\n\n  <1>  <2>\r\n---\r\n<3>\n"
    spans = sentence_spans("狗在睡觉。男人在踢足球。", "zh")
    assert replace_sentences("狗在睡觉。男人在踢足球。", spans, ["A dog.", "Men."]) == "A dog. Men."
    assert replace_sentences("狗在睡觉。男人在踢足球。", spans, ["犬。", "男。"]) == "犬。男。"


@given(text=texts)
def test_a_text_with_its_own_sentences_is_itself_but_for_spaces(text: str) -> None:
    same = replace_sentences(text, sentence_spans(text), split_sentences(text))
    assert same.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "piece", ["A. ", '"a." ', "(.", "!", "a.", ". »", "; ", "! - ", " »", "1. ", "… ", "\u200f. ", "。", " "]
)
def test_long_texts_are_no_trouble(piece: str) -> None:
    text = piece * 30_000
    assert "".join(split_sentences(text)).replace(" ", "") == text.replace(" ", "")
