"""What the assignment asks: the study of its comparison, the sizes of its parts, what others published."""

import tomllib
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import read_text
from augenmerk.base.settings import MAX_SETTINGS_BYTES, parse_toml
from augenmerk.study.plan import BUNDLED_STUDIES, Study, plan_study

STUDIES = {"bilderbuch": "small", "multi30k": "attention"}
"""The bundled study whose settings the trainings have, by their data."""
MECHANISMS = ("none", "mean", "scaled-dot")
BEST = "scaled-dot"
"""The mechanism whose perplexity, diagrams and beams the assignment asks for."""
SEEDS = (1, 2, 3)
PAIRS, EPOCHS = 20_000, 5
"""Of the trainings on bilderbuch: enough for good curves, and few enough for minutes."""
BEAMS = (1, 5, 10, 20, 50)
DIAGRAMS = 8
TASKS = ("1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7")


def plan_comparison(data: str, *, fast: bool) -> Study:
    """Plans the trainings: three mechanisms, each with three seeds, measured with greedy search.

    On Multi30k they have the original settings, or with `fast` those of the preset `quick`.
    """
    if data not in STUDIES:
        raise AugenmerkError(f"The assignment is done on {' or '.join(STUDIES)}, not on '{data}'.")
    if fast and data == "bilderbuch":
        raise AugenmerkError("--fast shortens the trainings on Multi30k: add --data multi30k.")
    path = BUNDLED_STUDIES[STUDIES[data]]
    tree = parse_toml(read_text(path, MAX_SETTINGS_BYTES), str(path))
    tree |= {"factors": {"attention": [*MECHANISMS]}, "seeds": [*SEEDS], "beams": [1]}
    if data == "bilderbuch":
        tree["settings"]["data"]["bilderbuch"] = {"pairs": PAIRS}
        tree["settings"]["train"]["epochs"] = EPOCHS
    if fast:
        tree["base"] = "quick"
    return plan_study(tree, path, "assignment")


def describe(data: str, *, fast: bool) -> dict[str, Any]:
    """Returns what was asked for, as `assignment.json` keeps it."""
    flags = f"{' --data multi30k' if data == 'multi30k' else ''}{' --fast' if fast else ''}"
    settings = f"bilderbuch, {PAIRS:,} pairs, {EPOCHS} epochs, otherwise as in the study {STUDIES[data]}"
    if data == "multi30k":
        settings = "Multi30k, preset quick" if fast else "Multi30k, preset classic: the original settings"
    return {"data": data, "fast": fast, "command": f"augenmerk assignment{flags}", "settings": settings}


def read_published() -> dict[str, Any]:
    """Returns what others have published: reports, answers, and which BLEU was called correct."""
    return _read("published.toml")


def read_texts() -> dict[str, dict[str, str]]:
    """Returns the texts of each section of the report."""
    texts = _read("texts.toml")
    return {name: {key: " ".join(text.split()) for key, text in own.items()} for name, own in texts.items()}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))
