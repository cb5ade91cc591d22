"""Greedy search for a batch of sentences."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from augenmerk.lab.outcomes import Case, Draw, ToyDecoder


def greedy_search(
    step: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    state: Tensor,
    bos: int,
    eos: int,
    max_length: int,
) -> list[list[int]]:
    batch = state.shape[0]
    tokens = torch.full((batch,), bos)
    found: list[list[int]] = [[] for _ in range(batch)]
    ended = [False] * batch
    for _ in range(max_length):
        log_probs, state = step(tokens, state)
        tokens = log_probs.argmax(dim=1)
        for number, token in enumerate(tokens.tolist()):
            ended[number] = ended[number] or token == eos
            if not ended[number]:
                found[number].append(token)
        if all(ended):
            break
    return found


TRIES = 30


def make_cases(draw: Draw) -> Iterator[Case]:
    vocabulary, hidden = draw.size(7, 9), draw.size(5, 7)
    bos, eos = 1, 2
    settings = {
        "one sentence, at most one token": (1, -99.0, 1),
        "one sentence": (1, 2.0, 12),
        "a sentence that does not end": (1, -99.0, draw.size(4, 6)),
        "several sentences": (4, 1.5, 12),
        "several sentences, and few tokens": (4, 2.0, 3),
        "several sentences, some without an end": (5, 0.5, 8),
        "many sentences": (9, 1.5, 12),
        "many sentences, some without an end": (7, 1.0, 9),
        "many short sentences": (6, 3.0, 12),
    }
    for name, (batch, end, most) in settings.items():
        for _ in range(TRIES):
            step = ToyDecoder(draw, vocabulary, hidden, {bos: -99.0, eos: end})
            state = draw.normal(batch, hidden)
            lengths = list(map(len, greedy_search(step, state, bos, eos, most)))
            if batch == 1 or 0 < lengths[0] < max(lengths):  # the others do not end with the first
                break
        step.steps = 0
        yield Case(name, (step, state, bos, eos, most))
