"""Templates of the pages, exported ones and the workbench's, and the style sheet that all of them share."""

import json
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from augenmerk import __version__
from augenmerk.drawing.figures import DARK, LIGHT, Theme, blend, choose_ink, get_heat_colours

WEB = Path(__file__).resolve().parent
LEVELS = 48
"""Shades of a heat map; `page/shown.js` has the same number."""


def render_template(template: str, /, **context: Any) -> str:
    """Renders a template of this folder, such as `page/page.html`.

    In HTML every value is escaped but scripts and styles, which are Augenmerk's own, and `{{ data|embed }}`.
    """
    text: str = _environment().get_template(template).render(context)
    return text


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(WEB),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embed"] = lambda value: Markup(embed_json(value))
    environment.globals["version"] = __version__
    return environment


def dump_json(value: Any) -> str:
    """Returns JSON; raises ValueError for a number that JSON does not have."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def embed_json(value: Any) -> str:
    """Returns JSON in which nothing can end the element around it."""
    return dump_json(value).replace("<", "\\u003c").encode("utf-8", "backslashreplace").decode()


@cache
def render_style() -> str:
    """Renders the style sheet, with the colours of all of Augenmerk's pictures."""
    light, dark = (
        _colours(theme, card=theme.paper, paper=blend(theme.paper, theme.ink, 0.96))
        for theme in (LIGHT, DARK)
    )
    projector = _colours(
        LIGHT,
        card="#ffffff",
        paper="#ffffff",
        ink="#000000",
        muted="#333333",
        faint="#777777",
        accent="#9a3412",
    )
    heat = {
        f"heat_{theme.name}": [(colour, choose_ink(colour)) for colour in get_heat_colours(theme, LEVELS)]
        for theme in (LIGHT, DARK)
    }
    colours = {"light": light, "dark": dark, "projector": projector, "levels": LEVELS, **heat}
    text = render_template("page/page.css", **colours)
    return re.sub(r"\n\n+", "\n", text)


def _colours(theme: Theme, **others: str) -> SimpleNamespace:
    accent = others.get("accent", theme.accent)
    own = {name: getattr(theme, name) for name in ("ink", "muted", "faint", "grid", "accent")}
    return SimpleNamespace(**{**own, "on_accent": choose_ink(accent), **others})
