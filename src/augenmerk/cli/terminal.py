"""Printing: results go to stdout, everything else to stderr."""

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from augenmerk.base.errors import remove_control_characters

if TYPE_CHECKING:
    from augenmerk.data import SentencePair

MIN_BAR_WIDTH = 8
LINK = "■"
NO_LINK = "·"
LINE_SECONDS = 30.0
"""Seconds between two lines about the progress of work, where there is no terminal to draw a bar on."""
DRAWN, TIMES = BarColumn | SpinnerColumn | TaskProgressColumn, TimeElapsedColumn | TimeRemainingColumn
"""Columns that such a line does without."""
MIN_NAME_WIDTH = 12
"""Fewest columns of a name in a table before columns of numbers are left out."""


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

    What the encoding of a stream lacks is printed as an escape such as \\xe4. A stream that was closed is
    empty, or takes all output and loses it; so does stderr once it cannot be written to.
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
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


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
    """Redirects a stream to the null device, so that what it still holds can be written."""
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


class FittingTable:
    """A plain table of rich that fits into the terminal by leaving out columns, never by cutting a number.

    The first `left` columns hold names: left-aligned, folded where needed, never left out. Of the others,
    right-aligned, those furthest to the right are left out first, and named below the table. In a pipe or a
    file, a table is as wide as it needs to be, unless $COLUMNS limits it.
    """

    def __init__(
        self, headings: Iterable[str], rows: Iterable[Iterable[RenderableType]], *, left: int, gap: int
    ) -> None:
        self.headings = list(headings)
        self.rows = [list(row) for row in rows]
        self.caption = ""
        self._left = left
        self._gap = gap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        limited = console.is_terminal or "COLUMNS" in os.environ
        width = options.max_width if limited else sys.maxsize
        widths = [self._measure(console, options, column) for column in range(len(self.headings))]
        least = max(MIN_NAME_WIDTH, width // 2 // max(1, self._left))
        room = width - sum(min(each, least) + self._gap for each in widths[: self._left])
        ends = accumulate(widths[self._left :], lambda end, each: end + self._gap + each)
        shown = self._left + max(1, sum(end <= room for end in ends))
        table = Table(box=None, pad_edge=False, padding=(0, self._gap, 0, 0), caption=self.caption or None)
        for heading in self.headings[: self._left]:
            table.add_column(heading, overflow="fold")
        for heading, needed in zip(self.headings[self._left : shown], widths[self._left :], strict=False):
            table.add_column(heading, justify="right", no_wrap=True, min_width=needed)
        for row in self.rows:
            table.add_row(*row[:shown])
        yield from console.render(table, options.update_width(min(width, sum(widths) + self._gap * shown)))
        if shown < len(widths):
            hidden = ", ".join(" ".join(heading.split()) for heading in self.headings[shown:])
            yield Text(f"not shown here: {hidden}", style="dim", no_wrap=False)

    def _measure(self, console: Console, options: ConsoleOptions, column: int) -> int:
        """Returns the width that a column needs."""
        cells = [self.headings[column], *(row[column] for row in self.rows if column < len(row))]
        unlimited = options.update(max_width=10_000)
        texts = (Text.from_markup(cell) if isinstance(cell, str) else cell for cell in cells)
        return max(Measurement.get(console, unlimited, text).maximum for text in texts)


def make_table(
    headings: Iterable[str], rows: Iterable[Iterable[RenderableType]], *, left: int = 1, gap: int = 2
) -> FittingTable:
    """Returns a table that fits into every terminal: see `FittingTable`."""
    return FittingTable(headings, rows, left=left, gap=gap)


class FittingProgress(Progress):
    """Progress bars on stderr that disappear when they are done; without a terminal, lines from time to time.

    On a narrow terminal they lose columns, from the right, rather than digits.
    """

    def __init__(self, *columns: ProgressColumn) -> None:
        shown = err().is_terminal
        super().__init__(*columns, console=err(), transient=True, disable=not shown, auto_refresh=shown)
        self._clock = LineClock()
        self._started: dict[TaskID, tuple[float, float]] = {}

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        self._print_line(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self._print_line(task_id)

    def _print_line(self, task_id: TaskID) -> None:
        """Prints what the bar of a task would show, if there is no bar and the last line was a while ago."""
        if not self.disable:
            return
        task, now = self._tasks[task_id], time.monotonic()
        since, before = self._started.setdefault(task_id, (now, task.completed))
        if not self._clock.is_due():
            return
        before_times = takewhile(lambda column: not isinstance(column, TIMES), self.columns)
        cells = [each(task) for each in before_times if not isinstance(each, str | DRAWN)]
        parts = [cell.plain.strip() for cell in cells if isinstance(cell, Text)]
        if task.total:
            parts.append(f"{task.completed / task.total:.0%}")
            if (gained := task.completed - before) > 0:
                left = (now - since) * (task.total - task.completed) / gained
                parts.append(f"about {format_seconds(left)} left")
        elif task.completed:
            parts.append(f"{task.completed:,.0f}")
        err().print("  ".join(filter(None, parts)), markup=False)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        shown, every = list(tasks), self.columns
        while len(self.columns) > 1 and self._width(shown) > err().width:
            self.columns = self.columns[:-1]
        try:
            return super().make_tasks_table(shown)
        finally:
            self.columns = every

    def _width(self, tasks: Sequence[Task]) -> int:
        """Returns the columns of the terminal that the bars need at least."""
        widths = []
        for column in self.columns:
            cells = [column if isinstance(column, str) else column(task) for task in tasks]
            flexible = isinstance(column, BarColumn)
            sizes = (Measurement.get(err(), err().options, cell).maximum for cell in cells)
            widths.append(MIN_BAR_WIDTH if flexible else max(sizes, default=0))
        return sum(widths) + len(widths) - 1


class LineClock:
    """Decides when the next line about the progress of work is due."""

    def __init__(self) -> None:
        self._due = time.monotonic() + LINE_SECONDS

    def is_due(self) -> bool:
        """Returns whether to print a line now."""
        if time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + LINE_SECONDS
        return True


@contextmanager
def show_status(text: str) -> Iterator[Callable[[str], None]]:
    """Shows what is being done, as a spinner, or without a terminal as a line from time to time.

    Yields a function that changes the text.
    """
    if err().is_terminal:
        with err().status(escape(text)) as status:
            yield lambda text: status.update(escape(text))
        return
    began, ended = time.monotonic(), threading.Event()

    def change(changed: str) -> None:
        nonlocal text
        text = changed

    def print_lines() -> None:
        while not ended.wait(LINE_SECONDS):
            err().print(f"{text}  {format_seconds(time.monotonic() - began)}".strip(), markup=False)

    lines = threading.Thread(target=print_lines, daemon=True)
    lines.start()
    try:
        yield change
    finally:
        ended.set()
        lines.join()


def format_seconds(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


@contextmanager
def show_progress(amount: ProgressColumn) -> Iterator[Callable[[str, int, int | None], None]]:
    """Yields a function that shows a progress bar for each description: see `FittingProgress`.

    Its arguments are the description, how much is done, and how much there is to do if that is known.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with FittingProgress(*columns) as bars:

        def update(description: str, completed: int, total: int | None) -> None:
            if description not in tasks:
                tasks[description] = bars.add_task(escape(description), total=None)
            bars.update(tasks[description], completed=completed, total=total)

        yield update


def draw_links(pair: "SentencePair", width: int) -> Text:
    """Draws the word links of a sentence pair as a grid, or as a list if the grid is wider than `width`.

    In the grid, the source words are the columns and the target words the rows.
    """
    from augenmerk.text.words import split_words

    source, target = split_words(pair.source), split_words(pair.target)
    links = frozenset(pair.alignment or ())
    margin = max(map(len, target), default=0)
    text = Text()
    if margin + sum(len(word) + 2 for word in source) > width:
        margin = max(map(len, source), default=0)
        for i, word in enumerate(source):
            words = " ".join(target[j] for j in range(len(target)) if (i, j) in links)
            text.append(f"{word:>{margin}}", style="bold")
            text.append(f"  {words or NO_LINK}\n", style="yellow" if words else "dim")
        text.rstrip()
        return text
    text.append(" " * margin + "".join(f"  {word}" for word in source), style="bold")
    for j, target_word in enumerate(target):
        text.append(f"\n{target_word:>{margin}}", style="bold")
        for i, source_word in enumerate(source):
            linked = (i, j) in links
            # A cell of even width has no middle: the sign is just left of it.
            cell = (LINK if linked else NO_LINK).center(len(source_word) + (len(source_word) + 1) % 2)
            text.append(f"  {cell[: len(source_word)]}", style="yellow" if linked else "dim")
    return text
