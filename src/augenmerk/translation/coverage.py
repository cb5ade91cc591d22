"""Finds what a translation leaves out, by what the model never looked at while it wrote it.

Every source token is looked at with some weight in all: the sum over the target tokens, about 1 where a
word becomes a word. A part of the source is reported as not covered if

- the weights of consecutive tokens lack more than `MOST_MISSING` in all of `LEAST_WEIGHT` each (seven tokens
  that are hardly looked at); or
- marks such as full stops divide the source, and the mean weight of one part is below `LEAST_WEIGHT`. Parts
  of a few tokens, such as abbreviations, do not count.

Both numbers were chosen on the validation split of Multi30k with the bundled model; docs/results.md
has how often they are right. Attention that does not depend on the words (`none`, `mean`) tells nothing.
"""

import re

import numpy as np

from augenmerk.text.tokenizer import Tokenizer
from augenmerk.translation.alignment import Weights

LEAST_WEIGHT = 0.3
MOST_MISSING = 2.0
FEWEST_TOKENS = 3
"""Of a part of a sentence, with the mark at its end."""
_PARTS = re.compile(r"[^.!?…]+[.!?…]*")


def find_uncovered(weights: Weights, source: str, tokenizer: Tokenizer) -> str | None:
    """Returns the part of a source sentence that its translation probably leaves out; None if there is none.

    `weights` are those over tokens, (target, source), with the end of the source in the last column.
    """
    looked_at = weights[:, :-1].sum(axis=0)
    spans = [part.span() for part in _PARTS.finditer(source)]
    gap = find_gap(looked_at)
    if gap is None and len(spans) < 2:
        return None
    encoded = tokenizer.encode(source)
    words = [encoded.spans[word] for word in encoded.word_of[: len(looked_at)]]
    starts = np.array([start for start, _ in words])
    for start, end in spans if len(spans) > 1 else ():
        inside = (start <= starts) & (starts < end)
        if inside.sum() >= FEWEST_TOKENS and looked_at[inside].mean() < LEAST_WEIGHT:
            return source[start:end].strip()
    return None if gap is None else source[words[gap[0]][0] : words[gap[1]][1]]


def find_gap(looked_at: Weights) -> tuple[int, int] | None:
    """Returns the first and last of the consecutive tokens that lack the most, if that is too much."""
    # The largest sum of consecutive numbers is the largest difference of a cumulative sum and one before it.
    missing = np.cumsum(np.concatenate([[0.0], LEAST_WEIGHT - looked_at]))
    gains = missing - np.minimum.accumulate(missing)
    end = int(gains.argmax())
    if gains[end] <= MOST_MISSING:
        return None
    return int(missing[:end].argmin()), end - 1
