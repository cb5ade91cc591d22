"""Files that are written whole or not at all, and trouble with files as one sentence.

A file is written under another name, brought to the disk, and put in its place in one step. So whenever
the process or the machine dies, there is the old file or the new one, never half of either.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from augenmerk.errors import AugenmerkError

_TEMPORARY = ".part"


def atomic_write(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes a file, in place of what was there."""
    temporary = temp_path(path)
    try:
        with temporary.open("wb") as file:
            file.writelines(pieces)
        fsync_path(temporary)
        temporary.replace(path)
        fsync_path(path.parent)
    except OSError as error:
        if not path.parent.is_dir():
            raise AugenmerkError(
                f"{path}: cannot be written, for there is no folder {path.parent}."
            ) from None
        kept = "; what was saved before is still there" if path.exists() else ""
        raise AugenmerkError(f"{path}: cannot be written ({reason(error)}){kept}.") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Makes the folder that results are to go to, before anybody waits for them."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise AugenmerkError(f"{path} is a file; a folder is needed here.") from None
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be created ({reason(error)}).") from None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A text file, in a folder that is made if it is not there."""
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise AugenmerkError(f"{path.parent}: cannot be created ({reason(error)}).") from None
    atomic_write(path, [f"{line}\n".encode() for line in lines])


def temp_path(path: Path) -> Path:
    """Beside `path`, and of this process alone."""
    return path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")


def remove_stale_temp_files(folder: Path, name: str = "") -> None:
    """Removes what a killed process had not yet put in its place; only what was to be `name`, if given.

    What a living process is writing would be lost as well.
    """
    prefix = f".{name}." if name else "."
    with suppress(OSError):
        for entry in folder.iterdir():
            if entry.name.startswith(prefix) and entry.name.endswith(_TEMPORARY):
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)


def fsync_path(path: Path) -> None:
    """Waits until a file, or the list of names in a folder, would survive a power cut."""
    if path.is_dir() and os.name == "nt":
        return  # Windows does not open folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_text(path: Path) -> str:
    with explain_read_errors(path):
        return path.read_text(encoding="utf-8")


@contextmanager
def explain_read_errors(path: Path, place: str = "") -> Iterator[None]:
    """Turns what can be wrong with a file that we wrote into a sentence that names it."""
    try:
        yield
    except FileNotFoundError:
        raise AugenmerkError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise AugenmerkError(f"{path}: cannot be read ({reason(error)}).") from None
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise AugenmerkError(f"{path}{place}: damaged, or not written by Augenmerk ({error}).") from None


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object in a text; a ValueError if there is something else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, not {text[:20]!r}")
    return value


def reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
