"""Reading text files line by line: plain or gzip, UTF-8, never the whole file at once.

Only a line feed ends a line (a carriage return before it is dropped), so that a rare character such as
U+2028 inside a sentence cannot shift one side of a bitext against the other.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from augenmerk.errors import AugenmerkError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, without their ends."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(decode_lines(stream, str(path)), 1):  # noqa: B007 (it is, below)
                yield line
    except FileNotFoundError:
        raise AugenmerkError(f"{path}: there is no such file.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise AugenmerkError(f"{path}, after line {number}: damaged gzip file ({error}).") from None
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be read ({error.strerror or error}).") from None


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines of a binary stream, without their ends; `name` is named in complaints."""
    for number, raw in enumerate(stream, 1):
        line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise AugenmerkError(
                f"{name}, line {number}: not UTF-8 (byte {error.start + 1} of the line is "
                f"0x{error.object[error.start]:02x}); convert it to UTF-8."
            ) from None


def read_parallel(source_path: Path, target_path: Path) -> Iterator[tuple[str, str]]:
    """The lines of two files side by side; a sentence when one of them ends before the other."""
    number = 0
    for number, (source, target) in enumerate(
        zip_longest(read_lines(source_path), read_lines(target_path)), 1
    ):
        if source is None or target is None:
            short, long = (source_path, target_path) if source is None else (target_path, source_path)
            raise AugenmerkError(
                f"{short} ends after line {number - 1}, but {long} goes on: "
                f"line n of one file must be the translation of line n of the other."
            )
        yield source, target
