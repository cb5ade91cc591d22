"""Cutting pairs that come without splits into train, val and test, by a hash of the source sentence.

Sources are held out in the order of their hashes: the lowest twentieth (at most 1000 sentences) is val,
as many again are test, the rest is train. A hash and not a place in the file, so that

- a sentence that occurs twice is never both trained and tested on,
- the cut is the same on every machine and in whatever order the lines stand, and appending to the
  file moves few sentences from one split to another,
- two numbers describe it, however long the file is.

These need one pass over the pairs, made when the first split is used.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from augenmerk.bitext.pairs import ReadAnew, SentencePair
from augenmerk.errors import AugenmerkError

_SHARE = 20
_MOST = 1000


def cut(pairs: Iterable[SentencePair], place: Path) -> dict[str, Iterable[SentencePair]]:
    """The three splits; `place` is named if there is too little to cut."""
    shared = _Cut(place, pairs)
    return {name: ReadAnew(partial(shared.read, name)) for name in ("train", "val", "test")}


@dataclass(frozen=True)
class _Cut:
    place: Path
    pairs: Iterable[SentencePair]

    def read(self, name: str) -> Iterator[SentencePair]:
        last_val, last_test = self._bounds
        for pair in self.pairs:
            rank = _hash(pair.source)
            if name == ("train" if rank > last_test else "test" if rank > last_val else "val"):
                yield pair

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        """The highest hash in val, and the highest in test."""
        # A twentieth is known, and no longer grows, once this many distinct sentences were seen.
        enough = _SHARE * _MOST
        lowest: set[int] = set()
        bound = 2**64
        for pair in self.pairs:
            rank = _hash(pair.source)
            if rank < bound:
                lowest.add(rank)
                if len(lowest) == 2 * enough:
                    lowest = set(sorted(lowest)[:enough])
                    bound = max(lowest)
        if len(lowest) < 3:
            raise AugenmerkError(
                f"{self.place}: too little to cut into train, val and test; "
                f"expected at least 3 different source sentences, but found {len(lowest)}."
            )
        held_out = min(_MOST, max(1, len(lowest) // _SHARE))
        ranked = sorted(lowest)
        return ranked[held_out - 1], ranked[2 * held_out - 1]


def _hash(sentence: str) -> int:
    return int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8).digest(), "big")
