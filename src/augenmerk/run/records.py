"""The JSON files of a run: what was measured, and what it learnt from."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from augenmerk.base.files import atomic_write, explain_read_errors, parse_object, read_object, read_text
from augenmerk.text.pairs import PairsSum

METRICS, RESULT, SCORES, OTHER_SCORES = "metrics.jsonl", "result.json", "scores.json", "other_scores.json"
_FAMILIARITY, _DATA = "familiarity.json", "data.json"


class RunRecords:
    """Reads and writes them. Numbers that JSON does not have (NaN) become null."""

    path: Path
    read_only = False
    """Whether locking and writing the run is left to another process of the same training."""

    @property
    def finished(self) -> bool:
        return (self.path / RESULT).exists()

    def write_metrics(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes the metrics of all epochs so far. Numbers that JSON does not have (NaN) become null."""
        self._write(METRICS, "".join(_strict_json(epoch) + "\n" for epoch in history))

    def read_metrics(self) -> list[dict[str, Any]]:
        path, metrics = self.path / METRICS, []
        if path.exists():
            for number, line in enumerate(read_text(path).split("\n"), 1):
                with explain_read_errors(path, f", line {number}"):
                    metrics += [parse_object(line)] if line else []
        return metrics

    def finish(self, result: Mapping[str, Any]) -> None:
        """Writes the summary, which makes the run a finished one."""
        self._write(RESULT, _strict_json(result, indent=2) + "\n")

    @property
    def result(self) -> dict[str, Any] | None:
        """The summary; None if the run is not finished."""
        return self._read(RESULT)

    def write_data(self, sums: Mapping[str, PairsSum]) -> None:
        """Writes what the pairs of each split are that the run has used."""
        tree = {split: each._asdict() for split, each in sums.items()}
        self._write(_DATA, _strict_json(tree, indent=2) + "\n")

    def read_data(self) -> dict[str, PairsSum]:
        """Reads what `write_data` wrote."""
        found = self._read(_DATA) or {}
        with explain_read_errors(self.path / _DATA):
            return {split: PairsSum(int(each["pairs"]), str(each["sha256"])) for split, each in found.items()}

    def write_familiarity(self, learnt: Mapping[str, Any]) -> None:
        """Writes what `augenmerk.text.familiarity.learn` returned."""
        self._write(_FAMILIARITY, _strict_json(learnt) + "\n")

    def read_familiarity(self) -> dict[str, Any] | None:
        """Reads what `write_familiarity` wrote; None for a run that has none."""
        return self._read(_FAMILIARITY)

    def write_scores(self, scores: Sequence[Mapping[str, Any]], *, other: bool = False) -> None:
        """Writes all scores. To change some of them, read and write inside of `scoring`."""
        self._write(OTHER_SCORES if other else SCORES, _strict_json(scores, indent=2) + "\n")

    def read_scores(self, *, other: bool = False) -> list[dict[str, Any]]:
        """Reads the scores of the run alone, or its `other` scores (see `directory.py`)."""
        path = self.path / (OTHER_SCORES if other else SCORES)
        if not path.exists():
            return []
        with explain_read_errors(path):
            return [dict(entry) for entry in json.loads(read_text(path))]

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.path / name
        return read_object(path) if path.exists() else None

    def _write(self, name: str, content: str) -> None:
        if self.read_only:
            return
        # Half a surrogate pair, as in a folder's name that is not UTF-8, is written as a JSON escape.
        atomic_write(self.path / name, [content.encode("utf-8", "backslashreplace")])


def _strict_json(value: object, indent: int | None = None) -> str:
    return json.dumps(without_nan(value), indent=indent, ensure_ascii=False, allow_nan=False)


def without_nan(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
