"""The models of a process, each loaded once."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from augenmerk.base.config import SearchConfig
from augenmerk.base.device import CPU
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import MODEL, RunDirectory
from augenmerk.serve.errors import UnknownModel
from augenmerk.serve.folders import FolderSearch, is_run
from augenmerk.translation import Translator


class Library:
    """The models that requests may name. Several threads may use it at once.

    Runs that are given are loaded at once and stay; those below `folder`, and ensembles, when they are first
    asked for, and of these the one that was not used for the longest time is let go when there are more than
    `loaded`. A name is looked up in a list: nothing of it is used as a path.
    """

    def __init__(
        self,
        runs: Sequence[Path] = (),
        *,
        folder: Path | None = None,
        loaded: int = 8,
        device: str = CPU,
    ) -> None:
        """Without a run, the model that ships is loaded."""
        self.folder = folder
        self._device = device
        self._most_loaded = loaded
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        """Is held while models are read, which takes long; `_lock` only for moments."""
        self._search = None if folder is None else FolderSearch(folder, is_run)
        paths = list(dict.fromkeys(runs)) or [BUNDLED_MODEL]
        self._named = dict(zip(_name_runs(paths), paths, strict=True))
        self._written: dict[str, int] = {}
        """When the weights of each run of the folder were written that was last read."""
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
            return self._keep(key, self._combine(key, runs))

    def _keep(self, key: tuple[str, ...], translator: Translator) -> Translator:
        """Keeps a translator as the latest that was used, and lets the oldest go if there are too many."""
        with self._lock:
            self._others[key] = translator
            while len(self._others) > self._most_loaded:
                # It is not closed, because a thread may be translating with it; then it goes by itself.
                self._others.popitem(last=False)
        return translator

    def forget_if_trained_further(self, names: Sequence[str]) -> None:
        """Has runs of the folder read anew that were trained since; runs that were given stay as they are."""
        for name in set(names) - set(self._named):
            try:
                written = self._find_written(name)
            except UnknownModel:  # it was removed just now; what is loaded can still be asked
                continue
            with self._lock:
                if self._written.get(name, written) != written:
                    for key in [key for key in self._others if name in key]:
                        del self._others[key]

    def _find_written(self, name: str) -> int:
        """Returns when the weights of a run were written; raises UnknownModel if it is gone."""
        try:
            return (self.path(name) / MODEL).stat().st_mtime_ns
        except OSError:
            raise UnknownModel("The model was removed: GET /v1/models lists those that there are.") from None

    def find_loaded(self, key: tuple[str, ...]) -> Translator | None:
        """Returns the translator of a run, or of several as an ensemble, if it is loaded already."""
        with self._lock:
            if key in self._others:
                self._others.move_to_end(key)
            return self._kept.get(key) or self._others.get(key)

    def own_settings(self, names: Sequence[str]) -> SearchConfig | None:
        """Returns the settings of a run's search; None if the run is not loaded yet."""
        translator = self.find_loaded(tuple(names))
        return None if translator is None else translator.config.search

    def languages(self, name: str) -> tuple[str | None, str | None]:
        """Returns the languages that a run translates from and into, where its settings tell."""
        return self.get(name).config.data.languages

    def reload(self, name: str | None = None) -> list[str]:
        """Reads a run anew, or all of them, because it was trained further; returns the names of the runs.

        A run that cannot be read stays as it was, and AugenmerkError is raised.
        """
        if name is not None:
            self.path(name)
        with self._loading:
            kept = {key: self._load(key) for key in self._kept if name in (None, *key)}
            with self._lock:
                self._kept |= kept
                others = [key for key in self._others if name in (None, *key)]
                for key in others:  # they are loaded when they are next asked for
                    del self._others[key]
        return sorted({each for key in (*kept, *others) for each in key if name in (None, each)})

    def describe(self) -> list[dict[str, Any]]:
        """Returns all models as data for JSON, those that were given first."""
        return [
            self._describe(name, path, default=number == 0)
            for number, (name, path) in enumerate(self.paths().items())
        ]

    def paths(self) -> dict[str, Path]:
        """Returns the folders of all models by name, those that were given first."""
        return self._named | {name: path for name, path in self.found().items() if name not in self._named}

    def _describe(self, name: str, path: Path, *, default: bool) -> dict[str, Any]:
        translator = self._kept.get((name,)) or self._others.get((name,))
        about: dict[str, Any] = {"name": name, "default": default, "loaded": translator is not None}
        try:
            config = RunDirectory.open(path).config if translator is None else translator.config
        except AugenmerkError as error:
            return {**about, "error": hide_paths(str(error), {name: path})}
        source, target = config.data.languages
        return {
            **about,
            "source_language": source,
            "target_language": target,
            "architecture": config.model.architecture,
            "attention": config.model.attention,
            "beam": config.search.beam,
        }

    def path(self, name: str) -> Path:
        """Returns the folder of a model; raises UnknownModel."""
        path = self._named.get(name) or self.found().get(name)
        if path is None:
            raise UnknownModel(
                f"There is no model '{shorten(name)}': GET /v1/models lists those that there are."
            )
        return path

    def _open(self, paths: Sequence[Path]) -> Translator:
        # One thread each: what is computed at the same time are the batches of several requests.
        return Translator.from_runs([RunDirectory.open(path) for path in paths], self._device, threads=1)

    def _load(self, names: Sequence[str]) -> Translator:
        """Loads runs, in an ensemble of their own if there are several; errors name no paths."""
        paths = {name: self.path(name) for name in names}
        if len(names) == 1 and names[0] not in self._named:  # before it is read: what comes later is noticed
            self._written[names[0]] = self._find_written(names[0])
        try:
            return self._open(list(paths.values()))
        except AugenmerkError as error:
            for name in names:
                if name not in self._named:
                    self.path(name)  # it may have been removed meanwhile
            raise AugenmerkError(hide_paths(str(error), paths)) from None

    def _combine(self, names: Sequence[str], runs: Sequence[Translator]) -> Translator:
        """Returns an ensemble of loaded runs, which shares their models if these are all of one kind."""
        if len({run.uses_torch for run in runs}) > 1:
            return self._load(names)
        try:
            return Translator.of(runs, threads=1)
        except AugenmerkError as error:
            paths = {name: self.path(name) for name in names}
            raise AugenmerkError(hide_paths(str(error), paths)) from None


def hide_paths(sentence: str, paths: Mapping[str, Path]) -> str:
    """Returns a sentence with the names of runs for their paths, which others need not know."""
    for name, path in paths.items():
        sentence = sentence.replace(str(path), f"'{name}'")
    return sentence


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """Returns names for runs: that of the folder, or its path where two folders have the same name."""
    names = [path.resolve().name for path in paths]
    count = Counter(names)
    return [name if count[name] == 1 else path.as_posix() for name, path in zip(names, paths, strict=True)]
