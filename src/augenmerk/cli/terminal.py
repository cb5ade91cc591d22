"""Printing: results go to stdout, everything else to stderr."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table

from augenmerk.base.errors import remove_control_characters

if TYPE_CHECKING:
    from augenmerk.data import SentencePair

LINE_SECONDS = 30.0
"""Seconds between two lines about the progress of work, where there is no terminal to draw a bar on."""
BAR_WIDTH = 16
"""Columns of a progress bar, which leave room for its numbers in a terminal of 80 columns."""
UNLIMITED = 10_000
"""A width, in columns, that no table has."""

_Item = TypeVar("_Item")


class SafeConsole(Console):
    """A console that prints no control characters of sentences, names and paths, only its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else remove_control_characters(text), style, control)


@cache
def out() -> Console:
    """Returns the console for results. Numbers and quotation marks in sentences are not highlighted."""
    return SafeConsole(highlight=False, soft_wrap=True)


@cache
def err() -> Console:
    """Returns the console for progress and remarks, which keep stdout free for pipes."""
    return SafeConsole(stderr=True, highlight=False, soft_wrap=True)


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


def make_table(
    headings: Iterable[str], rows: Iterable[Iterable[RenderableType]], *, left: int = 1, gap: int = 2
) -> Table:
    """Returns a plain table as wide as its cells: a narrow terminal wraps its lines, and no number is cut.

    The first `left` columns hold names; the others hold numbers, which are aligned on the right.
    """
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    table.width = Measurement.get(out(), out().options.update(max_width=UNLIMITED), table).maximum
    return table


def make_bars(*columns: ProgressColumn) -> Progress:
    """Returns progress bars on stderr, which disappear when they are done; none without a terminal."""
    return Progress(*columns, console=err(), transient=True, disable=not err().is_terminal)


class LineClock:
    """Decides when the next line about the progress of work is due."""

    def __init__(self) -> None:
        self._due = time.monotonic() + LINE_SECONDS

    def is_due(self) -> bool:
        """Returns whether to print a line now: there is no terminal, and the last line was a while ago."""
        if err().is_terminal or time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + LINE_SECONDS
        return True


@contextmanager
def show_progress(amount: ProgressColumn) -> Iterator[Callable[[str, int, int | None], None]]:
    """Yields a function that shows a progress bar for each description; in a log file, lines.

    Its arguments are the description, how much is done, and how much there is to do if that is known.
    """
    tasks: dict[str, TaskID] = {}
    clock = LineClock()
    with make_bars(
        TextColumn("{task.description}"), BarColumn(BAR_WIDTH), amount, TimeRemainingColumn()
    ) as bars:

        def update(description: str, completed: int, total: int | None) -> None:
            if description not in tasks:
                tasks[description] = bars.add_task(escape(description), total=None)
            bars.update(tasks[description], completed=completed, total=total)
            if clock.is_due():
                share = f" of {total:,} ({completed / total:.0%})" if total else ""
                left = bars.tasks[tasks[description]].time_remaining
                end = f", about {format_seconds(left)} left" if left else ""
                err().print(f"{description}: {completed:,}{share}{end}", markup=False)

        yield update


def count_items(
    items: Iterable[_Item], description: str, on_progress: Callable[[str, int, int | None], None]
) -> Iterator[_Item]:
    """Yields the items, and reports how many there were so far."""
    for number, item in enumerate(items, 1):
        yield item
        on_progress(description, number, None)


@contextmanager
def show_status(text: str) -> Iterator[Callable[[str], None]]:
    """Shows the current work, in a log file as lines. Yields a function that changes the text."""
    clock = LineClock()
    with err().status(escape(text)) as status:

        def change(changed: str) -> None:
            status.update(escape(changed))
            if clock.is_due():
                err().print(changed, markup=False)

        yield change


def format_seconds(seconds: float) -> str:
    """Returns a time such as 0:01:30."""
    return str(timedelta(seconds=round(seconds)))


def draw_links(pair: "SentencePair", width: int) -> Table:
    """Draws the word links of a sentence pair as a grid, or as a list if the grid is wider than `width`.

    In the grid, the source words are the columns and the target words the rows.
    """
    from augenmerk.text.words import split_words

    source, target = split_words(pair.source), split_words(pair.target)
    links = frozenset(pair.alignment or ())
    rows = [
        [escape(word), *("■" if (i, j) in links else "·" for i in range(len(source)))]
        for j, word in enumerate(target)
    ]
    grid = make_table(["", *map(escape, source)], rows)
    if (grid.width or 0) <= width:
        return grid
    linked = [" ".join(target[j] for j in range(len(target)) if (i, j) in links) for i in range(len(source))]
    return make_table(
        ("", ""),
        [[escape(word), escape(words) or "·"] for word, words in zip(source, linked, strict=True)],
        left=2,
    )
