"""Loggers of training: they see every figure, in order, and cannot stop it."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from augenmerk.run.directory import RunDirectory
from augenmerk.training.loggers import LoggerGroup, LoggerStartError
from augenmerk.training.loop import Clock, train
from augenmerk.training.start import start
from tests.cli.test_documents import blocks
from tests.support.command import fails_with_a_sentence, run_command
from tests.support.runs import CPU, Silent, tiny


class Memory:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def start(self, run: Path, settings: Mapping[str, Any], step: int) -> None:
        self.calls.append(("start", run, settings["train"]["epochs"], step))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self.calls.append((step, dict(metrics)))

    def close(self) -> None:
        self.calls.append("close")


class Broken(Memory):
    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        super().log(step, metrics)
        raise OSError("no network")


def test_a_logger_gets_steps_and_epochs_and_one_that_fails_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Clock, "REPORT_SECONDS", 0)  # every step is reported, the last of an epoch too
    run, memory, broken = start(tiny(), tmp_path / "run"), Memory(), Broken()
    with caplog.at_level(logging.WARNING):
        result = train(run, CPU, Silent(), [broken, memory])
    assert len(broken.calls) == 2  # start, and the log that failed
    assert [record.message for record in caplog.records] == [
        "The logger Broken failed (OSError: no network); it is left out from here on."
    ]
    assert memory.calls[0] == ("start", tmp_path / "run", 2, 0)
    assert memory.calls[-1] == "close"
    logged = memory.calls[1:-1]
    steps = [step for step, _ in logged]
    assert steps == sorted(steps)
    assert set(steps) == set(range(1, steps[-1] + 1))
    seen = [(step, name) for step, metrics in logged for name in metrics]
    assert len(seen) == len(set(seen))  # no number is logged twice
    epochs = [{**metrics, "step": step} for step, metrics in logged if "epoch" in metrics]
    assert epochs == run.read_metrics()
    assert len(epochs) == result["epochs"]
    first = logged[0][1]
    assert set(first) == {"batch_loss", "learning_rate", "target_tokens_per_second"}
    assert first["learning_rate"] == 0.01


UNREADY = """
class Unready:
    def start(self, run, settings, step):
        (run / "note.txt").write_text("asked")
        raise RuntimeError("log in first")

    def log(self, step, metrics):
        print("LOGGED")

    def close(self):
        print("CLOSED")
"""
FEW_PAIRS = ("--data", "bilderbuch", "--set", "data.bilderbuch.pairs=60", "--set", "text.vocabulary_size=300")


def test_a_logger_that_cannot_start_leaves_no_run_behind(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(UNREADY, encoding="utf-8")
    out = tmp_path / "run"
    logger = f"{tmp_path / 'mine.py'}:Unready"
    answer = run_command("train", "quick", *FEW_PAIRS, "--logger", logger, "--out", out)
    assert (answer.code, answer.out) == (2, ""), answer.err  # what did not start is not closed either
    assert answer.err.splitlines()[-1] == (
        "augenmerk: The logger Unready failed (RuntimeError: log in first); nothing was trained."
    )
    assert not out.exists()


def test_a_logger_that_cannot_start_leaves_a_resumed_run_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(UNREADY, encoding="utf-8")
    run = start(tiny(), tmp_path / "run")
    logger = f"{tmp_path / 'mine.py'}:Unready"
    answer = run_command("train", "--resume", "--out", run.path, "--logger", logger)
    assert answer.code == 2
    assert "log in first" in answer.err
    assert RunDirectory.open(run.path).config == run.config


def test_only_loggers_that_have_started_are_closed(tmp_path: Path) -> None:
    class Unready(Memory):
        def start(self, run: Path, settings: Mapping[str, Any], step: int) -> None:  # noqa: ARG002
            raise RuntimeError("log in first")

    first, unready, third = Memory(), Unready(), Memory()
    group = LoggerGroup([first, unready, third])
    with pytest.raises(LoggerStartError, match=r"Unready failed \(RuntimeError: log in first\)"):
        group.start(tmp_path, {"train": {"epochs": 1}}, 0)
    group.close()
    assert first.calls[-1] == "close"
    assert unready.calls == third.calls == []


def test_training_from_python_as_in_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    csv_logger, *_, training = blocks("docs/guides/logging.md", "python")
    names: dict[str, Any] = {}
    exec(csv_logger, names)
    exec(training, names)
    assert "epoch 1 validation loss" in capsys.readouterr().out
    assert (tmp_path / "runs" / "from-python" / "log.csv").stat().st_size


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("mine.py", "is not a logger: expected something like mine.py:Logger"),
        ("absent.py:Logger", "absent.py: there is no such file"),
        ("no_such_module:Logger", "The logger no_such_module:Logger cannot be made"),
        ("json:Nothing", "has no attribute 'Nothing'"),
        ("collections:OrderedDict", "it has no method 'start'"),
        ("fractions:Fraction.x", "The logger fractions:Fraction.x cannot be made"),
        ("zoneinfo:ZoneInfo", "name a class that needs no arguments"),
    ],
)
def test_what_is_no_logger_is_refused_before_a_run_is_made(place: str, said: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert said in fails_with_a_sentence("train", "quick", *FEW_PAIRS, "--logger", place, "--out", out)
    assert not out.exists()
