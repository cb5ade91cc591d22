"""Translations of really trained tiny models: in Python, and through the command."""

import json
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import augenmerk
from augenmerk import AugenmerkError, Translation
from augenmerk.base.config import RunConfig
from augenmerk.data import open_bitext
from augenmerk.model.gru import GRUTranslator
from augenmerk.search.decoder import Hypothesis
from augenmerk.text.tokenizer import UNK, UNKNOWN
from augenmerk.translation import Translator
from augenmerk.translation import translator as translator_module
from augenmerk.translation.alignment import over_words
from tests.support.command import fails_with_a_sentence, run_command
from tests.support.mechanisms import CLASSIC
from tests.support.runs import SharedRuns

SENTENCES = [pair.source for pair in islice(open_bitext("bilderbuch")["test"], 40)]
KEYS = {"source", "translation", "score", "source_words", "target_words", "attention"}


def settings_of(seed: int, attention: str, beam: int = 4, **text: object) -> dict[str, Any]:
    """On so few pairs that much of them is learnt by heart: their scores are neither 0 nor 100."""
    return {
        "data": {"bilderbuch": {"pairs": 120}, "validation": "train"},
        "text": {"vocabulary_size": 500, **text},
        "model": {"embedding": 40, "hidden": 40, "key": 40, "attention": attention},
        "train": {"epochs": 7, "batch_size": 8, "lr": 0.01, "seed": seed, "precision": "fp32", "bleu": False},
        "search": {"beam": beam, "max_length": 40},
    }


@pytest.fixture(scope="module")
def bpe_run(shared_runs: SharedRuns, folder: Path) -> Path:
    return shared_runs.copy(settings_of(1, "scaled-dot"), folder / "bpe").path


@pytest.fixture(scope="module")
def word_run(shared_runs: SharedRuns, folder: Path) -> Path:
    config = settings_of(1, "additive", 1, unit="word", lowercase=True, joint=False, minimum_frequency=4)
    return shared_runs.copy(config, folder / "word").path


@pytest.fixture(scope="module")
def bpe(bpe_run: Path) -> Translator:
    return augenmerk.load(bpe_run)


@pytest.fixture(scope="module")
def word(word_run: Path) -> Translator:
    return augenmerk.load(str(word_run))


def untrained(like: Translator, **model: object) -> Translator:
    tree = like.config.model_dump(exclude_none=True)
    config = RunConfig.model_validate({**tree, "model": {**tree["model"], **model}})
    torch.manual_seed(1)
    network = GRUTranslator(config.model, like.tokenizers.source.size, like.tokenizers.target.size)
    return Translator([network.eval()], like.tokenizers, config)


@settings(max_examples=4)
@given(order=st.permutations(range(12)), beam=st.sampled_from([1, 3]))
def test_a_sentence_is_the_same_alone_and_in_company(bpe: Translator, order: list[int], beam: int) -> None:
    chosen = [SENTENCES[i] for i in order[: 1 + order[0]]]
    together = bpe.translate(chosen, beam=beam)
    for text, translation in zip(chosen, together, strict=True):
        alone = bpe.translate(text, beam=beam)
        assert alone.text == translation.text
        assert alone.score == pytest.approx(translation.score, abs=1e-4)
        np.testing.assert_allclose(alone.attention, translation.attention, atol=1e-4, rtol=0)


@pytest.mark.parametrize("attention", CLASSIC)
def test_attention_is_over_the_words_that_are_shown(bpe: Translator, attention: str) -> None:
    for translation in untrained(bpe, attention=attention).translate(SENTENCES[:5], max_length=7):
        assert translation.source_words[-1] == "</s>"
        assert "".join(translation.source_words[:-1]) == translation.source.replace(" ", "")
        assert translation.attention.shape == (len(translation.target_words), len(translation.source_words))
        assert translation.attention.dtype == np.float32
        total = np.full(len(translation.target_words), 0.0 if attention == "none" else 1.0)
        np.testing.assert_allclose(translation.attention.sum(axis=1), total, rtol=1e-6, atol=1e-5)
        assert len(translation.word_log_probabilities) == len(translation.target_words)
        assert translation.finished == (translation.target_words[-1:] == ("</s>",))


def test_the_attention_belongs_to_the_hypothesis(bpe: Translator) -> None:
    """Under a beam, for every alternative: forcing its ids looks at the same places."""
    compared = 0
    for translation in bpe.translate(SENTENCES[:8], beam=5, n_best=5):
        for each in (translation, *translation.alternatives):
            assert each.hypothesis is not None
            if not each.finished:
                continue
            ids = bpe.tokenizers.source.encode_ids([each.source])
            [[forced]] = bpe.decode(ids, bpe.config.search, targets=[each.hypothesis.ids])
            np.testing.assert_allclose(each.subword_attention, forced.weights, atol=1e-5, rtol=0)
            assert each.log_probability == pytest.approx(forced.log_probability, abs=1e-3)
            assert sum(each.word_log_probabilities) == pytest.approx(each.log_probability, abs=1e-5)
            compared += 1
    assert compared >= 20


def test_subwords_are_merged_into_words(bpe: Translator) -> None:
    source, text = "Der Rhabarberkuchen schläft.", "The rhubarb cakes sleep."
    source_ids, ids = bpe.tokenizers.source.encode(source), bpe.tokenizers.target.encode(text)
    assert len(source_ids.ids) > len(source_ids.words)
    assert len(ids.ids) > len(ids.words)
    weights = torch.rand(len(ids.ids) + 1, len(source_ids.ids) + 1).softmax(1).numpy()
    log_probabilities = tuple(-float(i) for i in range(len(weights)))
    hypothesis = Hypothesis(ids.ids, True, -1.0, -1.0, log_probabilities, weights)
    translation = Translation(source, text, tokenizers=bpe.tokenizers, hypothesis=hypothesis)
    assert translation.source_words == ("Der", "Rhabarberkuchen", "schläft", ".", "</s>")
    assert translation.target_words == ("The", "rhubarb", "cakes", "sleep", ".", "</s>")
    merged = over_words(weights, [*ids.word_of, 5], [*source_ids.word_of, 4])
    np.testing.assert_allclose(translation.attention, merged, atol=1e-6)
    for j, value in enumerate(translation.word_log_probabilities):
        rows = [t for t, word in enumerate([*ids.word_of, 5]) if word == j]
        assert value == sum(log_probabilities[t] for t in rows)
    tree = translation.to_dict(subwords=True)
    assert len(tree["source_subwords"]) == weights.shape[1]
    assert len(tree["target_subwords"]) == weights.shape[0]
    assert "".join(tree["target_subwords"]).replace("▁", " ") == " The rhubarb cakes sleep.</s>"
    assert tree["subword_attention"][0] == pytest.approx(weights[0].tolist(), abs=1e-6)


def test_empty_lines_stay_empty_lines(bpe: Translator) -> None:
    lines = ["", SENTENCES[0], "  \t", SENTENCES[1], "\u200b\u00ad"]
    found = bpe.translate(lines)
    assert [translation.text == "" for translation in found] == [True, False, True, False, True]
    assert [translation.source for translation in found] == lines
    assert bpe.translate([]) == []
    tree = found[0].to_dict(subwords=True)
    assert tree["translation"] == ""
    assert tree["source_words"] == tree["target_words"] == tree["attention"] == tree["source_subwords"] == []


def test_an_overlong_sentence_is_translated_as_far_as_it_is_read(bpe: Translator) -> None:
    data = bpe.config.data.model_copy(update={"max_length": 9})
    short = Translator([bpe.model], bpe.tokenizers, bpe.config.model_copy(update={"data": data}))
    ids = bpe.tokenizers.source.encode(SENTENCES[0])
    assert len(ids.ids) > 9
    translation, other = short.translate([SENTENCES[0], "Der Hund."])
    assert translation.truncated
    assert not other.truncated
    [[expected]] = bpe.decode([ids.ids[:9]], bpe.config.search)
    assert translation.hypothesis is not None
    assert translation.hypothesis.ids == expected.ids
    assert translation.source_words == (*ids.words[: ids.word_of[8] + 1], "</s>")
    np.testing.assert_allclose(
        translation.attention.sum(axis=1), np.ones(len(translation.target_words)), rtol=1e-6, atol=1e-5
    )
    assert len(translation.source_subwords) == 10
    assert short.score(SENTENCES[0], "A dog.").truncated


def test_an_unknown_word_is_replaced_by_the_one_attended_to(word: Translator) -> None:
    plain = word.translate(SENTENCES)
    replaced = word.translate(SENTENCES, replace_unknown=True)
    count = 0
    for before, after in zip(plain, replaced, strict=True):
        assert before.hypothesis is not None
        np.testing.assert_allclose(before.attention, after.attention, rtol=1e-6, atol=1e-5)
        for row, (old, new) in enumerate(zip(before.target_words, after.target_words, strict=True)):
            if old == UNKNOWN:
                count += 1
                assert new == before.source_words[int(before.attention[row, :-1].argmax())]
                assert new in after.text
            else:
                assert new == old
        assert before.text.count(UNKNOWN) == before.hypothesis.ids.count(UNK)
        assert UNKNOWN not in after.text
    assert count > 10
    known = word.translate(SENTENCES, allow_unknown=False, beam=2)
    assert not any(UNKNOWN in translation.text for translation in known)
    tree = word.trace(SENTENCES[0], allow_unknown=False, beam=2)
    assert tree["hypotheses"][0]["translation"] == known[0].text
    with pytest.raises(AugenmerkError, match="attention of this model is 'mean'"):
        untrained(word, attention="mean").translate("Hund", replace_unknown=True)


def test_search_settings_and_alternatives(bpe: Translator) -> None:
    assert bpe.translate(SENTENCES[0]).text == bpe.translate(SENTENCES[0], beam=4).text  # as the run says
    short = bpe.translate(SENTENCES[0], max_length=4, length_penalty=0.0)
    assert short.hypothesis is not None
    assert (short.finished, len(short.hypothesis.ids), short.score) == (False, 4, short.log_probability)
    one = bpe.translate(SENTENCES[3], beam=6)
    many = bpe.translate(SENTENCES[3], n_best=6)  # the run's own beam is 4
    assert one.alternatives == ()
    assert many.text == one.text
    everything = (many, *many.alternatives)
    assert len({each.text for each in everything}) == len(everything) == 6
    assert all(a.score >= b.score for a, b in pairwise(everything))
    assert len(many.to_dict()["alternatives"]) == 5
    with pytest.raises(AugenmerkError, match="beam of 2 does not find 3 translations"):
        bpe.translate("Hund", beam=2, n_best=3)
    for wrong in (0, -1):
        with pytest.raises(AugenmerkError, match=r"'n_best': .*greater than or equal to 1"):
            bpe.translate("Hund", n_best=wrong)
        with pytest.raises(AugenmerkError, match="'beam'"):
            bpe.translate("Hund", beam=wrong)
    with pytest.raises(AugenmerkError, match="unknown key 'bema'"):
        bpe.translate("Hund", bema=2)


def test_samples(bpe: Translator) -> None:
    def draw(seed: int, **settings: Any) -> list[str]:
        found = bpe.translate(SENTENCES[:3], sample=True, n_best=4, seed=seed, **settings)
        return [each.text for one in found for each in (one, *one.alternatives)]

    assert len(draw(1)) == 12
    assert draw(1) == draw(1) != draw(2)
    greedy = [translation.text for translation in bpe.translate(SENTENCES[:3], beam=1)]
    assert draw(1, top_k=1) == [text for text in greedy for _ in range(4)]
    assert draw(1, temperature=1e-4)[::4] == greedy


def test_a_sample_depends_on_the_seed_and_the_number_of_its_sentence_alone(bpe: Translator) -> None:
    """Whatever the threads, the batches, the chunks, and the other sentences."""

    def draw(translator: Translator, lines: list[str]) -> list[list[str]]:
        found = translator.translate(lines, sample=True, seed=7, top_k=9, n_best=2)
        return [[each.text for each in (one, *one.alternatives)] for one in found]

    lines = [SENTENCES[i % 40] for i in range(64)]
    expected = draw(bpe, lines)
    assert len({tuple(texts) for texts in expected}) > 40  # the same sentence again is another sample
    for threads in (1, 3):
        with Translator(bpe.models, bpe.tokenizers, bpe.config, threads=threads) as other:
            assert draw(other, lines) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translator_module, "CHUNK_LINES", 21)
        assert draw(bpe, lines) == expected
    blank = [line if number % 3 else "" for number, line in enumerate(lines)]
    for number, texts in enumerate(draw(bpe, blank)):
        assert texts == (expected[number] if number % 3 else [""])


def test_a_given_translation_is_scored(bpe: Translator, word: Translator) -> None:
    found = bpe.translate(SENTENCES[5])
    assert found.hypothesis is not None
    assert bpe.tokenizers.target.encode(found.text).ids == found.hypothesis.ids
    again = bpe.score(found.source, found.text)
    assert again.score == pytest.approx(found.score, abs=1e-4)
    assert again.target_words == found.target_words
    np.testing.assert_allclose(again.attention, found.attention, atol=1e-4, rtol=0)
    assert again.score > bpe.score(found.source, "Two purple umbrellas.").score
    strange = word.score(SENTENCES[5], "The Jabberwock sleeps.")  # words that it does not know
    assert strange.target_words == ("The", "Jabberwock", "sleeps", ".", "</s>")
    assert strange.attention.shape == (5, len(strange.source_words))
    assert bpe.score("", "").target_words == ("</s>",)
    assert bpe.score("", "A dog.").source_words == ("</s>",)
    bpe.translate("Der Hund\ud800 schläft.").text.encode()  # half a surrogate pair


def test_a_stream_is_read_as_it_is_needed(bpe: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator_module, "CHUNK_LINES", 10)
    monkeypatch.setattr(translator_module, "CHUNK_CHARACTERS", 400)
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield SENTENCES[number % 7] if number % 3 else f"{number} Hunde"

    expected = bpe.translate([*SENTENCES[:7]], beam=1)
    for number, translation in enumerate(bpe.stream(lines(), beam=1)):
        assert read <= number + 10
        if number % 3:
            assert translation.text == expected[number % 7].text
        else:
            assert translation.source == f"{number} Hunde"
        if number == 50:
            break
    long = bpe.stream(["Hund " * 100, *lines_of(30)], beam=1)
    assert next(long).text  # a long line is a chunk by itself
    monkeypatch.setattr(translator_module, "CHUNK_LINES", 2)
    assert len(list(bpe.stream(lines_of(7), n_best=3))) == 7


def test_none_among_the_lines_asks_for_the_translations_so_far(bpe: Translator) -> None:
    read: list[str | None] = []

    def lines() -> Iterator[str | None]:
        for line in (SENTENCES[0], None, None, SENTENCES[1], SENTENCES[2], None, SENTENCES[3]):
            read.append(line)
            yield line

    drawn = []
    for number, translation in enumerate(bpe.stream(lines(), sample=True, seed=3)):
        assert len(read) == (2, 6, 6, 7)[number]
        drawn.append(translation.text)
    # The numbers of the sentences, which samples depend on, are those of a whole list.
    assert drawn == [one.text for one in bpe.translate(SENTENCES[:4], sample=True, seed=3)]


def lines_of(count: int) -> list[str]:
    return ["Der Hund schläft."] * count


def refused(*arguments: object, stdin: bytes = b"") -> str:
    return fails_with_a_sentence("translate", *arguments, stdin=stdin)


def test_command_with_sentences(bpe_run: Path, bpe: Translator) -> None:
    result = run_command("translate", "--model", bpe_run, "--beam", 4, "--json", "--subwords", *SENTENCES[:2])
    assert result.err == ""
    lines = [json.loads(line) for line in result.out.splitlines()]
    for sentence, line in zip(SENTENCES, lines, strict=False):
        assert line.keys() >= KEYS | {"source_subwords", "target_subwords", "subword_attention"}
        assert "alternatives" not in line
        expected = bpe.translate(sentence, beam=4)
        assert (line["source"], line["translation"]) == (sentence, expected.text)
        assert line["target_words"] == list(expected.target_words)
        assert all(sum(row) == pytest.approx(1.0, abs=1e-4) for row in line["attention"])
    assert len(lines) == 2


def test_command_with_lines_on_stdin(bpe_run: Path, bpe: Translator) -> None:
    stdin = f"{SENTENCES[0]}\r\n\n{' '.join(SENTENCES)}\n{SENTENCES[1]}".encode()
    result = run_command("translate", "--model", bpe_run, "--n-best", 2, stdin=stdin)
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "3", "3", "4", "4"]
    best = bpe.translate(SENTENCES[1], n_best=2)
    assert [row[2] for row in rows[-2:]] == [best.text, best.alternatives[0].text]
    assert result.err.startswith(
        "augenmerk: line 3 has more than 200 tokens, the most this model reads: only its beginning was "
        "translated.\naugenmerk: The translation of line 3 probably leaves out "
    )


def test_command_with_files(word_run: Path, word: Translator, tmp_path: Path) -> None:
    source, target = tmp_path / "de.txt", tmp_path / "en.txt"
    lines = [*SENTENCES, "", *SENTENCES[:3]]
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    target.write_text("what was there before", encoding="utf-8")
    asked = ("--model", word_run, "--input", source, "--output", target, "--replace-unknown")
    answer = run_command("translate", *asked)
    assert (answer.code, answer.out) == (0, ""), answer.err
    written = target.read_text(encoding="utf-8")
    assert written.splitlines() == [each.text for each in word.translate(lines, replace_unknown=True)]
    source.write_bytes("Der Hund\nDer B\xe4r\n".encode("latin-1"))
    assert "de.txt, line 2: not UTF-8" in refused(*asked)
    assert target.read_text(encoding="utf-8") == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de.txt", "en.txt"]


def test_bad_lines_are_left_empty_if_they_may_be(word_run: Path, word: Translator, tmp_path: Path) -> None:
    source, target = tmp_path / "de.txt", tmp_path / "en.txt"
    good = [line.encode() for line in SENTENCES[:2]]
    content = b"\n".join([good[0], b"Der B\xe4r", b"x" * 1_000_001, good[1]]) + b"\n"
    source.write_bytes(content)
    asked = ("--model", word_run, "--input", source, "--output", target)
    assert "line 2: not UTF-8" in (complaint := refused(*asked))
    assert "--skip-bad leaves such lines empty" in complaint
    answer = run_command("translate", *asked, "--skip-bad")
    first, last = (each.text for each in word.translate(SENTENCES[:2]))
    assert target.read_text(encoding="utf-8") == f"{first}\n\n\n{last}\n"
    said = "Bad lines, whose translation is empty: 1 not UTF-8, 1 too long; the first is line 2.\n"
    assert (answer.code, answer.err) == (0, f"augenmerk: {said}")
    piped = run_command("translate", "--model", word_run, "--skip-bad", stdin=content)
    assert (piped.out, piped.err) == (f"{first}\n\n\n{last}\n", answer.err)
    several = ("translate", "--model", word_run, "--skip-bad", "--beam", 2, "--n-best", 2)
    rows = [line.split("\t") for line in run_command(*several, stdin=content).out.splitlines()]
    # A score of 0 would be the best.
    assert [row for row in rows if row[0] in "23"] == [["2", "", ""], ["3", "", ""]]
    assert all(float(score) < 0 for number, score, _ in rows if number in "14")


def test_what_is_no_sentence_is_refused_nor_is_one_a_stream_of_letters(word: Translator) -> None:
    sentences: tuple[Any, ...] = (None, 3, b"Der Hund.", ["Der Hund.", 3], [b"Der Hund."])
    for wrong in sentences:
        with pytest.raises(TypeError, match=r"^(translate takes a sentence|a sentence must be a str, not)"):
            word.translate(wrong)
    for text in ("Der Hund.", b"Der Hund."):
        with pytest.raises(TypeError, match=r"^stream takes many sentences"):
            next(word.stream(text))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^a sentence must be a str, not int: 3"):
        list(word.stream(["Der Hund.", 3]))  # type: ignore[list-item]
    for pairs in (["ab"], [("Der Hund.",)], [("Der Hund.", None)]):
        with pytest.raises(TypeError, match=r"^a (pair must be \(source, target\)|sentence must be a str)"):
            word.score_all(pairs)  # type: ignore[arg-type]


def test_what_cannot_be_translated(bpe_run: Path, tmp_path: Path) -> None:
    assert "stdin, line 1: not UTF-8" in refused("--model", bpe_run, stdin=b"Der B\xe4r")
    assert "Sentence 2 is empty" in refused("--model", bpe_run, "Hallo.", " ")
    hello = ["Der Hund", "--model", bpe_run]
    for arguments, complaint in (
        (["Der Hund", "--model", tmp_path / "no"], "there is no such run directory"),
        ([*hello, "--input", tmp_path], "one or the other"),
        ([*hello, "--output", tmp_path], "is a folder"),
        ([*hello, "--subwords"], "add --json"),
        ([*hello, "--sample", "--beam", 2], "--sample or --beam"),
        ([*hello, "--candidates", 3], "set mbr = true too"),
        ([*hello, "Der B\udce4r"], "Sentence 2 is not UTF-8"),
    ):
        assert complaint in refused(*arguments)


def test_a_file_that_is_given_as_the_sentence_is_translated(bpe_run: Path, tmp_path: Path) -> None:
    (tmp_path / "de.txt").write_text("\n".join(SENTENCES[:3]) + "\n", encoding="utf-8")
    answer = run_command("translate", "--model", bpe_run, "de.txt", cwd=tmp_path)
    meant = run_command("translate", "--model", bpe_run, "--input", "de.txt", cwd=tmp_path)
    assert answer.err == f"augenmerk: de.txt is a file, whose lines are translated.\n{meant.err}"
    assert answer.out == meant.out
    assert len(answer.out.splitlines()) == 3
