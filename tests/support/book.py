"""Bilderbuch as tests read it: with short val and test splits, and generated once in a process."""

import sys
import threading
from collections.abc import Iterator

from augenmerk.data import bilderbuch
from augenmerk.data.bilderbuch import GeneratedSplit
from augenmerk.text.pairs import SentencePair

WHOLE = bilderbuch.SIZES
SHORT = {**WHOLE, "val": 100, "test": 200}
"""Every training validates on val, and most of what tests measure is measured on val or test."""
_generate = GeneratedSplit.__iter__
_pairs: dict[GeneratedSplit, tuple[list[SentencePair], Iterator[SentencePair]]] = {}
"""What was generated of each split so far, and what generates the rest."""
_lock = threading.Lock()


def use_short_book() -> None:
    """A split of any size is the beginning of the same endless one."""
    bilderbuch.SIZES = SHORT
    GeneratedSplit.__iter__ = _read  # type: ignore[method-assign]


def use_whole_book() -> None:
    bilderbuch.SIZES = WHOLE
    GeneratedSplit.__iter__ = _generate  # type: ignore[method-assign]


def _read(split: GeneratedSplit) -> Iterator[SentencePair]:
    endless = GeneratedSplit(split.split, sys.maxsize, split.seed)
    kept, rest = _pairs.setdefault(endless, ([], _generate(endless)))
    for place in range(len(split)):
        with _lock:
            if place == len(kept):
                kept.append(next(rest))
        yield kept[place]
