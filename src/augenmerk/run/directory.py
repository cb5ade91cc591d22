"""A run directory holds all that is needed to translate and to continue training.

    config.toml        the settings, with their SHA-256 in the first line, and which version wrote them
    tokenizer.json     the vocabulary; tokenizer.source.json and tokenizer.target.json where there are two
    model.safetensors  the best weights so far
    metrics.jsonl      a line per epoch
    state.safetensors  what is needed to resume: weights, moments, averages, random state, progress
    initial.safetensors  only in a run that began with the weights of another one: these, and which run it was
    data.json          how many pairs it learns from and is validated on, and their checksums
    familiarity.json   how often each source token occurred, to tell text that is unlike the training data
    result.json        the summary; a run that has it is finished
    mine.py            the code of a custom attention mechanism; config.toml has its SHA-256
    scores.json        the scores of `augenmerk evaluate`
    other_scores.json  its scores by MBR, in an ensemble with other runs, on other data, and of other systems
    hypotheses         the translations that the scores are about

If the process dies, each file is still either the old one or the new one (see
`augenmerk.base.files`). To keep the files consistent, save the state last, after the model and the metrics: a
run that is resumed from the previous state writes the same files again.

Settings, vocabulary, weights and state are bound to each other by checksums, so that a damaged file or one of
another run is noticed. Whoever edits config.toml on purpose removes its first line; then only the settings
without which the weights mean nothing must still be the same: [text], [model] and train.seed.

Loading executes no code: there is only TOML, JSON and safetensors.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tomli_w

from augenmerk.base.arrays import Array
from augenmerk.base.config import CUSTOM_ATTENTION, RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    atomic_write,
    digest_file,
    error_reason,
    explain_read_errors,
    fsync_path,
    parse_object,
    read_bytes,
    read_text,
    remove_stale_temp_files,
    replacing,
    temp_path,
)
from augenmerk.base.settings_file import SettingsFile, add_comments, digest_of, with_digest
from augenmerk.base.tensors import Arrays, Kind, load_tensors, read_about, save_tensors
from augenmerk.text.pairs import PairsSum
from augenmerk.text.tokenizer import TokenizerPair

_CONFIG, MODEL, _STATE = "config.toml", "model.safetensors", "state.safetensors"
_INITIAL = "initial.safetensors"
_METRICS, _RESULT, _SCORES = "metrics.jsonl", "result.json", "scores.json"
_OTHER_SCORES, _FAMILIARITY, _DATA = "other_scores.json", "familiarity.json", "data.json"
_LOCK, _SCORES_LOCK, _TRAINING_MARK = ".lock", ".scores.lock", ".training"
_LOCK_TIMEOUT = 60.0  # seconds; the scores are locked for milliseconds at a time
_TRAINING_LOCK_TIMEOUT = 0.5  # the mark of a training is gone a moment before its lock
HYPOTHESES = "hypotheses"
"""The folder of the translations in a run."""
_BOUND: dict[str, Kind] = {_INITIAL: "model", MODEL: "model", _STATE: "state"}
"""The files of tensors, which are bound to the settings."""
_TOKENIZER_FILES = (("tokenizer.json",), ("tokenizer.source.json", "tokenizer.target.json"))


SHIPPED = Path(__file__).parents[1] / "models" / "multi30k-de-en"
"""The run that comes with the package; its MODEL_CARD.md describes it."""


def copy_shipped(folder: Path) -> "RunDirectory":
    """Copies the run that comes with the package into a folder, where scores can be kept, and opens it.

    A copy that is already there is opened as it is.
    """
    place = folder / SHIPPED.name
    if not place.exists():
        new = temp_path(place.resolve())
        try:
            shutil.copytree(SHIPPED, new)
            new.rename(place)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            if not place.exists():  # unless another process was faster
                raise AugenmerkError(
                    f"{place}: the shipped model cannot be copied there ({error_reason(error)})."
                ) from None
    run = RunDirectory.open(place)
    with explain_read_errors(run.model_path):
        if run.model_path.read_bytes() != (SHIPPED / MODEL).read_bytes():
            raise AugenmerkError(f"{place} is not the shipped model but another run; move it away.")
    return run


class RunDirectory:
    """One run on the disk, made by `create` or `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file = SettingsFile.read(path / _CONFIG)
        self.config = file.config
        self._written = self.config  # `config` may be replaced, see `write_changes`
        self.version = file.version
        """The version of augenmerk that wrote the settings; None if none was recorded."""
        self.read_only = False
        """Whether locking and writing the run is left to another process of the same training."""
        self._settings, self._settings_digest, self._edited = file.tree, file.digest, file.edited
        self._code_digests = file.code_digests
        if missing := RunConfig.model_fields.keys() - self._settings.keys():
            raise AugenmerkError(f"{path / _CONFIG}: damaged, because it has no [{min(missing)}].")

    @classmethod
    def check_unused(cls, path: Path) -> None:
        """Raises AugenmerkError unless `path` is absent or an empty folder, where a run can be created."""
        with explain_read_errors(path):
            if path.is_dir():
                if not _find_missing_file(path):
                    if (path / _RESULT).exists():
                        raise AugenmerkError(f"{path} is a finished run; choose another --out.")
                    if cls.is_in_training(path):
                        raise AugenmerkError(
                            f"{path} is being trained by another process; choose another --out."
                        )
                    raise AugenmerkError(
                        f"{path} is an unfinished run; go on with --resume or choose another --out."
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

        It begins with a copy of the weights of `parent`, if there is one. `data` is what it has used of its
        pairs already, for the vocabulary.
        """
        place = path.resolve()
        new = temp_path(place)
        try:
            cls.check_unused(path)
            shutil.rmtree(new, ignore_errors=True)  # left by a killed process with the same id
            new.mkdir(parents=True)
            tokenizers.save(new)
            files = extra_files or {}
            digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
            settings = with_digest(add_comments(config.to_toml(), digests))
            (new / _CONFIG).write_text(settings, encoding="utf-8", newline="\n")
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
            if place.exists():
                place.rmdir()  # it is empty, or this fails; not every system renames onto an empty folder
            new.rename(place)
            fsync_path(place.parent)
            # Only now is it certain that no other process is creating the same run.
            remove_stale_temp_files(place.parent, place.name)
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
    def open(cls, path: Path) -> Self:
        """Opens the run in a folder, finished or not; raises AugenmerkError if there is none."""
        with explain_read_errors(path):
            if not path.exists():
                raise AugenmerkError(f"{path}: there is no such run directory.")
            if not path.is_dir():
                raise AugenmerkError(f"{path} is a file; expected a run directory.")
            if missing := _find_missing_file(path):
                raise AugenmerkError(f"{path} is not a run directory: it has no {missing}.")
        return cls(path)

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
        recorded = self._code_digests.get(path.name)
        if recorded not in (None, hashlib.sha256(code).hexdigest()) and not self._edited:
            raise AugenmerkError(
                f"{path} was changed after the run was created; put back the code with which it was trained, "
                f"or, if you accept the change, remove the first line of {_CONFIG}."
            )
        return code

    @property
    def model_path(self) -> Path:
        """The file of the best weights."""
        return self.path / MODEL

    @property
    def finished(self) -> bool:
        return (self.path / _RESULT).exists()

    @staticmethod
    def is_in_training(path: Path) -> bool:
        """Returns whether a process trains the run in a folder, which need not be there. Locks nothing."""
        from augenmerk.base.locks import is_marked

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
        from augenmerk.base.locks import mark

        busy = f"{self.path} is being trained by another process; wait until it is done or stop it."
        with self._locked(_LOCK, _TRAINING_LOCK_TIMEOUT, busy), mark(self.path / _TRAINING_MARK):
            remove_stale_temp_files(self.path, MODEL, _STATE, _METRICS, _RESULT)
            yield

    @contextmanager
    def scoring(self) -> Iterator[None]:
        """Holds the lock of the scores, inside of which scores and translations may be read and written.

        Waits for another process that holds it. The lock is released when the process ends,
        even if it is killed.
        """
        busy = f"{self.path}: another process has been writing scores for a minute; wait for it or stop it."
        with self._locked(_SCORES_LOCK, _LOCK_TIMEOUT, busy):
            remove_stale_temp_files(self.path, _SCORES, _OTHER_SCORES)
            remove_stale_temp_files(self.path / HYPOTHESES)
            yield

    @contextmanager
    def _locked(self, name: str, timeout: float, busy: str) -> Iterator[None]:
        from augenmerk.base.locks import hold_lock  # here, because reading a run needs no lock

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
        for name in (_SCORES, _OTHER_SCORES) if not self.read_only else ():
            (self.path / name).unlink(missing_ok=True)

    def load_model(self) -> Arrays:
        """Loads the best weights; raises AugenmerkError if there are none yet."""
        if not self.model_path.exists():
            if self.finished or self.read_metrics():
                raise AugenmerkError(
                    f"{self.model_path} is missing, although the run was trained; put it back, or train the "
                    f"run anew under another --out."
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
        """Whether `config` names another place of the data than the file of settings does."""
        return self.config.data.bitext != self._written.data.bitext

    def write_changes(self) -> None:
        """Writes the number of epochs and the place of the data, if those of `config` were replaced.

        If the run gets more epochs, its summary and its scores are removed, because they are about the
        weights so far. A process that dies in between leaves a run that can be opened, with the old settings
        or with the new ones: first all weights are bound to both, then the settings are replaced. Must be
        called while the run is locked for training.
        """
        epochs, place = self.config.train.epochs, self.config.data.bitext
        more_epochs = epochs != self._written.train.epochs
        if self.read_only or not (more_epochs or self.data_moved):
            return
        train = {**self._settings["train"], "epochs": epochs}
        tree = {**self._settings, "data": {**self._settings["data"], "bitext": place}, "train": train}
        settings = add_comments(tomli_w.dumps(tree), self._code_digests)
        digest = digest_of(settings)
        for name, kind in _BOUND.items():
            if (path := self.path / name).exists():
                tensors, about = self._load(path, kind)
                bound = {"settings": [self._settings_digest, digest], "about": about}
                save_tensors(path, kind, tensors, bound, self.companion())
        with replacing(self.path / _CONFIG) as temporary:
            temporary.write_text(with_digest(settings), encoding="utf-8", newline="\n")
            fsync_path(temporary)  # on a full disk, nothing may be removed
            for name in (_RESULT, _SCORES, _OTHER_SCORES) if more_epochs else ():
                (self.path / name).unlink(missing_ok=True)
        self._settings, self._settings_digest, self._edited = tree, digest, False
        self._written = self.config

    def _save(self, path: Path, kind: Kind, tensors: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        if self.read_only:
            return
        bound = {"settings": self._settings_digest, "about": dict(about)}
        save_tensors(path, kind, tensors, bound, self.companion())

    def _load(self, path: Path, kind: Kind) -> tuple[Arrays, dict[str, Any]]:
        tensors, bound = load_tensors(path, kind, self.companion())
        with explain_read_errors(path):
            settings, about = bound["settings"], dict(bound["about"])
        # Two after the number of epochs was changed, see `change_epochs`.
        digests = settings if isinstance(settings, list) else [settings]
        if self._settings_digest not in digests and not self._edited:
            raise AugenmerkError(
                f"{path} belongs to a run with other settings than {_CONFIG} has; "
                f"put back the file of this run, or train it anew under another --out."
            )
        return tensors, about

    def write_metrics(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes the metrics of all epochs so far. Numbers that JSON does not have (NaN) become null."""
        self._write(_METRICS, "".join(_strict_json(epoch) + "\n" for epoch in history))

    def read_metrics(self) -> list[dict[str, Any]]:
        path, metrics = self.path / _METRICS, []
        if path.exists():
            for number, line in enumerate(read_text(path).split("\n"), 1):
                with explain_read_errors(path, f", line {number}"):
                    metrics += [parse_object(line)] if line else []
        return metrics

    def finish(self, result: Mapping[str, Any]) -> None:
        """Writes the summary, which makes the run a finished one."""
        self._write(_RESULT, _strict_json(result, indent=2) + "\n")

    @property
    def result(self) -> dict[str, Any] | None:
        """The summary; None if the run is not finished."""
        path = self.path / _RESULT
        if not path.exists():
            return None
        with explain_read_errors(path):
            return parse_object(read_text(path))

    def write_data(self, sums: Mapping[str, PairsSum]) -> None:
        """Writes what the pairs of each split are that the run has used."""
        self._write(_DATA, _format_sums(sums))

    def read_data(self) -> dict[str, PairsSum]:
        """Reads what `write_data` wrote; of a run that has none, what its state says about training pairs."""
        path = self.path / _DATA
        if path.exists():
            with explain_read_errors(path):
                found = parse_object(read_text(path))
                return {
                    split: PairsSum(int(each["pairs"]), str(each["sha256"])) for split, each in found.items()
                }
        saved = self.load_state()
        sha256 = saved[1].get("pairs_sha256") if saved else None
        return {self.config.data.train: PairsSum(0, sha256)} if sha256 else {}

    def write_familiarity(self, learnt: Mapping[str, Any]) -> None:
        """Writes what `augenmerk.text.familiarity.learn` returned."""
        self._write(_FAMILIARITY, _strict_json(learnt) + "\n")

    def read_familiarity(self) -> dict[str, Any] | None:
        """Reads what `write_familiarity` wrote; None for a run that has it not."""
        path = self.path / _FAMILIARITY
        if not path.exists():
            return None
        with explain_read_errors(path):
            return parse_object(read_text(path))

    def write_scores(self, scores: Sequence[Mapping[str, Any]], *, other: bool = False) -> None:
        """Writes all scores. To change some of them, read and write inside of `scoring`."""
        self._write(_OTHER_SCORES if other else _SCORES, _strict_json(scores, indent=2) + "\n")

    def read_scores(self, *, other: bool = False) -> list[dict[str, Any]]:
        """Reads the scores of the run by itself, or its `other` scores (see above)."""
        path = self.path / (_OTHER_SCORES if other else _SCORES)
        if not path.exists():
            return []
        with explain_read_errors(path):
            return [dict(entry) for entry in json.loads(read_text(path))]

    def _write(self, name: str, content: str) -> None:
        if self.read_only:
            return
        # Half a surrogate pair, as in a folder's name that is not UTF-8, is written as a JSON escape.
        atomic_write(self.path / name, [content.encode("utf-8", "backslashreplace")])

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


def _format_sums(sums: Mapping[str, PairsSum]) -> str:
    return _strict_json({split: each._asdict() for split, each in sums.items()}, indent=2) + "\n"


def _strict_json(value: object, indent: int | None = None) -> str:
    return json.dumps(without_nan(value), indent=indent, ensure_ascii=False, allow_nan=False)


def without_nan(value: object) -> object:
    """Returns data for JSON with null for the numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
