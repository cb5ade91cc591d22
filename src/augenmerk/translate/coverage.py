"""Finds what a translation leaves out, by what the model never looked at while it wrote it.

Every source token is looked at with some weight in all: the sum over the target tokens, about 1 where a
word becomes a word. A part of the source is reported as not covered if

- the weights of consecutive tokens lack more than `MOST_MISSING` in all of `LEAST_WEIGHT` each (seven
tokens that
  are hardly looked at); or
- the source has several sentences, and the mean weight of the tokens of one of them is below `LEAST_WEIGHT`.

Both numbers were chosen on the validation split of Multi30k with the bundled model; docs/architecture.md
has how often they are right. Attention that does not depend on the words (`none`, `mean`) tells nothing.
"""

import numpy as np

from augenmerk.alignment import Weights
from augenmerk.sentences import sentence_spans
from augenmerk.text import Tokenizer

LEAST_WEIGHT = 0.3
MOST_MISSING = 2.0


def find_uncovered(weights: Weights, source: str, tokenizer: Tokenizer, language: str | None) -> str | None:
    """Returns the part of a source sentence that its translation probably leaves out; None if there is none.

    `weights` are those over tokens, (target, source), with the end of the source in the last column.
    """
    looked_at = weights[:, :-1].sum(axis=0)
    found = find_gap(looked_at)
    spans = [] if found else sentence_spans(source, language)
    if found is None and len(spans) < 2:
        return None
    encoded = tokenizer.encode(source)
    word_of = np.asarray(encoded.word_of[: len(looked_at)])
    if found is None:
        starts = np.array([start for start, _ in encoded.spans])[word_of]
        for start, end in spans:
            places = np.flatnonzero((start <= starts) & (starts < end))
            if len(places) and looked_at[places].mean() < LEAST_WEIGHT:
                found = int(places[0]), int(places[-1])
                break
        else:
            return None
    first, last = (encoded.spans[word_of[place]] for place in found)
    return source[first[0] : last[1]]


def find_gap(looked_at: Weights) -> tuple[int, int] | None:
    """Returns the first and last of the consecutive tokens that lack the most, if that is too much."""
    # The largest sum of consecutive numbers is the largest difference of a cumulative sum and one before it.
    missing = np.cumsum(np.concatenate([[0.0], LEAST_WEIGHT - looked_at]))
    gains = missing - np.minimum.accumulate(missing)
    end = int(gains.argmax())
    if gains[end] <= MOST_MISSING:
        return None
    return int(missing[:end].argmin()), end - 1
