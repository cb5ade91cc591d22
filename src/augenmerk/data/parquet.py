"""Sentence pairs in Parquet files, read some thousand rows at a time, so memory does not grow with them.

The columns are called as the keys of JSON lines are: `source` and `target`, or after the languages. Hugging
Face writes one column `translation` of structs, whose fields are called after the languages. It also writes
several files of one split: train-00000-of-00002.parquet, train-00001-of-00002.parquet.

This needs pyarrow, which the extra `parquet` installs.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.text.pairs import MAX_LINE_BYTES, BadLine, SentencePair, is_blank

ROWS = 4096
"""Rows that are in memory at a time."""

_NESTED = "translation."
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})(-[0-9a-f]{16})?")


def split_of(stem: str) -> str:
    """Returns the split that a file belongs to whose name, without its ending, is `stem`."""
    found = _PART.fullmatch(stem)
    return found[1] if found else stem


def check_parts(split: str, paths: Sequence[Path]) -> None:
    """Raises AugenmerkError unless the paths are one file, or all files into which a split was divided."""
    parts = [found for path in paths if (found := _PART.fullmatch(path.stem))]
    numbers = [int(part[2]) for part in parts]  # in order, because the paths are
    whole = len(paths) <= 1 and not parts
    complete = len(parts) == len(paths) and {int(part[3]) for part in parts} == {len(paths)}
    if not whole and not (complete and numbers in ([*range(len(parts))], [*range(1, len(parts) + 1)])):
        names = " and ".join(path.name for path in paths[:3]) + (" and others" if len(paths) > 3 else "")
        raise AugenmerkError(
            f"{paths[0].parent}: the split '{split}' must be one Parquet file, or all of its parts, each "
            f"once, but here are {names}; add the missing parts, and remove or rename the others."
        )


def find_columns(path: Path) -> list[str]:
    """Returns the names of all columns that hold text; of `translation`, those of its fields."""
    with _open(path) as file:
        return [name.removeprefix(_NESTED) for name in _list_columns(file.schema_arrow)]


def check_columns(path: Path, source_language: str, target_language: str) -> None:
    """Raises AugenmerkError if a column of a file is missing or holds something else than text."""
    with _open(path) as file:
        _choose_columns(path, file.schema_arrow, source_language, target_language)


def scan_parquet(
    source_language: str, target_language: str, *paths: Path
) -> Generator[SentencePair | tuple[BadLine, ...], None, None]:
    """Yields the pairs of files, one file after another, and what is wrong with rows that hold none."""
    for path in paths:
        with _open(path) as file:
            columns = _choose_columns(path, file.schema_arrow, source_language, target_language)
            batches = file.iter_batches(ROWS, columns=list(dict.fromkeys(columns)), use_threads=False)
            rows = (zip(*(_to_texts(batch, column) for column in columns), strict=True) for batch in batches)
            for number, texts in enumerate(chain.from_iterable(rows), 1):
                bad = [
                    BadLine(str(path), number, *fault)
                    for column, text in zip(columns, texts, strict=True)
                    if (fault := _find_fault(column, text)) is not None
                ]
                yield tuple(bad) if bad else SentencePair(*texts)


def _find_fault(column: str, text: str | UnicodeDecodeError | None) -> tuple[Any, str] | None:
    """Returns the kind of what is wrong with a text, and the reason; None if nothing is."""
    if isinstance(text, UnicodeDecodeError):
        return "not UTF-8", f"'{column}' is not UTF-8; convert it to UTF-8"
    if text is None or is_blank(text):
        return "empty", f"'{column}' is {'null' if text is None else 'empty'}; remove the row"
    if len(text) > MAX_LINE_BYTES:
        reason = f"'{column}' is longer than {MAX_LINE_BYTES:,} characters; it should be one sentence"
        return "too long", reason
    return None


def _to_texts(batch: Any, column: str) -> list[str | UnicodeDecodeError | None]:
    if column.startswith(_NESTED):
        # Not array.field(), which would not be null where the whole struct is.
        array = batch.column(_NESTED[:-1])
        array = array.flatten()[[each.name for each in array.type].index(column.removeprefix(_NESTED))]
    else:
        array = batch.column(column)

    def to_text(value: Any) -> str | UnicodeDecodeError | None:
        try:
            return value.as_py()  # type: ignore[no-any-return]
        except UnicodeDecodeError as error:
            return error

    return [to_text(value) for value in array]


def _choose_columns(path: Path, schema: Any, source_language: str, target_language: str) -> list[str]:
    columns, chosen = _list_columns(schema), []
    for language, role in ((source_language, "source"), (target_language, "target")):
        names = (language, f"{_NESTED}{language}", role)
        name = next((name for name in names if name in columns or name in schema.names), None)
        if name is None:
            wanted = f"'{language}'" if language == role else f"'{language}' or '{role}'"
            there = f"those with text are {', '.join(columns)}" if columns else "none holds text"
            raise AugenmerkError(
                f"{path}: there is no column {wanted}; {there}: name two of them with --source-language and "
                f"--target-language."
            )
        if name not in columns:
            raise AugenmerkError(f"{path}: the column '{name}' holds {schema.field(name).type}, not text.")
        chosen.append(name)
    return chosen


def _list_columns(schema: Any) -> list[str]:
    """Returns the names of the columns with text, those inside `translation` with it before a dot."""
    from pyarrow import types

    def is_text(kind: Any) -> bool:
        if types.is_dictionary(kind):
            return is_text(kind.value_type)
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    names = [field.name for field in schema if is_text(field.type)]
    if _NESTED[:-1] in schema.names and types.is_struct(nested := schema.field(_NESTED[:-1]).type):
        names += [f"{_NESTED}{field.name}" for field in nested if is_text(field.type)]
    return names


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Opens a file, and explains what goes wrong while it is read."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise AugenmerkError(
            f"{path}: reading Parquet needs pyarrow, which is not installed: "
            f"run pip install '.[parquet]' in your clone."
        ) from None
    try:
        # Either argument alone would have a whole row group in memory.
        with closing(ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)) as file:
            yield file
    except (ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(". ")
        raise AugenmerkError(f"{path}: cannot be read as Parquet ({reason}).") from None
