"""Executes a Python file that the user named, such as a mechanism or a logger, and compares its versions."""

import ast
import builtins
import hashlib
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import read_bytes

_LOOKUPS = {"globals", "locals", "vars", "eval", "exec", "__dict__", "modules"}
"""Names by which code finds definitions that it does not name."""


def load_user_module(path: Path, source: bytes | None = None) -> ModuleType:
    """Executes a file, or the given content of it, and returns its module; raises AugenmerkError if it fails.

    It must only be called for a file that the user named, never because a run or a study names it. The module
    is compiled from `source` rather than imported, because Python's cache takes two edits within a second for
    one, and its name contains a digest, so that files of the same name are different modules.
    """
    source = read_bytes(path) if source is None else source
    module = ModuleType(f"augenmerk_user_{path.stem}_{hashlib.sha256(source).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and pickle look
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise AugenmerkError(f"{path} cannot be loaded: {type(error).__name__}: {error}.") from None
    return module


def collect_source(definition: type) -> bytes:
    """Returns Python code that defines a class again, with the imports, constants, functions and classes that
    it uses of the notebook or the file in which it is defined.

    Raises AugenmerkError if its source is not available, or if it uses anything else.
    """
    parts: dict[str, str] = {}
    _collect(definition, parts)
    return "\n\n".join((*parts.values(), "")).encode()


def _collect(definition: type | Callable[..., Any], parts: dict[str, str]) -> None:
    """Adds the source of a class or a function by its name, after that of what it uses."""
    functions = list(_list_functions(definition))
    tree, segment = _find_definition(definition.__name__, [each.__code__ for each in functions])
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {definition.__name__}
    known = functions[0].__globals__
    for name in sorted(names & known.keys() - parts.keys() - vars(builtins).keys()):
        value = known[name]
        parts[name] = ""  # what uses itself is not collected for ever
        parts[name] = _write_import(name, value)
        if not parts[name] and isinstance(value, FunctionType | type):
            del parts[name]
            _collect(value, parts)
        elif not parts[name]:
            raise AugenmerkError(
                f"{definition.__name__} uses '{name}', which a run cannot record: only imports, functions, "
                f"classes, and constants such as numbers and texts. Define it inside of the class."
            )
    parts[definition.__name__] = segment


def _list_functions(definition: object) -> Iterator[FunctionType]:
    for each in vars(definition).values() if isinstance(definition, type) else [definition]:
        function = getattr(each, "__func__", getattr(each, "fget", each))
        if isinstance(function, FunctionType) and function.__module__ == definition.__module__:
            yield function


def _find_definition(name: str, codes: list[CodeType]) -> tuple[ast.AST, str]:
    """Returns the definition of a class or a function, given the code of functions in it."""
    for code in codes:
        text = "".join(linecache.getlines(code.co_filename))
        with suppress(SyntaxError):  # a cell may have commands of IPython
            for node in ast.walk(ast.parse(text)):
                if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name != name:
                    continue
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first <= code.co_firstlineno <= (node.end_lineno or 0):
                    lines = text.splitlines(keepends=True)[first - 1 : node.end_lineno]
                    return node, textwrap.dedent("".join(lines)).strip()
    raise AugenmerkError(
        f"The source of {name} is not available, and a run records it: define it in a cell of a notebook, or "
        f"in a file."
    )


def _write_import(name: str, value: object) -> str:
    """Returns a line that defines a name as a module, something to import, or a constant; or nothing."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    module, path = (getattr(value, key, None) for key in ("__module__", "__qualname__"))
    path = path or getattr(value, "_name", None)  # of typing.ClassVar, for example
    if module and path and module != "__main__" and "." not in path:
        with suppress(AttributeError, ImportError, ValueError):
            if resolve_name(f"{module}:{path}") is value:
                return f"from {module} import {path} as {name}"
    with suppress(SyntaxError, ValueError):
        if ast.literal_eval(repr(value)) == value:
            return f"{name} = {value!r}"
    return ""


def same_code(one: bytes, other: bytes, name: str) -> bool:
    """Returns whether the class `name` is the same in two versions of a file.

    Comments, whitespace, docstrings and definitions that the class does not use may differ.
    """
    if one == other:
        return True
    try:
        return _used_code(one, name) == _used_code(other, name)
    except (SyntaxError, ValueError, RecursionError):  # such as a copy that was damaged
        return False


def _used_code(source: bytes, name: str) -> list[str]:
    """Returns the statements of a file on which a class depends, as text.

    These are its definition, those of all names that it uses, and every statement that may do more than
    define a name, such as a call or a definition with a decorator.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = [each for each in node.body if not _does_nothing(each)]
    statements = tree.body
    names = [
        {str(getattr(node, "id", getattr(node, "attr", ""))) for node in ast.walk(statement)}
        for statement in statements
    ]
    defined = [_defined_names(statement) for statement in statements]
    used, wanted = set[int](), {name}
    while True:
        found = {
            number
            for number, its_names in enumerate(defined)
            if not its_names or its_names & wanted or wanted & _LOOKUPS
        }
        if found == used:
            return [ast.dump(statements[number]) for number in sorted(used)]
        used = found
        wanted = {name}.union(*(names[number] for number in used))


def _does_nothing(statement: ast.stmt) -> bool:
    """Returns whether a statement is a docstring, or the part of a script that no import executes."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]), orelse=[]):
            return True
    return False


def _defined_names(statement: ast.stmt) -> set[str]:
    """Returns the names that a statement defines; none if it may do more than that."""
    match statement:
        case ast.FunctionDef(decorator_list=[]) | ast.ClassDef(decorator_list=[], keywords=[]):
            return {statement.name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            bound = {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            return set() if "*" in bound else bound
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            plain = {target.id for target in targets if isinstance(target, ast.Name)}
            calls = value is not None and any(isinstance(node, ast.Call) for node in ast.walk(value))
            return plain if len(plain) == len(targets) and not calls else set()
    return set()
