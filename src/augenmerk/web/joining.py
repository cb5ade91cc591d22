"""Joins the JavaScript modules of a page into one script, since a browser imports no modules from a disk.

Instead of a full parser there is a rule, and a module that breaks it is refused. Each

- imports by `import { a, b } from "./x.js";` at its top level, without other names for what it imports,
- exports only declarations there: functions, classes and variables,
- declares no name that another module of the page declares, awaits nothing outside of functions, and is in
  no circle of imports.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NoReturn

from augenmerk.base.errors import AugenmerkError

_IMPORT = re.compile(r'import \{\s*[\w$]+(?:,\s*[\w$]+)*,?\s*\} from "(\.\.?/[\w./-]+\.js)";\n?')
_EXPORT = re.compile(r"export (?=(?:async )?function\b|(?:class|const|let|var) )")
_TOKEN = re.compile(
    r"""(?P<unseen>\s+|//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?P<word>[\w$]+)"""
    r"|(?P<pattern>/(?:\\.|\[(?:\\.|[^]\\])*]|[^/\\[\n])+/\w*)|=>|.",
    re.DOTALL,
)
_IN_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(`|\$\{)", re.DOTALL)
_VALUE = re.compile(
    r"(?<!\breturn)(?<!\btypeof)[\w$)\]}'\"`]$"
)  # what a slash divides; else it begins a pattern
_CONTROL = {"if", "for", "while", "switch", "catch", "await"}  # before the parentheses before a block
_DECLARING = {"function", "class", "const", "let", "var"}
_ASYNC_ARROW = re.compile(r"\basync\b[^;{}]*=>[^;{}]*$")


@cache
def join_modules(script: Path) -> str:
    """Joins a module and all that it imports into one script."""
    parts = []
    declared: dict[str, Path] = {}
    for path in list_modules(script):
        text, _, names = _read_module(path)
        for name, line in names.items():
            if name in declared:
                _refuse(path, line, f"{declared[name].name} declares '{name}', too: rename one of them")
            declared[name] = path
        parts.append(f"// -- {path.name}\n\n{text.strip()}")
    joined = "\n\n".join(parts)
    return f'"use strict";\n(() => {{\n{joined}\n}})();\n'


@cache
def list_modules(script: Path) -> list[Path]:
    """Returns a module and all that it imports, each after those that it needs."""
    modules: list[Path] = []

    def add(path: Path, *waiting: Path) -> None:
        for other, line in _read_module(path)[1].items():
            if other in (path, *waiting):
                _refuse(path, line, f"{other.name} imports this module, too: move what both need elsewhere")
            if other not in modules:
                add(other, path, *waiting)
        modules.append(path)

    add(script.resolve())
    return modules


@cache
def _read_module(path: Path) -> tuple[str, dict[Path, int], dict[str, int]]:
    """Returns a module without imports and exports, and the lines of what it imports and of its names."""
    text = path.read_text(encoding="utf-8")
    imports: dict[Path, int] = {}
    names: dict[str, int] = {}
    kept, end, before = "", 0, ""
    for word, place, around in _find_words(text):
        if word in ("import", "export"):
            found = (_IMPORT if word == "import" else _EXPORT).match(text, place)
            if not found or around:
                how = 'import { a } from "./a.js";' if word == "import" else "export before a declaration"
                _refuse(
                    path, _line_of(text, place), f"this {word} cannot be joined: write {how} at the top level"
                )
            if word == "import":
                imports[(path.parent / found[1]).resolve()] = _line_of(text, place)
            kept += text[end:place]
            end = found.end()
        elif word == "await" and "function" not in around and not _ASYNC_ARROW.search(text[:place]):
            _refuse(
                path,
                _line_of(text, place),
                "a joined script awaits in functions only",
            )
        elif before in _DECLARING and not around:
            names[word] = _line_of(text, place)
        before = word
    return kept + text[end:], imports, names


def _find_words(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yields the words of code, not those in comments, texts and patterns, with what is open around each.

    That is the word before parentheses, "function" for the body of one, or else a bracket.
    """
    around: list[str] = []
    before = closed = ""  # the token before, and what was closed last
    place = 0
    while found := (_IN_TEMPLATE if around[-1:] == ["`"] else _TOKEN).match(text, place):
        token = found[1] if found.re is _IN_TEMPLATE else found[0]
        if found.lastgroup == "pattern" and _VALUE.search(before):
            token = "/"
            place += 1
        else:
            place = found.end()
        if found.lastgroup == "unseen":
            continue
        if found.lastgroup == "word" and before != "." and text[place : place + 1] != ":":
            yield token, place - len(token), around
        if token in ("{", "${"):
            is_function = before == "=>" or (before == ")" and closed not in _CONTROL)
            around.append("function" if is_function else token)
        elif token in ("(", "["):
            around.append(before if token == "(" else token)
        elif token in (")", "]", "}") or (token == "`" and around[-1:] == ["`"]):
            closed = around.pop() if around else ""
        elif token == "`":
            around.append(token)
        before = token


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _refuse(path: Path, line: int, why: str) -> NoReturn:
    raise AugenmerkError(f"{path}:{line}: {why}.")
