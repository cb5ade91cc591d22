"""Joins the JavaScript modules of a page into one script, since a browser imports no modules from a disk.

That takes no parser, because the modules keep to a rule, which tests check. Each

- imports by `import { a, b } from "./x.js";` at its top level, without other names for what it imports,
- exports only declarations there, one plain name each: functions, classes and constants,
- declares no name that another module of the page declares, awaits nothing outside of functions, and is in
  no circle of imports.
"""

import re
from functools import cache
from pathlib import Path

_IMPORT = re.compile(r'^import \{[\w$\s,]+\} from "(\.\.?/[\w./-]+\.js)";\n?', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async |function|class |const ))", re.MULTILINE)


@cache
def join_modules(script: Path) -> str:
    """Joins a module and all that it imports into one script."""
    parts = []
    for path in list_modules(script):
        text = _EXPORT.sub("", _IMPORT.sub("", path.read_text(encoding="utf-8")))
        parts.append(f"// -- {path.name}\n\n{text.strip()}")
    joined = "\n\n".join(parts)
    return f'"use strict";\n(() => {{\n{joined}\n}})();\n'


@cache
def list_modules(script: Path) -> list[Path]:
    """Returns a module and all that it imports, each after those that it needs."""
    modules: dict[Path, None] = {}

    def add(path: Path) -> None:
        for imported in _IMPORT.findall(path.read_text(encoding="utf-8")):
            if (other := (path.parent / imported).resolve()) not in modules:
                add(other)
        modules[path] = None

    add(script.resolve())
    return list(modules)
