"""Multi-head attention."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from augenmerk.lab.outcomes import Case, Draw


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        q, k, v = self.split(q), self.split(k), self.split(v)  # (batch, heads, length, size)
        scores = q @ k.transpose(2, 3)
        scores = scores / q.shape[3] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], float("-inf"))
        alpha = scores.softmax(dim=3)
        return self.W_o(self.merge(alpha @ v)), alpha

    def split(self, x: Tensor) -> Tensor:
        batch, length, d_model = x.shape
        return x.view(batch, length, self.heads, d_model // self.heads).transpose(1, 2)

    def merge(self, x: Tensor) -> Tensor:
        batch, _, length, _ = x.shape
        return x.transpose(1, 2).reshape(batch, length, -1)


def make_cases(draw: Draw) -> Iterator[Case]:
    heads, size = draw.size(3, 4), draw.size(2, 3) * 2
    square = draw.size(2, 3)
    shapes = {
        "one head": (1, 2, 3, 4, 1),
        "two heads": (1, 2, 3, 8, 2),
        "as many heads as queries and words": (2, square, square, square * 3, square),
        "several sentences": (2, 3, 5, heads * size, heads),
    }
    for name, (batch, queries, words, d_model, count) in shapes.items():
        first = (draw.normal(batch, queries, d_model), draw.normal(batch, words, d_model))
        yield Case(name, (*first, draw.normal(batch, words, d_model)), (d_model, count))
    mask = (torch.arange(5) < torch.tensor([5, 3])[:, None])[:, None, :].expand(2, 4, 5).clone()
    d_model = heads * size
    three = draw.normal(2, 4, d_model), draw.normal(2, 5, d_model), draw.normal(2, 5, d_model)
    yield Case("padding", (*three, mask), (d_model, heads))
    itself = draw.normal(2, 4, d_model)
    causal = torch.ones(4, 4, dtype=torch.bool).tril().expand(2, 4, 4).clone()
    yield Case("causal self-attention", (itself, itself, itself, causal), (d_model, heads))
