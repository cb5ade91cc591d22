"""A run directory holds all that is needed to translate and to continue training.

docs/reference/run-directory.md lists its files. If the process dies, each is either the old one or the new
one (see `augenmerk.base.files`). To keep the files consistent, save the state last, after the model and the
metrics: a run that is resumed from the previous state writes the same files again.

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
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tomli_w

from augenmerk import __version__
from augenmerk.base.arrays import Array, Arrays, Kind, load_tensors, read_about, save_tensors
from augenmerk.base.config import CUSTOM_ATTENTION, RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    check_format,
    digest_file,
    digest_of,
    error_reason,
    explain_read_errors,
    fsync_path,
    hold_lock,
    is_marked,
    mark,
    read_bytes,
    read_object,
    read_text,
    remove_stale_temp_files,
    replacing,
    temp_path,
    write_object,
)
from augenmerk.base.settings import MAX_SETTINGS_BYTES, parse_toml
from augenmerk.run.records import (
    FAMILIARITY,
    METRICS,
    OTHER_SCORES,
    RESULT,
    SCORES,
    RunRecords,
    warn_once,
)
from augenmerk.text.batching import Familiarity
from augenmerk.text.pairs import PairsSum
from augenmerk.text.tokenizer import TokenizerPair

FORMAT = 1
"""The format of run directories. It grows when earlier versions could no longer read them."""
MODEL = "model.safetensors"
HYPOTHESES = "hypotheses"
"""The folder of the translations in a run."""
_CONFIG, _METADATA, _STATE, _INITIAL = "config.toml", "run.json", "state.safetensors", "initial.safetensors"
_LOCK, _SCORES_LOCK, _TRAINING_MARK = ".lock", ".scores.lock", ".training"
_SCORES_LOCK_SECONDS = 60.0
"""How long to wait for the scores, which are locked for milliseconds at a time."""
_TRAINING_LOCK_SECONDS = 0.5
"""How long to wait for the lock of a training, which is released a moment after its mark."""


class RunDirectory(RunRecords):
    """One run on the disk, made by `create` or `open`."""

    def __init__(self, path: Path, *, accept_changes: bool = False) -> None:
        self.path = path
        self.version, self._known, self._code = self._read_metadata()
        text = read_text(path / _CONFIG, MAX_SETTINGS_BYTES).removeprefix("\ufeff")
        self._digest = digest_of(text)
        # As they are in the file, for checksums: a later version may have further settings.
        self._settings = parse_toml(text, str(path / _CONFIG))
        self.config = self._check_settings()
        if accept_changes:
            self._code = {name: digest_file(path / name) for name in self._code}
            self._write_metadata(self._digest)
        elif self._known and self._digest not in self._known:
            raise AugenmerkError(
                f"{path / _CONFIG}: the settings were changed after the run was created, or are damaged; "
                f"undo that, or accept it: {_accepting(path)}."
            )
        self._written = self.config  # `config` may be replaced, see `write_changes`

    def _read_metadata(self) -> tuple[str, list[str], dict[str, str]]:
        """Returns which version wrote the run, and the digests of its settings so far and of its code.

        All are empty without run.json, and then nothing is checked. Raises AugenmerkError if only another
        version can read the run.
        """
        path = self.path / _METADATA
        if not path.exists():
            return "", [], {}
        tree = read_object(path)
        with explain_read_errors(path):
            version, found, known, code = (tree[key] for key in ("version", "format", "settings", "code"))
            check_format(self.path, found, FORMAT, str(version))
            return str(version), list(known), dict(code)

    def _write_metadata(self, *digests: str) -> None:
        """Writes run.json, with further digests of settings unless nothing is checked."""
        if self._known:
            self._known = list(dict.fromkeys((*self._known, *digests)))
        self.version = __version__
        tree = {"settings": self._known, "code": self._code, "version": self.version, "format": FORMAT}
        write_object(self.path / _METADATA, tree, indent=2)

    def _check_settings(self) -> RunConfig:
        path, newer = self.path / _CONFIG, ""
        if _numbers(self.version) > _numbers(__version__):
            newer = f"{self.path} was written by augenmerk {self.version}, which is newer than this version, "
            newer += __version__
        try:
            config = RunConfig.checked(self._settings, str(path))
        except AugenmerkError as error:
            if not newer:
                raise
            raise AugenmerkError(
                f"{newer}, and has settings that it does not know ({str(error).removesuffix('.')}); "
                f"update your clone and install it again."
            ) from None
        if missing := RunConfig.model_fields.keys() - self._settings.keys():
            raise AugenmerkError(f"{path}: damaged: section [{min(missing)}] is missing.")
        if newer:
            warn_once(f"{newer}: it can be used, but results may differ slightly.")
        return config

    @classmethod
    def check_unused(cls, path: Path) -> None:
        """Raises AugenmerkError unless `path` is absent or an empty folder, where a run can be created."""
        with explain_read_errors(path):
            if path.is_dir() and not _find_missing_file(path):
                found = "is an unfinished run; continue it with --resume or choose another --out."
                if (path / RESULT).exists():
                    found = "is a finished run; choose another --out."
                elif cls.is_in_training(path):
                    found = "is being trained by another process; choose another --out."
                raise AugenmerkError(f"{path} {found}")
            # The current folder would be replaced while we are in it.
            if path.exists() and (not path.is_dir() or any(path.iterdir()) or path.samefile(Path.cwd())):
                raise AugenmerkError(
                    f"{path} is a file, the current folder, or holds something else; choose another --out."
                )

    @classmethod
    def create(
        cls,
        path: Path,
        config: RunConfig,
        tokenizers: TokenizerPair,
        code: Mapping[str, bytes] | None = None,
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
            (new / _CONFIG).write_text(config.to_toml(), encoding="utf-8", newline="\n")
            for name, content in (code or {}).items():
                (new / name).write_bytes(content)
            run = cls(new)
            run._known = [run._digest]
            run._code = {name: digest_of(content) for name, content in (code or {}).items()}
            run._write_metadata()
            if parent is not None:
                about = {"run": str(parent.path.resolve()), "sha256": parent.model_digest}
                run._save(new / _INITIAL, "model", parent.load_model(), about)
                if parent.model_digest != about["sha256"]:
                    raise AugenmerkError(
                        f"{parent.path} is being trained, and its weights were replaced just now; try again."
                    )
            if data:
                run.write_data(data)
            for file in (*new.iterdir(), new):
                fsync_path(file)
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
            if missing := _find_missing_file(path):
                raise AugenmerkError(f"{path} is not a run directory: it has no {missing}.")
        return cls(path, accept_changes=accept_changes)

    @cached_property
    def tokenizers(self) -> TokenizerPair:
        return TokenizerPair.load(self.path)

    @cached_property
    def familiarity(self) -> Familiarity:
        """Judges which sentences are unlike those that the run learnt from."""
        try:
            return Familiarity(self.tokenizers.source, self.read_familiarity())
        except (LookupError, TypeError, ValueError) as error:
            raise AugenmerkError(f"{self.path / FAMILIARITY}: damaged ({error!r}); remove it.") from None

    def read_code(self) -> bytes | None:
        """Reads the run's copy of a custom mechanism's file; None if the mechanism is a bundled one.

        Raises AugenmerkError if the copy is missing or was changed.
        """
        custom = CUSTOM_ATTENTION.fullmatch(self.config.model.attention)
        if custom is None:
            return None
        path = self.path / Path(custom["path"]).name
        if not path.is_file():
            raise AugenmerkError(f"{path} is missing: the run was trained with this code; put it back.")
        code = read_bytes(path)
        if self._code.get(path.name, digest_of(code)) != digest_of(code):
            raise AugenmerkError(
                f"{path} was changed after the run was created; put back the code with which it was trained, "
                f"or accept the change: {_accepting(self.path)}."
            )
        return code

    @staticmethod
    def is_in_training(path: Path) -> bool:
        """Returns whether a process trains the run in a folder, which need not be there. Locks nothing."""
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
        busy = f"{self.path} is being trained by another process; wait until it is done or stop it."
        with self._locked(_LOCK, _TRAINING_LOCK_SECONDS, busy), mark(self.path / _TRAINING_MARK):
            remove_stale_temp_files(self.path, MODEL, _STATE, METRICS, RESULT)
            yield

    @contextmanager
    def scoring(self) -> Iterator[None]:
        """Holds the lock of the scores, inside of which scores and translations may be read and written.

        Waits for another process that holds it. The lock is released when the process ends,
        even if it is killed.
        """
        busy = f"{self.path}: another process has been writing scores for a minute; wait for it or stop it."
        with self._locked(_SCORES_LOCK, _SCORES_LOCK_SECONDS, busy):
            remove_stale_temp_files(self.path, SCORES, OTHER_SCORES)
            remove_stale_temp_files(self.path / HYPOTHESES)
            yield

    @contextmanager
    def _locked(self, name: str, timeout: float, busy: str) -> Iterator[None]:
        with ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self.path / name, timeout))
            except TimeoutError:
                raise AugenmerkError(busy) from None
            except OSError as error:
                raise AugenmerkError(f"{self.path}: cannot be written to ({error_reason(error)}).") from None
            yield

    # Weights and states

    @property
    def model_path(self) -> Path:
        """The file of the best weights."""
        return self.path / MODEL

    @property
    def model_digest(self) -> str:
        """The SHA-256 of the file of the best weights."""
        return digest_file(self.model_path)

    def save_model(self, tensors: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        """Saves the best weights and their description. Scores of other weights are removed."""
        self._save(self.model_path, "model", tensors, about)
        for name in (SCORES, OTHER_SCORES) if not self.read_only else ():
            (self.path / name).unlink(missing_ok=True)

    def load_model(self) -> Arrays:
        """Loads the best weights; raises AugenmerkError if there are none yet."""
        if not self.model_path.exists():
            raise AugenmerkError(
                f"{self.path} has no {MODEL}: train it for at least one epoch, or put the file back."
            )
        return self._load(self.model_path, "model")[0]

    def load_initial(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Loads the weights that the run began with, and which run they are of; None if they were random."""
        return None if self.config.train.initial_run is None else self._load(self.path / _INITIAL, "model")

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
        with explain_read_errors(path):
            return dict(read_about(path, "state")["about"]) if path.exists() else {}

    def _save(self, path: Path, kind: Kind, tensors: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        if not self.read_only:
            bound = {"settings": self._digest, "about": dict(about)}
            save_tensors(path, kind, tensors, bound, self.companion())

    def _load(self, path: Path, kind: Kind) -> tuple[Arrays, dict[str, Any]]:
        tensors, bound = load_tensors(path, kind, self.companion())
        with explain_read_errors(path):
            settings, about = bound["settings"], dict(bound["about"])
        if self._known and settings not in self._known:
            raise AugenmerkError(
                f"{path} belongs to a run with other settings than {_CONFIG} has; put back the file of this "
                f"run, or train it again under another --out."
            )
        return tensors, about

    def companion(self) -> bytes:
        """Returns the tokenizer files and the settings without which the weights mean nothing."""
        settings = [self._settings["text"], self._settings["model"], self._settings["train"].get("seed")]
        vocabulary = b"".join(map(read_bytes, TokenizerPair.files(self.path)))
        return vocabulary + json.dumps(settings, sort_keys=True).encode()

    # Changed settings

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
        if self.read_only or self.config == self._written:
            return
        tree = {**self._settings}
        tree["train"] = {**tree["train"], "epochs": self.config.train.epochs}
        tree["data"] = {**tree["data"], "bitext": self.config.data.bitext}
        text = tomli_w.dumps(tree)
        self._write_metadata(self._digest, digest_of(text))
        with replacing(self.path / _CONFIG) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            fsync_path(temporary)  # on a full disk, nothing may be removed
            for name in (RESULT, SCORES, OTHER_SCORES) if self.more_epochs else ():
                (self.path / name).unlink(missing_ok=True)
        self._settings, self._digest, self._written = tree, digest_of(text), self.config


def _find_missing_file(folder: Path) -> str | None:
    """Returns the name of a file that a run directory needs and the folder lacks, or None."""
    paths = (folder / _CONFIG, *TokenizerPair.files(folder))
    return next((path.name for path in paths if not path.is_file()), None)


def _numbers(version: str) -> list[int]:
    """Returns the numbers of a version, such as [0, 1, 0]."""
    return [int(number[:9]) for number in re.findall(r"\d+", version)[:3]]


def _accepting(path: Path) -> str:
    return f"augenmerk train --resume --out {path} --accept-changes"
