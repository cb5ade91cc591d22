"""What all pictures share: two themes with their colours, and writing a figure as a PNG, SVG or PDF file.

Figures are made without `pyplot`, so that no window and no global state is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augenmerk.errors import AugenmerkError
from augenmerk.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Theme:
    """The colours of a picture, each as #rrggbb."""

    name: str
    paper: str
    ink: str
    faint: str
    """The colour of grids and frames."""
    accent: str
    series: tuple[str, ...]
    """Colours of lines and bars, which red-green colour-blind readers can tell apart."""
    heat: str
    """The name of a perceptually uniform matplotlib colour map whose upper end contrasts with the paper."""

    @property
    def muted(self) -> str:
        """The colour of less important text."""
        return blend(self.ink, self.paper, 0.62)


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


def get_theme(name: str) -> Theme:
    """Returns the theme of this name, or raises AugenmerkError if there is none."""
    if name not in THEMES:
        raise AugenmerkError(f"There is no theme '{name}'; the themes are {' and '.join(THEMES)}.")
    return THEMES[name]


def blend(colour: str, other: str, share: float) -> str:
    """Mixes two colours: `share` of the first, the rest of the other."""
    return "#" + "".join(
        f"{round(a * share + b * (1 - share)):02x}"
        for a, b in zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    )


@cache
def get_heat_colours(theme: Theme, levels: int) -> tuple[str, ...]:
    """Returns the theme's colour map from 0 to 1 in equal steps, each colour as #rrggbb."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return tuple(to_hex(colormaps[theme.heat](level / (levels - 1))) for level in range(levels))


def quantise(weight: float, levels: int) -> int:
    """Returns the place of a weight from 0 to 1 among so many equal steps."""
    return min(levels - 1, max(0, round(weight * (levels - 1))))


@cache
def choose_ink(colour: str) -> str:
    """Returns black or white, whichever has the higher contrast with the background colour."""
    parts = (part / 255 for part in bytes.fromhex(colour[1:]))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if luminance > 0.179 else "#ffffff"  # both contrasts are equal at 0.179


@contextmanager
def use_theme(theme: Theme, *, formulas: bool = False) -> Iterator[None]:
    """Makes the theme's colours and fonts the defaults of figures that are made inside the context.

    A dollar sign starts a formula only if `formulas` is true; in sentences it is a dollar sign.
    """
    import matplotlib
    from cycler import cycler

    inked = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = {
        **dict.fromkeys(("figure.facecolor", "axes.facecolor"), theme.paper),
        **dict.fromkeys(inked, theme.ink),
        **dict.fromkeys(("axes.edgecolor", "grid.color"), theme.faint),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
        "axes.prop_cycle": cycler(color=theme.series),
        "grid.linewidth": 0.5,
        "text.parse_math": formulas,
        "font.family": ["DejaVu Sans"],  # comes with matplotlib: a picture looks the same everywhere
        "font.size": 10.0,
        "mathtext.fontset": "dejavusans",
    }
    with matplotlib.rc_context(settings):
        yield


def get_picture_format(path: Path) -> str:
    """Returns the format that a path's ending names; raises AugenmerkError if it is not in `FORMATS`."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise AugenmerkError(f"{path}: the name of a picture ends in .png, .svg or .pdf.")
    return ending


def encode_figure(figure: Figure, ending: str, dots_per_inch: int = 200) -> bytes:
    """Encodes the figure in one of `FORMATS`, without a date, so that equal figures give equal bytes."""
    import matplotlib

    metadata = {"png": {"Software": "augenmerk"}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    picture = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "augenmerk", "savefig.facecolor": "auto"}):
        figure.savefig(picture, format=ending, dpi=dots_per_inch, metadata=metadata[ending])
    return picture.getvalue()


def save_figure(figure: Figure, path: Path, dots_per_inch: int = 200) -> None:
    """Writes the figure atomically, in the format that the path's ending names."""
    atomic_write(path, [encode_figure(figure, get_picture_format(path), dots_per_inch)])
