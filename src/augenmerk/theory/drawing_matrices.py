"""Draws the figures of 1.6 and 1.7: matrices over the parts of the inputs."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from augenmerk.drawing.figures import CELL_NUMBER, Theme, new_figure
from augenmerk.theory.attention import Array
from augenmerk.theory.self_attention import INPUTS, PARTS, PUBLISHED, U_C, U_D, self_attend

INPUT_NAMES = [f"$x_{i}$" for i in (1, 2, 3)]
OUTPUT_NAMES = [f"$c_{i}$" for i in (1, 2, 3)]
PART_NAMES = [f"$u_{part}$" for part in PARTS]


def draw_without_projections(theme: Theme, B: float, inputs: int) -> Figure:
    """Draws scores and outputs of 1.6, for x_2 as it is and with a part added."""
    figure = new_figure(10.0, 4.9)
    grid = figure.subplots(2, 3)
    eye = np.eye(4)
    for column, (name, added) in enumerate((("u_a", 0 * U_D), ("u_a + u_d", U_D), ("u_a + u_c", U_C))):
        x = INPUTS.copy()
        x[1] += added
        scores, outputs = x @ x.T, self_attend(x, eye, eye, eye, scale=B**2)[1]
        _draw_matrix(grid[0, column], scores, INPUT_NAMES, INPUT_NAMES, theme, f"$x_2 = {name}$", highest=2)
        for row, largest in enumerate(scores.argmax(axis=1)):
            corner = (largest - 0.5, row - 0.5)
            grid[0, column].add_patch(Rectangle(corner, 1, 1, fill=False, ec=theme.ink, lw=2, zorder=3))
        _draw_matrix(grid[1, column], outputs, OUTPUT_NAMES, PART_NAMES, theme)
    grid[0, 0].set_ylabel("$x_i \\cdot x_j / B^2$")
    grid[1, 0].set_ylabel("outputs, in parts")
    framed = "Framed: the largest score of a row, which takes all the weight as $B$ grows."
    figure.supxlabel(f"{framed} {_describe_left_out(inputs)}".strip(), fontsize="medium")
    return figure


def draw_with_projections(theme: Theme, B: float, inputs: int) -> Figure:
    """Draws the matrices of 1.7 over the parts, the weights they make, and the outputs."""
    figure = new_figure(10.0, 5.4)
    halves = figure.add_gridspec(2, 1)
    above, below = figure.add_subfigure(halves[0]), figure.add_subfigure(halves[1])
    for axes, (name, matrix) in zip(above.subplots(1, 3), vars(PUBLISHED).items(), strict=True):
        title = f"${name}$, in units of $u\\,u^T / B^2$"
        _draw_matrix(axes, matrix, PART_NAMES, PART_NAMES, theme, title)
    weights, outputs = self_attend(INPUTS, PUBLISHED.K, PUBLISHED.Q, PUBLISHED.V, scale=B**2)
    left, right = below.subplots(1, 2)
    title = "Weights: $x_1$ looks at $x_3$, $x_2$ at $x_1$"
    _draw_matrix(left, weights, INPUT_NAMES, INPUT_NAMES, theme, title)
    title = "Outputs: $c_1 = u_b - u_c$, $c_2 = u_b$"
    _draw_matrix(right, outputs, OUTPUT_NAMES, PART_NAMES, theme, title)
    if left_out := _describe_left_out(inputs):
        figure.supxlabel(left_out, fontsize="medium")
    return figure


def _describe_left_out(inputs: int) -> str:
    """Returns a note if there were more inputs than are drawn; the others share no part with these."""
    return "" if inputs <= 3 else f"Shown as if alone: the first 3 of {inputs} inputs."


def _draw_matrix(
    axes: Axes,
    matrix: Array,
    rows: list[str],
    columns: list[str],
    theme: Theme,
    title: str = "",
    highest: float = 1,
) -> None:
    """Draws a small matrix as a heat map with numbers; 0 has the colour of the paper."""
    colours = LinearSegmentedColormap.from_list("signed", [theme.series[1], theme.paper, theme.accent])
    axes.imshow(matrix, cmap=colours, vmin=-highest, vmax=highest, aspect="equal")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=theme.faint, clip_on=False)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="center")
    for (row, column), value in np.ndenumerate(matrix):
        if abs(value) >= 0.005:
            colour = theme.paper if abs(value) > 0.6 * highest else theme.ink
            text = f"{value:.2f}".removesuffix(".00").replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", color=colour, gid=CELL_NUMBER)
