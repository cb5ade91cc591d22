"""The loss of a training step on a CPU, and its gradient, while the logits are in the caches.

With label smoothing e, the loss of a row with the target y is (1 - e) of -log p_y and e of the mean of -log p
over the vocabulary. Its gradient is p, less e / V everywhere, less 1 - e at y. So what the loss is made of is
nearly the gradient, which is computed with it, a few rows at a time, and written over the logits.
"""

from typing import Any

import torch
from torch import Tensor

BLOCK_BYTES = 4 << 20
"""The bytes of logits that are computed at a time, and stay in the caches of a CPU meanwhile."""


def cross_entropy(
    logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, label_smoothing: float
) -> Tensor:
    """Returns the sum of the losses, in fp32 or better. The logits are written over."""
    loss: Tensor = _CrossEntropy.apply(logits, targets, vocabulary, ignore, label_smoothing)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, smoothing: float
    ) -> Tensor:
        at_least_fp32 = torch.promote_types(logits.dtype, torch.float32)
        rows = max(1, BLOCK_BYTES // (vocabulary * at_least_fp32.itemsize))
        loss = torch.zeros((), dtype=at_least_fp32)
        for block, its_targets in zip(
            torch.split(logits[:, :vocabulary], rows), torch.split(targets, rows), strict=True
        ):
            loss += _replace_by_gradients(block, its_targets, ignore, smoothing, at_least_fp32)
        logits[:, vocabulary:] = 0
        ctx.gradients = logits
        return loss

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        return gradients.mul_(scale), None, None, None, None


def _replace_by_gradients(
    logits: Tensor, targets: Tensor, ignore: int, smoothing: float, dtype: torch.dtype
) -> Tensor:
    """Returns the sum of the losses of logits (N, V), and writes their gradients over them."""
    targets = targets[:, None]  # (N, 1)
    real = targets != ignore
    share = real.to(dtype)
    x = logits - logits.amax(1, keepdim=True).to(dtype)  # in this dtype
    at_target, mean = x.gather(1, targets), x.mean(1, keepdim=True) if smoothing else 0
    p = x.exp_()
    sums = p.sum(1, keepdim=True)
    losses = sums.log() - (1 - smoothing) * at_target - smoothing * mean
    p *= share / sums
    if smoothing:
        p -= smoothing / p.shape[1] * share
    p.scatter_add_(1, targets, (smoothing - 1) * share)
    logits.copy_(p)
    return torch.where(real, losses, 0).sum()
