"""A font for every character, from those on this machine; without a word of warning where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

DEFAULT = "DejaVu Sans"
NO_GLYPH = "□"
MISSING = f"{NO_GLYPH}: no font on this machine has this character"
_NOT_FOR_TEXT = ("Last Resort", "cmr10", "cmex10", "cmb10", "cmmi10", "cmss10", "cmsy10", "cmtt10", "STIX")


def families_for(texts: Iterable[str]) -> tuple[list[str], frozenset[str]]:
    """The fonts to draw the texts with, the usual one first, and the characters that none of them has."""
    missing = {character for text in texts for character in text if not character.isspace()}
    missing -= {character for character in missing if ord(character) in _characters_of(DEFAULT)}
    families = [DEFAULT]
    for family in _other_families() if missing else ():
        found = {character for character in missing if ord(character) in _characters_of(family)}
        if found:
            families.append(family)
            missing -= found
        if not missing:
            break
    return families, frozenset(missing)


@cache
def _other_families() -> list[str]:
    """Upright fonts without serifs first."""
    from matplotlib.font_manager import fontManager

    names = {
        entry.name for entry in fontManager.ttflist if not entry.name.startswith((DEFAULT, *_NOT_FOR_TEXT))
    }
    return sorted(names, key=lambda name: (not name.startswith("Noto Sans"), "Sans" not in name, name))


@cache
def _characters_of(family: str) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    try:
        font = get_font(findfont(FontProperties(family=[family]), fallback_to_default=False))
    except (ValueError, RuntimeError, OSError):  # not there any more, or nothing that FreeType can read
        return frozenset()
    # Letters that are pictures (colour emoji) cannot be scaled, and matplotlib does not draw them.
    return frozenset(font.get_charmap()) if font.scalable else frozenset()
