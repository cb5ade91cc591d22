"""The best continuations of many hypotheses at once, exactly, without sorting V log-probabilities.

The best few of V ids are in the few groups of ids whose largest log-probabilities are best. The largest of
each group is found by vector instructions at the speed of memory, and then only the best groups are searched:
for a batch, that is several times faster than sorting or partitioning V numbers.
Among equals the better hypothesis comes first, then the lower id, so no result depends on the batch.

With torch, groups are blocks of neighbours, and all sentences have as many of them: no GPU has to wait for a
CPU to count. With numpy, ids that are far apart form a group, because it compares long rows faster than it
reduces short ones, and all groups are searched that reach what the last of the best ones is known to have.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from augenmerk.base.arrays import Array, namespace
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK

FEW_SCORES = 2048
"""Up to this many numbers, sorting all takes less time than looking for the best."""


def largest(scores: Array, count: int) -> Array:
    """Returns the indices of the `count` largest scores in each row (N, C), which must not be positive.

    The largest comes first, and among equals the first. So that no two are equal, many scores are compared
    by their bits, followed by their indices: of two floats that are not positive, the larger has the smaller
    bits.
    """
    xp = namespace(scores)
    scores = xp.asarray(scores, dtype=xp.float32)
    if xp is np and scores.size <= FEW_SCORES:
        return np.argsort(-scores, axis=1, kind="stable")[:, :count]
    ranks = xp.asarray(scores.clip(max=0.0).view(xp.int32), dtype=xp.int64)
    ranks &= 0x7FFFFFFF  # the sign goes
    ranks <<= 32
    ranks |= xp.arange(scores.shape[1], device=scores.device)
    if xp is not np:
        return ranks.topk(count, largest=False).indices
    if count < scores.shape[1]:
        best = np.argpartition(ranks, count - 1)[:, :count]
        row = np.arange(len(ranks))[:, None]
        return best[row, np.argsort(ranks[row, best])]
    return np.argsort(ranks)


BLOCK = 64
"""How many ids form a block, with torch."""


GROUPS = 256
"""How many groups the ids of a vocabulary form, with numpy."""


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
    if isinstance(log_probs, np.ndarray):  # it searches whole rows, and would copy parts of them
        found = log_probs.argmax(2)
        if not ((found < EOS) | ((found == UNK) & (not allow_unknown))).any():
            return found
    if allow_unknown:  # all ids from EOS on may be chosen
        return log_probs[..., EOS:].argmax(2) + EOS
    found = log_probs[..., UNK + 1 :].argmax(2) + UNK + 1
    ends = log_probs[..., EOS] >= take_last(log_probs, found)
    return namespace(log_probs).where(ends, EOS, found)


def take_last(array: Array, indices: Array) -> Array:
    """Returns the entries of (N, K, V) at indices (N, K)."""
    xp, (N, K) = namespace(array), indices.shape
    row, column = (xp.arange(size, device=indices.device) for size in (N, K))
    return array[row[:, None], column, indices]


def best_continuations(
    totals: Array, log_probs: Array, mask: Array, count: int
) -> tuple[Array, Array, Array]:
    """Returns the `count` best continuations of a sentence's hypotheses with the log-probabilities `totals`.

    totals (N, K) -> log-probabilities, the hypotheses they continue, and their last ids, each (N, count).
    Where there are fewer, the rest is -inf and EOS; there are fewer columns if K * V < count.
    """
    xp = namespace(log_probs)
    N, K, V = log_probs.shape
    if xp is np:
        return _best_above_threshold(totals, log_probs, mask[0], count)
    C, width = mask.shape
    row = xp.arange(N, device=log_probs.device)[:, None]
    peaks = (_peaks(log_probs, mask) + totals[..., None]).reshape(N, K * C)
    # In the order of their indices, so that equals keep their order.
    chosen = largest(peaks, min(count, K * C))
    chosen = chosen[row, xp.argsort(chosen)]
    parents = chosen // C  # (N, G)
    inside, starts = _inside(log_probs, mask, parents, chosen % C)
    sums = (inside + totals[row, parents][..., None]).reshape(N, -1)  # (N, G * width)
    indices = largest(sums, min(count, K * V))
    sums, group = sums[row, indices], indices // width
    tokens = starts[row, group] + indices % width
    return sums, parents[row, group], xp.where(sums > -math.inf, tokens, EOS)


def _best_above_threshold(
    totals: Array, log_probs: Array, mask: Array, count: int
) -> tuple[Array, Array, Array]:
    """Does the same with numpy; only the first ids are masked."""
    N, K, V = log_probs.shape
    C = min(GROUPS, V)  # the ids g, g + C, g + 2C ... form the group g
    masked = np.zeros(C, np.float32)
    masked[: len(mask)] = mask[:C]
    peaks = log_probs[..., :C] + masked  # (N, K, C)
    whole = V // C * C
    if whole > C:
        rest = log_probs[..., C:whole].reshape(N, K, -1, C).max(axis=2)
        np.maximum(peaks, rest, out=peaks)
    few = peaks[..., : V - whole]
    np.maximum(few, log_probs[..., whole:], out=few)
    peaks += totals[..., None]
    peaks = peaks.reshape(N, K * C)
    # `count` groups have a continuation that is as good as this, so the best are not worse. It is
    # never -inf, so that continuations without any probability are left out.
    threshold = np.full(N, np.finfo(peaks.dtype).min, peaks.dtype)
    if count <= K * C:
        last = np.partition(peaks, K * C - count, axis=1)[:, K * C - count]
        np.maximum(threshold, last, out=threshold)
    sentence, index = np.divmod(np.flatnonzero(peaks >= threshold[:, None]), K * C)  # (G) in all
    parent, group = index // C, index % C
    ids = group[:, None] + np.arange(0, V, C)  # (G, ids in a group)
    sums = log_probs.reshape(-1).take(((sentence * K + parent) * V)[:, None] + ids, mode="clip")
    sums += totals[sentence, parent][:, None]
    sums[:, 0] += masked[group]
    found = np.nonzero((sums >= threshold[sentence][:, None]) & (ids < V))
    sums, ids, sentence, parent = sums[found], ids[found], sentence[found[0]], parent[found[0]]
    order = np.lexsort((ids, parent, -sums, sentence))
    sums, ids, sentence, parent = (each[order] for each in (sums, ids, sentence, parent))
    rank = np.arange(len(order)) - np.searchsorted(sentence, sentence)  # within its sentence
    best = np.full((N, min(count, K * V)), -math.inf, sums.dtype)
    parents, tokens = np.zeros(best.shape, np.int64), np.full(best.shape, EOS)
    chosen = rank < best.shape[1]
    where = sentence[chosen], rank[chosen]
    best[where], parents[where], tokens[where] = sums[chosen], parent[chosen], ids[chosen]
    return best, parents, tokens


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
