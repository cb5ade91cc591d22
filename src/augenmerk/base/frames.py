"""Rows of data that show themselves, and become data frames where pandas is installed."""

import csv
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rich.console import RenderableType

from augenmerk.base.console import Shown
from augenmerk.base.errors import AugenmerkError, escape_csv

_Item = TypeVar("_Item")


class Rows(Shown, list[dict[str, Any]]):
    """A list of rows, which are data for JSON."""

    def to_pandas(self) -> Any:
        """Returns the rows as a data frame."""
        return make_frame(self)


class Outcome(Shown, dict[str, Any]):
    """What was done, as data for JSON, and in lines with markup for people."""

    def __init__(self, about: Mapping[str, Any], *lines: str) -> None:
        super().__init__(about)
        self._lines = lines

    def show(self) -> Iterable[RenderableType]:
        return self._lines


def make_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Returns rows as a data frame of pandas; raises AugenmerkError if that is not installed."""
    try:
        import pandas
    except ImportError:
        raise AugenmerkError(
            "A data frame needs pandas, which is not installed: pip install pandas."
        ) from None
    return pandas.DataFrame(list(rows))


def format_rows(rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Formats lines of CSV; no text in them is a formula to a spreadsheet, and None is written as nothing."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    for row in rows:
        writer.writerow([escape_csv(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def as_list(given: Any, kind: type[_Item]) -> list[_Item]:
    """Returns one item, or several, as a list; nothing for None."""
    if given is None:
        return []
    return [given] if isinstance(given, kind) else list(given)


def as_paths(given: Any) -> list[Path]:
    """Returns one path, or several, as a list; nothing for None. A run is a path, too."""
    several = [given] if isinstance(given, str | os.PathLike) else given or ()
    return [Path(each) for each in several]
