"""A canvas measured in inches, and the fonts and widths of the text that is drawn on it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from augenmerk.drawing.attention_map import END_SIGN, AttentionMap, clean_text, shorten_word
from augenmerk.drawing.figures import GENERIC_FONT, Theme, choose_sides, make_heat_map_colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_FONT = "DejaVu Sans"
NO_GLYPH = "□"
"""Stands for a character that no font on this machine has."""
_NOT_FOR_TEXT = ("Last Resort", "cmr10", "cmex10", "cmb10", "cmmi10", "cmss10", "cmsy10", "cmtt10", "STIX")
DOTS_PER_INCH = 200
"""Resolution at which text is measured: with hinting, letters are as wide as in a PNG."""
LINE_HEIGHT = 1.45
"""Height of a line of text, relative to its font size."""
SPARE_MARGIN = 0.3
"""Inches of both margins together that a drawing gives up for text of a given font size."""


def compute_text_height(lines: Sequence[str], size: float) -> float:
    """Returns the height of lines of text of a font size, in inches."""
    return len(lines) * size * LINE_HEIGHT / 72


class TextMeasurer:
    """Chooses the fonts for some maps, and measures and wraps text in these fonts, in inches."""

    def __init__(self, maps: Sequence[AttentionMap], title: str | None = None) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        texts = [END_SIGN, NO_GLYPH, clean_text(title or "")]
        for one in maps:
            texts += map(shorten_word, (*one.source_words, *one.target_words))
            texts += map(
                clean_text, (one.title or "", one.reference or "", one.note or "", *one.extra_columns)
            )
        self.families, self._replacements = choose_fonts(texts)
        canvas: Any = FigureCanvasAgg(Figure(dpi=DOTS_PER_INCH))
        self._renderer = canvas.get_renderer()
        self._widths: dict[tuple[str, float, str], float] = {}

    @property
    def is_complete(self) -> bool:
        """Whether there is a font for every character."""
        return NO_GLYPH not in self._replacements.values()

    @property
    def title_weight(self) -> str:
        """Bold only in the default font, since other fonts may have no bold face."""
        return "bold" if len(self.families) == 1 else "normal"

    def prepare_words(self, words: Sequence[str]) -> list[str]:
        """Returns the words as they are drawn, with a box for each character that no font has."""
        return [shorten_word(word).translate(self._replacements) for word in words]

    def compute_width(self, text: str, size: float, weight: str = "normal") -> float:
        from matplotlib.font_manager import FontProperties

        key = text, size, weight
        if key not in self._widths:
            font = FontProperties(family=self.families, size=size, weight=weight)
            width, _, _ = self._renderer.get_text_width_height_descent(text, font, False)
            self._widths[key] = float(width) / DOTS_PER_INCH
        return self._widths[key]

    def wrap(self, text: str | None, size: float, room: float, weight: str = "normal") -> list[str]:
        """Breaks a text into lines that fit into the room; a word that is too wide alone is broken too."""
        if not text:
            return []
        space = self.compute_width(" ", size, weight)
        lines, used = [""], 0.0
        for word in clean_text(text).translate(self._replacements).split(" "):
            width = self.compute_width(word, size, weight)
            if lines[-1] and used + space + width <= room:
                lines[-1] += f" {word}"
                used += space + width
                continue
            if lines[-1]:
                lines.append("")
            for part in [word] if width <= room else word:
                width = self.compute_width(part, size, weight)
                if lines[-1] and used + width > room:
                    lines.append("")
                used = used + width if lines[-1] else width
                lines[-1] += part
        return lines


class Canvas:
    """A figure whose coordinates are inches from its top left corner, at ordinary font size.

    With another font size in use, an inch of the canvas is `scale` inches of the figure. Sizes in points are
    given for ordinary font size too.
    """

    def __init__(self, width: float, height: float, theme: Theme, families: list[str]) -> None:
        from matplotlib.figure import Figure

        figure_width, figure_height, self.scale = choose_sides(width, height, SPARE_MARGIN)
        right, down = figure_width / self.scale - width, figure_height / self.scale - height
        self.theme = theme
        self.figure: Figure = Figure(figsize=(figure_width, figure_height))
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_autoscale_on(False)
        self.axes.set_xlim(-right / 2, width + right / 2)
        self.axes.set_ylim(height + down / 2, -down / 2)
        self._families = [*families, GENERIC_FONT]

    def draw_text(
        self, x: float, y: float, text: str, size: float, colour: str | None = None, **options: Any
    ) -> None:
        """Draws text to the right of x and below y, unless `ha` and `va` differ."""
        options = {"ha": "left", "va": "top", "family": self._families, **options}
        self.axes.text(x, y, text, fontsize=size * self.scale, color=colour or self.theme.ink, **options)

    def draw_lines_of_text(
        self, x: float, y: float, lines: Sequence[str], size: float, colour: str | None = None, **options: Any
    ) -> None:
        for line in lines:
            self.draw_text(x, y, line, size, colour, **options)
            y += size * LINE_HEIGHT / 72

    def draw_image(self, weights: ArrayLike, left: float, top: float, width: float, height: float) -> None:
        """Draws weights in the theme's colour map, as one image."""
        image = self.axes.imshow(
            weights, cmap=make_heat_map_colours(self.theme), vmin=0, vmax=1, aspect="auto"
        )
        image.set(extent=(left, left + width, top + height, top), interpolation="nearest")

    def draw_frame(self, left: float, top: float, width: float, height: float) -> None:
        """Draws a thin rectangle, for example around an image whose lightest colour is that of the paper."""
        from matplotlib.collections import LineCollection

        right, bottom = left + width, top + height
        corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        frame = LineCollection([corners], linewidths=[0.5 * self.scale], colors=[self.theme.faint])
        self.axes.add_collection(frame)


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], dict[int, str | None]]:
    """Chooses fonts on this machine that together have the characters of the texts.

    Returns the font families, the default one first, and a table for `str.translate` that removes invisible
    characters and puts `NO_GLYPH` for those that no font has. So matplotlib has nothing to warn about.
    """
    wanted = {ord(character) for text in texts for character in text} - _get_characters(DEFAULT_FONT)
    invisible = {point for point in wanted if _is_invisible(chr(point))}
    missing = wanted - invisible
    families = [DEFAULT_FONT]
    for family in _list_other_fonts() if missing else ():
        if found := missing & _get_characters(family):
            families.append(family)
            missing -= found
        if not missing:
            break
    return families, {**dict.fromkeys(invisible, None), **dict.fromkeys(missing, NO_GLYPH)}


def _is_invisible(character: str) -> bool:
    """Joiners, variation selectors and the like only change their neighbours."""
    control_or_space = unicodedata.category(character) in ("Cf", "Cc", "Zs", "Zl", "Zp")
    return control_or_space or "VARIATION SELECTOR" in unicodedata.name(character, "")


@cache
def _get_font_files() -> dict[str, str]:
    """Returns the file of each family that has an upright face of normal weight: matplotlib logs a warning
    about the others."""
    from matplotlib.font_manager import fontManager

    return {
        entry.name: entry.fname
        for entry in fontManager.ttflist
        if entry.style == "normal" and entry.weight in (400, "normal", "regular", "book")
    }


@cache
def _list_other_fonts() -> list[str]:
    """Returns the families besides the default one, those without serifs first."""
    names = (name for name in _get_font_files() if not name.startswith((DEFAULT_FONT, *_NOT_FOR_TEXT)))
    return sorted(names, key=lambda name: (not name.startswith("Noto Sans"), "Sans" not in name, name))


@cache
def _get_characters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        font = get_font(_get_font_files()[family])
    except (RuntimeError, OSError):  # the file is gone, or FreeType cannot read it
        return frozenset()
    # Matplotlib cannot draw bitmap fonts, such as colour emoji, which cannot be scaled.
    return frozenset(font.get_charmap()) if font.scalable else frozenset()
