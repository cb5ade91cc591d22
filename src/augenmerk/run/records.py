"""The JSON files of a run: what it learnt from, and what was measured."""

import json
import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from augenmerk.base.files import (
    atomic_write,
    explain_read_errors,
    parse_object,
    read_object,
    read_text,
    without_nan,
    write_object,
)
from augenmerk.text.pairs import PairsSum

METRICS, RESULT, SCORES, OTHER_SCORES = "metrics.jsonl", "result.json", "scores.json", "other_scores.json"
FAMILIARITY, _DATA = "familiarity.json", "data.json"


class RunRecords:
    """Reads and writes what was measured. Numbers that JSON does not have (NaN) become null."""

    path: Path
    read_only = False
    """Whether locking and writing the run is left to another process of the same training."""

    @property
    def finished(self) -> bool:
        return (self.path / RESULT).exists()

    @property
    def result(self) -> dict[str, Any] | None:
        """The summary; None if the run is not finished."""
        return self._read(RESULT)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Writes the summary, which makes the run a finished one."""
        self._write(RESULT, result)

    def write_metrics(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes the metrics of all epochs so far."""
        if not self.read_only:
            lines = (json.dumps(without_nan(each)) for each in history)
            atomic_write(self.path / METRICS, [f"{line}\n".encode() for line in lines])

    def read_metrics(self) -> list[dict[str, Any]]:
        path, metrics = self.path / METRICS, []
        if path.exists():
            for number, line in enumerate(read_text(path).split("\n"), 1):
                with explain_read_errors(path, f", line {number}"):
                    metrics += [parse_object(line)] if line else []
        return metrics

    def write_data(self, sums: Mapping[str, PairsSum]) -> None:
        """Writes what the pairs of each split are that the run has used."""
        self._write(_DATA, {split: each._asdict() for split, each in sums.items()})

    def read_data(self) -> dict[str, PairsSum]:
        """Reads what `write_data` wrote."""
        found = self._read(_DATA) or {}
        with explain_read_errors(self.path / _DATA):
            return {split: PairsSum(int(each["pairs"]), str(each["sha256"])) for split, each in found.items()}

    def write_familiarity(self, learnt: Mapping[str, Any]) -> None:
        """Writes what `learn_familiarity` returned."""
        self._write(FAMILIARITY, learnt, indent=None)

    def read_familiarity(self) -> dict[str, Any] | None:
        """Reads what `write_familiarity` wrote; None for a run that has none."""
        return self._read(FAMILIARITY)

    def write_scores(self, scores: Sequence[Mapping[str, Any]], *, other: bool = False) -> None:
        """Writes all scores. To change some of them, read and write inside of `scoring`."""
        self._write(OTHER_SCORES if other else SCORES, scores)

    def read_scores(self, *, other: bool = False) -> list[dict[str, Any]]:
        """Reads the scores of the run alone, or its `other` scores (see above)."""
        path = self.path / (OTHER_SCORES if other else SCORES)
        with explain_read_errors(path):
            return [dict(entry) for entry in json.loads(read_text(path))] if path.exists() else []

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.path / name
        return read_object(path) if path.exists() else None

    def _write(self, name: str, value: object, indent: int | None = 2) -> None:
        if not self.read_only:
            write_object(self.path / name, without_nan(value), indent)


@cache
def warn_once(message: str) -> None:
    logging.getLogger(__name__).warning(message)
