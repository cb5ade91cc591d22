"""The main job in small: three mechanisms trained on embedded data, compared, and used."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.config import RunConfig
from augenmerk.base.console import Shown, err, make_table
from augenmerk.base.device import choose_device
from augenmerk.base.process import explain_interrupt
from augenmerk.data import open_data
from augenmerk.evaluation.agreement import measure_alignment
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
from augenmerk.run.directory import RunDirectory
from augenmerk.training.display import TrainingDisplay
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


class Demo(Shown, dict[str, Any]):
    """What the demo has measured, and how each mechanism translates some sentences."""

    def show(self) -> Iterator[RenderableType]:
        formats = {"loss": ".3f", "perplexity": ".2f", "bleu_greedy": ".1f", "bleu_beam_5": ".1f"}
        formats["alignment_error"] = ".3f"
        headings = (name.replace("_", " ").replace("bleu", "BLEU") for name in formats)
        lines, rows = [], self["rows"]
        for row in rows:
            values = ("-" if row[name] is None else format(row[name], spec) for name, spec in formats.items())
            lines.append([row["attention"], *values])
        yield make_table(("attention", *headings), lines)
        yield f"[dim]on 1,000 test sentences; {rows[0]['bleu_signature']}[/]"
        sources, *translations = self["translations"].values()
        for source, *texts in zip(sources, *translations, strict=True):
            yield f"\n[bold]{source}[/]"
            for row, text in zip(rows, texts, strict=True):
                yield f"  {row['attention']:>10}  {escape(text)}"


def demo(
    out: str | Path = "runs/demo",
    device: str = "auto",
    continue_with: Callable[[Path], str] = "augenmerk.demo('{}')".format,
) -> Demo:
    """Trains three mechanisms on built-in data, which takes minutes, compares them, and translates.

    Runs that the folder has already are not trained again. `continue_with` words how to continue.
    """
    err().print(
        "A picture book of 20,000 sentence pairs, three small translators that differ in one thing:\n"
        "what they attend to."
    )
    folder = Path(out)
    with explain_interrupt(continue_with(folder), "Trained runs are kept."):
        rows = run_demo(
            folder, choose_device(device), lambda step: err().print(f"[dim]{step}[/]"), TrainingDisplay
        )
    sources = list(SENTENCES)
    translations = {
        row["attention"]: [one.text for one in load(row["run"]).translate(sources, beam=5)] for row in rows
    }
    return Demo(rows=rows, translations={"source": sources, **translations})
