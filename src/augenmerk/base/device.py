"""The device and the cores to compute on, and the numbers to compute in: fp32 or bf16."""

import ctypes
import math
import os
import re
import sys
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from augenmerk.base.errors import AugenmerkError

if TYPE_CHECKING:
    import torch


Precision = Literal["auto", "fp32", "bf16"]
Place = Literal["local", "ray"]
"""Where work in blocks is computed: on this machine, or over a Ray cluster."""
_DEVICE = re.compile(r"auto|cpu|cuda(:(0|[1-9]\d?))?")
CPU = "cpu"
"""The device for which translating needs no torch."""


def choose_translating_device(name: str) -> "str | torch.device":
    """Returns the device to translate on, as `choose_device` does, but imports torch only for a GPU."""
    _check_name(name)
    has_torch = find_spec("torch") is not None
    if name == CPU or (name == "auto" and not (has_torch and _has_nvidia_driver())):
        return CPU
    if not has_torch:
        raise AugenmerkError(
            "A GPU needs torch, which is not installed here: pip install torch, or use the CPU."
        )
    return choose_device(name)


def _check_name(name: str) -> None:
    if _DEVICE.fullmatch(name) is None:
        raise AugenmerkError(f"'{name}' is not a device: expected auto, cpu or cuda.")


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
    _check_name(name)
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda" if count else CPU)
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= count:
        raise AugenmerkError(
            f"There is no '{name}': torch finds {count} GPUs here, counted from cuda:0; leave out "
            f"--device, or use cpu."
        )
    if device.index is not None:
        torch.cuda.set_device(device)  # CUDA graphs and new streams belong to the current device
    return device


def describe_device(device: "str | torch.device", threads: int | None = None) -> str:
    """Returns the name of the GPU, or the number of CPU threads."""
    if not str(device).startswith("cuda"):
        threads = threads or count_threads()
        return f"{CPU}, {threads} thread{'' if threads == 1 else 's'}"
    import torch

    return torch.cuda.get_device_name(device)


def count_threads() -> int:
    """Returns how many threads to compute with: as many as there are cores, or as OMP_NUM_THREADS says."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    return count_cores()


def count_cores() -> int:
    """Returns how many cores this process may use: by its affinity, and by the limit of a container.

    A limit of 1.5 cores is one core, because two threads would wait for each other.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # on Linux
    visible = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, int(min(visible, read_cpu_limit())))


def read_cpu_limit(root: Path = Path("/")) -> float:
    """Returns how many cores the control groups of Linux let this process use; infinity without a limit.

    `docker run --cpus 2` sets such a limit, while all cores stay visible. The limit of each group above that
    of the process also holds.
    """
    limits = [math.inf]
    for line in _read_lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controllers else ("cpu.max",)
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = top / path.lstrip("/")
        # In a container, its own group may be the topmost one, whatever its path is outside.
        for folder in {top, group, *group.parents[: len(group.parts) - len(top.parts)]}:
            values = " ".join(line for name in names for line in _read_lines(folder / name)).split()
            if len(values) == 2 and all(value.isdecimal() and int(value) for value in values):  # not -1, max
                limits.append(int(values[0]) / int(values[1]))
    return min(limits)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # not Linux, or not this version of control groups
        return []


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
