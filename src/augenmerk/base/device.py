"""The device to compute on, and the numbers to compute in: fp32, or bf16 where the hardware has it."""

import ctypes
import re
import sys
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.process import count_threads

if TYPE_CHECKING:
    import torch


Precision = Literal["auto", "fp32", "bf16"]


_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


CPU = "cpu"
"""The device for which translating needs no torch."""


def choose_translating_device(name: str) -> "str | torch.device":
    """Returns the device to translate on, as `choose_device` does, but imports torch only for a GPU."""
    if _DEVICE.fullmatch(name) is None:
        raise AugenmerkError(f"'{name}' is not a device: expected auto, cpu or cuda.")
    has_torch = find_spec("torch") is not None
    if name == CPU or (name == "auto" and not (has_torch and _has_nvidia_driver())):
        return CPU
    if not has_torch:
        raise AugenmerkError(
            "A GPU needs torch, which is not installed here: pip install torch, or use the CPU."
        )
    return choose_device(name)


def _has_nvidia_driver() -> bool:
    """Returns whether there may be a GPU: without the driver's library, torch finds none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def choose_device(name: str) -> "torch.device":
    """Returns the device called `name`; "auto" is the GPU if there is one, otherwise the CPU.

    A GPU that is named by its number becomes the current device of the process.
    """
    import torch

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


def describe_device(device: "str | torch.device", threads: int | None = None) -> str:
    """Returns the name of the GPU, or the number of CPU threads."""
    if not str(device).startswith("cuda"):
        threads = threads or count_threads()
        return f"{CPU}, {threads} thread{'' if threads == 1 else 's'}"
    import torch

    return torch.cuda.get_device_name(device)


def uses_bf16(precision: Precision, device: "torch.device") -> bool:
    """Returns whether a precision means bf16 on this device; "auto" does if the hardware computes in it."""
    import torch

    if precision != "auto":
        return precision == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # A CPU without bf16 units emulates them with fp32, which is slower than fp32 itself.
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def autocast(bf16: bool, device: "torch.device") -> AbstractContextManager[None]:
    """Returns a context in which matrix products are in bf16; weights, sums and softmaxes stay in fp32."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16)
