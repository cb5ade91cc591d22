"""Scores of given translations, held against the loss of `evaluate` and what a search finds."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from augenmerk.data import SentencePair, open_data
from augenmerk.data.exporting import write_splits
from augenmerk.evaluation.evaluator import Evaluator, count_words, evaluate_run
from augenmerk.run.directory import RunDirectory
from augenmerk.translation import load
from tests.cli.test_heads import MULTI_HEAD
from tests.support.command import fails_with_a_sentence, run_command
from tests.support.runs import CPU, SharedRuns


@pytest.fixture(scope="module")
def run(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(MULTI_HEAD, folder / "runs")


@pytest.fixture(scope="module")
def pairs(run: RunDirectory) -> list[SentencePair]:
    return list(open_data(run.config.data)["val"])


def scored(*arguments: object, stdin: bytes = b"") -> list[dict[str, Any]]:
    answer = run_command("score", *arguments, "--json", stdin=stdin)
    assert answer.code == 0, answer.err
    return [json.loads(line) for line in answer.out.splitlines()]


def test_the_sum_is_that_of_evaluate(run: RunDirectory, pairs: list[SentencePair], tmp_path: Path) -> None:
    [row] = evaluate_run(Evaluator(run, CPU), ["val"], [1])
    write_splits({"pairs": pairs}, tmp_path, "de", "en", format="tsv")
    found = scored(run.path, "--data", tmp_path / "pairs.tsv")
    assert [(one["source"], one["target"]) for one in found] == [(pair.source, pair.target) for pair in pairs]
    tokens = sum(one["tokens"] for one in found)
    loss = -sum(one["log_probability"] for one in found) / tokens
    assert (tokens, loss) == (row["tokens"], pytest.approx(row["loss"], rel=1e-6))
    for one in found:
        assert sum(one["word_log_probabilities"]) == pytest.approx(one["log_probability"])
        assert one["loss"] == pytest.approx(-one["log_probability"] / one["tokens"])
        assert one["perplexity"] == pytest.approx(math.exp(one["loss"]))
        words = count_words([SentencePair(one["source"], one["target"])])
        assert one["word_perplexity"] == pytest.approx(math.exp(-one["log_probability"] / words))
        assert len(one["attention"]) == len(one["target_words"]) == words
        assert "heads" not in one
    summary = run_command("score", run.path, "--data", "bilderbuch", "--split", "val").out.splitlines()[-1]
    assert f"{len(pairs):,} pairs" in summary
    assert f"loss {row['loss']:.4f} a token" in summary
    assert f"perplexity {row['perplexity']:.2f}, {row['word_perplexity']:.2f} a word" in summary


def test_own_words_have_the_probability_of_the_search(run: RunDirectory, pairs: list[SentencePair]) -> None:
    translator = load(run.path)
    said = [one for one in translator.translate([pair.source for pair in pairs[:20]], beam=1) if one.text]
    stdin = "".join(f"{one.source}\t{one.text}\n" for one in said).encode()
    found = scored("--model", run.path, stdin=stdin)
    # Subwords that the model put together otherwise than the tokenizer does have another probability.
    encode = run.tokenizers.target.encode
    same = [
        (one, line["log_probability"])
        for one, line in zip(said, found, strict=True)
        if one.hypothesis is not None and one.finished and encode(one.text).ids == one.hypothesis.ids
    ]
    assert same
    for one, log_probability in same:
        assert log_probability == pytest.approx(one.log_probability, rel=1e-5)


def test_pairs_of_the_command_line(run: RunDirectory) -> None:
    asked = ("score", run.path, "Der Hund schläft.", "The dog is sleeping.", "Ein Ball.", "A ball.")
    answer = run_command(*asked, "--show-attention", "--heads")
    assert answer.code == 0, answer.err
    first, second = load(run.path).score_all([(asked[2], asked[3]), (asked[4], asked[5])])
    for one in (first, second):
        for word, value in zip(one.target_words, one.word_log_probabilities, strict=True):
            assert [word, f"{value:.2f}"] in [line.split()[:2] for line in answer.out.splitlines()]
    total = first.log_probability + second.log_probability
    assert f"2 pairs: log-probability {total:,.2f}" in answer.out
    assert [answer.out.count(f"head {number}") for number in (1, 2, 3, 4, 5)] == [2, 2, 2, 2, 0]
    assert [one["head"] for one in scored(run.path, *asked[2:4], "--heads")[0]["heads"]] == [1, 2, 3, 4]


def test_without_a_run_it_is_the_model_that_ships() -> None:
    likely, unlikely = scored("Ein Hund schläft.", "A dog is sleeping.", "Ein Hund schläft.", "Two red cars.")
    assert likely["perplexity"] < 3 < 30 < unlikely["perplexity"]


def test_bad_lines_of_a_file(run: RunDirectory, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"Ein Hund.\tA dog.\nB\xe4r\tBear\nno tab\nEine Katze.\tA cat.\n")
    asked = ("score", run.path, "--data", path)
    complaint = run_command(*asked, "--json")
    assert complaint.code == 2
    assert "line 2: not UTF-8" in complaint.err
    assert complaint.err.endswith("--skip-bad leaves such lines out.\n")
    answer = run_command(*asked, "--skip-bad", "--json")
    assert [json.loads(line)["target"] for line in answer.out.splitlines()] == ["A dog.", "A cat."]
    assert "2 bad lines skipped: 1 malformed, 1 not UTF-8" in answer.err
    piped = run_command("score", run.path, "--json", stdin=path.read_bytes())
    assert piped.code == 2
    assert "stdin, line 2: not UTF-8" in piped.err
    assert piped.err.endswith("--skip-bad leaves such lines out.\n")
    assert run_command("score", run.path, "--skip-bad", "--json", stdin=path.read_bytes()) == answer
    assert "leave out --data and --skip-bad" in fails_with_a_sentence(
        "score", run.path, "Ein Hund.", "A dog.", "--skip-bad"
    )


def test_bad_input_gets_one_sentence(run: RunDirectory, tmp_path: Path) -> None:
    for arguments, expected in (
        (("Ein Hund.",), "'Ein Hund.' is not a run directory"),
        ((tmp_path, "Ein Hund.", "A dog."), "is not a run directory"),
        (("Ein Hund.", " "), "Sentence 2 is empty"),
        (("Ein Hund.", "A dog.", "--data", "bilderbuch"), "leave out --data"),
        (("--split", "val"), "add --data"),
        (("--data", tmp_path / "none.tsv"), "there is no such file"),
        (("--heads",), "add one of them"),
    ):
        assert expected in fails_with_a_sentence("score", *arguments)
    complaint = fails_with_a_sentence("score", run.path, stdin=b"Ein Hund.\tA dog.\nEine Katze.\n")
    assert "stdin, line 2: expected 2 columns" in complaint
    nothing = run_command("score", run.path)
    assert (nothing.code, nothing.out) == (0, "No pairs.\n")
    complaint = fails_with_a_sentence("score", run.path, "Ein Hund.")
    assert "every sentence needs its translation" in complaint
