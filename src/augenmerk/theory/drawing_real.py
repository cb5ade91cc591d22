"""The figure of `augenmerk theory from-run`: one query of a real model, and its keys."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augenmerk.figures import Theme, use_theme
from augenmerk.theory.attention import Array
from augenmerk.theory.labels import label_points
from augenmerk.theory.real import StepView

MOST_TOKENS = 24
"""Of a sentence, in a figure: those with the largest weights."""


def draw_step(view: StepView, source: Sequence[str], produced: str, theme: Theme) -> Figure:
    """The weights with what noise does to them; and the keys, along the query and across it."""
    title = f"Attention when '{produced}' is produced"
    if len(source) > MOST_TOKENS:
        title += f": {MOST_TOKENS} largest of {len(source)} weights"
        view, source = _most_attended(view, source)
    with use_theme(theme):
        figure = Figure(figsize=(10.0, max(4.0, 1.6 + 0.3 * len(source))), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_weights(left, view, source, theme)
        left.set_title(title, loc="left", fontsize=10.5)
        _draw_keys(right, view, theme)
        right.set_title("Keys: noise in their length moves them on their rays", loc="left", fontsize=10.5)
        label_points(right, _places(view), source, theme)
    return figure


def _most_attended(view: StepView, source: Sequence[str]) -> tuple[StepView, list[str]]:
    """In the order of the sentence."""
    by_weight = sorted(range(len(source)), key=lambda j: -view.keys[j].weight)
    shown = sorted(by_weight[:MOST_TOKENS])
    return replace(view, keys=tuple(view.keys[j] for j in shown)), [source[j] for j in shown]


def _places(view: StepView) -> Array:
    """(m, 2): each key along the query, and across it."""
    angles = np.radians([key.angle for key in view.keys])
    norms = np.array([key.norm for key in view.keys])
    return np.stack([norms * np.cos(angles), norms * np.sin(angles)], axis=1)


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
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.035 - 0.75 / len(view.keys)), fontsize=9, ncols=2)


def _draw_keys(axes: Axes, view: StepView, theme: Theme) -> None:
    """Only what lies along the query counts for the logit; a key that is longer is further along."""
    spread = np.sqrt(view.beta)
    for place, key in zip(_places(view), view.keys, strict=True):
        colour = theme.series[1] if key.copyable else theme.series[0]
        ray = np.outer([1 - spread, 1 + spread], place)
        axes.plot(ray[:, 0], ray[:, 1], color=colour, lw=2, alpha=0.45, solid_capstyle="round")
        axes.plot(place[0], place[1], "o", ms=5 + 9 * np.sqrt(key.weight), color=colour)
    axes.plot(0, 0, marker=".", color=theme.ink)
    axes.axvline(0, color=theme.faint, lw=1, zorder=0)
    axes.axhline(0, color=theme.faint, lw=1, zorder=0)
    if not all(key.copyable for key in view.keys):
        axes.plot([], [], "o", color=theme.series[0], label="no query could copy it")
        axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.035 - 0.75 / len(view.keys)))
    axes.margins(x=0.12)
    axes.set_xlabel("length along the query (what the logit sees)")
    axes.set_ylabel("length across it")
