"""A person's own sentence pairs: parallel text, TSV or JSON lines, each also compressed with gzip; Parquet.

    train.de, train.en   line n of one is the translation of line n of the other
    train.tsv            source, tab, target; no header, and quotation marks are ordinary characters
    train.jsonl          {"source": ..., "target": ...} or {"de": ..., "en": ...}; optionally "alignment",
                         a list of [source word, target word] counted over `split_words`, and "tags"
    train.parquet        columns as the keys of JSON lines, without links and tags, see `bitext.parquet`

The part of a file's name before the last dot is its split. Pairs are read again each time a split is
iterated and are never kept, so a file may be larger than memory; a line has at most a million bytes. Links
in a `train.align` beside the files are not read: other tools count white-space tokens, we count words, and
the file does not tell which.

There is one reader for each format. It yields the bad lines among the pairs: `load` refuses the first of them
or, if it is told to, skips them all, and `augenmerk.data.check` lists them.
"""

import gzip
import json
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import parquet
from augenmerk.text.pairs import (
    MAX_LINE_BYTES,
    BadLine,
    BadLineError,
    Bitext,
    LazySplit,
    Links,
    SentencePair,
    hold_out,
    is_blank,
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TABLES = ("tsv", "jsonl", "parquet")
_NOT_LANGUAGES = {*_TABLES, "align"}
_KNOWN_DIRECTIONS = (("de", "en"), ("source", "target"), ("src", "tgt"))
_HELD_OUT_NAME = re.compile(r"(dev|eval|newstest|test|val|valid|validation)([-_.\d].*)?", re.IGNORECASE)

_FilesBySuffix = dict[str, list[Path]]
"""The files of one split, by what follows the last dot: {"de": [train.de.gz], "en": [train.en.gz]}."""

Entry = SentencePair | tuple[BadLine, ...]
"""What a place for a pair holds: the pair, or what is wrong with it, on one side or on both."""


class _EmptyError(ValueError):
    """Raised if a sentence has no word."""


@dataclass(frozen=True)
class Found:
    """The sentence pairs in a place: for each split a function that begins to read it."""

    source_language: str
    target_language: str
    readers: dict[str, Callable[[], Generator[Entry, None, None]]]
    files: dict[str, tuple[Path, ...]]
    """The files that each of these functions reads."""


def load(
    place: Path,
    source_language: str | None = None,
    target_language: str | None = None,
    *,
    skip_bad: bool = False,
    divide: bool = True,
    left_out: Mapping[str, Collection[int]] | None = None,
) -> Bitext:
    """Opens the pairs in a folder, in one TSV, JSON lines or Parquet file, or in `place.de` and `place.en`.

    If there is one split only, it is divided into train, val and test (see `hold_out`), unless its name
    says that it is a validation or test set, or `divide` is False. With `skip_bad`, lines that hold no usable
    pair are left out and kept in `Bitext.skipped`; otherwise the first of them raises AugenmerkError when it
    is read. `left_out` are the numbers of further lines to leave out, by the split as it is in the files.
    """
    found = find(place, source_language, target_language)
    skipped: set[BadLine] = set()
    splits: dict[str, Iterable[SentencePair]] = {
        name: LazySplit(
            partial(_read_pairs, reader, skipped if skip_bad else None, (left_out or {}).get(name, ()))
        )
        for name, reader in found.readers.items()
    }
    files = found.files
    if divide and is_divided(splits):
        [pairs], [paths] = splits.values(), files.values()
        splits = hold_out(pairs, place)
        files = dict.fromkeys(splits, paths)
    return Bitext(str(place), found.source_language, found.target_language, splits, skipped, files)


def is_divided(names: Collection[str]) -> bool:
    """Returns whether splits with these names are divided: there is only one, and it is no test set."""
    return len(names) == 1 and not any(_HELD_OUT_NAME.fullmatch(name) for name in names)


def find(place: Path, source_language: str | None = None, target_language: str | None = None) -> Found:
    """Finds the files of a place, each split of which can then be read with its bad lines."""
    try:
        files = _find_files(place)
    except OSError as error:
        raise AugenmerkError(f"{place}: cannot be read ({error.strerror or error}).") from None
    source, target = _choose_languages(place, files, source_language, target_language)
    readers: dict[str, Callable[[], Generator[Entry, None, None]]] = {}
    paths: dict[str, tuple[Path, ...]] = {}
    for name in sorted(files, key=_split_order):
        if (reader := _find_reader(name, files[name], source, target)) is not None:
            readers[name] = reader
            paths[name] = tuple(each for each in reader.args if isinstance(each, Path))
    if not readers:
        names = [path.name for suffixes in files.values() for paths in suffixes.values() for path in paths]
        found = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "") or "nothing of the kind"
        raise AugenmerkError(
            f"{place}: no sentence pairs here; expected files such as train.{source_language or 'de'} with "
            f"train.{target_language or 'en'}, train.tsv or train.jsonl (also .gz), or train.parquet, but "
            f"found {found}."
        )
    return Found(source, target, readers, paths)


def _split_order(name: str) -> tuple[bool, bool, str]:
    """Orders the names of splits as they are used: train, then validation, then the others."""
    return not name.startswith("train"), not name.startswith(("val", "dev")), name


def read_lines(path: Path, bad_lines: list[BadLine] | None = None) -> Generator[str, None, None]:
    """Yields the lines of a UTF-8 file, plain or gzip, without their ends.

    Only a line feed ends a line (a carriage return before it is dropped), so that a rare character such as
    U+2028 inside a sentence cannot shift one side of a bitext against the other. A line that is not UTF-8 or
    far too long raises BadLineError; with a list of `bad_lines`, it is added to it and yielded as empty.
    """
    with closing(_scan_file(path)) as lines:
        yield from _without_bad_lines(lines, bad_lines)


def decode_lines(
    stream: BinaryIO | BufferedIOBase, name: str, bad_lines: list[BadLine] | None = None
) -> Iterator[str]:
    """Yields the lines of a binary stream, which messages call `name`, as `read_lines` those of a file."""
    return _without_bad_lines(_scan_stream(stream, name), bad_lines)


def read_parallel(source_path: Path, target_path: Path) -> Generator[SentencePair, None, None]:
    """Yields the lines of two files as pairs. Raises AugenmerkError if one has fewer than the other."""
    return _read_pairs(partial(_scan_parallel, source_path, target_path), None)


def _without_bad_lines(lines: Iterable[str | BadLine], bad_lines: list[BadLine] | None) -> Iterator[str]:
    for line in lines:
        if not isinstance(line, BadLine):
            yield line
        elif bad_lines is None:
            raise BadLineError(str(line))
        else:
            bad_lines.append(line)
            yield ""


def _read_pairs(
    reader: Callable[[], Generator[Entry, None, None]],
    skipped: set[BadLine] | None,
    left_out: Collection[int] = (),
) -> Generator[SentencePair, None, None]:
    """Yields pairs, except for those in the lines `left_out`.

    Bad lines are added to `skipped`, one for each pair that is lost; without it, they are refused.
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


def _scan_file(path: Path) -> Generator[str | BadLine, None, None]:
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(_scan_stream(stream, str(path)), 1):  # noqa: B007 (used below)
                yield line
    except FileNotFoundError:
        raise AugenmerkError(f"{path}: there is no such file.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise AugenmerkError(f"{path}, after line {number}: damaged gzip file ({error}).") from None
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be read ({error.strerror or error}).") from None


def _scan_stream(stream: BinaryIO | BufferedIOBase, name: str) -> Iterator[str | BadLine]:
    number = 0
    # Never more than one line is held, so a file of zeros that was compressed a thousandfold does no harm.
    while raw := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise AugenmerkError(
                f"{name}: this file is UTF-16; convert it to UTF-8: iconv -f utf-16 -t utf-8 OLD > NEW."
            )
        if len(raw) > MAX_LINE_BYTES:
            reason = f"the line is longer than {MAX_LINE_BYTES:,} bytes; a line should be one sentence"
            yield BadLine(name, number, "too long", reason)
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(MAX_LINE_BYTES)
            continue
        line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        try:
            text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line is 0x{error.object[error.start]:02x}"
            yield BadLine(name, number, "not UTF-8", f"not UTF-8 ({byte}); convert it to UTF-8")
        else:
            yield text


def _scan_parallel(source_path: Path, target_path: Path) -> Generator[Entry, None, None]:
    with closing(_scan_file(source_path)) as sources, closing(_scan_file(target_path)) as targets:
        for number, (source, target) in enumerate(zip_longest(sources, targets), 1):
            if source is None or target is None:
                short, long = (source_path, target_path) if source is None else (target_path, source_path)
                raise AugenmerkError(
                    f"{short} ends after line {number - 1}, but {long} goes on: "
                    f"line n of one file must be the translation of line n of the other."
                )
            if isinstance(source, BadLine) or isinstance(target, BadLine):
                yield tuple(side for side in (source, target) if isinstance(side, BadLine))
            else:
                yield SentencePair(source, target)


def _find_files(place: Path) -> dict[str, _FilesBySuffix]:
    if place.is_dir():
        return _scan_folder(place)
    if place.is_file():
        split, suffix = _split_name(place)
        if suffix not in _TABLES:
            raise AugenmerkError(
                f"{place}: a single file of pairs must end in .tsv or .jsonl (also .gz), or in .parquet; for "
                f"two files of parallel text, give their common name without the ending, or their folder."
            )
        return {split: {suffix: [place]}}
    if place.exists():
        raise AugenmerkError(
            f"{place}: neither a file nor a folder; save the pairs in a file, which is read more than once."
        )
    siblings = _scan_folder(place.parent) if place.parent.is_dir() else {}
    if place.name not in siblings:
        raise AugenmerkError(f"{place}: there is no such file or folder.")
    return {place.name: siblings[place.name]}


def _scan_folder(folder: Path) -> dict[str, _FilesBySuffix]:
    files: dict[str, _FilesBySuffix] = {}
    for path in sorted(folder.iterdir()):
        split, suffix = _split_name(path)
        if split and not path.name.startswith(".") and path.is_file():
            files.setdefault(split, {}).setdefault(suffix, []).append(path)
    for suffixes in files.values():
        if "parquet" in suffixes:
            parquet.check_parts(suffixes["parquet"])
    return files


def _split_name(path: Path) -> tuple[str, str]:
    """Returns the split of a file, and what its name ends in."""
    if path.suffix == ".parquet":
        return parquet.split_of(path.stem), "parquet"
    stem, _, suffix = path.name.removesuffix(".gz").rpartition(".")
    return stem, suffix


def _choose_languages(
    place: Path, files: dict[str, _FilesBySuffix], source: str | None, target: str | None
) -> tuple[str, str]:
    if source is not None and target is not None:
        return source, target
    # Only endings that share a stem are languages: a README.md beside the pairs is not a language called md.
    by_split = [set(suffixes) - _NOT_LANGUAGES for suffixes in files.values()]
    languages = set[str]().union(*(several for several in by_split if len(several) > 1))
    if languages:
        return _choose_direction(f"{place}: the files end in", languages, source, target)
    for suffixes in files.values():
        if "jsonl" in suffixes:
            path = _only_file(suffixes["jsonl"])
            keys = _read_text_keys(path)
            if not {"source", "target"} <= keys:
                return _choose_direction(f"{path}, line 1: the keys are", keys, source, target)
        if "parquet" in suffixes:
            path = suffixes["parquet"][0]
            columns = set(parquet.find_columns(path))
            if len(columns) > 1 and not {"source", "target"} <= columns:
                return _choose_direction(f"{path}: the columns are", columns, source, target)
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
        f"{found_in} {', '.join(names)}; say which way to translate, "
        f"for example with --source-language {names[0]} --target-language {names[1]}."
    )


def _only_file(paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise AugenmerkError(f"{paths[0]} and {paths[1].name} are both there; remove one of them.")
    if paths[0].stat().st_size == 0:
        raise AugenmerkError(f"{paths[0]}: the file is empty.")
    return paths[0]


def _find_reader(
    name: str, suffixes: _FilesBySuffix, source: str, target: str
) -> partial[Generator[Entry, None, None]] | None:
    sides = [suffixes[side] for side in (source, target) if side in suffixes and side not in _NOT_LANGUAGES]
    formats = [*sides[:1], *(suffixes[table] for table in _TABLES if table in suffixes)]
    if len(formats) > 1:
        first, second = formats[0][0], formats[1][0]
        raise AugenmerkError(
            f"{first} and {second.name} are both the split '{name}'; remove or rename one of them."
        )
    if source == target and sides:
        raise AugenmerkError(f"{sides[0][0]}: '{source}' cannot be both the source and the target language.")
    if len(sides) == 1:
        missing = target if source in suffixes else source
        raise AugenmerkError(f"{sides[0][0]}: the other language, {name}.{missing}, is not beside it.")
    if sides:
        return partial(_scan_text, _only_file(sides[0]), _only_file(sides[1]))
    if "tsv" in suffixes:
        return partial(_scan_table, _only_file(suffixes["tsv"]), parse_tsv)
    if "jsonl" in suffixes:
        parse = partial(_parse_json, source_language=source, target_language=target)
        return partial(_scan_table, _only_file(suffixes["jsonl"]), parse)
    if "parquet" in suffixes:
        for path in suffixes["parquet"]:
            parquet.check_columns(path, source, target)
        return partial(parquet.scan_parquet, source, target, *suffixes["parquet"])
    return None


def _scan_text(source_path: Path, target_path: Path) -> Generator[Entry, None, None]:
    with closing(_scan_parallel(source_path, target_path)) as entries:
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, SentencePair) and (is_blank(entry.source) or is_blank(entry.target)):
                sides = ((source_path, entry.source), (target_path, entry.target))
                reason = "the line is empty; remove it from both files"
                yield tuple(
                    BadLine(str(path), number, "empty", reason)
                    for path, sentence in sides
                    if is_blank(sentence)
                )
            else:
                yield entry


def _scan_table(path: Path, parse: Callable[[str], SentencePair]) -> Generator[Entry, None, None]:
    with closing(_scan_file(path)) as lines:
        for number, line in enumerate(lines, 1):
            entry = line if isinstance(line, BadLine) else parse_line(line, parse, str(path), number)
            yield (entry,) if isinstance(entry, BadLine) else entry


def parse_line(
    line: str, parse: Callable[[str], SentencePair], name: str, number: int
) -> SentencePair | BadLine:
    """Returns the pair that `parse` finds in a line of the file `name`, or why there is none."""
    try:
        return parse(line)
    except _EmptyError as error:
        return BadLine(name, number, "empty", str(error))
    except ValueError as error:
        return BadLine(name, number, "malformed", str(error))


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
    pair = SentencePair(
        _get_sentence(entry, source_language, "source"),
        _get_sentence(entry, target_language, "target"),
        _get_links(entry.get("alignment")),
        _get_tags(entry.get("tags")),
    )
    if bad_link := pair.describe_bad_link():
        raise ValueError(bad_link)
    return pair


def _parse_object(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON (column {error.colno}: {error.msg})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise ValueError(f"this JSON cannot be read ({error})") from None
    if not isinstance(entry, dict):
        raise ValueError('expected a JSON object such as {"source": "...", "target": "..."}')
    return entry


def _read_text_keys(path: Path) -> set[str]:
    """Returns the keys of the first usable line that could be languages; a bad line is for the reader."""
    complaint: Exception = ValueError("no line holds a sentence pair")
    with closing(_scan_file(path)) as scanned:
        lines = list(islice(scanned, 1000))
    for number, line in enumerate(lines, 1):
        try:
            if isinstance(line, BadLine):
                raise ValueError(line.reason)
            keys = {key for key, value in _parse_object(line).items() if isinstance(value, str)}
            if len(keys) >= 2:
                return keys
            raise ValueError(
                "expected the keys 'source' and 'target', or two language codes, with a text each"
            )
        except ValueError as error:
            complaint = error if number == 1 else complaint
    raise AugenmerkError(f"{path}, line 1: {complaint}.")


def _get_sentence(entry: dict[str, Any], language: str, role: str) -> str:
    key = language if language in entry else role
    if key not in entry:
        raise ValueError(
            f"there is no key '{role}'" if language == role else f"there is no key '{language}' or '{role}'"
        )
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


def _get_links(value: object) -> Links | None:
    if value is None:
        return None
    # `type(...) is int`, because True is an instance of int
    if isinstance(value, list) and all(
        isinstance(link, list) and [type(position) for position in link] == [int, int] for link in value
    ):
        return tuple((i, j) for i, j in value)
    raise ValueError("'alignment' must be a list of links such as [[0, 0], [1, 2]]")


def _get_tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    raise ValueError("'tags' must be a list of texts such as [\"passive\"]")
