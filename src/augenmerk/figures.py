"""What every picture shares: two themes, and how a figure becomes a PNG, SVG or PDF file.

Figures are made without `pyplot`: no window, no global state, the same on a server as on a laptop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from augenmerk.errors import AugenmerkError
from augenmerk.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Theme:
    """The colours of a picture. `series` can be told apart by people who see red and green alike."""

    name: str
    paper: str
    ink: str
    faint: str
    """For grids, frames and what stands in the background."""
    accent: str
    series: tuple[str, ...]
    heat: str
    """matplotlib's name of a perceptually even colour map, whose far end stands out from the paper."""


DARK = Theme(
    name="dark",
    paper="#14161b",
    ink="#e8e6e1",
    faint="#4a4f5a",
    accent="#ffb454",
    series=("#ffb454", "#59c2ff", "#7fd962", "#d2a6ff", "#f07178", "#95e6cb", "#b8b4ab"),
    heat="inferno",
)
LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1d22",
    faint="#c9ccd2",
    accent="#b5480b",
    series=("#b5480b", "#0b66b5", "#3d7a12", "#7a3fb0", "#b0263a", "#0e7c6b", "#5b5f68"),
    heat="YlOrBr",
)
THEMES: Mapping[str, Theme] = {theme.name: theme for theme in (DARK, LIGHT)}


def theme_named(name: str) -> Theme:
    if name not in THEMES:
        raise AugenmerkError(f"there is no theme {name!r}; the themes are {' and '.join(THEMES)}")
    return THEMES[name]


@contextmanager
def drawing(theme: Theme, *, formulas: bool = False) -> Iterator[None]:
    """Figures made inside fit the theme wherever nothing is set by hand.

    A dollar sign begins a formula only where `formulas` are asked for: in a sentence it is a dollar sign.
    """
    import matplotlib
    from cycler import cycler

    with matplotlib.rc_context():
        matplotlib.rcParams.update(
            {
                "figure.facecolor": theme.paper,
                "axes.facecolor": theme.paper,
                "axes.edgecolor": theme.faint,
                "axes.labelcolor": theme.ink,
                "axes.titlecolor": theme.ink,
                "axes.prop_cycle": cycler(color=theme.series),
                "axes.spines.top": False,
                "axes.spines.right": False,
                "text.color": theme.ink,
                "text.parse_math": formulas,
                "xtick.color": theme.ink,
                "ytick.color": theme.ink,
                "grid.color": theme.faint,
                "grid.linewidth": 0.5,
                "legend.frameon": False,
                "font.family": ["DejaVu Sans"],  # comes with matplotlib: a picture looks the same everywhere
                "font.size": 10.0,
                "mathtext.fontset": "dejavusans",
            }
        )
        yield


def picture_format(path: Path) -> str:
    """The format that the ending of a path asks for."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise AugenmerkError(f"{path}: a picture ends in .png, .svg or .pdf")
    return ending


def picture_bytes(figure: Figure, ending: str, dots_per_inch: int = 200) -> bytes:
    """The figure in one of `FORMATS`, without the date, so that drawing again changes nothing."""
    import matplotlib

    metadata = {"png": {"Software": "augenmerk"}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    picture = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "augenmerk", "savefig.facecolor": "auto"}):
        figure.savefig(picture, format=ending, dpi=dots_per_inch, metadata=metadata[ending])
    return picture.getvalue()


def save(figure: Figure, path: Path, dots_per_inch: int = 200) -> None:
    """Writes the picture whole or not at all, in the format that its ending asks for."""
    atomic_write(path, [picture_bytes(figure, picture_format(path), dots_per_inch)])
