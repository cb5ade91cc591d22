"""Multi30k, task 1: captions of photographs in German and English, as raw text.

The files may be used for research and teaching, not commercially. They are not part of Augenmerk: a
person fetches them, or places them by hand.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from platformdirs import user_cache_path

from augenmerk.bitext.download import UnreachableError, download, sha256_of
from augenmerk.bitext.lines import read_parallel
from augenmerk.bitext.pairs import Bitext, ReadAnew, SentencePair
from augenmerk.errors import AugenmerkError

BASE_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"

LANGUAGES = ("de", "en")

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")

SHA256 = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2018_flickr.de.gz": "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608",
    "test_2018_flickr.en.gz": "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d",
}
"""Every file with its sum."""

Progress = Callable[[str, int, int | None], None]
"""Told a file's name and how many of its bytes are there, of how many (None: not known)."""

_REQUIRED = tuple(name for name in SHA256 if name.startswith(("train.", "val.")))


def find(folder: Path | None = None) -> Path:
    """The folder with the files: the given one, or else under $AUGENMERK_DATA or in the user's cache."""
    if folder is not None:
        places = [folder, folder / "multi30k"]
        remedy = "place the files there, or give no folder after `augenmerk data fetch multi30k`"
    else:
        data = os.environ.get("AUGENMERK_DATA")
        places = [Path(data) / "multi30k"] if data else []
        places.append(_cache_folder())
        remedy = (
            f"run `augenmerk data fetch multi30k`, or place {_listed(list(_REQUIRED))} (and the test splits "
            f"you want) there by hand, or set AUGENMERK_DATA to the folder that holds multi30k/"
        )
    for place in places:
        if not _lacking(place):
            return place
    looked = " and ".join(
        f"{place} (lacks {_listed(_lacking(place))})" if place.is_dir() else f"{place} (no such folder)"
        for place in places
    )
    raise AugenmerkError(f"Multi30k was not found: looked in {looked}; {remedy}.")


def load(folder: Path | None = None) -> Bitext:
    """The splits that are there, German to English, with sentences exactly as in the files."""
    found = find(folder)
    splits: dict[str, Iterable[SentencePair]] = {}
    for name in SPLITS:
        source, target = (found / f"{name}.{language}.gz" for language in LANGUAGES)
        if source.is_file() and target.is_file():
            splits[name] = ReadAnew(partial(_read, source, target))
    return Bitext("multi30k", *LANGUAGES, splits)


def _read(source: Path, target: Path) -> Iterator[SentencePair]:
    return (SentencePair(*sentences) for sentences in read_parallel(source, target))


def verify(folder: Path | None = None, files: Mapping[str, str] = SHA256) -> None:
    """Checks the sums of the files that are there; a sentence about the first that differs."""
    found = find(folder)
    for name in files:
        path = found / name
        if path.is_file() and not _is_right(path, files[name]):
            raise AugenmerkError(
                f"{path} is damaged or not the original (its SHA-256 is not {files[name]}): "
                f"replace it with {BASE_URL}/{name}."
            )


def fetch(
    folder: Path | None = None,
    base_url: str = BASE_URL,
    progress: Progress = lambda _name, _received, _total: None,
    *,
    files: Mapping[str, str] = SHA256,
    timeout: float = 20.0,
) -> Path:
    """Downloads what is missing or damaged to `folder` (by default in the user's cache) and returns it.

    `progress` also hears of the files that were right already, as if they had arrived at once.
    """
    folder = _cache_folder() if folder is None else folder
    base_url = base_url.rstrip("/")
    missing: list[str] = []
    for name, sha256 in files.items():
        path = folder / name
        if path.is_file() and _is_right(path, sha256):
            progress(name, path.stat().st_size, path.stat().st_size)
        else:
            missing.append(name)
    for number, name in enumerate(missing):
        try:
            download(
                f"{base_url}/{name}", folder / name, files[name], partial(progress, name), timeout=timeout
            )
        except UnreachableError as error:
            raise AugenmerkError(
                f"{error.url} could not be downloaded ({error.reason}): try again when the network is there, "
                f"or place {_listed(missing[number:])} by hand in {folder}, "
                f"or set AUGENMERK_DATA to a folder that holds a complete multi30k/."
            ) from None
    return folder


def _cache_folder() -> Path:
    return user_cache_path("augenmerk") / "multi30k"


def _lacking(place: Path) -> list[str]:
    return [name for name in _REQUIRED if not (place / name).is_file()]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_right(path: Path, sha256: str) -> bool:
    try:
        return sha256_of(path) == sha256
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be read ({error.strerror or error}).") from None
