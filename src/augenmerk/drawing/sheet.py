"""A sheet of questions, as Markdown or as a page to print; with the answers it is the teacher's key."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import atomic_write
from augenmerk.drawing.html import render_template

WIDTH = 96
WORDS = {
    "en": {
        **{"title": "Attention", "theory": "Theory: what attention can and cannot compute", "code": "Code"},
        **{"key": "Key for the teacher", "name": "name", "meaning": "meaning", "answer": "Answer"},
        **{"solution": "A right answer", "why": "What is true", "mistakes": "Typical mistakes"},
        **{"mistake": "kind", "student": "Name", "points": "points", "questions": "questions"},
        **{"letters": "Choose one of these statements:", "kinds": ""},
        "start": "Fill in lab.py and check it as often as you like: augenmerk lab check lab.py. "
        "Axes are numbered from 0. Your code must work with any sizes and leave its arguments as they are.",
    },
    "de": {
        **{"title": "Aufmerksamkeit", "theory": "Theorie: was Aufmerksamkeit berechnen kann und was nicht"},
        **{
            "code": "Programmieren",
            "key": "Lösungen für die Lehrkraft",
            "name": "Name",
            "meaning": "Bedeutung",
        },
        **{"answer": "Antwort", "solution": "Eine richtige Antwort", "why": "Was gilt"},
        **{"mistakes": "Typische Fehler", "mistake": "Art", "student": "Name", "points": "Punkte"},
        **{"questions": "Fragen", "letters": "Wähle eine dieser Aussagen:"},
        "kinds": "Fehler heißen hier wie in den Ausgaben des Programms, das Englisch spricht.",
        "start": "Fülle lab.py aus, und prüfe es, so oft du willst: augenmerk lab check lab.py. "
        "Achsen werden ab 0 gezählt. Dein Programm muss mit beliebigen Größen umgehen "
        "und seine Argumente unverändert lassen.",
    },
}
"""The words of a sheet, by language."""


@dataclass(frozen=True)
class SheetQuestion:
    number: str
    title: str
    text: str
    formulas: tuple[str, ...] = ()
    """Lines above the text."""
    equations: str = ""
    """Lines below the text, which are kept."""
    names: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[str, ...] = ()
    code: str = ""
    """What a student fills in."""
    answer: str = ""
    """The form of the answer."""
    points: float | None = None
    solution: str = ""
    claim: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)
    """Wrong answers, or sentences about them, with the names of the mistakes."""

    @property
    def lettered(self) -> list[tuple[str, str]]:
        """The statements with their letters."""
        return list(zip("ABCDEFGH", self.statements, strict=False))


def check_language(language: str) -> None:
    if language not in WORDS:
        raise AugenmerkError(f"--language {shorten(language)}: a sheet is in {' or '.join(WORDS)}.")


def write_sheets(
    parts: Mapping[str, Sequence[SheetQuestion]],
    language: str,
    out: str | Path | None,
    key: str | Path | None,
) -> None:
    """Writes the questions of each part to `out`, and with answers to `key`, if these are named."""
    paths = [None if path is None else Path(path) for path in (out, key)]
    for named in paths:  # before anything is written
        if named is not None and named.suffix.lower() not in (".md", ".txt", ".html", ".htm"):
            raise AugenmerkError(
                f"{named}: a sheet is Markdown, to a name that ends in .md, or a page to print, .html."
            )
    if out is not None and out == key:
        raise AugenmerkError(f"{out}: the key has the answers; give it another name than the questions.")
    for path, with_key in zip(paths, (False, True), strict=True):
        if path is not None:
            is_page = path.suffix.lower() in (".html", ".htm")
            text = (render_sheet if is_page else format_sheet)(parts, language, with_key=with_key)
            atomic_write(path, [text.encode()])


def render_sheet(
    parts: Mapping[str, Sequence[SheetQuestion]], language: str, *, with_key: bool = False
) -> str:
    """Renders a page that can be printed; one file, without scripts."""
    context: dict[str, Any] = {"parts": parts, "words": WORDS[language], "with_key": with_key}
    return render_template("sheet.html", {**context, "language": language, "title": WORDS[language]["title"]})


def format_sheet(
    parts: Mapping[str, Sequence[SheetQuestion]], language: str, *, with_key: bool = False
) -> str:
    """Formats the sheet as Markdown."""
    words = WORDS[language]
    lines = [f"# {words['title']}: {words['key' if with_key else 'questions']}", ""]
    lines += [words["kinds"], ""] if with_key and words["kinds"] else []
    for part, questions in parts.items():
        lines += [f"# {words[part]}", ""] if len(parts) > 1 else []
        lines += [*textwrap.wrap(words["start"], WIDTH), ""] if part == "code" else []
        for question in questions:
            lines += _format_question(question, words)
            lines += _format_key(question, words) if with_key else []
    return "\n".join(lines)


def _format_question(question: SheetQuestion, words: Mapping[str, str]) -> list[str]:
    points = f" ({question.points:g} {words['points']})" if question.points else ""
    lines = [f"## {question.number}: {question.title}{points}", ""]
    lines += [part for formula in question.formulas for part in (f"    {formula}", "")]
    lines += [*textwrap.wrap(question.text, WIDTH), ""]
    if question.equations:
        lines += [textwrap.indent(question.equations, "    "), ""]
    if question.names:
        lines += [*_table(words["name"], words["meaning"], question.names.items()), ""]
    if question.statements:
        lines += [words["letters"], ""]
        lines += [f"- {letter}: {statement}" for letter, statement in question.lettered] + [""]
    if question.code:
        lines += ["```python", question.code, "```", ""]
    return lines + ([f"{words['answer']}: {question.answer}", ""] if question.answer else [])


def _format_key(question: SheetQuestion, words: Mapping[str, str]) -> list[str]:
    lines = []
    if question.code:
        lines = [f"**{words['solution']}**", "", "```python", question.solution, "```", ""]
    elif question.solution:
        lines = [f"**{words['solution']}**: `{question.solution}`", ""]
    if question.claim:
        lines += [*textwrap.wrap(f"**{words['why']}**: {question.claim}", WIDTH), ""]
    if question.mistakes:
        mark = "" if question.code else "`"
        rows = ((f"{mark}{wrong}{mark}", name) for wrong, name in question.mistakes.items())
        lines += [*_table(words["mistakes"], words["mistake"], rows), ""]
    return lines


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"| {first} | {second} |", "|---|---|", *(f"| {one} | {other} |" for one, other in rows)]
