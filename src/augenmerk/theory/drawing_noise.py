"""Draws the figures of noisy keys: those of 1.3 to 1.5, and that of a query of a trained model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.special import expit

from augenmerk.drawing.charts import move_apart
from augenmerk.drawing.figures import Theme, new_figure, pt
from augenmerk.theory.attention import Array
from augenmerk.theory.closed_form import share_density, weight_of_first
from augenmerk.theory.drawing import PANELS, scatter, use_settings
from augenmerk.theory.from_run import StepReport
from augenmerk.theory.noise import PICTURE_BETAS, Samples

CLOUD = 400  # how many samples a cloud of outputs shows
MAX_TOKENS = 24  # a figure shows so many tokens of a sentence, those with the largest weights


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


# A query of a trained model


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
    # The names are in two columns, left and right of all rays, with a line from each to its key.
    left, right = axes.get_xlim()
    axes.set_xlim(left - 0.2 * (right - left), right + 0.2 * (right - left))
    gap = np.ptp(axes.get_ylim()) * line
    arrow = {"arrowstyle": "-", "color": theme.faint, "lw": pt(0.8), "shrinkA": 1, "shrinkB": 4}
    is_right = ends[:, 0] > np.median(ends[:, 0])
    for side, column, align in ((~is_right, left, "right"), (is_right, right, "left")):
        order = sorted(np.flatnonzero(side), key=lambda j: ends[j, 1])
        for j, height in zip(order, move_apart(ends[order, 1].tolist(), gap), strict=True):
            where: dict[str, Any] = {
                "xytext": (column, height),
                "ha": align,
                "va": "center",
                "fontsize": "small",
            }
            axes.annotate(source[int(j)], ends[j], arrowprops=arrow, zorder=1, **where)


def _size_dot(weight: float) -> float:
    return pt(5 + 9 * float(np.sqrt(weight)))
