"""Writes sentence pairs to files that other tools, and `augenmerk.data.files`, can read.

An export is written into a folder under a temporary name. If the folder that it is for is new, one renaming
puts it there. If there is such a folder, the temporary one is first renamed to `.export.ready` inside it, and
then the files are moved one by one. If the process is killed meanwhile, the next export into the folder
finishes the moving; reading the folder moves nothing and finds the files where they are (`list_files`).
"""

import json
import os
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import remove_abandoned, remove_folder, temp_path
from augenmerk.base.locks import hold_lock
from augenmerk.text.pairs import MAX_LINE_BYTES, SentencePair, is_blank
from augenmerk.text.words import split_words

Format = Literal["text", "tsv", "jsonl"]

_READY, _NAMES, _LOCK = ".export.ready", ".names.json", ".export.lock"


def export(
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

    The files appear when the last pair is written, all of them or none, also if several processes export
    into one folder. Raises AugenmerkError if a pair could not be read back as it was (a tab in TSV, a line
    break in text).
    """
    if format == "text" and source_language == target_language:
        raise AugenmerkError(
            f"'{source_language}' to itself needs --format tsv or jsonl: the two files have one name."
        )
    suffixes = {"text": [source_language, target_language], "tsv": ["tsv"], "jsonl": ["jsonl"]}[format]
    suffixes += ["align"] if align else []
    names = [f"{split}.{suffix}" for split in splits for suffix in suffixes]
    try:
        replaceable = {*names} if overwrite else finish_interrupted_export(folder)
        _refuse_existing(folder, names, replaceable)
        with _temporary_folder(folder) as temporary:
            for split, pairs in splits.items():
                paths = [temporary / f"{split}.{suffix}" for suffix in suffixes]
                _write_split(map(_tokenize, pairs) if tokenized else pairs, paths, split, format, align)
            _publish(temporary, folder, names, replaceable)
    except OSError as error:
        raise AugenmerkError(f"{folder}: cannot be written to ({error.strerror or error}).") from None
    return [folder / name for name in names]


def finish_interrupted_export(folder: Path) -> set[str]:
    """Moves the files of an export that was killed to their places; returns all names of that export."""
    if not (folder / _READY).is_dir():
        return set()
    with _lock(folder):
        return _move_ready_files(folder)


def list_files(folder: Path) -> list[Path]:
    """Returns what is in a folder, ordered by name, with the files of an interrupted export in their places.

    So a reader finds all files of the export or none, and writes nothing.
    """
    found = {path.name: path for path in folder.iterdir()}
    for name in _read_names(folder):
        # It is moved in this direction only: if it is no longer ready, it is in its place.
        ready = folder / _READY / name
        found[name] = ready if ready.is_file() else folder / name
    return [found[name] for name in sorted(found)]


def _refuse_existing(folder: Path, names: Iterable[str], replaceable: Collection[str]) -> None:
    for name in names:
        if name not in replaceable and (folder / name).exists():
            raise AugenmerkError(
                f"{folder / name} is already there; pass --overwrite, or choose another folder."
            )


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """Yields a folder of this process alone, on the same file system as `folder`, and then removes it."""
    parent = folder if folder.is_dir() else folder.parent
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent)
    # The number of the process is not enough: two threads of it may export into the folder.
    temporary = temp_path(parent / f"export-{uuid.uuid4().hex[:8]}")
    temporary.mkdir()
    try:
        yield temporary
    finally:
        with suppress(OSError):
            remove_folder(temporary)


def _write_split(
    pairs: Iterable[SentencePair],
    paths: list[Path],
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
        if number == 0:
            raise AugenmerkError(f"There are no pairs in '{split}' to export.")
        for stream in streams:
            stream.flush()
            os.fsync(stream.fileno())


def _publish(temporary: Path, folder: Path, names: list[str], replaceable: Collection[str]) -> None:
    """Gives the finished files their names in `folder`."""
    if temporary.parent != folder:
        try:
            temporary.rename(folder)
            return
        except OSError:
            if not folder.is_dir():  # otherwise another export has just created it
                raise
    with _lock(folder):
        finished = _move_ready_files(folder)
        _refuse_existing(folder, names, {*replaceable, *finished})
        (temporary / _NAMES).write_text(json.dumps(names), encoding="utf-8")
        temporary.rename(folder / _READY)
        _move_ready_files(folder)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with hold_lock(folder / _LOCK, timeout=60):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes it itself
                (folder / _LOCK).unlink()


def _move_ready_files(folder: Path) -> set[str]:
    """Moves the files in `.export.ready` to their places and returns their names; needs the lock."""
    ready, names = folder / _READY, _read_names(folder)
    for name in names:
        with suppress(FileNotFoundError):  # it was moved before
            (ready / name).replace(folder / name)
    if ready.is_dir():
        remove_folder(ready)
    return names


def _read_names(folder: Path) -> set[str]:
    """Returns the names of the files of an export that is being moved to its place, or was when killed."""
    path = folder / _READY / _NAMES
    try:
        listed = [str(name) for name in json.loads(path.read_text(encoding="utf-8"))]
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except (ValueError, TypeError, RecursionError):
        raise AugenmerkError(f"{path.parent}: damaged; move what you need out of it and remove it.") from None
    # Only the last part of each name, so that a prepared list cannot reach another folder.
    return {Path(name).name for name in listed}


def _tokenize(pair: SentencePair) -> SentencePair:
    """Returns the pair with spaces between all words, whose numbers, and so the links, stay the same."""
    return replace(pair, source=" ".join(split_words(pair.source)), target=" ".join(split_words(pair.target)))


def _format_lines(pair: SentencePair, format: Format, align: bool, *, first: bool) -> list[bytes]:  # noqa: A002
    """Returns a line for each file. Raises ValueError if the pair would not be read back as it is."""
    for side, sentence in (("source", pair.source), ("target", pair.target)):
        if is_blank(sentence):
            raise ValueError(f"its {side} sentence is empty")
    if bad_link := pair.describe_bad_link():
        raise ValueError(bad_link)
    if format == "jsonl":
        lines = [_format_json(pair)]
    elif format == "tsv":
        if "\t" in pair.source or "\t" in pair.target:
            raise ValueError("TSV cannot hold a sentence with a tab inside; use --format text or jsonl")
        lines = [f"{pair.source}\t{pair.target}"]
    else:
        lines = [pair.source, pair.target]
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


def _format_json(pair: SentencePair) -> str:
    # These keys, and not language codes, because they also say which way to translate.
    entry: dict[str, object] = {"source": pair.source, "target": pair.target}
    if pair.alignment is not None:
        entry["alignment"] = pair.alignment
    if pair.tags:
        entry["tags"] = pair.tags
    return json.dumps(entry, ensure_ascii=False)
