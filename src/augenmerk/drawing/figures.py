"""What all pictures share: themes, the size of a picture and of its text, and PNG, SVG and PDF files.

Figures are made without `pyplot`, so that no window and no global state is needed. A `Style` is in use while
its `draw` calls a drawing function; figures take their size and font size from it when they are made.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rich.cells import cell_len

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
TEXT_SIZE = 10.0
"""Font size of ordinary text in points, unless the style sets another; other text is relative to it."""
POINTS: Mapping[str, float] = {
    "font.size": TEXT_SIZE,
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.8),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size", "xtick.major.pad", "ytick.major.pad"), 3.5),
    **{"axes.labelpad": 4.0, "axes.titlepad": 6.0, "grid.linewidth": 0.5, "patch.linewidth": 1.0},
    **{"lines.linewidth": 1.5, "lines.markersize": 6.0, "lines.markeredgewidth": 1.0},
}
"""Settings of matplotlib that are measured in points and grow with the font size."""
MIN_NUMBER_SIZE = 6.0
"""Smallest font size in points of a number in a cell; smaller ones are left out."""
GENERIC_FONT = "sans-serif"
FONTS = ["DejaVu Sans", GENERIC_FONT]
"""The first comes with matplotlib, so that a picture looks the same everywhere. An SVG with real text falls
back to the second where that is not installed."""
CELL_NUMBER = "number-in-cell"
"""The id of matplotlib texts in the cells of a matrix."""
MAX_INCHES = 100.0
"""Longest side of a picture in inches: at 200 dots per inch, a PNG of 20,000 dots."""
_SVG_PATH = re.compile(rb'(<path(?: id="[^"]*")? d=")([^"]*)')
_BELOW_HUNDREDTHS = re.compile(rb"(\.\d\d)\d+")
_SIZE = re.compile(r"(?P<width>\d+(\.\d+)?)(?P<sign>[:x])(?P<height>\d+(\.\d+)?)(?P<unit>cm|in)?")


def forget_missing_backend() -> None:
    """Removes a notebook's backend from the environment, without which matplotlib cannot be imported.

    A notebook names its backend there for the commands and kernels that it starts, which may be of another
    environment, where it is not installed.
    """
    module = os.environ.get("MPLBACKEND", "").removeprefix("module://")
    if "." not in module or "matplotlib" in sys.modules:
        return
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        del os.environ["MPLBACKEND"]


forget_missing_backend()


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
    heat: tuple[str, ...]
    """Colours of attention from 0, which is the paper, to 1, in equal steps of lightness."""

    @property
    def muted(self) -> str:
        """The colour of less important text."""
        return blend(self.ink, self.paper, 0.66)

    @property
    def grid(self) -> str:
        """The colour of the lines between the cells of a map."""
        return blend(self.faint, self.paper, 0.55)


DARK = Theme(
    name="dark",
    paper="#14161b",
    ink="#e8e6e1",
    faint="#4a4f5a",
    accent="#ffb454",
    series=("#ffb454", "#59c2ff", "#7fd962", "#d2a6ff", "#f07178", "#95e6cb", "#b8b4ab"),
    heat=(
        *("#14161b", "#460b69", "#7b1d6d", "#ae305c", "#da4e3d", "#f37919", "#fca70c", "#f6d849"),
        "#fcffa4",
    ),
)
LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1d22",
    faint="#c9ccd2",
    accent="#b5480b",
    series=("#b5480b", "#0b66b5", "#3d7a12", "#7a3fb0", "#b0263a", "#0e7c6b", "#5b5f68"),
    heat=(
        *("#ffffff", "#fee28f", "#febe4b", "#fd9728", "#ec7515", "#d55707", "#b44003", "#8d3104"),
        "#662506",
    ),
)
THEMES: Mapping[str, Theme] = {theme.name: theme for theme in (LIGHT, DARK)}


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
def make_heat_map_colours(theme: Theme) -> Colormap:
    """Returns the theme's colours of attention as a matplotlib colour map."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"heat-{theme.name}", theme.heat)


@cache
def get_heat_colours(theme: Theme, levels: int) -> tuple[str, ...]:
    """Returns the theme's colours of attention from 0 to 1 in equal steps, each as #rrggbb."""
    colours, last = [], len(theme.heat) - 1
    for level in range(levels):
        position = level / (levels - 1) * last
        below = min(int(position), last - 1)
        colours.append(blend(theme.heat[below + 1], theme.heat[below], position - below))
    return tuple(colours)


def quantise(weight: float, levels: int) -> int:
    """Returns the level from 0 to `levels - 1` that is nearest to a weight from 0 to 1."""
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
        **POINTS,
        **dict.fromkeys(("figure.facecolor", "axes.facecolor"), theme.paper),
        **dict.fromkeys(inked, theme.ink),
        **dict.fromkeys(("axes.edgecolor", "grid.color"), theme.faint),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
        "axes.prop_cycle": cycler(color=theme.series),
        **dict.fromkeys(("figure.constrained_layout.h_pad", "figure.constrained_layout.w_pad"), 0.09),
        "text.parse_math": formulas,
        "font.family": FONTS,
        "font.sans-serif": FONTS[:1],
        "mathtext.fontset": "dejavusans",
    }
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Returns a figure that arranges itself, of these natural sides in inches. Call it inside `use_theme`.

    Its sides, title and all that is measured in points follow the style in use.
    """
    import matplotlib
    from matplotlib.figure import Figure

    style = _STYLE.get()
    title = wrap_text(style.title or "", 1.2 * TEXT_SIZE, width)
    if title:
        height += (title.count("\n") + 1) * 1.2 * TEXT_SIZE * 1.45 / 72
    width, height, scale = style.choose_sides(width, height)
    sizes: dict[Any, Any] = {name: size * scale for name, size in POINTS.items()}
    matplotlib.rcParams.update(sizes)
    figure = Figure(figsize=(width, height), layout="constrained")
    if title:
        text = figure.suptitle(title, x=0.012, ha="left", fontsize="large", fontweight="bold")
        text.set_parse_math(False)
    return figure


def wrap_text(text: str, size: float, width: float) -> str:
    """Returns a text in lines of about so many inches, in letters of average width."""
    if not text:
        return ""
    letter = 0.6 * size / 72 * max(1.0, cell_len(text) / len(text))
    return textwrap.fill(text, max(10, int(width / letter)))


def pt(size: float) -> float:
    """Returns a size in points, given for ordinary text of 10 points, at the font size in use."""
    import matplotlib

    return float(size * matplotlib.rcParams["font.size"] / TEXT_SIZE)


def get_picture_format(path: Path) -> str:
    """Returns the format that a path's ending names; raises AugenmerkError if it is not in `FORMATS`."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise AugenmerkError(f"{path}: the name of a picture ends in .png, .svg or .pdf.")
    return ending


class PictureSize(NamedTuple):
    """The size of a picture: a shape such as 16:9, or inches."""

    width: float
    height: float
    is_shape: bool

    @classmethod
    def parse(cls, text: str) -> PictureSize:
        """Reads 16:9, 8x4.5 (inches) or 20x10cm; raises AugenmerkError for anything else."""
        match = _SIZE.fullmatch(text.strip().lower().replace("×", "x"))
        is_shape = match is not None and match["sign"] == ":"
        if match is None or (is_shape and match["unit"]):
            raise AugenmerkError(
                f"'{text}' is not a size of a picture: expected a shape such as 16:9, inches such as 8x4.5, "
                f"or centimetres such as 20x10cm."
            )
        unit = 2.54 if match["unit"] == "cm" else 1.0
        width, height = float(match["width"]) / unit, float(match["height"]) / unit
        low, high = sorted((width, height))
        if not (0 < high <= 10 * low if is_shape else low >= 1 and high <= MAX_INCHES):
            raise AugenmerkError(
                f"A picture cannot have the size {text}: shapes go up to 10:1 or 1:10, and each side is 1 to "
                f"{MAX_INCHES:g} inches long."
            )
        return cls(width, height, is_shape)

    def apply(self, width: float, height: float) -> tuple[float, float]:
        """Returns the sides, in inches, that a picture with these natural sides gets."""
        if not self.is_shape:
            return self.width, self.height
        shape = self.width / self.height
        return max(width, height * shape), max(height, width / shape)


@dataclass(frozen=True)
class Style:
    """How a picture looks."""

    theme: Theme = LIGHT
    title: str | None = None
    size: PictureSize | None = None
    font_size: float | None = None
    """Font size of ordinary text in points; None for `TEXT_SIZE`, or what a given size has room for."""
    outline: bool = False
    """Whether letters in SVG files are drawn as paths, which look the same without the font."""

    def choose_sides(self, width: float, height: float) -> tuple[float, float, float]:
        """Returns the sides in inches of a picture with these natural sides, and the scale of its text.

        With a size in inches and no font size, the picture grows or shrinks until it fits. If both are given,
        both hold as far as there is room; a warning reports text that has to be smaller.
        """
        scale = 1.0 if self.font_size is None else self.font_size / TEXT_SIZE
        if self.size is None:
            return width * scale, height * scale, scale
        sides = self.size.apply(width * scale, height * scale)
        if not self.size.is_shape:
            if self.font_size is None:
                return *sides, min(sides[0] / width, sides[1] / height)
            fitting = min(sides[0] / width, sides[1] / height)
            if fitting < scale:
                scale = fitting
                logging.getLogger(__name__).warning(
                    "In %.4g by %.4g inches there is room for text of %.3g points, not of %g.",
                    *(*sides, scale * TEXT_SIZE, self.font_size),
                )
        return *sides, scale

    def draw(self, draw: Callable[[Theme], Figure]) -> Figure:
        """Calls a function that draws a figure in a theme, with this style in use."""
        before = _STYLE.set(self)
        try:
            figure = draw(self.theme)
        finally:
            _STYLE.reset(before)
        if self.size or self.font_size:
            _hide_numbers_without_room(figure)
        return figure


def make_style(
    theme: str = "light",
    title: str | None = None,
    size: str | None = None,
    font_size: float | None = None,
    *,
    outline: bool = False,
) -> Style:
    """Returns a style from names and texts, as the options of commands have them."""
    sides = None if size is None else PictureSize.parse(size)
    return Style(get_theme(theme), title, sides, font_size, outline)


_PLAIN = Style()
_STYLE: ContextVar[Style] = ContextVar("style", default=_PLAIN)


def _hide_numbers_without_room(figure: Figure) -> None:
    """Hides the numbers of a matrix if any of them is wider than its cell, or too small to be read."""
    for axes in figure.axes:
        numbers = [text for text in axes.texts if text.get_gid() == CELL_NUMBER]
        if not numbers:
            continue
        figure.draw_without_rendering()
        (left, bottom), (right, top) = axes.transData.transform([(0, 0), (1, 1)])
        room = 0.92 * min(abs(right - left), abs(top - bottom))
        boxes = [number.get_window_extent() for number in numbers]
        too_small = any(float(number.get_fontsize()) < MIN_NUMBER_SIZE for number in numbers)
        if too_small or any(max(box.width, box.height) > room for box in boxes):
            for number in numbers:
                number.set_visible(False)


def encode_figure(figure: Figure, ending: str, *, outline: bool = False) -> bytes:
    """Encodes the figure in one of `FORMATS`, without a date, so that equal figures give equal bytes.

    A PDF has TrueType fonts in it, which publishers ask for. An SVG has text, or paths with `outline`.
    """
    import matplotlib

    metadata = {"png": {"Software": "augenmerk"}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    settings: dict[Any, Any] = {
        "svg.hashsalt": "augenmerk",
        "svg.fonttype": "path" if outline else "none",
        "pdf.fonttype": 42,
        "savefig.facecolor": "auto",
        "font.sans-serif": FONTS[:1],
    }
    picture = BytesIO()
    with matplotlib.rc_context(settings):
        figure.savefig(picture, format=ending, dpi=200, metadata=metadata[ending])
    return _shorten_paths(picture.getvalue()) if ending == "svg" else picture.getvalue()


def _shorten_paths(svg: bytes) -> bytes:
    """Writes each path in one line, and no digits of its points that are too small to be seen."""
    return _SVG_PATH.sub(
        lambda path: path[1] + b" ".join(_BELOW_HUNDREDTHS.sub(rb"\1", path[2]).split()), svg
    )


class Picture:
    """A drawing that shows itself in a notebook, and can be saved."""

    def __init__(self, draw: Callable[[Theme], Figure], text: str = "a picture") -> None:
        """`draw` makes the figure of matplotlib in a theme; `text` is what it shows where it cannot."""
        self.draw = draw
        self._text = text
        self.file: Path | None = None
        """Where it was saved last."""

    def __repr__(self) -> str:
        return self._text

    def save(self, path: str | Path, **style: Any) -> Self:
        """Writes the picture as .png, .svg or .pdf; keywords are those of `make_style`, such as title."""
        self.file, chosen = Path(path), make_style(**style)
        get_picture_format(self.file)  # before it is drawn
        save_figure(chosen.draw(self.draw), self.file, outline=chosen.outline)
        return self

    def _repr_svg_(self) -> str:
        return encode_figure(_PLAIN.draw(self.draw), "svg", outline=True).decode()


def write_pictures(
    folder: Path, style: Style, figures: Sequence[tuple[str, Callable[[Theme], Figure]]]
) -> list[str]:
    """Writes figures with numbered names, such as 01-test-7.svg, and returns the names."""
    digits = len(str(len(figures)))
    files = []
    for number, (name, draw) in enumerate(figures, 1):
        files.append(f"{number:0{digits}}-{name}")
        save_figure(replace(style, title=None).draw(draw), folder / files[-1], outline=style.outline)
    return files


def save_figure(figure: Figure, path: Path, *, outline: bool = False) -> None:
    """Writes the figure atomically, in the format that the path's ending names."""
    atomic_write(path, [encode_figure(figure, get_picture_format(path), outline=outline)])
