"""Draws the figures of 1.1 to 1.5: hulls of keys, weights against the size of the query, and noisy keys."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from scipy.spatial import ConvexHull
from scipy.special import expit

from augenmerk.drawing.figures import Theme
from augenmerk.theory.attention import Array, attention_weights
from augenmerk.theory.closed_form import share_density, weight_of_first
from augenmerk.theory.copying import Reach, leak_bound, reach, strength_needed, tied_weight
from augenmerk.theory.noise import PICTURE_BETAS, Samples

SIZE = (10.0, 4.4)
MAX_CURVE_NAMES = 8
MAX_PLANE_KEYS = 10  # 1.2 tries every pair of so many keys in the plane
PANEL = 1.3  # the width of a panel over its height
CLOUD = 400  # how many samples a cloud of outputs shows
CENTRED: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
Reaches = tuple[Reach, ...]


def set_headline(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, pad=10)


def draw_copying(theme: Theme, keys: Array, reaches: Reaches, scale: float, eps: float) -> Figure:
    """Draws the hull with reachable and hidden keys (in two dimensions), and their weights against c."""
    figure = Figure(figsize=SIZE, layout="constrained")
    left, right = figure.subplots(1, 2)
    if keys.shape[1] == 2:
        _draw_hull(left, keys, reaches, theme)
    else:
        margins = [found.margin for found in reaches]
        left.bar(range(1, len(margins) + 1), margins, color=theme.series[1])
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        left.set(xlabel="key", ylabel="margin")
        hidden = "" if all(margins) else " (0: hidden)"
        set_headline(left, "How far each key is from the hull of the others" + hidden)
    _draw_weights_against_size(right, keys, reaches, scale, eps, theme)
    return figure


def _draw_hull(axes: Axes, keys: Array, reaches: Reaches, theme: Theme) -> None:
    possible = np.array([found.possible for found in reaches])
    if len(keys) > 2:
        corners = keys[ConvexHull(keys).vertices]
        axes.fill(*corners.T, facecolor=theme.faint, alpha=0.25, edgecolor=theme.faint, lw=1.2, zorder=1)
    x, y = keys.T
    axes.scatter(x[possible], y[possible], s=70, color=theme.series[1], zorder=3, label="can be copied")
    if not possible.all():
        ring: dict[str, Any] = {"facecolor": theme.paper, "edgecolor": theme.series[0], "linewidth": 2}
        label = "hidden: inside the hull of the others"
        axes.scatter(x[~possible], y[~possible], s=70, zorder=3, label=label, **ring)
    arrow = {"arrowstyle": "-|>", "color": theme.series[1], "alpha": 0.7, "lw": 1.4}
    ends = [
        (key, key + found.query * np.ptp(keys, axis=0).max() * 0.16)
        for key, found in zip(keys, reaches, strict=True)
        if found.query is not None
    ]
    for begin, end in ends:
        axes.annotate("", end, begin, arrowprops=arrow, zorder=2)
    _finish_plane(axes, keys, 0.7, ends, theme)
    set_headline(axes, "Keys, and the best query for each corner of the hull")


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
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=9, ncols=2)


def _name_keys(
    axes: Axes, keys: Array, half: float, lines: Sequence[tuple[Array, Array]], theme: Theme
) -> None:
    """Puts the name of each key on that side of it where most room is; keys that are close share one.

    `half` is half of the panel's height, and `lines` are what a name should keep away from.
    """
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    along = np.linspace(0, 1, 40)[:, None]
    taken = np.concatenate([keys, *(begin + along * (end - begin) for begin, end in lines)])
    left = list(range(len(keys)))
    while left:
        together = [j for j in left if np.linalg.norm(keys[j] - keys[left[0]]) <= 0.12 * half]
        left = [j for j in left if j not in together]
        place, more = keys[together].mean(axis=0), len(together) - 1
        # Half of the width of the further names, and for each direction the points (32, n, 2) under the text.
        wide = 0.12 * half * more
        reach_out = 0.12 * half + wide * np.abs(directions[:, :1])
        under = np.linspace(-wide, wide, 2 * more + 1)[:, None] * [1.0, 0.0]
        text = (place + reach_out * directions)[:, None] + under
        room = np.linalg.norm(text[:, :, None] - taken, axis=3).min(axis=(1, 2))
        outwards = (
            directions @ (place - keys.mean(axis=0)) / half
        )  # decides where there is room on many sides
        best = int(np.argmax(room + 0.01 * half * outwards))
        taken = np.concatenate([taken, text[best]])
        name = ", ".join(f"$k_{{{j + 1}}}$" for j in together)
        halo = [withStroke(linewidth=2.5, foreground=theme.paper)]
        style: dict[str, Any] = {"fontsize": 10, "color": theme.ink, "ha": "center", "va": "center"}
        x, y = text[best, more]
        axes.text(x, y, name, zorder=5, path_effects=halo, **style)


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
        labels = (None, None) if number else ("$\\alpha_j$ of a reachable key", "its bound")
        axes.plot(sizes, weights, color=blue, lw=1.8, label=labels[0])
        axes.plot(sizes, bound, color=blue, lw=1, ls=":", label=labels[1])
        enough = None if number else f"$c$ that is enough for {1 - eps:g}"
        tick: dict[str, Any] = {"marker": "|", "s": 90, "color": theme.ink, "zorder": 4, "label": enough}
        axes.scatter(needed / (scale * margin), 1 - eps, **tick)
        if number in named:
            height = 0.5 + 0.06 * list(named).index(number)
            at = float(np.interp(height, weights, sizes)), height
            name = f"$k_{{{j + 1}}}$"
            axes.text(*at, name, fontsize=9, ha="center", va="center", clip_on=True, bbox=box)
    directions, how_many = _directions(keys.shape[1])
    # The largest weight (sizes, m) that any direction gives each key.
    best = np.array([attention_weights(c * directions, keys, scale).max(axis=0) for c in sizes])
    for number, j in enumerate(hidden):
        labels = (None, None) if number else (f"a hidden key, best of {how_many} directions", "its ceiling")
        axes.plot(sizes, best[:, j], color=red, lw=1.8, label=labels[0])
        axes.axhline(reaches[j].ceiling, color=red, lw=1, ls=":", label=labels[1])
    axes.set(xscale="log", ylim=(0, 1.04), xlabel="scale $c$ of the query", ylabel="weight")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=9, ncols=2)
    set_headline(axes, "Weight against the scale of the query")


def _directions(dim: int) -> tuple[Array, str]:
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
    figure = Figure(figsize=SIZE, layout="constrained")
    left, right = figure.subplots(1, 2)
    count, chosen = len(keys), c * scale
    s, rings = np.linspace(0, 12, 300), np.linspace(0, 12, 13)
    tied = np.array([tied_weight(count, 2, x) for x in s])
    measured = attention_weights(rings[:, None] / scale * (keys[0] + keys[1]), keys, scale)[:, [0, 2]]
    formula = "$\\alpha_a = \\alpha_b = e^s / (2e^s + m - 2)$"
    left.plot(s, tied, color=theme.series[1], lw=2, label=formula)
    left.plot(s, (1 - 2 * tied) / (count - 2), color=theme.series[0], lw=2, label="each other key")
    left.plot(rings, measured, "o", ms=5, mfc=theme.paper, mec=theme.ink, label="_")
    if chosen < s[-1]:
        left.axvline(chosen, color=theme.faint, lw=1, zorder=0)
        left.text(chosen + 0.15, 0.4, f"$c$ = {c:.1f}", fontsize=9)
    left.axhline(0.5, color=theme.faint, lw=1, zorder=0)
    left.set(ylim=(0, 0.55), xlabel="$s = c/\\sqrt{d}$" if scale != 1 else "$s = c$", ylabel="weight")
    left.legend(loc="center right", fontsize=9, bbox_to_anchor=(1.0, 0.45))
    set_headline(left, f"{count} orthonormal keys: formula and measurement (rings)")
    # From a generator of its own, so that the picture does not depend on the number of samples.
    rng = np.random.default_rng([seed, 31])
    points = rng.standard_normal((min(count, MAX_PLANE_KEYS), 2))
    labels: dict[bool, str | None] = {True: "can be averaged: an edge of the hull", False: "cannot"}
    pairs = [(pair, reach(points, pair).possible) for pair in combinations(range(len(points)), 2)]
    for pair, possible in sorted(pairs, key=lambda each: not each[1]):
        colour, width = (theme.series[1], 2.6) if possible else (theme.faint, 0.8)
        line = points[list(pair)].T
        right.plot(*line, color=colour, lw=width, zorder=1 + possible, label=labels[possible])
        labels[possible] = None
    right.scatter(points[:, 0], points[:, 1], s=50, color=theme.ink, zorder=3)
    ends = [(points[i], points[j]) for (i, j), _ in pairs]
    _finish_plane(right, points, 0.6, ends, theme)
    fewer = f" (not {count})" if len(points) < count else ""
    set_headline(right, f"{len(points)} keys in the plane{fewer}: which pairs can be averaged")
    return figure


def draw_lean(
    theme: Theme, keys: int, s: float, from_means: Sequence[Samples], from_keys: Sequence[Samples]
) -> Figure:
    """Draws the distribution of the share of a in 1.3, and the deviation of its weight against beta.

    Only for one head: what several do is the question of 1.4.
    """
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    halves = figure.add_gridspec(1, 2)
    panels = figure.add_subfigure(halves[0]).subplots(len(PICTURE_BETAS), 1, sharex=True)
    grid, bins = expit(np.linspace(-9, 9, 400)), np.linspace(0, 1, 41)
    for axes, beta, drawn in zip(panels, PICTURE_BETAS, from_means, strict=True):
        heights, *_ = axes.hist(drawn.share, bins=bins, density=True, color=theme.series[0], alpha=0.35)
        axes.plot(grid, share_density(grid, s, beta), color=theme.series[0], lw=1.8)
        axes.set_ylim(0, 1.4 * heights.max())
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.text(0.5, 0.8, f"β = {beta:g}", transform=axes.transAxes, ha="center", fontsize=10.5)
    panels[-1].set_xlabel("share of $v_a$ in a sample: bars drawn, line logit-normal")
    set_headline(panels[0], "The more noise, the fewer samples are near one half")
    right = figure.add_subfigure(halves[1]).subplots()
    sweep = np.geomspace(1e-4, 1.0, 25)
    for moments, samples, colour, label in (
        (
            [weight_of_first(keys, s, b, "keys") for b in sweep],
            from_keys,
            theme.series[4],
            "$q = c\\,(k_a + k_b)$",
        ),
        (
            [weight_of_first(keys, s, b) for b in sweep],
            from_means,
            theme.series[0],
            "$q = c\\,(\\mu_a + \\mu_b)$",
        ),
    ):
        right.plot(sweep, [each.deviation for each in moments], color=colour, lw=2, label=label)
        measured = [drawn.weights[:, 0].std() for drawn in samples]
        right.plot(PICTURE_BETAS, measured, "o", ms=6, mfc=theme.paper, mec=colour, mew=1.5)
    right.axhline(0.5, color=theme.faint, lw=1, zorder=0)
    right.text(sweep[0], 0.505, "a coin: always one of the two", fontsize=8.5, va="bottom")
    right.set(xscale="log", ylim=(0, 0.56), xlabel="β", ylabel="deviation of the weight on $v_a$")
    right.legend(fontsize=9, loc="upper left", bbox_to_anchor=(0.0, 0.89))
    set_headline(right, "Spread against β: closed form, and samples (rings)")
    return figure


def draw_heads(theme: Theme, values: Array, one: Sequence[Samples], several: Sequence[Samples]) -> Figure:
    """Draws clouds of outputs in 1.4: one head above, a head for each value below, for several betas."""
    figure = Figure(figsize=(10.0, 5.2), layout="constrained")
    grid = figure.subplots(2, len(PICTURE_BETAS), sharex=True, sharey=True)
    heads = several[0].logits.shape[1]
    for row, (name, samples) in enumerate((("one head", one), (f"{heads} heads", several))):
        for axes, drawn in zip(grid[row], samples, strict=True):
            _draw_cloud(axes, drawn, values, heads, theme.series[row], theme)
        beside: dict[str, Any] = {"transform": grid[row, 0].transAxes, "ha": "right", "va": "center"}
        grid[row, 0].text(-0.02, 0.5, name, rotation=90, fontsize=11, **beside)
    for axes, beta in zip(grid[0], PICTURE_BETAS, strict=True):
        axes.set_title(f"β = {beta:g}", fontsize=11)
    figure.suptitle(f"Outputs of {CLOUD} resamplings of the keys", fontsize=10.5)
    _explain_cloud(figure, theme, ncols=5)
    return figure


def _explain_cloud(figure: Figure | SubFigure, theme: Theme, ncols: int) -> None:
    """Puts a legend below pictures by `_draw_cloud`."""
    dot: dict[str, Any] = {"linestyle": "none", "marker": "o"}
    colours = theme.series[:2]
    signs: dict[str, Any] = {
        "values to average": Line2D([], [], ms=7, color=theme.ink, **dot),
        "other values": Line2D([], [], ms=4, color=theme.muted, **dot),
        "average wanted": Line2D([], [], ms=9, mew=2, color=theme.ink, linestyle="none", marker="x"),
        "outputs": tuple(Line2D([], [], ms=4, alpha=0.6, color=colour, **dot) for colour in colours),
        "how many of them": tuple(Patch(color=colour) for colour in colours),
    }
    side_by_side = {tuple: HandlerTuple(ndivide=None)}
    figure.legend(
        signs.values(),
        signs.keys(),
        loc="outside lower center",
        fontsize=9,
        ncols=ncols,
        handler_map=side_by_side,
    )


def _draw_cloud(axes: Axes, drawn: Samples, values: Array, heads: int, colour: str, theme: Theme) -> None:
    """Draws outputs between the values, and below the line how many of them lie where along it."""
    outputs = drawn.outputs(values)[:CLOUD]
    dots: dict[str, Any] = {"alpha": 0.3, "linewidths": 0, "rasterized": True}
    axes.plot(*values[[0, 1]].T, color=theme.faint, lw=1, zorder=0)
    axes.scatter(values[heads:, 0], values[heads:, 1], s=14, color=theme.muted, zorder=1)
    axes.scatter(values[:heads, 0], values[:heads, 1], s=55, color=theme.ink, zorder=2)
    axes.scatter(outputs[:, 0], outputs[:, 1], s=14, color=colour, zorder=3, **dots)
    axes.plot(*values[:heads].mean(axis=0), marker="x", ms=10, mew=2, color=theme.ink, zorder=4)
    counts, edges = np.histogram(outputs[:, 0], bins=np.linspace(-1.025, 1.025, 42))
    bars = -0.45 * counts / counts.max()
    axes.bar(edges[:-1], bars, np.diff(edges), bottom=-0.12, align="edge", color=colour)
    for place, name, side in zip(values[:2], ("$v_a$", "$v_b$"), (-15, 15), strict=True):
        axes.annotate(name, place, (side, 0), fontsize=11, **CENTRED)
    axes.set_aspect("equal")
    axes.set_ylim(-0.62, values[:, 1].max() + 0.1)
    axes.set_axis_off()


def draw_swing(theme: Theme, values: Array, one: Samples, two: Samples) -> Figure:
    """Draws the weight on v_a against the length of k_a along its mean in 1.5, and clouds of outputs."""
    figure = Figure(figsize=SIZE, layout="constrained")
    halves = figure.add_gridspec(1, 2, width_ratios=[1.25, 1])
    axes = figure.add_subfigure(halves[0]).subplots()
    right = figure.add_subfigure(halves[1])
    clouds = right.subplots(2, 1)
    dots: dict[str, Any] = {"s": 9, "linewidths": 0, "alpha": 0.5, "rasterized": True}
    for cloud, drawn, colour, title, queries in (
        (clouds[0], one, theme.series[0], "one head", "$q = c\\,(\\mu_a + \\mu_b)$"),
        (clouds[1], two, theme.series[1], "two heads", "$c\\,\\mu_a$ and $c\\,\\mu_b$"),
    ):
        shown = drawn.lambdas[:, 0], drawn.weights[:, 0]
        axes.scatter(*shown, color=colour, label=f"{title}, {queries}", **dots)
        _draw_cloud(cloud, drawn, values, 2, colour, theme)
        cloud.set_title(title, fontsize=10)
    _explain_cloud(right, theme, ncols=2)
    axes.axhline(0.5, color=theme.faint, lw=1, zorder=0)
    axes.axvline(0, color=theme.faint, lw=1, zorder=0)
    broken = "$\\mu_a \\cdot k_a \\leq 0$:\nbroken anyway"
    line = {"arrowstyle": "-", "color": theme.ink, "lw": 0.8}
    axes.annotate(broken, (-0.05, 0.06), (-1.75, 0.22), fontsize=9, arrowprops=line)
    axes.set(xlabel="$\\mu_a \\cdot k_a$ of the sample", ylabel="weight on $v_a$")
    axes.legend(fontsize=9, loc="upper left", markerscale=2)
    set_headline(axes, "One head follows the length of $k_a$, two heads do not")
    return figure
