"""A prepared corpus as a bitext: its validation and test pairs, which stay text.

    prepared.json           what it was made of and how, what was left out, and the checksums of all files
    vocabulary              the tokenizers
    shards                  the training pairs as ids, see `augenmerk.data.corpus`
    val.jsonl, test.jsonl   the other splits

`augenmerk.data.prepare` writes the folder, prepared.json last.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import check_format, digest_file, explain_read_errors, parse_object, read_text
from augenmerk.data import files
from augenmerk.text.pairs import Bitext, LazySplit, SentencePair

PREPARED = "prepared.json"
VOCABULARY, SHARDS, UNFINISHED = "vocabulary", "shards", ".unfinished"
FORMAT = 1
TOO_MANY_TOKENS = "too many tokens"
"""Why a pair was left out."""


def is_prepared(place: str) -> bool:
    """Returns whether the place is the folder of a prepared corpus, finished or not."""
    if place in DATASETS:
        return False
    # Not by Path, for which a name that is too long is an error.
    return os.path.isfile(f"{place}/{PREPARED}") or os.path.isdir(f"{place}/{UNFINISHED}")  # noqa: PTH112, PTH113


def read_about(folder: Path) -> dict[str, Any]:
    """Reads prepared.json; raises AugenmerkError if the corpus is not finished."""
    path = folder / PREPARED
    if not path.exists() and (folder / UNFINISHED).is_dir():
        raise AugenmerkError(
            f"{folder}: its preparation was not finished; run `augenmerk data prepare` again with the same "
            f"arguments, and it goes on."
        )
    with explain_read_errors(path):
        about = parse_object(read_text(path))
        check_format(path, about["format"], FORMAT)
        return about


def load(folder: Path, source_language: str | None = None, target_language: str | None = None) -> Bitext:
    """Opens the splits that are text; raises AugenmerkError if another direction is asked for."""
    about = read_about(folder)
    languages = about["source_language"], about["target_language"]
    for wanted, language in zip((source_language, target_language), languages, strict=True):
        if wanted not in (None, language):
            raise AugenmerkError(
                f"{folder} was prepared to translate from {languages[0]} to {languages[1]}; for another "
                f"direction, prepare the pairs again."
            )
    sums = {folder / f"{split}.jsonl": sha256 for split, sha256 in about.get("held_out", {}).items()}
    if missing := [path for path in sums if not path.exists()]:
        raise AugenmerkError(f"{missing[0]} is missing; put it back, or prepare the pairs again.")
    bitext = files.load(folder, *languages, divide=False)
    if not sums:  # it was prepared by a version that kept no checksums of these files
        return bitext
    splits = {
        path.stem: LazySplit(partial(_read_checked, bitext[path.stem], path, sha256))
        for path, sha256 in sums.items()
    }
    return replace(bitext, splits=splits)


def _read_checked(pairs: Iterable[SentencePair], path: Path, sha256: str) -> Iterator[SentencePair]:
    check_digest(path, digest_file(path), sha256)
    yield from pairs


def check_digest(path: Path, found: str, expected: str) -> None:
    """Raises AugenmerkError if the checksum of a file is not the one in prepared.json."""
    if found != expected:
        raise AugenmerkError(
            f"{path} is damaged: its checksum is not the one in prepared.json; put the file back, or prepare "
            f"the pairs again in another folder."
        )
