"""The figure of `augenmerk theory from-run`: one query of a real model, and its keys."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augenmerk.figures import Theme, drawing
from augenmerk.theory.real import StepView


def draw_step(view: StepView, source: Sequence[str], produced: str, theme: Theme) -> Figure:
    """The weights with what noise does to them; and the keys, along the query and across it."""
    with drawing(theme):
        figure = Figure(figsize=(10.0, max(4.0, 1.6 + 0.3 * len(source))), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_weights(left, view, source, theme)
        left.set_title(f"Attention when '{produced}' is produced", loc="left", fontsize=10.5)
        _draw_keys(right, view, source, theme)
        right.set_title("Keys: noise in their length moves them on their rays", loc="left", fontsize=10.5)
    return figure


def _draw_weights(axes: Axes, view: StepView, source: Sequence[str], theme: Theme) -> None:
    places = np.arange(len(source))
    low = np.array([key.noisy_low for key in view.keys])
    high = np.array([key.noisy_high for key in view.keys])
    span = f"5% to 95% with β = {view.beta:g}"
    axes.barh(places, high - low, left=low, height=0.72, color=theme.faint, label=span)
    axes.barh(places, [key.weight for key in view.keys], height=0.36, color=theme.series[1], label="weight")
    axes.set_yticks(places, source)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(source) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel("weight")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=9, ncols=2)


def _draw_keys(axes: Axes, view: StepView, source: Sequence[str], theme: Theme) -> None:
    """Only what lies along the query counts for the logit; a key that is longer is further along."""
    spread = np.sqrt(view.beta)
    for token, key in zip(source, view.keys, strict=True):
        angle = np.radians(key.angle)
        place = key.norm * np.array([np.cos(angle), np.sin(angle)])
        colour = theme.series[1] if key.copyable else theme.series[0]
        ray = np.outer([1 - spread, 1 + spread], place)
        axes.plot(ray[:, 0], ray[:, 1], color=colour, lw=2, alpha=0.45, solid_capstyle="round")
        axes.plot(place[0], place[1], "o", ms=5 + 9 * np.sqrt(key.weight), color=colour)
        axes.annotate(
            token, (place[0], place[1]), (9, 0), textcoords="offset points", va="center", fontsize=9.5
        )
    axes.plot(0, 0, marker=".", color=theme.ink)
    axes.axvline(0, color=theme.faint, lw=1, zorder=0)
    axes.axhline(0, color=theme.faint, lw=1, zorder=0)
    if not all(key.copyable for key in view.keys):
        axes.plot([], [], "o", color=theme.series[0], label="no query could copy it")
        axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.13))
    axes.margins(x=0.12)
    axes.set_xlabel("length along the query (what the logit sees)")
    axes.set_ylabel("length across it")
