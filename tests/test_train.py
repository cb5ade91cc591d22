"""Training for real: tiny models, real files, real processes that are killed."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from augenmerk import AugenmerkError
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import RunConfig, TrainConfig
from augenmerk.evaluate import Evaluator, evaluate_run
from augenmerk.train import learning_rate, start, train
from augenmerk.translate import load_model

CPU = torch.device("cpu")


class Silent:
    """A reporter that only remembers."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, Any]] = []

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        assert 0 < batch <= batches
        assert not loss <= 0
        assert tokens_per_second > 0
        assert epoch > 0

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        self.epochs.append(dict(metrics))


def tiny(**changes: object) -> RunConfig:
    """Trains in about a second."""
    tree: dict[str, dict[str, object]] = {
        "data": {"bilderbuch": {"pairs": 300}},
        "text": {"unit": "word", "lowercase": True, "joint": False},
        "model": {"embedding": 24, "hidden": 24, "key": 24, "embedding_dropout": 0.1},
        "train": {"epochs": 2, "batch_size": 16, "lr": 0.01, "precision": "fp32", "bleu": False},
    }
    for key, value in changes.items():
        group, _, name = key.partition("__")
        tree.setdefault(group, {})[name] = value
    return RunConfig.model_validate(tree)


def run_tiny(place: Path, **changes: object) -> RunDirectory:
    directory = start(tiny(**changes), place)
    train(directory, CPU, Silent())
    return directory


def weights(place: Path) -> dict[str, torch.Tensor]:
    return load_file(place / "model.safetensors")


def same(some: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> bool:
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


def test_a_run_learns_and_leaves_what_it_promises(tmp_path: Path) -> None:
    place = tmp_path / "run"
    directory = start(tiny(train__epochs=6, train__bleu=True), place)
    reporter = Silent()
    result = train(directory, CPU, reporter)
    losses = [metrics["validation_loss"] for metrics in reporter.epochs]
    assert losses[-1] < losses[0] - 0.3
    assert result["best_epoch"] == losses.index(min(losses)) + 1
    assert result["validation_loss"] == min(losses)
    for key in ("run", "parameters", "seconds", "target_tokens_per_second", "validation_perplexity"):
        assert key in result
    assert json.loads((place / "result.json").read_text())["best_epoch"] == result["best_epoch"]
    lines = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert all(0 <= line["validation_bleu"] <= 100 for line in lines)
    assert RunDirectory.open(place).finished
    assert result["parameters"] == sum(p.numel() for p in load_model(directory).parameters())


def test_the_kept_weights_are_those_that_were_validated(tmp_path: Path) -> None:
    for changes in ({}, {"train__ema": 0.9}, {"model__tie": "target", "model__layers": 2}):
        directory = run_tiny(tmp_path / str(len(changes)) / "-".join(changes), **changes)
        [row] = evaluate_run(Evaluator(directory, CPU), ["val"])
        assert directory.result is not None
        assert row["loss"] == pytest.approx(directory.result["validation_loss"], abs=1e-9)
        assert row["perplexity"] == pytest.approx(directory.result["validation_perplexity"])
        assert directory.read_scores() == [row]


def test_an_average_is_not_the_last_weights(tmp_path: Path) -> None:
    plain, averaged = run_tiny(tmp_path / "plain"), run_tiny(tmp_path / "averaged", train__ema=0.9)
    state = load_file(averaged.path / "state.safetensors")
    assert torch.equal(
        state["weight.W_o.bias"], load_file(plain.path / "state.safetensors")["weight.W_o.bias"]
    )
    assert torch.equal(state["average.W_o.bias"], weights(averaged.path)["W_o.bias"])
    assert not torch.equal(state["average.W_o.bias"], state["weight.W_o.bias"])


@pytest.mark.parametrize(
    "changes",
    [
        {
            "train__optimizer": "adamw",
            "train__weight_decay": 0.1,
            "train__schedule": "cosine",
            "train__warmup": 5,
        },
        {"train__label_smoothing": 0.1, "train__clip": 0.5, "train__accumulate": 3},
        {"text__unit": "bpe", "text__joint": True, "text__bpe_dropout": 0.2, "model__tie": "all"},
        {"model__attention": "multi-head", "model__layers": 2, "model__output_dropout": 0.2},
        {"train__precision": "bf16"},
    ],
    ids=str,
)
def test_settings_do_something_and_still_learn(tmp_path: Path, changes: dict[str, object]) -> None:
    directory = run_tiny(tmp_path / "run", **changes)
    history = directory.read_metrics()
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    plain = run_tiny(tmp_path / "plain")
    assert history[-1]["train_loss"] != plain.read_metrics()[-1]["train_loss"]


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path) -> None:
    directory = run_tiny(tmp_path / "run", train__lr=1e-12, train__patience=2, train__epochs=50)
    assert directory.result is not None
    assert directory.result["epochs"] - directory.result["best_epoch"] == 2
    assert directory.result["epochs"] < 50


def test_a_diverging_run_says_so(tmp_path: Path) -> None:
    run_tiny(tmp_path / "run")
    directory = RunDirectory.open(tmp_path / "run")
    saved = directory.load_state()
    assert saved is not None
    tensors, progress = saved
    tensors["weight.W_o.bias"][5] = float("nan")
    (tmp_path / "run" / "result.json").unlink()
    directory.save_state(tensors, {**progress, "epoch": 1})
    with pytest.raises(AugenmerkError, match="The loss is nan in epoch 2: training has diverged"):
        train(directory, CPU, Silent())


def test_learning_rate() -> None:
    constant = TrainConfig(lr=0.1)
    assert learning_rate(constant, 0, 0.0) == learning_rate(constant, 999, 0.99) == 0.1
    warm = TrainConfig(lr=0.1, warmup=10)
    assert [learning_rate(warm, step, 0.0) for step in (0, 4, 9, 20)] == pytest.approx([0.01, 0.05, 0.1, 0.1])
    cosine = TrainConfig(lr=0.1, schedule="cosine")
    assert [learning_rate(cosine, 50, done) for done in (0.0, 0.5, 1.0)] == pytest.approx([0.1, 0.05, 0.0])


# Processes: the same seed, and what is killed


def command(place: Path, *more: str, epochs: int = 4) -> list[str]:
    settings = ["data.bilderbuch.pairs=600", "train.batch_size=8", "train.precision=fp32", "train.bleu=false"]
    settings += ["train.select_by=loss"]
    settings += ["text.vocabulary_size=400", "model.embedding=16", "model.hidden=16", "model.key=16"]
    flags = [flag for setting in settings for flag in ("--set", setting)]
    return [
        *(sys.executable, "-m", "augenmerk", "train", "quick", "--data", "bilderbuch"),
        *("--epochs", str(epochs), "--device", "cpu", *flags, "--out", str(place), *more),
    ]


def resume(place: Path) -> list[str]:
    return [sys.executable, "-m", "augenmerk", "train", "--resume", "--device", "cpu", "--out", str(place)]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("uninterrupted") / "run"
    subprocess.run(command(place), check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "1"})
    return place


def states(place: Path) -> dict[str, torch.Tensor]:
    return {**weights(place), **load_file(place / "state.safetensors")}


def test_same_seed_same_weights_in_another_process(uninterrupted: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    subprocess.run(command(again), check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "2"})
    assert same(states(again), states(uninterrupted))
    other = tmp_path / "other"
    subprocess.run(command(other, "--seed", "2"), check=True, capture_output=True)
    assert not same(states(other), states(uninterrupted))


def test_killed_at_any_moment_and_resumed_it_is_the_same(uninterrupted: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    rng = random.Random(7)
    kills = 0
    while not (place / "result.json").exists():
        process = subprocess.Popen(
            resume(place) if place.exists() else command(place, "--set", "train.save_seconds=0.05"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if kills < 5:
            began = time.monotonic()
            wait = rng.uniform(1.5, 6.0)
            while time.monotonic() - began < wait and process.poll() is None:
                time.sleep(0.02)
            if process.poll() is None:
                process.kill()
                kills += 1
        _, errors = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    assert kills >= 2
    assert same(states(place), states(uninterrupted))
    metrics = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    expected = [json.loads(line) for line in (uninterrupted / "metrics.jsonl").read_text().splitlines()]
    for ours, theirs in zip(metrics, expected, strict=True):
        assert ours["train_loss"] == theirs["train_loss"]
        assert ours["validation_loss"] == theirs["validation_loss"]


def test_ctrl_c_saves_and_says_how_to_go_on(uninterrupted: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    process = subprocess.Popen(command(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("epoch   1"):
            process.send_signal(signal.SIGINT)
            break
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"augenmerk train --resume --out {place}" in errors
    assert "Traceback" not in errors
    assert not (place / "result.json").exists()
    subprocess.run(resume(place), check=True, capture_output=True)
    assert same(states(place), states(uninterrupted))


def complaint(arguments: list[str]) -> str:
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


def test_runs_are_not_overwritten_or_mixed_up(uninterrupted: Path, tmp_path: Path) -> None:
    assert "is a finished run" in complaint(command(uninterrupted))
    assert "nothing to resume" in complaint(resume(uninterrupted))
    assert "no such run" in complaint(resume(tmp_path / "nowhere"))
    unfinished = tmp_path / "unfinished"
    start(tiny(), unfinished)
    assert "--resume" in complaint(command(unfinished))
    assert "other settings" in complaint(command(unfinished, "--resume"))
    assert "keeps its settings" in complaint([*resume(unfinished), "--epochs", "9"])


def test_bad_settings_get_one_sentence(tmp_path: Path) -> None:
    base = [sys.executable, "-m", "augenmerk", "train"]
    assert "There is no preset called 'qick'" in complaint([*base, "qick"])
    assert "unknown key 'train.rate'" in complaint([*base, "quick", "--set", "train.rate=1"])
    assert "model.attention" in complaint([*base, "quick", "--attention", "magic"])
    assert "a preset" in complaint(base)
    assert "not a device" in complaint(
        [*base, "quick", "--data", "bilderbuch", "--device", "tpux", "--out", str(tmp_path / "x")]
    )
    if importlib.util.find_spec("tensorboard") is None:
        place = tmp_path / "board"
        board = [*base, "quick", "--data", "bilderbuch", "--tensorboard", "--out", str(place)]
        assert "pip install 'augenmerk[tensorboard]'" in complaint(board)
        assert not place.exists()
    (tmp_path / "mine.toml").write_text("[train]\nepochs = 0\n", encoding="utf-8")
    assert "mine.toml: 'train.epochs'" in complaint([*base, str(tmp_path / "mine.toml")])


def test_a_resumed_state_of_another_model_is_refused(tmp_path: Path) -> None:
    directory = start(tiny(), tmp_path / "run")
    directory.save_state({"weight.W_o.bias": torch.zeros(3)}, {"epoch": 1})
    with pytest.raises(AugenmerkError, match="does not belong to this run's settings"):
        train(RunDirectory.open(tmp_path / "run"), CPU, Silent())
