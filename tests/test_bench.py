"""The benchmarks run, and both sides of each do the same work. How fast they are is no matter for a test."""

from pathlib import Path

import torch

from augenmerk.bench.decoding import plain_search
from augenmerk.config import ModelConfig, SearchConfig
from augenmerk.model.translator import GRUTranslator
from tests.command import run_command, run_json
from tests.decoding import decode
from tests.runs import SharedRuns, tiny


def test_decoding_is_measured_against_the_plain_way(shared_runs: SharedRuns, tmp_path: Path) -> None:
    document = run_json("bench", "decode", "--sentences", 24, "--beam", 1, "--beam", 3)
    assert [row["beam"] for row in document["beams"]] == [1, 3]
    for row in document["beams"]:
        assert row.keys() >= {"sentences_per_second", "reference_sentences_per_second", "ratio", "peak_mib"}
        assert all(value > 0 for value in row.values())
    assert document["latency_ms"] > 0
    assert document["sentences"] == 24
    trained = shared_runs.copy(tiny(), tmp_path / "run").path
    assert "beam" in run_command("bench", "decode", "--model", trained, "--sentences", 2, "--beam", 1).out


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
