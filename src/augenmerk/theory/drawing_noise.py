"""Figures of 1.3, 1.4 and 1.5: what happens from one sample of the keys to the next."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit

from augenmerk.figures import Theme
from augenmerk.theory.attention import Array
from augenmerk.theory.closed_form import share_density
from augenmerk.theory.lab_heads import SwingPicture
from augenmerk.theory.lab_noise import NoisePicture

CLOUD = 400
"""Points of a cloud."""


def draw_lean(picture: NoisePicture, theme: Theme) -> Figure:
    """1.3: the distribution of the share of a, and its spread against beta."""
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    halves = figure.add_gridspec(1, 2)
    narrow, wide = figure.add_subfigure(halves[0]), figure.add_subfigure(halves[1])
    grid = expit(np.linspace(-9, 9, 400))
    panels = narrow.subplots(len(picture.betas), 1, sharex=True)
    for axes, beta, drawn in zip(panels, picture.betas, picture.one, strict=True):
        bins = np.linspace(0, 1, 41)
        axes.hist(drawn.share, bins=bins, density=True, color=theme.series[0], alpha=0.35)
        axes.plot(grid, share_density(grid, picture.strength, beta, beta), color=theme.series[0], lw=1.8)
        highest = np.histogram(drawn.share, bins=bins, density=True)[0].max()
        axes.set_ylim(0, 1.4 * highest)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.text(0.5, 0.8, f"β = {beta:g}", transform=axes.transAxes, ha="center", fontsize=10.5)
    panels[-1].set_xlabel("share of $v_a$ in a sample: bars drawn, line logit-normal")
    _headline(panels[0], "The more noise, the fewer samples are near one half")
    right = wide.subplots()
    right.plot(
        picture.sweep,
        picture.spread_one_keys,
        color=theme.series[4],
        lw=2,
        label="one head, $q = c\\,(k_a + k_b)$",
    )
    right.plot(
        picture.sweep,
        picture.spread_one,
        color=theme.series[0],
        lw=2,
        label="one head, $q = c\\,(\\mu_a + \\mu_b)$",
    )
    right.plot(
        picture.sweep,
        picture.spread_several,
        color=theme.series[1],
        lw=2,
        label="two heads, $c\\,\\mu_a$ and $c\\,\\mu_b$",
    )
    _dots(right, picture, theme)
    right.axhline(0.5, color=theme.faint, lw=1, zorder=0)
    right.text(
        picture.sweep[0], 0.505, "a coin: always one of the two", fontsize=8.5, color=theme.ink, va="bottom"
    )
    right.set_xscale("log")
    right.set_ylim(0, 0.56)
    right.set_xlabel("β")
    right.set_ylabel("deviation of the weight on $v_a$")
    right.legend(fontsize=9, loc="upper left", bbox_to_anchor=(0.0, 0.89))
    _headline(right, "Spread against β: closed form, and samples (rings)")
    return figure


def _dots(axes: Axes, picture: NoisePicture, theme: Theme) -> None:
    for drawn_at, colour in ((picture.one, theme.series[0]), (picture.several, theme.series[1])):
        spreads = [drawn.weights[:, 0].std() for drawn in drawn_at]
        axes.plot(picture.betas, spreads, "o", ms=6, mfc=theme.paper, mec=colour, mew=1.5)


def draw_heads(picture: NoisePicture, theme: Theme) -> Figure:
    """1.4: clouds of outputs over resamplings, one head above, a head each below, for several beta."""
    figure = Figure(figsize=(10.0, 5.2), layout="constrained")
    grid = figure.subplots(2, len(picture.betas), sharex=True, sharey=True)
    heads = picture.several[0].head_weights.shape[1]
    rows = (("one head", picture.one, theme.series[0]), (f"{heads} heads", picture.several, theme.series[1]))
    for row, (name, drawn_at, colour) in enumerate(rows):
        for column, (beta, drawn) in enumerate(zip(picture.betas, drawn_at, strict=True)):
            axes = grid[row, column]
            _cloud(axes, drawn.outputs(picture.values)[:CLOUD], picture.values, heads, colour, theme)
            if column == 0:
                axes.text(
                    -0.02,
                    0.5,
                    name,
                    rotation=90,
                    transform=axes.transAxes,
                    ha="right",
                    va="center",
                    fontsize=11,
                )
            if row == 0:
                axes.set_title(f"β = {beta:g}", fontsize=11)
    figure.suptitle(
        f"Outputs of {CLOUD} resamplings of the keys; the cross is the average that is wanted",
        fontsize=10.5,
    )
    return figure


def _cloud(axes: Axes, outputs: Array, values: Array, heads: int, colour: str, theme: Theme) -> None:
    """Outputs between the values; below the line, how many of them lie where along it."""
    axes.plot(*values[[0, 1]].T, color=theme.faint, lw=1, zorder=0)
    axes.scatter(values[heads:, 0], values[heads:, 1], s=14, color=theme.faint, zorder=1)
    axes.scatter(values[:heads, 0], values[:heads, 1], s=55, color=theme.ink, zorder=2)
    axes.scatter(
        outputs[:, 0], outputs[:, 1], s=14, color=colour, alpha=0.3, linewidths=0, zorder=3, rasterized=True
    )
    axes.plot(*values[:heads].mean(axis=0), marker="x", ms=10, mew=2, color=theme.ink, zorder=4)
    counts, edges = np.histogram(outputs[:, 0], bins=np.linspace(-1.025, 1.025, 42))
    axes.bar(
        edges[:-1], -0.45 * counts / counts.max(), np.diff(edges), bottom=-0.12, align="edge", color=colour
    )
    for place, name, side in zip(values[:2], ("$v_a$", "$v_b$"), (-1, 1), strict=True):
        axes.annotate(
            name, place, (15 * side, 0), textcoords="offset points", ha="center", va="center", fontsize=11
        )
    axes.set_aspect("equal")
    axes.set_ylim(-0.62, values[:, 1].max() + 0.1)
    axes.set_axis_off()


def draw_swing(picture: SwingPicture, theme: Theme) -> Figure:
    """1.5: the weight on v_a against the length of k_a along its mean, one head and two; and the clouds."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    halves = figure.add_gridspec(1, 2, width_ratios=[1.25, 1])
    wide, narrow = figure.add_subfigure(halves[0]), figure.add_subfigure(halves[1])
    axes = wide.subplots()
    for drawn, colour, name in (
        (picture.one, theme.series[0], "one head, $q = c\\,(\\mu_a + \\mu_b)$"),
        (picture.two, theme.series[1], "two heads, $c\\,\\mu_a$ and $c\\,\\mu_b$"),
    ):
        along = drawn.lambdas[:, 0]
        axes.scatter(
            along,
            drawn.weights[:, 0],
            s=9,
            color=colour,
            linewidths=0,
            alpha=0.5,
            label=name,
            rasterized=True,
        )
    axes.axhline(0.5, color=theme.faint, lw=1, zorder=0)
    axes.axvline(0, color=theme.faint, lw=1, zorder=0)
    axes.annotate(
        "$\\mu_a \\cdot k_a \\leq 0$:\nbroken anyway", (-0.05, 0.06), (-1.75, 0.22), fontsize=9,
        arrowprops={"arrowstyle": "-", "color": theme.ink, "lw": 0.8},
    )  # fmt: skip
    axes.set_xlabel("$\\mu_a \\cdot k_a$ of the sample")
    axes.set_ylabel("weight on $v_a$")
    axes.legend(fontsize=9, loc="upper left", markerscale=2)
    _headline(axes, "One head follows the length of $k_a$, two heads do not")
    for part, drawn, colour, name in zip(
        narrow.subplots(2, 1),
        (picture.one, picture.two),
        theme.series,
        ("one head", "two heads"),
        strict=False,
    ):
        _cloud(part, drawn.outputs(picture.values)[:CLOUD], picture.values, 2, colour, theme)
        part.set_title(name, fontsize=10)
    return figure


def _headline(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, pad=10)
