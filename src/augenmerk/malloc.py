"""Keeps what a process holds near what it uses.

Every batch has another shape, so that hardly any large block is of a size that was free before. The C library
of Linux nevertheless stops giving large blocks back once it has seen some freed (it raises the threshold
from which on a block is mapped by itself, up to 32 MB), and what it holds grows batch by batch.
"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # their numbers in malloc.h
LARGE = 16 << 20
"""Bytes. Smaller blocks are worth keeping: new memory is slower than used memory."""


def limit_malloc_caching(largest: int) -> None:
    """From now on, blocks of 16 MiB and more go back to the system as soon as they are free.

    Only of 64 MiB and more if the largest block of a batch, of about this many bytes, is not much above 16
    MiB: to take it anew in every step would cost a small model a tenth of its speed, and save little.
    """
    if sys.platform != "linux":
        return
    large = LARGE if largest > LARGE * 3 // 2 else 4 * LARGE
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # not in every C library
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, large)
        set_option(_TRIM_THRESHOLD, 4 * large)  # which would otherwise fall to its smallest
