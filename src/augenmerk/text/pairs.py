"""Sentence pairs, and the named splits of a bitext."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from augenmerk.base.errors import AugenmerkError
from augenmerk.text.words import split_words

Links = tuple[tuple[int, int], ...]
"""Word-to-word links (source word, target word), counted from 0 over `augenmerk.text.words.split_words`."""

MAX_LINE_BYTES = 1_000_000
"""The length of the longest line of a file that is read, and so exported, with its end."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A source sentence and its translation, as raw text.

    `alignment` holds the gold links where they are known (bilderbuch), otherwise None; `tags` name the
    linguistic phenomena in the pair.
    """

    source: str
    target: str
    alignment: Links | None = None
    tags: tuple[str, ...] = ()

    def reversed(self) -> "SentencePair":
        """Returns the pair with source and target exchanged."""
        links = None if self.alignment is None else tuple(sorted((j, i) for i, j in self.alignment))
        return SentencePair(self.target, self.source, links, self.tags)

    def describe_bad_link(self) -> str | None:
        """Returns a description of the first link that points past the end of a sentence, or None."""
        lengths = (len(split_words(self.source)), len(split_words(self.target))) if self.alignment else (0, 0)
        for i, j in self.alignment or ():
            if not (0 <= i < lengths[0] and 0 <= j < lengths[1]):
                return (
                    f"the link {i}-{j} points outside the sentences, which have {lengths[0]} and "
                    f"{lengths[1]} words (counted from 0, punctuation split off)"
                )
        return None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a file that holds no usable sentence pair, and why."""

    file: str
    line: int
    kind: Literal["empty", "not UTF-8", "too long", "malformed"]
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}."


class BadLineError(AugenmerkError):
    """Raised when a bad line is read and bad lines are not to be skipped."""


def is_blank(sentence: str) -> bool:
    """Returns whether a sentence has no word: it is empty, white space or invisible characters only."""
    # A printable sentence has a word unless it is all spaces; this check is quick.
    return not sentence.strip() or not (sentence.isprintable() or split_words(sentence))


@dataclass(frozen=True)
class LazySplit:
    """A split whose pairs are read again at every iteration instead of being kept in memory."""

    read: Callable[[], Iterator[SentencePair]]

    def __iter__(self) -> Iterator[SentencePair]:
        return self.read()


class PairsSum(NamedTuple):
    """Tells pairs from others: how many there are, and their checksum."""

    pairs: int
    sha256: str


class WatchedPairs:
    """A split whose pairs are counted and hashed as they are read.

    Raises AugenmerkError, with its name, if they are not the same when they are read again.
    """

    def __init__(self, pairs: Iterable[SentencePair], name: str) -> None:
        self._pairs = pairs
        self._name = name
        self.sum: PairsSum | None = None
        """Of the pairs that were read; None until all were."""

    def __iter__(self) -> Iterator[SentencePair]:
        digest, count = hashlib.sha256(), 0
        for pair in self._pairs:
            count += 1
            digest.update(f"{pair.source}\n{pair.target}\n".encode("utf-8", "surrogatepass"))
            yield pair
        found = PairsSum(count, digest.hexdigest())
        if self.sum not in (None, found):
            raise AugenmerkError(
                f"{self._name} changed while it was in use; put the files back as they were, and continue."
            )
        self.sum = found


def sum_pairs(pairs: Iterable[SentencePair]) -> PairsSum:
    """Counts and hashes pairs."""
    watched = WatchedPairs(pairs, "")
    deque(watched, maxlen=0)
    assert watched.sum is not None
    return watched.sum


@dataclass(frozen=True)
class Bitext:
    """Named splits of sentence pairs in two languages. A split can be iterated any number of times."""

    name: str
    source_language: str
    target_language: str
    splits: Mapping[str, Iterable[SentencePair]]
    skipped: set[BadLine] = field(default_factory=set, compare=False)
    """The bad lines that were skipped while splits were read; always empty unless opened with skip_bad."""
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict, compare=False)
    """The files that a split is read from, where there are some."""
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The tags that its pairs may have, with their meanings."""

    def __getitem__(self, split: str) -> Iterable[SentencePair]:
        if split not in self.splits:
            names = ", ".join(self.splits) or "none"
            raise AugenmerkError(f"{self.name} has no split called '{split}'; there are: {names}.")
        return self.splits[split]

    def reversed(self) -> "Bitext":
        """Returns the bitext with source and target exchanged."""

        def reverse(pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
            return (pair.reversed() for pair in pairs)

        splits = {name: LazySplit(partial(reverse, pairs)) for name, pairs in self.splits.items()}
        return replace(
            self, source_language=self.target_language, target_language=self.source_language, splits=splits
        )

    def in_direction(self, source_language: str | None, target_language: str | None) -> "Bitext":
        """Returns the bitext, reversed if the languages ask for the other direction."""
        for bitext in (self, self.reversed()):
            if source_language in (None, bitext.source_language) and (
                target_language in (None, bitext.target_language)
            ):
                return bitext
        asked = {"from": source_language, "to": target_language}
        direction = "".join(f" {which} {language}" for which, language in asked.items() if language)
        raise AugenmerkError(
            f"{self.name} is in {self.source_language} and {self.target_language}, so it cannot be "
            f"translated{direction}."
        )

    def watch(self, split: str) -> WatchedPairs:
        """Returns a split that notices if its pairs change while it is in use."""
        return WatchedPairs(self[split], self.describe(split))

    def describe(self, split: str) -> str:
        """Returns the name of a split, with its files where there are some."""
        files = " and ".join(map(str, self.files.get(split, ())[:2]))
        return f"Split '{split}' of {self.name}" + (f" ({files})" if files not in ("", self.name) else "")
