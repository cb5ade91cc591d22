"""Writes sentence pairs to files that other tools, and `augenmerk.bitext.files`, can read."""

import json
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from augenmerk.bitext.pairs import SentencePair, is_blank
from augenmerk.errors import AugenmerkError
from augenmerk.words import split_words

Format = Literal["text", "tsv", "jsonl"]


def export(
    pairs: Iterable[SentencePair],
    folder: Path,
    split: str,
    source_language: str,
    target_language: str,
    *,
    format: Format,  # noqa: A002 (the flag is called --format)
    align: bool = False,
    tokenized: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Writes pairs to `split.de` and `split.en`, `split.tsv` or `split.jsonl`; returns the paths.

    Sentences are written as they are or, with `tokenized`, as their words with single spaces between them,
    so that tools which split at white space count words as the links do. `align` adds `split.align` in
    Pharaoh format (`0-0 1-2`, a line for each pair). JSON lines always hold links and tags.

    The files appear when the last pair is written, all of them or none. Raises AugenmerkError if a pair
    could not be read back as it was (a tab in TSV, a line break in text).
    """
    if format == "text" and source_language == target_language:
        raise AugenmerkError(
            f"'{source_language}' to itself needs --format tsv or jsonl: the two files have one name."
        )
    suffixes = {"text": [source_language, target_language], "tsv": ["tsv"], "jsonl": ["jsonl"]}[format]
    paths = [folder / f"{split}.{suffix}" for suffix in [*suffixes, *(["align"] if align else [])]]
    if not overwrite and (existing := [path for path in paths if path.exists()]):
        raise AugenmerkError(f"{existing[0]} is already there; pass --overwrite, or choose another folder.")

    # In the same folder, because renaming is atomic only within a file system.
    temp_paths = [path.with_name(f".{path.name}.part") for path in paths]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            streams = [stack.enter_context(path.open("wb")) for path in temp_paths]
            number = 0
            for number, pair in enumerate(map(_tokenize, pairs) if tokenized else pairs, 1):
                try:
                    lines = _format_lines(pair, format, align, first=number == 1)
                except ValueError as error:
                    raise AugenmerkError(f"Pair {number} of '{split}' cannot be exported: {error}.") from None
                for stream, line in zip(streams, lines, strict=True):
                    stream.write(line)
        if number == 0:
            raise AugenmerkError(f"There are no pairs in '{split}' to export.")
        for path, finished in zip(temp_paths, paths, strict=True):
            path.replace(finished)
    except OSError as error:
        raise AugenmerkError(f"{folder}: cannot be written to ({error.strerror or error}).") from None
    finally:
        for path in temp_paths:
            with suppress(OSError):
                path.unlink()
    return paths


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
        return [f"{line}\n".encode() for line in lines]
    except UnicodeEncodeError:
        raise ValueError("it has a lone surrogate, which is not a character") from None


def _format_json(pair: SentencePair) -> str:
    # These keys, and not language codes, because they also say which way to translate.
    entry: dict[str, object] = {"source": pair.source, "target": pair.target}
    if pair.alignment is not None:
        entry["alignment"] = pair.alignment
    if pair.tags:
        entry["tags"] = pair.tags
    return json.dumps(entry, ensure_ascii=False)
