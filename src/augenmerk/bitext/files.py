"""A person's own sentence pairs: parallel text, TSV or JSON lines, each also compressed with gzip.

    train.de, train.en   line n of one is the translation of line n of the other
    train.tsv            source, tab, target; no header, and quotation marks are ordinary characters
    train.jsonl          {"source": ..., "target": ...} or {"de": ..., "en": ...}; optionally "alignment",
                         a list of [source word, target word] counted over `split_words`, and "tags"

What stands before the last dot names the split. Pairs are read anew each time a split is iterated and
never kept, so a file may be larger than memory. Links in a `train.align` beside the files are not read:
other tools count white-space tokens, we count words, and nothing in the file tells which.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from augenmerk.bitext.cut import cut
from augenmerk.bitext.lines import read_lines, read_parallel
from augenmerk.bitext.pairs import Bitext, Links, ReadAnew, SentencePair
from augenmerk.errors import AugenmerkError
from augenmerk.words import split_words

_FORMATS = ("tsv", "jsonl")
_NO_LANGUAGE = {*_FORMATS, "align"}
_KNOWN_DIRECTIONS = (("de", "en"), ("source", "target"), ("src", "tgt"))
_HELD_OUT_NAME = re.compile(r"(dev|eval|newstest|test|val|valid|validation)([-_.\d].*)?", re.IGNORECASE)

_Suffixes = dict[str, list[Path]]
"""The files of one split by what follows the last dot: {"de": [train.de.gz], "en": [train.en.gz]}."""


def load(place: Path, source_language: str | None = None, target_language: str | None = None) -> Bitext:
    """The pairs in a folder, in one TSV or JSON lines file, or in `place.de` and `place.en`.

    A split that stands alone is cut into train, val and test (see `augenmerk.bitext.cut`), unless its
    name says that it is there to be tested on.
    """
    try:
        files = _find_files(place)
    except OSError as error:
        raise AugenmerkError(f"{place}: cannot be read ({error.strerror or error}).") from None
    source, target = _choose_languages(place, files, source_language, target_language)
    opened = {
        name: _open_split(name, files[name], source, target) for name in sorted(files, key=_train_first)
    }
    splits: dict[str, Iterable[SentencePair]] = {
        name: pairs for name, pairs in opened.items() if pairs is not None
    }
    if not splits:
        raise _nothing_found(place, files, source_language, target_language)
    if len(splits) == 1:
        [(name, pairs)] = splits.items()
        if not _HELD_OUT_NAME.fullmatch(name):
            splits = cut(pairs, place)
    return Bitext(str(place), source, target, splits)


def is_blank(sentence: str) -> bool:
    """Whether there is no word in it: nothing, white space, or only characters that cannot be seen."""
    # A sentence that can be printed has a word, unless it is all spaces; asking that first is quick.
    return not sentence.strip() or not (sentence.isprintable() or split_words(sentence))


def link_outside(pair: SentencePair) -> str | None:
    """Says which link of the pair points past the end of a sentence, if one does."""
    if pair.alignment:
        here, there = len(split_words(pair.source)), len(split_words(pair.target))
        for i, j in pair.alignment:
            if not (0 <= i < here and 0 <= j < there):
                return (
                    f"the link {i}-{j} points outside the sentences, which have {here} and {there} words "
                    f"(counted from 0, punctuation split off)"
                )
    return None


# Which files there are, and what they are called


def _find_files(place: Path) -> dict[str, _Suffixes]:
    if place.is_dir():
        return _scan(place)
    if place.is_file():
        stem, _, suffix = place.name.removesuffix(".gz").rpartition(".")
        if suffix not in _FORMATS:
            raise AugenmerkError(
                f"{place}: a single file of pairs must end in .tsv or .jsonl (also .gz); for two files of "
                f"parallel text, give their common name without the ending, or their folder."
            )
        return {stem: {suffix: [place]}}
    beside = _scan(place.parent) if place.parent.is_dir() else {}
    if place.name not in beside:
        raise AugenmerkError(f"{place}: there is no such file or folder.")
    return {place.name: beside[place.name]}


def _scan(folder: Path) -> dict[str, _Suffixes]:
    files: dict[str, _Suffixes] = {}
    for path in sorted(folder.iterdir()):
        stem, _, suffix = path.name.removesuffix(".gz").rpartition(".")
        if stem and not path.name.startswith(".") and path.is_file():
            files.setdefault(stem, {}).setdefault(suffix, []).append(path)
    return files


def _choose_languages(
    place: Path, files: dict[str, _Suffixes], source: str | None, target: str | None
) -> tuple[str, str]:
    if source is not None and target is not None:
        return source, target
    # Only endings that share a stem are languages: a README.md beside the pairs is not a language called md.
    by_split = [set(suffixes) - _NO_LANGUAGE for suffixes in files.values()]
    languages = set[str]().union(*(several for several in by_split if len(several) > 1))
    if languages:
        return _choose_direction(f"{place}: the files end in", languages, source, target)
    for suffixes in files.values():
        if "jsonl" in suffixes:
            path = _only_file(suffixes["jsonl"])
            keys = _text_keys(path)
            if not {"source", "target"} <= keys:
                return _choose_direction(f"{path}, line 1: the keys are", keys, source, target)
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
    there = sorted(languages)
    raise AugenmerkError(
        f"{found_in} {', '.join(there)}; say which way to translate, "
        f"for example with --source-language {there[0]} --target-language {there[1]}."
    )


def _nothing_found(
    place: Path, files: dict[str, _Suffixes], source: str | None, target: str | None
) -> AugenmerkError:
    names = [path.name for suffixes in files.values() for paths in suffixes.values() for path in paths]
    found = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "") if names else "nothing of the kind"
    return AugenmerkError(
        f"{place}: no sentence pairs here; expected files such as train.{source or 'de'} with "
        f"train.{target or 'en'}, train.tsv or train.jsonl (also .gz), but found {found}."
    )


def _only_file(paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise AugenmerkError(f"{paths[0]} and {paths[1].name} are both there; remove one of them.")
    if paths[0].stat().st_size == 0:
        raise AugenmerkError(f"{paths[0]}: the file is empty.")
    return paths[0]


def _train_first(name: str) -> tuple[bool, str]:
    return not name.startswith("train"), name


# Reading them


def _open_split(name: str, suffixes: _Suffixes, source: str, target: str) -> ReadAnew | None:
    sides = [suffixes[side] for side in (source, target) if side in suffixes and side not in _NO_LANGUAGE]
    ways = [*sides[:1], *(suffixes[way] for way in _FORMATS if way in suffixes)]
    if len(ways) > 1:
        raise AugenmerkError(
            f"{ways[0][0]} and {ways[1][0].name} are both the split '{name}'; remove or rename one of them."
        )
    if source == target and sides:
        raise AugenmerkError(f"{sides[0][0]}: '{source}' cannot be both the source and the target language.")
    if len(sides) == 1:
        missing = target if source in suffixes else source
        raise AugenmerkError(f"{sides[0][0]}: the other language, {name}.{missing}, is not beside it.")
    if sides:
        return ReadAnew(partial(_read_text, _only_file(sides[0]), _only_file(sides[1])))
    if "tsv" in suffixes:
        return ReadAnew(partial(_read_tsv, _only_file(suffixes["tsv"])))
    if "jsonl" in suffixes:
        return ReadAnew(partial(_read_jsonl, _only_file(suffixes["jsonl"]), source, target))
    return None


def _read_text(source_path: Path, target_path: Path) -> Iterator[SentencePair]:
    for number, (source, target) in enumerate(read_parallel(source_path, target_path), 1):
        for path, sentence in ((source_path, source), (target_path, target)):
            if is_blank(sentence):
                raise _error(path, number, "the line is empty; remove it from both files")
        yield SentencePair(source, target)


def _read_tsv(path: Path) -> Iterator[SentencePair]:
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            found = (
                f"{len(columns)} column{'s' if len(columns) > 1 else ''}" if line.strip() else "an empty line"
            )
            raise _error(path, number, f"expected 2 columns (source, tab, target), but found {found}")
        source, target = columns
        for side, sentence in (("source", source), ("target", target)):
            if is_blank(sentence):
                raise _error(path, number, f"the {side} sentence is empty; remove the line")
        yield SentencePair(source, target)


def _read_jsonl(path: Path, source_language: str, target_language: str) -> Iterator[SentencePair]:
    for number, line in enumerate(read_lines(path), 1):
        entry = _parse(path, number, line)
        pair = SentencePair(
            _sentence(path, number, entry, source_language, "source"),
            _sentence(path, number, entry, target_language, "target"),
            _links(path, number, entry.get("alignment")),
            _tags(path, number, entry.get("tags")),
        )
        if outside := link_outside(pair):
            raise _error(path, number, outside)
        yield pair


def _parse(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise _error(path, number, f"not valid JSON (column {error.colno}: {error.msg})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise _error(path, number, f"this JSON cannot be read ({error})") from None
    if not isinstance(entry, dict):
        raise _error(path, number, 'expected a JSON object such as {"source": "...", "target": "..."}')
    return entry


def _text_keys(path: Path) -> set[str]:
    """The keys of the first line that could be languages."""
    entry = _parse(path, 1, next(read_lines(path), ""))
    keys = {key for key, value in entry.items() if isinstance(value, str)}
    if len(keys) < 2:
        raise _error(
            path, 1, "expected the keys 'source' and 'target', or two language codes, with a text each"
        )
    return keys


def _sentence(path: Path, number: int, entry: dict[str, Any], language: str, role: str) -> str:
    key = language if language in entry else role
    if key not in entry:
        keys = f"'{role}'" if language == role else f"'{language}' or '{role}'"
        raise _error(path, number, f"there is no key {keys}")
    sentence = entry[key]
    if not isinstance(sentence, str):
        raise _error(path, number, f"'{key}' must be a text, not {json.dumps(sentence)[:40]}")
    if is_blank(sentence):
        raise _error(path, number, f"'{key}' is empty; remove the line")
    try:
        sentence.encode()
    except UnicodeEncodeError:  # JSON can spell half a surrogate pair, which is no character
        raise _error(path, number, f"'{key}' has an incomplete \\u escape (a lone surrogate)") from None
    return sentence


def _links(path: Path, number: int, value: object) -> Links | None:
    if value is None:
        return None
    if isinstance(value, list):
        links = tuple((link[0], link[1]) for link in value if isinstance(link, list) and len(link) == 2)
        # `type(...) is int`, because True is an instance of int
        if len(links) == len(value) and all(type(i) is int and type(j) is int for i, j in links):
            return links
    raise _error(path, number, "'alignment' must be a list of links such as [[0, 0], [1, 2]]")


def _tags(path: Path, number: int, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    raise _error(path, number, "'tags' must be a list of texts such as [\"passive\"]")


def _error(path: Path, number: int, what: str) -> AugenmerkError:
    return AugenmerkError(f"{path}, line {number}: {what}.")
