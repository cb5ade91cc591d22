"""Looks through sentence pairs for everything that is wrong, all at once.

What stops training is a `Problem`: a line that holds no usable pair, or a file that cannot be read further.
What does not, but is worth a look, is a `Finding`; `CHECKS` lists what is looked for, and how it is worded.

Files may be larger than memory: sentences are read in chunks, and a few numbers for each are kept.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.base.config import DataConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import DATASETS, check_own, open_bitext
from augenmerk.data.files import Entries, find, is_divided, load
from augenmerk.data.findings import CheckResult, Finding, Problem, SideSummary, SplitSummary
from augenmerk.data.plausibility import (
    Floats,
    LanguageStatistics,
    Shift,
    correlation,
    find_offsets,
    measure_fit,
    measure_length_deviation,
    scripts_of,
    words_of,
)
from augenmerk.text.pairs import Bitext, SentencePair

CHUNK = 30_000
"""Lines that are looked at together; an alignment model is learnt from each chunk."""
COUNTED = 100_000
"""Lines of a split whose words are counted, to tell one language from the other."""
MAX_LENGTH: int = DataConfig.model_fields["max_length"].default

FEWEST = {"length": 50, "language": 100, "offset": 200, "fit": 2000}
"""The pairs that each statistic needs."""
LENGTH_DEVIATIONS = 6.0
"""The standard deviations from which a length counts as odd: 3 of the 29,000 pairs of Multi30k."""
WORST_FIT = -2.0
"""Mean log-odds of a target word, given the source, below which a pair fits badly. Of Multi30k, 1 pair in 700
has less; of pairs with another's target, 70%."""
RARE_SCRIPT = 0.2
"""The share of sentences below which a script is reported."""

_SUSPECT = {
    "control character": re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"),
    "replacement character": re.compile("\ufffd"),
    "wrong encoding": re.compile("Ã[\u0080-\u00bf\u0178\u0152\u0160\u201a-\u201e]|â€|Ð[\u0080-\u00bf]"),
    "markup": re.compile(
        r"&(?:amp|lt|gt|quot|nbsp|apos|#\d+|#x[0-9a-fA-F]+);|</?(?:p|br|b|i|a|span|div)\b[^<>]*>"
    ),
}
"""What a sentence should not contain."""


# What is kept of a split


@dataclass
class _Side:
    """What is kept of the sentences of one side."""

    characters: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    scripts: dict[str, list[int]] = field(default_factory=dict)
    """The lines with each script."""
    has_lower: bool = False
    has_capitals: bool = False

    def read(self, line: int, sentence: str, words: int) -> Iterator[str]:
        """Yields the kinds of what is odd in a sentence."""
        self.characters.append(len(sentence))
        self.words.append(words)
        self.has_capitals |= sentence != sentence.lower()
        self.has_lower |= sentence != sentence.upper()
        for script in scripts_of(sentence):
            self.scripts.setdefault(script, []).append(line)
        if words > MAX_LENGTH:
            yield "long"
        if not (
            sentence.isascii() and sentence.isprintable() and "&" not in sentence and "<" not in sentence
        ):
            yield from (kind for kind, pattern in _SUSPECT.items() if pattern.search(sentence))

    def rank_scripts(self) -> list[tuple[str, list[int]]]:
        """Returns the scripts with their lines, the most frequent first."""
        return sorted(self.scripts.items(), key=lambda item: -len(item[1]))

    def summarise(self, language: str) -> SideSummary:
        scripts = {script: len(lines) for script, lines in self.rank_scripts()}
        return SideSummary(language, float(np.median(self.words)), max(self.words), scripts)


class Split:
    """What is kept of a split: a few numbers for each pair, and the lines in which something was noticed."""

    def __init__(self, name: str, first: "Split | None") -> None:
        self.name = name
        self.first = first
        """The split before all others, which is trained on; None for that one."""
        self.bad = 0
        self.lines: list[int] = []
        self.noticed: dict[str, list[int]] = {}
        """The lines in which something was noticed while they were read, by its kind."""
        self.first_line_of_source: dict[int, int] = {}
        self.sides = _Side(), _Side()
        self._pairs: set[int] = set()

    @cached_property
    def lengths(self) -> tuple[Floats, Floats]:
        """The lengths of sources and targets in characters."""
        source, target = (np.array(side.characters, np.float64) for side in self.sides)
        return source, target

    @cached_property
    def shifts(self) -> list[Shift] | None:
        """Where lines are shifted against each other; None if their lengths do not go together at all."""
        return find_offsets(*self.lengths) if len(self.lines) >= FEWEST["offset"] else []

    @cached_property
    def shifted(self) -> set[int]:
        """The lines that may be shifted."""
        return {line for each in self.shifts or () for line in self.lines[each.safe_start : each.safe_end]}

    def read(self, pairs: Sequence[tuple[int, SentencePair]], statistics: LanguageStatistics) -> None:
        """Reads pairs with the numbers of their lines."""
        self.lines += [line for line, _ in pairs]
        words: tuple[list[list[str]], list[list[str]]] = ([], [])
        for line, pair in pairs:
            kinds = set(self._compare(line, pair))
            for side, sentence, rows in zip(self.sides, (pair.source, pair.target), words, strict=True):
                rows.append(words_of(sentence))
                kinds.update(side.read(line, sentence, len(rows[-1])))
            if statistics.pairs >= FEWEST["language"]:
                source, target = words[0][-1], words[1][-1]
                of_source, of_target = statistics.judge(source, target)
                if of_source < 0 and of_target > 0:
                    kinds.add("swapped")
                elif of_source < -1 and len(source) > 2:
                    kinds.add("source language")
                elif of_target > 1 and len(target) > 2:
                    kinds.add("target language")
            for kind in kinds:
                self.noticed.setdefault(kind, []).append(line)
        if len(pairs) >= FEWEST["fit"]:
            bad = np.flatnonzero(measure_fit(*words) < WORST_FIT).tolist()
            self.noticed.setdefault("misaligned", []).extend(pairs[index][0] for index in bad)

    def _compare(self, line: int, pair: SentencePair) -> Iterator[str]:
        """Compares a pair with those before it, and its two sides with each other; yields what is odd."""
        source, both = _hash(pair.source), _hash(f"{pair.source}\n{pair.target}")
        if both in self._pairs:
            yield "repeated"
        elif source in self.first_line_of_source:
            yield "several targets"
        self._pairs.add(both)
        self.first_line_of_source.setdefault(source, line)
        if pair.source.casefold().strip() == pair.target.casefold().strip():
            yield "untranslated"

    def summarise(self, languages: Sequence[str]) -> SplitSummary:
        sides = (side.summarise(language) for side, language in zip(self.sides, languages, strict=True))
        source, target = self.lengths
        ratio = float(np.median(target / np.maximum(source, 1)))
        repeated = len(self.noticed.get("repeated", []))
        return SplitSummary(self.name, len(self.lines), self.bad, repeated, ratio, *sides)


def _hash(sentence: str) -> int:
    return int.from_bytes(blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


# The checks

Found = Iterator[tuple[Sequence[int], dict[str, Any]]]
"""The lines in which a check found something, and the values in its message."""


def _find_shifts(split: Split) -> Found:
    for shift in split.shifts or ():
        safe = split.lines[shift.safe_start : shift.safe_end]
        start, end = split.lines[shift.start], split.lines[shift.end - 1]
        yield safe, {"start": start, "end": end, "offset": shift.offset, "first": safe[0], "last": safe[-1]}


def _find_unrelated_lengths(split: Split) -> Found:
    source, target = split.lengths
    rho = correlation(np.log(source + 5), np.log(target + 5))
    if split.shifts is None and abs(rho) < 0.1 and min(source.std(), target.std()) > 5:
        yield (), {"rho": rho}


def _find_odd_lengths(split: Split) -> Found:
    if len(split.lines) >= FEWEST["length"]:
        odd = np.flatnonzero(np.abs(measure_length_deviation(*split.lengths)) > LENGTH_DEVIATIONS)
        yield [line for index in odd.tolist() if (line := split.lines[index]) not in split.shifted], {}


def _find_misaligned(split: Split) -> Found:
    explained = split.shifted.union(split.noticed.get("swapped", []))
    yield [line for line in split.noticed.get("misaligned", []) if line not in explained], {}


def _find_scripts(split: Split) -> Found:
    for role, side in zip(("source", "target"), split.sides, strict=True):
        ranked = side.rank_scripts()
        for script, lines in ranked[1:]:
            if len(lines) < RARE_SCRIPT * len(split.lines):
                names = {"script": script.capitalize(), "usual": ranked[0][0].capitalize()}
                yield lines, {"role": role, **names}


def _find_no_capitals(split: Split) -> Found:
    for role, side in zip(("source", "target"), split.sides, strict=True):
        if side.has_lower and not side.has_capitals and len(split.lines) >= FEWEST["length"]:
            yield (), {"role": role}


def _find_overlap(split: Split) -> Found:
    if split.first is not None:
        known = split.first.first_line_of_source
        lines = [line for source, line in split.first_line_of_source.items() if source in known]
        yield lines, {"first": split.first.name}


CHECKS: tuple[tuple[str, str, Callable[[Split], Found] | None], ...] = (
    (
        "shifted",
        "Lines {start:,} to {end:,} (to be safe, {first:,} to {last:,}) seem shifted: source line n goes "
        "with target line n{offset:+}; look for a line too many or too few above them.",
        _find_shifts,
    ),
    (
        "shifted",
        "Lengths of source and target do not go together (correlation {rho:.2f}): the lines may not be "
        "translations of each other.",
        _find_unrelated_lengths,
    ),
    ("swapped", "{count}: source and target look exchanged", None),
    ("source language", "{count}: the source looks like the target's language", None),
    ("target language", "{count}: the target looks like the source's language", None),
    ("length", "{count}: one side is much longer than the other, compared with the rest", _find_odd_lengths),
    ("misaligned", "{count}: the two sides do not look like translations of each other", _find_misaligned),
    ("repeated", "{count}: an earlier line has the same pair", None),
    ("several targets", "{count}: an earlier line has the same source with another target", None),
    ("untranslated", "{count}: source and target are the same", None),
    ("long", f"{{count}}: more than {MAX_LENGTH} words; training leaves them out (data.max_length)", None),
    ("control character", "{count}: there are control characters, which are removed in training", None),
    ("replacement character", "{count}: a replacement character (U+FFFD) shows that letters were lost", None),
    ("wrong encoding", "{count}: there are letters as of UTF-8 that was read as Latin-1 (Ã¤ for ä)", None),
    ("markup", "{count}: there is HTML, such as &amp; or <br>", None),
    ("script", "{count}: the {role} has words in {script} script; most have {usual}", _find_scripts),
    ("case", "The {role} has no capital letter, so the model will learn to write none.", _find_no_capitals),
    ("overlap", "{count}: the source is also in '{first}', so scores on it mean less", _find_overlap),
)
"""What is looked for in every split, in the order of the report: its kind, the message, in which {count} is
the number of lines, and what finds it; None if it is noticed when the lines are read."""


def run_checks(split: Split) -> Iterator[Finding]:
    """Yields what all checks find in a split that was read."""
    for kind, message, find_lines in CHECKS:
        for lines, values in find_lines(split) if find_lines else [(split.noticed.get(kind, []), {})]:
            if lines or "{count}" not in message:
                count = f"{len(lines):,} line{'s' if len(lines) != 1 else ''}"
                yield Finding(split.name, kind, message.format(count=count, **values), tuple(lines))


# Reading and checking


def check_data(
    name: str, source_language: str | None = None, target_language: str | None = None
) -> CheckResult:
    """Checks a dataset by its name, or your own pairs; raises AugenmerkError only if there are none."""
    readers: Mapping[str, Callable[[], Entries]]
    if name in DATASETS:
        bitext = open_bitext(name, source_language=source_language, target_language=target_language)
        languages = bitext.source_language, bitext.target_language
        readers = {split: partial(_iterate, pairs) for split, pairs in bitext.splits.items()}
    else:
        check_own(name)
        found = find(Path(name), source_language, target_language)
        languages, readers = (found.source_language, found.target_language), found.readers
    result, statistics = CheckResult(name), LanguageStatistics()
    for read in readers.values():
        with closing(read()) as entries, suppress(AugenmerkError):  # it is reported below
            for entry in islice(entries, COUNTED):
                if isinstance(entry, SentencePair):
                    statistics.count(words_of(entry.source), words_of(entry.target))
    if statistics.look_swapped(*languages):
        message = (
            f"On the whole, the source looks like '{languages[1]}' and the target like '{languages[0]}'."
        )
        result.findings.append(Finding("all", "swapped", message))
    if len(readers) > 1 and not {"train", "val"} <= readers.keys():
        message = f"Training looks for the splits 'train' and 'val', but here are {', '.join(readers)}"
        if "train" in readers and not any(split.startswith(("val", "dev")) for split in readers):
            result.problems.append(Problem("all", "splits", f"{message}; give it pairs to validate on"))
        else:
            remedy = "rename the files, or name them: --set data.validation=dev, for example."
            result.findings.append(Finding("all", "splits", f"{message}; {remedy}"))
    splits: list[Split] = []
    for split_name, read in readers.items():
        splits.append(Split(split_name, splits[0] if splits else None))
        with closing(read()) as entries:
            _check_split(splits[-1], entries, languages, statistics, result)
    unread = any(problem.kind == "file" for problem in result.problems)
    if is_divided(readers) and len(splits[0].first_line_of_source) < 3 and not unread:
        reason = "there must be at least 3 different source sentences to divide into train, val and test"
        result.problems.append(Problem(splits[0].name, "splits", f"{name}: {reason}"))
    return result


def _iterate(pairs: Iterable[SentencePair]) -> Entries:
    yield from pairs


def _check_split(
    split: Split,
    entries: Entries,
    languages: Sequence[str],
    statistics: LanguageStatistics,
    result: CheckResult,
) -> None:
    """Reads a split as far as possible, and adds to the result what is wrong with it."""
    problem = partial(Problem, split.name)
    number, chunk, error = 0, list[tuple[int, SentencePair]](), None
    try:
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, SentencePair):
                chunk.append((number, entry))
            else:
                split.bad += 1
                result.problems += [problem(bad.kind, bad.reason, bad.file, bad.line) for bad in entry]
            if number % CHUNK == 0:
                split.read(chunk, statistics)
                chunk.clear()
    except AugenmerkError as found:
        error = found
    split.read(chunk, statistics)
    if error is not None:
        result.problems.append(problem("file", str(error).removesuffix(".")))
    if split.lines:
        result.splits.append(split.summarise(languages))
        result.findings += run_checks(split)
    elif number or error is None:
        reason = f"{result.place} has no usable pair in '{split.name}'"
        result.problems.append(problem("no pairs", reason))


def open_clean(
    name: str, source_language: str | None, target_language: str | None, keep: Collection[str], divide: bool
) -> tuple[Bitext, dict[str, dict[str, set[int]]]]:
    """Opens your own pairs without bad lines and those that a check finds, except for kinds to `keep`.

    Also returns the lines that were found, by split and kind.
    """
    found = [each for each in check_data(name, source_language, target_language).findings if each.lines]
    kinds = dict.fromkeys(finding.kind for finding in found)
    if unknown := set(keep) - kinds.keys():
        there = f"those found here are {', '.join(kinds)}" if kinds else "nothing was found here"
        raise AugenmerkError(f"--keep: there are no lines of the kind '{min(unknown)}'; {there}.")
    left_out: dict[str, dict[str, set[int]]] = {}
    for finding in found:
        if finding.kind not in keep:
            left_out.setdefault(finding.split, {}).setdefault(finding.kind, set()).update(finding.lines)
    lines = {split: set[int]().union(*by_kind.values()) for split, by_kind in left_out.items()}
    path = Path(name)
    return load(
        path, source_language, target_language, skip_bad=True, divide=divide, left_out=lines
    ), left_out
