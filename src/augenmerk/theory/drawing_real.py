"""The figure of `augenmerk theory from-run`: one query of a real model, and its keys."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from augenmerk.figures import Theme, drawing
from augenmerk.theory.real import StepView


def draw_step(view: StepView, source: Sequence[str], produced: str, theme: Theme) -> Figure:
    """The weights with what noise does to them, and how far each key is from being copied."""
    with drawing(theme):
        places = np.arange(len(source))
        figure = Figure(figsize=(10.0, 1.6 + 0.34 * len(source)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.3, 1])
        weights = np.array([key.weight for key in view.keys])
        low = np.array([key.noisy_low for key in view.keys])
        high = np.array([key.noisy_high for key in view.keys])
        left.barh(
            places,
            high - low,
            left=low,
            height=0.72,
            color=theme.faint,
            label=f"5% to 95% with β = {view.beta:g}",
        )
        left.barh(places, weights, height=0.4, color=theme.series[1], label="weight")
        left.set_yticks(places, source)
        left.set_ylim(len(source) - 0.4, -0.6)
        left.set_xlim(0, 1)
        left.set_xlabel("weight")
        left.set_title(f"Attention when '{produced}' is produced", loc="left", fontsize=10.5)
        left.legend(loc="lower right", fontsize=9)
        left.tick_params(axis="y", length=0)
        needed = np.array([min(key.query_needed, 1e9) / view.query_norm for key in view.keys])
        colours = [theme.series[1] if key.copyable else theme.series[0] for key in view.keys]
        right.hlines(places, 1, needed, color=colours, lw=1.5)
        right.scatter(needed, places, color=colours, s=30, zorder=3)
        right.axvline(1, color=theme.faint, lw=1, zorder=0)
        right.set_xscale("log")
        right.set_xlabel("length needed / length of this query")
        right.set_title(f"To copy each value, {view.eps:.0%} elsewhere", loc="left", fontsize=10.5)
        right.tick_params(axis="y", length=0)
        right.spines["left"].set_visible(False)
    return figure
