"""Scores of really trained tiny models, held against sacrebleu itself: the library and the command."""

import gzip
import json
import math
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from augenmerk import AugenmerkError
from augenmerk.base.config import BilderbuchConfig, ModelConfig
from augenmerk.base.files import write_lines
from augenmerk.data import SentencePair, open_bitext, open_data
from augenmerk.data.exporting import write_splits
from augenmerk.evaluation.comparison import compare_runs
from augenmerk.evaluation.evaluator import (
    Evaluator,
    Loss,
    count_words,
    evaluate_run,
    hypothesis_path,
    measure_loss,
    model_score_path,
    reference_path,
)
from augenmerk.evaluation.metrics import score_texts
from augenmerk.model.gru import GRUTranslator
from augenmerk.run.directory import RunDirectory
from augenmerk.text.batching import ParallelTokens, encode_pairs
from augenmerk.text.tokenizer import BOS, EOS, normalise
from augenmerk.training.data import Validation
from augenmerk.training.start import start
from augenmerk.translation import load, load_model
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import CPU, SharedRuns, tiny
from tests.support.sacrebleu_command import run_sacrebleu

KEYS = (
    *("split", "beam", "bleu", "bleu_signature", "bleu_cased", "bleu_cased_signature", "chrf"),
    *("chrf_signature", "chrf_cased", "chrf_cased_signature", "length_ratio", "model_score", "loss"),
    *("perplexity", "word_perplexity", "tokens", "sentences", "sentences_per_second"),
    *("model_sha256", "data_sha256"),
)


def settings_of(unit: str, epochs: int) -> dict[str, Any]:
    """On so few pairs that much of them is learnt by heart: their scores are neither 0 nor 100."""
    subwords = unit == "bpe"
    return {
        "data": {"bilderbuch": {"pairs": 120}, "validation": "train"},
        "text": {"unit": unit, "lowercase": subwords, "joint": subwords, "vocabulary_size": 500},
        "model": {"embedding": 48, "hidden": 48, "key": 48},
        "train": {"epochs": epochs, "batch_size": 8, "lr": 0.01, "precision": "fp32", "bleu": False},
        "search": {"beam": 2},
    }


@pytest.fixture(scope="module")
def words(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(settings_of("word", 6), folder / "words")


@pytest.fixture(scope="module")
def subwords(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    """Another vocabulary, and in lower case."""
    return shared_runs.copy(settings_of("bpe", 9), folder / "subwords")


@pytest.fixture(scope="module")
def rows(words: RunDirectory) -> list[dict[str, Any]]:
    return evaluate_run(Evaluator(words, CPU, metrics=["ter"]), ["train", "val"], [1, 3])


def pairs_of(split: str) -> list[SentencePair]:
    return list(open_bitext("bilderbuch", pairs=120)[split])


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def copied(run: RunDirectory, place: Path, **data: object) -> RunDirectory:
    """The same model in a directory of its own, perhaps with other data."""
    changed = run.config.data.model_copy(update=data)
    copy = RunDirectory.create(place, run.config.model_copy(update={"data": changed}), run.tokenizers)
    copy.save_model(run.load_model(), {})
    return copy


# The sacrebleu command and library


def sacrebleu_prints(*arguments: str | Path) -> Any:
    return json.loads(run_sacrebleu(*arguments, "-w", "9", "-q"))


def test_scores_are_those_of_sacrebleu(words: RunDirectory, rows: list[dict[str, Any]]) -> None:
    asked = [("train", 1), ("train", 3), ("val", 1), ("val", 3)]
    assert [(row["split"], row["beam"]) for row in rows] == asked
    assert 5 < rows[0]["bleu"] < 95
    assert rows[0]["bleu_cased"] != rows[0]["bleu"]
    for row in rows:
        references = [pair.target for pair in pairs_of(row["split"])]
        assert lines_of(reference_path(words, row["split"])) == references
        hypotheses = lines_of(hypothesis_path(words, row["split"], row["beam"]))
        for name, metric in (
            *(("bleu", BLEU(lowercase=True)), ("bleu_cased", BLEU()), ("ter", TER())),
            *(("chrf", CHRF(lowercase=True)), ("chrf_cased", CHRF())),
        ):
            theirs = metric.corpus_score(hypotheses, [references])
            assert row[name] == pytest.approx(theirs.score, abs=1e-9)
            assert row[f"{name}_signature"] == metric.get_signature().format()
            if name == "bleu":
                assert row["length_ratio"] == theirs.sys_len / theirs.ref_len
    for row in rows:
        assert row.keys() == {*KEYS, "ter", "ter_signature"}
        assert row["sentences"] == len(pairs_of(row["split"]))
        assert row["sentences_per_second"] > 0
        assert row["model_score"] < 0
    assert rows[0]["loss"] == rows[1]["loss"] != rows[2]["loss"] == rows[3]["loss"]


printable = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=40)
@given(st.lists(st.tuples(printable.map(normalise), printable), min_size=1, max_size=5))
def test_a_line_stays_a_line(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]) -> None:
    """Whatever stands in the sentences, a line stays a line."""
    folder = tmp_path_factory.mktemp("lines")
    hypotheses = [hypothesis for hypothesis, _ in texts]
    references = [reference.replace("\n", " ") for _, reference in texts]
    write_lines(folder / "hypotheses", hypotheses)
    write_lines(folder / "references", references)
    read = []
    for name in ("hypotheses", "references"):
        with (folder / name).open(encoding="utf-8", newline="\n") as file:  # as sacrebleu does
            read.append([line.rstrip() for line in file])
    assert score_texts(*read) == score_texts(hypotheses, references)


def test_a_reference_of_two_lines_is_one(words: RunDirectory, tmp_path: Path) -> None:
    pairs = '{"source": "Ein Hund.", "target": "A\\ndog."}\n{"source": "Zwei.", "target": "Two."}\n'
    (tmp_path / "train.jsonl").write_text(pairs)
    (tmp_path / "test.tsv").write_text("Drei.\tThree.\n")
    run = copied(words, tmp_path / "run", bitext=str(tmp_path))
    [row] = evaluate_run(Evaluator(run, CPU), ["train"])
    assert row["sentences"] == 2
    assert lines_of(reference_path(run, "train")) == ["A dog.", "Two."]


def test_a_model_that_says_nothing(words: RunDirectory, tmp_path: Path) -> None:
    """All hypotheses are empty: nought, not an error."""
    run = copied(words, tmp_path / "silent")
    weights = run.load_model()
    weights["W_o.bias"][EOS] += 1000.0
    run.save_model(weights, {})
    [row] = evaluate_run(Evaluator(run, CPU, metrics=["ter"]), ["val"])
    assert lines_of(hypothesis_path(run, "val", 2)) == [""] * len(pairs_of("val"))
    assert (row["bleu"], row["chrf"], row["length_ratio"], row["ter"]) == (0.0, 0.0, 0.0, 100.0)
    compared = compare_runs(Evaluator(words, CPU), Evaluator(run, CPU), ["val"])[0]["baseline"]["chrf"]
    assert compared["difference"] > 0
    assert compared["baseline_interval"] == (0.0, 0.0)


# Loss and perplexity


def test_loss_is_the_mean_over_all_tokens_whatever_the_batches() -> None:
    torch.manual_seed(5)
    model = GRUTranslator(ModelConfig(embedding=6, hidden=5, key=4), 40, 40).double().eval()
    rng = random.Random(3)
    sentences = [[rng.randrange(4, 40) for _ in range(rng.randrange(9))] for _ in range(46)]
    pairs = list(zip(sentences[:23], sentences[23:], strict=True))
    total, tokens = 0.0, 0
    for source, target in pairs:  # by hand: one sentence after another, nothing padded
        src = torch.tensor([[*source, EOS]])
        with torch.no_grad():
            log_probs, _ = model(src, torch.ones_like(src).bool(), torch.tensor([[BOS, *target]]))
        for position, token in enumerate([*target, EOS]):
            total -= float(log_probs[0, position, token])
            tokens += 1
    data = ParallelTokens.of(pairs).to("cpu")
    for batch_size in (1, 2, 7, 23, 100):
        loss = measure_loss([model], data, batch_size)
        assert loss.tokens == tokens
        assert loss.total == pytest.approx(total, rel=1e-12)
        assert loss.mean == pytest.approx(total / tokens, rel=1e-12)
        assert loss.perplexity == pytest.approx(math.exp(total / tokens), rel=1e-12)
    with pytest.raises(ValueError, match="evaluation mode"):
        measure_loss([model.train()], data)


@given(st.floats(0, 1e6), st.integers(1, 1000), st.integers(1, 1000))
def test_perplexities_share_one_sum(total: float, tokens: int, words: int) -> None:
    loss = Loss(total, tokens)
    assert loss.perplexity == loss.word_perplexity(tokens)
    assert loss.perplexity >= 1.0
    if total / min(tokens, words) < 600:
        assert math.log(loss.word_perplexity(words)) * words == pytest.approx(total, abs=1e-6)


def test_word_perplexity(words: RunDirectory, subwords: RunDirectory, rows: list[dict[str, Any]]) -> None:
    count = count_words(pairs_of("val"))
    by_words = rows[2]
    assert by_words["tokens"] == count
    assert by_words["word_perplexity"] == by_words["perplexity"] == math.exp(by_words["loss"])
    [by_subwords] = evaluate_run(Evaluator(subwords, CPU), ["val"], [1])
    assert by_subwords["tokens"] > count
    assert by_subwords["perplexity"] == pytest.approx(math.exp(by_subwords["loss"]))
    in_all = by_subwords["loss"] * by_subwords["tokens"]
    assert by_subwords["word_perplexity"] == pytest.approx(math.exp(in_all / count))
    for run, row in ((words, by_words), (subwords, by_subwords)):
        data = encode_pairs(
            pairs_of("val"), run.tokenizers.source.encode_ids, run.tokenizers.target.encode_ids
        )
        assert row["loss"] == pytest.approx(measure_loss([load_model(run)], data.to("cpu"), 17).mean)


# What a run remembers


def test_scores_are_replaced_by_split_and_beam_others_kept(words: RunDirectory, tmp_path: Path) -> None:
    run = copied(words, tmp_path / "run")
    reports: list[tuple[str, int, int]] = []
    first = evaluate_run(
        Evaluator(run, CPU, on_progress=lambda *report: reports.append(report)), ["val"], [1, 2, 1]
    )
    assert run.read_scores() == first
    assert [row["beam"] for row in first] == [1, 2]
    for beam in (1, 2):
        asked = (f"{run.path}: val, beam {beam}", len(pairs_of("val")))
        done = [done for what, done, total in reports if (what, total) == asked]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, asked[1])
    others = evaluate_run(Evaluator(run, CPU), ["train"], [2])
    again = evaluate_run(Evaluator(run, CPU, metrics=["ter"]), ["val"], [2])
    assert run.read_scores() == [first[0], *others, *again]
    assert "ter" in again[0]
    assert all(again[0][key] == first[1][key] for key in KEYS if key != "sentences_per_second")


def test_bleu_during_training_is_the_greedy_one(subwords: RunDirectory) -> None:
    [row] = evaluate_run(Evaluator(subwords, CPU), ["val"], [1])
    data = subwords.config.data.model_copy(update={"validation": "val"})
    train_config = subwords.config.train.model_copy(update={"bleu": True})
    config = subwords.config.model_copy(update={"data": data, "train": train_config})
    validation = Validation(open_data(data), subwords.tokenizers, config, CPU)
    measured = validation.measure(load_model(subwords))
    assert measured["validation_bleu"] == row["bleu"] > 0
    assert measured["validation_loss"] == pytest.approx(row["loss"])


def test_an_overlong_source_is_scored_as_by_the_translator(subwords: RunDirectory, tmp_path: Path) -> None:
    run = copied(subwords, tmp_path / "run", max_length=7)
    pairs = pairs_of("val")
    scored = load(run.path).score_all([(pair.source, pair.target) for pair in pairs])
    assert sum(each.truncated for each in scored) > 20
    for beam in (1, 3):
        [row] = evaluate_run(Evaluator(run, CPU), ["val"], [beam])
        assert row["loss"] * row["tokens"] == pytest.approx(-sum(each.log_probability for each in scored))
        translations = load(run.path).translate([pair.source for pair in pairs], beam=beam)
        assert lines_of(hypothesis_path(run, "val", beam)) == [each.text for each in translations]
        scores = lines_of(model_score_path(run, "val", beam))
        assert [float(line) for line in scores] == pytest.approx([each.score for each in translations])


# One run against another


def test_only_the_same_sentences_are_compared(words: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(AugenmerkError, match="cannot be compared with itself"):
        compare_runs(Evaluator(words, CPU), Evaluator(RunDirectory.open(words.path), CPU), ["train"])
    fewer = copied(words, tmp_path / "fewer", bilderbuch=BilderbuchConfig(pairs=110))
    with pytest.raises(AugenmerkError, match="on 'train': it has 120 sentences in the one and 110 in the"):
        compare_runs(Evaluator(words, CPU), Evaluator(fewer, CPU), ["train"])
    other = copied(words, tmp_path / "other", bilderbuch=BilderbuchConfig(pairs=120, seed=2))
    with pytest.raises(AugenmerkError, match="sentence 1 is not the same in both"):
        compare_runs(Evaluator(words, CPU), Evaluator(other, CPU), ["train"])
    assert not hypothesis_path(fewer, "train", 2).exists()


# Other data


def test_all_pairs_of_a_file_are_measured_and_kept_apart(words: RunDirectory, tmp_path: Path) -> None:
    """A TSV file, two parallel files and a folder give the same figures; the run's own rows stay."""
    run, pairs = copied(words, tmp_path / "run", validation="val"), pairs_of("val")[:30]
    [own] = evaluate_run(Evaluator(run, CPU), ["val"], [1])
    write_splits({"pairs": pairs}, tmp_path / "one", "de", "en", format="tsv")
    write_splits({"pairs": pairs}, tmp_path / "two", "de", "en", format="text")
    write_splits({"val": pairs, "test": pairs[:7]}, tmp_path / "folder", "de", "en", format="tsv")
    places = {
        "pairs": [tmp_path / "one" / "pairs.tsv", tmp_path / "two" / "pairs"],
        "val": [tmp_path / "folder"],
    }
    data = encode_pairs(pairs, run.tokenizers.source.encode_ids, run.tokenizers.target.encode_ids)
    loss = measure_loss([load_model(run)], data.to("cpu")).mean
    for split, several in places.items():
        for place in several:
            [row] = run_json("evaluate", run.path, "--data", place, "--beam", 1)
            assert (row["split"], row["sentences"], row["data"]) == (split, 30, str(place))
            assert row["loss"] == pytest.approx(loss)
            translated = load(run.path).translate([pair.source for pair in pairs], beam=1)
            hypotheses = [each.text for each in translated]
            assert row["bleu"] == score_texts(hypotheses, [pair.target for pair in pairs])["bleu"]
    [row] = run_json("evaluate", run.path, "--data", tmp_path / "folder", "--split", "test", "--beam", 1)
    assert row["sentences"] == 7
    assert run.read_scores() == [own]
    assert lines_of(reference_path(run, "val")) == [pair.target for pair in pairs_of("val")]
    assert [kept["data"] for kept in run.read_scores(other=True)] == [
        *map(str, places["pairs"]),
        *[str(tmp_path / "folder")] * 2,
    ]
    # A split that was asked for by name is that of a file divided as for training.
    [part] = run_json("evaluate", run.path, "--data", places["pairs"][0], "--split", "test", "--beam", 1)
    assert part["sentences"] < 30


def test_a_moved_file_is_divided_and_another_file_is_not(words: RunDirectory, tmp_path: Path) -> None:
    write_splits({"pairs": pairs_of("train")}, tmp_path / "new", "de", "en", format="tsv")
    run = copied(words, tmp_path / "run", bitext=str(tmp_path / "old" / "pairs.tsv"), validation="val")
    answer = run_command("evaluate", run.path, "--data", tmp_path / "new" / "pairs.tsv", "--beam=1", "--json")
    [moved] = json.loads(answer.out)
    assert (moved["split"], "data" in moved) == ("val", False)
    assert moved["sentences"] < 30
    assert "pairs.tsv is not there" in answer.err
    (tmp_path / "new" / "pairs.tsv").rename(tmp_path / "other.tsv")
    [other] = run_json("evaluate", run.path, "--data", tmp_path / "other.tsv", "--beam", 1)
    assert (other["split"], other["sentences"]) == ("other", 120)


def test_output_of_another_system(words: RunDirectory, subwords: RunDirectory, tmp_path: Path) -> None:
    run = copied(words, tmp_path / "run")
    evaluate_run(Evaluator(subwords, CPU), ["train"], [1])
    output = tmp_path / "system.txt"
    output.write_bytes(hypothesis_path(subwords, "train", 1).read_bytes())
    asked = ("evaluate", run.path, "--split", "train", "--beam", 1, "--ter", "--hypotheses", output)
    ours, theirs = run_json(*asked)
    assert (theirs["hypotheses"], theirs["split"], theirs["sentences"]) == (str(output), "train", 120)
    assert "loss" not in theirs
    [against_run] = compare_runs(Evaluator(words, CPU), Evaluator(subwords, CPU), ["train"], [1])
    for metric in ("bleu", "chrf"):  # the same test as against the run that wrote the file
        for figure in ("score", "baseline_score", "p_randomisation", "p_bootstrap", "interval"):
            same = against_run["baseline"][metric][figure]
            assert ours["baseline"][metric][figure] == (list(same) if figure == "interval" else same)
    assert [kept["hypotheses"] for kept in run.read_scores(other=True)] == [str(output)]
    assert len(run.read_scores()) == 1
    answer = run_command(*asked)
    _head, *rows = answer.out.splitlines()
    assert rows[1].split()[:3] == ["system.txt", "-", f"{theirs['bleu']:.2f}"]
    assert ours["baseline"]["bleu"]["in_words"] in answer.out
    command = shlex.split(answer.err.splitlines()[-1].removeprefix("The same scores:  "))
    _ours, other = sacrebleu_prints(*command[1:])
    for name, score in (("bleu", other["BLEU"]), ("chrf", other["chrF2"]), ("ter", other["TER"])):
        assert theirs[name] == pytest.approx(float(score), abs=1e-8)

    output.write_text("one line\n")
    assert "has 1 line; 'train' of bilderbuch has 120 pairs" in fails_with_a_sentence(*asked)
    assert "--baseline or --hypotheses" in fails_with_a_sentence(*asked, "--baseline", subwords.path)
    assert "give one --split" in fails_with_a_sentence(*asked, "--split", "val")


# The command line


def test_evaluate_prints_a_table_and_a_command_that_can_be_run(words: RunDirectory) -> None:
    flags = ("--split", "train", "--split", "val", "--beam", 1, "--beam", 2, "--ter")
    answer = run_command("evaluate", words.path, *flags)
    assert answer.code == 0
    head, *table = answer.out.splitlines()
    assert head.split() == "split beam BLEU cased chrF TER loss ppl ppl/word length sent/s".split()
    kept = {(row["split"], str(row["beam"])): row for row in words.read_scores()}
    assert [line.split()[:2] for line in table[:4]] == [[s, b] for s in ("train", "val") for b in "12"]
    for line in table[:4]:
        split, beam, bleu, cased, chrf, *_ = line.split()
        row = kept[split, beam]
        assert [bleu, cased, chrf] == [f"{row[key]:.2f}" for key in ("bleu", "bleu_cased", "chrf")]
    assert table[4:] == [
        f"{name:5}{kept['train', '1'][f'{name.lower()}_signature']}" for name in ("BLEU", "chrF", "TER")
    ]
    first, second = (line.removeprefix("The same scores:  ") for line in answer.err.splitlines())
    assert "val.beam1.txt" in second
    systems = sacrebleu_prints(*shlex.split(first)[1:])
    for beam, system in zip("12", systems, strict=True):
        row = kept["train", beam]
        for name, value in (("bleu", system["BLEU"]), ("chrf", system["chrF2"]), ("ter", system["TER"])):
            assert row[name] == pytest.approx(float(value), abs=1e-8)


def test_json_is_a_list_of_rows_and_nothing_else(words: RunDirectory, subwords: RunDirectory) -> None:
    [row] = run_json("evaluate", subwords.path)
    assert row.keys() == {*KEYS}
    assert (row["split"], row["beam"]) == ("train", 2)  # that of the run's validation, and its own beam
    assert (
        "cased" not in run_command("evaluate", subwords.path, "--split", "val").out
    )  # a model in lower case
    arguments = ("evaluate", words.path, "--baseline", subwords.path, "--beam", 1)
    [row] = run_json(*arguments)
    answer = run_command(*arguments)
    assert row["baseline"]["run"] == str(subwords.path)
    [theirs] = [other for other in subwords.read_scores() if (other["split"], other["beam"]) == ("train", 1)]
    for metric in ("bleu", "chrf"):
        found = row["baseline"][metric]
        assert (found["score"], found["baseline_score"]) == pytest.approx((row[metric], theirs[metric]))
        assert found["interval"][0] < found["score"] < found["interval"][1]
        assert found["in_words"].startswith(f"{words.path} is ")
        assert found["in_words"] in answer.out
        low, high = found["baseline_interval"]
        assert f"{low:.2f} to {high:.2f}" in answer.out
    assert "10,000 trials, 2,000 resamples, seed 12345" in answer.out
    assert "baseline" not in words.read_scores()[-1]


def test_bad_input_gets_one_sentence(words: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name, content in (("train", "Ein Hund.\tA dog.\n"), ("val", "")):
        with gzip.open(tmp_path / "data" / f"{name}.tsv.gz", "wt") as file:
            file.write(content)
    empty = copied(words, tmp_path / "empty", bitext=str(tmp_path / "data"))
    untrained = start(words.config, tmp_path / "untrained")
    for arguments, expected in (
        ((words.path, "--split", "dev"), "no split called 'dev'; there are: train, val, test"),
        ((tmp_path,), "is not a run directory"),
        ((tmp_path / "nowhere",), "there is no such run directory"),
        ((words.path, "--baseline", tmp_path), "is not a run directory"),
        ((untrained.path,), "has no model.safetensors"),
        ((words.path, "--baseline", untrained.path), "has no model.safetensors"),
        ((empty.path, "--split", "val"), "no sentence pairs in 'val'"),
    ):
        assert expected in fails_with_a_sentence("evaluate", *arguments)
    assert run_command("evaluate", words.path, "--beam", 0).code == 2


class TestWhatChanges:
    """Scores are about these weights and these sentences, or they are removed."""

    @pytest.fixture
    def pairs(self, tmp_path: Path) -> Path:
        folder = tmp_path / "pairs"
        folder.mkdir()
        some = list(open_bitext("bilderbuch", pairs=160)["train"])
        for split, first in (("train", 0), ("val", 100), ("test", 130)):
            part = some[first : first + (100 if split == "train" else 30)]
            lines = (f"{pair.source}\t{pair.target}\n" for pair in part)
            (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
        return folder

    def test_rows_of_earlier_sentences_go(self, shared_runs: SharedRuns, pairs: Path, tmp_path: Path) -> None:
        run = shared_runs.copy(tiny(data__bitext=str(pairs), train__epochs=1), tmp_path / "run")

        def evaluate(split: str, beam: int, **options: Any) -> None:
            evaluate_run(Evaluator(run, CPU, **options), [split], [beam])

        def kept() -> set[tuple[str, int]]:
            rows = [*run.read_scores(), *run.read_scores(other=True)]
            return {(row["split"], row["beam"]) for row in rows}

        evaluate("val", 1)
        evaluate("val", 3, mbr=True)
        evaluate("test", 1)
        evaluate("val", 2)
        assert kept() == {("val", 1), ("val", 2), ("val", 3), ("test", 1)}
        lines = (pairs / "val.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
        (pairs / "val.tsv").write_text("".join(lines[:-1]), encoding="utf-8")
        evaluate("val", 4)
        assert kept() == {("val", 4), ("test", 1)}

    def test_rows_of_earlier_weights_go(self, shared_runs: SharedRuns, pairs: Path, tmp_path: Path) -> None:
        run = shared_runs.copy(tiny(data__bitext=str(pairs), train__epochs=1), tmp_path / "run")
        evaluate_run(Evaluator(run, CPU), ["val"], [1])
        early = Evaluator(run, CPU)
        run.save_model({name: 0.5 * weight for name, weight in run.load_model().items()}, {})
        assert run.read_scores() == []
        with pytest.raises(AugenmerkError, match="was trained further meanwhile: evaluate it"):
            evaluate_run(early, ["val"], [1])
        assert run.read_scores() == []
        evaluate_run(Evaluator(run, CPU), ["val"], [2])
        assert [row["model_sha256"] for row in run.read_scores()] == [run.model_digest]
