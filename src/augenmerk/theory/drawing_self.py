"""Figures of 1.6 and 1.7, matrices as heat maps; and of the scale 1/sqrt(d), curves."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from augenmerk.figures import Theme
from augenmerk.theory.attention import Array
from augenmerk.theory.lab_self import ScalingPicture, SelfPicture
from augenmerk.theory.self_attention import PARTS

INPUT_NAMES = [f"$x_{i}$" for i in (1, 2, 3)]
OUTPUT_NAMES = [f"$c_{i}$" for i in (1, 2, 3)]
PART_NAMES = [f"$u_{part}$" for part in PARTS]


def draw_self(picture: SelfPicture, theme: Theme) -> Figure:
    """1.6: scores and outputs, for x_2 as it is and with a part added."""
    figure = Figure(figsize=(10.0, 4.9), layout="constrained")
    grid = figure.subplots(2, 3)
    for column, title in enumerate(picture.titles):
        _heat(grid[0, column], picture.scores[column], INPUT_NAMES, INPUT_NAMES, theme, highest=2)
        _frame_largest(grid[0, column], picture.scores[column], theme)
        _heat(grid[1, column], picture.outputs[column], OUTPUT_NAMES, PART_NAMES, theme)
        grid[0, column].set_title(f"${title}$", fontsize=12, pad=8)
    grid[0, 0].set_ylabel("$x_i \\cdot x_j / B^2$", fontsize=11)
    grid[1, 0].set_ylabel("outputs, in parts", fontsize=11)
    figure.supxlabel(
        "Framed: the largest score of a row, which takes all the weight as $B$ grows." + _left_out(picture),
        fontsize=10,
    )
    return figure


def draw_projections(picture: SelfPicture, theme: Theme) -> Figure:
    """1.7: the matrices over the parts, the weights they make, and the outputs."""
    assert picture.projections is not None
    figure = Figure(figsize=(10.0, 5.4), layout="constrained")
    halves = figure.add_gridspec(2, 1)
    above, below = figure.add_subfigure(halves[0]), figure.add_subfigure(halves[1])
    for axes, name in zip(above.subplots(1, 3), "KQV", strict=True):
        _heat(axes, getattr(picture.projections, name), PART_NAMES, PART_NAMES, theme)
        axes.set_title(f"${name}$, in units of $u\\,u^T / B^2$", fontsize=11)
    weights, outputs = below.subplots(1, 2)
    _heat(weights, picture.weights[0], INPUT_NAMES, INPUT_NAMES, theme)
    weights.set_title("Weights: $x_1$ looks at $x_3$, $x_2$ at $x_1$", fontsize=11)
    _heat(outputs, picture.outputs[0], OUTPUT_NAMES, PART_NAMES, theme)
    outputs.set_title("Outputs: $c_1 = u_b - u_c$, $c_2 = u_b$", fontsize=11)
    if picture.inputs > len(INPUT_NAMES):
        figure.supxlabel(_left_out(picture).strip(), fontsize=10)
    return figure


def _left_out(picture: SelfPicture) -> str:
    """The inputs of the task are drawn; those that only stand beside them share no part with any."""
    if picture.inputs <= len(INPUT_NAMES):
        return ""
    return f" Shown as if alone: the first {len(INPUT_NAMES)} of {picture.inputs} inputs."


def _heat(
    axes: Axes, matrix: Array, rows: list[str], columns: list[str], theme: Theme, highest: float = 1
) -> None:
    """A small matrix with its numbers; 0 is the paper, +1 and -1 are the two ends."""
    colours = LinearSegmentedColormap.from_list("signed", [theme.series[1], theme.paper, theme.accent])
    axes.imshow(matrix, cmap=colours, vmin=-highest, vmax=highest, aspect="equal")
    axes.set_xticks(range(len(columns)), columns, fontsize=11)
    axes.set_yticks(range(len(rows)), rows, fontsize=11)
    axes.tick_params(length=0)
    for edge in range(matrix.shape[1] + 1):
        axes.axvline(edge - 0.5, color=theme.faint, lw=0.8)
    for edge in range(matrix.shape[0] + 1):
        axes.axhline(edge - 0.5, color=theme.faint, lw=0.8)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for (row, column), value in np.ndenumerate(matrix):
        if abs(value) >= 0.005:
            strong = abs(value) > 0.6 * highest
            text = f"{value:.2f}".removesuffix(".00").replace("-", "−")
            axes.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=10,
                color=theme.paper if strong else theme.ink,
            )


def _frame_largest(axes: Axes, matrix: Array, theme: Theme) -> None:
    for row, column in enumerate(matrix.argmax(axis=1)):
        axes.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=theme.ink, lw=2, zorder=3)
        )


def draw_scaling(picture: ScalingPicture, theme: Theme) -> Figure:
    """Deviation of the logits, evenness of the weights and gradient against the dimension."""
    figure = Figure(figsize=(10.0, 3.7), layout="constrained")
    panels = figure.subplots(1, 3)
    dimensions = [each.dimension for each in picture.scaled]
    for measured, colour, name in (
        (picture.plain, theme.series[0], "without $1/\\sqrt{d}$"),
        (picture.scaled, theme.series[1], "with"),
    ):
        expected = [np.sqrt(each.expected_logit_variance) for each in measured]
        panels[0].plot(dimensions, expected, color=colour, lw=1.2, ls=":")
        panels[0].plot(
            dimensions,
            [np.sqrt(each.logit_variance) for each in measured],
            "o-",
            ms=4.5,
            color=colour,
            lw=1.8,
            label=name,
        )
        panels[1].plot(dimensions, [each.entropy for each in measured], "o-", ms=4.5, color=colour, lw=1.8)
        panels[2].plot(dimensions, [each.gradient for each in measured], "o-", ms=4.5, color=colour, lw=1.8)
    panels[0].set_yscale("log", base=2)
    panels[1].set_ylim(0, 1.02)
    panels[2].set_ylim(0, 1.02)
    for axes, title in zip(
        panels,
        (
            "Deviation of a logit",
            f"Entropy of {picture.keys} weights / ln {picture.keys}",
            "Gradient, $1 - \\Sigma\\,\\alpha^2$",
        ),
        strict=True,
    ):
        axes.set_xscale("log", base=2)
        axes.set_xticks([d for d in dimensions if np.log2(d) % 2 == 0] or dimensions)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("dimension $d$")
        axes.set_title(title, loc="left", fontsize=10.5)
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panels[0].legend(fontsize=9.5, loc="upper left")
    return figure
