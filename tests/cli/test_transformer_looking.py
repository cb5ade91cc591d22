"""Looking into a Transformer: its queries and keys, its best aligned head, and how much each head matters."""

import json
import math
import shutil
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from augenmerk import AugenmerkError, Translator
from augenmerk.analysis.faithfulness import measure_faithfulness, measure_heads
from augenmerk.analysis.probe import probe_attention
from augenmerk.analysis.wording import HEAD_THRESHOLD, describe_idle_heads
from augenmerk.data import Bitext, SentencePair, open_data
from augenmerk.evaluation import agreement
from augenmerk.evaluation.agreement import (
    ChosenAttention,
    choose_attention,
    link_references,
    measure_alignment,
)
from augenmerk.mechanisms.classic import MultiHead
from augenmerk.model.transformer import (
    DecoderLayer,
    EncoderLayer,
    TransformerTranslator,
    sinusoidal_positions,
)
from augenmerk.run.directory import RunDirectory
from augenmerk.study.jobs import Job
from augenmerk.study.measure import measure_run, read_probes
from augenmerk.text.tokenizer import BOS, EOS
from augenmerk.theory.attention import attention_weights
from augenmerk.translation import load
from augenmerk.translation.alignment import GoldLinks, Weights, argmax_links, compare_links
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import CPU, SharedRuns, tiny

LAYERS, HEADS = 2, 4
PAIRS, CHOICE = 30, 20
"""As many pairs of each split are read, and as many a head is chosen by."""
SENTENCE = "Den roten Ball wirft der Junge."
TRANSFORMER: dict[str, object] = {
    "model__architecture": "transformer",
    "model__attention": "multi-head",
    "model__heads": HEADS,
    "model__layers": LAYERS,
    "model__transformer": {"feed_forward": 32},
}


@pytest.fixture(scope="module")
def run(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    """A run of two epochs hardly attends; larger weights make it look at some words more than at others."""
    config = tiny(text__unit="bpe", text__vocabulary_size=500, **TRANSFORMER)
    run = shared_runs.copy(config, folder / "transformer")
    tensors = run.load_model()
    sharper = {name: 4 * one if name.startswith("attentions.") else one for name, one in tensors.items()}
    run.save_model(sharper, run.about_model)
    return run


def untrained(attention: str, like: Translator) -> Translator:
    """Random weights attend to something, too; no training is needed to compare."""
    config = tiny(**{**TRANSFORMER, "model__attention": attention})
    torch.manual_seed(3)
    model = TransformerTranslator(config.model, like.tokenizers.source.size, like.tokenizers.target.size)
    return Translator([model.eval()], like.tokenizers, config)


@pytest.fixture(scope="module")
def gru(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(tiny(), folder / "gru")


@pytest.fixture(scope="module")
def translator(run: RunDirectory) -> Translator:
    return load(run.path)


@pytest.fixture(autouse=True)
def _short_splits(
    run: RunDirectory,  # noqa: ARG001  # trained before, with splits as they are
    gru: RunDirectory,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_split = Bitext.__getitem__
    monkeypatch.setattr(Bitext, "__getitem__", lambda self, name: list(islice(read_split(self, name), PAIRS)))
    monkeypatch.setattr(agreement, "CHOICE_SENTENCES", CHOICE)


# theory from-run


def test_the_probe_of_each_layer_and_head_gives_its_weights(translator: Translator) -> None:
    heads = iter(translator.translate(SENTENCE, heads=True).heads)
    for layer in range(LAYERS):
        for head in range(HEADS):
            found, expected = probe_attention(translator, SENTENCE, head, layer), next(heads)
            assert (found.layer, expected.layer, expected.head) == (layer + 1, layer + 1, head + 1)
            assert found.queries.shape == (len(found.target), 24 // HEADS)
            weights = [attention_weights(query, found.keys, found.scale) for query in found.queries]
            np.testing.assert_allclose(weights, expected.subword_attention, atol=1e-5)
    last = probe_attention(translator, SENTENCE)
    np.testing.assert_array_equal(last.keys, probe_attention(translator, SENTENCE, 0, LAYERS - 1).keys)
    assert np.abs(last.keys - probe_attention(translator, SENTENCE, 0, 0).keys).max() > 0.01


def test_so_does_that_of_a_mechanism_without_heads(translator: Translator) -> None:
    translator = untrained("bilinear", translator)
    expected = translator.translate(SENTENCE, heads=True).heads
    assert [(one.layer, one.head) for one in expected] == [(1, 1), (2, 1)]
    for layer in range(LAYERS):
        found = probe_attention(translator, SENTENCE, layer=layer)
        weights = [attention_weights(query, found.keys, found.scale) for query in found.queries]
        np.testing.assert_allclose(weights, expected[layer].subword_attention, atol=1e-5)


def test_from_run_says_which_layer_it_took(run: RunDirectory, gru: RunDirectory) -> None:
    arguments = ("theory", "from-run", run.path, SENTENCE)
    assert "in layer 2 (the last), head 1" in run_command(*arguments).out
    shown = run_command(*arguments, "--layer", 1, "--head", 3).out
    assert "in layer 1, head 3" in shown
    found = run_json(*arguments, "--layer", 1, "--head", 3)
    assert (found["layer"], found["head"]) == (1, 3)
    head = load(run.path).translate(SENTENCE, heads=True).heads[2]
    expected = head.subword_attention[0].tolist()
    assert [key["weight"] for key in found["keys"]] == pytest.approx(expected, abs=1e-5)
    assert "There is no layer 3: this model has 2." in fails_with_a_sentence(*arguments, "--layer", 3)
    assert "There is no head 5: this model has 4." in fails_with_a_sentence(*arguments, "--head", 5)
    of_gru = ("theory", "from-run", gru.path, SENTENCE)
    assert run_json(*of_gru)["layer"] is None
    assert "layer" not in run_command(*of_gru).out
    assert "There is no layer 2: this model has 1." in fails_with_a_sentence(*of_gru, "--layer", 2)


# evaluate --alignment


def errors_by_hand(translator: Translator, pairs: list[SentencePair]) -> dict[str, float]:
    """The alignment error of every head and every mean, from `Translation.attentions`."""
    gold = [GoldLinks.of(pair.alignment or ()) for pair in pairs]
    maps: dict[str, list[Weights]] = {}
    for one in translator.score_all([(pair.source, pair.target) for pair in pairs], heads=True):
        cross = one.attentions["cross"][:, :, :-1, :-1]  # without both ends
        named = {"mean of all layers and heads": cross.mean((0, 1))}
        for layer in range(LAYERS):
            named[f"layer {layer + 1}, mean of all heads"] = cross[layer].mean(0)
            named |= {f"layer {layer + 1}, head {head + 1}": cross[layer, head] for head in range(HEADS)}
        for name, weights in named.items():
            maps.setdefault(name, []).append(weights)
    return {
        name: compare_links(
            (argmax_links(one.tolist()), links) for one, links in zip(each, gold, strict=True)
        ).error
        for name, each in maps.items()
    }


def test_the_head_that_aligns_best_is_used_elsewhere(run: RunDirectory, translator: Translator) -> None:
    data = open_data(run.config.data)
    on_validation = errors_by_hand(translator, list(data["val"])[:CHOICE])
    best = min(on_validation, key=lambda name: on_validation[name])
    assert len(set(on_validation.values())) > 5
    [row] = run_json("evaluate", run.path, "--split", "test", "--beam", 1, "--alignment")
    assert (row["alignment"]["attention"], row["alignment"]["chosen_on"]) == (best, "val")
    assert row["aer"] == pytest.approx(errors_by_hand(translator, list(data["test"]))[best])
    shown = run_command("evaluate", run.path, "--split", "test", "--beam", 1, "--alignment").out
    assert f"test: attention: {best}, chosen on val" in shown
    assert RunDirectory.open(run.path).read_scores()[-1]["alignment"]["attention"] == best


def test_every_choice_links_by_its_own_weights(run: RunDirectory, translator: Translator) -> None:
    pairs = list(open_data(run.config.data)["test"])[:10]
    errors = errors_by_hand(translator, pairs)
    choices = [ChosenAttention(), ChosenAttention(1), ChosenAttention(2), ChosenAttention(2, 3)]
    for choice in choices:
        assert measure_alignment(translator, pairs, choice).error == pytest.approx(errors[choice.name])
    assert link_references(translator, pairs) == link_references(translator, pairs, choices[0])


def test_other_models_have_no_choice(run: RunDirectory, gru: RunDirectory, translator: Translator) -> None:
    assert choose_attention(load(gru.path)) is None
    assert choose_attention(load([run.path, run.path])) is None
    assert choose_attention(untrained("mean", translator)) is None
    [row] = run_json("evaluate", gru.path, "--split", "val", "--beam", 1, "--alignment")
    assert "attention" not in row["alignment"]
    assert row["aer"] == measure_alignment(load(gru.path), list(open_data(gru.config.data)["val"])).error


def test_without_links_the_mean_is_taken(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was trained on pairs without links, and no aligner is installed."""
    monkeypatch.setitem(sys.modules, "thot", None)
    pairs = list(open_data(run.config.data)["test"])[:10]
    lines = [f"{pair.source}\t{pair.target}\n" for pair in pairs]
    for split in ("train", "val", "test"):
        (tmp_path / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    links = [" ".join(f"{i}-{j}" for i, j in pair.alignment or ()) for pair in pairs]
    (tmp_path / "gold.txt").write_text("\n".join(links) + "\n", encoding="utf-8")
    copy = tmp_path / "run"
    shutil.copytree(run.path, copy)
    settings = (copy / "config.toml").read_text(encoding="utf-8")
    place = json.dumps(str(tmp_path))
    moved = f'bitext = {place}\nsource_language = "de"\ntarget_language = "en"'
    assert settings.count('bitext = "bilderbuch"') == 1
    edited = settings.replace('bitext = "bilderbuch"', moved)
    (copy / "config.toml").write_text(edited, encoding="utf-8")
    RunDirectory.open(copy, accept_changes=True)
    gold = ("--gold", tmp_path / "gold.txt")
    arguments = ("evaluate", copy, "--split", "test", "--beam", 1, "--alignment", *gold)
    [row] = run_json(*arguments)
    assert row["aer"] == pytest.approx(measure_alignment(load(run.path), pairs).error)
    assert row["alignment"]["attention"] == "mean of all layers and heads"
    assert row["alignment"]["chosen_on"] is None
    shown = run_command(*arguments).out
    assert "mean of all layers and heads, no validation links to choose a head by" in shown


def test_a_study_uses_the_chosen_head(run: RunDirectory, translator: Translator, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "run")
    copy = RunDirectory.open(tmp_path / "run")
    job = Job(str(copy.path), {}, ["test"], [1], [], "cpu")
    measure_run(copy, job, CPU, lambda _phase, _fraction: None)
    probes = read_probes(copy)
    assert probes is not None
    chosen = choose_attention(translator)
    assert chosen is not None
    assert (probes["alignment_attention"], probes["alignment_chosen_on"]) == (chosen.name, "val")
    pairs = list(open_data(run.config.data)["test"])
    expected = measure_alignment(translator, pairs, chosen).error
    assert probes["alignment_error"]["test"] == pytest.approx(expected)


# faithfulness


def attend_by_hand(
    attention: MultiHead, queries: Tensor, states: Tensor, mask: Tensor, uniform: int | None = None
) -> Tensor:
    """Multi-head attention, one head after the other; the mask is 0 where it may look, -inf elsewhere."""
    contexts = []
    for head in range(HEADS):
        own = slice(head * 6, (head + 1) * 6)
        q, k, v = (
            x @ matrix.weight[own].T
            for x, matrix in ((queries, attention.W_q), (states, attention.W_k), (states, attention.W_v))
        )
        weights = (q @ k.T / math.sqrt(6) + mask).softmax(-1)
        if head == uniform:
            weights = torch.full_like(weights, 1 / len(states))
        contexts.append(weights @ v)
    context: Tensor = torch.cat(contexts, dim=-1) @ attention.W_a.weight.T
    return context


@torch.no_grad()
def log_probabilities_by_hand(
    model: TransformerTranslator, source: list[int], target: list[int], uniform: tuple[int, int] | None
) -> list[float]:
    """The log-probability of each target token, from the equations; one head may look at all words alike."""

    def embed(matrix: torch.nn.Embedding, ids: list[int]) -> Tensor:
        places = sinusoidal_positions(torch.arange(len(ids)), 24)  # which have a test of their own
        return math.sqrt(24) * matrix.weight[ids] + places.float()

    x = embed(model.W_z, source)
    for layer in model.encoder:
        assert isinstance(layer, EncoderLayer)
        normal = layer.own_norm(x)
        x = x + attend_by_hand(layer.own, normal, normal, torch.zeros(len(x), len(x)))
        x = x + layer.feed_forward(x)
    h = model.encoder_norm(x)
    y = embed(model.W_b, [BOS, *target[:-1]])
    later = torch.full((len(y), len(y)), -math.inf).triu(1)
    for number, (layer, cross) in enumerate(zip(model.decoder, model.attentions, strict=True)):
        assert isinstance(layer, DecoderLayer)
        assert isinstance(cross, MultiHead)
        normal = layer.own_norm(y)
        y = y + attend_by_hand(layer.own, normal, normal, later)
        head = uniform[1] if uniform and uniform[0] == number else None
        y = y + attend_by_hand(cross, layer.cross_norm(y), h, torch.zeros(len(y), len(h)), head)
        y = y + layer.feed_forward(y)
    log_probs = model.output(model.decoder_norm(y)).log_softmax(-1)
    return [float(log_probs[place, token]) for place, token in enumerate(target)]


def test_what_falls_without_a_head_is_what_the_equations_give(translator: Translator) -> None:
    model = translator.torch_model
    assert isinstance(model, TransformerTranslator)
    pairs = list(open_data(translator.config.data)["test"])[:7]
    translations = translator.score_all([(pair.source, pair.target) for pair in pairs])
    found = measure_heads(translator, translations)
    places = [None, *((layer, head) for layer in range(LAYERS) for head in range(HEADS))]
    sums = dict.fromkeys(places, 0.0)
    for pair in pairs:
        [source] = translator.tokenizers.source.encode_ids([pair.source])
        [target] = translator.tokenizers.target.encode_ids([pair.target])
        for place in places:
            sums[place] += sum(log_probabilities_by_hand(model, [*source, EOS], [*target, EOS], place))
    words = sum(len(one.target_words) for one in translations)
    tokens = sum(len(one.target_subwords) for one in translations)
    assert (found["words"], found["tokens"], found["sentences"]) == (words, tokens, 7)
    assert found["loss"] == pytest.approx(-sums[None] / tokens, abs=1e-5)
    assert [(one.layer - 1, one.head - 1) for one in found["heads"]] == places[1:]
    for one, place in zip(found["heads"], places[1:], strict=True):
        assert one.mean_drop == pytest.approx((sums[None] - sums[place]) / words, abs=1e-4)
        assert one.perplexity == pytest.approx(math.exp(-sums[place] / tokens), rel=1e-4)
    assert max(abs(one.mean_drop) for one in found["heads"]) > 0.01


def test_a_table_of_layers_and_heads(run: RunDirectory, translator: Translator) -> None:
    found = run_json("faithfulness", run.path, "--split", "test", "--reference")
    pairs = list(open_data(run.config.data)["test"])
    expected = measure_heads(translator, translator.score_all([(p.source, p.target) for p in pairs]))
    assert found["of"] == "references"
    assert [one["mean_drop"] for one in found["heads"]] == [one.mean_drop for one in expected["heads"]]
    assert len(found["heads"]) == LAYERS * HEADS
    few = sum(one["mean_drop"] < HEAD_THRESHOLD for one in found["heads"])
    assert f"{few} of 8 heads hardly matter" in found["in_words"]
    most = max(found["heads"], key=lambda one: one["mean_drop"])
    assert f"most on head {most['head']} of layer {most['layer']}" in found["in_words"]
    shown = run_command("faithfulness", run.path, "--split", "test", "--reference").out
    lines = [line.split() for line in shown.splitlines()]
    assert ["layer", "head", "1", "head", "2", "head", "3", "head", "4"] in lines
    for layer in (1, 2):
        drops = [one["mean_drop"] for one in found["heads"] if one["layer"] == layer]
        assert [str(layer), *(f"{round(drop, 3) + 0.0:.3f}" for drop in drops)] in lines
    own = run_json("faithfulness", run.path, SENTENCE)
    assert (own["split"], own["sentences"]) == ("command line", 1)


def test_pictures_of_single_words_are_refused(run: RunDirectory, tmp_path: Path) -> None:
    out = tmp_path / "page"
    for option in (("--index", 1), ("--top", 2), ("--out", out), ("--title", "x"), ("--outline",)):
        assert f"leave out {option[0]}" in fails_with_a_sentence("faithfulness", run.path, *option)
    assert not out.exists()


def test_each_measure_is_refused_where_it_means_nothing(translator: Translator, gru: RunDirectory) -> None:
    [one] = translator.translate([SENTENCE])
    with pytest.raises(AugenmerkError, match="equation 10"):
        measure_faithfulness(translator, [one])
    with pytest.raises(AugenmerkError, match="in a Transformer only"):
        measure_heads(load(gru.path), [one])
    with pytest.raises(AugenmerkError, match="All translations are empty"):
        measure_heads(translator, translator.translate([""]))
    with pytest.raises(AugenmerkError, match="attends to nothing"):
        measure_heads(untrained("none", translator), [one])


def test_heads_of_uniform_attention_and_of_a_translation_that_was_cut_off(translator: Translator) -> None:
    uniform = untrained("mean", translator)
    found = measure_heads(uniform, uniform.translate([SENTENCE, "Der Hund schläft."]))
    assert [(one.layer, one.head) for one in found["heads"]] == [(1, 1), (2, 1)]
    assert [one.mean_drop for one in found["heads"]] == pytest.approx([0, 0], abs=1e-5)
    assert "depend on no single head" in describe_idle_heads(found)
    [cut] = translator.translate([SENTENCE], max_length=2, beam=1)
    assert not cut.finished
    found = measure_heads(translator, [cut])
    assert (found["tokens"], found["words"]) == (2, len(cut.target_words))
