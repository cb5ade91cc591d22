"""Writes the report of an assignment as a page, as Markdown with pictures, and as a notebook."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from augenmerk.assignment.plan import BEST
from augenmerk.assignment.sections import (
    Code,
    Document,
    Drawn,
    Maps,
    Section,
    Table,
    describe_origin,
    make_sections,
)
from augenmerk.base.errors import remove_control_characters
from augenmerk.base.files import atomic_write, make_folder
from augenmerk.drawing import Chart, draw_heat_map
from augenmerk.drawing.attention_map import clean_text
from augenmerk.drawing.figures import Theme
from augenmerk.drawing.html import render_template
from augenmerk.study.charts import draw_beams, list_charts
from augenmerk.study.compare import summarise_beam
from augenmerk.study.report import escape_markdown
from augenmerk.study.result import StudyResult
from augenmerk.theory.lab import run as run_theory
from augenmerk.theory.notation import GREEK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "What attention computes, and what it gains a translator"
PICTURES = "pictures"
PAGE, MARKDOWN, NOTEBOOK = REPORTS = ("report.html", "report.md", "report.ipynb")


def write_reports(document: Document, folder: Path) -> None:
    """Writes all three forms; the page is last, and holds everything itself."""
    sections, pictures = make_sections(document), list_pictures(document)
    charts = {name: Chart.draw(draw, name) for name, draw in pictures.items()}
    make_folder(folder / PICTURES)
    for name, chart in charts.items():
        atomic_write(folder / PICTURES / f"{name}.svg", [b64decode(chart.light.partition(",")[2])])
    for name, text in (
        (MARKDOWN, format_markdown(document, sections)),
        (NOTEBOOK, format_notebook(document, sections)),
        (PAGE, format_page(document, sections, charts)),
    ):
        atomic_write(folder / name, [text.encode("utf-8", "backslashreplace")])


# Pictures


def list_pictures(document: Document) -> dict[str, Callable[[Theme], "Figure"]]:
    """Returns what draws each picture of the report, by its name."""
    result = StudyResult.from_dict(document["study"])
    beams = tuple(summarise_beam(BEST, [row]) for row in document["beams"])
    charts = {name: chart.draw for name, chart in list_charts(result).items()}
    found: dict[str, Callable[[Theme], Figure]] = {
        f"theory-{each['task']}": run_theory(each["task"]).plot().draw for each in document["theory"]
    }
    found |= {name: charts[name] for name in ("effects", "train_loss", "validation_loss")}
    found["beams"] = partial(draw_beams, replace(result, beam_rows=beams), result.splits[0])
    for section in make_sections(document):
        for block in section.blocks:
            if isinstance(block, Maps):
                found[block.name] = partial(draw_heat_map, block.maps)
    return found


# The page

_GREEK = re.compile(rf"(?<![A-Za-z])({'|'.join(GREEK.values())})(?![A-Za-z])")
_SUPERSCRIPT = re.compile(r"\^([A-Z0-9])(?![A-Za-z0-9])")
_SUBSCRIPT = re.compile(r"(?<![A-Za-z0-9_])([A-Za-zα-ω])_([A-Za-z0-9])(?![A-Za-z0-9])")


def typeset(text: str) -> Markup:
    """Returns text as HTML whose names look as in formulas: mu_a has a Greek letter and an index."""
    letters = {name: letter for letter, name in reversed(GREEK.items())}
    greek = str(escape(_GREEK.sub(lambda found: letters[found[1]], clean_text(text))))
    return Markup(_SUPERSCRIPT.sub(r"<sup>\1</sup>", _SUBSCRIPT.sub(r"<i>\1</i><sub>\2</sub>", greek)))


def format_page(document: Document, sections: list[Section], charts: Mapping[str, Chart]) -> str:
    """Renders the page: one file for any screen, light or dark, and for paper."""
    context = {
        "title": TITLE,
        "document": document,
        "sections": sections,
        "charts": charts,
        "typeset": typeset,
        "kind_of": lambda block: type(block).__name__,
        "is_code": lambda cell: isinstance(cell, Code),
        "origin": dict(describe_origin(document)),
    }
    return render_template("assignment.html", context)


# Markdown


def format_markdown(document: Document, sections: list[Section]) -> str:
    lines = [f"# {TITLE}", "", *_format_overview(sections)]
    for section in sections:
        lines += [f"## {section.number} {escape_markdown(section.title)}", "", *_format_text(section)]
        for block in section.blocks:
            lines += _format_block(block)
    lines += ["## How this was measured", ""]
    lines += _format_block(Table(("", ""), list(describe_origin(document)), text_columns=2))
    return remove_control_characters("\n".join(lines))


def _format_overview(sections: list[Section]) -> Iterator[str]:
    rows = [(f"{each.number} {each.title}", each.verdict) for each in sections]
    yield from _format_block(Table(("task", "result"), rows, text_columns=2))


def _format_text(section: Section) -> Iterator[str]:
    """Yields the question, the verdict and the answer."""
    for line in section.question.split("\n"):
        yield from (f"> {escape_markdown(line)}", ">")
    yield from ("", f"**{escape_markdown(section.verdict)}**", "")
    for paragraph in section.answer:
        yield from (escape_markdown(paragraph), "")


def _format_block(block: Table | Drawn | Maps) -> Iterator[str]:
    match block:
        case Drawn(name, alt):
            yield from (f"![{escape_markdown(alt)}]({PICTURES}/{name}.svg)", "")
        case Maps(name, heading, verdict):
            yield from (f"### {escape_markdown(heading)}", "")
            yield from (escape_markdown(verdict), "") if verdict else ()
            yield from _format_block(Drawn(name, "attention map"))
        case Table():
            yield f"| {' | '.join(map(escape_markdown, block.headings))} |"
            numbers = len(block.headings) - block.text_columns
            yield "|" + "---|" * block.text_columns + "---:|" * numbers
            for row in block.rows:
                yield f"| {' | '.join(map(_format_cell, row))} |"
            yield from ("", escape_markdown(block.note), "") if block.note else ("",)


def _format_cell(cell: str) -> str:
    return f"`{cell}`" if isinstance(cell, Code) else escape_markdown(cell)


# The notebook


def format_notebook(document: Document, sections: list[Section]) -> str:
    """Formats a notebook beside the runs whose cells measure again what the report shows."""
    data, fast = document["data"], ", fast=True" if document["fast"] else ""
    cells: list[tuple[str, str]] = [
        (
            "markdown",
            f"# {TITLE}\n\nEach cell computes what the report shows. What is here is not trained again.",
        ),
        (
            "code",
            "import augenmerk as am\nfrom IPython.display import display\n\n"
            f'assignment = am.assignment("{data}"{fast}, output=".")\nassignment',
        ),
    ]
    for section in sections:
        lines = [f"## {section.number} {escape_markdown(section.title)}", "", *_format_text(section)]
        for block in section.blocks:
            if isinstance(block, Table) and block.published:
                lines += _format_block(block)
        cells += [("markdown", "\n".join(lines)), *(("code", code) for code in section.code)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    tree = {"cells": [_make_cell(*cell) for cell in enumerate(cells)], "metadata": kernel}
    return json.dumps({**tree, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1) + "\n"


def _make_cell(number: int, cell: tuple[str, str]) -> dict[str, Any]:
    kind, source = cell
    made: dict[str, Any] = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": source}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})
