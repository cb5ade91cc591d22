"""Parts of a training step that are faster than torch's own: on a GPU in half precision, and on a CPU.

Each function computes what torch's own would, to rounding; dropout draws other random numbers. On a GPU, the
model asks for them under autocast. Where they cannot be used, torch's own does the work.
"""

import os
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

MAX_ONE_HOT = 2**27
"""Entries that the matrix of an embedding's gradient may have: 256 MiB."""
DROPOUT_VALUES = 1 << 16
"""A number is kept or dropped by one of so many random values, so p is rounded to one in 65,536."""


def half_precision(device: torch.device) -> torch.dtype | None:
    """Returns the dtype of matrix products where the functions here can be used, otherwise None."""
    if device.type != "cuda" or not torch.is_autocast_enabled("cuda") or not _works(device):
        return None
    return torch.get_autocast_dtype("cuda")


@cache
def _works(device: torch.device) -> bool:
    """Returns whether Triton is there and can build kernels for this GPU.

    It needs a C compiler and Python's header files. Other GPUs than Hopper's were never tried, so they are
    left to torch's own.
    """
    if find_spec("triton") is None or torch.cuda.get_device_capability(device)[0] != 9:
        return False
    logits, targets = torch.zeros(1, 64, dtype=torch.bfloat16, device=device), torch.ones(1, device=device)
    try:
        fused_cross_entropy(logits, targets.long(), 64, 0, 0.0)
    except Exception as error:  # whatever a compiler may say
        warnings.warn(f"Training uses no Triton, and is slower, because it fails here: {error}", stacklevel=2)
        return False
    return True


def _apply(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


class Dropout(nn.Dropout):
    """Sets numbers to 0 with probability p in training, and scales the others by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return dropout(input, self.p, self.training)


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Does what `Dropout` does.

    On a CPU, torch draws 64 random bits for each number, one after another. Sixteen of them are enough.
    """
    dropped = round(p * DROPOUT_VALUES)
    if not training or x.device.type != "cpu" or not 0 < dropped < DROPOUT_VALUES:
        return nn.functional.dropout(x, p, training)
    count = x.numel()
    drawn = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = drawn.view(torch.int16)[:count].view(x.shape) >= dropped - DROPOUT_VALUES // 2
    return x * kept.to(x.dtype).mul_(DROPOUT_VALUES / (DROPOUT_VALUES - dropped))


def embed(ids: Tensor, layer: nn.Embedding) -> Tensor:
    """Returns the embeddings (B, S, E) of ids (B, S)."""
    dtype = half_precision(ids.device)
    if dtype is None or ids.numel() * len(layer.weight) > MAX_ONE_HOT:
        embedded: Tensor = layer(ids)
        return embedded
    from augenmerk.model.kernels import gpu

    return _apply(gpu.Embed, ids, layer.weight, dtype)


def apply_linear(x: Tensor, layer: nn.Linear) -> Tensor:
    """Returns the layer's output, (..., M) for x (..., N)."""
    dtype = half_precision(x.device)
    if dtype is None:
        y: Tensor = layer(x)
        return y
    from augenmerk.model.kernels import gpu

    with torch.autocast("cuda", enabled=False):
        return _apply(gpu.Linear, x.to(dtype), layer.weight, layer.bias)


def run_gru(
    x: Tensor, h0: Tensor | None, lengths: Tensor | None, directions: Sequence[Sequence[Tensor]]
) -> Tensor | None:
    """Returns the states (B, S, D * H) of one layer of D GRUs for x (B, S, E), or None if it cannot.

    It cannot on a GPU without Triton, and does not on a CPU where no gradients are wanted: there torch's own
    is as fast. h0 (B, D, H), or 0. Of two GRUs the second reads each sentence backwards by its own length
    (B); one alone can do without lengths. The states on padding mean nothing. The weights are in torch's
    order, as in `nn.GRU.all_weights`.
    """
    on_cpu = x.device.type == "cpu"
    dtype = half_precision(x.device)
    usable = torch.is_grad_enabled() if on_cpu else dtype is not None and not _mps_runs()
    if not usable:
        return None
    B, D, H = len(x), len(directions), directions[0][1].shape[1]
    if h0 is None:
        h0 = x.new_zeros(B, D, H)
    stacked = [
        torch.stack(weights) if D > 1 else weights[0][None] for weights in zip(*directions, strict=True)
    ]
    if on_cpu:
        from augenmerk.model.kernels import cpu

        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
        packing = cpu.Packing.of(torch.full((B,), x.shape[1]) if lengths is None else lengths, x.shape[1], D)
        with torch.autocast("cpu", enabled=False):
            return _apply(cpu.GRU, x.to(dtype), h0.to(dtype), packing, *stacked)
    from augenmerk.model.kernels import gpu

    tiles = gpu.choose_tiles(B, H, D, x.device)
    if tiles is None:
        return None
    with torch.autocast("cuda", enabled=False):
        return _apply(gpu.GRU, x.to(dtype), h0.to(dtype), lengths, *stacked, tiles)


def _mps_runs() -> bool:
    """Returns whether processes may share the GPU by CUDA MPS, whose folder is CUDA's default unless set.

    Then two processes might each wait for multiprocessors that the other one holds; whether CUDA prevents
    that was not tried.
    """
    return (Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")) / "control").exists()


def fused_cross_entropy(
    logits: Tensor, targets: Tensor, vocabulary: int, ignore: int, label_smoothing: float
) -> Tensor:
    """Returns the sum of the losses, in fp32, over the rows of logits (N, V or more) with targets (N).

    Only the first `vocabulary` logits of a row count, and the others may be written over; rows whose target
    is `ignore` do not count. Needs Triton on a GPU.
    """
    if logits.device.type == "cpu":
        from augenmerk.model.kernels import cpu as kernels
    else:
        from augenmerk.model.kernels import gpu as kernels  # type: ignore[no-redef]

    return _apply(kernels.CrossEntropy, logits, targets, vocabulary, ignore, label_smoothing)
