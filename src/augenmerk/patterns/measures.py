"""What can be said about the attention of a sentence in numbers.

T produced words j (the end of the translation is none of them), S source words t, and w_jt, the attention of
word j to word t; each row also has a weight on the end of the source. On what every measure is, see
`Measures`; the closed forms for diagonal, anti-diagonal and uniform attention are in its tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from augenmerk.alignment import OFFSETS, THRESHOLD
from augenmerk.translate import END, Translation

Floats = NDArray[np.float64]

ROUNDING = 6
"""Digits. Expected positions that differ by less are equal: weights are not known more exactly."""


@dataclass(frozen=True, eq=False)
class Attended:
    """A sentence, its translation, and the attention between them, both without their ends."""

    source: Sequence[str]
    target: Sequence[str]
    weights: Floats  # (T, S + 1): the last column is the end of the source

    @classmethod
    def of(cls, translation: Translation) -> "Attended":
        target = translation.target_words
        words = len(target) - (target[-1:] == (END,))
        weights = translation.attention[:words].double().numpy()
        return cls(translation.source_words[:-1], target[:words], weights)

    @property
    def words(self) -> Floats:
        """(T, S): the weights on words."""
        return self.weights[:, :-1]

    def clear_links(self) -> list[tuple[int, int, float]]:
        """(source word, target word, weight) in the order of the target: of each word the strongest link, if
        it has at least `alignment.THRESHOLD`. Marks are left out: where a comma looks tells nothing."""
        marks = [is_mark(word) for word in self.source]
        if not self.source or not self.target:
            return []
        best = self.words.argmax(axis=1)
        weights = self.words.max(axis=1)
        return [
            (t, j, weight)
            for j, (t, weight) in enumerate(zip(best.tolist(), weights.tolist(), strict=True))
            if weight >= THRESHOLD and not marks[t] and not is_mark(self.target[j])
        ]


@lru_cache(maxsize=1 << 16)
def is_mark(word: str) -> bool:
    """Whether a word is punctuation or another sign, rather than letters or digits."""
    return not any(character.isalnum() for character in word)


@dataclass(frozen=True)
class Measures:
    """One sentence in numbers. Each is a mean over the produced words, unless it says otherwise."""

    entropy: float
    """-sum_t w_jt ln w_jt in nats, the end of the source included: 0 on one word, ln(S + 1) everywhere."""
    entropy_normalised: float
    """entropy / ln(S + 1): between 0 and 1 whatever the length of the source."""
    sharpness: float
    """The largest weight of the row."""
    coverage: float
    """Mean over the source words of min(1, sum_j w_jt): how much of the source is looked at."""
    monotonicity: float
    """Kendall's tau-b between j and the expected source position sum_t t w_jt / sum_t w_jt: 1 if it always
    moves on, -1 if it always goes back, 0 if it stands still."""
    crossing_rate: float
    """Of all pairs of clear links (see `Attended.clear_links`), the share that crosses."""
    diagonal: float
    """The weight within one word of the diagonal, which runs through t = (j + 1/2) S/T - 1/2."""
    end_mass: float
    """The weight on the end of the source; mean over the words that are not marks, as in the next."""
    punctuation_mass: float
    """The weight on the source's marks."""
    longest_run: int
    """The most produced words in a row that clearly look at one and the same source word."""
    best_offset: int
    """The offset over target words (see `augenmerk.alignment`) at which more weight is on the diagonal than
    at 0 in every third of the sentence: a word left out shifts only what follows it. 0 if there is none."""
    offset_gain: float
    """How much more weight per word that is, in the third where it is least."""


def measure(attended: Attended) -> Measures:
    """Of a sentence that has words on both sides."""
    weights, words = attended.weights, attended.words
    entropy = float(entropies(weights).mean())
    best = [t for t, _, _ in attended.clear_links()]
    gains = {offset: _gain(words, offset) for offset in OFFSETS}
    best_offset = max(gains, key=lambda offset: (gains[offset], -abs(offset)))
    spoken = np.array([not is_mark(word) for word in attended.target])
    if not spoken.any():
        spoken[:] = True  # nothing but marks was produced
    marks = np.array([is_mark(word) for word in attended.source], dtype=bool)
    return Measures(
        entropy=entropy,
        entropy_normalised=entropy / float(np.log(weights.shape[1])),
        sharpness=float(weights.max(axis=1).mean()),
        coverage=float(np.minimum(1.0, words.sum(axis=0)).mean()),
        monotonicity=kendall_tau(expected_positions(words)),
        crossing_rate=_crossing_rate(best),
        diagonal=_near_diagonal(words),
        end_mass=float(weights[spoken, -1].mean()),
        punctuation_mass=float(words[spoken][:, marks].sum(axis=1).mean()),
        longest_run=len(longest_run(attended)),
        best_offset=best_offset,
        offset_gain=gains[best_offset],
    )


def entropies(weights: Floats) -> Floats:
    """Of each row, in nats."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(safe * np.log(safe)).sum(axis=1))


def expected_positions(words: Floats) -> Floats:
    """Of each row the mean source position. A row without any weight on words stands in the middle."""
    total = words.sum(axis=1)
    places = np.arange(words.shape[1], dtype=np.float64)
    middle = (words.shape[1] - 1) / 2
    return np.where(total > 0, (words @ places) / np.where(total > 0, total, 1.0), middle)


def kendall_tau(positions: Floats) -> float:
    """Tau-b of a sequence with its order; 0 where all are equal, which leaves tau undefined."""
    rounded = positions.round(ROUNDING)
    later, earlier = np.triu_indices(len(rounded), 1)[::-1]
    signs = np.sign(rounded[later] - rounded[earlier])
    untied = float(np.abs(signs).sum())
    return float(signs.sum() / np.sqrt(untied * len(signs))) if untied else 0.0


def _crossing_rate(sources: Sequence[int]) -> float:
    if len(sources) < 2:
        return 0.0
    places = np.array(sources)
    later, earlier = np.triu_indices(len(places), 1)[::-1]
    return float((places[later] < places[earlier]).mean())


def _centres(words: Floats, offset: int) -> Floats:
    rows, columns = words.shape
    return np.asarray((np.arange(rows) + offset + 0.5) * columns / rows - 0.5)


def _near_diagonal(words: Floats) -> float:
    distance = np.abs(np.arange(words.shape[1]) - _centres(words, 0)[:, None])
    return float((words * (distance <= 1.0)).sum(axis=1).mean())


def _gain(words: Floats, offset: int) -> float:
    """How much more weight is on the diagonal at this offset than at 0, in the third where it is least."""
    if offset == 0:
        return 0.0
    there = np.arange(len(words)) + offset
    inside = (there >= 0) & (there < len(words))
    gains = (_on_diagonal(words, offset) - _on_diagonal(words, 0))[inside]
    if len(gains) < 3:
        return 0.0
    return min(float(third.mean()) for third in np.array_split(gains, 3))


def _on_diagonal(words: Floats, offset: int) -> Floats:
    """Of each row the weight on the diagonal at an offset; shared out where it runs between two words."""
    distance = np.abs(np.arange(words.shape[1]) - _centres(words, offset)[:, None])
    return np.asarray((words * np.maximum(0.0, 1.0 - distance)).sum(axis=1))


def longest_run(attended: Attended) -> list[int]:
    """The target words of the longest run on one source word; of equally long ones the first."""
    words = attended.words
    longest: list[int] = []
    run: list[int] = []
    before = None
    for j, (looks_at, weight) in enumerate(
        zip(words.argmax(axis=1).tolist(), words.max(axis=1).tolist(), strict=True)
    ):
        if weight < THRESHOLD:
            run, before = [], None
            continue
        run = [*run, j] if looks_at == before else [j]
        before = looks_at
        if len(run) > len(longest):
            longest = run
    return longest
