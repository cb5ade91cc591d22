"""Draws the figure of a result: the exercise names the function, and `use_settings` what figures share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augenmerk.drawing.figures import Theme, new_figure, pt, use_theme
from augenmerk.theory.attention import Array
from augenmerk.theory.exercises import EXERCISES, find_function
from augenmerk.theory.results import Result
from augenmerk.theory.scaling import Saturation

PANELS = (10.0, 4.4)
"""The usual width and height in inches of a figure with two panels."""


@contextmanager
def use_settings(theme: Theme, *, formulas: bool = False) -> Iterator[None]:
    """Makes the theme, titles on the left and small legends the defaults of figures."""
    settings = {"axes.titlelocation": "left", "axes.titlesize": "medium", "legend.fontsize": "small"}
    with use_theme(theme, formulas=formulas), matplotlib.rc_context(settings):  # type: ignore[arg-type]
        yield


def scatter(axes: Axes, places: Array, size: float, **style: Any) -> None:
    """Draws dots of a size in points at the rows of an array (N, 2)."""
    axes.scatter(places[:, 0], places[:, 1], s=pt(size) ** 2, **style)


def draw(result: Result, theme: Theme) -> Figure:
    """Draws the figure of the exercise that the result belongs to."""
    with use_settings(theme, formulas=True):
        figure: Figure = find_function(EXERCISES[result.task].figure)(theme, *result.picture())
        return figure


def draw_scaling(
    theme: Theme, scaled: Sequence[Saturation], unscaled: Sequence[Saturation], keys: int
) -> Figure:
    """Draws deviation of the logits, evenness of the weights and gradient against the dimension."""
    figure = new_figure(10.0, 3.7)
    panels = figure.subplots(1, 3)
    dimensions = [each.dimension for each in scaled]
    for measured, colour, name in (
        (unscaled, theme.series[0], "without $1/\\sqrt{d}$"),
        (scaled, theme.series[1], "with"),
    ):
        curves = [(np.sqrt(each.logit_variance), each.entropy, each.gradient) for each in measured]
        for axes, curve in zip(panels, zip(*curves, strict=True), strict=True):
            axes.plot(dimensions, curve, "o-", ms=pt(4.5), color=colour, lw=pt(1.8), label=name)
    for measured, label in ((unscaled, "predicted"), (scaled, None)):
        expected = [np.sqrt(each.expected_logit_variance) for each in measured]
        panels[0].plot(dimensions, expected, color=theme.ink, ls=":", label=label, zorder=3)
    panels[0].set_yscale("log", base=2)
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].legend(loc="upper left")
    entropy = f"Entropy of {keys} weights / ln {keys}"
    titles = ("Deviation of a logit", entropy, "Gradient, $1 - \\Sigma\\,\\alpha^2$")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_xscale("log", base=2)
        axes.set_xticks([d for d in dimensions if np.log2(d) % 2 == 0] or dimensions)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="dimension $d$", title=title)
    for axes in panels[1:]:
        axes.set_ylim(0, 1.02)
    return figure
