"""The fonts on this machine: which have the characters of some texts, and how wide a text is in them."""

import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from augenmerk.drawing.figures import GENERIC_FONT

DEFAULT_FONT = "DejaVu Sans"
NO_GLYPH = "□"
"""Stands for a character that no font on this machine has."""
_NOT_FOR_TEXT = ("Last Resort", "cmr10", "cmex10", "cmb10", "cmmi10", "cmss10", "cmsy10", "cmtt10", "STIX")

Replacements = Mapping[int, str | None]
"""A table for `str.translate`."""


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], Replacements]:
    """Chooses fonts on this machine that together have the characters of the texts.

    Returns the font families, the default one first and a generic one last, and a table for `str.translate`
    that removes invisible characters and puts `NO_GLYPH` for those that no font has. So matplotlib has
    nothing to warn about.
    """
    wanted = {ord(character) for text in texts for character in text} - _get_characters(DEFAULT_FONT)
    invisible = {point for point in wanted if _is_invisible(chr(point))}
    missing = wanted - invisible
    families = [DEFAULT_FONT]
    for family in _get_font_files() if missing else ():
        if not family.startswith((DEFAULT_FONT, *_NOT_FOR_TEXT)) and missing & _get_characters(family):
            families.append(family)
            missing -= _get_characters(family)
    return [*families, GENERIC_FONT], {**dict.fromkeys(invisible, None), **dict.fromkeys(missing, NO_GLYPH)}


def _is_invisible(character: str) -> bool:
    """Joiners, variation selectors and the like only change their neighbours."""
    control_or_space = unicodedata.category(character) in ("Cf", "Cc", "Zs", "Zl", "Zp")
    return control_or_space or "VARIATION SELECTOR" in unicodedata.name(character, "")


@cache
def _get_font_files() -> dict[str, str]:
    """Returns the file of each family that has an upright face of normal weight, those without serifs first.

    Matplotlib logs a warning about families that have no such face.
    """
    from matplotlib.font_manager import fontManager

    files = {
        entry.name: entry.fname
        for entry in fontManager.ttflist
        if entry.style == "normal" and entry.weight in (400, "normal", "regular", "book")
    }
    return dict(
        sorted(
            files.items(),
            key=lambda item: (not item[0].startswith("Noto Sans"), "Sans" not in item[0], item[0]),
        )
    )


@cache
def _get_characters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        font = get_font(_get_font_files()[family])
    except (RuntimeError, OSError):  # the file is gone, or FreeType cannot read it
        return frozenset()
    # Matplotlib cannot draw bitmap fonts, such as colour emoji, which cannot be scaled.
    return frozenset(font.get_charmap()) if font.scalable else frozenset()


def measure(text: str, size: float) -> float:
    """Returns the width of a text in the fonts in use, in inches."""
    import matplotlib
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family=matplotlib.rcParams["font.family"], size=size)
    return float(_get_renderer().get_text_width_height_descent(text, font, False)[0]) / 200


@cache
def _get_renderer() -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas: Any = FigureCanvasAgg(Figure(dpi=200))  # with hinting, letters are as wide as in a PNG
    return canvas.get_renderer()
