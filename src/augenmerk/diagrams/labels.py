"""Words made fit to stand in a picture: nothing invisible, a sign for the end, a font for every character."""

import unicodedata
from functools import cache

from augenmerk.diagrams.maps import END
from augenmerk.figures import Theme
from augenmerk.words import INVISIBLE

END_SIGN = "∎"
LONGEST = 24
"""Characters of a word in a picture. A longer one, an address say, would leave no room for the map."""


def plain(text: str) -> str:
    """Without what cannot be seen or written: control characters, direction marks, line breaks."""
    visible = INVISIBLE.sub("", text).encode("utf-8", "replace").decode("utf-8")
    return " ".join(visible.split())


def label(word: str) -> str:
    """A word as it is shown."""
    return END_SIGN if word == END else plain(word) or " "


def short_label(word: str) -> str:
    """As `label`, but not longer than there is room for in a picture."""
    shown = label(word)
    if len(shown) <= LONGEST:
        return shown
    kept = LONGEST - 1
    while kept > 1 and unicodedata.category(shown[kept]).startswith("M"):
        kept -= 1  # an accent stays with its letter
    return shown[:kept] + "…"


def number(weight: float) -> str:
    """A weight as people write it in a cell: `.83`, and `1` for what rounds to one."""
    return "1" if weight >= 0.995 else f"{max(weight, 0.0):.2f}".removeprefix("0")


@cache
def heat_colours(theme: Theme, levels: int) -> tuple[str, ...]:
    """The theme's colour map from 0 to 1 in steps, as #rrggbb."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return tuple(to_hex(colormaps[theme.heat](level / (levels - 1))) for level in range(levels))


def level(weight: float, levels: int) -> int:
    return min(levels - 1, max(0, round(weight * (levels - 1))))


@cache
def ink_on(colour: str) -> str:
    """Black or white, whichever can be read on the colour."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"  # where both contrasts are equal
