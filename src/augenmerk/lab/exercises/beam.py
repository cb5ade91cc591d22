"""Beam search for one sentence."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from augenmerk.lab.outcomes import Case, Draw, ToyDecoder


def beam_search(
    step: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    state: Tensor,
    bos: int,
    eos: int,
    beam: int,
    max_length: int,
) -> tuple[list[int], float]:
    hypotheses = [([bos], 0.0, state)]
    for _ in range(max_length):
        extended = []
        for tokens, score, before in hypotheses:
            if tokens[-1] == eos:
                extended.append((tokens, score, before))
                continue
            log_probs, after = step(torch.tensor(tokens[-1:]), before)
            best = log_probs[0].topk(min(beam, log_probs.shape[1]))
            for added, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                extended.append(([*tokens, token], score + added, after))
        extended.sort(key=lambda hypothesis: hypothesis[1], reverse=True)
        hypotheses = extended[:beam]
        if all(tokens[-1] == eos for tokens, _, _ in hypotheses):
            break
    tokens, score, _ = hypotheses[0]
    return [token for token in tokens[1:] if token != eos], score


TRIES = 20


def make_cases(draw: Draw) -> Iterator[Case]:
    vocabulary, hidden = draw.size(7, 9), draw.size(5, 7)
    bos, eos = 1, 2
    settings = [(1, 2.0, 10), (2, 0.0, 1), (2, -99.0, 3), (vocabulary + 2, 1.0, 3)]
    settings += [(2 + n // 4 % 3, (0.0, 1.0, 2.0)[n % 3], (2, 3, 4, 3, 6)[n % 5]) for n in range(72)]
    for number, (beam, end, most) in enumerate(settings):
        widths = ((1, beam), (beam, beam), (beam, beam + 1), (beam, beam))[number % 4]
        for _ in range(TRIES):
            step = ToyDecoder(draw, vocabulary, hidden, {bos: -99.0, eos: end}, scale=0.5)
            state = draw.normal(1, hidden)
            found = [beam_search(step, state, bos, eos, width, most)[0] for width in widths]
            if widths[0] == widths[1] or found[0] != found[1]:  # in every second case the width matters
                break
        step.steps = 0
        yield Case(f"beam={beam}, max_length={most}", (step, state, bos, eos, beam, most))
