"""Sentence chrF of all pairs of some texts at once: what sacrebleu computes for one pair at a time.

chrF compares n-grams of characters, n = 1 to 6, white space left out. What two texts share of an n-gram is
the smaller of its two counts. Precision and recall are averaged over those n of which both texts have any,
and chrF is their F-score with beta = 2.

The smaller of two counts is the number of k = 1, 2, ... that neither is below. So all that the texts share is
a sum of matrix products: for each k, of the texts with the n-grams that they have k times or more.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDERS = 6
BETA = 2

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


def pairwise_chrf(texts: Sequence[str]) -> Matrix:
    """(texts, texts), from 0 to 100: rows are hypotheses, columns references."""
    letters = ["".join(text.split()) for text in texts]
    lengths = np.array([len(each) for each in letters])
    places = np.arange(lengths.max(initial=0))
    characters = np.zeros((len(texts), len(places)), dtype=np.int64)
    # Half a surrogate pair, which a model may well write, is a character like any other.
    written = np.frombuffer("".join(letters).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    alphabet, characters[places < lengths[:, None]] = np.unique(written, return_inverse=True)

    precision, recall, orders = np.zeros((3, len(texts), len(texts)))
    grams = characters  # by where they begin
    for n in range(1, ORDERS + 1):
        if n > 1:
            grams = grams[:, :-1] * len(alphabet) + characters[:, n - 1 :]
        there = places[: grams.shape[1]] <= lengths[:, None] - n
        if not there.any():
            break
        distinct, numbers = np.unique(grams[there], return_inverse=True)
        grams = np.zeros_like(grams)
        grams[there] = numbers  # small again, so that the next n finds room in 64 bits
        cells = there.nonzero()[0] * len(distinct) + numbers
        counts = np.bincount(cells, minlength=len(texts) * len(distinct)).reshape(len(texts), -1)
        common, total = _shared(counts), there.sum(1)
        both = (total[:, None] > 0) & (total > 0)
        precision += np.divide(common, total[:, None], out=np.zeros_like(common), where=both)
        recall += np.divide(common, total, out=np.zeros_like(common), where=both)
        orders += both
    # Over the same orders, so that the F-score of the sums is that of the means, but for this factor.
    weighed = (BETA**2 * precision + recall) * orders
    return np.divide(
        100 * (1 + BETA**2) * precision * recall, weighed, out=np.zeros_like(weighed), where=weighed > 0
    )


def _shared(counts: Counts) -> Matrix:
    """(texts, n-grams) -> (texts, texts): the smaller of two counts, summed over the n-grams."""
    total = np.zeros((len(counts), len(counts)))
    while counts.size:
        had = (counts > 0).astype(np.float32)  # whole numbers below 2^24: the products are exact
        total += had @ had.T
        counts = counts[:, (counts > 1).any(0)] - 1
    return total
