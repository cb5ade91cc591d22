"""The JSON files of a run: what it learnt from, and what was measured."""

import hashlib
import json
import logging
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from augenmerk.base.config import RunConfig
from augenmerk.base.files import (
    atomic_write,
    explain_read_errors,
    parse_object,
    read_object,
    read_text,
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
        self._write(RESULT, _strict_json(result, indent=2))

    def write_metrics(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes the metrics of all epochs so far."""
        self._write(METRICS, *map(_strict_json, history))

    def read_metrics(self) -> list[dict[str, Any]]:
        path, metrics = self.path / METRICS, []
        if path.exists():
            for number, line in enumerate(read_text(path).split("\n"), 1):
                with explain_read_errors(path, f", line {number}"):
                    metrics += [parse_object(line)] if line else []
        return metrics

    def write_data(self, sums: Mapping[str, PairsSum]) -> None:
        """Writes what the pairs of each split are that the run has used."""
        self._write(_DATA, _strict_json({split: each._asdict() for split, each in sums.items()}, indent=2))

    def read_data(self) -> dict[str, PairsSum]:
        """Reads what `write_data` wrote."""
        found = self._read(_DATA) or {}
        with explain_read_errors(self.path / _DATA):
            return {split: PairsSum(int(each["pairs"]), str(each["sha256"])) for split, each in found.items()}

    def write_familiarity(self, learnt: Mapping[str, Any]) -> None:
        """Writes what `learn_familiarity` returned."""
        self._write(FAMILIARITY, _strict_json(learnt))

    def read_familiarity(self) -> dict[str, Any] | None:
        """Reads what `write_familiarity` wrote; None for a run that has none."""
        return self._read(FAMILIARITY)

    def write_scores(self, scores: Sequence[Mapping[str, Any]], *, other: bool = False) -> None:
        """Writes all scores. To change some of them, read and write inside of `scoring`."""
        self._write(OTHER_SCORES if other else SCORES, _strict_json(scores, indent=2))

    def read_scores(self, *, other: bool = False) -> list[dict[str, Any]]:
        """Reads the scores of the run alone, or its `other` scores (see above)."""
        path = self.path / (OTHER_SCORES if other else SCORES)
        with explain_read_errors(path):
            return [dict(entry) for entry in json.loads(read_text(path))] if path.exists() else []

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.path / name
        return read_object(path) if path.exists() else None

    def _write(self, name: str, *lines: str) -> None:
        if not self.read_only:
            # Half a surrogate pair, as in a folder's name that is not UTF-8, is written as a JSON escape.
            atomic_write(
                self.path / name, [f"{line}\n".encode("utf-8", "backslashreplace") for line in lines]
            )


def describe_run(config: RunConfig) -> dict[str, Any]:
    """Returns what lists of models and runs show of a run, as data for JSON."""
    source, target = config.data.languages
    return {
        "source_language": source,
        "target_language": target,
        "architecture": config.model.architecture,
        "attention": config.model.attention,
        "beam": config.search.beam,
    }


def digest_of(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


@cache
def warn_once(message: str) -> None:
    logging.getLogger(__name__).warning(message)


def without_nan(value: object) -> object:
    """Returns data with null in place of numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _strict_json(value: object, indent: int | None = None) -> str:
    return json.dumps(without_nan(value), indent=indent, ensure_ascii=False, allow_nan=False)
