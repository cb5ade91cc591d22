"""Custom mechanisms: attention in the user's own Python file, FILE.py:Class, or in a class of a notebook.

A run keeps a copy of the code, and its weights are only used with that code: see `check_recorded`.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from augenmerk.base.config import CUSTOM_ATTENTION
from augenmerk.base.custom_code import collect_source, load_user_module, same_code
from augenmerk.base.entries import CUSTOM, MECHANISMS
from augenmerk.base.entries import Mechanism as Entry
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import read_bytes
from augenmerk.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class CustomMechanism:
    """A mechanism in the user's own file, as it was when it was loaded."""

    kind: type[Mechanism]
    path: Path
    source: bytes
    replaced: Path | None = None
    """A different file of the same name that was loaded before, under the same name in the settings."""


CUSTOM_MECHANISMS: dict[str, CustomMechanism] = {}
"""The custom mechanisms that were loaded, by their names in the settings."""


def find_mechanism(name: str) -> type[Mechanism]:
    """Returns the class of a mechanism; raises AugenmerkError if it is in a file that was not loaded."""
    if name in MECHANISMS:
        bundled: type[Mechanism] = resolve_name(MECHANISMS[name].code)
        return bundled
    if name not in CUSTOM_MECHANISMS:
        raise AugenmerkError(
            f"The attention mechanism '{name}' is code in your own file, which runs only if you name it: "
            f"give --attention PATH/{name}."
        )
    return CUSTOM_MECHANISMS[name].kind


def is_torch_alone(kind: type[Mechanism]) -> bool:
    """Returns whether a mechanism is a module of torch, which nothing else can run."""
    torch = sys.modules.get("torch")  # which its file has imported, if it is
    return torch is not None and issubclass(kind, torch.nn.Module)


def load_mechanism(mechanism: str | type[Mechanism]) -> str:
    """Loads a custom mechanism, FILE.py:Class or a class, and returns the name that settings know it by.

    The class derives from `Mechanism`, or from `augenmerk.Attention` if it is written in torch alone. A file
    is executed, so this must only be called for a file that the user named. The name in the settings is the
    file's name without its folder: of two files of the same name, the one that was loaded last is used, and
    no new run is made with either (`find_code`). The source of a class becomes a file of its name, and a
    class that is defined again replaces the one before.
    """
    if isinstance(mechanism, type) and issubclass(mechanism, Mechanism):
        path, class_name = Path(f"{mechanism.__name__}.py"), mechanism.__name__
        source = collect_source(mechanism)
    elif isinstance(mechanism, str) and (match := CUSTOM_ATTENTION.fullmatch(mechanism)):
        path, class_name = Path(match["path"]), match["name"]
        source = read_bytes(path)
    else:
        raise AugenmerkError(
            f"{shorten(repr(mechanism))} is not a mechanism in a file: expected something like "
            f"mine.py:Sparsemax, or a class that derives from augenmerk.Mechanism."
        )
    name = f"{path.name}:{class_name}"
    before = CUSTOM_MECHANISMS.get(name) if isinstance(mechanism, str) else None
    replaced = None if before is None else before.replaced
    if before is not None and before.path.resolve() != path.resolve():
        replaced = replaced if same_code(before.source, source, class_name) else before.path
    found = getattr(load_user_module(path, source), class_name, None)
    if not (isinstance(found, type) and issubclass(found, Mechanism)):
        raise AugenmerkError(
            f"{path} has no class '{class_name}' that derives from augenmerk.Mechanism (or from "
            f"augenmerk.Attention)."
        )
    CUSTOM_MECHANISMS[name] = CustomMechanism(found, path.absolute(), source, replaced)
    CUSTOM.pop(name, None)
    if not is_torch_alone(found):
        CUSTOM[name] = Entry(code=f"{found.__module__}:{class_name}", has_heads=found.has_heads)
    return name


def find_name(mechanism: str | type[Mechanism]) -> str:
    """Returns the name of a mechanism in the settings; a custom one is loaded."""
    is_name = isinstance(mechanism, str) and CUSTOM_ATTENTION.fullmatch(mechanism) is None
    return str(mechanism) if is_name else load_mechanism(mechanism)


def load_mechanisms(files_and_classes: Iterable[str | type[Mechanism]]) -> None:
    """Loads custom mechanisms; raises AugenmerkError if two different files would have one name."""
    loaded: dict[str, CustomMechanism] = {}
    for each in files_and_classes:
        name = load_mechanism(each)
        file = CUSTOM_MECHANISMS[name]
        first = loaded.setdefault(name, file)
        if not same_code(first.source, file.source, name.rpartition(":")[2]):
            raise _make_error(name, file.path, first.path)


def find_code(name: str) -> dict[str, bytes]:
    """Returns the name and content of a custom mechanism's file for a new run; nothing for a bundled one.

    Raises AugenmerkError if different files were loaded under this name.
    """
    file = CUSTOM_MECHANISMS.get(name)
    if file is None:
        return {}
    if file.replaced is not None:
        raise _make_error(name, file.path, file.replaced)
    return {name.rpartition(":")[0]: file.source}


def _make_error(name: str, path: Path, other: Path) -> AugenmerkError:
    return AugenmerkError(
        f"{path} and {other} both define '{name}', and differently; a run records a file's name without its "
        f"folder, so rename one of the two, or use each in its own process."
    )


def check_recorded(name: str, recorded: bytes | None, run: Path) -> None:
    """Raises AugenmerkError if a custom mechanism is not the one with which a run was trained.

    `recorded` is the run's copy of its file; None if the run has a bundled mechanism.
    """
    find_mechanism(name)
    if recorded is None:
        return
    file_name, _, class_name = name.rpartition(":")
    file = CUSTOM_MECHANISMS[name]
    if not same_code(recorded, file.source, class_name):
        raise AugenmerkError(
            f"{file.path} is not the code with which {run} was trained: '{class_name}' was changed; use the "
            f"copy in the run, --attention {run / file_name}:{class_name}, or train a new run."
        )
