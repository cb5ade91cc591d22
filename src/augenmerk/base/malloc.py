"""Keeps the memory of a training process near what it uses.

Batches have different shapes, so a freed large block hardly ever fits a later one. The C library of Linux
nevertheless stops returning large blocks to the system once some were freed (it raises its mmap threshold, up
to 32 MB), and the memory of the process grows from batch to batch.
"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # their numbers in malloc.h
LARGE = 16 << 20
"""In bytes. Smaller blocks are worth keeping, because new memory is slower than used memory."""


def limit_malloc_caching(largest: int) -> None:
    """Makes freed blocks of 16 MiB and more return to the system at once.

    If the largest block of a batch, of about this many bytes, is not much above 16 MiB, only blocks of 64 MiB
    and more do: allocating it again in every step would cost a small model a tenth of its speed (measured).
    """
    if sys.platform != "linux":
        return
    large = LARGE if largest > LARGE * 3 // 2 else 4 * LARGE
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # not in every C library
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, large)
        set_option(_TRIM_THRESHOLD, 4 * large)  # which would otherwise fall to its smallest
