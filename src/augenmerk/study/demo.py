"""The main job in small: three mechanisms trained on embedded data, compared, and used."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from augenmerk.base.config import RunConfig
from augenmerk.data import open_data
from augenmerk.evaluation.agreement import measure_alignment
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import Reporter, train
from augenmerk.training.start import start
from augenmerk.translation import load

MECHANISMS: tuple[str, ...] = ("none", "mean", "scaled-dot")

SENTENCES = (
    "Der kleine Hund schläft unter dem Tisch.",
    "Heute hat die Oma einen Kuchen gebacken.",
    "Den roten Ball wirft der Junge.",
    "Das Mädchen macht das Fenster auf, weil es müde ist.",
)
"""Sentences like those of the data, each with a word that moves on the way to English."""


def demo_config(attention: str) -> RunConfig:
    """Returns settings for a run of a minute on two CPU cores that still shows the difference."""
    sizes = {"embedding": 64, "hidden": 128, "key": 64, "embedding_dropout": 0.1}
    steps = {"epochs": 3, "batch_size": 64, "lr": 0.005, "schedule": "cosine", "warmup": 100, "clip": 1.0}
    return RunConfig.model_validate(
        {
            "data": {"bitext": "bilderbuch"},
            "text": {"unit": "word", "joint": False},
            "model": {"attention": attention, **sizes},
            "train": {**steps, "bleu": False},
        }
    )


def run_demo(
    folder: Path,
    device: torch.device,
    announce: Callable[[str], None],
    reporter: Callable[[RunConfig], AbstractContextManager[Reporter]],
) -> list[dict[str, Any]]:
    """Trains the runs that `folder` lacks, and returns a row of test scores for each mechanism."""
    rows = []
    for attention in MECHANISMS:
        config = demo_config(attention)
        path = folder / attention
        is_same = (path / "config.toml").exists() and RunDirectory.open(path).config == config
        run = RunDirectory.open(path) if is_same else start(config, path)
        if not run.finished:
            announce(f"training with attention '{attention}'")
            with reporter(config) as shown:
                train(run, device, shown)
        announce(f"evaluating '{attention}'")
        greedy, beam = evaluate_run(Evaluator(run, device), ["test"], [1, 5])
        alignment = measure_alignment(load(run.path, device), list(open_data(config.data)["test"]))
        assert run.result is not None
        rows.append(
            {
                "attention": attention,
                "run": str(run.path),
                **{name: run.result[name] for name in ("parameters", "seconds")},
                **{name: greedy[name] for name in ("loss", "perplexity")},
                "bleu_greedy": greedy["bleu"],
                "bleu_beam_5": beam["bleu"],
                "bleu_signature": greedy["bleu_signature"],
                "alignment_error": alignment.error if alignment.proposed else None,
            }
        )
    return rows
