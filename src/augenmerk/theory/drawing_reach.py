"""Figures of 1.1 and 1.2: hulls, and weights against the size of the query."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.spatial import ConvexHull

from augenmerk.figures import Theme
from augenmerk.theory.attention import Array, attention_weights
from augenmerk.theory.lab_reach import AveragingPicture, CopyingPicture
from augenmerk.theory.reach import leak_bound, strength_needed, tied_weight

SIZE = (10.0, 4.4)
MOST_NAMES = 8
"""Of curves that are named."""
PANEL = 1.3
"""The width of a panel over its height."""


def draw_copying(picture: CopyingPicture, theme: Theme) -> Figure:
    """The hull with reachable and hidden keys (in two dimensions), and their weights against c."""
    figure = Figure(figsize=SIZE, layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = [j for j, found in enumerate(picture.reaches) if found.possible]
    hidden = [j for j, found in enumerate(picture.reaches) if not found.possible]
    if picture.keys.shape[1] == 2:
        _draw_hull(left, picture.keys, theme)
        left.scatter(*picture.keys[shown].T, s=70, color=theme.series[1], zorder=3, label="can be copied")
        if hidden:
            left.scatter(
                *picture.keys[hidden].T,
                s=70,
                facecolor=theme.paper,
                edgecolor=theme.series[0],
                linewidth=2,
                zorder=3,
                label="hidden: inside the hull of the others",
            )
        for j in shown:
            query = picture.reaches[j].query
            assert query is not None
            left.annotate(
                "",
                picture.keys[j] + query * _extent(picture.keys) * 0.16,
                picture.keys[j],
                arrowprops={"arrowstyle": "-|>", "color": theme.series[1], "alpha": 0.7, "lw": 1.4},
                zorder=2,
            )
        _name_keys(left, picture.keys, theme)
        left.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=9, ncols=2)
        _headline(left, "Keys, and the best query for each corner of the hull")
    else:
        margins = [found.margin for found in picture.reaches]
        left.bar(range(1, len(margins) + 1), margins, color=theme.series[1])
        left.set_xlabel("key")
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        left.set_ylabel("margin")
        _headline(left, "How far each key is from the hull of the others" + (" (0: hidden)" * bool(hidden)))
    _draw_weights_against_scale(right, picture, shown, hidden, theme)
    return figure


def _draw_weights_against_scale(
    axes: Axes, picture: CopyingPicture, shown: list[int], hidden: list[int], theme: Theme
) -> None:
    keys, scale = picture.keys, picture.scale
    needed = strength_needed(len(keys), 1, picture.eps)
    margins = [picture.reaches[j].margin for j in shown]
    sizes = np.geomspace(0.1, 3 * needed / (scale * min(margins)), 200)
    ordered = sorted(shown, key=lambda j: -picture.reaches[j].margin)
    # No more names than fit above one another, from the nearest to the furthest key.
    named = {ordered[i] for i in np.linspace(0, len(ordered) - 1, min(MOST_NAMES, len(ordered))).astype(int)}
    height = 0.5
    for number, j in enumerate(ordered):
        found = picture.reaches[j]
        assert found.query is not None
        weights = attention_weights(sizes[:, None] * found.query, keys, scale)[:, j]
        axes.plot(
            sizes,
            weights,
            color=theme.series[1],
            lw=1.8,
            label="$\\alpha_j$ of a reachable key" if not number else None,
        )
        bound = [1 - leak_bound(len(keys), 1, c * scale * found.margin) for c in sizes]
        axes.plot(
            sizes, bound, color=theme.series[1], lw=1, ls=":", label="its bound" if not number else None
        )
        c = needed / (scale * found.margin)
        axes.scatter([c], [1 - picture.eps], marker="|", s=90, color=theme.ink, zorder=4)
        if j in named:
            axes.text(
                float(np.interp(height, weights, sizes)),
                height,
                f"$k_{{{j + 1}}}$",
                color=theme.ink,
                fontsize=9,
                ha="center",
                va="center",
                clip_on=True,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": theme.paper, "edgecolor": "none"},
            )
            height += 0.06
    directions, how_many = _directions(keys.shape[1])
    # (sizes, m): of every key, the most weight that a direction gives it.
    best = np.array([attention_weights(c * directions, keys, scale).max(axis=0) for c in sizes])
    for number, j in enumerate(hidden):
        axes.plot(
            sizes,
            best[:, j],
            color=theme.series[0],
            lw=1.8,
            label=f"a hidden key, best of {how_many} directions" if not number else None,
        )
        axes.axhline(
            picture.reaches[j].ceiling,
            color=theme.series[0],
            lw=1,
            ls=":",
            label="its ceiling" if not number else None,
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 1.04)
    axes.set_xlabel("size $c$ of the query")
    axes.set_ylabel("weight")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=9, ncols=2)
    _headline(axes, "Weight against the size of the query")


def _directions(dim: int) -> tuple[Array, str]:
    """Unit vectors in all directions; of many dimensions, as many as can be tried."""
    if dim == 1:
        return np.array([[1.0], [-1.0]]), "both"
    if dim == 2:
        angles = np.linspace(0, 2 * np.pi, 181)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1), "all"
    drawn = np.random.default_rng(0).standard_normal((500, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True), f"{len(drawn)}"


def draw_averaging(picture: AveragingPicture, theme: Theme) -> Figure:
    """Weights against s, formula and measurement; and which pairs in the plane can be averaged."""
    figure = Figure(figsize=SIZE, layout="constrained")
    left, right = figure.subplots(1, 2)
    s = np.linspace(0, float(picture.strengths[-1]), 300)
    tied = np.array([tied_weight(picture.keys, 2, x) for x in s])
    left.plot(s, tied, color=theme.series[1], lw=2, label="$\\alpha_a = \\alpha_b = e^s / (2e^s + m - 2)$")
    left.plot(s, (1 - 2 * tied) / (picture.keys - 2), color=theme.series[0], lw=2, label="each other key")
    left.plot(
        picture.strengths[::4], picture.measured[::4], "o", ms=5, mfc=theme.paper, mec=theme.ink, label="_"
    )
    chosen = picture.c * picture.scale
    if chosen < s[-1]:
        left.axvline(chosen, color=theme.faint, lw=1, zorder=0)
        left.text(chosen + 0.15, 0.4, f"$c$ = {picture.c:.1f}", color=theme.ink, fontsize=9)
    left.axhline(0.5, color=theme.faint, lw=1, zorder=0)
    left.set_ylim(0, 0.55)
    left.set_xlabel("$s = c/\\sqrt{d}$" if picture.scale != 1 else "$s = c$")
    left.set_ylabel("weight")
    left.legend(loc="center right", fontsize=9, bbox_to_anchor=(1.0, 0.45))
    _headline(left, f"{picture.keys} orthonormal keys: formula and measurement (rings)")
    points = picture.points
    for a in range(len(points)):
        for b in range(a):
            if (b, a) not in picture.edges:
                right.plot(*points[[a, b]].T, color=theme.faint, lw=0.8, zorder=1)
    for number, (a, b) in enumerate(picture.edges):
        right.plot(
            *points[[a, b]].T,
            color=theme.series[1],
            lw=2.6,
            zorder=2,
            label=None if number else "can be averaged: an edge of the hull",
        )
    right.plot([], [], color=theme.faint, lw=0.8, label="cannot")
    right.scatter(*points.T, s=50, color=theme.ink, zorder=3)
    _name_keys(right, points, theme)
    _frame(right, points, 0.55)
    right.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=9, ncols=2)
    fewer = f" (not {picture.keys})" if len(points) < picture.keys else ""
    _headline(right, f"{len(points)} keys in the plane{fewer}: which pairs can be averaged")
    return figure


def _draw_hull(axes: Axes, keys: Array, theme: Theme) -> None:
    if len(keys) > 2:
        corners = keys[ConvexHull(keys).vertices]
        axes.fill(*corners.T, facecolor=theme.faint, alpha=0.25, edgecolor=theme.faint, lw=1.2, zorder=1)
    _frame(axes, keys, 0.7)


def _frame(axes: Axes, keys: Array, room: float) -> None:
    """The keys in the middle of a panel that keeps its shape, with room around them."""
    middle, extent = (keys.max(axis=0) + keys.min(axis=0)) / 2, np.ptp(keys, axis=0)
    half = room * max(extent[0] / PANEL, extent[1])
    axes.set_xlim(middle[0] - PANEL * half, middle[0] + PANEL * half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _name_keys(axes: Axes, keys: Array, theme: Theme) -> None:
    """Each key's name on its side towards the middle, where no arrow is; keys that touch share one."""
    centre, touching = keys.mean(axis=0), 0.05 * _extent(keys)
    left = list(range(len(keys)))
    while left:
        together = [j for j in left if np.linalg.norm(keys[j] - keys[left[0]]) < touching] or left[:1]
        left = [j for j in left if j not in together]
        place = keys[together].mean(axis=0)
        inwards = centre - place
        offset = (13 + 5 * (len(together) - 1)) * inwards / (np.linalg.norm(inwards) or 1)
        axes.annotate(
            ", ".join(f"$k_{{{j + 1}}}$" for j in together),
            place,
            offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=9.5,
            color=theme.ink,
            zorder=5,
        )


def _extent(keys: Array) -> float:
    return float(np.ptp(keys, axis=0).max())


def _headline(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, pad=10)
