"""A run directory holds all that is needed to translate and to continue training.

    config.toml        the settings
    run.json           which version wrote the run, and the SHA-256 of its settings and code: `metadata.py`
    tokenizer.json     the vocabulary; tokenizer.source.json and tokenizer.target.json where there are two
    model.safetensors  the best weights so far
    metrics.jsonl      a line per epoch
    state.safetensors  what is needed to resume: weights, moments, averages, random state, progress
    initial.safetensors  only in a run that began with the weights of another one: these, and which run it was
    data.json          how many pairs it learns from and is validated on, and their checksums
    familiarity.json   how often each source token occurred, to tell text that is unlike the training data
    result.json        the summary; a run that has it is finished
    mine.py            the code of a custom attention mechanism
    scores.json        the scores of `augenmerk evaluate`
    other_scores.json  its scores by MBR, in an ensemble with other runs, on other data, and of other systems
    hypotheses         the translations that the scores are about

If the process dies, each file is still either the old one or the new one (see
`augenmerk.base.files`). To keep the files consistent, save the state last, after the model and the metrics: a
run that is resumed from the previous state writes the same files again.

Settings, vocabulary, weights and state are bound to each other by checksums, so that a damaged file or one of
another run is noticed. Changes to config.toml have to be accepted (`augenmerk train --accept-changes`); the
settings without which the weights mean nothing must stay as they are: [text], [model] and train.seed.

Loading executes no code: there is only TOML, JSON and safetensors.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tomli_w

from augenmerk.base.arrays import Array, Arrays, Kind, load_tensors, read_about, save_tensors
from augenmerk.base.config import CUSTOM_ATTENTION, RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    digest_file,
    error_reason,
    explain_read_errors,
    fsync_path,
    read_bytes,
    read_text,
    remove_stale_temp_files,
    replacing,
    temp_path,
)
from augenmerk.base.settings import MAX_SETTINGS_BYTES, parse_toml
from augenmerk.run.metadata import Metadata, digest_of, warn_of_newer
from augenmerk.run.records import METRICS, OTHER_SCORES, RESULT, SCORES, RunRecords
from augenmerk.text.pairs import PairsSum
from augenmerk.text.tokenizer import TokenizerPair

_CONFIG, MODEL, _STATE = "config.toml", "model.safetensors", "state.safetensors"
_INITIAL = "initial.safetensors"
_LOCK, _SCORES_LOCK, _TRAINING_MARK = ".lock", ".scores.lock", ".training"
_LOCK_TIMEOUT = 60.0  # seconds; the scores are locked for milliseconds at a time
_TRAINING_LOCK_TIMEOUT = 0.5  # seconds; the mark of a training is gone a moment before its lock
_DIGEST_LINE = re.compile(r"\A\ufeff?(# sha256: .*\n)?")
"""What some editors, and augenmerk 0.1.0, begin config.toml with."""
HYPOTHESES = "hypotheses"
"""The folder of the translations in a run."""
_TOKENIZER_FILES = (("tokenizer.json",), ("tokenizer.source.json", "tokenizer.target.json"))


class RunDirectory(RunRecords):
    """One run on the disk, made by `create` or `open`."""

    def __init__(self, path: Path, *, accept_changes: bool = False) -> None:
        self.path = path
        self.metadata = Metadata.read(path)
        text = _DIGEST_LINE.sub("", read_text(path / _CONFIG, MAX_SETTINGS_BYTES))
        self._digest = digest_of(text)
        # As they are in the file, for checksums: a later version may have further settings.
        self._settings = parse_toml(text, str(path / _CONFIG))
        self.config = self._check_settings()
        if accept_changes:
            self._accept_changes()
        elif self.metadata.settings and self._digest not in self.metadata.settings:
            raise AugenmerkError(
                f"{path / _CONFIG}: the settings were changed after the run was created, or are damaged; "
                f"undo that, or accept it: {_accepting(path)}."
            )
        self._written = self.config  # `config` may be replaced, see `write_changes`

    def _check_settings(self) -> RunConfig:
        path = self.path / _CONFIG
        try:
            config = RunConfig.checked(self._settings, str(path))
        except AugenmerkError as error:
            if self.metadata.is_newer:
                raise self.metadata.explain_newer(self.path, error) from None
            raise
        if missing := RunConfig.model_fields.keys() - self._settings.keys():
            raise AugenmerkError(f"{path}: damaged: section [{min(missing)}] is missing.")
        if self.metadata.is_newer:
            warn_of_newer(self.path, str(self.metadata.version))
        return config

    def _accept_changes(self) -> None:
        """Records the settings and the code as they are now."""
        files = {name: self.path / name for name in self.metadata.code}
        code = {name: digest_file(path) for name, path in files.items()}
        self.metadata = replace(self.metadata.knowing(self._digest), code=code)
        self.metadata.write(self.path)

    @classmethod
    def check_unused(cls, path: Path) -> None:
        """Raises AugenmerkError unless `path` is absent or an empty folder, where a run can be created."""
        with explain_read_errors(path):
            if path.is_dir():
                if not _find_missing_file(path):
                    if (path / RESULT).exists():
                        raise AugenmerkError(f"{path} is a finished run; choose another --out.")
                    if cls.is_in_training(path):
                        raise AugenmerkError(
                            f"{path} is being trained by another process; choose another --out."
                        )
                    raise AugenmerkError(
                        f"{path} is an unfinished run; continue it with --resume or choose another --out."
                    )
                if any(path.iterdir()):
                    raise AugenmerkError(f"{path} holds something else already; choose another --out.")
                if path.samefile(Path.cwd()):  # it would be replaced while we are in it
                    raise AugenmerkError(f"{path} is the folder you are in; choose a new one for --out.")
            elif path.exists():
                raise AugenmerkError(f"{path} is a file; choose a folder for --out.")

    @classmethod
    def create(
        cls,
        path: Path,
        config: RunConfig,
        tokenizers: TokenizerPair,
        extra_files: Mapping[str, bytes] | None = None,
        parent: "RunDirectory | None" = None,
        data: Mapping[str, PairsSum] | None = None,
    ) -> Self:
        """Creates a run. Its folder appears whole or not at all, and never replaces anything.

        It begins with a copy of the weights of `parent`, if there is one. `data` is which pairs were
        already read to learn the vocabulary.
        """
        final = path.resolve()
        new = temp_path(final)
        try:
            cls.check_unused(path)
            shutil.rmtree(new, ignore_errors=True)  # left by a killed process with the same id
            new.mkdir(parents=True)
            tokenizers.save(new)
            files = extra_files or {}
            (new / _CONFIG).write_text(config.to_toml(), encoding="utf-8", newline="\n")
            code = {name: digest_of(content) for name, content in files.items()}
            Metadata((digest_of(config.to_toml()),), code).write(new)
            if parent is not None:
                about = {"run": str(parent.path.resolve()), "sha256": parent.model_digest}
                cls(new)._save(new / _INITIAL, "model", parent.load_model(), about)
                if parent.model_digest != about["sha256"]:
                    raise AugenmerkError(
                        f"{parent.path} is being trained, and its weights were replaced just now; try again."
                    )
            if data:
                cls(new).write_data(data)
            for name, content in files.items():
                (new / name).write_bytes(content)
            for file in new.iterdir():
                fsync_path(file)
            fsync_path(new)
            if final.exists():
                final.rmdir()  # it is empty, or this fails; not every system renames onto an empty folder
            new.rename(final)
            fsync_path(final.parent)
            # Only now is it certain that no other process is creating the same run.
            remove_stale_temp_files(final.parent, final.name)
        except OSError as error:
            cls.check_unused(path)  # another process was faster
            raise AugenmerkError(
                f"{path}: the run cannot be created there ({error_reason(error)}); "
                f"make room or choose another --out."
            ) from None
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return cls(path)

    @classmethod
    def open(cls, path: Path, *, accept_changes: bool = False) -> Self:
        """Opens the run in a folder, finished or not; raises AugenmerkError if there is none.

        It is also refused if its settings were changed, unless `accept_changes` records them as they are now.
        """
        with explain_read_errors(path):
            if not path.exists():
                raise AugenmerkError(f"{path}: there is no such run directory.")
            if not path.is_dir():
                raise AugenmerkError(f"{path} is a file; expected a run directory.")
            if missing := _find_missing_file(path):
                raise AugenmerkError(f"{path} is not a run directory: it has no {missing}.")
        return cls(path, accept_changes=accept_changes)

    @cached_property
    def tokenizers(self) -> TokenizerPair:
        return TokenizerPair.load(self.path)

    def read_code(self) -> bytes | None:
        """Reads the run's copy of a custom mechanism's file; None if the mechanism is a bundled one.

        Raises AugenmerkError if the copy is missing or was changed.
        """
        custom = CUSTOM_ATTENTION.fullmatch(self.config.model.attention)
        if custom is None:
            return None
        path = self.path / Path(custom["path"]).name
        if not path.is_file():
            raise AugenmerkError(
                f"{path} is missing: it is the code with which the run was trained; put it back."
            )
        code = read_bytes(path)
        if self.metadata.code.get(path.name, digest_of(code)) != digest_of(code):
            raise AugenmerkError(
                f"{path} was changed after the run was created; put back the code with which it was trained, "
                f"or accept the change: {_accepting(self.path)}."
            )
        return code

    @property
    def model_path(self) -> Path:
        """The file of the best weights."""
        return self.path / MODEL

    @staticmethod
    def is_in_training(path: Path) -> bool:
        """Returns whether a process trains the run in a folder, which need not be there. Locks nothing."""
        from augenmerk.base.files import is_marked

        return is_marked(path / _TRAINING_MARK)

    @contextmanager
    def training(self) -> Iterator[None]:
        """Locks the run for training; its files may be saved while the lock is held.

        Raises AugenmerkError if the run is already being trained by another process. The lock is
        released when the process ends, even if it is killed.
        """
        if self.read_only:
            yield
            return
        from augenmerk.base.files import mark

        busy = f"{self.path} is being trained by another process; wait until it is done or stop it."
        with self._locked(_LOCK, _TRAINING_LOCK_TIMEOUT, busy), mark(self.path / _TRAINING_MARK):
            remove_stale_temp_files(self.path, MODEL, _STATE, METRICS, RESULT)
            yield

    @contextmanager
    def scoring(self) -> Iterator[None]:
        """Holds the lock of the scores, inside of which scores and translations may be read and written.

        Waits for another process that holds it. The lock is released when the process ends,
        even if it is killed.
        """
        busy = f"{self.path}: another process has been writing scores for a minute; wait for it or stop it."
        with self._locked(_SCORES_LOCK, _LOCK_TIMEOUT, busy):
            remove_stale_temp_files(self.path, SCORES, OTHER_SCORES)
            remove_stale_temp_files(self.path / HYPOTHESES)
            yield

    @contextmanager
    def _locked(self, name: str, timeout: float, busy: str) -> Iterator[None]:
        from augenmerk.base.files import hold_lock  # here, because reading a run needs no lock

        with ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self.path / name, timeout))
            except TimeoutError:
                raise AugenmerkError(busy) from None
            except OSError as error:
                reason = error_reason(error)
                raise AugenmerkError(f"{self.path}: cannot be written to ({reason}).") from None
            yield

    def save_model(self, tensors: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        """Saves the best weights and their description. Scores of other weights are removed."""
        self._save(self.model_path, "model", tensors, about)
        for name in (SCORES, OTHER_SCORES) if not self.read_only else ():
            (self.path / name).unlink(missing_ok=True)

    def load_model(self) -> Arrays:
        """Loads the best weights; raises AugenmerkError if there are none yet."""
        if not self.model_path.exists():
            if self.finished or self.read_metrics():
                raise AugenmerkError(
                    f"{self.model_path} is missing, although the run was trained; put it back, or train "
                    f"the run again under another --out."
                )
            raise AugenmerkError(
                f"{self.path} has no {MODEL} yet: its training has not come to the end of an epoch."
            )
        return self._load(self.model_path, "model")[0]

    @property
    def model_digest(self) -> str:
        """The SHA-256 of the file of the best weights."""
        return digest_file(self.model_path)

    def load_initial(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Loads the weights that the run began with, and which run they are of; None if they were random."""
        path = self.path / _INITIAL
        if not path.exists():
            if self.config.train.initial_run is not None:
                raise AugenmerkError(f"{path} is missing: the run began with weights of another one.")
            return None
        return self._load(path, "model")

    @property
    def about_model(self) -> dict[str, Any]:
        """The description of the best weights, read without loading them."""
        with explain_read_errors(self.model_path):
            return dict(read_about(self.model_path, "model")["about"])

    def save_state(self, tensors: Mapping[str, Array], progress: Mapping[str, Any]) -> None:
        """Saves what is needed to resume. `progress` is stored as JSON, so tuples are loaded as lists."""
        self._save(self.path / _STATE, "state", tensors, progress)

    def load_state(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Loads what is needed to resume, or returns None if nothing was saved yet."""
        path = self.path / _STATE
        return self._load(path, "state") if path.exists() else None

    def read_progress(self) -> dict[str, Any]:
        """Reads how far training is, without the tensors; empty if nothing was saved yet."""
        path = self.path / _STATE
        if not path.exists():
            return {}
        with explain_read_errors(path):
            return dict(read_about(path, "state")["about"])

    @property
    def data_moved(self) -> bool:
        """Whether `config` names another path of the data than the file of settings does."""
        return self.config.data.bitext != self._written.data.bitext

    @property
    def more_epochs(self) -> bool:
        """Whether `config` names another number of epochs than the file of settings does."""
        return self.config.train.epochs != self._written.train.epochs

    def write_changes(self) -> None:
        """Writes the number of epochs and the path of the data, if those of `config` were replaced.

        If the run gets more epochs, its summary and its scores are removed, because they are about the
        weights so far. A process that dies in between leaves a run that can be opened, with the old settings
        or with the new ones, because both are recorded first. Must be called while the run is locked for
        training.
        """
        more_epochs = self.more_epochs
        if self.read_only or not (more_epochs or self.data_moved):
            return
        tree = {**self._settings}
        tree["train"] = {**tree["train"], "epochs": self.config.train.epochs}
        tree["data"] = {**tree["data"], "bitext": self.config.data.bitext}
        text = tomli_w.dumps(tree)
        self.metadata = self.metadata.knowing(self._digest, digest_of(text))
        self.metadata.write(self.path)
        with replacing(self.path / _CONFIG) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            fsync_path(temporary)  # on a full disk, nothing may be removed
            for name in (RESULT, SCORES, OTHER_SCORES) if more_epochs else ():
                (self.path / name).unlink(missing_ok=True)
        self._settings, self._digest, self._written = tree, digest_of(text), self.config

    def _save(self, path: Path, kind: Kind, tensors: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        if self.read_only:
            return
        bound = {"settings": self._digest, "about": dict(about)}
        save_tensors(path, kind, tensors, bound, self.companion())

    def _load(self, path: Path, kind: Kind) -> tuple[Arrays, dict[str, Any]]:
        tensors, bound = load_tensors(path, kind, self.companion())
        with explain_read_errors(path):
            settings, about = bound["settings"], dict(bound["about"])
        if self.metadata.settings and settings not in self.metadata.settings:
            raise AugenmerkError(
                f"{path} belongs to a run with other settings than {_CONFIG} has; put back the file of this "
                f"run, or train it again under another --out."
            )
        return tensors, about

    def companion(self) -> bytes:
        """Returns the tokenizer files and the settings without which the weights mean nothing."""
        settings = [self._settings["text"], self._settings["model"], self._settings["train"].get("seed")]
        with explain_read_errors(self.path):
            vocabulary = b"".join(read_bytes(self.path / name) for name in _find_tokenizer_files(self.path))
        return vocabulary + json.dumps(settings, sort_keys=True).encode()


def _find_tokenizer_files(folder: Path) -> tuple[str, ...]:
    """Returns the names of the tokenizer files in a folder, in the order of `TokenizerPair.load`."""
    for names in reversed(_TOKENIZER_FILES):
        if all((folder / name).is_file() for name in names):
            return names
    return ()


def _find_missing_file(folder: Path) -> str | None:
    """Returns the name of a file that a run directory needs and the folder lacks, or None."""
    if not (folder / _CONFIG).is_file():
        return _CONFIG
    return None if _find_tokenizer_files(folder) else _TOKENIZER_FILES[0][0]


def _accepting(path: Path) -> str:
    return f"augenmerk train --resume --out {path} --accept-changes"
