"""The device to compute on, and the numbers to compute in: fp32, or bf16 where the hardware has it."""

from contextlib import AbstractContextManager
from typing import Literal

import torch

from augenmerk.errors import AugenmerkError

Precision = Literal["auto", "fp32", "bf16"]


def choose_device(name: str) -> torch.device:
    """Returns the device called `name`; "auto" is the GPU if there is one, otherwise the CPU.

    A GPU that is named by its number becomes the current device of the process.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise AugenmerkError(f"'{name}' is not a device: expected auto, cpu or cuda.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise AugenmerkError("There is no GPU that torch can use here; leave out --device, or say cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise AugenmerkError(
            f"There is no '{name}': torch finds {torch.cuda.device_count()} GPUs here, counted from cuda:0."
        )
    if device.type not in ("cpu", "cuda"):
        raise AugenmerkError(f"'{name}' is not supported: expected auto, cpu or cuda.")
    if device.index is not None and device.type == "cuda":
        torch.cuda.set_device(device)  # CUDA graphs and new streams belong to the current device
    return device


def describe_device(device: torch.device) -> str:
    """Returns the name of the GPU, or the number of CPU threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"


def uses_bf16(precision: Precision, device: torch.device) -> bool:
    """Returns whether a precision means bf16 on this device; "auto" does if the hardware computes in it."""
    if precision != "auto":
        return precision == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # A CPU without bf16 units emulates them with fp32, which is slower than fp32 itself.
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def autocast(bf16: bool, device: torch.device) -> AbstractContextManager[None]:
    """Returns a context in which matrix products are in bf16; weights, sums and softmaxes stay in fp32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16)
