"""Texts of several sentences: whatever translates them leaves none out, and all ways give the same."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augenmerk
from augenmerk import Translation
from augenmerk.serve.registry import ModelRegistry
from augenmerk.translation import Translator
from augenmerk.translation.decoding import LEAST_WEIGHT, MOST_MISSING, find_gap
from tests.support.command import COMMAND, run_command, run_json
from tests.support.mechanisms import CLASSIC
from tests.support.runs import SharedRuns, tiny
from tests.support.serving import Serving, serving

ONE = "Ein Hund schläft."
TWO = "Zwei Männer spielen Fußball."
THREE = "Eine Frau liest ein Buch."
TEXT = f"{ONE} {TWO}\n\n  {THREE}\n"
SHORT = f"{ONE} {TWO}"


@pytest.fixture(scope="module")
def translator() -> Translator:
    return augenmerk.load()


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving(ModelRegistry()) as one:
        yield one


def without_numbers(tree: Any) -> Any:
    """Returns data without numbers, which differ in the last bits between batches."""
    if isinstance(tree, dict):
        return {key: without_numbers(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [without_numbers(value) for value in tree]
    return None if isinstance(tree, float) else tree


# Python


def test_no_sentence_of_a_text_is_left_out_and_paragraphs_are_kept(translator: Translator) -> None:
    whole = translator.translate(TEXT)
    alone = [translator.translate(one) for one in (ONE, TWO, THREE)]
    assert whole.text == "{} {}\n\n  {}\n".format(*(one.text for one in alone))
    assert [one.source for one in whole.sentences] == [ONE, TWO, THREE]
    assert [one.text for one in whole.sentences] == [one.text for one in alone]
    assert whole.log_probability == pytest.approx(sum(one.log_probability for one in alone), abs=1e-4)
    assert whole.score == pytest.approx(sum(one.score for one in alone) / 3, abs=1e-4)
    assert whole.uncovered is None


def test_a_single_sentence_is_what_it_was(translator: Translator) -> None:
    same = translator.translate(ONE), translator.translate(ONE, split_sentences=False)
    assert json.dumps(same[0].to_dict(subwords=True)) == json.dumps(same[1].to_dict(subwords=True))
    assert same[0].sentences == ()
    assert "sentences" not in same[0].to_dict()
    assert translator.translate(f"  {ONE} ").source == f"  {ONE} "


def test_a_text_is_translated_the_same_alone_and_in_a_list(translator: Translator) -> None:
    texts = [TEXT, ONE, "", SHORT, "   ", "\n", "...", THREE]
    assert [one.text for one in translator.translate(texts)] == [
        translator.translate(one).text for one in texts
    ]
    assert [one.source for one in translator.translate(texts)] == texts


def test_lines_are_not_split_unless_asked(translator: Translator) -> None:
    lines = [SHORT, None, ONE]
    whole, one = translator.stream(lines)
    assert (whole.sentences, one.sentences) == ((), ())
    assert whole.text == translator.translate(SHORT, split_sentences=False).text
    asked = list(translator.stream(lines, split_sentences=True))
    assert [each.text for each in asked] == [translator.translate(SHORT).text, one.text]


def test_words_and_attention_of_a_text_are_those_of_its_sentences(translator: Translator) -> None:
    whole = translator.translate(SHORT)
    first, second = whole.sentences
    assert whole.source_words == first.source_words + second.source_words
    assert whole.target_words == first.target_words + second.target_words
    assert whole.source_subwords == first.source_subwords + second.source_subwords
    assert whole.target_subwords == first.target_subwords + second.target_subwords
    assert whole.word_log_probabilities == first.word_log_probabilities + second.word_log_probabilities
    rows, columns = first.attention.shape
    assert np.array_equal(whole.attention[:rows, :columns], first.attention)
    assert np.array_equal(whole.attention[rows:, columns:], second.attention)
    assert not whole.attention[:rows, columns:].any()
    assert not whole.attention[rows:, :columns].any()
    assert whole._repr_html_().count("<table") == first._repr_html_().count("<table") * 2


def test_alternatives_of_a_text_are_those_of_its_sentences_by_rank(translator: Translator) -> None:
    whole = translator.translate(SHORT, beam=5, n_best=3)
    first, second = (translator.translate(one, beam=5, n_best=3) for one in (ONE, TWO))
    assert [one.text for one in whole.alternatives] == [
        f"{a.text} {b.text}" for a, b in zip(first.alternatives, second.alternatives, strict=True)
    ]
    described = whole.to_dict()
    assert [len(one["alternatives"]) for one in described["sentences"]] == [2, 2]
    assert not any("sentences" in one for one in described["alternatives"])


def test_samples_of_a_sentence_depend_on_its_place_and_the_first_is_that_of_the_text(
    translator: Translator,
) -> None:
    how: dict[str, Any] = {"sample": True, "temperature": 2.0, "seed": 3}
    whole = translator.translate(f"{ONE} {ONE} {ONE}", **how)
    assert whole.sentences[0].text == translator.translate(ONE, **how).text
    assert len({one.text for one in whole.sentences}) > 1
    both = translator.translate([TWO, f"{ONE} {ONE}"], **how)
    assert both[1].text == translator.translate(f"{ONE} {ONE}", numbers=[1], **how).text


def test_heads_are_in_the_sentences(translator: Translator) -> None:
    whole = translator.translate(SHORT, heads=True)
    assert [len(one.heads) for one in whole.sentences] == [1, 1]


def test_the_json_of_a_text_has_its_words_in_its_sentences(translator: Translator) -> None:
    tree = translator.translate(SHORT).to_dict(subwords=True)
    plain = translator.translate(ONE).to_dict(subwords=True)
    assert tree.keys() < plain.keys() | {"sentences"}
    assert "attention" not in tree
    assert [one.keys() for one in tree["sentences"]] == [plain.keys()] * 2
    assert translator.translate(SHORT).to_dict(attention=False)["sentences"][0].keys() == tree.keys() - {
        "sentences"
    }


def test_what_is_measured_is_measured_line_by_line(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    (tmp_path / "pairs.tsv").write_text(f"{SHORT}\tA dog sleeps. Two men play.\n", encoding="utf-8")
    answer = run_command("evaluate", run.path, "--data", tmp_path / "pairs.tsv", "--beam", "1")
    assert answer.code == 0, answer.err
    [hypotheses] = (one for one in run.path.rglob("*beam1*.txt") if "pairs" in str(one))
    same = augenmerk.load(run.path).translate(SHORT, beam=1, split_sentences=False)
    assert hypotheses.read_text(encoding="utf-8") == f"{same.text}\n"


# What a translation leaves out


def test_a_sentence_that_is_left_out_is_named(translator: Translator) -> None:
    left_out = translator.translate(SHORT, split_sentences=False)
    assert left_out.text == "A dog sleeps."
    assert left_out.uncovered == TWO
    described = left_out.to_dict()["uncovered"]
    assert described["text"] == TWO
    assert TWO in described["in_words"]
    one = "Ein kleiner Hund läuft über die Wiese und eine alte Frau mit Hut liest auf einer Bank ein Buch."
    scored = translator.score(one, "A small dog runs across the grass.")
    assert scored.uncovered is not None
    assert "mit Hut liest auf einer Bank ein Buch" in scored.uncovered


def test_a_translation_that_is_given_may_leave_something_out(translator: Translator) -> None:
    source = "Ein kleiner Hund läuft über die grüne Wiese, und eine alte Frau mit Hut liest auf einer Bank."
    assert translator.score(source, "A small dog is running across the green meadow.").uncovered
    whole = "A small dog runs across the green meadow, and an old woman with a hat reads on a bench."
    assert translator.score(source, whole).uncovered is None


@pytest.mark.parametrize("attention", CLASSIC)
def test_attention_that_tells_nothing_reports_nothing(
    attention: str, shared_runs: SharedRuns, tmp_path: Path
) -> None:
    run = shared_runs.copy(tiny(model__attention=attention), tmp_path / "run")
    found = augenmerk.load(run.path).translate([SHORT, "Der Hund " * 30], split_sentences=False)
    if attention in ("none", "mean"):
        assert [one.uncovered for one in found] == [None, None]
    assert all(one.uncovered is None or one.uncovered in one.source for one in found)


@given(st.lists(st.floats(0, 2), min_size=1, max_size=30))
def test_the_gap_is_the_run_of_tokens_that_lacks_the_most(weights: list[float]) -> None:
    looked_at = np.array(weights)
    runs = {
        (first, last): sum(LEAST_WEIGHT - weight for weight in weights[first : last + 1])
        for first in range(len(weights))
        for last in range(first, len(weights))
    }
    found = find_gap(looked_at)
    most = max(runs.values())
    if abs(most - MOST_MISSING) > 1e-9:
        assert (found is not None) == (most > MOST_MISSING)
    if found is not None:
        assert runs[found] == pytest.approx(most)


# The command line


def test_arguments_are_texts() -> None:
    answer = run_command("translate", SHORT, f"{ONE}\n\n{THREE}")
    assert answer.code == 0
    assert answer.out.count("\n") == 4
    assert "soccer" in answer.out.splitlines()[0]
    assert answer.err == ""
    off = run_command("translate", "--no-split-sentences", SHORT)
    assert off.out == "A dog sleeps.\n"
    assert TWO in off.err
    assert "--split-sentences" in off.err


def test_lines_of_a_pipe_and_of_a_file_stay_lines(tmp_path: Path) -> None:
    lines = f"{SHORT}\n\n{ONE}\n{SHORT}\n"
    piped = run_command("translate", stdin=lines.encode())
    assert piped.out.split("\n")[0] == "A dog sleeps."
    assert piped.out.count("\n") == 4
    assert "2 of 4 translations" in piped.err
    assert "line 1" in piped.err
    (tmp_path / "de").write_text(lines, encoding="utf-8")
    for extra, code in ((), False), (("--split-sentences",), True):
        answer = run_command("translate", "--input", tmp_path / "de", "--output", tmp_path / "en", *extra)
        assert answer.code == 0
        written = (tmp_path / "en").read_text(encoding="utf-8").split("\n")
        assert len(written) == 5
        assert ("soccer" in written[0]) == code
        assert (TWO in answer.err) == (not code)


def test_a_character_that_breaks_lines_makes_no_second_line() -> None:
    answer = run_command("translate", "--split-sentences", stdin=f"{ONE}\u2028{TWO}\v{THREE}\n".encode())
    assert len(answer.out.splitlines()) == 1
    assert "soccer" in answer.out


def test_json_has_a_line_for_each_text_and_alternatives_have_numbers_for_sentences() -> None:
    lines = run_command("translate", "--json", "--heads", TEXT, ONE).out.splitlines()
    assert [json.loads(line)["source"] for line in lines] == [TEXT, ONE]
    sentences = json.loads(lines[0])["sentences"]
    assert [one["source"] for one in sentences] == [ONE, TWO, THREE]
    assert all(one["heads"] for one in sentences)
    ranked = run_command("translate", "--n-best", "2", "--beam", "5", SHORT, ONE).out.splitlines()
    assert [line.split("\t")[0] for line in ranked] == ["1.1", "1.1", "1.2", "1.2", "2", "2"]
    assert all(len(line.split("\t")) == 3 for line in ranked)


def test_commands_about_sentences_take_each_of_a_text(tmp_path: Path) -> None:
    drawn = run_json("diagram", SHORT, "--out", tmp_path / "both.png")
    assert [one["source"] for one in drawn["diagrams"]] == [ONE, TWO]
    assert (tmp_path / "both.png").exists()
    measured = run_json("faithfulness", SHORT)
    assert [one["source"] for one in measured["chosen"]] == [ONE, TWO]
    wanted = run_json("faithfulness", "--wanted", "dog", SHORT)
    assert [one["source"] for one in wanted["sentences"]] == [ONE, TWO]
    assert {one["source"] for one in run_json("patterns", SHORT)} <= {ONE, TWO}


def test_commands_that_take_a_text_as_one_sentence_warn() -> None:
    scored = run_command("score", SHORT, "A dog is sleeping. Two men are playing soccer.")
    assert scored.code == 0
    assert "Source 1 has 2 sentences" in scored.err
    assert "Target 1 has 2 sentences" in scored.err
    assert "sentences" not in run_command("score", ONE, "A dog is sleeping.").err


# The server


def test_the_server_answers_what_the_command_line_prints(server: Serving, translator: Translator) -> None:
    texts = [TEXT, ONE, SHORT]
    for how in ({}, {"attention": True}, {"n_best": 2, "beam": 4}, {"sample": True, "seed": 5}):
        answer = server.post("/v1/translate", {"text": texts, **how}).json()["translations"]
        shown: dict[str, Any] = {key: value for key, value in how.items() if key != "attention"}
        same = [one.to_dict(attention="attention" in how) for one in translator.translate(texts, **shown)]
        assert without_numbers(answer) == without_numbers(same)


def test_a_request_may_take_a_text_as_one_sentence(server: Serving) -> None:
    answer = server.post("/v1/translate", {"text": SHORT, "split_sentences": False}).json()
    [one] = answer["translations"]
    assert one["translation"] == "A dog sleeps."
    assert one["uncovered"]["text"] == TWO
    assert "sentences" not in one


def test_libretranslate_has_the_same_sentences(server: Serving, translator: Translator) -> None:
    answer = server.post("/translate", {"q": [TEXT, ONE], "source": "de", "target": "en", "alternatives": 1})
    found: list[Translation] = translator.translate([TEXT, ONE], n_best=2)
    assert answer.json() == {
        "translatedText": [one.text for one in found],
        "alternatives": [[one.alternatives[0].text] for one in found],
    }


def test_the_description_of_the_api_has_the_new_fields(server: Serving) -> None:
    schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
    assert "split_sentences" in schemas["TranslateRequest"]["properties"]
    assert {"sentences", "uncovered"} <= schemas["TranslationResponse"]["properties"].keys()
    assert "uncovered" in schemas["ScoredPair"]["properties"]


def test_too_many_sentences_are_refused() -> None:
    with serving(ModelRegistry(), texts=3) as server:
        assert "4 sentences" in server.refuses(413, "/v1/translate", {"text": f"{SHORT} {SHORT}"})
        assert server.translate(TEXT)


@settings(max_examples=20, deadline=None)
@given(parts=st.lists(st.sampled_from([ONE, TWO, THREE, "\n", "\n\n", "---", " ", "👍"]), max_size=8))
def test_no_sentence_is_lost_in_any_text(parts: list[str]) -> None:
    text = " ".join(parts)
    found = load_once().translate(text, beam=1)
    sources = [one.source for one in found.sentences] or [found.source]
    for known in (ONE, TWO, THREE):
        assert sum(known in source for source in sources) == parts.count(known)
    if found.sentences:
        assert found.text.count("\n") == text.count("\n")
        assert all(one.text in found.text for one in found.sentences)


@cache
def load_once() -> Translator:
    return augenmerk.load()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals like this")
def test_what_is_typed_at_a_terminal_is_text() -> None:
    terminal, end = os.openpty()
    try:
        typing = subprocess.Popen(
            [*COMMAND, "translate"], stdin=end, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        os.write(terminal, f"{SHORT}\n\x04".encode())
        printed, _ = typing.communicate(timeout=60)
    finally:
        os.close(terminal)
        os.close(end)
    assert "soccer" in printed.decode()
