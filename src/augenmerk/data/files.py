"""Your own sentence pairs: parallel text, TSV or JSON lines, each also compressed with gzip; Parquet.

    train.de, train.en   line n of one is the translation of line n of the other
    train.tsv            source, tab, target; no header, and quotes are ordinary characters
    train.jsonl          {"source": ..., "target": ...} or {"de": ..., "en": ...}; optionally "alignment",
                         a list of [source word, target word] counted over `split_words`, and "tags"
    train.parquet        columns as the keys of JSON lines, without links and tags, see `data.parquet`

The part of a file's name before the last dot is its split. Pairs are read again each time a split is
iterated and are never kept, so a file may be larger than memory; a line has at most a million bytes. Links
in a `train.align` beside the files are not read: other tools count white-space tokens, we count words, and
the file does not tell which.

There is one reader for each format. It yields the bad lines among the pairs: `load` raises the first of them
or skips them all, and `augenmerk.data.checking` lists them.
"""

import json
import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import closing, suppress
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import explain_read_errors
from augenmerk.data import hold_out, parquet
from augenmerk.data.lines import scan_file
from augenmerk.text.pairs import (
    BadLine,
    BadLineError,
    Bitext,
    LazySplit,
    SentencePair,
    is_blank,
)

_TABLES = ("tsv", "jsonl", "parquet")
_NOT_LANGUAGES = {*_TABLES, "align"}
_KNOWN_DIRECTIONS = (("de", "en"), ("source", "target"), ("src", "tgt"))
_HELD_OUT_NAME = re.compile(r"(dev|eval|newstest|test|val|valid|validation)([-_.\d].*)?", re.IGNORECASE)

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")

_FilesBySuffix = dict[str, list[Path]]
"""The files of one split, by what follows the last dot: {"de": [train.de.gz], "en": [train.en.gz]}."""

Entries = Generator[SentencePair | tuple[BadLine, ...], None, None]
"""Pairs or, where a line holds none, what is wrong with it, on one side or on both."""


class _EmptyError(ValueError):
    """Raised if a sentence has no word."""


class Found(NamedTuple):
    """The sentence pairs at a path."""

    source_language: str
    target_language: str
    readers: dict[str, partial[Entries]]
    """For each split a function that begins to read it."""

    def list_files(self, split: str) -> tuple[Path, ...]:
        """Returns the files of a split."""
        return tuple(each for each in self.readers[split].args if isinstance(each, Path))


def load(
    path: Path,
    source_language: str | None = None,
    target_language: str | None = None,
    *,
    skip_bad: bool = False,
    divide: bool = True,
    left_out: Mapping[str, Collection[int]] | None = None,
) -> Bitext:
    """Opens the pairs in a folder, in one TSV, JSON lines or Parquet file, or in `path.de` and `path.en`.

    If there is one split only, it is divided into train, val and test (see `hold_out`), unless it is named
    like a validation or test set, or `divide` is False. With `skip_bad`, lines that hold no usable pair are
    left out and kept in `Bitext.skipped`; otherwise the first of them raises AugenmerkError when it is read.
    `left_out` are the numbers of further lines to leave out, by the split as it is in the files.
    """
    found, skipped = find(path, source_language, target_language), set[BadLine]()
    files = {name: found.list_files(name) for name in found.readers}
    splits: dict[str, Iterable[SentencePair]] = {
        name: LazySplit(
            partial(_read_pairs, reader, skipped if skip_bad else None, (left_out or {}).get(name, ()))
        )
        for name, reader in found.readers.items()
    }
    if divide and is_divided(splits):
        [pairs], [paths] = splits.values(), files.values()
        splits = hold_out(pairs, path)
        files = dict.fromkeys(splits, paths)
    return Bitext(str(path), found.source_language, found.target_language, splits, skipped, files)


def is_divided(names: Collection[str]) -> bool:
    """Returns whether splits with these names are divided: there is only one, and it is no test set."""
    return len(names) == 1 and not any(_HELD_OUT_NAME.fullmatch(name) for name in names)


def _read_pairs(
    reader: partial[Entries], skipped: set[BadLine] | None, left_out: Collection[int] = ()
) -> Generator[SentencePair, None, None]:
    """Yields pairs, except for those in the lines `left_out`.

    Bad lines are added to `skipped`, one for each pair that is lost; without it, the first is an error.
    """
    # Closed here, because a file that an error leaves open would stay open until garbage is collected.
    with closing(reader()) as entries:
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, SentencePair):
                if number not in left_out:
                    yield entry
            elif skipped is None:
                raise BadLineError(str(entry[0]))
            else:
                skipped.add(entry[0])


# Finding the files


def find(path: Path, source_language: str | None = None, target_language: str | None = None) -> Found:
    """Finds the files at a path, each split of which can then be read with its bad lines."""
    with explain_read_errors(path):
        files = _find_files(path)
    source, target = _choose_languages(path, files, source_language, target_language)
    readers: dict[str, partial[Entries]] = {}
    # As they are used: train, then validation, then the others.
    for name in sorted(files, key=lambda name: (name[:5] != "train", name[:3] not in ("val", "dev"), name)):
        if (reader := _find_reader(name, files[name], source, target)) is not None:
            readers[name] = reader
    if not readers:
        names = [path.name for suffixes in files.values() for paths in suffixes.values() for path in paths]
        raise AugenmerkError(
            f"{path}: no sentence pairs here; expected files such as train.{source_language or 'de'} with "
            f"train.{target_language or 'en'}, train.tsv or train.jsonl (also .gz), or train.parquet, but "
            f"found {', '.join(names[:6]) or 'nothing of the kind'}."
        )
    return Found(source, target, readers)


def _find_files(path: Path) -> dict[str, _FilesBySuffix]:
    """Returns the files of each split."""
    if path.exists() and not path.is_dir():
        split, suffix = _split_name(path)
        if suffix not in _TABLES or not path.is_file():
            raise AugenmerkError(
                f"{path}: pairs must be in a folder or in one regular file, which must end in .tsv or .jsonl "
                f"(also .gz), or in .parquet; for two files of parallel text, give their common name without "
                f"the ending, or their folder."
            )
        return {split: {suffix: [path]}}
    folder, files = path if path.is_dir() else path.parent, dict[str, _FilesBySuffix]()
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        split, suffix = _split_name(file)
        if split and not file.name.startswith(".") and file.is_file():
            files.setdefault(split, {}).setdefault(suffix, []).append(file)
    for split, suffixes in files.items():
        parquet.check_parts(split, suffixes.get("parquet", []))
    if path.is_dir():
        return files
    if path.name not in files:
        raise AugenmerkError(f"{path}: there is no such file or folder.")
    return {path.name: files[path.name]}


def _split_name(path: Path) -> tuple[str, str]:
    """Returns the split of a file, and what its name ends in."""
    if path.suffix == ".parquet":
        return parquet.split_of(path.stem), "parquet"
    stem, _, suffix = path.name.removesuffix(".gz").rpartition(".")
    return stem, suffix


def _choose_languages(
    path: Path, files: dict[str, _FilesBySuffix], source: str | None, target: str | None
) -> tuple[str, str]:
    if source is not None and target is not None:
        return source, target
    # Only endings that share a stem are languages: a README.md beside the pairs is not a language called md.
    by_split = [set(suffixes) - _NOT_LANGUAGES for suffixes in files.values()]
    languages = set[str]().union(*(several for several in by_split if len(several) > 1))
    if languages:
        return _choose_direction(f"{path}: the files end in", languages, source, target)
    for suffixes in files.values():
        if "jsonl" in suffixes:
            file = _only_file(suffixes["jsonl"])
            keys, found_in = _read_text_keys(file), f"{file}: the keys are"
        elif "parquet" in suffixes:
            file = suffixes["parquet"][0]
            keys, found_in = set(parquet.find_columns(file)), f"{file}: the columns are"
        else:
            continue
        if len(keys) > 1 and not {"source", "target"} <= keys:
            return _choose_direction(found_in, keys, source, target)
    return source or "source", target or "target"


def _choose_direction(
    found_in: str, languages: set[str], source: str | None, target: str | None
) -> tuple[str, str]:
    if source is None and target is None:
        for direction in _KNOWN_DIRECTIONS:
            if languages == set(direction):
                return direction
    elif len(languages) == 2 and {source, target} & languages:
        [other] = languages - {source, target}
        return source or other, target or other
    names = sorted(languages)
    raise AugenmerkError(
        f"{found_in} {', '.join(names)}; choose the direction, for example with --source-language {names[0]} "
        f"--target-language {names[1]}."
    )


def _only_file(paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise AugenmerkError(f"{paths[0]} and {paths[1].name} are both there; remove one of them.")
    if paths[0].stat().st_size == 0:
        raise AugenmerkError(f"{paths[0]}: the file is empty.")
    return paths[0]


def _find_reader(name: str, suffixes: _FilesBySuffix, source: str, target: str) -> partial[Entries] | None:
    """Returns a function that begins to read a split; None if these files are something else."""
    sides = [side for side in (source, target) if side in suffixes and side not in _NOT_LANGUAGES]
    formats = [*sides[:1], *(table for table in _TABLES if table in suffixes)]
    if not formats:
        return None
    paths = suffixes[formats[0]]
    if len(formats) > 1:
        raise AugenmerkError(
            f"{paths[0]} and {suffixes[formats[1]][0].name} are both the split '{name}'; remove or rename "
            f"one of them."
        )
    if formats == ["tsv"]:
        for language in (source, target):
            if not _LANGUAGE.fullmatch(language):  # nothing else tells a mistyped code
                raise AugenmerkError(f"'{language}' is not the code of a language, such as de or pt-BR.")
        return partial(_scan_table, _only_file(paths), parse_tsv)
    if formats == ["jsonl"]:
        parse = partial(_parse_json, source_language=source, target_language=target)
        return partial(_scan_table, _only_file(paths), parse)
    if formats == ["parquet"]:
        for path in paths:
            parquet.check_columns(path, source, target)
        return partial(parquet.scan_parquet, source, target, *paths)
    if len(set(sides)) < 2:
        missing = target if sides[0] == source else source
        lack = "these are the same language" if source == target else f"{name}.{missing} is missing"
        raise AugenmerkError(f"{paths[0]}: parallel text is two files of two languages, but {lack}.")
    return partial(_scan_text, _only_file(suffixes[source]), _only_file(suffixes[target]))


# The formats


def read_parallel(source_path: Path, target_path: Path) -> Generator[SentencePair, None, None]:
    """Yields the lines of two files as pairs, also empty ones.

    Raises AugenmerkError if one file has fewer lines than the other.
    """
    return _read_pairs(partial(_scan_text, source_path, target_path, blank=True), None)


def _scan_text(source_path: Path, target_path: Path, *, blank: bool = False) -> Entries:
    with closing(scan_file(source_path)) as sources, closing(scan_file(target_path)) as targets:
        for number, (source, target) in enumerate(zip_longest(sources, targets), 1):
            if source is None or target is None:
                short, long = (source_path, target_path) if source is None else (target_path, source_path)
                raise AugenmerkError(
                    f"{short} ends after line {number - 1}, but {long} continues: "
                    f"line n of one file must be the translation of line n of the other."
                )
            if isinstance(source, BadLine) or isinstance(target, BadLine):
                yield tuple(side for side in (source, target) if isinstance(side, BadLine))
            elif blank or not (is_blank(source) or is_blank(target)):
                yield SentencePair(source, target)
            else:
                sides = ((source_path, source), (target_path, target))
                reason = "the line is empty; remove it from both files"
                yield tuple(
                    BadLine(str(path), number, "empty", reason) for path, side in sides if is_blank(side)
                )


def _scan_table(path: Path, parse: Callable[[str], SentencePair]) -> Entries:
    with closing(scan_file(path)) as lines:
        for number, line in enumerate(lines, 1):
            entry = line if isinstance(line, BadLine) else parse_line(line, parse, str(path), number)
            yield (entry,) if isinstance(entry, BadLine) else entry


def parse_line(
    line: str, parse: Callable[[str], SentencePair], name: str, number: int
) -> SentencePair | BadLine:
    """Returns the pair that `parse` finds in a line of the file `name`, or why there is none."""
    try:
        return parse(line)
    except ValueError as error:
        return BadLine(name, number, "empty" if isinstance(error, _EmptyError) else "malformed", str(error))


def parse_tsv(line: str) -> SentencePair:
    """Returns the pair of a line of TSV; raises ValueError, with a reason, if it is not one."""
    columns = line.split("\t")
    if len(columns) != 2:
        expected = "expected 2 columns (source, tab, target), but found"
        if not line.strip():
            raise _EmptyError(f"{expected} an empty line")
        raise ValueError(f"{expected} {len(columns)} column{'s' if len(columns) > 1 else ''}")
    for side, sentence in zip(("source", "target"), columns, strict=True):
        if is_blank(sentence):
            raise _EmptyError(f"the {side} sentence is empty; remove the line")
    return SentencePair(columns[0], columns[1])


def _parse_json(line: str, source_language: str, target_language: str) -> SentencePair:
    entry = _parse_object(line)
    source = _get_sentence(entry, source_language, "source")
    target = _get_sentence(entry, target_language, "target")
    links, tags = entry.get("alignment"), entry.get("tags")
    # `type(...) is int`, because True is an instance of int
    if links is not None and not (
        isinstance(links, list)
        and all(isinstance(link, list) and [type(index) for index in link] == [int, int] for link in links)
    ):
        raise ValueError("'alignment' must be a list of links such as [[0, 0], [1, 2]]")
    if tags is not None and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        raise ValueError("'tags' must be a list of texts such as [\"passive\"]")
    alignment = None if links is None else tuple((i, j) for i, j in links)
    pair = SentencePair(source, target, alignment, tuple(tags or ()))
    if bad_link := pair.describe_bad_link():
        raise ValueError(bad_link)
    return pair


def _parse_object(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits, endless brackets
        at = f"column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else error
        raise ValueError(f"not valid JSON ({at})") from None
    if not isinstance(entry, dict):
        raise ValueError('expected a JSON object such as {"source": "...", "target": "..."}')
    return entry


def _read_text_keys(path: Path) -> set[str]:
    """Returns the keys of the first usable line that could be languages; a bad line is for the reader."""
    with closing(scan_file(path)) as lines:
        for line in islice(lines, 1000):
            with suppress(ValueError):
                entry = _parse_object(line) if isinstance(line, str) else {}
                keys = {key for key, value in entry.items() if isinstance(value, str)}
                if len(keys) >= 2:
                    return keys
    raise AugenmerkError(
        f"{path}: expected JSON lines with the keys 'source' and 'target', or two language codes, and a text "
        f"for each."
    )


def _get_sentence(entry: dict[str, Any], language: str, role: str) -> str:
    key = language if language in entry else role
    if key not in entry:
        raise ValueError("there is no key " + " or ".join(f"'{each}'" for each in sorted({language, role})))
    sentence = entry[key]
    if not isinstance(sentence, str):
        raise ValueError(f"'{key}' must be a text, not {json.dumps(sentence)[:40]}")
    if is_blank(sentence):
        raise _EmptyError(f"'{key}' is empty; remove the line")
    try:
        sentence.encode()
    except UnicodeEncodeError:  # JSON can spell half a surrogate pair, which is not a character
        raise ValueError(f"'{key}' has an incomplete \\u escape (a lone surrogate)") from None
    return sentence
