"""Bilderbuch: captions in the manner of a picture book, German and English, written by a grammar of our own.

The embedded bitext: endless, free to use, the same on every machine, and the only one with gold word
alignments.
"""

import random
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from augenmerk.bitext.bilderbuch.author import Author
from augenmerk.bitext.pairs import Bitext, SentencePair
from augenmerk.errors import AugenmerkError

SIZES: Mapping[str, int] = {"train": 20_000, "val": 1_000, "test": 1_000}
"""How many pairs each split has unless another number is asked for."""

_SHARE = 16
"""One sentence in so many belongs to val, another to test."""
_BELONGS = {0: "val", 1: "test"}


@dataclass(frozen=True)
class Book:
    """One split: the first `pairs` sentences that the author writes for this seed and that belong here.

    Where a sentence belongs is decided by its own letters, so no two splits share a pair, of whatever
    size and seed they are.
    """

    split: str
    pairs: int
    seed: int

    def __len__(self) -> int:
        return self.pairs

    def __iter__(self) -> Iterator[SentencePair]:
        # A number for each split, so that val is not found among what train passed over.
        author = Author(random.Random(f"{self.split} {self.seed}").random)
        wanted, written = self.split, 0
        while written < self.pairs:
            pair = author.pair()
            if _BELONGS.get(zlib.crc32(pair.source.encode()) % _SHARE, "train") == wanted:
                written += 1
                yield pair


def load(pairs: int | None = None, seed: int = 1) -> Bitext:
    """The book for a seed, with so many pairs to train on.

    Val and test are the same whatever the size of train, so that results can be compared; only where
    train is smaller than they would be, they are cut to its size.
    """
    if pairs is None:
        pairs = SIZES["train"]
    if pairs < 1:
        raise AugenmerkError(f"A bilderbuch has at least 1 pair, not {pairs}.")
    sizes = {split: pairs if split == "train" else min(size, pairs) for split, size in SIZES.items()}
    return Bitext("bilderbuch", "de", "en", {split: Book(split, size, seed) for split, size in sizes.items()})
