"""Looks through sentence pairs for what is wrong, all of it at once.

What stops training is a `Problem`: a line that holds no usable pair, or a file that cannot be read on. What
does not, but is worth a look, is a `Finding`: repeated pairs, other scripts, and what the statistics of
`augenmerk.data.plausibility` say about languages, lengths and translations.

Files may be larger than memory: sentences are read in chunks, and a few numbers for each are kept.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.config import DataConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data.files import Entry, find, is_divided
from augenmerk.data.plausibility import (
    Floats,
    Integers,
    LanguageStatistics,
    correlation,
    find_offsets,
    measure_fit,
    measure_length_deviation,
    words_of,
)
from augenmerk.text.pairs import Bitext, SentencePair

CHUNK = 30_000
"""Pairs that are looked at together; an alignment model is learnt from each chunk."""
COUNTED = 100_000
"""Pairs of a split whose words are counted, to tell one language from the other."""
MAX_LENGTH: int = DataConfig.model_fields["max_length"].default

FEWEST = {"length": 50, "language": 100, "offset": 200, "fit": 2000}
"""Pairs that each statistic needs before it says anything."""
LENGTH_DEVIATIONS = 6.0
"""From how many standard deviations on a length counts as odd: 3 of the 29,000 pairs of Multi30k."""
WORST_FIT = -2.0
"""Mean log-odds of a target word, given the source, below which a pair fits badly. Of Multi30k, 1 pair in 700
has less; of pairs with another's target, 70%."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_MOJIBAKE = re.compile("Ã[\u0080-\u00bf\u0178\u0152\u0160\u201a-\u201e]|â€|Ð[\u0080-\u00bf]")
_HTML = re.compile(r"&(?:amp|lt|gt|quot|nbsp|apos|#\d+|#x[0-9a-fA-F]+);|</?(?:p|br|b|i|a|span|div)\b[^<>]*>")


@dataclass(frozen=True)
class Problem:
    """Something that stops training. `file` and `line` are None where the reason names the place itself."""

    split: str
    kind: str
    reason: str
    file: str | None = None
    line: int | None = None


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


@dataclass
class CheckResult:
    """All that was found."""

    place: str
    splits: list[SplitSummary] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def lines_by_kind(self, keep: Collection[str] = ()) -> dict[str, dict[str, set[int]]]:
        """Returns the lines that the findings name, by split and kind, without the kinds to `keep`."""
        lines: dict[str, dict[str, set[int]]] = {}
        for finding in self.findings:
            if finding.lines and finding.kind not in keep:
                lines.setdefault(finding.split, {}).setdefault(finding.kind, set()).update(finding.lines)
        return lines


def check_files(place: Path, source_language: str | None, target_language: str | None) -> CheckResult:
    """Checks a person's own pairs; raises AugenmerkError only if there are none to be found."""
    found = find(place, source_language, target_language)
    return _check(str(place), (found.source_language, found.target_language), found.readers)


def check_bitext(bitext: Bitext) -> CheckResult:
    """Checks a dataset that is known by its name."""

    def reader(pairs: Iterable[SentencePair]) -> Callable[[], Iterator[Entry]]:
        return lambda: iter(pairs)

    readers = {split: reader(bitext[split]) for split in bitext.splits}
    return _check(bitext.name, (bitext.source_language, bitext.target_language), readers)


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
    train: dict[int, int] = {}
    for number, (split, read) in enumerate(readers.items()):
        checker = _SplitChecker(split, languages, statistics, result)
        checker.run(read())
        if number == 0:
            train = checker.first_line_of_source
        else:
            checker.report_overlap(train, next(iter(readers)))
    unread = any(problem.kind == "file" for problem in result.problems)
    if is_divided(readers) and len(train) < 3 and not unread:
        reason = "there must be at least 3 different source sentences to divide into train, val and test"
        result.problems.append(Problem(next(iter(readers)), "splits", f"{place}: {reason}"))
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
        pass  # it is reported by the checker, which reads the same
    finally:
        _close(entries)


def _close(entries: Iterator[Entry]) -> None:
    if isinstance(entries, Generator):
        entries.close()


def _chunks(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Yields the entries in lists. If a file cannot be read further, the last list is yielded before that."""
    complaint: AugenmerkError | None = None

    def readable() -> Iterator[Entry]:
        nonlocal complaint
        try:
            yield from entries
        except AugenmerkError as error:
            complaint = error

    rest = readable()
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
    if complaint is not None:
        raise complaint


class _SplitChecker:
    """Reads one split and adds what it finds to the result."""

    def __init__(
        self, split: str, languages: tuple[str, str], statistics: LanguageStatistics, result: CheckResult
    ) -> None:
        self._split = split
        self._languages = languages
        self._statistics = statistics
        self._result = result
        self._lines: list[int] = []
        self._lengths: tuple[list[int], list[int]] = ([], [])  # in characters
        self._word_lengths: tuple[list[int], list[int]] = ([], [])
        self._scripts: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
        self._has_capitals = [False, False]
        self._has_lower = [False, False]
        self._found: dict[str, list[int]] = {}
        self._badly_fitting: list[int] = []
        self._pairs_seen: set[int] = set()
        self.first_line_of_source: dict[int, int] = {}
        self._bad = 0

    def run(self, entries: Iterator[Entry]) -> None:
        number = 0
        try:
            for chunk in _chunks(entries):
                lines, pairs = [], []
                for entry in chunk:
                    number += 1
                    if isinstance(entry, SentencePair):
                        lines.append(number)
                        pairs.append(entry)
                    else:
                        self._bad += 1
                        for bad in entry:
                            self._problem(bad.kind, bad.reason, bad.file, bad.line)
                self._look_at(lines, pairs)
        except AugenmerkError as error:
            self._problem("file", str(error).removesuffix("."))
            if not number:
                return
        finally:
            _close(entries)
        if not self._lines:
            self._problem("no pairs", f"{self._result.place} has no usable pair in '{self._split}'")
            return
        self._summarise()
        self._report()

    def report_overlap(self, train: Mapping[int, int], name: str) -> None:
        """Reports the sentences that were also in the first split."""
        lines = [line for source, line in self.first_line_of_source.items() if source in train]
        self._add("overlap", lines, f"the source sentence is also in '{name}', so scores on it say less")

    def _problem(self, kind: str, reason: str, file: str | None = None, line: int | None = None) -> None:
        self._result.problems.append(Problem(self._split, kind, reason, file, line))

    def _add(self, kind: str, lines: Sequence[int], message: str) -> None:
        if lines:
            count = f"{len(lines):,} line{'s' if len(lines) != 1 else ''}"
            self._result.findings.append(Finding(self._split, kind, f"{count}: {message}", tuple(lines)))

    # Reading

    def _look_at(self, lines: Sequence[int], pairs: Sequence[SentencePair]) -> None:
        self._lines.extend(lines)
        source_words: list[list[str]] = []
        target_words: list[list[str]] = []
        for line, pair in zip(lines, pairs, strict=True):
            for side, (sentence, words) in enumerate(
                ((pair.source, source_words), (pair.target, target_words))
            ):
                words.append(words_of(sentence))
                self._look_at_sentence(line, side, sentence, len(words[-1]))
            self._look_for_repetition(line, pair)
        if self._statistics.pairs >= FEWEST["language"]:
            for line, source, target in zip(lines, source_words, target_words, strict=True):
                self._look_at_language(line, source, target)
        if len(pairs) >= FEWEST["fit"]:
            fits = measure_fit(source_words, target_words)
            self._badly_fitting += [
                line for line, fit in zip(lines, fits.tolist(), strict=True) if fit < WORST_FIT
            ]

    def _look_at_sentence(self, line: int, side: int, sentence: str, words: int) -> None:
        self._lengths[side].append(len(sentence))
        self._word_lengths[side].append(words)
        self._has_capitals[side] |= sentence != sentence.lower()
        self._has_lower[side] |= sentence != sentence.upper()
        for script in _scripts_of(sentence):
            self._scripts[side].setdefault(script, []).append(line)
        if words > MAX_LENGTH:
            self._mark("long", line)
        if not sentence.isascii() or not sentence.isprintable():
            if _CONTROL.search(sentence):
                self._mark("control character", line)
            if "\ufffd" in sentence:
                self._mark("replacement character", line)
            if _MOJIBAKE.search(sentence):
                self._mark("wrong encoding", line)
        if ("&" in sentence or "<" in sentence) and _HTML.search(sentence):
            self._mark("markup", line)

    def _mark(self, kind: str, line: int) -> None:
        lines = self._found.setdefault(kind, [])
        if not lines or lines[-1] != line:  # both sides of a pair may have it
            lines.append(line)

    def _look_for_repetition(self, line: int, pair: SentencePair) -> None:
        source, both = _hash(pair.source), _hash(f"{pair.source}\n{pair.target}")
        if both in self._pairs_seen:
            self._mark("repeated", line)
        elif source in self.first_line_of_source:
            self._mark("several targets", line)
        self._pairs_seen.add(both)
        self.first_line_of_source.setdefault(source, line)
        if pair.source.casefold().strip() == pair.target.casefold().strip():
            self._mark("untranslated", line)

    def _look_at_language(self, line: int, source: Sequence[str], target: Sequence[str]) -> None:
        of_source, of_target = self._statistics.judge(source, target)
        if of_source < 0 and of_target > 0:
            self._mark("swapped", line)
        elif of_source < -1 and len(source) > 2:
            self._mark("source language", line)
        elif of_target > 1 and len(target) > 2:
            self._mark("target language", line)

    # Reporting

    def _summarise(self) -> None:
        sides = []
        for side, language in enumerate(self._languages):
            scripts = {script: len(lines) for script, lines in self._scripts[side].items()}
            ranked = dict(sorted(scripts.items(), key=lambda item: -item[1]))
            words = self._word_lengths[side]
            sides.append(SideSummary(language, float(np.median(words)), max(words), ranked))
        source, target = (np.array(lengths, np.float64) for lengths in self._lengths)
        self._result.splits.append(
            SplitSummary(
                self._split,
                len(self._lines),
                self._bad,
                len(self._found.get("repeated", [])),
                float(np.median(target / np.maximum(source, 1))),
                *sides,
            )
        )

    def _report(self) -> None:
        lines = np.array(self._lines)
        source, target = (np.array(lengths, np.float64) for lengths in self._lengths)
        shifted = np.zeros(len(lines), bool)
        if len(lines) >= FEWEST["offset"]:
            shifted = self._report_offsets(lines, source, target)
        self._report_languages()
        if len(lines) >= FEWEST["length"]:
            odd = np.abs(measure_length_deviation(source, target)) > LENGTH_DEVIATIONS
            message = "one side is much longer than the other, compared with the rest"
            self._add("length", lines[odd & ~shifted].tolist(), message)
        somewhere_else = set(lines[shifted].tolist()) | set(self._found.get("swapped", []))
        self._add(
            "misaligned",
            [line for line in self._badly_fitting if line not in somewhere_else],
            "the two sides do not look like translations of each other",
        )
        for kind, message in (
            ("repeated", "the same pair stands further above"),
            ("several targets", "the source stands further above with another target"),
            ("untranslated", "source and target are the same"),
            ("long", f"more than {MAX_LENGTH} words; training leaves them out (data.max_length)"),
            ("control character", "there are control characters, which are removed in training"),
            ("replacement character", "there is a replacement character (U+FFFD): letters were lost before"),
            ("wrong encoding", "there are letters as of UTF-8 that was read as Latin-1 (Ã¤ for ä)"),
            ("markup", "there is HTML, such as &amp; or <br>"),
        ):
            self._add(kind, self._found.get(kind, []), message)
        for side, role in enumerate(("source", "target")):
            self._report_scripts(side, role)
            if len(lines) >= FEWEST["length"] and self._has_lower[side] and not self._has_capitals[side]:
                message = f"The {role} has no capital letter, so the model will learn to write none."
                self._result.findings.append(Finding(self._split, "case", message))

    def _report_languages(self) -> None:
        for kind, message in (
            ("swapped", "source and target look exchanged"),
            ("source language", "the source looks like the target's language"),
            ("target language", "the target looks like the source's language"),
        ):
            self._add(kind, self._found.get(kind, []), message)

    def _report_scripts(self, side: int, role: str) -> None:
        ranked = sorted(self._scripts[side].items(), key=lambda item: -len(item[1]))
        for script, lines in ranked[1:]:
            if len(lines) < 0.2 * len(self._lines):
                message = f"the {role} has words in {script.capitalize()} script"
                self._add("script", lines, f"{message}; most have {ranked[0][0].capitalize()}")

    def _report_offsets(self, lines: Integers, source: Floats, target: Floats) -> NDArray[np.bool_]:
        """Reports lines that are shifted against each other, and returns which these are, or may be."""
        shifted = np.zeros(len(lines), bool)
        shifts = find_offsets(source, target)
        if shifts is None:
            rho = correlation(np.log(source + 5), np.log(target + 5))
            if abs(rho) < 0.1 and min(source.std(), target.std()) > 5:
                message = f"Lengths of source and target do not go together (correlation {rho:.2f}): "
                message += "the lines may not be translations of each other."
                self._result.findings.append(Finding(self._split, "shifted", message))
            return shifted
        for shift in shifts:
            safe = lines[shift.safe_start : shift.safe_end]
            shifted[shift.safe_start : shift.safe_end] = True
            message = (
                f"Lines {lines[shift.start]:,} to {lines[shift.end - 1]:,} (to be safe, {safe[0]:,} to "
                f"{safe[-1]:,}) seem shifted: source line n goes with target line n{shift.offset:+}; look "
                f"for a line too many or too few above them."
            )
            self._result.findings.append(Finding(self._split, "shifted", message, tuple(safe.tolist())))
        return shifted


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
    return (
        None if script in ("FEMININE", "MASCULINE", "MICRO", "MODIFIER", "FULLWIDTH", "UNKNOWN") else script
    )
