"""A font for every character, from those on this machine; without a word of warning where there is none."""

import unicodedata
from collections.abc import Iterable
from functools import cache

DEFAULT = "DejaVu Sans"
NO_GLYPH = "□"
MISSING = f"{NO_GLYPH} no font on this machine has it"
_NOT_FOR_TEXT = ("Last Resort", "cmr10", "cmex10", "cmb10", "cmmi10", "cmss10", "cmsy10", "cmtt10", "STIX")


def families_for(texts: Iterable[str]) -> tuple[list[str], dict[int, str | None]]:
    """The fonts to draw the texts with, the usual one first, and what to put for characters that none of
    them has (as `str.translate` takes it): nothing for what cannot be seen anyway, otherwise a box."""
    wanted = {ord(character) for text in texts for character in text} - _characters_of(DEFAULT)
    unseen = {point for point in wanted if _is_unseen(chr(point))}
    missing = wanted - unseen
    families = [DEFAULT]
    for family in _others() if missing else ():
        if found := missing & _characters_of(family):
            families.append(family)
            missing -= found
        if not missing:
            break
    return families, {**dict.fromkeys(unseen, None), **dict.fromkeys(missing, NO_GLYPH)}


def _is_unseen(character: str) -> bool:
    """Joiners, variation selectors and the like change their neighbours, and show nothing themselves."""
    return (
        unicodedata.category(character) in ("Cf", "Cc", "Zs", "Zl", "Zp")
        or "VARIATION SELECTOR" in unicodedata.name(character, "")
    )  # fmt: skip


@cache
def _files() -> dict[str, str]:
    """The file of each family that has an upright face of normal weight: matplotlib remarks on the others."""
    from matplotlib.font_manager import fontManager

    return {
        entry.name: entry.fname
        for entry in fontManager.ttflist
        if entry.style == "normal" and entry.weight in (400, "normal", "regular", "book")
    }


@cache
def _others() -> list[str]:
    """Those without serifs first."""
    names = (name for name in _files() if not name.startswith((DEFAULT, *_NOT_FOR_TEXT)))
    return sorted(names, key=lambda name: (not name.startswith("Noto Sans"), "Sans" not in name, name))


@cache
def _characters_of(family: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        font = get_font(_files()[family])
    except (RuntimeError, OSError):  # not there any more, or nothing that FreeType can read
        return frozenset()
    # Letters that are pictures (colour emoji) cannot be scaled, and matplotlib does not draw them.
    return frozenset(font.get_charmap()) if font.scalable else frozenset()
