"""The consoles that commands and Python print to, and what they print: tables, progress, things as HTML.

Results go to stdout, everything else to stderr. In a notebook both are shown below the cell.
"""

import io
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table

from augenmerk.base.errors import remove_control_characters

LINE_SECONDS = 30.0
"""Seconds between two lines about the progress of work, where there is no terminal to draw a bar on."""
NOTEBOOK_SECONDS = 0.2
"""Seconds between two states of the progress bars in a notebook."""
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


class Shown(ABC):
    """What shows itself: printed by a command, as text, and as HTML in a notebook."""

    @abstractmethod
    def show(self) -> Iterable[RenderableType]:
        """Yields lines with rich's markup, and tables."""

    def __str__(self) -> str:
        return _to_text(self.show())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return render_html(self.show())


def warn(message: str) -> None:
    """Prints a warning to stderr."""
    err().print(f"augenmerk: {message}", markup=False)


def print_shown(shown: Shown, console: Console | None = None) -> None:
    """Prints something, by default to stdout."""
    for part in shown.show():
        (console or out()).print(part)


def render_html(parts: Iterable[RenderableType]) -> str:
    """Renders lines with markup, and tables, as HTML without any script; every text in it is escaped."""
    html = []
    for part in parts:
        if not isinstance(part, Table):
            html.append(f'<pre style="margin:0;white-space:pre-wrap">{_to_html(part) or "<br>"}</pre>')
            continue
        cells = [[column.header, *column.cells] for column in part.columns]
        sides = ["left" if column.justify == "left" else "right" for column in part.columns]
        rows = []
        for number, row in enumerate(zip(*cells, strict=True)):
            name = "td" if number else "th"
            filled = zip(row, sides, strict=True)
            rows.append(
                "".join(f"<{name} style='text-align:{side}'>{_to_html(x)}</{name}>" for x, side in filled)
            )
        html.append(f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>")
    return "".join(html)


def _to_text(parts: Iterable[RenderableType]) -> str:
    # Not of Jupyter, where rich would display what is printed to any console.
    console = SafeConsole(file=io.StringIO(), width=UNLIMITED, color_system=None, force_jupyter=False)
    with console.capture() as printed:
        for part in parts:
            console.print(part, soft_wrap=True, highlight=False)
    return "\n".join(line.rstrip() for line in printed.get().rstrip().splitlines())


def _to_html(part: RenderableType) -> str:
    console = SafeConsole(
        file=io.StringIO(), record=True, width=UNLIMITED, highlight=False, force_jupyter=False
    )
    console.print(part, soft_wrap=True)
    return console.export_html(inline_styles=True, code_format="{code}").rstrip()


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
    kind = _NotebookBars if err().is_jupyter else Progress
    return kind(*columns, console=err(), transient=True, disable=not err().is_terminal)


class _NotebookBars(Progress):
    """Progress bars below the cell of a notebook. Those of rich would need ipywidgets.

    An output cannot be taken away, so a line about the time remains, unless the work was done at once.
    """

    _place: Any = None

    def start(self) -> None:
        self._shown = time.monotonic()

    def stop(self) -> None:
        if self._place is not None:
            times = (f"{task.description}, {format_seconds(task.elapsed or 0)}" for task in self.tasks)
            self._show([f"[dim]{line}[/]" for line in times])

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        if time.monotonic() - self._shown > NOTEBOOK_SECONDS:
            self._shown = time.monotonic()
            self._show([self.get_renderable()])

    def _show(self, parts: Sequence[RenderableType]) -> None:
        from IPython.display import display

        shown = {"text/html": render_html(parts), "text/plain": _to_text(parts)}
        if self._place is None:
            self._place = display(shown, raw=True, display_id=True)
        else:
            self._place.update(shown, raw=True)


class LineClock:
    """Decides when the next line about the progress of work is due."""

    def __init__(self) -> None:
        self._due = time.monotonic() + LINE_SECONDS

    def is_due(self) -> bool:
        """Returns whether to print a line now: there is no terminal, and the last line was a while ago."""
        if err().is_terminal or err().is_jupyter or time.monotonic() < self._due:
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
    if err().is_jupyter:  # where rich would need ipywidgets
        yield lambda _text: None
        return
    with err().status(escape(text)) as status:

        def change(changed: str) -> None:
            status.update(escape(changed))
            if clock.is_due():
                err().print(changed, markup=False)

        yield change


def format_seconds(seconds: float) -> str:
    """Returns a time such as 0:01:30."""
    return str(timedelta(seconds=round(seconds)))
