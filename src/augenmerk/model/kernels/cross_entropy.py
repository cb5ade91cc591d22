"""Cross entropy with label smoothing in one Triton kernel for each direction, from logits in half precision.

Torch's own reads and writes the logits, which are the largest tensor of training, eight times, most of them
in fp32.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 2048
"""How many logits a program holds at a time."""


def cross_entropy(
    logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, label_smoothing: float
) -> Tensor:
    """Returns the sum of the losses, in fp32, over the rows of logits (N, V or more) with targets (N).

    Only the first `vocabulary` logits of a row count; rows whose target is `ignore` do not.
    """
    loss: Tensor = _CrossEntropy.apply(logits, targets, vocabulary, ignore, label_smoothing)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, smoothing: float
    ) -> Tensor:
        losses, normalisers = (torch.empty(len(logits), device=logits.device) for _ in range(2))
        ctx.constants = (vocabulary, ignore, smoothing, logits.shape[1], BLOCK)
        _losses[(len(logits),)](logits, targets, losses, normalisers, *ctx.constants)
        ctx.save_for_backward(logits, targets, normalisers)
        return losses.sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        logits, targets, normalisers = ctx.saved_tensors
        d_logits = torch.empty_like(logits)
        blocks = triton.cdiv(logits.shape[1], BLOCK)
        _gradients[(len(logits), blocks)](logits, targets, normalisers, grad, d_logits, *ctx.constants)
        return d_logits, None, None, None, None


@triton.jit(do_not_specialize=["vocabulary", "ignore", "smoothing"])
def _losses(
    logits,
    targets,
    losses,
    normalisers,  # log sum exp of the rows
    vocabulary,
    ignore,
    smoothing,
    width,  # of a row of logits
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    exponentials = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + row * width + columns, mask=columns < vocabulary, other=float("-inf")).to(
            tl.float32
        )
        larger = tl.maximum(largest, x)
        known = larger > float("-inf")
        exponentials = tl.where(known, exponentials * tl.exp(largest - larger) + tl.exp(x - larger), 0.0)
        largest = larger
        total += tl.where(columns < vocabulary, x, 0.0)
    top = tl.max(largest, 0)
    normaliser = top + tl.log(tl.sum(exponentials * tl.exp(largest - top), 0))
    target = tl.load(targets + row)
    at_target = tl.load(logits + row * width + target).to(tl.float32)
    loss = normaliser - (1 - smoothing) * at_target - smoothing / vocabulary * tl.sum(total, 0)
    tl.store(losses + row, tl.where(target == ignore, 0.0, loss))
    tl.store(normalisers + row, normaliser)


@triton.jit(do_not_specialize=["vocabulary", "ignore", "smoothing"])
def _gradients(
    logits,
    targets,
    normalisers,
    grad,  # of the sum of the losses
    d_logits,
    vocabulary,
    ignore,
    smoothing,
    width,  # of a row of logits
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    target = tl.load(targets + row)
    x = tl.load(logits + row * width + columns, mask=columns < vocabulary, other=float("-inf")).to(tl.float32)
    wanted = smoothing / vocabulary + tl.where(columns == target, 1 - smoothing, 0.0)
    d_x = (tl.exp(x - tl.load(normalisers + row)) - wanted) * tl.load(grad)
    d_x = tl.where((columns < vocabulary) & (target != ignore), d_x, 0.0)
    tl.store(d_logits + row * width + columns, d_x.to(d_logits.dtype.element_ty), mask=columns < width)
