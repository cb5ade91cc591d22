"""Attention maps and whole pages as HTML: self-contained, without scripts, light or dark as the screen is.

Pages are Jinja templates (`augenmerk/templates`) that escape every value, so no text can become markup. A map
is a table: the browser sets words of any script and direction, and screen readers find rows and columns.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from augenmerk.base.files import atomic_write, make_folder
from augenmerk.drawing.attention_map import END, AttentionMap, clean_text, format_weight, format_word
from augenmerk.drawing.figures import (
    DARK,
    LIGHT,
    Style,
    Theme,
    blend,
    choose_ink,
    encode_figure,
    get_heat_colours,
    quantise,
    write_pictures,
)

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment
    from matplotlib.figure import Figure

LEVELS = 48
"""Shades of a map in HTML: more cannot be told apart."""


@dataclass(frozen=True)
class Chart:
    """A figure on a page, drawn in both themes; the reader's screen chooses one of them."""

    light: str
    dark: str
    """The pictures, as data URLs."""
    alt: str

    @classmethod
    def draw(cls, draw: Callable[[Theme], Figure], alt: str) -> Chart:
        """Draws the figure in both themes."""
        light, dark = (
            b64encode(encode_figure(draw(theme), "svg", outline=True)).decode() for theme in (LIGHT, DARK)
        )
        start = "data:image/svg+xml;base64,"
        return cls(start + light, start + dark, alt)


@dataclass(frozen=True)
class Card:
    """One sentence on an index page."""

    heading: str
    maps: Sequence[AttentionMap] = ()
    charts: Sequence[Chart] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    """Names and sentences: source, translation, reference."""
    measures: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None
    """A sentence about what the pictures show."""
    wide: bool = False
    """Whether the card takes the whole width of the page, as it does with more than one picture."""
    file: str | None = None
    """The name of the picture's own file, beside the page."""


def render_html_map(one: AttentionMap) -> str:
    """Renders the map as an HTML fragment that brings its own style sheet, for notebooks."""
    return render_template("map.html", {"map": one})


def render_index_page(title: str, intro: str, cards: Sequence[Card]) -> str:
    """Renders a page with a card for each sentence; blank lines separate the paragraphs of the intro."""
    return render_template("index.html", {"title": title, "intro": intro, "cards": cards})


def write_page(
    folder: Path,
    style: Style,
    intro: str,
    cards: Sequence[Card],
    figures: Sequence[tuple[str, Callable[[Theme], Figure]]],
) -> list[Path]:
    """Writes a numbered picture for each card, and index.html, which shows all; returns the pictures.

    The page shows the maps itself: it links to the pictures, but does not need them.
    """
    make_folder(folder)
    files = write_pictures(folder, style, figures)
    cards = [replace(card, file=file) for card, file in zip(cards, files, strict=True)]
    atomic_write(folder / "index.html", [render_index_page(style.title or "", intro, cards).encode()])
    return [folder / file for file in files]


def render_template(name: str, context: Mapping[str, Any]) -> str:
    """Renders one of the package's templates; every value in it is escaped."""
    return _make_environment().get_template(name).render(context)


@cache
def _make_environment() -> Environment:
    from jinja2 import PackageLoader

    return make_environment(PackageLoader("augenmerk"))


def make_environment(
    loader: BaseLoader, autoescape: bool | Callable[[str | None], bool] = True
) -> Environment:
    """Returns templates with the filters and colours that all pages have."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        loader=loader,
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": clean_text,
        "number": format,
        "word": format_word,
        "weight": format_weight,
        "spoken": _name_word,
        "level": lambda weight: quantise(weight, LEVELS),
        "ink": choose_ink,
        "heat_colours": lambda theme: get_heat_colours(theme, LEVELS),
        "page_colour": lambda theme: blend(theme.paper, theme.ink, 0.96),
        "link": lambda name: quote(name, safe="", errors="replace"),
    }
    environment.globals |= {"END": END, "LIGHT": LIGHT, "DARK": DARK}
    return environment


def _name_word(word: str) -> str:
    """Returns a word for a sentence about it, with marks around it that isolate its writing direction."""
    return "end of sentence" if word == END else f"\u2068{format_word(word)}\u2069"
