"""Looks through sentence pairs for everything that is wrong, all of it at once.

What stops training is a `Problem`: a line that holds no usable pair, or a file that cannot be read further.
What does not, but is worth a look, is a `Finding`: see `augenmerk.data.split_checks`.

Files may be larger than memory: sentences are read in chunks, and a few numbers for each are kept.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import DATASETS, check_own, open_bitext
from augenmerk.data.files import Entry, find, is_divided, load
from augenmerk.data.plausibility import LanguageStatistics, words_of
from augenmerk.data.split_checks import Finding, Split, SplitSummary, run_checks
from augenmerk.text.pairs import Bitext, SentencePair

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
