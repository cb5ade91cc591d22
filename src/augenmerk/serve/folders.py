"""Finds runs and studies below a folder, among which the names in requests are looked up."""

import os
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 1.0
"""A folder is not searched more often: many who ask at the same time share one search."""
DEPTH = 4
MOST = 10_000
"""So deep is it searched, and so many folders are looked at."""


WHOLE = "."
"""The name of the folder itself."""


class FolderSearch:
    """The folders below one that are of a kind, each known by its path relative to it."""

    def __init__(self, folder: Path, is_wanted: Callable[[Path, frozenset[str]], bool]) -> None:
        """`is_wanted` tells by a folder and the names of the files in it; none is looked for below such."""
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
        """Returns what is there now."""
        found, waiting, looked_at = {}, [(self._folder, "", 0)], 0
        while waiting and looked_at < MOST:
            place, name, depth = waiting.pop()
            looked_at += 1
            files, folders = set(), []
            try:
                with os.scandir(place) as entries:
                    for entry in entries:
                        if not entry.is_dir(follow_symlinks=False):
                            files.add(entry.name)
                        elif not entry.name.startswith("."):
                            folders.append(entry.name)
                wanted = self._is_wanted(place, frozenset(files))
            except OSError:  # it may not be read, or was removed just now
                continue
            if wanted:
                found[name or WHOLE] = place
            elif depth < DEPTH:
                waiting += [(place / each, f"{name}/{each}" if name else each, depth + 1) for each in folders]
        return dict(sorted(found.items()))


def is_run(_place: Path, files: frozenset[str]) -> bool:
    """Returns whether a folder is that of a run, trained or not."""
    return "config.toml" in files and any(name.startswith("tokenizer") for name in files)
