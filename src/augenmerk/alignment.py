"""From attention to word links, and how far these are from others.

**Offsets.** g_i has read the word m_i and helps to predict m_{i+1}. A decoder may therefore look at the word
it produces, as it should, or still at the one it has just read. Which it does is a matter of target words, so
links are compared at three offsets over them: at offset d, what row j of the attention points to is taken for
the link of target word j + d. Offset 0 takes attention at its word; where -1 fits best the attention lags
by a word; where +1 does, it is ahead by one.

**Pharaoh.** Links as text, a line for each sentence pair: `0-0 1-2`, source word first, counted from 0. Gold
links may be merely *possible*: those are written `1?2`, and `1p2` is read as well, since both are in use.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from augenmerk.bitext import Links
from augenmerk.errors import AugenmerkError

OFFSETS = (-1, 0, 1)
THRESHOLD = 0.4
"""The weight that makes a link, unless told otherwise: from 0.3 to 0.5 the error hardly changes."""

_LINK = re.compile(r"(\d+)([-?p])(\d+)", re.ASCII)


def over_words(weights: Tensor, target_word_of: Sequence[int], source_word_of: Sequence[int]) -> Tensor:
    """Attention (T, S) over tokens as (target words, source words): summed over the tokens of a source word,
    averaged over those of a target word. Rows and columns beyond (the end of a sentence, padding) are left
    out, so a row sums to 1 less what rests on the end."""
    rows, columns = (torch.tensor(word_of, dtype=torch.int64) for word_of in (target_word_of, source_word_of))
    weights = weights[: len(rows), : len(columns)]
    by_source = weights.new_zeros(len(rows), _count(source_word_of)).index_add(1, columns, weights)
    by_both = weights.new_zeros(_count(target_word_of), by_source.shape[1]).index_add(0, rows, by_source)
    return by_both / torch.bincount(rows)[:, None] if len(rows) else by_both


def _count(word_of: Sequence[int]) -> int:
    return max(word_of) + 1 if word_of else 0


# From attention to links


def attended_links(attention: Sequence[Sequence[float]]) -> Links:
    """Links each target word (a row) to the source word (a column) it attends to most; none if to nothing."""
    links = []
    for j, row in enumerate(attention):
        if any(row):
            links.append((max(range(len(row)), key=row.__getitem__), j))
    return tuple(sorted(links))


def strong_links(attention: Sequence[Sequence[float]], threshold: float = THRESHOLD) -> Links:
    """Links each target word to every source word that has at least this weight: to none, one or several."""
    if not 0 < threshold <= 1:
        raise AugenmerkError(f"A threshold of {threshold} is impossible: a weight is between 0 and 1.")
    return tuple(
        sorted(
            (i, j) for j, row in enumerate(attention) for i, weight in enumerate(row) if weight >= threshold
        )
    )


def in_both(links: Links, back: Links) -> Links:
    """The links that a model of the other direction (target, source) finds as well."""
    turned = {(i, j) for j, i in back}
    return tuple(link for link in links if link in turned)


def shifted(links: Links, offset: int, target_words: int) -> Links:
    """The links at an offset over target words, without those that fall off either end."""
    return tuple((i, j + offset) for i, j in links if 0 <= j + offset < target_words)


def crossings(links: Links) -> int:
    """How many pairs of links cross: the earlier source word has the later target word."""
    return sum(
        (i - other_i) * (j - other_j) < 0
        for number, (i, j) in enumerate(links)
        for other_i, other_j in links[:number]
    )


# Links to compare with


@dataclass(frozen=True)
class GoldLinks:
    """Links that must be there (sure), and links that may be (possible; the sure ones are among them)."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, sure: Iterable[tuple[int, int]], possible: Iterable[tuple[int, int]] = ()) -> "GoldLinks":
        certain = frozenset(sure)
        return cls(certain, certain | frozenset(possible))

    @property
    def pharaoh(self) -> str:
        return " ".join(f"{i}{'-' if (i, j) in self.sure else '?'}{j}" for i, j in sorted(self.possible))


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """`0-0 1-2`."""
    return " ".join(f"{i}-{j}" for i, j in links)


def read_pharaoh(line: str) -> GoldLinks:
    """The links of a line; a ValueError says what is wrong with it."""
    sure: list[tuple[int, int]] = []
    possible: list[tuple[int, int]] = []
    for part in line.split():
        found = _LINK.fullmatch(part)
        if found is None:
            raise ValueError(f"'{part}' is not a link such as 0-1 (sure) or 0?1 (possible)")
        (sure if found[2] == "-" else possible).append((int(found[1]), int(found[3])))
    return GoldLinks.of(sure, possible)


# How far links are from these


@dataclass(frozen=True)
class AlignmentScore:
    """Counts over many sentences: links proposed, sure ones, and how many proposed are sure or possible."""

    proposed: int
    sure: int
    both_sure: int
    both_possible: int

    @property
    def precision(self) -> float:
        """How many of the links proposed are at least possible."""
        return self.both_possible / self.proposed if self.proposed else 0.0

    @property
    def recall(self) -> float:
        """How many of the sure links are proposed."""
        return self.both_sure / self.sure if self.sure else 0.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def error(self) -> float:
        """Alignment error rate (Och and Ney): 1 - (|A and S| + |A and P|) / (|A| + |S|)."""
        total = self.proposed + self.sure
        return 1 - (self.both_sure + self.both_possible) / total if total else 0.0


def compare_links(pairs: Iterable[tuple[Links, GoldLinks]]) -> AlignmentScore:
    """Of (proposed, gold) links, sentence by sentence."""
    proposed = sure = both_sure = both_possible = 0
    for ours, gold in pairs:
        links = set(ours)
        proposed += len(links)
        sure += len(gold.sure)
        both_sure += len(links & gold.sure)
        both_possible += len(links & gold.possible)
    return AlignmentScore(proposed, sure, both_sure, both_possible)


def best_offset(by_offset: dict[int, AlignmentScore]) -> int:
    """Where the error is least; of equals the one nearest to 0."""
    return min(by_offset, key=lambda offset: (by_offset[offset].error, abs(offset)))
