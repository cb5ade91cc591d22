"""Writes sentence pairs to files that other tools, and `augenmerk.data.files`, can read.

All files are first written completely under temporary names beside their final ones. Then they are renamed,
one after another, under a lock. So a file is never half written, exports into one folder do not mix, and a
killed export can be repeated: files that already have the right content are no obstacle. Old files are
removed before the first renaming: a process that is killed there leaves files missing, but never mixes two
exports.
"""

import filecmp
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    error_reason,
    fsync_path,
    hold_lock,
    remove,
    remove_stale_temp_files,
    temp_path,
)
from augenmerk.text.pairs import MAX_LINE_BYTES, SentencePair, is_blank
from augenmerk.text.words import split_words

Format = Literal["text", "tsv", "jsonl"]

_ALREADY_THERE = "{} is already there; pass --overwrite, or choose another folder."
_LOCK = ".export.lock"
_LOCK_TIMEOUT = 60.0
"""Seconds to wait while other processes rename their files."""


def write_splits(
    splits: Mapping[str, Iterable[SentencePair]],
    folder: Path,
    source_language: str,
    target_language: str,
    *,
    format: Format,  # noqa: A002 (the flag is called --format)
    align: bool = False,
    tokenized: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Writes each split to `split.de` and `split.en`, `split.tsv` or `split.jsonl`; returns the paths.

    Sentences are written as they are or, with `tokenized`, as their words with single spaces between them,
    so that tools which split at white space count words as the links do. `align` adds `split.align` in
    Pharaoh format (`0-0 1-2`, a line for each pair). JSON lines always hold links and tags.

    The files appear when the last pair is written. Raises AugenmerkError if one of them exists with other
    content and `overwrite` is not set, or if a pair could not be read back unchanged (a tab in TSV, a line
    break in text).
    """
    if format == "text" and source_language == target_language:
        raise AugenmerkError(
            f"'{source_language}' to itself needs --format tsv or jsonl: the two files have one name."
        )
    suffixes = [source_language, target_language] if format == "text" else [format]
    suffixes += ["align"] if align else []
    paths = [folder / f"{split}.{suffix}" for split in splits for suffix in suffixes]
    if paths and all(path.exists() for path in paths) and not overwrite:
        raise AugenmerkError(_ALREADY_THERE.format(paths[0]))
    is_new = not folder.exists()
    # The number of the process is not enough: two of its threads may export into the folder.
    own = threading.get_ident()
    temporary = {path: temp_path(path.with_name(f"{path.name}-{own}")) for path in paths}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_stale_temp_files(folder)
        for split, pairs in splits.items():
            files = [temporary[folder / f"{split}.{suffix}"] for suffix in suffixes]
            _write_split(map(_tokenize, pairs) if tokenized else pairs, files, split, format, align)
        with hold_lock(folder / _LOCK, _LOCK_TIMEOUT):
            try:
                for path, written in temporary.items():
                    if not overwrite and path.exists() and not filecmp.cmp(path, written, shallow=False):
                        raise AugenmerkError(_ALREADY_THERE.format(path))
                # Killed from here on, the folder lacks files, but never mixes those of two exports.
                for path in paths if overwrite else ():
                    remove(path)
                fsync_path(folder)
                for path, written in temporary.items():
                    written.replace(path)
                fsync_path(folder)
            finally:
                remove(folder / _LOCK)
    except OSError as error:
        raise AugenmerkError(f"{folder}: cannot be written to ({error_reason(error)}).") from None
    finally:
        for written in temporary.values():
            remove(written)
        if is_new:
            with suppress(OSError):  # it is no longer empty, unless the export failed
                folder.rmdir()
    return paths


def _write_split(
    pairs: Iterable[SentencePair],
    paths: Sequence[Path],
    split: str,
    format: Format,  # noqa: A002
    align: bool,
) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("wb")) for path in paths]
        number = 0
        for number, pair in enumerate(pairs, 1):
            try:
                lines = _format_lines(pair, format, align, first=number == 1)
            except ValueError as error:
                raise AugenmerkError(f"Pair {number} of '{split}' cannot be exported: {error}.") from None
            for stream, line in zip(streams, lines, strict=True):
                stream.write(line)
        for stream in streams:  # before any file gets its name, which must not fail half-way
            stream.flush()
            os.fsync(stream.fileno())
    if number == 0:
        raise AugenmerkError(f"There are no pairs in '{split}' to export.")


def _tokenize(pair: SentencePair) -> SentencePair:
    """Returns the pair with spaces between all words; their indices, and so the links, stay the same."""
    return replace(pair, source=" ".join(split_words(pair.source)), target=" ".join(split_words(pair.target)))


def _format_lines(pair: SentencePair, format: Format, align: bool, *, first: bool) -> list[bytes]:  # noqa: A002
    """Returns a line for each file. Raises ValueError if the pair would not be read back as it is."""
    for side, sentence in (("source", pair.source), ("target", pair.target)):
        if is_blank(sentence):
            raise ValueError(f"its {side} sentence is empty")
    if bad_link := pair.describe_bad_link():
        raise ValueError(bad_link)
    lines = [pair.source, pair.target]
    if format == "jsonl":
        # These keys, and not language codes, because they also give the direction.
        entry: dict[str, object] = {"source": pair.source, "target": pair.target}
        if pair.alignment is not None:
            entry["alignment"] = pair.alignment
        if pair.tags:
            entry["tags"] = pair.tags
        lines = [json.dumps(entry, ensure_ascii=False)]
    elif format == "tsv":
        if "\t" in pair.source + pair.target:
            raise ValueError("TSV cannot hold a sentence with a tab inside; use --format text or jsonl")
        lines = [f"{pair.source}\t{pair.target}"]
    for line in lines:
        # `read_lines` would take these for the end of a line, or for the mark at the beginning of a file.
        if "\n" in line or line.endswith("\r") or (first and line.startswith("\ufeff")):
            what = "a byte order mark" if line.startswith("\ufeff") else "a line break"
            raise ValueError(f"{format} cannot hold a sentence with {what}; use --format jsonl")
    if align:
        if pair.alignment is None:
            raise ValueError("it has no word alignment, which --align asks for")
        lines.append(" ".join(f"{i}-{j}" for i, j in pair.alignment))
    try:
        encoded = [f"{line}\n".encode() for line in lines]
    except UnicodeEncodeError:
        raise ValueError("it has a lone surrogate, which is not a character") from None
    if max(map(len, encoded)) > MAX_LINE_BYTES:
        raise ValueError(f"it needs a line of more than {MAX_LINE_BYTES:,} bytes, which is not read again")
    return encoded
