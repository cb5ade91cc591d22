"""What to look for in a split of sentence pairs, and how each finding is worded: the entries of `CHECKS`."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from augenmerk.base.config import DataConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import DATASETS, check_own, open_bitext
from augenmerk.data.files import Entry, find, is_divided, load
from augenmerk.data.plausibility import (
    Floats,
    LanguageStatistics,
    Shift,
    correlation,
    find_offsets,
    measure_fit,
    measure_length_deviation,
    words_of,
)
from augenmerk.text.pairs import Bitext, SentencePair

MAX_LENGTH: int = DataConfig.model_fields["max_length"].default

FEWEST = {"length": 50, "language": 100, "offset": 200, "fit": 2000}
"""The pairs that each statistic needs."""
LENGTH_DEVIATIONS = 6.0
"""From how many standard deviations on a length counts as odd: 3 of the 29,000 pairs of Multi30k."""
WORST_FIT = -2.0
"""Mean log-odds of a target word, given the source, below which a pair fits badly. Of Multi30k, 1 pair in 700
has less; of pairs with another's target, 70%."""
RARE_SCRIPT = 0.2
"""The share of sentences below which a script is reported."""

_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_SUSPECT = {
    "control character": re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"),
    "replacement character": re.compile("\ufffd"),
    "wrong encoding": re.compile("Ã[\u0080-\u00bf\u0178\u0152\u0160\u201a-\u201e]|â€|Ð[\u0080-\u00bf]"),
    "markup": re.compile(
        r"&(?:amp|lt|gt|quot|nbsp|apos|#\d+|#x[0-9a-fA-F]+);|</?(?:p|br|b|i|a|span|div)\b[^<>]*>"
    ),
}
"""What a sentence should not contain."""


@dataclass(frozen=True)
class Finding:
    """Something that is worth a look, in a sentence, with the numbers of the lines that it is about."""

    split: str
    kind: str
    message: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class SideSummary:
    """One side of a split: its language, the lengths of its sentences in words, and its scripts."""

    language: str
    median_words: float
    longest: int
    scripts: dict[str, int]
    """How many sentences have words in each script, the most frequent first."""


@dataclass(frozen=True)
class SplitSummary:
    """How much there is in a split."""

    split: str
    pairs: int
    bad_lines: int
    repeated: int
    length_ratio: float
    """The median of target length divided by source length, in characters."""
    source: SideSummary
    target: SideSummary


class Split:
    """What is kept of a split: a few numbers for each pair, and the lines in which something was noticed."""

    def __init__(self, name: str, first: "Split | None") -> None:
        self.name = name
        self.first = first
        """The split before all others, which is trained on; None for that one."""
        self.bad = 0
        self.lines: list[int] = []
        self.noticed: dict[str, list[int]] = {}
        self.badly_fitting: list[int] = []
        self.first_line_of_source: dict[int, int] = {}
        self.words: tuple[list[int], list[int]] = ([], [])
        self.scripts: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
        self.has_lower, self.has_capitals = [False, False], [False, False]
        self._characters: tuple[list[int], list[int]] = ([], [])
        self._pairs: set[int] = set()

    @cached_property
    def lengths(self) -> tuple[Floats, Floats]:
        """The lengths of sources and targets in characters."""
        return np.array(self._characters[0], np.float64), np.array(self._characters[1], np.float64)

    @cached_property
    def shifts(self) -> list[Shift] | None:
        """Where lines are shifted against each other; None if their lengths do not go together at all."""
        return find_offsets(*self.lengths) if len(self.lines) >= FEWEST["offset"] else []

    @cached_property
    def shifted(self) -> set[int]:
        """The lines that may be shifted."""
        return {line for each in self.shifts or () for line in self.lines[each.safe_start : each.safe_end]}

    def notice(self, kind: str, line: int) -> None:
        lines = self.noticed.setdefault(kind, [])
        if not lines or lines[-1] != line:  # both sides of a pair may have it
            lines.append(line)

    def read(
        self, lines: Sequence[int], pairs: Sequence[SentencePair], statistics: LanguageStatistics
    ) -> None:
        self.lines.extend(lines)
        sources, targets = (
            [words_of(pair.source) for pair in pairs],
            [words_of(pair.target) for pair in pairs],
        )
        for line, pair, source, target in zip(lines, pairs, sources, targets, strict=True):
            self._read_sentence(line, 0, pair.source, len(source))
            self._read_sentence(line, 1, pair.target, len(target))
            self._compare(line, pair)
            if statistics.pairs >= FEWEST["language"]:
                of_source, of_target = statistics.judge(source, target)
                if of_source < 0 and of_target > 0:
                    self.notice("swapped", line)
                elif of_source < -1 and len(source) > 2:
                    self.notice("source language", line)
                elif of_target > 1 and len(target) > 2:
                    self.notice("target language", line)
        if len(pairs) >= FEWEST["fit"]:
            bad = np.flatnonzero(measure_fit(sources, targets) < WORST_FIT)
            self.badly_fitting += [lines[index] for index in bad.tolist()]

    def _read_sentence(self, line: int, side: int, sentence: str, words: int) -> None:
        self._characters[side].append(len(sentence))
        self.words[side].append(words)
        self.has_capitals[side] |= sentence != sentence.lower()
        self.has_lower[side] |= sentence != sentence.upper()
        for script in _scripts_of(sentence):
            self.scripts[side].setdefault(script, []).append(line)
        if words > MAX_LENGTH:
            self.notice("long", line)
        plain = sentence.isascii() and sentence.isprintable() and "&" not in sentence and "<" not in sentence
        for kind, pattern in () if plain else _SUSPECT.items():
            if pattern.search(sentence):
                self.notice(kind, line)

    def _compare(self, line: int, pair: SentencePair) -> None:
        """Compares a pair with those before it, and its two sides with each other."""
        source, both = _hash(pair.source), _hash(f"{pair.source}\n{pair.target}")
        if both in self._pairs:
            self.notice("repeated", line)
        elif source in self.first_line_of_source:
            self.notice("several targets", line)
        self._pairs.add(both)
        self.first_line_of_source.setdefault(source, line)
        if pair.source.casefold().strip() == pair.target.casefold().strip():
            self.notice("untranslated", line)

    def summarise(self, languages: tuple[str, str]) -> SplitSummary:
        sides = []
        for language, words, scripts in zip(languages, self.words, self.scripts, strict=True):
            counts = {script: len(lines) for script, lines in _rank(scripts)}
            sides.append(SideSummary(language, float(np.median(words)), max(words), counts))
        source, target = self.lengths
        ratio = float(np.median(target / np.maximum(source, 1)))
        repeated = len(self.noticed.get("repeated", []))
        return SplitSummary(self.name, len(self.lines), self.bad, repeated, ratio, *sides)


# The checks -------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The lines in which a check found something, and the values in its message."""

    lines: Sequence[int]
    values: Mapping[str, object] = {}


class Check(NamedTuple):
    """Something to look for in a split."""

    kind: str
    message: str
    """What to report; {count} is the number of lines."""
    find: Callable[[Split], Iterable[Found]] | None = None
    """None if it is noticed when the lines are read."""


def _find_shifts(split: Split) -> Iterator[Found]:
    for shift in split.shifts or ():
        safe = split.lines[shift.safe_start : shift.safe_end]
        values = {
            "start": split.lines[shift.start],
            "end": split.lines[shift.end - 1],
            "offset": shift.offset,
        }
        yield Found(safe, {**values, "first": safe[0], "last": safe[-1]})


def _find_unrelated_lengths(split: Split) -> Iterator[Found]:
    source, target = split.lengths
    rho = correlation(np.log(source + 5), np.log(target + 5))
    if split.shifts is None and abs(rho) < 0.1 and min(source.std(), target.std()) > 5:
        yield Found((), {"rho": rho})


def _find_odd_lengths(split: Split) -> Iterator[Found]:
    if len(split.lines) < FEWEST["length"]:
        return
    odd = np.flatnonzero(np.abs(measure_length_deviation(*split.lengths)) > LENGTH_DEVIATIONS)
    if lines := [split.lines[index] for index in odd.tolist() if split.lines[index] not in split.shifted]:
        yield Found(lines)


def _find_misaligned(split: Split) -> Iterator[Found]:
    explained = split.shifted | set(split.noticed.get("swapped", []))
    if lines := [line for line in split.badly_fitting if line not in explained]:
        yield Found(lines)


def _find_scripts(split: Split) -> Iterator[Found]:
    for role, scripts in zip(("source", "target"), split.scripts, strict=True):
        ranked = _rank(scripts)
        for script, lines in ranked[1:]:
            if len(lines) < RARE_SCRIPT * len(split.lines):
                names = {"script": script.capitalize(), "usual": ranked[0][0].capitalize()}
                yield Found(lines, {"role": role, **names})


def _find_no_capitals(split: Split) -> Iterator[Found]:
    for role, lower, capitals in zip(("source", "target"), split.has_lower, split.has_capitals, strict=True):
        if lower and not capitals and len(split.lines) >= FEWEST["length"]:
            yield Found((), {"role": role})


def _find_overlap(split: Split) -> Iterator[Found]:
    if split.first is not None:
        known = split.first.first_line_of_source
        if lines := [line for source, line in split.first_line_of_source.items() if source in known]:
            yield Found(lines, {"first": split.first.name})


CHECKS = (
    Check(
        "shifted",
        "Lines {start:,} to {end:,} (to be safe, {first:,} to {last:,}) seem shifted: source line n goes "
        "with target line n{offset:+}; look for a line too many or too few above them.",
        _find_shifts,
    ),
    Check(
        "shifted",
        "Lengths of source and target do not go together (correlation {rho:.2f}): the lines may not be "
        "translations of each other.",
        _find_unrelated_lengths,
    ),
    Check("swapped", "{count}: source and target look exchanged"),
    Check("source language", "{count}: the source looks like the target's language"),
    Check("target language", "{count}: the target looks like the source's language"),
    Check(
        "length", "{count}: one side is much longer than the other, compared with the rest", _find_odd_lengths
    ),
    Check(
        "misaligned", "{count}: the two sides do not look like translations of each other", _find_misaligned
    ),
    Check("repeated", "{count}: an earlier line has the same pair"),
    Check("several targets", "{count}: an earlier line has the same source with another target"),
    Check("untranslated", "{count}: source and target are the same"),
    Check("long", f"{{count}}: more than {MAX_LENGTH} words; training leaves them out (data.max_length)"),
    Check("control character", "{count}: there are control characters, which are removed in training"),
    Check("replacement character", "{count}: a replacement character (U+FFFD) shows that letters were lost"),
    Check("wrong encoding", "{count}: there are letters as of UTF-8 that was read as Latin-1 (Ã¤ for ä)"),
    Check("markup", "{count}: there is HTML, such as &amp; or <br>"),
    Check("script", "{count}: the {role} has words in {script} script; most have {usual}", _find_scripts),
    Check(
        "case", "The {role} has no capital letter, so the model will learn to write none.", _find_no_capitals
    ),
    Check("overlap", "{count}: the source is also in '{first}', so scores on it mean less", _find_overlap),
)
"""What is looked for in every split, in the order of the report."""


def run_checks(split: Split) -> Iterator[Finding]:
    """Yields what all checks find in a split that was read."""
    for check in CHECKS:
        noticed = [Found(split.noticed[check.kind])] if check.kind in split.noticed else []
        for found in check.find(split) if check.find else noticed:
            count = f"{len(found.lines):,} line{'s' if len(found.lines) != 1 else ''}"
            message = check.message.format(count=count, **found.values)
            yield Finding(split.name, check.kind, message, tuple(found.lines))


def _rank(scripts: Mapping[str, list[int]]) -> list[tuple[str, list[int]]]:
    """Returns scripts with their lines, the most frequent first."""
    return sorted(scripts.items(), key=lambda item: -len(item[1]))


def _hash(sentence: str) -> int:
    return int.from_bytes(blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _scripts_of(sentence: str) -> Iterable[str]:
    """Returns the scripts of a sentence: those of which it has two letters or more."""
    if not _NOT_LATIN.search(sentence):
        return ("LATIN",) if any(map(str.isalpha, sentence)) else ()
    counts = Counter(script for letter in sentence if (script := _script_of(letter)))
    return [script for script, count in counts.items() if count > 1]


@cache
def _script_of(letter: str) -> str | None:
    if not letter.isalpha():
        return None
    script = unicodedata.name(letter, "UNKNOWN").split()[0]
    if script in ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "HALFWIDTH", "BOPOMOFO"):
        return "CJK"  # Japanese uses several in one sentence
    others = ("FEMININE", "MASCULINE", "MICRO", "MODIFIER", "FULLWIDTH", "UNKNOWN")
    return None if script in others else script


CHUNK = 30_000
"""Pairs that are looked at together; an alignment model is learnt from each chunk."""
COUNTED = 100_000
"""Pairs of a split whose words are counted, to tell one language from the other."""


@dataclass(frozen=True)
class Problem:
    """Something that stops training. `file` and `line` are None where the reason names the location."""

    split: str
    kind: str
    reason: str
    file: str | None = None
    line: int | None = None


@dataclass
class CheckResult:
    """All that was found."""

    place: str
    splits: list[SplitSummary] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def check_data(name: str, source_language: str | None, target_language: str | None) -> CheckResult:
    """Checks a dataset by its name, or your own pairs; raises AugenmerkError only if there are none."""
    if name not in DATASETS:
        check_own(name)
        return check_files(Path(name), source_language, target_language)
    bitext = open_bitext(name, source_language=source_language, target_language=target_language)
    readers = {split: partial(iter, pairs) for split, pairs in bitext.splits.items()}
    return _check(name, (bitext.source_language, bitext.target_language), readers)


def check_files(path: Path, source_language: str | None, target_language: str | None) -> CheckResult:
    """Checks your own pairs; raises AugenmerkError only if there are none to be found."""
    found = find(path, source_language, target_language)
    return _check(str(path), (found.source_language, found.target_language), found.readers)


def open_clean(
    path: Path, source_language: str | None, target_language: str | None, keep: Collection[str], divide: bool
) -> tuple[Bitext, dict[str, dict[str, set[int]]]]:
    """Opens your own pairs without bad lines and those that a check finds, except for kinds to `keep`.

    Also returns the lines that were found, by split and kind.
    """
    result = check_files(path, source_language, target_language)
    kinds = dict.fromkeys(finding.kind for finding in result.findings if finding.lines)
    if unknown := set(keep) - kinds.keys():
        there = f"those found here are {', '.join(kinds)}" if kinds else "nothing was found here"
        raise AugenmerkError(f"--keep: there are no lines of the kind '{min(unknown)}'; {there}.")
    left_out: dict[str, dict[str, set[int]]] = {}
    for finding in result.findings:
        if finding.lines and finding.kind not in keep:
            left_out.setdefault(finding.split, {}).setdefault(finding.kind, set()).update(finding.lines)
    lines = {split: set[int]().union(*found.values()) for split, found in left_out.items()}
    bitext = load(path, source_language, target_language, skip_bad=True, divide=divide, left_out=lines)
    return bitext, left_out


def _check(
    place: str, languages: tuple[str, str], readers: Mapping[str, Callable[[], Iterator[Entry]]]
) -> CheckResult:
    result = CheckResult(place)
    statistics = LanguageStatistics()
    for read in readers.values():
        _count_words(read(), statistics)
    if statistics.look_swapped(*languages):
        message = (
            f"On the whole, the source looks like '{languages[1]}' and the target like '{languages[0]}'."
        )
        result.findings.append(Finding("all", "swapped", message))
    _check_names(list(readers), result)
    first: Split | None = None
    for name, read in readers.items():
        split = Split(name, first)
        first = first or split
        _check_split(split, read(), languages, statistics, result)
    unread = any(problem.kind == "file" for problem in result.problems)
    if first is not None and is_divided(readers) and len(first.first_line_of_source) < 3 and not unread:
        reason = "there must be at least 3 different source sentences to divide into train, val and test"
        result.problems.append(Problem(first.name, "splits", f"{place}: {reason}"))
    return result


def _check_names(names: list[str], result: CheckResult) -> None:
    """Reports splits that training does not find by the names it looks for."""
    if len(names) == 1 or {"train", "val"} <= set(names):
        return
    message = f"training looks for the splits 'train' and 'val', but here are {', '.join(names)}"
    if "train" in names and not any(name.startswith(("val", "dev")) for name in names):
        result.problems.append(Problem("all", "splits", f"{message}; give it pairs to validate on"))
    else:
        message += "; rename the files, or name them: --set data.validation=dev, for example."
        result.findings.append(Finding("all", "splits", message[0].upper() + message[1:]))


def _count_words(entries: Iterator[Entry], statistics: LanguageStatistics) -> None:
    try:
        for entry in islice(entries, COUNTED):
            if isinstance(entry, SentencePair):
                statistics.count(words_of(entry.source), words_of(entry.target))
    except AugenmerkError:
        pass  # it is reported when the pairs are checked
    finally:
        _close(entries)


def _close(entries: Iterator[Entry]) -> None:
    if isinstance(entries, Generator):
        entries.close()


def _check_split(
    split: Split,
    entries: Iterator[Entry],
    languages: tuple[str, str],
    statistics: LanguageStatistics,
    result: CheckResult,
) -> None:
    """Reads a split as far as possible, and adds to the result what is wrong with it."""
    problem = partial(Problem, split.name)
    number, error = 0, None

    def readable() -> Iterator[Entry]:
        nonlocal error
        try:
            yield from entries
        except AugenmerkError as found:
            error = found

    rest = readable()
    while chunk := list(islice(rest, CHUNK)):
        numbered = list(enumerate(chunk, number + 1))
        number += len(chunk)
        for _, entry in numbered:
            if not isinstance(entry, SentencePair):
                split.bad += 1
                result.problems += [problem(bad.kind, bad.reason, bad.file, bad.line) for bad in entry]
        pairs = [(line, entry) for line, entry in numbered if isinstance(entry, SentencePair)]
        split.read([line for line, _ in pairs], [pair for _, pair in pairs], statistics)
    _close(entries)
    if error is not None:
        result.problems.append(problem("file", str(error).removesuffix(".")))
    if split.lines:
        result.splits.append(split.summarise(languages))
        result.findings += run_checks(split)
    elif number or error is None:
        reason = f"{result.place} has no usable pair in '{split.name}'"
        result.problems.append(problem("no pairs", reason))
