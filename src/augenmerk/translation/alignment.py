"""Turns attention into word links and compares them with other links.

**Offsets.** g_i has read the word m_i and helps to predict m_{i+1}. A decoder may therefore look at the word
it produces, as it should, or still at the one it has just read. To find out, links are compared at three
offsets over target words: at offset d, what row j of the attention points to is linked to target word j + d.
If offset -1 fits best, the attention lags by a word; if +1 does, it is ahead by one.

**Pharaoh.** Links as text, a line for each sentence pair: `0-0 1-2`, source word first, counted from 0. Gold
links that are merely *possible* are written `1?2`; `1p2` is read as well, since both are in use.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augenmerk.data import Links

OFFSETS = (-1, 0, 1)
THRESHOLD = 0.4  # the weight from which on a link is clear

Weights = NDArray[np.float32]
"""Attention weights, (target tokens or words, source tokens or words) unless another shape is stated."""

_LINK = re.compile(r"(\d+)([-?p])(\d+)", re.ASCII)


def over_words(
    weights: Weights, target_word_of: Sequence[int | None], source_word_of: Sequence[int | None]
) -> Weights:
    """Returns attention (T, S) over tokens as attention (target words, source words).

    It is summed over the tokens of a source word and averaged over those of a target word. Rows and columns
    without a word, or beyond the given words (padding), are left out.
    """
    weights = weights[[row for row, word in enumerate(target_word_of) if word is not None]]
    rows, columns = (
        np.array([word for word in word_of if word is not None], dtype=np.int64)
        for word_of in (target_word_of, source_word_of)
    )
    by_source = np.zeros((columns.max(initial=-1) + 1, len(rows)), weights.dtype)
    np.add.at(by_source, columns, weights[:, : len(columns)].T)
    by_both = np.zeros((rows.max(initial=-1) + 1, len(by_source)), weights.dtype)
    np.add.at(by_both, rows, by_source.T)
    if len(rows):
        by_both /= np.bincount(rows)[:, None]
    return by_both


# From attention to links


def argmax_links(attention: Sequence[Sequence[float]]) -> Links:
    """Links each target word (a row) to the source word (a column) it attends to most, if to any."""
    return tuple(sorted((row.index(max(row)), j) for j, row in enumerate(attention) if any(row)))


def shift_links(links: Links, offset: int, target_words: int) -> Links:
    """Moves links by an offset over target words, and drops those that are then outside the sentence."""
    return tuple((i, j + offset) for i, j in links if 0 <= j + offset < target_words)


# Gold links


@dataclass(frozen=True)
class GoldLinks:
    """Sure links, which must be found, and possible links, which may be; the sure ones are among them."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, sure: Iterable[tuple[int, int]], possible: Iterable[tuple[int, int]] = ()) -> "GoldLinks":
        certain = frozenset(sure)
        return cls(certain, certain | frozenset(possible))

    @property
    def pharaoh(self) -> str:
        """The links as text, such as `0-0 1?2`."""
        return " ".join(f"{i}{'-' if (i, j) in self.sure else '?'}{j}" for i, j in sorted(self.possible))


def parse_pharaoh(line: str) -> GoldLinks:
    """Returns the links of a line; raises ValueError if it cannot be read."""
    links: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for part in line.split():
        found = _LINK.fullmatch(part)
        if found is None:
            raise ValueError(f"'{part}' is not a link such as 0-1 (sure) or 0?1 (possible)")
        links[found[2] == "-"].append((int(found[1]), int(found[3])))
    return GoldLinks.of(links[True], links[False])


# Scores


@dataclass(frozen=True)
class AlignmentScore:
    """Counts over sentences: proposed links, sure links, and proposed links that are sure or possible."""

    proposed: int
    sure: int
    both_sure: int
    both_possible: int

    @property
    def precision(self) -> float:
        """The share of proposed links that are possible."""
        return self.both_possible / self.proposed if self.proposed else 0.0

    @property
    def recall(self) -> float:
        """The share of sure links that are proposed."""
        return self.both_sure / self.sure if self.sure else 0.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def error(self) -> float:
        """The alignment error rate (Och and Ney): 1 - (|A and S| + |A and P|) / (|A| + |S|)."""
        total = self.proposed + self.sure
        return 1 - (self.both_sure + self.both_possible) / total if total else 0.0


def compare_links(pairs: Iterable[tuple[Links, GoldLinks]]) -> AlignmentScore:
    """Returns the counts over sentences, each given as (proposed, gold) links."""
    total = np.zeros(4, dtype=np.int64)
    for ours, gold in pairs:
        links = set(ours)
        total += [len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible)]
    return AlignmentScore(*total.tolist())


def best_offset(by_offset: dict[int, AlignmentScore]) -> int:
    """Returns the offset with the lowest error; of equals the one nearest to 0."""
    return min(by_offset, key=lambda offset: (by_offset[offset].error, abs(offset)))
