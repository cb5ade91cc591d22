"""Multi30k, task 1: captions of photographs in German and English, as raw text.

The files may be used for research and teaching, not commercially. They are not part of Augenmerk:
download them with `augenmerk data fetch multi30k`, or place them by hand.

A download goes to a temporary file. Only if its SHA-256 is right does it get the file's name, in one step:
there is never half a file under that name. Files that are complete are not downloaded again.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from augenmerk.base.errors import AugenmerkError
from augenmerk.data.files import read_parallel
from augenmerk.text.pairs import Bitext, LazySplit, SentencePair

BASE_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
LANGUAGES = ("de", "en")
SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")

_SUMS = resources.files(__package__).joinpath("multi30k.sha256").read_text(encoding="ascii")
SHA256 = {name: sha256 for sha256, name in (line.split() for line in _SUMS.splitlines())}
"""The SHA-256 of every file."""

_CHUNK_BYTES = 1 << 16

OnProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes received so far, and their total (None if unknown)."""


def find(folder: Path | None = None) -> Path:
    """Returns the folder with the files: the given one, or under $AUGENMERK_DATA, or the user's cache."""
    if folder is not None:
        paths = [folder, folder / "multi30k"]
        remedy = "place the files there, or give no folder after `augenmerk data fetch multi30k`"
    else:
        data = os.environ.get("AUGENMERK_DATA")
        paths = [*([Path(data) / "multi30k"] if data else []), _cache_folder()]
        remedy = (
            "run `augenmerk data fetch multi30k`, or place the files there by hand, or set AUGENMERK_DATA to "
            "the folder that holds multi30k/"
        )
    searched = []
    for path in paths:
        missing = [
            name for name in SHA256 if name.startswith(("train.", "val.")) and not (path / name).is_file()
        ]
        if not missing:
            return path
        searched.append(f"{path} (lacks {', '.join(missing)})")
    raise AugenmerkError(f"Multi30k was not found: looked in {' and '.join(searched)}; {remedy}.")


def load(folder: Path | None = None) -> Bitext:
    """Opens the splits that are on this machine, German to English, with sentences as in the files."""
    found = find(folder)
    splits: dict[str, Iterable[SentencePair]] = {}
    files: dict[str, tuple[Path, Path]] = {}
    for name in SPLITS:
        source, target = (found / f"{name}.{language}.gz" for language in LANGUAGES)
        if source.is_file() and target.is_file():
            splits[name] = LazySplit(partial(read_parallel, source, target))
            files[name] = source, target
    return Bitext("multi30k", *LANGUAGES, splits, files=files)


def _cache_folder() -> Path:
    return user_cache_path("augenmerk") / "multi30k"


def fetch(
    folder: Path | None = None,
    base_url: str = BASE_URL,
    on_progress: OnProgress = lambda _name, _received, _total: None,
    *,
    files: Mapping[str, str] = SHA256,
    timeout: float = 20.0,
    retries: int = 2,
) -> Path:
    """Downloads files that are missing or damaged to `folder` (the user's cache by default) and returns it.

    A server that is silent for `timeout` seconds counts as a broken connection.
    """
    import pooch  # type: ignore[import-untyped]
    import requests

    folder = _cache_folder() if folder is None else folder
    if not base_url.startswith(("http://", "https://")):
        raise AugenmerkError(
            f"{base_url[:100]!r} is not an address to fetch from; it should be like https://example.org/multi30k."
        )

    def download(url: str, output: str, _cache: Any) -> None:
        received, name = 0, url.rpartition("/")[2]
        with requests.get(url, stream=True, timeout=timeout) as response, Path(output).open("wb") as file:
            response.raise_for_status()
            total = int(response.headers.get("content-length", 0))
            for chunk in response.iter_content(_CHUNK_BYTES):
                received += file.write(chunk)
                on_progress(name, received, total or None)

    pooch.get_logger().setLevel("ERROR")
    cache = pooch.create(folder, f"{base_url.rstrip('/')}/", registry=files, retry_if_failed=retries)
    for name in files:
        url, path = cache.get_url(name), folder / name
        try:
            cache.fetch(name, downloader=download)
            path.chmod(0o644)  # a temporary file is private, but others may share this folder
            on_progress(name, path.stat().st_size, path.stat().st_size)
        except requests.RequestException as error:
            raise AugenmerkError(
                f"{url[:200]} could not be downloaded ({_explain(error)}): check the address and "
                f"the network and try again, or place the files by hand in {folder}, or set AUGENMERK_DATA "
                f"to a folder that holds a complete multi30k/."
            ) from None
        except OSError as error:
            raise AugenmerkError(
                f"{path}: cannot be written ({error.strerror or error}); make room or choose another folder."
            ) from None
        except ValueError:
            raise AugenmerkError(
                f"{url} is not the file it should be (its SHA-256 is not {files[name]}), so it was not kept; "
                f"look at the address in a browser: a network's login page may have come instead."
            ) from None
    return folder


def _explain(error: BaseException) -> str:
    """Returns why a download failed, without the class names and addresses that the libraries add."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return getattr(error, "strerror", None) or str(error)
