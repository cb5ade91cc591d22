"""Numbers that describe the attention of a sentence, and the words that moved.

There are T target words j (without the end of the translation) and S source words t; w_jt is the attention of
word j to word t, and each row also has a weight on the end of the source. The tests have closed forms of the
measures for diagonal, anti-diagonal and uniform attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from augenmerk.translation import END, HeadAttention, Translation
from augenmerk.translation.alignment import OFFSETS, THRESHOLD

Floats = NDArray[np.float64]
Link = tuple[int, int, float]
"""(source word, target word, weight)."""

ROUNDING = 6
"""Digits to which expected positions are compared: weights are not known more exactly."""


@dataclass(frozen=True, eq=False)
class WordAttention:
    """A sentence, its translation, and the attention between their words, both without their ends."""

    source: Sequence[str]
    target: Sequence[str]
    weights: Floats  # (T, S + 1): the last column is the end of the source

    @classmethod
    def from_translation(cls, translation: Translation, head: HeadAttention | None = None) -> "WordAttention":
        """Returns the attention of a translation, or that of one of its heads."""
        target = translation.target_words
        words = len(target) - (target[-1:] == (END,))
        attention = translation.attention if head is None else head.attention
        weights = attention[:words].astype(np.float64)
        return cls(translation.source_words[:-1], target[:words], weights)

    @property
    def words(self) -> Floats:
        """(T, S): the weights on words."""
        return self.weights[:, :-1]

    def find_clear_links(self) -> list[Link]:
        """Returns the strongest link of each target word, in the order of the target.

        Weights below `alignment.THRESHOLD` are left out, and so are links to or from punctuation marks, which
        say nothing about the order of words.
        """
        if not self.source or not self.target:
            return []
        links = zip(self.words.argmax(axis=1).tolist(), self.words.max(axis=1).tolist(), strict=True)
        return [
            (t, j, weight)
            for j, (t, weight) in enumerate(links)
            if weight >= THRESHOLD and not is_mark(self.source[t]) and not is_mark(self.target[j])
        ]


@lru_cache(maxsize=1 << 16)
def is_mark(word: str) -> bool:
    """Returns whether a word has neither letters nor digits, as punctuation has."""
    return not any(character.isalnum() for character in word)


@dataclass(frozen=True)
class AttentionMeasures:
    """The measures of one sentence. Each is a mean over the target words, unless it says otherwise."""

    entropy: float
    """-sum_t w_jt ln w_jt in nats, the end of the source included: 0 on one word, ln(S + 1) if uniform."""
    entropy_normalised: float
    """entropy / ln(S + 1), between 0 and 1."""
    sharpness: float
    """The largest weight of the row."""
    coverage: float
    """Mean over the source words of min(1, sum_j w_jt): how much of the source is attended to."""
    monotonicity: float
    """Kendall's tau-b between j and the expected source position sum_t t w_jt / sum_t w_jt: 1 if it only
    moves forward, -1 if it only moves backward, 0 if it does not move."""
    crossing_rate: float
    """The share of crossing pairs among all pairs of clear links (`WordAttention.find_clear_links`)."""
    diagonal: float
    """The weight within one word of the diagonal, which runs through t = (j + 1/2) S/T - 1/2."""
    end_mass: float
    """The weight on the end of the source; like the next, a mean over target words that are not marks."""
    punctuation_mass: float
    """The weight on punctuation in the source."""
    longest_run: int
    """The largest number of consecutive target words whose clear link is to the same source word."""
    best_offset: int
    """The offset over target words (see `augenmerk.translation.alignment`) at which more weight is on the
    diagonal than at 0 in every third of the sentence, or 0 if there is none. Thirds, because a word that was
    left out shifts only what follows it."""
    offset_gain: float
    """How much more weight per word that is, in the third with the smallest gain."""


def compute_measures(attention: WordAttention) -> AttentionMeasures:
    """Computes the measures of a sentence that has words on both sides."""
    weights, words = attention.weights, attention.words
    entropy = float(compute_entropies(weights).mean())
    gains = {offset: _compute_gain(words, offset) for offset in OFFSETS}
    best_offset = max(gains, key=lambda offset: (gains[offset], -abs(offset)))
    spoken = np.array([not is_mark(word) for word in attention.target])
    if not spoken.any():
        spoken[:] = True  # only punctuation was produced
    marks = np.array([is_mark(word) for word in attention.source], dtype=bool)
    return AttentionMeasures(
        entropy=entropy,
        entropy_normalised=entropy / float(np.log(weights.shape[1])),
        sharpness=float(weights.max(axis=1).mean()),
        coverage=float(np.minimum(1.0, words.sum(axis=0)).mean()),
        monotonicity=compute_kendall_tau(compute_expected_positions(words)),
        crossing_rate=_compute_crossing_rate([t for t, _, _ in attention.find_clear_links()]),
        diagonal=float((words * (_compute_distances(words, 0) <= 1)).sum(axis=1).mean()),
        end_mass=float(weights[spoken, -1].mean()),
        punctuation_mass=float(words[spoken][:, marks].sum(axis=1).mean()),
        longest_run=len(find_longest_run(attention)),
        best_offset=best_offset,
        offset_gain=gains[best_offset],
    )


def compute_entropies(weights: Floats) -> Floats:
    """Returns the entropy of each row in nats."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(safe * np.log(safe)).sum(axis=1))


def compute_expected_positions(words: Floats) -> Floats:
    """Returns the mean source position of each row; the middle for a row without any weight on words."""
    total, positions = words.sum(axis=1), np.arange(words.shape[1], dtype=np.float64)
    return np.where(total > 0, (words @ positions) / np.where(total > 0, total, 1.0), positions.mean())


def compute_kendall_tau(positions: Floats) -> float:
    """Returns Kendall's tau-b between a sequence and its order; 0 if all are equal and tau is undefined."""
    rounded = positions.round(ROUNDING)
    later, earlier = np.triu_indices(len(rounded), 1)[::-1]
    signs = np.sign(rounded[later] - rounded[earlier])
    untied = float(np.abs(signs).sum())
    return float(signs.sum() / np.sqrt(untied * len(signs))) if untied else 0.0


def _compute_crossing_rate(sources: Sequence[int]) -> float:
    positions = np.array(sources)
    later, earlier = np.triu_indices(len(positions), 1)[::-1]
    return float((positions[later] < positions[earlier]).mean()) if len(positions) > 1 else 0.0


def _compute_distances(words: Floats, offset: int) -> Floats:
    """Returns the distance of each cell (T, S) from the diagonal that is shifted by the offset."""
    rows, columns = words.shape
    diagonal = (np.arange(rows) + offset + 0.5) * columns / rows - 0.5
    return np.asarray(np.abs(np.arange(columns) - diagonal[:, None]))


def _compute_gain(words: Floats, offset: int) -> float:
    """Returns by how much more weight is on the diagonal than at offset 0, in the third with the least.

    Where the diagonal runs between two words, their weights are interpolated.
    """
    there = np.arange(len(words)) + offset
    inside = (there >= 0) & (there < len(words))
    shifted, straight = (
        (words * np.maximum(0.0, 1.0 - _compute_distances(words, each))).sum(axis=1) for each in (offset, 0)
    )
    gains = (shifted - straight)[inside]
    return min(float(third.mean()) for third in np.array_split(gains, 3)) if len(gains) >= 3 else 0.0


def find_longest_run(attention: WordAttention) -> list[int]:
    """Returns the target words of the longest run that attends to one source word."""
    words = attention.words
    best = np.where(words.max(axis=1) >= THRESHOLD, words.argmax(axis=1), -1).tolist()
    runs = [list(run) for source, run in groupby(range(len(best)), key=best.__getitem__) if source >= 0]
    return max(runs, key=len, default=[])


@dataclass(frozen=True)
class MovedWords:
    """Source words and the target words that attend to them, elsewhere in their sentence."""

    links: tuple[tuple[int, int], ...]
    """(source word, target word)."""
    places: int
    """The number of source words that they moved over."""
    earlier: bool
    """Whether they come earlier in the target than in the source, rather than later."""
    weight: float
    """The mean weight of the links."""
    closes_clause: bool
    """Whether they are the last before a mark or the end of the source, where German has its verbs."""

    @property
    def source(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(t for t, _ in self.links))

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(j for _, j in self.links)


def find_moved_words(attention: WordAttention) -> list[MovedWords]:
    """Returns the words that moved, those that moved farthest first.

    Of the clear links in the order of the target, a longest sequence that never goes back in the source is
    taken to have stayed, and the other words moved. Moved words that are neighbours on both sides moved
    together.
    """
    links = attention.find_clear_links()
    stayed = _find_longest_rising([t for t, _, _ in links])
    kept = [links[number] for number in sorted(stayed)]
    blocks: list[list[Link]] = []
    for number, link in enumerate(links):
        if number in stayed:
            continue
        if blocks and link[1] == blocks[-1][-1][1] + 1 and 0 <= link[0] - blocks[-1][-1][0] <= 1:
            blocks[-1].append(link)
        else:
            blocks.append([link])
    moved = [_describe_move(block, kept, attention.source) for block in blocks]
    return sorted(moved, key=lambda one: -one.places)


def _find_longest_rising(positions: Sequence[int]) -> set[int]:
    """Returns the indices of a longest subsequence that never decreases.

    Of equally long ones it takes the latest, so that where two words are swapped, the one that was brought
    forward counts as moved.
    """
    length, before = [1] * len(positions), [-1] * len(positions)
    for index, position in enumerate(positions):
        for earlier in range(index):
            if positions[earlier] <= position and length[earlier] + 1 >= length[index]:
                length[index], before[index] = length[earlier] + 1, earlier
    chosen: set[int] = set()
    index = max(range(len(positions)), key=lambda number: (length[number], number), default=-1)
    while index >= 0:
        chosen.add(index)
        index = before[index]
    return chosen


def _describe_move(block: Sequence[Link], kept: Sequence[Link], words: Sequence[str]) -> MovedWords:
    first, j, _ = block[0]
    last = block[-1][0]
    before = max((t for t, row, _ in kept if row < j), default=-1)
    after = min((t for t, row, _ in kept if row > j), default=first)
    # The words that stayed are in order. So if one that follows comes earlier in the source, the block was
    # brought forward over all source words after `before`; otherwise it was put back behind `before`.
    earlier = after < first
    return MovedWords(
        links=tuple((t, row) for t, row, _ in block),
        places=first - min(after, before + 1) if earlier else before - last,
        earlier=earlier,
        weight=sum(weight for _, _, weight in block) / len(block),
        closes_clause=last + 1 == len(words) or is_mark(words[last + 1]),
    )
