"""A softmax that leaves out padding and, if asked, the future."""

from collections.abc import Iterator

import torch
from torch import Tensor

from augenmerk.lab.outcomes import Case, Draw


def masked_softmax(scores: Tensor, lengths: Tensor, causal: bool = False) -> Tensor:
    batch, tgt_len, src_len = scores.shape
    column = torch.arange(src_len, device=scores.device)
    row = torch.arange(tgt_len, device=scores.device)[:, None]
    allowed = (column < lengths[:, None])[:, None, :].expand(batch, tgt_len, src_len)
    if causal:
        allowed = allowed & (column <= row)
    hidden = scores.masked_fill(~allowed, float("-inf"))
    weights = hidden.softmax(dim=2)
    return weights.nan_to_num(0.0)


def make_cases(draw: Draw) -> Iterator[Case]:
    n, square = draw.size(3, 4), draw.size(4, 5)
    yield Case("no padding", (draw.normal(1, 2, n), torch.tensor([n]), False))
    yield Case("padding", (draw.normal(2, 2, n + 1), torch.tensor([n, 2]), False))
    yield Case("causal", (draw.normal(1, square, square), torch.tensor([square]), True))
    lengths = torch.tensor([square, 2, 3])
    yield Case("padding, as many queries as words", (draw.normal(3, square, square), lengths, False))
    yield Case("padding and causal", (draw.normal(3, square, square), lengths, True))
    yield Case("causal, more words than queries", (draw.normal(2, 3, 5), torch.tensor([5, 4]), True))
    yield Case("causal, more queries than words", (draw.normal(2, 5, 3), torch.tensor([3, 2]), True))
    yield Case("large scores", (20 * draw.normal(2, 3, 5) - 120, torch.tensor([2, 5]), False))
    yield Case("a sentence without words", (draw.normal(2, 2, 3), torch.tensor([3, 0]), False))
