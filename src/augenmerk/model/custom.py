"""Custom mechanisms: attention in the user's own Python file, FILE.py:Class.

A run keeps a copy of the file, and its weights are only used with that code: see `check_recorded`.
"""

from dataclasses import dataclass
from pathlib import Path

from augenmerk.config import CUSTOM_ATTENTION
from augenmerk.errors import AugenmerkError
from augenmerk.model.attention import MECHANISMS, Attention, find_mechanism
from augenmerk.user_code import execute_code, read_code, same_code


@dataclass(frozen=True)
class MechanismFile:
    """A custom mechanism's file, as it was when it was loaded."""

    path: Path
    source: bytes


MECHANISM_FILES: dict[str, MechanismFile] = {}
"""The files of custom mechanisms that were loaded, by the mechanism's name in the settings."""


def load_mechanism(place: str) -> str:
    """Loads a custom mechanism, FILE.py:Class, and returns the name that settings then know it by.

    The class derives from `Attention`. The file is executed, so this must only be called for a file that the
    user named. The name in the settings is the file's name without its folder, so a process can load only one
    of two different files of the same name. A file that was edited can be loaded again.
    """
    match = CUSTOM_ATTENTION.fullmatch(place)
    if match is None:
        raise AugenmerkError(
            f"'{place}' is not a mechanism in a file: expected something like mine.py:Sparsemax."
        )
    path, class_name = Path(match["path"]), match["name"]
    name = f"{path.name}:{class_name}"
    file = MechanismFile(path.absolute(), read_code(path))
    other = MECHANISM_FILES.get(name, file)
    if other.path.resolve() != path.resolve() and not same_code(other.source, file.source, class_name):
        raise AugenmerkError(
            f"{path} and {other.path} both define '{name}', and differently; a run records a file's name "
            f"without its folder, so rename one of the two, or use one at a time."
        )
    mechanism = getattr(execute_code(file.source, path), class_name, None)
    if not (isinstance(mechanism, type) and issubclass(mechanism, Attention)):
        raise AugenmerkError(
            f"{path} has no class '{class_name}' that derives from augenmerk.model.attention.Attention."
        )
    MECHANISMS[name] = mechanism
    MECHANISM_FILES[name] = file
    return name


def check_recorded(name: str, recorded: bytes | None, run: Path) -> None:
    """Raises AugenmerkError if a custom mechanism is not the one with which a run was trained.

    `recorded` is the run's copy of its file; None if the run has a bundled mechanism.
    """
    find_mechanism(name)
    if recorded is None:
        return
    file_name, _, class_name = name.rpartition(":")
    file = MECHANISM_FILES[name]
    if not same_code(recorded, file.source, class_name):
        raise AugenmerkError(
            f"{file.path} is not the code with which {run} was trained: '{class_name}' was changed; use the "
            f"copy in the run, --attention {run / file_name}:{class_name}, or train a new run."
        )
