"""Memory goes back to the system. In a process of its own: the setting is for good."""

import subprocess
import sys

import pytest

from augenmerk.base.process import LARGE

SCRIPT = """
import ctypes, sys
from augenmerk.base.process import LARGE, limit_malloc_caching

def held():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024

c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
c.free.argtypes = [ctypes.c_void_p]
if sys.argv[1] == "ours":
    limit_malloc_caching(int(sys.argv[2]))
size = LARGE + (8 << 20)  # below the 32 MB up to which the C library would learn to keep blocks
for _ in range(2):
    blocks = [c.malloc(size) for _ in range(8)]
    fence = c.malloc(1 << 16)  # what lies above it keeps a heap from shrinking
    for block in blocks:
        ctypes.memset(block, 1, size)
    before = held()
    for block in blocks:
        c.free(block)
print((before - held()) / (8 * size))
"""


def returned(how: str, largest: int = 0) -> float:
    command = [sys.executable, "-c", SCRIPT, how, str(largest)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux is meant")
def test_large_blocks_go_back_to_the_system_again_and_again() -> None:
    assert returned("ours", 2 * LARGE) > 0.95
    assert returned("theirs") < 0.2  # or else there would be nothing to do


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux is meant")
def test_a_small_model_keeps_the_blocks_it_needs_in_every_step() -> None:
    assert returned("ours", LARGE) < 0.2
