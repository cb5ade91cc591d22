"""The benchmarks run, and both sides of each do the same work. How fast they are is no matter for a test."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import torch

from augenmerk.base.config import ModelConfig, SearchConfig
from augenmerk.bench.decoding import plain_search
from augenmerk.bench.machine import describe_numpy_products
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import build_model
from tests.support.command import run_command, run_json
from tests.support.decoding import decode, translator_of
from tests.support.runs import SharedRuns, tiny

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "benchmarks"


class Benchmarks(NamedTuple):
    """Modules of benchmarks/, which is no package."""

    decoding: ModuleType
    decoding_profile: ModuleType
    peers: ModuleType


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[Benchmarks]:
    sys.path.insert(0, str(FOLDER))
    try:
        yield Benchmarks(*map(importlib.import_module, Benchmarks._fields))
    finally:
        sys.path.remove(str(FOLDER))


def test_decoding_is_measured_against_the_plain_way(shared_runs: SharedRuns, tmp_path: Path) -> None:
    document = run_json("bench", "decode", "--sentences", 8, "--beam", 1, "--beam", 3)
    assert [row["beam"] for row in document["beams"]] == [1, 3]
    for row in document["beams"]:
        [(name, int8)] = row.pop("others").items()
        assert name == "ours, int8"
        assert all(value > 0 for value in int8.values())
        assert row.keys() >= {"sentences_per_second", "reference_sentences_per_second", "ratio", "peak_mib"}
        assert all(value > 0 for value in row.values())
        assert row["sentences"] == 8
    assert document["numpy_products"]
    asked = ("--model", shared_runs.copy(tiny(), tmp_path / "run").path, "--sentences", 2, "--beam", 1)
    assert "plain loop" in run_command("bench", "decode", *asked).out


def test_the_benchmark_of_decoding_shows_where_the_time_goes(
    benchmarks: Benchmarks, shared_runs: SharedRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = shared_runs.copy(tiny(), tmp_path / "run").path
    short = ["--model", str(trained), "--sentences", "2", "--beam", "1", "--no-peers", "--profile"]
    benchmarks.decoding.main(short)
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("plain loop", *benchmarks.decoding_profile.PARTS))
    benchmarks.decoding.main([*short, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["peer"] is None
    assert [row["beam"] for row in document["profile"]["beams"]] == [1]


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_a_profile_finds_all_parts_and_changes_nothing(architecture: str, benchmarks: Benchmarks) -> None:
    profiling = benchmarks.decoding_profile
    sizes = {"embedding": 6, "hidden": 4, "key": 8, "heads": 2, "attention": "multi-head"}
    model = build_model(ModelConfig.model_validate({"architecture": architecture, **sizes}), 64, 64)
    sources = [[5, 6, 7], [8], [9, 10, 11, 12, 5]]
    with translator_of([model]) as translator:
        before = decode([model], sources, SearchConfig(beam=3))
        [profile] = profiling.profile_decoding(translator, model, {3: sources})["beams"]
        after = translator.decode(sources, SearchConfig(beam=3))
    assert [best.score for best, *_ in after] == [best.score for best, *_ in before]
    parts = profile["parts"]
    assert [part for part in parts if parts[part]["share"] > 0 or part == "rest"] == list(profiling.PARTS)
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1)
    # Weights that a word is multiplied with, by hand; the gates of words, computed once, are not in them.
    source, query = (8, 4) if architecture == "gru" else (6, 6)
    layer = 4 * 6 * 8 + 2 * 6 * model.config.transformer.feed_forward
    multiplications = profiling.multiplications_of_parts(model)
    assert multiplications == {
        "encoder": (2 * 3 * 4 * 4 if architecture == "gru" else layer) + 2 * source * 8,
        "decoder states": 3 * 4 * 4 if architecture == "gru" else layer,
        "attention": query * 8 + 8 * source,
        "output layer": (3 * 4 if architecture == "gru" else 6) * 64,
    }
    assert {part for part in parts if parts[part]["floor_share"]} == multiplications.keys()


def test_what_slows_numpy_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    if not describe_numpy_products().startswith("openblas"):
        pytest.skip("numpy has another library here")
    assert "OPENBLAS_CORETYPE" not in describe_numpy_products()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert describe_numpy_products().endswith(", because OPENBLAS_CORETYPE=Haswell is set")


def test_without_ctranslate2_the_benchmark_prints_how_to_install_it(
    benchmarks: Benchmarks, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmarks.decoding, "is_installed", lambda: False)
    with pytest.raises(SystemExit):
        benchmarks.decoding.main(["--sentences", "2"])
    assert "pip install '.[peers]' in your clone, or add --no-peers" in capsys.readouterr().err


def test_ctranslate2_translates_the_same_sentences(
    benchmarks: Benchmarks, shared_runs: SharedRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ctranslate2", reason="the optional extra 'peers' is not installed")
    peers = benchmarks.peers
    small = peers.make_peers(peers.PeerSize.like(ModelConfig(hidden=5)), (40, 30), threads=1)
    sentences = peers.to_tokens([[5, 39, 3], [4]])
    for peer in small.values():
        for beam in (1, 4):
            assert [len(tokens) for tokens in peer.translate(sentences, beam, 7)] == [7, 7]
    trained = shared_runs.copy(tiny(), tmp_path / "run").path
    benchmarks.decoding.main(["--model", str(trained), "--sentences", "3", "--beam", "2", "--json"])
    document = json.loads(capsys.readouterr().out)
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
    preset.write_text(tiny().to_toml(), encoding="utf-8")
    document = run_json("bench", "train", "--preset", preset, "--steps", 2, "--precision", "fp32")
    for side in ("ours", "reference"):
        assert document[side]["seconds_per_step"] > 0
        assert document[side]["target_tokens_per_second"] > 0
    assert document["ratio"] > 0
    assert document["loss_difference"] < 1e-5


def test_fewer_pairs_than_a_batch_are_one_batch(tmp_path: Path) -> None:
    preset = tmp_path / "tiny.toml"
    preset.write_text(tiny().to_toml(), encoding="utf-8")
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
