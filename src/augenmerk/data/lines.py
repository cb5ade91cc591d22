"""Lines of UTF-8, of files and of stdin.

Of stdin, the lines that have arrived are worked on together, without waiting for more.
"""

import gzip
import io
import os
import select
import stat
import sys
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import explain_read_errors
from augenmerk.text.pairs import MAX_LINE_BYTES, BadLine, BadLineError

READ_BYTES = 1 << 16
"""The most bytes that are read at once."""

_Stream = BinaryIO | BufferedIOBase


def read_lines(path: Path, bad_lines: list[BadLine] | None = None) -> Generator[str, None, None]:
    """Yields the lines of a UTF-8 file, plain or gzip, without their ends.

    Only a line feed ends a line (a carriage return before it is dropped), so that a rare character such as
    U+2028 inside a sentence cannot shift one side of a bitext against the other. A line that is not UTF-8 or
    far too long raises BadLineError; with a list of `bad_lines`, it is added to it and yielded as empty.
    """
    with _open(path) as stream:
        yield from decode_lines(stream, str(path), bad_lines)


def decode_lines(stream: _Stream, name: str, bad_lines: list[BadLine] | None = None) -> Iterator[str]:
    """Yields the lines of a binary stream, which messages call `name`, as `read_lines` those of a file."""
    for line in _scan_stream(stream, name):
        if isinstance(line, str):
            yield line
        elif bad_lines is None:
            raise BadLineError(str(line))
        else:
            bad_lines.append(line)
            yield ""


@contextmanager
def _open(path: Path) -> Iterator[_Stream]:
    with explain_read_errors(path), (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        yield stream


def scan_file(path: Path) -> Generator[str | BadLine, None, None]:
    with _open(path) as stream:
        yield from _scan_stream(stream, str(path))


def _read_line(stream: _Stream, name: str, number: int) -> bytes:
    try:
        return stream.readline(MAX_LINE_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise AugenmerkError(f"{name}: damaged gzip file after line {number:,} ({error}).") from None


def _scan_stream(stream: _Stream, name: str) -> Iterator[str | BadLine]:
    number = 0
    # Never more than one line is held, so a file of zeros that was compressed a thousandfold does no harm.
    while raw := _read_line(stream, name, number):
        number += 1
        if number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise AugenmerkError(
                f"{name}: this file is UTF-16; convert it to UTF-8: iconv -f utf-16 -t utf-8 OLD > NEW."
            )
        if len(raw) > MAX_LINE_BYTES:
            reason = f"the line is longer than {MAX_LINE_BYTES:,} bytes; a line should be one sentence"
            yield BadLine(name, number, "too long", reason)
            while raw and not raw.endswith(b"\n"):
                raw = _read_line(stream, name, number)
            continue
        line = raw.removeprefix(BOM_UTF8) if number == 1 else raw
        try:
            text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line is 0x{error.object[error.start]:02x}"
            yield BadLine(name, number, "not UTF-8", f"not UTF-8 ({byte}); convert it to UTF-8")
        else:
            yield text


# Stdin


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
