"""Templates of the pages, exported ones and the workbench's, with the style and the script of each.

A browser imports no modules from a disk, so an exported page has its modules joined into one script. That is
done by a simple rule: a module begins with imports of the form `import { a, b } from "./x.js";`, or from
`"../folder/x.js"`, exports only declarations, and no two modules declare the same name. Other forms are
refused.
"""

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from augenmerk import __version__
from augenmerk.drawing.figures import DARK, LIGHT, Theme, blend, choose_ink, get_heat_colours

WEB = Path(__file__).resolve().parent
LEVELS = 48
"""Shades of a heat map; `page/shown.js` has the same number."""

_IMPORT = re.compile(r'^import \{([\w\s,]+)\} from "(\./|\.\./[\w-]+/)([\w-]+\.js)";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async function|function|class|const)\b\s*\*?\s*(\w+))", re.M)
_DECLARED = re.compile(r"^(?:async function|function|class|const|let)\b\s*\*?\s*(\w+)", re.M)
_NOT_JOINED = re.compile(r"^(?:import\b|export\b|var\b|(?:const|let)\s*[\[{]).*", re.M)


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
    strong = {"ink": "#000000", "muted": "#333333", "faint": "#777777", "accent": "#9a3412"}
    projector = _colours(LIGHT, card="#ffffff", paper="#ffffff", **strong)
    heat = {
        f"heat_{theme.name}": [(colour, choose_ink(colour)) for colour in get_heat_colours(theme, LEVELS)]
        for theme in (LIGHT, DARK)
    }
    colours = {"light": light, "dark": dark, "projector": projector, "levels": LEVELS, **heat}
    return re.sub(r"\n\n+", "\n", render_template("page/page.css", **colours))


def _colours(theme: Theme, **others: str) -> dict[str, str]:
    own = {name: getattr(theme, name) for name in ("ink", "muted", "faint", "grid", "accent")} | others
    return {**own, "on_accent": choose_ink(own["accent"])}


def join_modules(folder: Path, entry: str) -> str:
    """Joins a module and all that it imports into one script; raises ValueError if the rule is broken.

    Modules of the folder go by their names, those of a folder beside it by folder and name.
    """
    parts: dict[str, str] = {}  # in the order in which they have to run
    declared: dict[str, str] = {}
    exported: dict[str, set[str]] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"{name}: modules import each other in a circle")
        if name in parts:
            return
        text = (folder / name).read_text(encoding="utf-8")
        inside = name.rpartition("/")[0]  # the folder that the module is in, unless it is that of the entry
        for match in _IMPORT.finditer(text):
            other = f"{inside}/{match[3]}" if match[2] == "./" and inside else f"{match[2]}{match[3]}"
            other = other.removeprefix("./").removeprefix(f"../{folder.name}/")
            add(other, (*importers, name))
            missing = {each.strip() for each in match[1].split(",")} - {""} - exported[other]
            if missing:
                raise ValueError(f"{name}: {other} does not export {', '.join(sorted(missing))}")
        text = _IMPORT.sub("", text)
        exported[name] = {match[2] for match in _EXPORT.finditer(text)}
        text = _EXPORT.sub(r"\1", text)
        if found := _NOT_JOINED.search(text):
            raise ValueError(f"{name}: this cannot be joined: {found[0]}")
        for each in _DECLARED.findall(text):
            if each in declared:
                raise ValueError(f"{name}: {each} is also declared in {declared[each]}")
            declared[each] = name
        parts[name] = text.strip()

    add(entry, ())
    script = "\n\n".join(f"// -- {name}\n\n{text}" for name, text in parts.items())
    if re.search("</script|<!--", script, re.I):
        raise ValueError(f"{entry}: a script in a page must not contain </script or <!--")
    return f'"use strict";\n(() => {{\n{script}\n}})();\n'


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
