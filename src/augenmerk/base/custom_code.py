"""Executes a Python file that the user named, such as a mechanism or a logger, and compares its versions."""

import ast
import hashlib
import sys
from pathlib import Path
from types import ModuleType

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
