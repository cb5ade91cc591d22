"""Sentences to ids and back, with their words."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from augenmerk.base.config import TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import SentencePair
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, TokenizerPair, normalise
from augenmerk.text.words import detokenise, split_words
from tests.unit.test_words import texts

SENTENCES = [
    "Der Hund schläft auf dem Sofa, und die Katze schaut ihm zu.",
    "Die Hunde schlafen; ein Kind (im roten T-Shirt) malt „Häuser“ mit Kreide.",
    'The girl\'s dog sleeps on the sofa, says "good night" and is sleeping at 11:27.',
    "Two children are playing and singing – what a playground!",
] * 3
PAIRS = [SentencePair(source, target) for source, target in pairwise(SENTENCES)]

BPE = Tokenizer.train(SENTENCES, TextConfig(vocabulary_size=420))
LOWERCASE_BPE = Tokenizer.train(SENTENCES, TextConfig(vocabulary_size=420, lowercase=True))
WORD = Tokenizer.train(SENTENCES, TextConfig(unit="word"))
LOWERCASE_WORD = Tokenizer.train(SENTENCES, TextConfig(unit="word", lowercase=True))
any_tokenizer = st.sampled_from([BPE, LOWERCASE_BPE, WORD, LOWERCASE_WORD])
any_bpe = st.sampled_from([BPE, LOWERCASE_BPE])
sentences = st.one_of(
    texts, st.lists(st.sampled_from([*" ".join(SENTENCES).split(), "<pad>", "</s>"])).map(" ".join)
)


def ids_of(tokenizer: Tokenizer) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, tokenizer.size - 1))


# Normalisation


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  Ein\t\tHund \u2028 und\u00a0ein\u200bHund\n", "Ein Hund und ein Hund"),
        ("scho\u0308n", "schön"),
        ("\ufeffSo\u00adfa\x07", "Sofa"),
        ("👩🏽\u200d💻", "👩🏽\u200d💻"),
        ("e\u00ad\u0301", "é"),
        ("\ud83d kaputt", "\ufffd kaputt"),
        ("\u200b\u00ad", ""),
        ("", ""),
    ],
)
def test_normalised(text: str, normal: str) -> None:
    assert normalise(text) == normal


@given(texts, st.booleans())
def test_normalising_twice_changes_nothing_more(text: str, lowercase: bool) -> None:
    once = normalise(text, lowercase)
    assert normalise(once, lowercase) == once == normalise(once)


# Ids and back


@given(any_bpe, sentences)
@example(BPE, "")
@example(BPE, "<pad><s></s><unk> <pad> <s>")
@example(
    LOWERCASE_BPE, "İSTANBUL ΑΣ ẞ \ua7cb"
)  # the last: a capital letter to the library, not to Python 3.11
@example(BPE, "„Straße“ 👩🏽\u200d💻 🇩🇪 “why?” …")
def test_bpe_loses_nothing(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text).ids
    assert tokenizer.decode(ids) == normalise(text, tokenizer.lowercase)
    assert all(i > UNK for i in ids)


@pytest.mark.parametrize(
    "text", ["ab" * 5_000, "ein Hund " * 1_111, "👩🏽\u200d💻" * 2_500, '."' * 5_000, "A." * 5_000]
)
def test_a_long_line_is_no_trouble(text: str) -> None:
    encoded = BPE.encode(text)
    assert BPE.decode(encoded.ids) == normalise(text)
    assert BPE.words_of_ids(encoded.ids)[1] == encoded.word_of


@given(st.lists(st.sampled_from(" ".join(SENTENCES).split())).map(" ".join))
def test_known_words_come_back_as_a_person_writes_them(text: str) -> None:
    for tokenizer in (WORD, LOWERCASE_WORD):
        ids = tokenizer.encode(text).ids
        assert tokenizer.decode(ids) == detokenise(split_words(normalise(text, tokenizer.lowercase)))


@pytest.mark.parametrize("tokenizer", [BPE, WORD])
def test_the_training_sentences_come_back_exactly(tokenizer: Tokenizer) -> None:
    assert [tokenizer.decode(ids) for ids in tokenizer.encode_ids(SENTENCES)] == SENTENCES


@given(any_tokenizer, sentences)
@example(WORD, "Der Hund\u00adehalter \u00ad schla\u0308ft.")
def test_every_id_belongs_to_a_word_of_the_original(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode(text)
    assert list(encoded.words) == split_words(text) == [text[start:end] for start, end in encoded.spans]
    assert len(encoded.word_of) == len(encoded.ids)
    assert list(encoded.word_of) == sorted(encoded.word_of)
    assert set(encoded.word_of) == set(range(len(encoded.words)))


@given(any_tokenizer, st.lists(sentences, max_size=5))
def test_many_at_once_are_as_each_alone(tokenizer: Tokenizer, batch: list[str]) -> None:
    assert tokenizer.encode_ids(batch) == [list(tokenizer.encode(text).ids) for text in batch]


def test_special_ids_and_words_never_seen() -> None:
    for tokenizer in (BPE, WORD):
        ids = tokenizer.encode("Der Hund schläft.").ids
        assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "Der Hund schläft."
        assert tokenizer.decode([*ids, UNK]) == "Der Hund schläft. ⁇"
    encoded = WORD.encode("Der Elefant (grau) schläft.")
    assert encoded.words == ("Der", "Elefant", "(", "grau", ")", "schläft", ".")
    assert [i == UNK for i in encoded.ids] == [False, True, False, True, False, False, False]
    assert WORD.decode(encoded.ids) == "Der ⁇ (⁇) schläft."


def test_tokens_can_be_read_and_rare_words_are_unknown() -> None:
    assert [BPE.token(i) for i in (PAD, BOS, EOS, UNK)] == ["<pad>", "<s>", "</s>", "<unk>"]
    assert "".join(BPE.token(i) for i in BPE.encode("Der Hund").ids) == "▁Der▁Hund"
    assert "\\xf0" in [BPE.token(i) for i in BPE.encode("👍").ids]
    assert WORD.token(WORD.encode("Hund").ids[0]) == "Hund"
    lines = ["oft oft selten", *(f"wort{number} wort{number}" for number in range(400))]
    rare = Tokenizer.train(lines, TextConfig(unit="word", minimum_frequency=2))
    assert rare.encode("oft selten").ids[1] == UNK
    assert rare.size == 4 + 401
    assert Tokenizer.train(lines, TextConfig(unit="word", vocabulary_size=300)).size == 300
    assert Tokenizer.train(SENTENCES, TextConfig(vocabulary_size=300)).size == 300


# The words of ids that a model produced


@given(any_tokenizer, sentences)
def test_words_of_an_encoded_text(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode(text)
    words, word_of = tokenizer.words_of_ids(encoded.ids)
    assert word_of == encoded.word_of
    if UNK not in encoded.ids:
        assert list(words) == split_words(tokenizer.decode(encoded.ids))


@given(st.data(), any_tokenizer)
def test_words_of_any_ids(data: st.DataObject, tokenizer: Tokenizer) -> None:
    ids = data.draw(ids_of(tokenizer))
    text = tokenizer.decode(ids)
    words, word_of = tokenizer.words_of_ids(ids)
    assert "".join(words) == text.replace(" ", "")
    assert len(word_of) == len(ids)
    inside = [word for word in word_of if word is not None]
    assert inside == sorted(inside)
    assert set(inside) == set(range(len(words)))
    if words:
        assert [word is None for word in word_of] == [i in (PAD, BOS, EOS) for i in ids]
    if "⁇" not in words and not tokenizer.is_bpe:
        assert list(words) == split_words(text)


def test_words_of_broken_bytes_and_of_nothing() -> None:
    first, *rest = BPE.encode("👍").ids
    words, word_of = BPE.words_of_ids([*BPE.encode("Hund").ids, first, BOS, EOS])
    assert words[0] == "Hund"
    assert word_of[-2:] == (None, None)
    assert BPE.words_of_ids([first, *rest])[0] == ("👍",)
    assert BPE.words_of_ids([]) == ((), ())
    assert BPE.words_of_ids([BOS, EOS]) == ((), (None, None))


# Files


@pytest.mark.parametrize("tokenizer", [BPE, LOWERCASE_BPE, WORD, LOWERCASE_WORD])
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, tokenizer: Tokenizer) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    for name in ("size", "is_bpe", "lowercase"):
        assert getattr(loaded, name) == getattr(tokenizer, name)
    assert loaded.encode_ids(SENTENCES) == tokenizer.encode_ids(SENTENCES)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


def foreign_files() -> dict[str, str]:
    ours = BPE.to_json()
    added = tokenizers.Tokenizer.from_str(ours)
    added.add_special_tokens(["<pad>"])
    return {
        "empty": "",
        "JSON of something else": '{"name": "x"}',
        "cut off": ours[: len(ours) // 2],
        "other special tokens": ours.replace('"<pad>":0', '"[PAD]":0'),
        "special tokens elsewhere": ours.replace('"<pad>":0', '"<pad>":1').replace('"<s>":1', '"<s>":0'),
        "a gap in the vocabulary": ours.replace('"!":4', '"!":999'),
        "a byte missing": ours.replace('"!":4', '"!!!":4'),
        "not byte-level": ours.replace('"!":4', '"漢":4'),
        "added tokens": added.to_str(),
        "another model": tokenizers.Tokenizer(tokenizers.models.Unigram()).to_str(),
        "a normalizer that makes the library panic": ours.replace(
            '"normalizer":null', '"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"}'
        ),
        "a prefix that makes the library panic": ours.replace(
            '"continuing_subword_prefix":null', '"continuing_subword_prefix":"ÄÄÄÄÄÄÄÄÄÄÄÄ"'
        ),
        "dropout": ours.replace('"dropout":null', '"dropout":0.5'),
        "a pre-tokenizer with a regular expression": ours.replace(
            '"pre_tokenizer":{"type":"ByteLevel"', '"pre_tokenizer":{"type":"Split"'
        ),
        "a list": "[]",
        "brackets without end": "[" * 100_000,
        "words without <unk>": WORD.to_json().replace('"unk_token":"<unk>"', '"unk_token":"?"'),
    }


@pytest.mark.parametrize("content", foreign_files().values(), ids=foreign_files().keys())
def test_a_file_we_did_not_write_is_refused_in_one_sentence(tmp_path: Path, content: str) -> None:
    assert content not in (BPE.to_json(), WORD.to_json())
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(AugenmerkError) as error:
        Tokenizer.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(AugenmerkError, match="no such file"):
        TokenizerPair.load(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AugenmerkError, match="not UTF-8"):
        TokenizerPair.load(tmp_path)


# Two languages


def test_joint_vocabulary_is_one_object_and_one_file(tmp_path: Path) -> None:
    tokenizers = TokenizerPair.train(iter(PAIRS), TextConfig(vocabulary_size=400))
    assert tokenizers.joint
    tokenizers.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    loaded = TokenizerPair.load(tmp_path)
    assert loaded.source is loaded.target
    assert loaded.target.encode_ids(SENTENCES) == tokenizers.source.encode_ids(SENTENCES)


def test_separate_vocabularies_know_their_own_language_only(tmp_path: Path) -> None:
    pairs = [SentencePair("Hund Katze", "dog cat mouse")]
    config = TextConfig(unit="word", joint=False)
    for given_pairs in (pairs, iter(pairs)):
        tokenizers = TokenizerPair.train(given_pairs, config)
        assert (tokenizers.source.size, tokenizers.target.size) == (6, 7)
    TokenizerPair.train(pairs, TextConfig()).save(tmp_path)
    tokenizers.save(tmp_path)  # over a joint one, whose file must go
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"tokenizer.source.json", "tokenizer.target.json"}
    loaded = TokenizerPair.load(tmp_path)
    assert not loaded.joint
    assert loaded.source.decode(loaded.source.encode("Hund dog").ids) == "Hund ⁇"
    assert loaded.target.decode(loaded.target.encode("Hund dog").ids) == "⁇ dog"


def test_trouble_while_reading_reaches_the_caller() -> None:
    def pairs() -> Iterator[SentencePair]:
        yield PAIRS[0]
        raise AugenmerkError("train.de, line 2: not UTF-8.")

    with pytest.raises(AugenmerkError, match="line 2"):
        TokenizerPair.train(pairs(), TextConfig())


# Real captions
