"""Names beside points, none on top of another."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from augenmerk.figures import Theme
from augenmerk.theory.attention import Array

SIZE = 9.5
AROUND = 6.0
"""Points (1/72 inch) that a marker takes up around its middle."""
APART = np.array([4.0, 0.0])
"""Points between two names."""
NEAR = 16.0
"""Names further away than this get a line to their point."""


def label_points(axes: Axes, places: Array, names: Sequence[str], theme: Theme) -> None:
    """Puts each name at the nearest free spot around its place (n, 2), right of it if possible.

    Axes and layout have to be final: spots are measured on the paper.
    """
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    point = figure.dpi / 72
    middles = axes.transData.transform(places) / point
    frame = axes.get_window_extent()
    frame = Bbox(frame.get_points() / point)
    taken = [Bbox.from_extents(x - AROUND, y - AROUND, x + AROUND, y + AROUND) for x, y in middles]
    for place, middle, name in zip(places, middles, names, strict=True):
        text = axes.annotate(name, place, (0, 0), textcoords="offset points", fontsize=SIZE)
        measured = text.get_window_extent()
        text.remove()
        size = np.array([measured.width, measured.height]) / point + APART
        spot = next(
            (spot for spot in _spots(middle, size) if _is_free(spot, frame, taken)),
            next(_spots(middle, size)),
        )
        taken.append(spot)
        offset = np.array([spot.x0 + spot.width / 2, spot.y0 + spot.height / 2]) - middle
        edge = np.clip(middle, spot.min, spot.max) - middle
        axes.annotate(
            name,
            place,
            offset,
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            fontsize=SIZE,
            color=theme.ink,
            zorder=5,
            arrowprops={"arrowstyle": "-", "color": theme.faint, "lw": 0.8, "shrinkA": 0, "shrinkB": 2}
            if np.linalg.norm(edge) > NEAR
            else None,
        ).set_in_layout(False)


def _spots(middle: Array, size: Array) -> Iterator[Bbox]:
    """Around a point: to the right, the left, above, below and between, near ones first."""
    for distance in (8.0, 12.0, 18.0, 26.0, 36.0, 48.0, 64.0, 84.0, 110.0):
        for angle in np.radians([0, 180, 90, 270, 45, 315, 135, 225, 20, 340, 160, 200]):
            towards = np.array([np.cos(angle), np.sin(angle)])
            # The edge of the name that faces the point is at this distance.
            corner = middle + towards * (distance + size / 2) - size / 2
            yield Bbox([corner, corner + size])


def _is_free(spot: Bbox, frame: Bbox, taken: Sequence[Bbox]) -> bool:
    inside = bool(np.all(frame.min <= spot.min) and np.all(spot.max <= frame.max))
    return inside and not any(spot.overlaps(other) for other in taken)
