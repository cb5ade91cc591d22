"""The best continuations of many hypotheses at once, exactly, without sorting V log-probabilities.

The best few of V ids are in the few blocks of ids whose largest log-probabilities are best. The largest of
each block is found by vector instructions at the speed of memory, and then only the best blocks are searched:
for a batch, that is several times faster than sorting or partitioning V numbers.
Among equals the better hypothesis comes first, then the lower id, so no result depends on the batch.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from augenmerk.arrays import Array, largest, namespace
from augenmerk.text import BOS, EOS, PAD, UNK

BLOCK = 64
"""How many ids form a block."""


def token_mask(log_probs: Array, allow_unknown: bool) -> Array:
    """Returns a mask to add to the log-probabilities of each block: -inf for ids that must not be chosen.

    The last block ends at the last id and may overlap the one before; ids in both are masked in the last.
    """
    return _token_mask(namespace(log_probs), log_probs.shape[2], allow_unknown, log_probs.device)


@lru_cache(maxsize=8)
def _token_mask(xp: Any, vocabulary: int, allow_unknown: bool, device: Any) -> Array:
    width = min(BLOCK, vocabulary)
    table = xp.zeros((math.ceil(vocabulary / width), width), dtype=xp.float32, device=device)
    table[0, [PAD, BOS] if allow_unknown else [PAD, BOS, UNK]] = -math.inf
    table[-1, : math.prod(table.shape) - vocabulary] = -math.inf
    return table


def likeliest(log_probs: Array, allow_unknown: bool) -> Array:
    """Returns the most likely id for each hypothesis, (N, K, V) -> (N, K); among equals, the lowest."""
    if allow_unknown:  # all ids from EOS on may be chosen
        return log_probs[..., EOS:].argmax(2) + EOS
    found = log_probs[..., UNK + 1 :].argmax(2) + UNK + 1
    ends = log_probs[..., EOS] >= take_last(log_probs, found)
    return namespace(log_probs).where(ends, EOS, found)


def take_last(array: Array, places: Array) -> Array:
    """Returns the entries of (N, K, V) at places (N, K)."""
    xp, (N, K) = namespace(array), places.shape
    row, column = (xp.arange(size, device=places.device) for size in (N, K))
    return array[row[:, None], column, places]


def best_continuations(
    totals: Array, log_probs: Array, mask: Array, count: int
) -> tuple[Array, Array, Array]:
    """Returns the `count` best continuations of a sentence's hypotheses with the log-probabilities `totals`.

    totals (N, K) -> log-probabilities, the hypotheses they continue, and their last ids, each (N, count).
    Where there are fewer, the rest is -inf and EOS; there are fewer columns if K * V < count.
    """
    xp = namespace(log_probs)
    N, K, V = log_probs.shape
    if xp is np and N == 1 and count <= V:
        return _best_continuations_of_one(totals, log_probs, mask, count)
    C, width = mask.shape
    row = xp.arange(N, device=log_probs.device)[:, None]
    peaks = (_peaks(log_probs, mask) + totals[..., None]).reshape(N, K * C)
    # In the order of their places, so that equals keep their order.
    chosen = largest(peaks, min(count, K * C))
    chosen = chosen[row, xp.argsort(chosen)]
    parents = chosen // C  # (N, G)
    inside, starts = _inside(log_probs, mask, parents, chosen % C)
    sums = (inside + totals[row, parents][..., None]).reshape(N, -1)  # (N, G * width)
    places = largest(sums, min(count, K * V))
    sums, group = sums[row, places], places // width
    tokens = starts[row, group] + places % width
    return sums, parents[row, group], xp.where(sums > -math.inf, tokens, EOS)


def _best_continuations_of_one(
    totals: Array, log_probs: Array, mask: Array, count: int
) -> tuple[Array, Array, Array]:
    """Does the same for a single sentence, where few calls take less time than few comparisons."""
    V = log_probs.shape[2]
    sums = log_probs[0] + totals[0][:, None]  # (K, V)
    sums[:, : mask.shape[1]] += mask[0]
    # The best sum of each id, over the hypotheses: `count` of these reach the threshold, so the best do.
    threshold = np.partition(sums.max(axis=0), V - count)[V - count]
    places = np.flatnonzero(~(sums < threshold))  # all of them if it is not a number
    reaching = sums.reshape(-1)[places]
    order = np.argsort(-reaching, kind="stable")[None, :count]
    best, places = reaching[order], places[order]
    return best, places // V, np.where(best > -math.inf, places % V, EOS)


def best_of_each(totals: Array, log_probs: Array, mask: Array, count: int) -> tuple[Array, Array]:
    """Returns the best continuations of each hypothesis: log-probabilities and ids, both (N, K, count)."""
    N, K, V = log_probs.shape
    sums, _, tokens = best_continuations(
        totals.reshape(N * K, 1), log_probs.reshape(N * K, 1, V), mask, count
    )
    return sums.reshape(N, K, -1), tokens.reshape(N, K, -1)


def _peaks(log_probs: Array, mask: Array) -> Array:
    """Returns the largest log-probability in each block: (N, K, V) -> (N, K, C)."""
    xp = namespace(log_probs)
    N, K, V = log_probs.shape
    width = mask.shape[1]
    whole = V // width
    peaks = xp.amax(log_probs[..., : whole * width].reshape(N, K, whole, width), 3)
    peaks[..., 0] = xp.amax(log_probs[..., :width] + mask[0], 2)
    if V % width:
        peaks = xp.concat((peaks, xp.amax(log_probs[..., whole * width :], 2)[..., None]), 2)
    return peaks


def _inside(log_probs: Array, mask: Array, parents: Array, blocks: Array) -> tuple[Array, Array]:
    """Returns the log-probabilities (N, G, width) in G blocks of a sentence, and their first ids (N, G)."""
    xp, device = namespace(log_probs), log_probs.device
    ids = _ids_of_blocks(xp, log_probs.shape[2], device)[blocks]  # (N, G, width)
    row = xp.arange(len(blocks), device=device)[:, None, None]
    return log_probs[row, parents[..., None], ids] + mask[blocks], ids[..., 0]


@lru_cache(maxsize=8)
def _ids_of_blocks(xp: Any, vocabulary: int, device: Any) -> Array:
    width = min(BLOCK, vocabulary)
    starts = xp.arange(0, vocabulary, width, device=device).clip(max=vocabulary - width)
    return starts[:, None] + xp.arange(width, device=device)
