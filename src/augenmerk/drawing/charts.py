"""Building blocks of charts: headings, names at the ends of lines, and legends. Sizes are in points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any

from augenmerk.drawing.figures import Theme, pt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALL, MEDIUM = 8.5, 9.0
SIGN_LENGTH = 6
"""Letters as wide as a sign in a legend with the space around it."""
LETTERS_PER_INCH = 130.0
"""Letters of a legend in an inch, times the font size in points."""


def set_heading(axes: Axes, heading: str | None, grid: str = "y") -> None:
    """Gives a panel a heading above its left edge, and a grid."""
    if heading:
        axes.set_title(heading, loc="left", fontsize=pt(10.5), fontweight="bold")
    axes.grid(axis=grid, alpha=0.6)  # type: ignore[arg-type]


def choose_colour(number: int, theme: Theme) -> str:
    return theme.series[number % len(theme.series)]


def make_sign(label: str, colour: str, **look: Any) -> Any:
    """Returns a sign for a legend."""
    from matplotlib.lines import Line2D

    sizes = ("linewidth", "markersize", "markeredgewidth")
    scaled: dict[str, Any] = {name: pt(value) if name in sizes else value for name, value in look.items()}
    return Line2D([], [], color=colour, label=label, **scaled)


def add_legend(
    figure: Figure, signs: Iterable[Any], side: str, size: float = 10.0, colour: str | None = None
) -> None:
    """Puts a legend above ("upper") or below ("lower") all panels, in as many columns as fit."""
    handles = list(signs)
    lengths = [len(handle.get_label()) + SIGN_LENGTH for handle in handles]
    room = LETTERS_PER_INCH * figure.get_figwidth() / pt(size)
    columns = min(4, len(handles))
    while columns > 1:
        rows = ceil(len(handles) / columns)
        if sum(max(lengths[start : start + rows]) for start in range(0, len(handles), rows)) <= room:
            break
        columns -= 1
    look: dict[str, Any] = {"loc": f"outside {side} left", "ncols": columns}
    figure.legend(handles=handles, fontsize=pt(size), labelcolor=colour, **look)


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Writes each name at the end (x, y) of its line in its colour, moved so that no two overlap."""
    low, high = axes.get_ylim()
    logarithmic = axes.get_yscale() == "log"
    if logarithmic:
        low, high = math.log(low), math.log(high)
    ordered = sorted(ends, key=lambda end: end[1])
    heights = [math.log(y) if logarithmic else y for _, y, _, _ in ordered]
    for (x, _, name, colour), y in zip(ordered, move_apart(heights, (high - low) * 0.065), strict=True):
        end = x, math.exp(y) if logarithmic else y
        look: dict[str, Any] = {"color": colour, "va": "center", "fontweight": "bold"}
        axes.annotate(name, end, (pt(8), 0), textcoords="offset points", annotation_clip=False, **look)


def move_apart(heights: Sequence[float], room: float) -> list[float]:
    """Moves rising heights at least `room` apart; those that were too close stay around their mean."""
    groups: list[list[float]] = []
    for height in heights:
        group = [height]
        while groups and fmean(groups[-1]) + (len(groups[-1]) + len(group)) / 2 * room > fmean(group):
            group = groups.pop() + group
        groups.append(group)
    return [
        fmean(group) + (number - (len(group) - 1) / 2) * room
        for group in groups
        for number in range(len(group))
    ]
