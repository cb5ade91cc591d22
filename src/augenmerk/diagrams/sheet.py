"""Paper to draw on, in inches from the top left corner, and a ruler that knows how wide a text is on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from augenmerk.diagrams.fonts import MISSING, NO_GLYPH, families_for
from augenmerk.diagrams.labels import END_SIGN, heat_colours, plain, short_label
from augenmerk.diagrams.maps import END, AttentionMap
from augenmerk.figures import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.25
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 12.0, 10.0, 8.0
LINE = 1.45
"""Height of a line of text, in its size."""


class Ruler:
    """Measures and breaks text, in inches, in the fonts that the maps need."""

    def __init__(self, maps: Sequence[AttentionMap]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        texts = [text for one in maps for text in _texts_of(one)]
        self.families, self.missing = families_for([*texts, END_SIGN, NO_GLYPH])
        self._boxes = dict.fromkeys(map(ord, self.missing), NO_GLYPH)
        figure = Figure(dpi=100)
        canvas: Any = FigureCanvasAgg(figure)
        self._renderer = canvas.get_renderer()

    def drawable(self, text: str) -> str:
        """With a box for each character that no font has."""
        return plain(text).translate(self._boxes)

    def word(self, word: str) -> str:
        return short_label(word).translate(self._boxes)

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        from matplotlib.font_manager import FontProperties

        font = FontProperties(family=self.families, size=size, weight=weight)
        wide, _, _ = self._renderer.get_text_width_height_descent(text, font, False)
        return float(wide) / 100

    def wrapped(self, text: str, size: float, room: float, weight: str = "normal") -> list[str]:
        """Lines that fit into the room; a word that does not fit alone is broken."""
        lines = [""]
        for word in self.drawable(text).split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if self.width(longer, size, weight) <= room:
                lines[-1] = longer
                continue
            if lines[-1]:
                lines.append("")
            for character in word:
                if lines[-1] and self.width(lines[-1] + character, size, weight) > room:
                    lines.append("")
                lines[-1] += character
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
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, maps: Sequence[AttentionMap], room: float, ruler: Ruler) -> Footer:
        references = {one.reference for one in maps}
        reference: list[str] = []
        if len(references) == 1 and (text := maps[0].reference):
            reference = ruler.wrapped(text, TEXT_SIZE, room - REFERENCE_INDENT)
        remarks = []
        if any(END in (*one.source_words, *one.target_words) for one in maps):
            remarks.append(f"{END_SIGN} end of sentence")
        if ruler.missing:
            remarks.append(MISSING)
        return cls(tuple(reference), tuple(remarks))

    @property
    def width(self) -> float:
        return 2.2 + 1.4 * len(self.remarks) if self.remarks else 2.2

    @property
    def height(self) -> float:
        return (0.12 + len(self.reference) * TEXT_SIZE * LINE / 72 if self.reference else 0) + 0.3

    def draw(self, sheet: Sheet, x: float, y: float, scale: bool) -> None:
        quiet = subdued(sheet.theme)
        if self.reference:
            y += 0.12
            sheet.write(x, y, "Reference", TEXT_SIZE, quiet)
            y = sheet.write_lines(x + REFERENCE_INDENT, y, self.reference, TEXT_SIZE)
        y += 0.22
        if scale:
            x = _draw_scale(sheet, x, y) + 0.3
        for remark in self.remarks:
            sheet.write(x, y, remark, SMALL_SIZE, quiet, va="center")
            x += 1.4


REFERENCE_INDENT = 0.85


def _draw_scale(sheet: Sheet, x: float, y: float) -> float:
    """What the colours mean; returns where it ends."""
    quiet = subdued(sheet.theme)
    sheet.write(x, y, "attention  0", SMALL_SIZE, quiet, va="center")
    left, wide, high = x + 0.78, 0.9, 0.1
    colours = heat_colours(sheet.theme, 64)
    step = wide / len(colours)
    sheet.axes.broken_barh(
        [(left + step * place, step * 1.05) for place in range(len(colours))],
        (y - high / 2, high),
        facecolors=colours,
        linewidth=0,
    )
    sheet.write(left + wide + 0.06, y, "1", SMALL_SIZE, quiet, va="center")
    return left + wide + 0.15
