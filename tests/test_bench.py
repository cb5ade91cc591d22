"""The benchmarks run, and both sides of each do the same work. How fast they are is no matter for a test."""

from pathlib import Path

import pytest
import torch

from augenmerk.base.config import ModelConfig, SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.bench import peers
from augenmerk.bench.decoding import plain_search
from augenmerk.bench.machine import describe_numpy_products
from augenmerk.bench.profile import PARTS, multiplications_of_parts, profile_decoding
from augenmerk.model import build_model
from augenmerk.model.gru import GRUTranslator
from tests.command import fails_with_a_sentence, run_command, run_json
from tests.decoding import decode, translator_of
from tests.runs import SharedRuns, tiny


def test_decoding_is_measured_against_the_plain_way(shared_runs: SharedRuns, tmp_path: Path) -> None:
    document = run_json(
        "bench", "decode", "--sentences", 8, "--beam", 1, "--beam", 3, "--no-peers", "--profile"
    )
    assert [row["beam"] for row in document["beams"]] == [1, 3]
    for row in document["beams"]:
        [(name, int8)] = row.pop("others").items()
        assert name == "ours, int8"
        assert all(value > 0 for value in int8.values())
        assert row.keys() >= {"sentences_per_second", "reference_sentences_per_second", "ratio", "peak_mib"}
        assert all(value > 0 for value in row.values())
        assert row["sentences"] == 8
    assert document["peer"] is None
    assert document["numpy_products"]
    trained = shared_runs.copy(tiny(), tmp_path / "run").path
    shown = run_command("bench", "decode", "--model", trained, "--sentences", 2, "--beam", 1, "--profile").out
    assert all(part in shown for part in ("plain loop", *PARTS))
    assert [row["beam"] for row in document["profile"]["beams"]] == [1, 3]


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_a_profile_finds_all_parts_and_leaves_the_model_as_it_was(architecture: str) -> None:
    sizes = {"embedding": 6, "hidden": 4, "key": 8, "heads": 2, "attention": "multi-head"}
    model = build_model(ModelConfig.model_validate({"architecture": architecture, **sizes}), 64, 64)
    sources = [[5, 6, 7], [8], [9, 10, 11, 12, 5]]
    with translator_of([model]) as translator:
        before = decode([model], sources, SearchConfig(beam=3))
        [profile] = profile_decoding(translator, model, {3: sources})["beams"]
        after = translator.decode(sources, SearchConfig(beam=3))
    assert [best.score for best, *_ in after] == [best.score for best, *_ in before]
    parts = profile["parts"]
    assert [part for part in parts if parts[part]["share"] > 0 or part == "rest"] == list(PARTS)
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1)
    # Weights that a word is multiplied with, by hand; the gates of words, computed once, are not in them.
    source, query = (8, 4) if architecture == "gru" else (6, 6)
    layer = 4 * 6 * 8 + 2 * 6 * model.config.transformer.feed_forward
    assert multiplications_of_parts(model) == {
        "encoder": (2 * 3 * 4 * 4 if architecture == "gru" else layer) + 2 * source * 8,
        "decoder states": 3 * 4 * 4 if architecture == "gru" else layer,
        "attention": query * 8 + 8 * source,
        "output layer": (3 * 4 if architecture == "gru" else 6) * 64,
    }
    assert {part for part in parts if parts[part]["floor_share"]} == multiplications_of_parts(model).keys()


@pytest.mark.parametrize("attention", ["scaled-dot", "multi-head"])
def test_weights_count_where_they_are_applied(attention: str) -> None:
    """With H = 4, E = 6, K = 8: what a context is multiplied with belongs to the source, or to W_a.

    And of the scaled dot product, W_q and W_k are one matrix, on the source side.
    """
    sizes = {"embedding": 6, "hidden": 4, "key": 8, "heads": 2, "tie": "target"}
    model = build_model(ModelConfig.model_validate({"attention": attention, **sizes}), 64, 64)
    several = attention == "multi-head"
    assert multiplications_of_parts(model) == {
        "encoder": 2 * 3 * 4 * 4 + (2 * 8 * 8 if several else 8 * 4 + 8 * 6),
        "decoder states": 3 * 4 * 4,
        "attention": 4 * 8 + 8 * 6 if several else 0,
        "output layer": 4 * 6 + 6 * 64,
    }


def test_what_slows_numpy_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    if not describe_numpy_products().startswith("openblas"):
        pytest.skip("numpy has another library here")
    assert "OPENBLAS_CORETYPE" not in describe_numpy_products()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert describe_numpy_products().endswith(", because OPENBLAS_CORETYPE=Haswell is set")


def test_a_model_of_torch_is_not_profiled() -> None:
    model = build_model(ModelConfig(embedding=8, hidden=8, key=8), 40, 40)
    with (
        translator_of([model], torch=True) as translator,
        pytest.raises(AugenmerkError, match="use --device cpu"),
    ):
        profile_decoding(translator, model, {1: [[5]]})


def test_without_ctranslate2_it_is_said_how_to_install_it(
    shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "is_installed", lambda: False)
    trained = shared_runs.copy(tiny(), tmp_path / "run").path
    short = ("bench", "decode", "--model", trained, "--sentences", 2, "--beam", 1)
    assert "pip install 'augenmerk[peers]'" in run_command(*short).out
    assert "pip install 'augenmerk[peers]'" in fails_with_a_sentence(*short, "--peers")
    assert "pip install" not in run_command(*short, "--no-peers").out


def test_ctranslate2_translates_the_same_sentences(shared_runs: SharedRuns, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the optional extra 'peers' is not installed")
    small = peers.make_peers(peers.PeerSize.like(ModelConfig(hidden=5)), (40, 30), threads=1)
    sentences = peers.to_tokens([[5, 39, 3], [4]])
    for peer in small.values():
        for beam in (1, 4):
            assert [len(tokens) for tokens in peer.translate(sentences, beam, 7)] == [7, 7]
    trained = shared_runs.copy(tiny(), tmp_path / "run").path
    document = run_json("bench", "decode", "--model", trained, "--sentences", 3, "--beam", 2, "--peers")
    [row] = document["beams"]
    assert list(row["others"]) == ["ours, int8", "CTranslate2 fp32", "CTranslate2 int8"]
    for other in row["others"].values():
        assert other["times_ours"] == pytest.approx(
            other["sentences_per_second"] / row["sentences_per_second"]
        )
        assert other["latency_ms"] > 0
    assert document["peer"]["layers"] == 3


def test_training_is_measured_against_the_loop(tmp_path: Path) -> None:
    preset = tmp_path / "tiny.toml"
    preset.write_text(
        '[data.bilderbuch]\npairs = 200\n[text]\nunit = "word"\njoint = false\n'
        "[model]\nembedding = 8\nhidden = 8\nkey = 8\n[train]\nbatch_size = 8\n",
        encoding="utf-8",
    )
    document = run_json("bench", "train", "--preset", preset, "--steps", 2, "--precision", "fp32")
    for side in ("ours", "reference"):
        assert document[side]["seconds_per_step"] > 0
        assert document[side]["target_tokens_per_second"] > 0
    assert document["ratio"] > 0
    assert document["loss_difference"] < 1e-5


def test_fewer_pairs_than_a_batch_are_one_batch(tmp_path: Path) -> None:
    preset = tmp_path / "tiny.toml"
    preset.write_text(
        '[text]\nunit = "word"\njoint = false\n[model]\nembedding = 8\nhidden = 8\nkey = 8\n',
        encoding="utf-8",
    )
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    (pairs / "train.tsv").write_text("Ein Hund\tA dog\n" * 3, encoding="utf-8")
    (pairs / "val.tsv").write_text("Ein Hund\tA dog\n", encoding="utf-8")
    document = run_json("bench", "train", "--preset", preset, "--data", pairs, "--precision", "fp32")
    assert document["steps"] == 1


def test_the_plain_search_finds_what_ours_finds_greedily() -> None:
    torch.manual_seed(1)
    model = GRUTranslator(ModelConfig(embedding=8, hidden=8, key=8), 40, 40).double().eval()
    sources = [[5, 6, 7], [8], [9, 10, 11, 12, 5]]
    config = SearchConfig(beam=1, max_length=12)
    ours = decode([model], sources, config)
    assert plain_search(model, sources, config) == [list(best[0].ids) for best in ours]
