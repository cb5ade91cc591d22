"""Memory goes back to the system. In a process of its own: the setting is for good."""

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, sys
from augenmerk.memory import LARGE, give_large_blocks_back

def held():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024

c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
c.free.argtypes = [ctypes.c_void_p]
if sys.argv[1] == "ours":
    give_large_blocks_back()
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


def returned(how: str) -> float:
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux is meant")
def test_large_blocks_go_back_to_the_system_again_and_again() -> None:
    assert returned("ours") > 0.95
    assert returned("theirs") < 0.2  # or else there would be nothing to do
