"""A tiny assignment, trained in this process: workers that start one by one would take most of the time."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from augenmerk.assignment import plan, session, work
from augenmerk.assignment.report import REPORTS
from augenmerk.evaluation.evaluator import Evaluator
from augenmerk.study import runner
from augenmerk.study.plan import Study, plan_study
from tests.support.runs import JobsHere

BEAMS = (1, 2, 3)
TINY = {
    "question": "Does it matter?",
    "splits": ["test"],
    "beams": [1],
    "seeds": [1, 2],
    "factors": {"attention": [*plan.MECHANISMS]},
    "sentences": ["Den roten Ball wirft der Junge."],
    "settings": {
        "data": {"bitext": "bilderbuch", "bilderbuch": {"pairs": 300}},
        "text": {"unit": "word", "joint": False},
        "model": {"embedding": 24, "hidden": 24, "key": 24, "embedding_dropout": 0.1},
        "train": {"epochs": 2, "batch_size": 16, "lr": 0.01, "precision": "fp32", "bleu": False},
    },
}


def plan_tiny(data: str, *, fast: bool) -> Study:
    ORIGINAL(data, fast=fast)  # refuses what it refuses
    return plan_study(TINY, Path("tiny"), "assignment")


ORIGINAL = plan.plan_comparison


def make_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes assignments tiny, until the test ends."""
    monkeypatch.setattr(runner, "LocalExecutor", JobsHere)
    monkeypatch.setattr(session, "plan_comparison", plan_tiny)
    monkeypatch.setattr(work, "BEAMS", BEAMS)
    monkeypatch.setattr(work, "TASKS", ("1.2", "1.4"))  # those that have published answers


def copy_finished(shared_folder: Path, place: Path) -> None:
    """Puts a finished tiny assignment at `place`; it is done once, and interrupted on the way."""
    done = shared_folder / "assignment"
    with FileLock(shared_folder / "assignment.lock"), pytest.MonkeyPatch.context() as patch:
        if not done.exists():
            make_tiny(patch)
            unfinished = shared_folder / "assignment-unfinished"
            _interrupt(unfinished)
            session.assignment(output=unfinished, device="cpu")
            unfinished.rename(done)
    shutil.copytree(done, place)


def _interrupt(folder: Path) -> None:
    """Interrupts an assignment between two beams."""
    evaluate = Evaluator.evaluate

    def evaluate_one(evaluator: Evaluator, splits: Any, beams: Sequence[int]) -> Any:
        found = evaluate(evaluator, splits, beams[:1])
        if list(beams) != [1]:  # not those of a training
            raise KeyboardInterrupt
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluator, "evaluate", evaluate_one)
        with pytest.raises(KeyboardInterrupt):
            session.assignment(output=folder, device="cpu")
    assert not any((folder / name).exists() for name in (*REPORTS, work.DOCUMENT))
