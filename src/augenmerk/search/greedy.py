"""Hypotheses that never branch: greedy, sampled or given. They differ in how the next token is chosen."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from augenmerk.errors import AugenmerkError
from augenmerk.search.continuations import best_of_each, likeliest, token_mask
from augenmerk.search.decoder import LEAVING, Decoder, Hypothesis, Step, check_limits, read_back, take_rows
from augenmerk.text import BOS, EOS, PAD

Choose = Callable[[int, Tensor, Tensor], Tensor]
"""Step, rows (N): which sentences are still there, log-probabilities (N, K, V) -> tokens (N, K)."""


def greedy(
    decoder: Decoder, limits: list[int], length_penalty: float, allow_unknown: bool
) -> list[list[Hypothesis]]:
    """Always the likeliest token, of equals that with the lowest id."""

    def choose(_step: int, _rows: Tensor, log_probs: Tensor) -> Tensor:
        return likeliest(log_probs, token_mask(log_probs.shape[2], allow_unknown, log_probs.device))

    return _walk(decoder, limits, choose, length_penalty=length_penalty)


@torch.no_grad()
def sample(
    decoder: Decoder,
    *,
    seed: int,
    n: int = 1,
    temperature: float = 1.0,
    top_k: int = 0,
    max_lengths: int | Sequence[int],
    allow_unknown: bool = True,
) -> list[list[Hypothesis]]:
    """`n` translations of each sentence drawn at random, in the order drawn; for the same seed, the same.

    A token is drawn from the model's distribution to the power 1 / temperature, over the `top_k` likeliest
    tokens (0 for all). The log-probabilities returned are those of the model itself.
    """
    if n < 1:
        raise AugenmerkError(f"{n} samples are impossible: it must be 1 or more.")
    if not temperature > 0.0:
        raise AugenmerkError(f"A temperature of {temperature} is impossible: it must be more than 0.")
    if top_k < 0:
        raise AugenmerkError(f"top_k = {top_k} is impossible: it must be 1 or more, or 0 for all tokens.")
    limits = check_limits(max_lengths, decoder.sentences)
    generator = torch.Generator().manual_seed(seed)

    def choose(_step: int, rows: Tensor, log_probs: Tensor) -> Tensor:
        mask = token_mask(log_probs.shape[2], allow_unknown, log_probs.device)
        if top_k:
            log_probs, ids = best_of_each(torch.zeros_like(log_probs[..., 0]), log_probs, mask, top_k)
        else:
            log_probs, ids = log_probs.clone(), None
            log_probs[..., : mask.shape[1]] += mask[0]
        heights = (log_probs / temperature).softmax(2, dtype=torch.float64).cumsum(2)
        # Drawn for all sentences, so that it does not matter which have left; and in single precision, so
        # that in double precision no rounding lifts the product to the last height.
        drawn = torch.rand((len(limits), n), generator=generator).to(rows.device)[rows].double()
        places = torch.searchsorted(heights, (drawn * heights[..., -1])[..., None], right=True)
        return (places if ids is None else ids.gather(2, places)).squeeze(2)

    return _walk(decoder, limits, choose, width=n)


@torch.no_grad()
def force(decoder: Decoder, targets: Sequence[Sequence[int]]) -> list[Hypothesis]:
    """What the model thinks of given targets (ids without BOS and EOS), one for each sentence."""
    if len(targets) != decoder.sentences:
        raise AugenmerkError(f"There are {len(targets)} targets for {decoder.sentences} sentences.")
    for number, target in enumerate(targets):
        if not {PAD, BOS, EOS}.isdisjoint(target):
            raise AugenmerkError(
                f"Target {number} (counted from 0) holds PAD, BOS or EOS: give only its words."
            )
    limits = [len(target) + 1 for target in targets]
    padded = torch.tensor([[*target] + [EOS] * (max(limits) - len(target)) for target in targets])

    def choose(step: int, rows: Tensor, _log_probs: Tensor) -> Tensor:
        return padded.to(rows.device)[rows, step, None]

    return [hypotheses[0] for hypotheses in _walk(decoder, limits, choose)]


def _walk(
    decoder: Decoder, limits: list[int], choose: Choose, *, width: int = 1, length_penalty: float = 0.0
) -> list[list[Hypothesis]]:
    """`width` hypotheses of each sentence, each going on as `choose` says."""
    if not limits:
        return []
    state = tuple(part.repeat_interleave(width, dim=1) for part in decoder.start())
    device = state[0].device
    rows = torch.arange(len(limits), device=device)
    limit = torch.tensor(limits, device=device)[:, None]
    tokens = torch.full((len(limits), width), BOS, device=device)
    going = torch.ones_like(tokens, dtype=torch.bool)
    lengths = torch.zeros_like(tokens)
    all_lengths = torch.zeros_like(tokens)
    history: list[Step] = []
    for step in range(max(limits)):
        log_probs, weights, state = decoder.step(tokens, state)
        tokens = choose(step, rows, log_probs)
        history.append(Step(rows, tokens, None, log_probs.gather(2, tokens[..., None]).squeeze(2), weights))
        lengths = lengths + going
        going = going & (tokens != EOS) & (limit > step + 1)
        remaining = going.any(1)
        if (count := int(remaining.sum())) == 0:
            break
        if (len(rows) - count) * LEAVING >= len(rows):
            all_lengths[rows] = lengths
            kept = remaining.nonzero()[:, 0]
            decoder, state = decoder.keep(kept), take_rows(state, kept)
            rows, limit, tokens, going, lengths = take_rows((rows, limit, tokens, going, lengths), kept)
    all_lengths[rows] = lengths
    slots = torch.arange(width, device=device).expand(len(limits), -1)
    return read_back(history, all_lengths, slots, length_penalty)
