"""Draws the figure of `augenmerk theory from-run`: the weights and keys of a real query."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augenmerk.drawing.figures import Theme, new_figure, pt
from augenmerk.theory.attention import Array
from augenmerk.theory.drawing import use_settings
from augenmerk.theory.from_run import StepReport

MAX_TOKENS = 24  # a figure shows so many tokens of a sentence, those with the largest weights


def draw_step(report: StepReport, source: Sequence[str], produced: str, theme: Theme) -> Figure:
    """Draws the weights of a real query with the effect of noise, and the keys along and across the query."""
    title = f"Attention when '{produced}' is produced"
    if len(source) > MAX_TOKENS:
        title += f": {MAX_TOKENS} largest of {len(source)} weights"
        by_weight = sorted(range(len(source)), key=lambda j: -report.keys[j].weight)
        shown = sorted(by_weight[:MAX_TOKENS])  # in the order of the sentence
        report = replace(report, keys=tuple(report.keys[j] for j in shown))
        source = [source[j] for j in shown]
    with use_settings(theme):
        height = max(4.0, 1.6 + 0.3 * len(source))  # with a row for each token
        figure = new_figure(10.0, height)
        left, right = figure.subplots(1, 2)
        _draw_weights(left, report, source, theme)
        left.set_title(title)
        # A line of text is 0.2 inches high; the panel is 1.2 inches lower than the figure.
        _draw_keys(right, report, source, 0.2 / (height - 1.2), theme)
        right.set_title("Keys: noise in their length moves them on their rays")
    return figure


def _draw_weights(axes: Axes, report: StepReport, source: Sequence[str], theme: Theme) -> None:
    rows = np.arange(len(source))
    numbers = [(key.noisy_low, key.noisy_high, key.weight) for key in report.keys]
    low, high, weights = np.array(numbers).T
    span = f"5% to 95% with β = {report.beta:g}"
    axes.barh(rows, high - low, left=low, height=0.72, color=theme.faint, label=span)
    axes.barh(rows, weights, height=0.36, color=theme.series[1], label="weight")
    axes.set_yticks(rows, source)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1), ylim=(len(source) - 0.4, -0.6), xlabel="weight")
    _add_legend(axes, len(source))


def _add_legend(axes: Axes, rows: int) -> None:
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.035 - 0.75 / rows), ncols=2)


def _draw_keys(axes: Axes, report: StepReport, source: Sequence[str], line: float, theme: Theme) -> None:
    """Draws each key by its length along the query, on which its logit depends, and across it.

    `line` is the height of a line of text, as a part of the panel's.
    """
    angles = np.radians([key.angle for key in report.keys])
    norms = np.array([key.norm for key in report.keys])
    ends = np.stack([norms * np.cos(angles), norms * np.sin(angles)], axis=1)
    spread = np.sqrt(report.beta)
    for end, key in zip(ends, report.keys, strict=True):
        colour = theme.series[1] if key.copyable else theme.series[0]
        ray = np.outer([1 - spread, 1 + spread], end)
        axes.plot(*ray.T, color=colour, lw=pt(2), alpha=0.45, solid_capstyle="round")
        axes.plot(*end, "o", ms=_size_dot(key.weight), color=colour)
    axes.plot(0, 0, marker=".", color=theme.ink)
    axes.axvline(0, color=theme.faint, lw=pt(1), zorder=0)
    axes.axhline(0, color=theme.faint, lw=pt(1), zorder=0)
    for copyable, colour, label in (
        (True, theme.series[1], "a query could copy it"),
        (False, theme.series[0], "no query could copy it"),
    ):
        if any(key.copyable is copyable for key in report.keys):
            axes.plot([], [], "o", ms=pt(7), color=colour, label=label)
    for weight in (0.01, 1.0):
        size = _size_dot(weight)
        axes.plot([], [], "o", ms=size, mfc="none", mec=theme.muted, label=f"weight {weight:g}")
    _add_legend(axes, len(source))
    axes.set(xlabel="length along the query (what the logit sees)", ylabel="length across it")
    # The names stand in two columns, left and right of all rays, with a line from each to its key.
    left, right = axes.get_xlim()
    axes.set_xlim(left - 0.2 * (right - left), right + 0.2 * (right - left))
    gap = np.ptp(axes.get_ylim()) * line
    arrow = {"arrowstyle": "-", "color": theme.faint, "lw": pt(0.8), "shrinkA": 1, "shrinkB": 4}
    is_right = ends[:, 0] > np.median(ends[:, 0])
    for side, column, align in ((~is_right, left, "right"), (is_right, right, "left")):
        order = sorted(np.flatnonzero(side), key=lambda j: ends[j, 1])
        for j, height in zip(order, spread_apart(ends[order, 1], gap), strict=True):
            where: dict[str, Any] = {
                "xytext": (column, height),
                "ha": align,
                "va": "center",
                "fontsize": "small",
            }
            axes.annotate(source[int(j)], ends[j], arrowprops=arrow, zorder=1, **where)


def _size_dot(weight: float) -> float:
    return pt(5 + 9 * float(np.sqrt(weight)))


def spread_apart(positions: Array, gap: float) -> Array:
    """Moves ascending positions as little as needed to be at least a gap apart.

    The result is the mean of pushing them only upwards and only downwards; each of these keeps the gap.
    """
    steps = gap * np.arange(len(positions))
    upwards = np.maximum.accumulate(positions - steps)
    downwards = np.minimum.accumulate((positions - steps)[::-1])[::-1]
    return np.asarray(steps + (upwards + downwards) / 2)
