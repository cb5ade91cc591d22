"""The streams of a command, and what only commands print."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.markup import escape

from augenmerk.base.console import err


class _Remarks:
    """A stderr that loses remarks when it is full or closed, instead of stopping the work."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except OSError:
            _discard(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _discard(self._stream)


def prepare_streams() -> None:
    """Makes sure that every text can be printed, and that no stream is absent.

    Characters that a stream cannot encode are printed as escapes such as \\xe4. A stream that was closed is
    empty, or discards its output; so does stderr once it cannot be written to.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = _Remarks(sys.stderr)


_muted: list[Any] = []


def mute() -> None:
    """Discards everything printed from now on."""
    _muted[:] = [sys.stdout, sys.stderr]
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def unmute() -> None:
    """Prints again after `mute`; does nothing without it."""
    if _muted:
        sys.stdout, sys.stderr = _muted


def discard_output() -> None:
    """Discards what stdout and stderr cannot write, so that Python does not complain when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _discard(stream)


def _discard(stream: Any) -> None:
    """Redirects a stream to the null device, so that its buffered output can be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def format_json(document: Any, indent: int | None = None) -> str:
    """Returns a document as JSON, with escapes if stdout cannot encode every character."""
    from augenmerk.base import files as storage

    return storage.format_json(document, escape=not is_utf8(), indent=indent)


def is_utf8() -> bool:
    """Returns whether stdout can encode every character."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def print_json(document: Any) -> None:
    """Prints one indented JSON document to stdout, the same to a pipe as to a terminal."""
    sys.stdout.write(format_json(document, indent=2) + "\n")


def print_written(path: Path) -> None:
    """Prints the path of a file that was written, on stderr."""
    err().print(f"[dim]Written:[/] {escape(str(path))}")
