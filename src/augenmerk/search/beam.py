"""Beam search, greedy search, sampling and forced decoding, and the choice of continuations in each of them.

The best few of V ids are found exactly, without sorting V numbers. They are in the few groups of ids whose
largest log-probabilities are best. The largest of each group is found by vector instructions at the speed of
memory, and then only the best groups are searched, several times faster than by sorting or partitioning.
Among equals the better hypothesis comes first, then the lower id, so no result depends on the batch.

With torch, groups are blocks of neighbours, and all sentences have as many of them: no GPU has to wait for a
CPU to count. With numpy, ids that are far apart form a group, because it compares long rows faster than it
reduces short ones, and all groups are searched that reach what the last of the best ones is known to have.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array, namespace
from augenmerk.base.config import SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.decoder import SHRINK_AT, Decoder, Hypothesis, Step, read_back, take_rows
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK

# The best continuations

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


# Hypotheses that never branch: greedy search, sampling, and scoring of given targets

SAMPLE_STRIDE = 1 << 20
"""Random numbers set aside for each sample, so that one does not depend on the length of another."""

Choose = Callable[[int, Array, Array], Array]
"""Step, which sentences are still there (N), log-probabilities (N, K, V) -> chosen tokens (N, K)."""


def sample(
    decoder: Decoder, settings: SearchConfig, limits: Sequence[int], numbers: Sequence[int]
) -> list[list[Hypothesis]]:
    """Samples translations of each sentence, `settings.hypotheses`, and returns them in the order of drawing.

    A token is drawn from the model's distribution to the power 1 / temperature, over the `top_k` most likely
    tokens (0 for all). The log-probabilities returned are those of the model itself.

    The random numbers of a sentence depend on the seed and its number alone, so the batch it happens to be in
    makes no difference.
    """
    n, top_k = settings.hypotheses, settings.top_k
    uniform = _uniform_numbers(settings.seed, numbers, limits, n)
    drawn = _on_device_of(decoder, uniform)  # (N, n, longest)

    def choose(step: int, rows: Array, log_probs: Array) -> Array:
        mask = token_mask(log_probs, settings.allow_unknown)
        xp = namespace(log_probs)
        if top_k:
            log_probs, ids = best_of_each(xp.zeros_like(log_probs[..., 0]), log_probs, mask, top_k)
        else:
            log_probs, ids = xp.asarray(log_probs, copy=True), None
            log_probs[..., : mask.shape[1]] += mask[0]
        scaled = xp.asarray(log_probs / settings.temperature, dtype=xp.float64)
        probabilities = xp.exp(scaled - xp.amax(scaled, 2)[..., None])
        cumulative = xp.cumsum(probabilities, 2)
        u = drawn[rows, :, step]
        # As many tokens as come before the one in whose share of the whole the random number lies.
        indices = (cumulative <= (u * cumulative[..., -1])[..., None]).sum(2)
        return indices if ids is None else take_last(ids, indices)

    return generate(decoder, limits, choose, width=n)


def _uniform_numbers(seed: int, numbers: Sequence[int], limits: Sequence[int], n: int) -> NDArray[np.float64]:
    """Returns random numbers in [0, 1) for each sentence, sample and step, (N, n, longest limit).

    They have 24 bits, so that no product with a double-precision sum below rounds up to that sum. numpy
    promises that the raw bits of a generator never change.
    """
    uniform = np.zeros((len(limits), n, max(limits, default=0)))
    for row, (number, limit) in enumerate(zip(numbers, limits, strict=True)):
        rng = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,)))
        for index in range(n):
            uniform[row, index, :limit] = (rng.random_raw(limit) >> np.uint64(40)) * 2.0**-24
            rng.advance(SAMPLE_STRIDE - limit)
    return uniform


def force(decoder: Decoder, targets: Sequence[Sequence[int]]) -> list[Hypothesis]:
    """Scores given targets (ids without BOS and EOS), one for each sentence, and records the attention."""
    for number, target in enumerate(targets):
        if not {PAD, BOS, EOS}.isdisjoint(target):
            raise AugenmerkError(
                f"Target {number} (counted from 0) holds PAD, BOS or EOS: give only its words."
            )
    limits = [len(target) + 1 for target in targets]
    padded = [[*target] + [EOS] * (max(limits) - len(target)) for target in targets]
    tokens = _on_device_of(decoder, np.array(padded, np.int64))  # (N, longest)

    def choose(step: int, rows: Array, _log_probs: Array) -> Array:
        return tokens[rows, step][:, None]

    return [hypotheses[0] for hypotheses in generate(decoder, limits, choose)]


def _on_device_of(decoder: Decoder, array: NDArray[Any]) -> Array:
    """Returns an array as the decoder's own are: of numpy, or of torch on its device."""
    like = decoder.start()[0]
    return namespace(like).asarray(array, device=like.device)


def generate(
    decoder: Decoder, limits: Sequence[int], choose: Choose, *, width: int = 1, length_penalty: float = 0.0
) -> list[list[Hypothesis]]:
    """Extends `width` hypotheses of each sentence token by token, each token chosen by `choose`."""
    if not limits:
        return []
    # All hypotheses of a sentence begin with the same state.
    state = tuple(part[:, [0] * width] for part in decoder.start())
    xp, device = namespace(state[0]), state[0].device
    rows = xp.arange(len(limits), device=device)
    limit = xp.asarray(limits, device=device)[:, None]
    tokens = xp.full((len(limits), width), BOS, device=device)
    going = xp.ones_like(tokens, dtype=xp.bool)
    lengths = xp.zeros_like(tokens)
    all_lengths = xp.zeros_like(tokens)
    history: list[Step] = []
    for step in range(max(limits)):
        log_probs, weights, state = decoder.step(tokens, state)
        tokens = choose(step, rows, log_probs)
        history.append(Step(rows, tokens, None, take_last(log_probs, tokens), weights))
        lengths = lengths + going
        going = going & (tokens != EOS)
        if step + 1 in limits:
            going = going & (limit > step + 1)
        remaining = going.any(1)
        if (count := int(xp.count_nonzero(remaining))) == 0:
            break
        if (len(rows) - count) * SHRINK_AT >= len(rows):
            all_lengths[rows] = lengths
            kept = xp.where(remaining)[0]
            decoder, state = decoder.keep(kept), take_rows(state, kept)
            rows, limit, tokens, going, lengths = take_rows((rows, limit, tokens, going, lengths), kept)
    all_lengths[rows] = lengths
    slots = xp.broadcast_to(xp.arange(width, device=device), (len(limits), width))
    return read_back(history, all_lengths, slots, length_penalty)


# Beam search: the best continuations of several hypotheses of a sentence are kept


class BeamStep(NamedTuple):
    """One step of a beam search, as its callback sees it. A log-probability of -inf means no hypothesis."""

    sentences: Array  # (N) which sentences the rows are
    considered: Array  # (N, K, C) log-probabilities of the best continuations of each live hypothesis
    considered_tokens: Array  # (N, K, C)
    chosen: Array  # (N, B) log-probabilities of the best continuations of all of them
    parents: Array  # (N, B) which of the K hypotheses those continue
    tokens: Array  # (N, B) EOS is the end of a hypothesis; the others live on, as the next step's K


def length_limits(settings: SearchConfig, source_lengths: Sequence[int]) -> list[int]:
    """Returns the maximum length of each translation, given the number of tokens of its source."""
    if not settings.max_ratio:
        return [settings.max_length] * len(source_lengths)
    return [min(settings.max_length, int(settings.max_ratio * length) + 10) for length in source_lengths]


def search(
    decoder: Decoder,
    settings: SearchConfig,
    limits: Sequence[int],
    on_step: Callable[[BeamStep], None] | None = None,
) -> list[list[Hypothesis]]:
    """Returns the translations of each sentence that a beam search finds, `settings.hypotheses`, best first.

    At each step the best `beam` continuations of all live hypotheses of a sentence are chosen. Those that
    end in EOS are finished, the others stay alive. So a beam of 1 is greedy search, and a wide enough beam is
    exhaustive search. The best of all finished hypotheses are returned; if they are too few, they
    are followed by hypotheses that reached the maximum length (which includes EOS) unfinished.

    A sentence is done when no live hypothesis can change the result: log-probabilities only fall and lengths
    only grow, so log_probability / max_length**length_penalty is the best score that a live hypothesis can
    still reach. Stopping at this bound changes no result.

    The limits are the maximum lengths of the sentences' translations. `on_step` is called after each step.
    """
    if not limits:
        return []
    if settings.beam > 1 or on_step is not None:
        return _beam_search(decoder, settings, limits, on_step)

    def choose(_step: int, _rows: Array, log_probs: Array) -> Array:
        return likeliest(log_probs, settings.allow_unknown)

    return generate(decoder, limits, choose, length_penalty=settings.length_penalty)


def _beam_search(
    decoder: Decoder,
    settings: SearchConfig,
    limits: Sequence[int],
    on_step: Callable[[BeamStep], None] | None,
) -> list[list[Hypothesis]]:
    beam, n_best, length_penalty = settings.beam, settings.hypotheses, settings.length_penalty
    state = decoder.start()
    xp, device = namespace(state[0]), state[0].device
    rows = xp.arange(len(limits), device=device)
    limit = xp.asarray(limits, device=device)
    norms = xp.asarray(
        [length**length_penalty for length in range(max(limits) + 1)], dtype=xp.float32, device=device
    )
    tokens = xp.full((len(limits), 1), BOS, device=device)
    totals = xp.zeros(tokens.shape, dtype=xp.float32, device=device)  # -inf for dead hypotheses
    # The scores of the best that finished, and where they did: step * beam + slot.
    best = xp.full((len(limits), n_best), -math.inf, dtype=xp.float32, device=device)
    ends = xp.full((len(limits), n_best), -1, device=device)
    all_ends = xp.full((len(limits), n_best), -1, device=device)
    history: list[Step] = []
    for step in range(max(limits)):
        log_probs, weights, state = decoder.step(tokens, state)
        mask = token_mask(log_probs, settings.allow_unknown)
        before = totals
        totals, parents, tokens = best_continuations(totals, log_probs, mask, beam)
        row = xp.arange(len(rows), device=device)[:, None]
        history.append(Step(rows, tokens, parents, log_probs[row, parents, tokens], weights))
        if on_step is not None:
            on_step(BeamStep(rows, *best_of_each(before, log_probs, mask, beam), totals, parents, tokens))

        ended, last = tokens == EOS, limit == step + 1
        slots = xp.zeros_like(tokens) + (step * beam + xp.arange(tokens.shape[1], device=device))
        finished = xp.where(ended, totals, -math.inf) / norms[step + 1]
        best, ends = _merge_finished(best, ends, finished, slots)
        totals = xp.where(ended, -math.inf, totals)
        if step + 1 in limits:
            ends = xp.where(last[:, None], _fill_up(best, ends, totals, slots), ends)
        remaining = ~last & (xp.amax(totals, 1) / norms[limit] > best[:, -1])
        if (count := int(xp.count_nonzero(remaining))) == 0:
            break
        totals = xp.where(remaining[:, None], totals, -math.inf)
        state = tuple(part[row, parents] for part in state)  # each continues its parent's state
        if (len(rows) - count) * SHRINK_AT >= len(rows):
            all_ends[rows] = ends
            kept = xp.where(remaining)[0]
            decoder, state = decoder.keep(kept), take_rows(state, kept)
            rows, limit, tokens, totals, best, ends = take_rows(
                (rows, limit, tokens, totals, best, ends), kept
            )
    all_ends[rows] = ends
    slots = xp.where(all_ends >= 0, all_ends % beam, 0)
    found = read_back(history, all_ends // beam + 1, slots, length_penalty)
    # The sums above are in single precision, so the final order is decided by the exact scores.
    return [
        sorted(each, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score)) for each in found
    ]


def _merge_finished(best: Array, ends: Array, scores: Array, slots: Array) -> tuple[Array, Array]:
    """Merges earlier finished hypotheses with new ones and keeps the best; among equals, the earlier."""
    xp = namespace(best)
    row = xp.arange(len(best), device=best.device)[:, None]
    all_scores = xp.concat((best, scores), 1)
    order = largest(all_scores, best.shape[1])
    return all_scores[row, order], xp.concat((ends, slots), 1)[row, order]


def _fill_up(best: Array, ends: Array, totals: Array, slots: Array) -> Array:
    """Returns the best finished hypotheses, followed by the best live ones; both are already sorted."""
    xp = namespace(best)
    row = xp.arange(len(best), device=best.device)[:, None]
    absent = xp.isneginf(xp.concat((best, totals), 1))
    order = xp.argsort(xp.asarray(absent, dtype=xp.uint8), stable=True)[:, : best.shape[1]]
    return xp.concat((ends, slots), 1)[row, order]
