"""The models of a process, each loaded once."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from augenmerk.base.config import SearchConfig
from augenmerk.base.device import CPU
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.description import describe_run
from augenmerk.run.directory import MODEL, RunDirectory
from augenmerk.serve.errors import UnknownModel
from augenmerk.serve.folders import FolderSearch, is_run
from augenmerk.translation import Translator


class ModelRegistry:
    """The models that requests may name. Several threads may use it at once.

    Runs that are given are loaded at once and stay. Runs below `folder`, and ensembles, are loaded when they
    are first asked for; of these, the least recently used is dropped when there are more than `loaded`. Names
    are looked up in a list: nothing of them is used as a path.
    """

    def __init__(
        self,
        runs: Sequence[Path] = (),
        *,
        folder: Path | None = None,
        loaded: int = 8,
        device: str = CPU,
    ) -> None:
        """Loads the bundled model if no run is given."""
        self.folder = folder
        self._device = device
        self._max_loaded = loaded
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        """Is held while models are read, which takes long; `_lock` only for moments."""
        self._search = None if folder is None else FolderSearch(folder, is_run)
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
        runs = {} if self._search is None else self._search.find()
        # A run that has just begun has no weights yet.
        return {name: path for name, path in runs.items() if (path / MODEL).is_file()}

    def paths(self) -> dict[str, Path]:
        """Returns the folders of all models by name, those that were given first."""
        return self._named | {name: path for name, path in self.found().items() if name not in self._named}

    def path(self, name: str) -> Path:
        """Returns the folder of a model; raises UnknownModel."""
        path = self._named.get(name) or self.found().get(name)
        if path is None:
            raise UnknownModel(f"There is no model '{shorten(name)}': GET /v1/models lists all.")
        return path

    def check(self, names: Sequence[str]) -> None:
        """Raises UnknownModel unless there is a run of each name."""
        for name in names:
            self.path(name)

    def get(self, names: str | Sequence[str]) -> Translator:
        """Returns the translator of a run, or of several as an ensemble; raises UnknownModel."""
        key = (names,) if isinstance(names, str) else tuple(names)
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

    def own_settings(self, names: tuple[str, ...]) -> SearchConfig | None:
        """Returns the search settings of a run; None if the run is not loaded yet."""
        translator = self.find_loaded(names)
        return None if translator is None else translator.config.search

    def languages(self, name: str) -> tuple[str | None, str | None]:
        """Returns the languages that a run translates from and into, where its settings name them."""
        return self.get(name).config.data.languages

    def drop_outdated(self, names: Sequence[str]) -> None:
        """Drops runs of the folder that were trained since they were loaded."""
        for name in set(names) - set(self._named):
            try:
                written = self._read_time(name)
            except UnknownModel:  # it was removed just now; what is loaded can still be asked
                continue
            if self._written.get(name, written) != written:
                self._drop(name)

    def reload(self, name: str | None = None) -> list[str]:
        """Reloads a run, or all of them, because it was trained further; returns the names of the runs.

        A run that cannot be read stays as it was, and AugenmerkError is raised.
        """
        if name is not None:
            self.path(name)
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
            return {**about, "error": hide_paths(str(error), {name: path})}
        return {**about, **describe_run(config)}

    def _read_time(self, name: str) -> int:
        """Returns when the weights of a run were written; raises UnknownModel if it is gone."""
        try:
            return (self.path(name) / MODEL).stat().st_mtime_ns
        except OSError:
            raise UnknownModel("The model was removed: GET /v1/models lists all.") from None

    def _load(self, names: Sequence[str]) -> Translator:
        """Loads runs, as an ensemble if there are several; errors name no paths."""
        paths = [self.path(name) for name in names]
        if len(names) == 1 and names[0] not in self._named:  # before it is read: what comes later is noticed
            self._written[names[0]] = self._read_time(names[0])
        with self._hiding_paths(names):
            return self._open(paths)

    def _open(self, paths: Sequence[Path]) -> Translator:
        # One thread each: what is computed at the same time are the batches of several requests.
        return Translator.from_runs([RunDirectory.open(path) for path in paths], self._device, threads=1)

    @contextmanager
    def _hiding_paths(self, names: Sequence[str]) -> Iterator[None]:
        """Replaces paths in errors by names; raises UnknownModel if a run has been removed meanwhile."""
        paths = {name: self.path(name) for name in names}
        try:
            yield
        except AugenmerkError as error:
            self.check(names)
            raise AugenmerkError(hide_paths(str(error), paths)) from None


def hide_paths(sentence: str, paths: Mapping[str, Path]) -> str:
    """Returns a sentence with names of runs for their paths, which other machines need not know."""
    for name, path in paths.items():
        sentence = sentence.replace(str(path), f"'{name}'")
    return sentence


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """Returns names for runs: that of the folder, or its path where two folders have the same name."""
    names = [path.resolve().name for path in paths]
    count = Counter(names)
    return [name if count[name] == 1 else path.as_posix() for name, path in zip(names, paths, strict=True)]
