"""What students receive: the sheet, alone or with the theory, a skeleton to fill in, and a notebook."""

import textwrap
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, format_json, make_folder
from augenmerk.drawing.sheet import SheetQuestion, check_language, write_sheets
from augenmerk.lab.exercises import Exercise, choose_exercises, read_reference
from augenmerk.theory.exercises import choose_tasks, choose_variants, make_question

INTRODUCTION = """\
Fill in `lab.py`, or the notebook `lab.ipynb`, and keep the names of classes, functions and layers. Check your
answers as often as you like:

    augenmerk lab check lab.py
    augenmerk lab check lab.py --exercise attention

Axes are numbered from 0. Your code must work with any sizes and leave its arguments as they are."""
IMPORTS = """\
import math
from collections import Counter
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""


def make_files(exercises: Collection[Exercise]) -> dict[str, str]:
    """Returns the sheet, the skeleton and the notebook, by their names."""
    return {
        "sheet.md": format_sheet(exercises),
        "lab.py": format_skeleton(exercises),
        "lab.ipynb": format_json(make_notebook(exercises), indent=1) + "\n",
    }


def start(folder: str | Path, exercises: Iterable[str] = ()) -> list[str]:
    """Writes the sheet, a skeleton and a notebook for all exercises, or for those named; returns their paths.

    Never replaces a file, which may have answers in it.
    """
    files = {Path(folder, name): text for name, text in make_files(choose_exercises(exercises)).items()}
    for path in files:
        if path.exists():
            raise AugenmerkError(f"{path} exists; name another folder, or remove what you no longer need.")
    make_folder(Path(folder))
    for path, text in files.items():
        atomic_write(path, [text.encode()])
    return [str(path) for path in files]


def _head(exercise: Exercise) -> str:
    return f"{exercise.number}. {exercise.title} ({exercise.points:g} points)"


def format_task(exercise: Exercise) -> str:
    """Returns the question and the contract in Markdown."""
    text = exercise.texts["en"]
    contract, _, table = text.contract.partition("\n\n")
    called = f"`{exercise.object}` in `lab.py`; to check it alone: `--exercise {exercise.name}`."
    return f"{text.question}\n\n{contract}\n\n{textwrap.indent(table, '    ')}\n\n{called}"


def format_sheet(exercises: Iterable[Exercise]) -> str:
    """Returns the sheet in Markdown."""
    parts = [f"## {_head(each)}\n\n{format_task(each)}" for each in exercises]
    return "\n\n".join(["# Attention in code", INTRODUCTION, *parts]) + "\n"


def format_skeleton(exercises: Iterable[Exercise]) -> str:
    """Returns the file to fill in."""
    parts = [f"# {_head(each)}\n\n\n{each.make_skeleton()}" for each in exercises]
    first = '"""Attention in code: your answers. The tasks are in sheet.md."""'
    return "\n\n\n".join([f"{first}\n\n{IMPORTS.rstrip()}", *parts]) + "\n"


def make_notebook(exercises: Iterable[Exercise]) -> dict[str, Any]:
    """Returns a notebook with a task, its skeleton, and a check in turns."""
    about = "# Attention in code\n\nFill in the cells, and run the check below each."
    cells = [_cell("markdown", about), _cell("code", f"{IMPORTS}\nimport augenmerk as am")]
    for each in exercises:
        cells.append(_cell("markdown", f"## {_head(each)}\n\n{format_task(each)}"))
        cells.append(_cell("code", each.make_skeleton()))
        cells.append(_cell("code", f"am.lab.check({each.name}={each.object})"))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **code}


def write_homework(
    out: str | Path | None = None,
    key: str | Path | None = None,
    *,
    tasks: str = "",
    variants: Iterable[str] = (),
    exercises: Iterable[str] = (),
    language: str = "en",
) -> list[Path]:
    """Writes the tasks of the theory, such as `1.1-1.4`, and exercises in code, by default all, to a sheet.

    `key` gets the same with right answers and typical mistakes. Returns the paths.
    """
    check_language(language)
    if out is None and key is None:
        raise AugenmerkError("Name a file for the sheet, --out sheet.html, or for its key, --key key.html.")
    theory = choose_tasks(tasks, choose_variants(variants)) if tasks else []
    code = [_make_question(each, language) for each in choose_exercises(exercises)]
    parts = {"theory": [make_question(each, language) for each in theory], "code": code}
    write_sheets({part: own for part, own in parts.items() if own}, language, out, key)
    return [Path(path) for path in (out, key) if path is not None]


def _make_question(exercise: Exercise, language: str) -> SheetQuestion:
    text = exercise.texts[language]
    question, _, equations = text.question.partition("\n\n")
    says = {each.id: each.says for each in reversed(exercise.mistakes) if not each.accepted}
    return SheetQuestion(
        str(exercise.number),
        text.title,
        " ".join(question.split()),
        equations=textwrap.dedent(equations),
        code=exercise.make_skeleton(language),
        points=exercise.points,
        solution=read_reference(exercise.name).partition("\n\n\n")[2].strip(),  # without its imports,
        mistakes={says: name for name, says in reversed(says.items())},  # one sentence for each name
    )
