"""Draws the figures of 1.3 to 1.5: shares, spreads and clouds of outputs of noisy keys."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.special import expit

from augenmerk.drawing.figures import Theme, new_figure, pt
from augenmerk.theory.attention import Array
from augenmerk.theory.closed_form import share_density, weight_of_first
from augenmerk.theory.drawing import PANELS, scatter
from augenmerk.theory.noise import PICTURE_BETAS, Samples

CLOUD = 400  # how many samples a cloud of outputs shows


def draw_lean(
    theme: Theme, keys: int, s: float, from_means: Sequence[Samples], from_keys: Sequence[Samples]
) -> Figure:
    """Draws the distribution of the share of a in 1.3, and the deviation of its weight against beta.

    Only for one head: what several do is the question of 1.4.
    """
    figure = new_figure(*PANELS)
    halves = figure.add_gridspec(1, 2)
    panels = figure.add_subfigure(halves[0]).subplots(len(PICTURE_BETAS), 1, sharex=True)
    grid, bins = expit(np.linspace(-9, 9, 400)), np.linspace(0, 1, 41)
    for axes, beta, drawn in zip(panels, PICTURE_BETAS, from_means, strict=True):
        heights, *_ = axes.hist(drawn.share, bins=bins, density=True, color=theme.series[0], alpha=0.35)
        axes.plot(grid, share_density(grid, s, beta), color=theme.series[0], lw=pt(1.8))
        axes.set(ylim=(0, 1.4 * heights.max()), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.text(0.5, 0.8, f"β = {beta:g}", transform=axes.transAxes, ha="center")
    panels[-1].set_xlabel("share of $v_a$ in a sample: bars drawn, line logit-normal")
    panels[0].set_title("The more noise, the fewer samples are near one half")
    right = figure.add_subfigure(halves[1]).subplots()
    sweep = np.geomspace(1e-4, 1.0, 25)
    for origin, samples, colour, label in (
        ("keys", from_keys, theme.series[4], "$q = c\\,(k_a + k_b)$"),
        ("means", from_means, theme.series[0], "$q = c\\,(\\mu_a + \\mu_b)$"),
    ):
        predicted = [weight_of_first(keys, s, beta, origin).deviation for beta in sweep]  # type: ignore[arg-type]
        right.plot(sweep, predicted, color=colour, lw=pt(2), label=label)
        measured = [drawn.weights[:, 0].std() for drawn in samples]
        right.plot(PICTURE_BETAS, measured, "o", mfc=theme.paper, mec=colour, mew=pt(1.5))
    right.axhline(0.5, color=theme.faint, lw=pt(1), zorder=0)
    right.text(sweep[0], 0.505, "a coin: always one of the two", fontsize="small")
    right.set(xscale="log", ylim=(0, 0.56), xlabel="β", ylabel="deviation of the weight on $v_a$")
    right.set_title("Spread against β: closed form, and samples (rings)")
    right.legend(loc="upper left", bbox_to_anchor=(0.0, 0.89))
    return figure


def draw_heads(theme: Theme, values: Array, one: Sequence[Samples], several: Sequence[Samples]) -> Figure:
    """Draws clouds of outputs in 1.4: one head above, a head for each value below, for several betas."""
    figure = new_figure(10.0, 5.2)
    grid = figure.subplots(2, len(PICTURE_BETAS), sharex=True, sharey=True)
    heads = several[0].logits.shape[1]
    for row, (name, samples) in enumerate((("one head", one), (f"{heads} heads", several))):
        for axes, drawn in zip(grid[row], samples, strict=True):
            _draw_cloud(axes, drawn, values, heads, theme.series[row], theme)
        first = grid[row, 0]
        first.text(-0.02, 0.5, name, rotation=90, transform=first.transAxes, ha="right", va="center")
    for axes, beta in zip(grid[0], PICTURE_BETAS, strict=True):
        axes.set_title(f"β = {beta:g}", loc="center")
    figure.suptitle(f"Outputs of {CLOUD} resamplings of the keys", fontsize="medium")
    _explain_clouds(figure, theme, ncols=5)
    return figure


def _explain_clouds(figure: Figure | SubFigure, theme: Theme, ncols: int) -> None:
    """Puts a legend below pictures by `_draw_cloud`."""

    def mark(size: float, colour: str, marker: str = "o", **style: Any) -> Line2D:
        return Line2D([], [], linestyle="none", marker=marker, ms=pt(size), color=colour, **style)

    colours = theme.series[:2]
    signs: dict[str, Any] = {
        "values to average": mark(7, theme.ink),
        "other values": mark(4, theme.muted),
        "average wanted": mark(9, theme.ink, "x", mew=pt(2)),
        "outputs": tuple(mark(4, colour, alpha=0.6) for colour in colours),
        "how many of them": tuple(Patch(color=colour) for colour in colours),
    }
    side_by_side = {tuple: HandlerTuple(ndivide=None)}
    style: dict[str, Any] = {"loc": "outside lower center", "handler_map": side_by_side}
    figure.legend(signs.values(), signs.keys(), ncols=ncols, **style)


def _draw_cloud(axes: Axes, drawn: Samples, values: Array, heads: int, colour: str, theme: Theme) -> None:
    """Draws outputs between the values, and below the line how many of them lie where along it."""
    outputs = drawn.outputs(values)[:CLOUD]
    axes.plot(*values[[0, 1]].T, color=theme.faint, lw=pt(1), zorder=0)
    scatter(axes, values[heads:], 3.7, color=theme.muted, zorder=1)
    scatter(axes, values[:heads], 7.4, color=theme.ink, zorder=2)
    scatter(axes, outputs, 3.7, color=colour, zorder=3, alpha=0.3, linewidths=0, rasterized=True)
    wanted = values[:heads].mean(axis=0)
    axes.plot(*wanted, marker="x", ms=pt(10), mew=pt(2), color=theme.ink, zorder=4)
    counts, edges = np.histogram(outputs[:, 0], bins=np.linspace(-1.025, 1.025, 42))
    bars = -0.45 * counts / counts.max()
    axes.bar(edges[:-1], bars, np.diff(edges), bottom=-0.12, align="edge", color=colour)
    for value, name, side in zip(values[:2], ("$v_a$", "$v_b$"), (-15, 15), strict=True):
        offset: dict[str, Any] = {"xytext": (pt(side), 0), "textcoords": "offset points"}
        axes.annotate(name, value, ha="center", va="center", **offset)
    axes.set_aspect("equal")
    axes.set_ylim(-0.62, values[:, 1].max() + 0.1)
    axes.set_axis_off()


def draw_swing(theme: Theme, values: Array, one: Samples, two: Samples) -> Figure:
    """Draws the weight on v_a against the length of k_a along its mean in 1.5, and clouds of outputs."""
    figure = new_figure(*PANELS)
    halves = figure.add_gridspec(1, 2, width_ratios=[1.25, 1])
    axes = figure.add_subfigure(halves[0]).subplots()
    right = figure.add_subfigure(halves[1])
    clouds = right.subplots(2, 1)
    dots: dict[str, Any] = {"linewidths": 0, "alpha": 0.5, "rasterized": True}
    for cloud, drawn, colour, title, queries in (
        (clouds[0], one, theme.series[0], "one head", "$q = c\\,(\\mu_a + \\mu_b)$"),
        (clouds[1], two, theme.series[1], "two heads", "$c\\,\\mu_a$ and $c\\,\\mu_b$"),
    ):
        shown = np.stack([drawn.lambdas[:, 0], drawn.weights[:, 0]], axis=1)
        scatter(axes, shown, 3, color=colour, label=f"{title}, {queries}", **dots)
        _draw_cloud(cloud, drawn, values, 2, colour, theme)
        cloud.set_title(title, loc="center")
    _explain_clouds(right, theme, ncols=2)
    axes.axhline(0.5, color=theme.faint, lw=pt(1), zorder=0)
    axes.axvline(0, color=theme.faint, lw=pt(1), zorder=0)
    broken = "$\\mu_a \\cdot k_a \\leq 0$:\nbroken anyway"
    line = {"arrowstyle": "-", "color": theme.ink, "lw": pt(0.8)}
    axes.annotate(broken, (-0.05, 0.06), (-1.75, 0.22), fontsize="small", arrowprops=line)
    axes.set(xlabel="$\\mu_a \\cdot k_a$ of the sample", ylabel="weight on $v_a$")
    axes.set_title("One head follows the length of $k_a$, two heads do not")
    axes.legend(loc="upper left", markerscale=2)
    return figure
