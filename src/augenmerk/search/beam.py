"""Beam search: at each step, the best continuations of several hypotheses of a sentence are kept."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from augenmerk.base.arrays import Array, namespace
from augenmerk.base.config import SearchConfig
from augenmerk.search.continuations import best_continuations, best_of_each, largest, likeliest, token_mask
from augenmerk.search.decoder import (
    SHRINK_AT,
    Decoder,
    Hypothesis,
    Step,
    read_back,
    take_rows,
)
from augenmerk.search.greedy import generate
from augenmerk.text.tokenizer import BOS, EOS


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
