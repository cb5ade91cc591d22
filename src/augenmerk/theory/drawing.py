"""Draws the figures of 1.1, 1.2, 1.6, 1.7 and scaling; an exercise names its function."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from scipy.spatial import ConvexHull

from augenmerk.drawing.figures import CELL_NUMBER, Theme, new_figure, pt, use_theme
from augenmerk.theory.attention import Array, attention_weights
from augenmerk.theory.copying import Reach, leak_bound, reach, strength_needed, tied_weight
from augenmerk.theory.exercises import EXERCISES, find_function
from augenmerk.theory.results import Result
from augenmerk.theory.scaling import Saturation
from augenmerk.theory.self_attention import INPUTS, PARTS, PUBLISHED, U_C, U_D, self_attend

PANELS = (10.0, 4.4)
"""The usual width and height in inches of a figure with two panels."""
MAX_CURVE_NAMES = 8
MAX_PLANE_KEYS = 10  # 1.2 tries every pair of so many keys in the plane
PANEL = 1.3  # the width of a panel over its height
INPUT_NAMES, OUTPUT_NAMES = ([f"${letter}_{i}$" for i in (1, 2, 3)] for letter in "xc")
PART_NAMES = [f"$u_{part}$" for part in PARTS]
Reaches = tuple[Reach, ...]


@contextmanager
def use_settings(theme: Theme, *, formulas: bool = False) -> Iterator[None]:
    """Makes the theme, titles on the left and small legends the defaults of figures."""
    settings = {"axes.titlelocation": "left", "axes.titlesize": "medium", "legend.fontsize": "small"}
    with use_theme(theme, formulas=formulas), matplotlib.rc_context(settings):  # type: ignore[arg-type]
        yield


def scatter(axes: Axes, points: Array, size: float, **style: Any) -> None:
    """Draws dots of a size in points at the rows of an array (N, 2)."""
    axes.scatter(points[:, 0], points[:, 1], s=pt(size) ** 2, **style)


def draw(result: Result, theme: Theme) -> Figure:
    """Draws the figure of the exercise that the result belongs to."""
    with use_settings(theme, formulas=True):
        figure: Figure = find_function(EXERCISES[result.task].figure)(theme, *result.picture())
        return figure


# 1.1 and 1.2: hulls of keys, and weights against the size of the query


def draw_copying(theme: Theme, keys: Array, reaches: Reaches, scale: float, eps: float) -> Figure:
    """Draws the hull with reachable and hidden keys (in two dimensions), and their weights against c."""
    figure = new_figure(*PANELS)
    left, right = figure.subplots(1, 2)
    if keys.shape[1] == 2:
        _draw_hull(left, keys, reaches, theme)
    else:
        margins = [found.margin for found in reaches]
        left.bar(range(1, len(margins) + 1), margins, color=theme.series[1])
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        hidden = "" if all(margins) else " (0: hidden)"
        title = f"How far each key is from the hull of the others{hidden}"
        left.set(xlabel="key", ylabel="margin", title=title)
    _draw_weights_against_size(right, keys, reaches, scale, eps, theme)
    return figure


def _draw_hull(axes: Axes, keys: Array, reaches: Reaches, theme: Theme) -> None:
    possible = np.array([found.possible for found in reaches])
    if len(keys) > 2:
        corners = keys[ConvexHull(keys).vertices]
        axes.fill(*corners.T, facecolor=theme.faint, alpha=0.25, edgecolor=theme.faint, zorder=1)
    scatter(axes, keys[possible], 8.4, color=theme.series[1], zorder=3, label="can be copied")
    if not possible.all():
        label = "hidden: inside the hull of the others"
        colours = {"facecolor": theme.paper, "edgecolor": theme.series[0]}
        scatter(axes, keys[~possible], 8.4, linewidth=pt(2), zorder=3, label=label, **colours)
    length = np.ptp(keys, axis=0).max() * 0.16
    ends = [
        (key, key + found.query * length)
        for key, found in zip(keys, reaches, strict=True)
        if found.query is not None
    ]
    for begin, end in ends:
        arrow = {"arrowstyle": "-|>", "color": theme.series[1], "alpha": 0.7, "lw": pt(1.4)}
        axes.annotate("", end, begin, arrowprops=arrow, zorder=2)
    _finish_plane(axes, keys, 0.7, ends, theme)
    axes.set_title("Keys, and the best query for each corner of the hull")


def _finish_plane(
    axes: Axes, keys: Array, room: float, lines: Sequence[tuple[Array, Array]], theme: Theme
) -> None:
    """Names the keys and centres them in a panel of fixed shape with room around them and a legend below."""
    middle, extent = (keys.max(axis=0) + keys.min(axis=0)) / 2, np.ptp(keys, axis=0)
    half = room * max(extent[0] / PANEL, extent[1])
    _name_keys(axes, keys, half, lines, theme)
    axes.set_xlim(middle[0] - PANEL * half, middle[0] + PANEL * half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2)


def _name_keys(
    axes: Axes, keys: Array, half: float, lines: Sequence[tuple[Array, Array]], theme: Theme
) -> None:
    """Puts the name of each key on that side of it where most room is.

    `half` is half of the panel's height, and `lines` are what a name should keep away from.
    """
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    along = np.linspace(0, 1, 40)[:, None]
    taken = np.concatenate([keys, *(begin + along * (end - begin) for begin, end in lines)])
    halo = [withStroke(linewidth=pt(2.5), foreground=theme.paper)]
    for number, key in enumerate(keys, 1):
        spots = key + 0.12 * half * directions
        room = np.linalg.norm(spots[:, None] - taken, axis=2).min(axis=1)
        # Decides where there is room on many sides.
        outwards = directions @ (key - keys.mean(axis=0)) / half
        x, y = spots[int(np.argmax(room + 0.01 * half * outwards))]
        taken = np.concatenate([taken, [(x, y)]])
        axes.text(x, y, f"$k_{{{number}}}$", zorder=5, path_effects=halo, ha="center", va="center")


def _draw_weights_against_size(
    axes: Axes, keys: Array, reaches: Reaches, scale: float, eps: float, theme: Theme
) -> None:
    blue, red = theme.series[1], theme.series[0]
    hidden = [j for j, found in enumerate(reaches) if not found.possible]
    # From the key with the largest margin, which the smallest query copies, to the smallest.
    copied = sorted(set(range(len(keys))) - set(hidden), key=lambda j: -reaches[j].margin)
    needed = strength_needed(len(keys), 1, eps)
    sizes = np.geomspace(0.1, 3 * needed / (scale * reaches[copied[-1]].margin), 200)
    named = np.linspace(0, len(copied) - 1, min(MAX_CURVE_NAMES, len(copied))).astype(int)
    box = {"boxstyle": "round,pad=0.15", "facecolor": theme.paper, "edgecolor": "none"}
    for number, j in enumerate(copied):
        query, margin = reaches[j].query, reaches[j].margin
        assert query is not None
        weights = attention_weights(sizes[:, None] * query, keys, scale)[:, j]
        bound = [1 - leak_bound(len(keys), 1, c * scale * margin) for c in sizes]
        enough = f"$c$ that is enough for {1 - eps:g}"
        labels = [None] * 3 if number else ["$\\alpha_j$ of a reachable key", "its bound", enough]
        axes.plot(sizes, weights, color=blue, lw=pt(1.8), label=labels[0])
        axes.plot(sizes, bound, color=blue, lw=pt(1), ls=":", label=labels[1])
        at = np.array([[needed / (scale * margin), 1 - eps]])
        scatter(axes, at, 9.5, marker="|", color=theme.ink, zorder=4, label=labels[2])
        if number in named:
            height = 0.5 + 0.06 * list(named).index(number)
            centre = float(np.interp(height, weights, sizes)), height
            style = {"fontsize": "small", "ha": "center", "va": "center", "clip_on": True}
            axes.text(*centre, f"$k_{{{j + 1}}}$", bbox=box, **style)  # type: ignore[arg-type]
    directions, how_many = _draw_directions(keys.shape[1])
    # The largest weight (sizes, m) that any direction gives each key.
    best = np.array([attention_weights(c * directions, keys, scale).max(axis=0) for c in sizes])
    for number, j in enumerate(hidden):
        labels = [None] * 2 if number else [f"a hidden key, best of {how_many} directions", "its ceiling"]
        axes.plot(sizes, best[:, j], color=red, lw=pt(1.8), label=labels[0])
        axes.axhline(reaches[j].ceiling, color=red, lw=pt(1), ls=":", label=labels[1])
    axes.set(xscale="log", ylim=(0, 1.04), xlabel="scale $c$ of the query", ylabel="weight")
    axes.set_title("Weight against the scale of the query")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _draw_directions(dim: int) -> tuple[Array, str]:
    """Returns unit vectors in all directions; in many dimensions, in random ones; and how many they are."""
    if dim == 1:
        return np.array([[1.0], [-1.0]]), "both"
    if dim == 2:
        angles = np.linspace(0, 2 * np.pi, 181)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1), "all"
    drawn = np.random.default_rng(0).standard_normal((500, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True), f"{len(drawn)}"


def draw_averaging(theme: Theme, keys: Array, c: float, scale: float, seed: int) -> Figure:
    """Draws weights against s, formula and measurement; and which pairs in the plane can be averaged."""
    figure = new_figure(*PANELS)
    left, right = figure.subplots(1, 2)
    count, chosen = len(keys), c * scale
    s, rings = np.linspace(0, 12, 300), np.linspace(0, 12, 13)
    tied = np.array([tied_weight(count, 2, x) for x in s])
    measured = attention_weights(rings[:, None] / scale * (keys[0] + keys[1]), keys, scale)[:, [0, 2]]
    left.plot(
        s, tied, color=theme.series[1], lw=pt(2), label="$\\alpha_a = \\alpha_b = e^s / (2e^s + m - 2)$"
    )
    left.plot(s, (1 - 2 * tied) / (count - 2), color=theme.series[0], lw=pt(2), label="each other key")
    left.plot(rings, measured, "o", ms=pt(5), mfc=theme.paper, mec=theme.ink, label="_")
    if chosen < s[-1]:
        left.axvline(chosen, color=theme.faint, lw=pt(1), zorder=0)
        left.text(chosen + 0.15, 0.4, f"$c$ = {c:.1f}", fontsize="small")
    left.axhline(0.5, color=theme.faint, lw=pt(1), zorder=0)
    left.set(ylim=(0, 0.55), xlabel="$s = c/\\sqrt{d}$" if scale != 1 else "$s = c$", ylabel="weight")
    left.set_title(f"{count} orthonormal keys: formula and measurement (rings)")
    left.legend(loc="center right", bbox_to_anchor=(1.0, 0.45))
    # From a separate generator, so that the picture does not depend on the number of samples.
    rng = np.random.default_rng([seed, 31])
    plane = rng.standard_normal((min(count, MAX_PLANE_KEYS), 2))
    labels: dict[bool, str | None] = {True: "can be averaged: an edge of the hull", False: "cannot"}
    pairs = [(pair, reach(plane, pair).possible) for pair in combinations(range(len(plane)), 2)]
    for pair, possible in sorted(pairs, key=lambda each: not each[1]):
        colour, width = (theme.series[1], pt(2.6)) if possible else (theme.faint, pt(0.8))
        line = plane[list(pair)].T
        right.plot(*line, color=colour, lw=width, zorder=1 + possible, label=labels[possible])
        labels[possible] = None
    scatter(right, plane, 7, color=theme.ink, zorder=3)
    _finish_plane(right, plane, 0.6, [(plane[i], plane[j]) for (i, j), _ in pairs], theme)
    fewer = f" (not {count})" if len(plane) < count else ""
    right.set_title(f"{len(plane)} keys in the plane{fewer}: which pairs can be averaged")
    return figure


# 1.6 and 1.7: matrices over the parts of the inputs


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


# Scaling


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
        curves = [(np.sqrt(each.logit_variance), each.evenness.mean(), each.gradient) for each in measured]
        for axes, curve in zip(panels, zip(*curves, strict=True), strict=True):
            axes.plot(dimensions, curve, "o-", ms=pt(4.5), color=colour, lw=pt(1.8), label=name)
    for measured, label in ((unscaled, "predicted"), (scaled, None)):
        expected = [each.scale * np.sqrt(each.dimension) for each in measured]
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
