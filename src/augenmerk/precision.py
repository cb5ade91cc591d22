"""Which numbers to compute in: fp32 everywhere, bf16 where the hardware has units for it."""

from contextlib import AbstractContextManager
from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16"]


def uses_bf16(precision: Precision, device: torch.device) -> bool:
    if precision != "auto":
        return precision == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # Without units for it, a CPU computes bf16 by way of fp32, and slower than that.
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def autocast(bf16: bool, device: torch.device) -> AbstractContextManager[None]:
    """Matrix products in bf16 inside; weights, sums and softmaxes stay fp32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16)
