"""A linear layer whose weights get their gradients in fp32, straight from the matrix product."""

from typing import Any

import torch
from torch import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns x (..., N) times weight (M, N), plus bias (M), in the dtype of x; these two are in fp32."""
    y: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return y


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        weight = weight.to(x.dtype)
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias.to(x.dtype))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(0, -2)
        d_weight = torch.mm(rows.t(), x.flatten(0, -2), out_dtype=torch.float32)
        return grad @ weight, d_weight, rows.sum(0, dtype=torch.float32)
