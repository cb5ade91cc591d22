"""The loss of a training step on a CPU, and its gradient, in as few passes over the logits as there can be.

With label smoothing e, the loss of a row with the target y is (1 - e) of -log p_y and e of the mean of -log p
over the vocabulary. Its gradient is p, less e / V everywhere, less 1 - e at y. torch's own adds up the
gradients of the parts, which are as large as the logits.
"""

from typing import Any

import torch
from torch import Tensor


def cross_entropy(
    logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, label_smoothing: float
) -> Tensor:
    """Returns the sum of the losses, in fp32 or better; the logits after the vocabulary are written over."""
    loss: Tensor = _CrossEntropy.apply(logits, targets, vocabulary, ignore, label_smoothing)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, smoothing: float
    ) -> Tensor:
        logits[:, vocabulary:] = -torch.inf  # cheaper than to cut them off, which copies the others
        at_least_fp32 = torch.promote_types(logits.dtype, torch.float32)
        log_probs = torch.log_softmax(logits, dim=1, dtype=at_least_fp32)
        real = targets != ignore
        losses = (smoothing - 1) * log_probs.gather(1, targets[:, None])[:, 0]
        if smoothing:
            losses -= smoothing / vocabulary * log_probs[:, :vocabulary].sum(1)
        ctx.save_for_backward(log_probs, targets, real)
        ctx.settings = vocabulary, smoothing, logits.dtype
        return torch.where(real, losses, 0).sum()

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        log_probs, targets, real = ctx.saved_tensors
        vocabulary, smoothing, dtype = ctx.settings
        gradients = log_probs.exp()
        if smoothing:
            gradients[:, :vocabulary] -= smoothing / vocabulary
        at_target = gradients.new_full((len(targets), 1), smoothing - 1)
        gradients.scatter_add_(1, targets[:, None], at_target)
        gradients *= (real * scale)[:, None]
        return gradients.to(dtype), None, None, None, None
