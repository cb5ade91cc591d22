"""Decoding in which hypotheses never branch: greedy search, sampling, and scoring of given targets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array, namespace
from augenmerk.base.config import SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.continuations import best_of_each, take_last, token_mask
from augenmerk.search.decoder import SHRINK_AT, Decoder, Hypothesis, Step, read_back, take_rows
from augenmerk.text.tokenizer import BOS, EOS, PAD

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
