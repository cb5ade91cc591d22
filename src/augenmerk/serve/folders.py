"""Finds runs and studies below a folder, among which the names in requests are looked up."""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

SECONDS = 1.0
"""Shortest time between two searches of a folder: many clients that ask at the same time share one."""
MAX_DEPTH = 4
MAX_FOLDERS = 10_000
"""Most folders that one search looks at."""
WHOLE = "."
"""The name of the folder itself."""


class FolderSearch:
    """The folders of a kind below a folder, each known by its path relative to it."""

    def __init__(self, folder: Path, is_wanted: Callable[[Path, frozenset[str]], bool]) -> None:
        """`is_wanted` decides by a folder and the names of its files; nothing below those is searched."""
        self._folder = folder
        self._is_wanted = is_wanted
        self._found: tuple[float, dict[str, Path]] = (float("-inf"), {})

    def find(self) -> dict[str, Path]:
        """Returns the folders by name, with "/" between its parts; links are not followed."""
        when, found = self._found
        if time.monotonic() - when > SECONDS:
            found = self.search()
            self._found = time.monotonic(), found
        return found

    def search(self) -> dict[str, Path]:
        """Returns the folders that are there now."""
        found, waiting, searched = {}, [(self._folder, "", 0)], 0
        while waiting and searched < MAX_FOLDERS:
            folder, name, depth = waiting.pop()
            searched += 1
            files, folders = set(), []
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if not entry.is_dir(follow_symlinks=False):
                            files.add(entry.name)
                        elif not entry.name.startswith("."):
                            folders.append(entry.name)
                wanted = self._is_wanted(folder, frozenset(files))
            except OSError:  # it may not be read, or was removed just now
                continue
            if wanted:
                found[name or WHOLE] = folder
            elif depth < MAX_DEPTH:
                waiting += [
                    (folder / each, f"{name}/{each}" if name else each, depth + 1) for each in folders
                ]
        return dict(sorted(found.items()))


def is_run(_folder: Path, files: frozenset[str]) -> bool:
    """Returns whether a folder is that of a run, trained or not."""
    return "config.toml" in files and any(name.startswith("tokenizer") for name in files)


@dataclass
class _Entry(Generic[T]):
    value: T | None = None
    version: object = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class VersionCache(Generic[T]):
    """Keeps what was read from files until their version changes. Several threads may use it at once."""

    def __init__(self, limit: int) -> None:
        """Keeps the `limit` values that were asked for last."""
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()

    def get(self, key: str, version: object, read: Callable[[], T]) -> T:
        """Returns the value of a key, which is read if it is unknown or of another version."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._limit:
                self._entries.popitem(last=False)
        with entry.lock:  # others who ask meanwhile wait for the same value
            if entry.value is None or entry.version != version:
                entry.value, entry.version = read(), version
            return entry.value
