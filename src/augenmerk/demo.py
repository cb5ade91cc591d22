"""The main job in small: three mechanisms trained on embedded data, compared, and used."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from augenmerk.agreement import measure_alignment
from augenmerk.bitext import open_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import AttentionName, RunConfig
from augenmerk.evaluate import Evaluator, evaluate_run
from augenmerk.train import Reporter, start, train
from augenmerk.translate import load

MECHANISMS: tuple[AttentionName, ...] = ("none", "mean", "scaled-dot")

SENTENCES = (
    "Der kleine Hund schläft unter dem Tisch.",
    "Heute hat die Oma einen Kuchen gebacken.",
    "Den roten Ball wirft der Junge.",
    "Das Mädchen macht das Fenster auf, weil es müde ist.",
)
"""In the manner of the book, and each with something that moves on the way to English."""


def demo_config(attention: AttentionName) -> RunConfig:
    """Small enough for a minute on two CPU cores, large enough to show the difference."""
    return RunConfig.model_validate(
        {
            "data": {"bitext": "bilderbuch"},
            "text": {"unit": "word", "joint": False},
            "model": {
                "attention": attention,
                "embedding": 64,
                "hidden": 128,
                "key": 64,
                "embedding_dropout": 0.1,
            },
            "train": {
                "epochs": 3,
                "batch_size": 64,
                "lr": 0.005,
                "schedule": "cosine",
                "warmup": 100,
                "clip": 1.0,
                "bleu": False,
            },
        }
    )


def run_demo(
    place: Path,
    device: torch.device,
    announce: Callable[[str], None],
    reporter: Callable[[RunConfig], AbstractContextManager[Reporter]],
) -> list[dict[str, Any]]:
    """Trains what is not there yet under `place`; a row of figures for each mechanism, on the test split."""
    rows = []
    for attention in MECHANISMS:
        config = demo_config(attention)
        run = _run(place / attention, config)
        if not run.finished:
            announce(f"training with attention '{attention}'")
            with reporter(config) as shown:
                train(run, device, shown)
        announce(f"evaluating '{attention}'")
        greedy, beam = evaluate_run(Evaluator(run, device), ["test"], [1, 5])
        pairs = list(open_data(config.data)["test"])
        alignment = measure_alignment(load(run.path, device), pairs)
        assert run.result is not None
        rows.append(
            {
                "attention": attention,
                "run": str(run.path),
                "parameters": run.result["parameters"],
                "seconds": run.result["seconds"],
                "loss": greedy["loss"],
                "perplexity": greedy["perplexity"],
                "bleu_greedy": greedy["bleu"],
                "bleu_beam_5": beam["bleu"],
                "bleu_signature": greedy["bleu_signature"],
                "alignment_error": alignment.error if alignment.proposed else None,
            }
        )
    return rows


def _run(place: Path, config: RunConfig) -> RunDirectory:
    """The run that is there, if it is the same; otherwise a new one."""
    if (place / "config.toml").exists():
        run = RunDirectory.open(place)
        if run.config == config:
            return run
    return start(config, place)
