"""Measurements of the machine: the rate of matrix products, seconds, and peak memory."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from threadpoolctl import threadpool_info

try:
    import resource

    HAS_RESOURCE = True
except ImportError:  # Windows
    HAS_RESOURCE = False


def matrix_rate(bf16: bool, device: torch.device, size: int = 2048) -> float:
    """Returns the floating-point operations per second of a large matrix product, the median of several."""
    dtype = torch.bfloat16 if bf16 else torch.float32
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = [timed(lambda: a @ b, device) for _ in range(8)]
    return 2 * size**3 / median(seconds[2:])


def describe_numpy_products() -> str:
    """Returns which library computes numpy's matrix products, and for which processors it does that.

    A variable of the environment can hold OpenBLAS to the instructions of older processors, which halves its
    speed on newer ones; CTranslate2 ignores it.
    """
    found = [one for one in threadpool_info() if one["user_api"] == "blas" and "numpy" in one["filepath"]]
    if not found:
        return "an unknown library"
    text: str = found[0]["internal_api"]
    if architecture := found[0].get("architecture"):
        text += f" for {architecture}"
    if (chosen := os.environ.get("OPENBLAS_CORETYPE")) and text.startswith("openblas"):
        text += f", because OPENBLAS_CORETYPE={chosen} is set"
    return text


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Returns the seconds until the work is done, also on a GPU."""
    wait: Callable[[], None] = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start


class PeakMemory:
    """Measures the peak memory since it was made: of the GPU, or of the whole process."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        elif Path("/proc/self/clear_refs").exists():
            Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory of the process

    def mib(self) -> float | None:
        """Returns the peak in MiB; None on Windows without a GPU, where it is not measured."""
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device) / 2**20
        status = Path("/proc/self/status")
        if status.exists() and (found := re.search(r"VmHWM:\s*(\d+)", status.read_text())):
            return int(found[1]) / 1024
        if not HAS_RESOURCE:
            return None
        unit = 2**20 if sys.platform == "darwin" else 2**10  # macOS counts bytes, others KiB
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
