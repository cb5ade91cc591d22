"""Where sentence pairs come from: built-in datasets by name, or a person's own files by their path.

May import: base, text and cluster. Read first: `__init__.py`, which opens any dataset, then `files.py`.
"""

from glob import escape
from pathlib import Path

from augenmerk.base.config import DATASETS, DataConfig, RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.text.pairs import (
    BadLine,
    BadLineError,
    Bitext,
    Links,
    PairsSum,
    SentencePair,
    WatchedPairs,
    sum_pairs,
)

__all__ = [
    "NAMES",
    "SAY_PLACE",
    "BadLine",
    "BadLineError",
    "Bitext",
    "Links",
    "PairsSum",
    "SentencePair",
    "WatchedPairs",
    "check_own",
    "open_bitext",
    "open_data",
    "open_data_or_bilderbuch",
    "place_exists",
    "resolve_data",
    "resolve_data_name",
    "sum_pairs",
]

NAMES = DATASETS
"""The datasets that are known by name; anything else is the path of a folder or file."""


def open_bitext(
    place: str,
    *,
    pairs: int | None = None,
    seed: int = 1,
    folder: Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    skip_bad: bool = False,
    divide: bool = True,
) -> Bitext:
    """Opens a dataset by its name, or a person's own sentence pairs by their path.

    A file of a person's own is divided into train, val and test, unless `divide` is False. `pairs` (the
    number of training pairs) and `seed` are used by bilderbuch, which is generated; `folder` is where the
    files of multi30k are. A folder that has the name of a dataset is opened as `./multi30k`. With
    `skip_bad`, lines of a person's own files that hold no usable pair are left out, see `Bitext.skipped`;
    otherwise reading ends at the first of them with an error. Of a prepared corpus, only the splits that are
    text are opened, see `augenmerk.data.corpus` for the others.
    """
    if place == "bilderbuch":
        from augenmerk.data import bilderbuch

        return _in_direction(bilderbuch.load(pairs, seed), source_language, target_language)
    if place == "multi30k":
        from augenmerk.data import multi30k

        return _in_direction(multi30k.load(folder), source_language, target_language)
    check_own(place)
    from augenmerk.data import files, prepared

    if prepared.is_prepared(place):
        return prepared.load(Path(place), source_language, target_language)
    return files.load(Path(place), source_language, target_language, skip_bad=skip_bad, divide=divide)


def check_own(place: str) -> None:
    """Raises AugenmerkError if there is nothing that could be a person's own pairs at this place."""
    if Path(place).name == place and Path(place).suffix and not place_exists(Path(place)):
        raise AugenmerkError(f"{place}: there is no such file.")
    if not place.strip() or (Path(place).name == place and not place_exists(Path(place))):
        raise AugenmerkError(
            f"There is no bitext called '{place}': known by name are {' and '.join(NAMES)}; "
            f"for sentence pairs of your own, give their folder or file."
        )


SET_PLACE = "set data.bitext in the run's config.toml to its new path and accept that with --accept-changes"
SAY_PLACE = "say where it is now: --data PLACE"
"""What to do if the data of a run was moved: for every command, and for those that have --data."""


def open_data(config: DataConfig, *, if_moved: str = SET_PLACE) -> Bitext:
    """Opens the bitext that the settings of a run name; `if_moved` says what to do if nothing is there."""
    if Path(config.bitext).is_absolute() and not place_exists(Path(config.bitext)):
        raise AugenmerkError(
            f"{config.bitext}: there is no such file or folder; if the data of a run was moved, {if_moved}."
        )
    return open_bitext(
        config.bitext,
        pairs=config.bilderbuch.pairs,
        seed=config.bilderbuch.seed,
        source_language=config.source_language,
        target_language=config.target_language,
        skip_bad=config.skip_bad,
    )


def open_data_or_bilderbuch(config: DataConfig, split: str | None) -> tuple[Bitext, str]:
    """Opens the data of a run, or bilderbuch if that is not there and the run is a German-English one.

    Returns it with the name of the split, by default the one for validation.
    """
    try:
        return open_data(config), split or config.validation
    except AugenmerkError:
        source, target = config.source_language, config.target_language
        german = config.bitext in NAMES or {source, target} == {"de", "en"}
        name = split or "val"
        if not german or name not in ("train", "val", "test"):
            raise
        return open_bitext("bilderbuch", source_language=source, target_language=target), name


def resolve_data(config: RunConfig) -> RunConfig:
    """Returns the settings with a relative data path made absolute, seen from the current folder."""
    data = config.data.model_copy(update={"bitext": resolve_data_name(config.data.bitext, Path.cwd())})
    return config.model_copy(update={"data": data})


def resolve_data_name(name: str, folder: Path) -> str:
    """Returns the absolute path of data that `name` is the path of, relative to `folder`.

    The name of a dataset is returned as it is. So is a path where nothing is, for `open_bitext` to refuse.
    """
    path = folder / Path(name).expanduser()
    if name in NAMES or not name.strip() or not place_exists(path):
        return name
    # Only folders are resolved: a linked file may have another ending, and the ending tells the format.
    return str(path.resolve() if path.is_dir() else path.parent.resolve() / path.name)


def place_exists(path: Path) -> bool:
    """Returns whether the path is a folder or file, or the common stem of two files of parallel text."""
    return path.exists() or any(path.parent.glob(f"{escape(path.name)}.*"))


def _in_direction(bitext: Bitext, source_language: str | None, target_language: str | None) -> Bitext:
    """Returns the bitext, reversed if the languages ask for the other direction."""
    languages = (bitext.source_language, bitext.target_language)
    wanted = (source_language, target_language)
    if all(want in (None, language) for want, language in zip(wanted, languages, strict=True)):
        return bitext
    if all(want in (None, language) for want, language in zip(wanted, reversed(languages), strict=True)):
        return bitext.reversed()
    raise AugenmerkError(
        f"{bitext.name} is in {languages[0]} and {languages[1]}; "
        f"it has no way from {source_language or 'there'} to {target_language or 'there'}."
    )
