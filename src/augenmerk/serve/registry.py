"""Runs and studies below a folder, among which names are looked up, and the models of a process, loaded once.

Nothing of a name in a request is used as a path.
"""

import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from augenmerk.base.device import CPU
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import MODEL, RunDirectory
from augenmerk.serve.limits import ServiceError
from augenmerk.translation import Translator

Names = str | list[str]
"""A run, or several that translate together."""

SEARCH_SECONDS = 1.0
"""Shortest time between two searches of a folder: many clients that ask at the same time share one."""
MAX_DEPTH = 4
MAX_FOLDERS = 10_000
"""Most folders that one search looks at."""
WHOLE = "."
"""The name of the folder itself."""


def to_names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def is_run(files: Collection[str]) -> bool:
    """Returns whether a folder with these files is that of a run, trained or not."""
    return "config.toml" in files and any(name.startswith("tokenizer") for name in files)


class FolderSearch:
    """The folders of a kind below a folder, each known by its path relative to it."""

    def __init__(self, folder: Path, is_wanted: Callable[[Collection[str]], bool]) -> None:
        """`is_wanted` decides by the names of a folder's files; nothing below those is searched."""
        self._folder = folder
        self._is_wanted = is_wanted
        self._found: tuple[float, dict[str, Path]] = (float("-inf"), {})

    def find(self) -> dict[str, Path]:
        """Returns the folders by name, with "/" between its parts; links are not followed."""
        when, found = self._found
        if time.monotonic() - when > SEARCH_SECONDS:
            found = self.search()
            self._found = time.monotonic(), found
        return found

    def search(self) -> dict[str, Path]:
        """Returns the folders that are there now."""
        found = {}
        for root, folders, files in islice(os.walk(self._folder), MAX_FOLDERS):
            path = Path(root)
            name = path.relative_to(self._folder).as_posix()
            if is_wanted := self._is_wanted(files):
                found[name] = path
            is_deepest = name.count("/") + (name != WHOLE) >= MAX_DEPTH
            folders[:] = [] if is_wanted or is_deepest else [each for each in folders if each[0] != "."]
        return dict(sorted(found.items()))


class ModelRegistry:
    """The models that requests may name. Several threads may use it at once.

    Runs that are given are loaded at once and stay. Runs below `folder`, and ensembles, are loaded when they
    are first asked for; of these, the least recently used is dropped when there are more than `loaded`.
    """

    def __init__(
        self, runs: Sequence[Path] = (), *, folder: Path = Path("runs"), loaded: int = 8, device: str = CPU
    ) -> None:
        """Loads the bundled model if no run is given."""
        self.folder = folder
        self._device = device
        self._max_loaded = loaded
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        """Is held while models are read, which takes long; `_lock` only for moments."""
        self.search = FolderSearch(folder, is_run)
        paths = list(dict.fromkeys(runs)) or [BUNDLED_MODEL]
        self._named = dict(zip(_name_runs(paths), paths, strict=True))
        self._written: dict[str, int] = {}
        """When the weights of each loaded run of the folder were written."""
        self._kept: dict[tuple[str, ...], Translator] = {
            (name,): self._open([path]) for name, path in self._named.items()
        }
        self._others: OrderedDict[tuple[str, ...], Translator] = OrderedDict()

    @property
    def names(self) -> list[str]:
        """The names of the runs that were given; the first is the default."""
        return list(self._named)

    def found(self) -> dict[str, Path]:
        """Returns the runs below the folder by their path relative to it, with "/" between its parts."""
        # A run that has just begun has no weights yet.
        return {name: path for name, path in self.search.find().items() if (path / MODEL).is_file()}

    def paths(self) -> dict[str, Path]:
        """Returns the folders of all models by name, those that were given first."""
        return self._named | {name: path for name, path in self.found().items() if name not in self._named}

    def path(self, name: str) -> Path:
        """Returns the folder of a model; raises ServiceError if there is none."""
        path = self._named.get(name) or self.found().get(name)
        if path is None:
            raise ServiceError(404, f"There is no model '{shorten(name)}': GET /v1/models lists all.")
        return path

    def choose(self, names: Names | None) -> Names:
        """Returns the model that a request names, or the default; raises ServiceError if there is none."""
        for name in () if names is None else to_names(names):
            self.path(name)
        return self.names[0] if names is None else names

    def get(self, names: str | Sequence[str], *, fresh: bool = False) -> Translator:
        """Returns the translator of a run, or of several as an ensemble; raises ServiceError.

        With `fresh`, runs that were trained since they were loaded are loaded again.
        """
        key = to_names(names)
        if fresh:
            self.drop_outdated(key)
        if not key:
            raise AugenmerkError("There is no model to translate with: name one, or several for an ensemble.")
        if (translator := self.find_loaded(key)) is not None:
            return translator
        with self._loading:
            if (translator := self.find_loaded(key)) is not None:  # another thread has just loaded it
                return translator
            if len(key) == 1:
                return self._keep(key, self._load(key))
            runs = [self.find_loaded((name,)) or self._keep((name,), self._load((name,))) for name in key]
            if len({run.uses_torch for run in runs}) > 1:  # they cannot share their models
                return self._keep(key, self._load(key))
            with self._hiding_paths(key):
                directories = [run for each in runs for run in each.runs]
                models = [each.model for each in runs]
                return self._keep(key, Translator.from_runs(directories, models=models, threads=1))

    def find_loaded(self, key: tuple[str, ...]) -> Translator | None:
        """Returns the translator of a run, or of several as an ensemble, if it is loaded already."""
        with self._lock:
            if key in self._others:
                self._others.move_to_end(key)
            return self._kept.get(key) or self._others.get(key)

    def drop_outdated(self, names: Sequence[str]) -> None:
        """Drops runs of the folder that were trained since they were loaded."""
        paths = self.found()
        for name in set(names) & paths.keys() - self._named.keys():
            written = read_time(paths[name] / MODEL)  # 0 if it was removed just now: it can still be asked
            if 0 < written != self._written.get(name, written):
                self._drop(name)

    def reload(self, name: str | None = None) -> list[str]:
        """Reloads a run, or all of them, because it was trained further; returns the names of the runs.

        A run that cannot be read stays as it was, and AugenmerkError is raised.
        """
        self.choose(name)
        with self._loading:
            kept = {key: self._load(key) for key in self._kept if name in (None, *key)}
            with self._lock:
                self._kept |= kept
            others = self._drop(name)  # they are loaded when they are next asked for
        return sorted({each for key in (*kept, *others) for each in key if name in (None, each)})

    def _drop(self, name: str | None) -> list[tuple[str, ...]]:
        """Drops a run and its ensembles, or all of them, unless they were given; returns their names."""
        with self._lock:
            dropped = [key for key in self._others if name in (None, *key)]
            for key in dropped:
                del self._others[key]
        return dropped

    def _keep(self, key: tuple[str, ...], translator: Translator) -> Translator:
        """Keeps a translator as the latest that was used, and drops the oldest if there are too many."""
        with self._lock:
            self._others[key] = translator
            while len(self._others) > self._max_loaded:
                # It is not closed, because a thread may be translating with it.
                self._others.popitem(last=False)
        return translator

    def describe(self) -> list[dict[str, Any]]:
        """Returns all models as data for JSON, those that were given first."""
        return [self._describe(name, path) for name, path in self.paths().items()]

    def _describe(self, name: str, path: Path) -> dict[str, Any]:
        translator = self._kept.get((name,)) or self._others.get((name,))
        about = {"name": name, "default": name == self.names[0], "loaded": translator is not None}
        try:
            config = RunDirectory.open(path).config if translator is None else translator.config
        except AugenmerkError as error:
            return {**about, "error": hide_path(error, name, path)}
        return {**about, **config.describe()}

    def _load(self, names: Sequence[str]) -> Translator:
        """Loads runs, as an ensemble if there are several; errors name no paths."""
        paths = [self.path(name) for name in names]
        if len(names) == 1 and names[0] not in self._named:  # before it is read: what comes later is noticed
            self._written[names[0]] = read_time(paths[0] / MODEL)
        with self._hiding_paths(names):
            return self._open(paths)

    def _open(self, paths: Sequence[Path]) -> Translator:
        # One thread each: what is computed at the same time are the batches of several requests.
        return Translator.from_runs([RunDirectory.open(path) for path in paths], self._device, threads=1)

    @contextmanager
    def _hiding_paths(self, names: Sequence[str]) -> Iterator[None]:
        """Replaces paths in errors by names; raises ServiceError if a run has been removed meanwhile."""
        paths = {name: self.path(name) for name in names}
        try:
            yield
        except AugenmerkError as error:
            for name, path in paths.items():
                self.path(name)
                error = AugenmerkError(hide_path(error, name, path))
            raise error from None


def hide_path(error: AugenmerkError, name: str, path: Path) -> str:
    """Returns the sentence of an error with the name of a run for its path, which others need not know."""
    return str(error).replace(str(path), f"'{name}'")


def read_time(path: Path) -> int:
    """Returns when a file was written, in nanoseconds, or 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """Returns names for runs: that of the folder, or its path where two folders have the same name."""
    names = [path.resolve().name for path in paths]
    count = Counter(names)
    return [name if count[name] == 1 else path.as_posix() for name, path in zip(names, paths, strict=True)]
