"""Writes the theory pages that need no server: as one HTML file, or as a folder for a web server."""

from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.base.files import atomic_write
from augenmerk.drawing.figures import DARK, LIGHT
from augenmerk.theory.exercises import EXERCISES, Wording
from augenmerk.theory.results import plane_values
from augenmerk.web.export import (
    check_place,
    hash_for_policy,
    is_one_file,
    join_modules,
    make_address,
    make_policy,
    write_folder,
)
from augenmerk.web.templates import WEB, render_style, render_template

THEORY = WEB / "theory"
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
            {**exercise.as_dict(len(exercise.hints)), "de": _describe_wording(exercise.german)}
            for exercise in EXERCISES.values()
            if exercise.german
        ],
        "colours": {theme.name: [*theme.series, EIGHTH[theme.name]] for theme in (LIGHT, DARK)},
        "copying": {"keys": keys.round(3).tolist(), "values": plane_values(8).round(3).tolist()},
    }


def _describe_wording(wording: Wording) -> dict[str, Any]:
    return {
        **{"title": wording.title, "question": wording.text},
        **{"names": dict(wording.names), "hints": list(wording.hints)},
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
    write_folder(place, render_theory_folder(), overwrite=overwrite)
    return place / "index.html"


def render_theory_file() -> str:
    """Renders the pages as one file that needs nothing else."""
    style, script = render_theory_style(), join_modules(THEORY, "main.js")
    return render_template(
        "theory/theory.html",
        policy=make_policy(hash_for_policy(script), hash_for_policy(style)),
        data=describe_theory(),
        one_file=True,
        style=style,
        script=script,
    )


def render_theory_folder() -> dict[str, bytes]:
    """Renders the pages as files for a web server: their names, and what is in them; the page comes last."""
    files = {
        "theory.css": render_theory_style().encode(),
        "theory.js": join_modules(THEORY, "main.js").encode(),
    }
    files["index.html"] = render_template(
        "theory/theory.html",
        policy=make_policy("self", "self"),
        data=describe_theory(),
        one_file=False,
        style_address=make_address("theory.css", files["theory.css"]),
        script_address=make_address("theory.js", files["theory.js"]),
    ).encode()
    return files
