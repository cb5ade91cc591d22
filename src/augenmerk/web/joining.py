"""Joins the JavaScript modules of a page into one script, since a browser imports no modules from a disk.

That is done by a simple rule: a module

- imports by `import { a, b } from "./x.js";` at its top level, without other names for what it imports,
- exports only declarations there: functions, classes and constants,
- declares one plain name with each `const` or `let` there, and awaits nothing,
- declares no name that another module of the page declares, and is in no circle of imports.

Whatever is outside this rule is refused, with its file and line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

from augenmerk.base.errors import AugenmerkError

_IMPORT = re.compile(r'import \{([\w$\s,]+)\} from "(\.\.?/[\w./-]+\.js)";\n?')
_TOKEN = re.compile(
    r"""(?:\s+|//[^\n]*|/\*.*?\*/)*
      (?:(?P<word>[\w$]+)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<template>`(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{))
      | (?P<mark>=>|.)
      | (?P<end>$))""",
    re.S | re.X,
)
_TEMPLATE_REST = re.compile(r"\}(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.S)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_OPERAND_END = re.compile(r"[\w$\"'`)\]}/]$")
_BEFORE_REGEX = set("return typeof case in of do else void delete throw new instanceof await yield".split())
_CLOSES = {")": "(", "]": "[", "}": "{"}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    depth: int = 0
    """By how many brackets it goes deeper."""


@dataclass
class Module:
    """What a module imports, declares and exports, and its text without the words that only modules have."""

    path: Path
    text: str = ""
    imports: list[tuple[Path, list[str], int]] = field(default_factory=list)
    """Modules, what is taken from each, and in which line."""
    declared: dict[str, int] = field(default_factory=dict)
    """The line of each name at the top level."""
    exported: set[str] = field(default_factory=set)


@cache
def join_modules(script: Path) -> str:
    """Joins a module and all that it imports into one script; raises AugenmerkError outside the rule."""
    owner: dict[str, Path] = {}
    parts = []
    for path in list_modules(script):
        module = _read_module(path)
        for name, line in module.declared.items():
            if name in owner:
                _refuse(path, line, f"{owner[name].name} declares {name} as well, and both are in one script")
            owner[name] = path
        for other, names, line in module.imports:
            for name in names:
                if name not in _read_module(other).exported:
                    _refuse(path, line, f"{other.name} does not export {name}")
        parts.append(f"// -- {path.name}\n\n{module.text.strip()}")
    joined = "\n\n".join(parts)
    return f'"use strict";\n(() => {{\n{joined}\n}})();\n'


@cache
def list_modules(script: Path) -> list[Path]:
    """Returns a module and all that it imports, each after those that it needs."""
    modules: dict[Path, None] = {}
    path_to_here: list[Path] = []

    def add(path: Path) -> None:
        path_to_here.append(path)
        for other, _, line in _read_module(path).imports:
            if other in path_to_here:
                _refuse(path, line, f"{other.name} imports this module in turn, in a circle")
            if other not in modules:
                add(other)
        modules[path_to_here.pop()] = None

    add(script.resolve())
    return list(modules)


@cache
def _read_module(path: Path) -> Module:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AugenmerkError(f"{path}: there is no such module.") from None
    return _Reader(path, text).read()


def _refuse(path: Path, line: int, reason: str) -> NoReturn:
    raise AugenmerkError(f"{path}, line {line}: {reason}. So it cannot be joined into a page.")


class _Reader:
    """Reads one module, token by token."""

    def __init__(self, path: Path, text: str) -> None:
        self.module = Module(path)
        self.text = text
        self.left_out: list[tuple[int, int]] = []

    def refuse(self, start: int, reason: str) -> NoReturn:
        _refuse(self.module.path, self.line_of(start), reason)

    def line_of(self, start: int) -> int:
        return self.text.count("\n", 0, start) + 1

    def read(self) -> Module:
        if (found := re.search(r"</script|<!--", self.text, re.I)) is not None:
            self.refuse(found.start(), f"{found[0]} would end the script in a page")
        tokens = list(self.split())
        if tokens and tokens[-1].text not in (";", "}"):
            self.refuse(tokens[-1].start, "the last statement has no semicolon")
        self.check_await(tokens)
        depth = 0
        imported = 0  # where the last import ends
        before = ";"
        for place, (_, text, start, deeper) in enumerate(tokens):
            if start < imported:
                continue
            if text == "import" and before != ".":
                imported = self.take_import(start, depth)
                continue
            if text == "var" and before != ".":
                self.refuse(start, "`var` declares a name for the whole script; use `const` or `let`")
            if text == "export" and before != ".":
                self.take_export(tokens[place:], depth)
            elif depth == 0 and before in (";", "}", "export", "async"):
                self.take_declaration(tokens, place)
            depth += deeper
            before = text
        end = 0
        for start, next_end in self.left_out:
            self.module.text += self.text[end:start]
            end = next_end
        self.module.text += self.text[end:]
        return self.module

    def split(self) -> Iterator[_Token]:
        """Splits the text into tokens, and checks that brackets match."""
        place = 0
        before = ";"
        brackets: list[tuple[str, int]] = []
        while (match := _TOKEN.match(self.text, place)) is not None and match.lastgroup != "end":
            kind = str(match.lastgroup)
            text, start = match[kind], match.start(kind)
            depth = len(brackets)
            if text in ("(", "[", "{"):
                brackets.append((text, start))
            elif text in _CLOSES:
                opened = brackets.pop()[0] if brackets else ""
                if opened == "${" and text == "}":
                    kind, text = "template", self.match(_TEMPLATE_REST, start)
                elif opened != _CLOSES[text]:
                    self.refuse(start, f"{text} closes no bracket")
            elif text == "/" and (before in _BEFORE_REGEX or not _OPERAND_END.search(before)):
                kind, text = "regex", self.match(_REGEX, start)
            elif kind == "mark" and text in "\"'`":
                self.refuse(start, "this text has no end")
            if kind == "template" and text.endswith("${"):
                brackets.append(("${", start))
            yield _Token(kind, text, start, len(brackets) - depth)
            before = text
            place = start + len(text)
        if brackets:
            self.refuse(brackets[-1][1], f"{brackets[-1][0]} is never closed")

    def match(self, pattern: re.Pattern[str], start: int) -> str:
        if (match := pattern.match(self.text, start)) is None:
            self.refuse(start, "this text or regular expression has no end")
        return match[0]

    def check_await(self, tokens: list[_Token]) -> None:
        """Refuses `await` outside of functions that are `async`: a script awaits nothing at its top level."""
        inside = [False]  # for each open bracket: whether it is inside an async function,
        begun = [False]  # and whether one has begun in it
        before = ";"
        for _, text, start, deeper in tokens:
            if text == "async":
                begun[-1] = True
            elif text == "await" and before != "." and not (inside[-1] or begun[-1]):
                self.refuse(start, "`await` stands outside of an async function")
            elif deeper > 0:
                inside.append(inside[-1] or begun[-1])
                begun.append(False)
            elif deeper < 0:
                inside.pop()
                begun.pop()
            if text in (";", ",", "}"):
                begun[-1] = False  # here it ends, with its body or its expression
            before = text

    def take_import(self, start: int, depth: int) -> int:
        """Notes an import, and returns where it ends."""
        found = _IMPORT.match(self.text, start)
        names = [] if found is None else [name.strip() for name in found[1].split(",") if name.strip()]
        if depth or found is None or any(" " in name for name in names):
            self.refuse(start, 'only `import { a, b } from "./x.js";` is understood, at the top level')
        path = (self.module.path.parent / found[2]).resolve()
        self.module.imports.append((path, names, self.line_of(start)))
        self.left_out.append(found.span())
        return found.end()

    def take_export(self, tokens: list[_Token], depth: int) -> None:
        word = tokens[1].text if len(tokens) > 1 else ""
        if depth or word not in ("async", "function", "class", "const"):
            self.refuse(tokens[0].start, "only functions, classes and constants are exported, where declared")
        self.left_out.append((tokens[0].start, tokens[1].start))

    def take_declaration(self, tokens: list[_Token], place: int) -> None:
        """Notes the name that a statement declares, if it declares one."""
        word, start = tokens[place].text, tokens[place].start
        if word not in ("function", "class", "const", "let"):
            return
        name = tokens[place + 2] if tokens[place + 1].text == "*" else tokens[place + 1]
        if name.kind != "word":
            self.refuse(start, f"`{word}` declares one plain name at the top level, not a pattern")
        if word in ("const", "let") and self.has_comma(tokens, place):
            self.refuse(start, f"`{word}` declares one name at a time at the top level")
        if name.text in self.module.declared:
            self.refuse(name.start, f"{name.text} is declared twice")
        self.module.declared[name.text] = self.line_of(name.start)
        if "export" in [token.text for token in tokens[max(0, place - 2) : place]]:
            self.module.exported.add(name.text)

    def has_comma(self, tokens: list[_Token], place: int) -> bool:
        """Returns whether there is a comma in a statement outside of its brackets."""
        depth = 0
        for token in islice(tokens, place, None):
            depth += token.depth
            if not depth and token.text in (",", ";"):
                return token.text == ","
        return False
