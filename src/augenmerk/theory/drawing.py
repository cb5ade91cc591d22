"""Draws the figures of the theory lab: `draw` for a result, `draw_step` for `augenmerk theory from-run`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from augenmerk.drawing.figures import CELL_NUMBER, Theme, use_theme
from augenmerk.theory.attention import Array
from augenmerk.theory.drawing_keys import draw_averaging, draw_copying, draw_heads, draw_lean, draw_swing
from augenmerk.theory.from_run import StepReport
from augenmerk.theory.results import Result
from augenmerk.theory.scaling import Saturation
from augenmerk.theory.self_attention import INPUTS, PARTS, PUBLISHED, U_C, U_D, self_attend

INPUT_NAMES = [f"$x_{i}$" for i in (1, 2, 3)]
OUTPUT_NAMES = [f"$c_{i}$" for i in (1, 2, 3)]
PART_NAMES = [f"$u_{part}$" for part in PARTS]
MAX_TOKENS = 24  # a figure shows so many tokens of a sentence, those with the largest weights


def draw(result: Result, theme: Theme) -> Figure:
    """Draws the figure of the task that the result belongs to."""
    draw_by_task: Mapping[str, Callable[..., Figure]] = {
        **{
            "1.1": draw_copying,
            "1.2": draw_averaging,
            "1.3": draw_lean,
            "1.4": draw_heads,
            "1.5": draw_swing,
        },
        **{"1.6": draw_without_projections, "1.7": draw_with_projections, "scaling": draw_scaling},
    }
    with use_theme(theme, formulas=True):
        return draw_by_task[result.task](theme, *result.picture())


def draw_without_projections(theme: Theme, B: float, inputs: int) -> Figure:
    """Draws scores and outputs of 1.6, for x_2 as it is and with a part added."""
    figure = Figure(figsize=(10.0, 4.9), layout="constrained")
    grid = figure.subplots(2, 3)
    eye = np.eye(4)
    for column, (title, added) in enumerate((("u_a", 0 * U_D), ("u_a + u_d", U_D), ("u_a + u_c", U_C))):
        x = INPUTS.copy()
        x[1] += added
        scores, outputs = x @ x.T, self_attend(x, eye, eye, eye, scale=B**2)[1]
        _draw_matrix(grid[0, column], scores, INPUT_NAMES, INPUT_NAMES, theme, highest=2)
        for row, largest in enumerate(scores.argmax(axis=1)):
            corner = (largest - 0.5, row - 0.5)
            grid[0, column].add_patch(Rectangle(corner, 1, 1, fill=False, ec=theme.ink, lw=2, zorder=3))
        _draw_matrix(grid[1, column], outputs, OUTPUT_NAMES, PART_NAMES, theme)
        grid[0, column].set_title(f"$x_2 = {title}$", fontsize=12, pad=8)
    grid[0, 0].set_ylabel("$x_i \\cdot x_j / B^2$", fontsize=11)
    grid[1, 0].set_ylabel("outputs, in parts", fontsize=11)
    framed = "Framed: the largest score of a row, which takes all the weight as $B$ grows."
    figure.supxlabel(f"{framed} {_left_out(inputs)}".strip(), fontsize=10)
    return figure


def draw_with_projections(theme: Theme, B: float, inputs: int) -> Figure:
    """Draws the matrices of 1.7 over the parts, the weights they make, and the outputs."""
    figure = Figure(figsize=(10.0, 5.4), layout="constrained")
    halves = figure.add_gridspec(2, 1)
    above, below = figure.add_subfigure(halves[0]), figure.add_subfigure(halves[1])
    for axes, (name, matrix) in zip(above.subplots(1, 3), vars(PUBLISHED).items(), strict=True):
        _draw_matrix(axes, matrix, PART_NAMES, PART_NAMES, theme)
        axes.set_title(f"${name}$, in units of $u\\,u^T / B^2$", fontsize=11)
    weights, outputs = self_attend(INPUTS, PUBLISHED.K, PUBLISHED.Q, PUBLISHED.V, scale=B**2)
    left, right = below.subplots(1, 2)
    _draw_matrix(left, weights, INPUT_NAMES, INPUT_NAMES, theme)
    left.set_title("Weights: $x_1$ looks at $x_3$, $x_2$ at $x_1$", fontsize=11)
    _draw_matrix(right, outputs, OUTPUT_NAMES, PART_NAMES, theme)
    right.set_title("Outputs: $c_1 = u_b - u_c$, $c_2 = u_b$", fontsize=11)
    if left_out := _left_out(inputs):
        figure.supxlabel(left_out, fontsize=10)
    return figure


def _left_out(inputs: int) -> str:
    """Says if there were more inputs than are drawn; the others share no part with these."""
    return "" if inputs <= 3 else f"Shown as if alone: the first 3 of {inputs} inputs."


def _draw_matrix(
    axes: Axes, matrix: Array, rows: list[str], columns: list[str], theme: Theme, highest: float = 1
) -> None:
    """Draws a small matrix as a heat map with numbers; 0 has the colour of the paper."""
    colours = LinearSegmentedColormap.from_list("signed", [theme.series[1], theme.paper, theme.accent])
    axes.imshow(matrix, cmap=colours, vmin=-highest, vmax=highest, aspect="equal")
    axes.set_xticks(range(len(columns)), columns, fontsize=11)
    axes.set_yticks(range(len(rows)), rows, fontsize=11)
    axes.tick_params(length=0)
    for draw_line, count in ((axes.axvline, len(columns)), (axes.axhline, len(rows))):
        for edge in range(count + 1):
            draw_line(edge - 0.5, color=theme.faint, lw=0.8)
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(matrix):
        if abs(value) >= 0.005:
            colour = theme.paper if abs(value) > 0.6 * highest else theme.ink
            text = f"{value:.2f}".removesuffix(".00").replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", fontsize=10, color=colour, gid=CELL_NUMBER)


def draw_scaling(
    theme: Theme, scaled: Sequence[Saturation], unscaled: Sequence[Saturation], keys: int
) -> Figure:
    """Draws deviation of the logits, evenness of the weights and gradient against the dimension."""
    figure = Figure(figsize=(10.0, 3.7), layout="constrained")
    panels = figure.subplots(1, 3)
    dimensions = [each.dimension for each in scaled]
    for measured, colour, name in (
        (unscaled, theme.series[0], "without $1/\\sqrt{d}$"),
        (scaled, theme.series[1], "with"),
    ):
        curves = [(np.sqrt(each.logit_variance), each.entropy, each.gradient) for each in measured]
        for axes, curve in zip(panels, zip(*curves, strict=True), strict=True):
            axes.plot(dimensions, curve, "o-", ms=4.5, color=colour, lw=1.8, label=name)
    for measured, label in ((unscaled, "predicted"), (scaled, None)):
        expected = [np.sqrt(each.expected_logit_variance) for each in measured]
        panels[0].plot(dimensions, expected, color=theme.ink, lw=1.2, ls=":", label=label, zorder=3)
    panels[0].set_yscale("log", base=2)
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panels[0].legend(fontsize=9.5, loc="upper left")
    titles = (
        "Deviation of a logit",
        f"Entropy of {keys} weights / ln {keys}",
        "Gradient, $1 - \\Sigma\\,\\alpha^2$",
    )
    for axes, title in zip(panels, titles, strict=True):
        axes.set_xscale("log", base=2)
        axes.set_xticks([d for d in dimensions if np.log2(d) % 2 == 0] or dimensions)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("dimension $d$")
        axes.set_title(title, loc="left", fontsize=10.5)
    for axes in panels[1:]:
        axes.set_ylim(0, 1.02)
    return figure


def draw_step(report: StepReport, source: Sequence[str], produced: str, theme: Theme) -> Figure:
    """Draws the weights of a real query with the effect of noise, and the keys along and across the query."""
    title = f"Attention when '{produced}' is produced"
    if len(source) > MAX_TOKENS:
        title += f": {MAX_TOKENS} largest of {len(source)} weights"
        by_weight = sorted(range(len(source)), key=lambda j: -report.keys[j].weight)
        shown = sorted(by_weight[:MAX_TOKENS])  # in the order of the sentence
        report = replace(report, keys=tuple(report.keys[j] for j in shown))
        source = [source[j] for j in shown]
    with use_theme(theme):
        figure = Figure(figsize=(10.0, _height(len(source))), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_weights(left, report, source, theme)
        left.set_title(title, loc="left", fontsize=10.5)
        _draw_keys(right, report, source, theme)
        right.set_title("Keys: noise in their length moves them on their rays", loc="left", fontsize=10.5)
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
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.035 - 0.75 / len(source)), fontsize=9, ncols=2)


def _draw_keys(axes: Axes, report: StepReport, source: Sequence[str], theme: Theme) -> None:
    """Draws each key by its length along the query, on which its logit depends, and across it."""
    angles = np.radians([key.angle for key in report.keys])
    norms = np.array([key.norm for key in report.keys])
    places = np.stack([norms * np.cos(angles), norms * np.sin(angles)], axis=1)
    spread = np.sqrt(report.beta)
    for place, key in zip(places, report.keys, strict=True):
        colour = theme.series[1] if key.copyable else theme.series[0]
        ray = np.outer([1 - spread, 1 + spread], place)
        axes.plot(*ray.T, color=colour, lw=2, alpha=0.45, solid_capstyle="round")
        axes.plot(*place, "o", ms=_dot_size(key.weight), color=colour)
    axes.plot(0, 0, marker=".", color=theme.ink)
    axes.axvline(0, color=theme.faint, lw=1, zorder=0)
    axes.axhline(0, color=theme.faint, lw=1, zorder=0)
    for copyable, colour, label in (
        (True, theme.series[1], "a query could copy it"),
        (False, theme.series[0], "no query could copy it"),
    ):
        if any(key.copyable is copyable for key in report.keys):
            axes.plot([], [], "o", ms=7, color=colour, label=label)
    for weight in (0.01, 1.0):
        dot: dict[str, Any] = {"ms": _dot_size(weight), "mfc": "none", "mec": theme.muted}
        axes.plot([], [], "o", label=f"weight {weight:g}", **dot)
    below = (0.5, -0.035 - 0.75 / len(source))
    axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=below, ncols=2)
    axes.set(xlabel="length along the query (what the logit sees)", ylabel="length across it")
    # The names stand in two columns, left and right of all rays, with a line from each to its key. A line of
    # text is 0.2 inches high; the panel is 1.2 inches lower than the figure.
    left, right = axes.get_xlim()
    axes.set_xlim(left - 0.2 * (right - left), right + 0.2 * (right - left))
    gap = np.ptp(axes.get_ylim()) * 0.2 / (_height(len(source)) - 1.2)
    line = {"arrowstyle": "-", "color": theme.faint, "lw": 0.8, "shrinkA": 1, "shrinkB": 4}
    is_right = places[:, 0] > np.median(places[:, 0])
    for side, column, align in ((~is_right, left, "right"), (is_right, right, "left")):
        order = sorted(np.flatnonzero(side), key=lambda j: places[j, 1])
        for j, height in zip(order, spread_apart(places[order, 1], gap), strict=True):
            beside: dict[str, Any] = {"xytext": (column, height), "ha": align, "va": "center"}
            axes.annotate(source[int(j)], places[j], **beside, fontsize=9, arrowprops=line, zorder=1)


def _dot_size(weight: float) -> float:
    return 5 + 9 * float(np.sqrt(weight))


def _height(tokens: int) -> float:
    """Returns the height in inches of a figure with a row for each token."""
    return max(4.0, 1.6 + 0.3 * tokens)


def spread_apart(positions: Array, gap: float) -> Array:
    """Moves ascending positions as little as needed to be at least a gap apart.

    The result is the mean of pushing them only upwards and only downwards; each of these keeps the gap.
    """
    steps = gap * np.arange(len(positions))
    upwards = np.maximum.accumulate(positions - steps)
    downwards = np.minimum.accumulate((positions - steps)[::-1])[::-1]
    return np.asarray(steps + (upwards + downwards) / 2)
