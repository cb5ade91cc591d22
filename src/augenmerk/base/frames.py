"""Rows of data that show themselves, and become data frames where pandas is installed."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from augenmerk.base.console import Shown
from augenmerk.base.errors import AugenmerkError

_Item = TypeVar("_Item")


class Rows(Shown, list[dict[str, Any]]):
    """A list of rows, which are data for JSON."""

    def to_pandas(self) -> Any:
        """Returns the rows as a data frame."""
        return make_frame(self)


def make_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Returns rows as a data frame of pandas; raises AugenmerkError if that is not installed."""
    try:
        import pandas
    except ImportError:
        raise AugenmerkError(
            "A data frame needs pandas, which is not installed: pip install pandas."
        ) from None
    return pandas.DataFrame(list(rows))


def as_list(given: Any, kind: type[_Item]) -> list[_Item]:
    """Returns one item, or several, as a list; nothing for None."""
    if given is None:
        return []
    return [given] if isinstance(given, kind) else list(given)
