"""Writes the theory pages that need no server: as one HTML file, or as a folder for a web server."""

from pathlib import Path
from typing import Any

import numpy as np

from augenmerk import __version__
from augenmerk.errors import AugenmerkError
from augenmerk.figures import DARK, LIGHT
from augenmerk.storage import atomic_write, make_folder
from augenmerk.theory.questions import QUESTIONS
from augenmerk.theory.questions_german import GERMAN
from augenmerk.theory.results import plane_values
from augenmerk.web.export import (
    check_place,
    embed_json,
    hash_for_policy,
    is_one_file,
    join_modules,
    make_address,
    render_style,
)

THEORY = Path(__file__).parent / "theory"
EIGHTH = {"light": "#8a7a00", "dark": "#f3f07a"}
"""The colour of an eighth key; pictures have seven."""
COPYING_SEED = 21
"""The keys of 1.1 are those that `augenmerk theory 1.1 --seed 21` draws first, as in docs/theory.md."""


def describe_theory() -> dict[str, Any]:
    """Returns what the pages get from Python: the questions with all hints, colours, and the keys of 1.1.

    Under `de` a question has what is different in German.
    """
    keys = np.random.default_rng(COPYING_SEED).standard_normal((8, 2))
    return {
        "questions": [
            {**question.as_dict(len(question.hints)), "de": _describe_german(task)}
            for task, question in QUESTIONS.items()
            if task in GERMAN
        ],
        "colours": {theme.name: [*theme.series, EIGHTH[theme.name]] for theme in (LIGHT, DARK)},
        "copying": {"keys": keys.round(3).tolist(), "values": plane_values(8).round(3).tolist()},
    }


def _describe_german(task: str) -> dict[str, Any]:
    german = GERMAN[task]
    return {
        **{"title": german.title, "question": german.text},
        **{"names": dict(german.names), "hints": list(german.hints)},
    }


def render_theory_style() -> str:
    return render_style() + (THEORY / "theory.css").read_text(encoding="utf-8")


def export_theory(place: Path, *, overwrite: bool = False) -> Path:
    """Writes the pages as one file or as a folder, and returns the file to open.

    Raises AugenmerkError if that would replace something and `overwrite` is false.
    """
    check_place(place, overwrite=overwrite)
    if is_one_file(place):
        atomic_write(place, [render_theory_file().encode()])
        return place
    files = render_theory_folder()
    for name in files:
        if (place / name).exists() and not overwrite:
            raise AugenmerkError(
                f"{place / name} is already there; pass --overwrite, or choose another folder."
            )
    make_folder(place)
    for name, content in files.items():
        atomic_write(place / name, [content])
    return place / "index.html"


def render_theory_file() -> str:
    """Renders the pages as one file that needs nothing else."""
    style, script = render_theory_style(), join_modules(THEORY, "main.js")
    policy = (
        f"default-src 'none'; script-src '{hash_for_policy(script)}'; "
        f"style-src '{hash_for_policy(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _render(policy, one_file=True, style=style, script=script)


def render_theory_folder() -> dict[str, bytes]:
    """Renders the pages as files for a web server: their names, and what is in them; the page comes last."""
    files = {
        "theory.css": render_theory_style().encode(),
        "theory.js": join_modules(THEORY, "main.js").encode(),
    }
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    addresses = {
        "style_address": make_address("theory.css", files["theory.css"]),
        "script_address": make_address("theory.js", files["theory.js"]),
    }
    files["index.html"] = _render(policy, one_file=False, **addresses).encode()
    return files


def _render(policy: str, **context: Any) -> str:
    """Renders the template. All values are escaped but script, style and data, in which nothing can end."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(THEORY),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    ours = {name: Markup(context.pop(name)) for name in ("style", "script") if name in context}
    data = Markup(embed_json(describe_theory()))
    template = environment.get_template("theory.html")
    return template.render(policy=policy, version=__version__, data=data, **ours, **context)
