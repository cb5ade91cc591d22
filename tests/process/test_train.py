"""Training for real: tiny models, real files, real processes that are killed."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from augenmerk import AugenmerkError
from augenmerk.base.config import TrainConfig
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import TrainingInterrupted, learning_rate, train
from augenmerk.training.start import start
from augenmerk.translation import load_model
from tests.support.command import run_command
from tests.support.processes import Command, Forker, wait_for
from tests.support.runs import CPU, SharedRuns, tiny


class Silent:
    """A reporter that only remembers."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.epochs: list[dict[str, Any]] = []

    def begin(self, data: Mapping[str, Any]) -> None:
        self.data = dict(data)

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None:
        assert 0 < batch <= batches
        assert not loss <= 0
        assert tokens_per_second > 0
        assert epoch > 0

    def epoch(self, metrics: Mapping[str, Any]) -> None:
        self.epochs.append(dict(metrics))


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


def test_the_kept_weights_are_those_that_were_validated(shared_runs: SharedRuns, tmp_path: Path) -> None:
    kinds: list[dict[str, object]] = [{}, {"train__ema": 0.9}, {"model__tie": "target", "model__layers": 2}]
    for changes in kinds:
        directory = shared_runs.copy(tiny(**changes), tmp_path / "-".join(["run", *changes]))
        [row] = evaluate_run(Evaluator(directory, CPU), ["val"])
        assert directory.result is not None
        assert row["loss"] == pytest.approx(directory.result["validation_loss"], abs=1e-6)
        assert row["perplexity"] == pytest.approx(directory.result["validation_perplexity"])
        assert directory.read_scores() == [row]


def test_an_average_is_not_the_last_weights(shared_runs: SharedRuns, tmp_path: Path) -> None:
    plain = shared_runs.copy(tiny(), tmp_path / "plain")
    averaged = shared_runs.copy(tiny(train__ema=0.9), tmp_path / "averaged")
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
def test_settings_do_something_and_still_learn(
    shared_runs: SharedRuns, tmp_path: Path, changes: dict[str, object]
) -> None:
    directory = run_tiny(tmp_path / "run", **changes)
    history = directory.read_metrics()
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    plain = shared_runs.copy(tiny(), tmp_path / "plain")
    assert history[-1]["train_loss"] != plain.read_metrics()[-1]["train_loss"]


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path) -> None:
    directory = run_tiny(tmp_path / "run", train__lr=1e-12, train__patience=2, train__epochs=50)
    assert directory.result is not None
    assert directory.result["epochs"] - directory.result["best_epoch"] == 2
    assert directory.result["epochs"] < 50


def test_a_diverging_run_says_so(shared_runs: SharedRuns, tmp_path: Path) -> None:
    directory = shared_runs.copy(tiny(), tmp_path / "run")
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


# The same seed in another process, and what is killed or interrupted


def states(place: Path) -> dict[str, torch.Tensor]:
    return {**weights(place), **load_file(place / "state.safetensors")}


def losses(run: RunDirectory) -> list[tuple[float, float]]:
    return [(metrics["train_loss"], metrics["validation_loss"]) for metrics in run.read_metrics()]


def flags(**changes: object) -> list[str]:
    """The settings of `tiny` for the command line."""
    tree = tiny(**changes).model_dump(exclude_none=True)
    tree["model"] |= {f"transformer.{key}": value for key, value in tree["model"].pop("transformer").items()}
    values = {
        f"{group}.{key}": tree[group][key] for group in ("text", "model", "train") for key in tree[group]
    }
    values["data.bilderbuch.pairs"] = tree["data"]["bilderbuch"]["pairs"]
    settings = [f"{key}={json.dumps(value)}" for key, value in values.items()]
    return [*("--data", "bilderbuch", "--device", "cpu"), *(f"--set={setting}" for setting in settings)]


@pytest.fixture
def uninterrupted(shared_runs: SharedRuns, tmp_path: Path) -> RunDirectory:
    return shared_runs.copy(tiny(), tmp_path / "uninterrupted")


def test_same_seed_same_weights_in_another_process(
    uninterrupted: RunDirectory, shared_runs: SharedRuns, tmp_path: Path
) -> None:
    first, again = shared_runs.copy(tiny(data__validation="train"), tmp_path / "first"), tmp_path / "again"
    code = (
        "import sys\n"
        "from augenmerk.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    assert 'torch._dynamo' not in sys.modules, 'it takes a second to import torch\\'s compiler'\n"
    )
    training = ["train", "quick", *flags(), "--set=data.validation=train", "--out", str(again)]
    train_it = [sys.executable, "-c", code, *training]
    subprocess.run(train_it, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "2"})
    assert same(states(again), states(first.path))
    other = shared_runs.copy(tiny(train__seed=2), tmp_path / "other")
    assert not same(states(other.path), states(uninterrupted.path))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize(("kills", "pairs"), [(5, 48), pytest.param(200, 120, marks=pytest.mark.thorough)])
def test_killed_at_any_moment_and_resumed_it_is_the_same(
    forker: Forker, tmp_path: Path, kills: int, pairs: int
) -> None:
    few = {"data__bilderbuch": {"pairs": pairs}, "train__batch_size": 8, "train__epochs": 2 + kills // 5}
    config = tiny(**few, train__save_seconds=1e-9)  # saves after every batch
    whole, killed = start(config, tmp_path / "whole"), start(config, tmp_path / "killed")
    process = forker.start("train_until", whole.path)
    process.wait()
    [calls] = map(int, process.said())
    rng = random.Random(kills)
    for _ in range(kills):
        process = forker.start("train_until", killed.path, rng.randrange(1, calls // kills))
        process.wait()
        assert process.said() == []
        assert not killed.finished
    assert killed.load_state() is not None
    train(killed, CPU, Silent())
    assert same(states(killed.path), states(whole.path))
    assert losses(killed) == losses(whole)


def test_interrupted_and_resumed_it_is_the_same(uninterrupted: RunDirectory, tmp_path: Path) -> None:
    class Interrupting(Silent):
        def epoch(self, metrics: Mapping[str, Any]) -> None:
            super().epoch(metrics)
            signal.raise_signal(signal.SIGINT)

    run = start(tiny(), tmp_path / "run")
    with pytest.raises(TrainingInterrupted):
        train(run, CPU, Interrupting())
    assert len(run.read_metrics()) == 1
    assert not run.finished
    train(run, CPU, Silent())
    assert same(states(run.path), states(uninterrupted.path))
    assert losses(run) == losses(uninterrupted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_signal_saves_and_says_how_to_go_on(
    forker: Forker, tmp_path: Path, signum: int, code: int
) -> None:
    place = tmp_path / "run"
    endless = Command(["train", "quick", *flags(train__epochs=100_000), "--out", str(place)])
    process = forker.start_command(endless, tmp_path)
    wait_for("an epoch", lambda: any(line.startswith("epoch   1") for line in process.said("stderr")))
    os.kill(process.number, signum)
    ended = process.end(endless)
    assert (ended.code, ended.out) == (code, ""), ended.err
    assert f"augenmerk train --resume --out {place}" in ended.err
    assert "Traceback" not in ended.err
    run = RunDirectory.open(place)
    assert not run.finished
    assert run.load_state() is not None


def complaint(*arguments: object) -> str:
    answer = run_command("train", *arguments)
    assert (answer.code, answer.out) == (2, ""), answer.err
    return answer.err.strip().splitlines()[-1]


def test_runs_are_not_overwritten_or_mixed_up(uninterrupted: RunDirectory, tmp_path: Path) -> None:
    assert "is a finished run" in complaint("quick", *flags(), "--out", uninterrupted.path)
    assert "nothing to resume" in complaint("--resume", "--out", uninterrupted.path)
    assert "no such run" in complaint("--resume", "--out", tmp_path / "nowhere")
    unfinished = tmp_path / "unfinished"
    start(tiny(), unfinished)
    assert "--resume" in complaint("quick", *flags(), "--out", unfinished)
    assert "other settings" in complaint("quick", *flags(train__lr=0.5), "--resume", "--out", unfinished)
    assert "keeps its settings" in complaint("--resume", "--out", unfinished, "--seed", 9)


def test_bad_settings_get_one_sentence(tmp_path: Path) -> None:
    book = ("quick", "--data", "bilderbuch")
    assert "There is no preset called 'qick'" in complaint("qick")
    assert "unknown key 'train.rate'" in complaint("quick", "--set", "train.rate=1")
    assert "model.attention" in complaint("quick", "--attention", "magic")
    assert "a preset" in complaint()
    assert "not a device" in complaint(*book, "--device", "tpux", "--out", tmp_path / "x")
    if importlib.util.find_spec("tensorboard") is None:
        place = tmp_path / "board"
        assert "pip install '.[tensorboard]'" in complaint(*book, "--tensorboard", "--out", place)
        assert not place.exists()
    (tmp_path / "mine.toml").write_text("[train]\nepochs = 0\n", encoding="utf-8")
    assert "mine.toml: 'train.epochs'" in complaint(tmp_path / "mine.toml")


def test_a_resumed_state_of_another_model_is_refused(tmp_path: Path) -> None:
    directory = start(tiny(), tmp_path / "run")
    directory.save_state({"weight.W_o.bias": torch.zeros(3)}, {"epoch": 1})
    with pytest.raises(AugenmerkError, match="does not belong to this run's settings"):
        train(RunDirectory.open(tmp_path / "run"), CPU, Silent())
