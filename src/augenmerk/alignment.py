"""From attention to word links, and how far these are from gold ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from augenmerk.bitext import Links


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


def attended_links(attention: Sequence[Sequence[float]]) -> Links:
    """Links each target word (a row) to the source word (a column) it attends to most; none if to nothing."""
    links = []
    for j, row in enumerate(attention):
        if any(row):
            links.append((max(range(len(row)), key=row.__getitem__), j))
    return tuple(sorted(links))


@dataclass(frozen=True)
class AlignmentScore:
    """Counts over many sentences: links proposed, gold links, and links that are both."""

    proposed: int
    gold: int
    both: int

    @property
    def precision(self) -> float:
        return self.both / self.proposed if self.proposed else 0.0

    @property
    def recall(self) -> float:
        return self.both / self.gold if self.gold else 0.0

    @property
    def error(self) -> float:
        """Alignment error rate, all gold links being sure ones: 1 - 2 |A and S| / (|A| + |S|)."""
        total = self.proposed + self.gold
        return 1 - 2 * self.both / total if total else 0.0


def compare_links(pairs: Iterable[tuple[Links, Links]]) -> AlignmentScore:
    """Of (proposed, gold) links, sentence by sentence."""
    proposed = gold = both = 0
    for ours, theirs in pairs:
        ours_set, theirs_set = set(ours), set(theirs)
        proposed += len(ours_set)
        gold += len(theirs_set)
        both += len(ours_set & theirs_set)
    return AlignmentScore(proposed, gold, both)
