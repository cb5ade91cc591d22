"""Printing: results go to stdout, everything else to stderr."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from augenmerk.errors import remove_control_characters

if TYPE_CHECKING:
    from augenmerk.bitext import SentencePair

LINK = "■"
NO_LINK = "·"


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
    """A stderr that is full, or that nobody reads any more, loses remarks but does not stop the work."""

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


def discard_output() -> None:
    """Discards what stdout and stderr cannot write, so that Python does not complain when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _discard(stream)


def _discard(stream: Any) -> None:
    """Leads a stream to nowhere, so that what it still holds can be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def format_json(document: Any, indent: int | None = None) -> str:
    """Returns a document as JSON, with escapes if stdout cannot encode every character."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    return json.dumps(document, ensure_ascii=not utf8, indent=indent)


def print_json(document: Any) -> None:
    """Prints one indented JSON document to stdout, the same to a pipe as to a terminal."""
    sys.stdout.write(format_json(document, indent=2) + "\n")


def print_written(path: Path) -> None:
    """Prints the path of a file that was written, on stderr."""
    err().print(f"[dim]Written:[/] {escape(str(path))}")


def make_table(
    headings: Iterable[str], rows: Iterable[Iterable[RenderableType]], *, left: int = 1, gap: int = 2
) -> Table:
    """Returns a table without lines; its columns are right-aligned except for the first `left` ones."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right")
    for row in rows:
        table.add_row(*row)
    return table


@contextmanager
def show_progress(amount: ProgressColumn) -> Iterator[Callable[[str, int, int | None], None]]:
    """Yields a function that shows a progress bar for each description, on a terminal only.

    Its arguments are the description, how much is done, and how much there is to do if that is known.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as bars:

        def update(description: str, completed: int, total: int | None) -> None:
            if description not in tasks:
                tasks[description] = bars.add_task(escape(description), total=None)
            bars.update(tasks[description], completed=completed, total=total)

        yield update


def draw_links(pair: "SentencePair", width: int) -> Text:
    """Draws the word links of a sentence pair as a grid, or as a list if the grid is wider than `width`.

    In the grid, the source words are the columns and the target words the rows.
    """
    from augenmerk.words import split_words

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
            # A cell of even width has no middle: the mark is put just left of it.
            cell = (LINK if linked else NO_LINK).center(len(source_word) + (len(source_word) + 1) % 2)
            text.append(f"  {cell[: len(source_word)]}", style="yellow" if linked else "dim")
    return text
