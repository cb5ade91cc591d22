"""Where sentence pairs come from: datasets that are known by name, or your own files by their path.

`session.py` has the commands of `augenmerk data` as functions, such as `augenmerk.data.check`.

May import: base, text and cluster. Read first: `__init__.py`, which opens any dataset, then `files.py`.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache, partial
from glob import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from augenmerk.base.config import DataConfig, RunConfig
from augenmerk.base.entries import DATASETS, Option, datasets_with
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings import Settings
from augenmerk.text.pairs import (
    BadLine,
    BadLineError,
    Bitext,
    LazySplit,
    Links,
    PairsSum,
    SentencePair,
    sum_pairs,
)

if TYPE_CHECKING:
    from augenmerk.data.session import check, export, fetch, list_datasets, prepare, show

_COMMANDS = ("check", "export", "fetch", "list_datasets", "prepare", "show")
"""The functions of `session.py`, imported when they are first used."""

__all__ = [
    "DATASETS",
    "GIVE_DATA",
    "NAMES",
    "PREPARED",
    "UNFINISHED",
    "BadLine",
    "BadLineError",
    "Bitext",
    "Links",
    "PairsSum",
    "SentencePair",
    "check",
    "export",
    "fetch",
    "list_datasets",
    "open_bitext",
    "prepare",
    "show",
    "sum_pairs",
]


def __getattr__(name: str) -> object:
    if name not in _COMMANDS:
        raise AttributeError(f"module 'augenmerk.data' has no attribute {name!r}")
    return getattr(import_module("augenmerk.data.session"), name)


NAMES = tuple(DATASETS)
"""The names of datasets; anything else is the path of a folder or file."""
PREPARED, UNFINISHED = "prepared.json", ".unfinished"
"""The file, or before it is written the folder, that only a prepared corpus has."""


def open_bitext(
    name: str | Path,
    *,
    pairs: int | None = None,
    seed: int | None = None,
    folder: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    skip_bad: bool = False,
    divide: bool = True,
) -> Bitext:
    """Opens a dataset by its name, or your own sentence pairs by their path.

    Your own file is divided into train, val and test, unless `divide` is False. `pairs` (the number of
    training pairs) and `seed` are for datasets that are generated, as bilderbuch is; `folder` is where the
    files of a downloaded dataset are. A folder that has the name of a dataset is opened as `./multi30k`. With
    `skip_bad`, lines without a usable pair are left out, see `Bitext.skipped`; otherwise the first of them is
    an error when it is read. Of a prepared corpus, only the splits that are text are opened, see
    `augenmerk.data.corpus` for the others.
    """
    name, place = str(name), None if folder is None else Path(folder)
    options: dict[Option, Any] = {"pairs": pairs, "seed": seed, "folder": place}
    given = {option: value for option, value in options.items() if value is not None}
    if name not in DATASETS:
        check_own(name)
    check_options(name, given)
    if name in DATASETS:
        bitext: Bitext = import_dataset(name).load(**given)
        return bitext.in_direction(source_language, target_language)
    if is_prepared(name):
        from augenmerk.data import corpus

        return corpus.load(Path(name), source_language, target_language)
    from augenmerk.data import files

    return files.load(Path(name), source_language, target_language, skip_bad=skip_bad, divide=divide)


def check_options(name: str, given: Iterable[Option]) -> None:
    """Raises AugenmerkError for options that a dataset, or your own pairs, do not take."""
    taken = DATASETS[name].options if name in DATASETS else ()
    for option in given:
        if option not in taken:
            raise AugenmerkError(f"{name} takes no option '{option}'; it is for {datasets_with(option)}.")


def import_dataset(name: str) -> ModuleType:
    """Returns the module of a dataset in the registry."""
    return import_module(f"augenmerk.data.{name}")


def dataset_options(config: DataConfig, name: str) -> dict[str, Any]:
    """Returns the settings of a dataset: the group [data.NAME], if there is one."""
    group = getattr(config, name, None) if name in DATASETS else None
    return group.model_dump() if isinstance(group, Settings) else {}


def is_prepared(path: str) -> bool:
    """Returns whether the path is the folder of a prepared corpus, finished or not."""
    # Not by Path, which raises an error if a name is too long.
    finished, unfinished = os.path.isfile(f"{path}/{PREPARED}"), os.path.isdir(f"{path}/{UNFINISHED}")  # noqa: PTH112, PTH113
    return path not in DATASETS and (finished or unfinished)


def check_own(path: str) -> None:
    """Raises AugenmerkError if nothing at this path could be your own pairs."""
    if not path.strip() or (Path(path).name == path and not path_exists(Path(path))):
        raise AugenmerkError(
            f"There is no dataset, file or folder called '{path}'; the datasets are {', '.join(DATASETS)}."
        )


EDIT_CONFIG = "set data.bitext in the run's config.toml to its new path and accept that with --accept-changes"
GIVE_DATA = "say where it is now: --data PATH"
"""The remedy if the data of a run was moved: for all commands, and for those that have --data."""


def open_data(config: DataConfig, *, if_moved: str = EDIT_CONFIG) -> Bitext:
    """Opens the bitext that the settings of a run name; `if_moved` is the remedy if nothing is there."""
    if Path(config.bitext).is_absolute() and not path_exists(Path(config.bitext)):
        raise AugenmerkError(
            f"{config.bitext}: there is no such file or folder; if the data of a run was moved, {if_moved}."
        )
    return open_bitext(
        config.bitext,
        **dataset_options(config, config.bitext),
        source_language=config.source_language,
        target_language=config.target_language,
        skip_bad=config.skip_bad,
    )


def open_data_or_bilderbuch(config: DataConfig, split: str | None) -> tuple[Bitext, str]:
    """Opens the data of a run, or bilderbuch if that is missing and the run is a German-English one.

    Returns it with the name of the split, by default the one for validation.
    """
    try:
        return open_data(config), split or config.validation
    except AugenmerkError:
        name = split or "val"
        if set(config.languages) != {"de", "en"} or name not in ("train", "val", "test"):
            raise
        source, target = config.source_language, config.target_language
        return open_bitext("bilderbuch", source_language=source, target_language=target), name


def resolve_data(config: RunConfig) -> RunConfig:
    """Returns the settings with a relative data path made absolute, seen from the current folder."""
    data = config.data.model_copy(update={"bitext": resolve_data_name(config.data.bitext, Path.cwd())})
    return config.model_copy(update={"data": data})


def resolve_data_name(name: str, folder: Path) -> str:
    """Returns the absolute path of data that `name` is the path of, relative to `folder`.

    The name of a dataset is returned unchanged, and so is a path where nothing is: `open_bitext` reports it.
    """
    path = folder / Path(name).expanduser()
    if name in DATASETS or not name.strip() or not path_exists(path):
        return name
    # Only folders are resolved: a linked file may have another ending, and the ending tells the format.
    return str(path.resolve() if path.is_dir() else path.parent.resolve() / path.name)


def path_exists(path: Path) -> bool:
    """Returns whether the path is a folder or file, or the common stem of two files of parallel text."""
    return path.exists() or any(path.parent.glob(f"{escape(path.name)}.*"))


# Splits of pairs that have none

_ONE_IN = 20
"""One source sentence in so many is held out for val, and another for test."""
_MAX_HELD_OUT = 1000


def hold_out(pairs: Iterable[SentencePair], path: Path) -> dict[str, Iterable[SentencePair]]:
    """Divides pairs that come without splits into train, val and test, by a hash of the source sentence.

    The twentieth of the sources with the lowest hashes (at most 1000 sentences) is val, the next as many
    are test, the rest is train. So a sentence that occurs twice is never both trained and tested on, the
    splits do not depend on the machine or the order of the lines, appending to the file moves few sentences
    from one split to another, and two numbers describe the splits, however long the file is.

    Finding these two numbers takes one pass over the pairs, made when a split is first used. It raises
    AugenmerkError, which names `path`, if there are fewer than 3 different sources.
    """
    find_bounds = cache(partial(_find_bounds, pairs, path))

    def read(split: str) -> Iterator[SentencePair]:
        last_val, last_test = find_bounds()
        for pair in pairs:
            value = _hash(pair.source)
            if split == ("train" if value > last_test else "test" if value > last_val else "val"):
                yield pair

    return {name: LazySplit(partial(read, name)) for name in ("train", "val", "test")}


def _find_bounds(pairs: Iterable[SentencePair], path: Path) -> tuple[int, int]:
    """Returns the highest hash in val, and the highest in test."""
    # Once this many distinct sentences were seen, the number that is held out no longer grows.
    enough = _ONE_IN * _MAX_HELD_OUT
    lowest: set[int] = set()
    bound = 2**64
    for pair in pairs:
        if (value := _hash(pair.source)) < bound:
            lowest.add(value)
            if len(lowest) == 2 * enough:
                lowest = set(sorted(lowest)[:enough])
                bound = max(lowest)
    if len(lowest) < 3:
        raise AugenmerkError(
            f"{path}: too little to divide into train, val and test; "
            f"expected at least 3 different source sentences, but found {len(lowest)}."
        )
    held_out = min(_MAX_HELD_OUT, max(1, len(lowest) // _ONE_IN))
    ranked = sorted(lowest)
    return ranked[held_out - 1], ranked[2 * held_out - 1]


def _hash(sentence: str) -> int:
    return int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8).digest(), "big")
