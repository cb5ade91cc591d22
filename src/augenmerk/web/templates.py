"""Templates of the pages, exported ones and the workbench's, with their style and their policy."""

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from augenmerk import __version__
from augenmerk.drawing.figures import DARK, LIGHT, Theme, blend, choose_ink, get_heat_colours
from augenmerk.drawing.html import make_environment

WEB = Path(__file__).resolve().parent
LEVELS = 48
"""Shades of a heat map; `page/shown.js` has the same number."""


def render_template(template: str, /, **context: Any) -> str:
    """Renders a template of this folder, such as `page/page.html`.

    In HTML every value is escaped but scripts and styles, which are Augenmerk's own, and `{{ data|embed }}`.
    """
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    environment = make_environment(
        FileSystemLoader(WEB), lambda name: name is not None and name.endswith(".html")
    )
    environment.filters["embed"] = _embed
    environment.globals["version"] = __version__
    return environment


def dump_json(value: Any) -> str:
    """Returns JSON; raises ValueError for a number that JSON does not have."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _embed(value: Any) -> Markup:
    """Returns JSON in which nothing can end the element around it."""
    return Markup(dump_json(value).replace("<", "\\u003c").encode("utf-8", "backslashreplace").decode())


@cache
def render_style() -> str:
    """Renders the style sheet, with the colours of all of Augenmerk's pictures."""
    light, dark = (
        _colours(theme, card=theme.paper, paper=blend(theme.paper, theme.ink, 0.96))
        for theme in (LIGHT, DARK)
    )
    strong = {"ink": "#000000", "muted": "#333333", "faint": "#777777", "accent": "#9a3412"}
    projector = _colours(LIGHT, card="#ffffff", paper="#ffffff", **strong)
    heat = {
        f"heat_{theme.name}": [(colour, choose_ink(colour)) for colour in get_heat_colours(theme, LEVELS)]
        for theme in (LIGHT, DARK)
    }
    colours = {"light": light, "dark": dark, "projector": projector, "levels": LEVELS, **heat}
    return re.sub(r"\n\n+", "\n", render_template("page/page.css", **colours))


def _colours(theme: Theme, **others: str) -> dict[str, Any]:
    own = {name: getattr(theme, name) for name in ("ink", "muted", "faint", "grid", "accent")} | others
    return {**own, "on_accent": choose_ink(own["accent"]), "series": theme.series}


def make_policy(scripts: str, styles: str, more: str = "") -> str:
    """Returns the policy of an exported page: where scripts and styles may come from, and what else may."""
    return (
        f"default-src 'none'; script-src '{scripts}'; style-src '{styles}'; {more}img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )


def hash_for_policy(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def make_address(name: str, content: bytes) -> str:
    return f"{name}?{hashlib.sha256(content).hexdigest()[:12]}"
