"""Draws one sentence pair through seven mechanisms, for explanation/mechanisms.md.

    python docs/mechanisms.py [FOLDER]

trains a small translator for each on bilderbuch, in FOLDER or runs/mechanisms: half a minute
each on two cores. Then it draws figures/mechanisms.svg.
"""

import sys
from pathlib import Path

import torch

from augenmerk.drawing import AttentionMap, draw_heat_map
from augenmerk.drawing.figures import LIGHT, save_figure
from augenmerk.run.directory import RunDirectory
from augenmerk.study.demo import demo_config
from augenmerk.training.display import TrainingDisplay
from augenmerk.training.loop import train
from augenmerk.training.start import start
from augenmerk.translation import load

FIGURE = Path(__file__).parent / "figures" / "mechanisms.svg"
NAMES = ("none", "mean", "scaled-dot", "dot", "bilinear", "additive", "multi-head")
SOURCE = "Den roten Ball hat der Junge geworfen."
TARGET = "The boy has thrown the red ball."


def read_pair(folder: Path, attention: str) -> AttentionMap:
    """Returns where the mechanism looks while it reads the pair; trains its run first if need be."""
    path = folder / attention
    run = RunDirectory.open(path) if path.exists() else start(demo_config(attention), path)
    if not run.finished:
        with TrainingDisplay(run.config) as shown:
            train(run, torch.device("cpu"), shown)
    read = load(path, "cpu").score(SOURCE, TARGET)
    return AttentionMap(read.source_words, read.target_words, read.attention, title=attention)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/mechanisms")
    maps = [read_pair(folder, attention) for attention in NAMES]
    save_figure(draw_heat_map(maps, LIGHT), FIGURE, outline=True)


if __name__ == "__main__":
    main()
