"""Paper to draw on, in inches from the top left corner, and a ruler that knows how wide a text is on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.diagrams.fonts import MISSING, NO_GLYPH, families_for
from augenmerk.diagrams.labels import END_SIGN, plain, short_label
from augenmerk.diagrams.maps import END, AttentionMap
from augenmerk.figures import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.25
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 12.0, 10.0, 8.0
DOTS = 200
"""Per inch, for measuring: hinting makes letters as wide as they will be in a PNG."""
LINE = 1.45
"""Height of a line of text, in its size."""


class Ruler:
    """Measures and breaks text, in inches, in the fonts that the maps need."""

    def __init__(self, maps: Sequence[AttentionMap]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        texts = [text for one in maps for text in _texts_of(one)]
        self.families, self._instead = families_for([*texts, END_SIGN, NO_GLYPH])
        figure = Figure(dpi=DOTS)
        canvas: Any = FigureCanvasAgg(figure)
        self._renderer = canvas.get_renderer()
        self._widths: dict[tuple[str, float, str], float] = {}

    @property
    def has_all(self) -> bool:
        """Whether there is a font for every character."""
        return NO_GLYPH not in self._instead.values()

    @property
    def bold(self) -> str:
        """The weight of titles: of other fonts than the usual one, a bold face may not be there."""
        return "bold" if len(self.families) == 1 else "normal"

    def drawable(self, text: str) -> str:
        """With a box for each character that no font has."""
        return plain(text).translate(self._instead)

    def word(self, word: str) -> str:
        return short_label(word).translate(self._instead)

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        from matplotlib.font_manager import FontProperties

        key = text, size, weight
        if key not in self._widths:
            font = FontProperties(family=self.families, size=size, weight=weight)
            wide, _, _ = self._renderer.get_text_width_height_descent(text, font, False)
            self._widths[key] = float(wide) / DOTS
        return self._widths[key]

    def wrapped(self, text: str, size: float, room: float, weight: str = "normal") -> list[str]:
        """Lines that fit into the room; a word that does not fit alone is broken."""
        space = self.width(" ", size, weight)
        lines, used = [""], 0.0
        for word in self.drawable(text).split(" "):
            wide = self.width(word, size, weight)
            if lines[-1] and used + space + wide <= room:
                lines[-1] += f" {word}"
                used += space + wide
                continue
            if lines[-1]:
                lines.append("")
            for part in [word] if wide <= room else word:
                wide = self.width(part, size, weight)
                if lines[-1] and used + wide > room:
                    lines.append("")
                used = used + wide if lines[-1] else wide
                lines[-1] += part
        return lines


def _texts_of(one: AttentionMap) -> Iterable[str]:
    words = (short_label(word) for word in (*one.source_words, *one.target_words))
    return (*words, *map(plain, (one.title or "", one.reference or "", one.note or "", *one.beside)))


def blend(colour: str, other: str, share: float) -> str:
    """`share` of the colour, the rest of the other."""
    pairs = ((int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def subdued(theme: Theme) -> str:
    """For what is to be read second."""
    return blend(theme.ink, theme.paper, 0.62)


@dataclass(frozen=True)
class Sheet:
    """A figure whose coordinates are inches, y pointing down."""

    figure: Figure
    axes: Axes
    theme: Theme
    families: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, width: float, height: float, theme: Theme, ruler: Ruler) -> Sheet:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_autoscale_on(False)
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        return cls(figure, axes, theme, ruler.families)

    def write(
        self, x: float, y: float, text: str, size: float, colour: str | None = None, **how: Any
    ) -> None:
        """The text stands to the right of x and below y unless `ha` and `va` say otherwise."""
        how = {"ha": "left", "va": "top", "family": self.families, **how}
        self.axes.text(x, y, text, fontsize=size, color=colour or self.theme.ink, **how)

    def show(
        self, weights: NDArray[np.float64], left: float, top: float, width: float, height: float
    ) -> None:
        """The weights in colours, as one image."""
        self.axes.imshow(
            weights,
            cmap=self.theme.heat,
            vmin=0,
            vmax=1,
            extent=(left, left + width, top + height, top),
            aspect="auto",
            interpolation="nearest",
        )

    def write_lines(self, x: float, y: float, lines: Sequence[str], size: float, **how: Any) -> float:
        """Returns where the next line would stand."""
        for line in lines:
            self.write(x, y, line, size, **how)
            y += size * LINE / 72
        return y


@dataclass(frozen=True)
class Footer:
    """Below all maps: the reference, if it is the same for all, and how to read the picture."""

    reference: tuple[str, ...]
    legend: tuple[str, ...]
    """Lines of remarks; the first begins beside the scale of colours, if there is one."""
    scale: bool

    @classmethod
    def of(cls, maps: Sequence[AttentionMap], room: float, ruler: Ruler, *, scale: bool) -> Footer:
        references = {one.reference for one in maps}
        reference: list[str] = []
        if len(references) == 1 and (text := maps[0].reference):
            reference = ruler.wrapped(text, TEXT_SIZE, room - INDENT)
        remarks = []
        if any(END in (*one.source_words, *one.target_words) for one in maps):
            remarks.append(f"{END_SIGN} end of sentence")
        if not ruler.has_all:
            remarks.append(MISSING)
        lines = [SCALE_WIDTH] if scale else []
        legend = [""] if scale else []
        for remark in remarks:
            wide = ruler.width(remark + REMARK_GAP, SMALL_SIZE)
            if lines and lines[-1] + wide <= room:
                lines[-1] += wide
                legend[-1] += REMARK_GAP * bool(legend[-1]) + remark
            else:
                lines.append(wide)
                legend.append(remark)
        return cls(tuple(reference), tuple(legend), scale)

    @property
    def height(self) -> float:
        reference = 0.16 + len(self.reference) * TEXT_SIZE * LINE / 72 if self.reference else 0
        legend = 0.16 + len(self.legend) * SMALL_SIZE * LINE / 72 if self.legend else 0
        return reference + legend

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        quiet = subdued(sheet.theme)
        if self.reference:
            y += 0.16
            sheet.write(x, y, "Reference", TEXT_SIZE, quiet)
            y = sheet.write_lines(x + INDENT, y, self.reference, TEXT_SIZE)
        y += 0.16 + SMALL_SIZE * LINE / 72 / 2
        for place, line in enumerate(self.legend):
            beside = SCALE_WIDTH if self.scale and place == 0 else 0
            if beside:
                _draw_scale(sheet, x, y)
            sheet.write(x + beside, y, line, SMALL_SIZE, quiet, va="center")
            y += SMALL_SIZE * LINE / 72


INDENT = 0.85
"""Of the reference, beside the word that says so."""
SCALE_WIDTH = 2.1
REMARK_GAP = "      "


def _draw_scale(sheet: Sheet, x: float, y: float) -> None:
    """What the colours mean."""
    quiet = subdued(sheet.theme)
    sheet.write(x, y, "attention  0", SMALL_SIZE, quiet, va="center")
    left, wide, high = x + 0.78, 0.9, 0.1
    sheet.show(np.linspace(0, 1, 256)[None, :], left, y - high / 2, wide, high)
    sheet.write(left + wide + 0.06, y, "1", SMALL_SIZE, quiet, va="center")
