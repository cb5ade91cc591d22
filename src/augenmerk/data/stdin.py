"""Lines on stdin: those that have arrived are worked on together, without waiting for more."""

import io
import os
import select
import stat
import sys
from collections.abc import Iterator

from augenmerk.data.files import decode_lines
from augenmerk.text.pairs import MAX_LINE_BYTES, BadLine

READ_BYTES = 1 << 16
"""The most bytes that are read at once."""


class ArrivingLines(io.BufferedIOBase):
    """Reads lines from a pipe or terminal, and knows whether the next line has already arrived.

    `sys.stdin.buffer` cannot: it would wait for it.
    """

    def __init__(self, descriptor: int, longest: int) -> None:
        """A line of more than `longest` bytes is ready as soon as `longest` of them have arrived."""
        self._descriptor = descriptor
        self._longest = longest
        self._arrived = bytearray()
        self._ended = False

    def readline(self, size: int | None = -1, /) -> bytes:
        """Returns the next line with its end, at most `size` bytes of it, or nothing when the input ended."""
        limit = self._longest if size is None or size < 0 else size
        while (end := self._arrived.find(b"\n", 0, limit)) < 0 and len(self._arrived) < limit:
            if not self._read():
                break
        length = end + 1 if end >= 0 else limit
        line = bytes(self._arrived[:length])
        del self._arrived[:length]
        return line

    def is_ready(self) -> bool:
        """Returns whether `readline` would return at once."""
        while b"\n" not in self._arrived and len(self._arrived) <= self._longest:
            if self._ended or not select.select([self._descriptor], [], [], 0)[0]:
                return self._ended
            self._read()
        return True

    def _read(self) -> bool:
        """Waits for more bytes; returns False at the end of the input."""
        if not self._ended:
            arrived = os.read(self._descriptor, READ_BYTES)
            self._arrived += arrived
            self._ended = not arrived
        return not self._ended


def read_stdin(bad_lines: list[BadLine] | None = None) -> Iterator[str | None]:
    """Yields the lines of stdin, and None after a line if the next one has not arrived yet.

    A file has always arrived. So have all lines where the system cannot tell (pipes on Windows). A bad line
    raises BadLineError, or is added to `bad_lines` and yielded as empty.
    """
    try:
        descriptor = sys.stdin.fileno()
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:  # not a stream of the system; io.UnsupportedOperation is an OSError too
        is_file = True
    if is_file or sys.platform == "win32":
        yield from decode_lines(sys.stdin.buffer, "stdin", bad_lines)
        return
    lines = ArrivingLines(descriptor, MAX_LINE_BYTES)
    for line in decode_lines(lines, "stdin", bad_lines):
        yield line
        if not lines.is_ready():
            yield None
