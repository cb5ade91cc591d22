"""Runs of a Transformer, from training to diagrams, and beside runs of a GRU."""

import json
import math
import signal
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import augenmerk
from augenmerk import AugenmerkError, Translator
from augenmerk.analysis.measures import WordAttention, compute_measures
from augenmerk.base.config import RunConfig
from augenmerk.data import open_bitext
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import TrainingInterrupted, train
from augenmerk.training.start import start
from augenmerk.translation import average_heads
from tests.process.test_train import Silent, losses, same, states
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import CPU, SharedRuns, tiny

pytestmark = pytest.mark.slow

SENTENCES = [pair.source for pair in islice(open_bitext("bilderbuch")["test"], 8)]
LAYERS, HEADS = 2, 3
TEXT: dict[str, object] = {"text__unit": "bpe", "text__joint": True, "text__vocabulary_size": 500}


def settings(positions: str = "rotary", attention: str = "multi-head", **changes: object) -> RunConfig:
    return tiny(
        **TEXT,
        model__architecture="transformer",
        model__attention=attention,
        model__heads=HEADS,
        model__layers=LAYERS,
        model__tie="all",
        model__output_dropout=0.1,
        model__transformer={"feed_forward": 48, "positions": positions, "attention_dropout": 0.1},
        **changes,
    )


@pytest.fixture(scope="module")
def run(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(settings(), folder / "transformer")


@pytest.fixture(scope="module")
def single(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    """A Transformer that looks at the source with one head a layer, and at itself with three."""
    return shared_runs.copy(settings("learnt", "additive"), folder / "single")


@pytest.fixture(scope="module")
def gru(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(tiny(**TEXT), folder / "gru")


@pytest.fixture(scope="module")
def translator(run: RunDirectory) -> Translator:
    return augenmerk.load(run.path)


# Training


def test_it_learns_and_keeps_what_was_validated(run: RunDirectory) -> None:
    (first, before), (last, after) = losses(run)
    assert last < first - 0.3
    assert after < before - 0.1
    [row] = evaluate_run(Evaluator(run, CPU), ["val"])
    assert run.result is not None
    assert row["loss"] == pytest.approx(run.result["validation_loss"], abs=1e-6)


def test_interrupted_and_resumed_it_is_the_same(run: RunDirectory, tmp_path: Path) -> None:
    class Interrupting(Silent):
        def epoch(self, metrics: Mapping[str, Any]) -> None:
            super().epoch(metrics)
            signal.raise_signal(signal.SIGINT)

    resumed = start(settings(), tmp_path / "run")
    with pytest.raises(TrainingInterrupted):
        train(resumed, CPU, Interrupting())
    assert not resumed.finished
    train(resumed, CPU, Silent())
    assert same(states(resumed.path), states(run.path))
    assert losses(resumed) == losses(run)


def test_settings_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    def refused(*settings: str) -> str:
        asked = [f"--set={setting}" for setting in ('model.architecture="transformer"', *settings)]
        out = ("--data", "bilderbuch", "--out", tmp_path / "x")
        return fails_with_a_sentence("train", "quick", *asked, *out)

    sentence = refused("model.key=24", "model.heads=5")
    assert "key = 24 cannot be shared evenly among heads = 5" in sentence
    sentence = refused("model.key=15", "model.heads=3", 'model.transformer.positions="rotary"')
    assert "5 numbers a head, which must be even" in sentence
    assert "'model.transformer.positions'" in refused('model.transformer.positions="circular"')
    assert "unknown key 'model.transformer.depth'" in refused("model.transformer.depth=2")
    assert not (tmp_path / "x").exists()
    tiny(model__architecture="gru", model__key=15, model__heads=2, model__attention="scaled-dot")  # no matter


# Translating


def test_a_gru_and_a_transformer_translate_together(run: RunDirectory, gru: RunDirectory) -> None:
    members = [augenmerk.load(each.path) for each in (run, gru)]
    together = Translator.from_runs([run, gru])
    for text in SENTENCES[:3]:
        found = together.translate(text, beam=3)
        one, other = (each.score(text, found.text) for each in members)
        both = together.score(text, found.text)
        for mean, *own in zip(
            *(each.hypothesis.token_log_probabilities for each in (both, one, other) if each.hypothesis),
            strict=True,
        ):
            assert math.exp(mean) == pytest.approx(sum(map(math.exp, own)) / 2, abs=1e-5)
        np.testing.assert_allclose(both.attention, (one.attention + other.attention) / 2, atol=1e-4, rtol=0)
    assert together.translate(SENTENCES[0], mbr=True, beam=3).expected_chrf is not None


# Heads and self-attention


@pytest.mark.parametrize("which", ["run", "single"])
def test_every_head_of_every_layer_over_words(which: str, request: pytest.FixtureRequest) -> None:
    directory: RunDirectory = request.getfixturevalue(which)
    heads = HEADS if which == "run" else 1
    translator = augenmerk.load(directory.path)
    found = [
        *translator.translate([*SENTENCES, ""], beam=2, heads=True),
        *translator.score_all([(text, "The small dog sleeps.") for text in SENTENCES[:2]], heads=True),
    ]
    assert found[8].heads == ()
    assert found[8].attentions == {}
    cut = translator.translate(SENTENCES, max_length=3, heads=True)
    assert any(not one.finished for one in cut)
    for one in (*found[:8], *found[9:], *cut):
        S, T = len(one.source_words), len(one.target_words)
        assert one.attentions["cross"].shape == (LAYERS, heads, T, S)
        assert one.attentions["encoder"].shape == (LAYERS, HEADS, S, S)
        assert one.attentions["decoder"].shape[:3] == (LAYERS, HEADS, T)
        if one.finished:
            assert one.attentions["decoder"].shape[3] == T
            diagonal = 1 + (one.target_subwords != one.target_words)
            assert not np.triu(one.attentions["decoder"], diagonal).any()
        assert [(head.layer, head.head) for head in one.heads] == [
            (layer, head) for layer in (1, 2) for head in range(1, heads + 1)
        ]
        for weights in one.attentions.values():
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5, rtol=0)
        mean = average_heads(one.select_heads())
        np.testing.assert_allclose(mean.attention, one.attention, atol=2e-6, rtol=0)
        np.testing.assert_allclose(mean.subword_attention, one.subword_attention, atol=2e-6, rtol=0)
        for part, columns in (("encoder", len(one.source_subwords)), ("decoder", len(one.target_subwords))):
            assert one.self_attention[part].shape == (LAYERS, HEADS, columns, columns)
        assert {head.name for head in one.select_heads("decoder", 2)} == {
            f"decoder, layer 2, head {number}" for number in range(1, HEADS + 1)
        }
    with pytest.raises(AugenmerkError, match="There is no layer 3: this model has 2"):
        found[0].select_heads(layer=3)


def test_the_map_of_the_decoder_has_a_column_for_the_beginning(translator: Translator) -> None:
    one = translator.translate(SENTENCES[0], heads=True)
    words, tokens = one.attentions["decoder"], one.self_attention["decoder"]
    np.testing.assert_allclose(words[:, :, 0].sum(-1), 1, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(tokens[:, :, 0, 0], 1, rtol=1e-6, atol=1e-5)  # there is nothing else yet
    # The end is one token, so its row is a sum of that token's weights over the words before it.
    np.testing.assert_allclose(words[:, :, -1, 0], tokens[:, :, -1, 0], rtol=1e-6, atol=1e-5)


# Commands


def test_json_has_all_heads_and_self_attention_if_they_are_asked_for(run: RunDirectory) -> None:
    def translated(*extra: str) -> dict[str, Any]:
        answer = run_command("translate", "--model", run.path, SENTENCES[0], "--json", *extra)
        assert answer.code == 0, answer.err
        return dict(json.loads(answer.out))

    plain, found = translated(), translated("--heads")
    assert not {"heads", "attentions"} & plain.keys()
    assert [(head["layer"], head["head"]) for head in found["heads"]] == [
        (layer, head) for layer in (1, 2) for head in (1, 2, 3)
    ]
    S, T = len(found["source_words"]), len(found["target_words"])
    shapes = {name: np.shape(each) for name, each in found["attentions"].items()}
    assert shapes == {"cross": (2, 3, T, S), "encoder": (2, 3, S, S), "decoder": (2, 3, T, T)}
    mean = np.mean(found["attentions"]["cross"], axis=(0, 1))
    np.testing.assert_allclose(mean, found["attention"], atol=4e-6, rtol=0)


WIDE = {"COLUMNS": "300"}


def test_diagrams_of_a_layer_and_its_heads(run: RunDirectory, single: RunDirectory, tmp_path: Path) -> None:
    asked = ("diagram", "--model", run.path, SENTENCES[0])
    shown = run_command(*asked, "--layer", 2, "--heads", env=WIDE).out
    titles = ["layer 2, mean of all heads", *(f"layer 2, head {number}" for number in (1, 2, 3))]
    assert [shown.count(title) for title in titles] == [1] * 4
    assert "layer 1" not in shown
    every = run_command(*asked, "--heads", env=WIDE).out
    assert all(every.count(f"layer {layer}, head {head}") == 1 for layer in (1, 2) for head in (1, 2, 3))
    for name, magic in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        answer = run_command(*asked, "--layer", 2, "--heads", "--out", tmp_path / name)
        assert answer.code == 0, answer.err
        assert (tmp_path / name).read_bytes().startswith(magic)
    page = ("--split", "val", "--count", 2, "--layer", 1, "--heads", "--out", tmp_path / "page")
    assert run_command("diagram", "--model", run.path, *page).code == 0
    assert "layer 1, head 3" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    # A layer with one head has one map: its own, and not the mean over all layers.
    one = run_command("diagram", "--model", single.path, SENTENCES[0], "--layer", 2, "--heads", env=WIDE).out
    assert "layer 2, head 1" in one
    assert "mean" not in one


@pytest.mark.parametrize(("part", "which"), [("encoder", "run"), ("decoder", "single")])
def test_self_attention_maps(part: str, which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    directory: RunDirectory = request.getfixturevalue(which)
    asked = ("diagram", "--model", directory.path, SENTENCES[0], "--self", part)
    shown = run_command(*asked, "--layer", 1, "--heads", env=WIDE).out
    assert f"{part}, layer 1, mean of all heads" in shown
    assert f"{part}, layer 1, head 3" in shown
    assert ("<s>" in run_command(*asked, "--layer", 1, env=WIDE).out) == (part == "decoder")
    for extra in ((), ("--subwords",), ("--view", "lines")):
        answer = run_command(*asked, *extra, "--out", tmp_path / "a.png")
        assert answer.code == 0, answer.err
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    page = ("--split", "val", "--count", 1, "--self", part, "--out", tmp_path)
    assert run_command("diagram", "--model", directory.path, *page).code == 0
    columns = {"encoder": "the source words that they look at", "decoder": "the words before them"}[part]
    assert f"columns {columns}" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_what_a_model_does_not_have_is_refused_with_a_sentence(run: RunDirectory, gru: RunDirectory) -> None:
    def refused(directory: RunDirectory, *extra: object) -> str:
        return fails_with_a_sentence("diagram", "--model", directory.path, SENTENCES[0], *extra)

    for part in ("encoder", "decoder"):
        assert "This model has no self-attention, which Transformers have." in refused(gru, "--self", part)
    answer = run_command("diagram", "--model", run.path, SENTENCES[0], "--self", "both")
    assert (answer.code, answer.out) == (2, "")
    assert "Invalid value for '--self'" in answer.err
    assert "There is no layer 2" in refused(gru, "--layer", 2)
    assert "There is no layer 3" in refused(run, "--layer", 3)


def test_patterns_of_a_layer_a_head_and_all_heads(run: RunDirectory, gru: RunDirectory) -> None:
    asked = ("patterns", run.path, "--split", "val", "--reference", "--top", 3)
    shown = run_command(*asked, "--heads").out
    lines = [line.split() for line in shown.splitlines()]
    [heading] = [number for number, line in enumerate(lines) if line[:2] == ["layer", "head"]]
    table = lines[heading + 1 : heading + 7]
    assert [row[:2] for row in table] == [[f"{i}", f"{j}"] for i in (1, 2) for j in (1, 2, 3)]
    best = min(table, key=lambda row: float(row[-1]))
    closest = f"head {best[1]} of layer {best[0]} is closest to the gold links (alignment error {best[-1]})"
    assert closest in shown.replace("\n", " ")
    found = [run_json(*asked, *extra) for extra in ((), ("--layer", 2), ("--layer", 2, "--head", 3))]
    pairs = list(open_bitext("bilderbuch")["val"])
    translator = augenmerk.load(run.path)
    for kind, sentences in zip(("mean", "layer", "head"), found, strict=True):
        for sentence in sentences:
            pair = pairs[sentence["index"]]
            assert (pair.source, pair.target) == (sentence["source"], sentence["reference"])
            [one] = translator.score_all([(pair.source, pair.target)], heads=True)
            heads = one.select_heads(layer=2)
            chosen = {"mean": None, "layer": average_heads(heads), "head": heads[2]}[kind]
            measures = compute_measures(WordAttention.from_translation(one, chosen))
            assert sentence["measures"]["sharpness"] == pytest.approx(measures.sharpness, abs=1e-4)
    assert "Give a layer, 1 to 2 (--layer)" in fails_with_a_sentence(*asked, "--head", 1)
    assert "no layer 3" in fails_with_a_sentence(*asked, "--layer", 3)
    assert "no head 4" in fails_with_a_sentence(*asked, "--layer", 1, "--head", 4)
    assert "no layer 2" in fails_with_a_sentence("patterns", gru.path, "--layer", 2)
