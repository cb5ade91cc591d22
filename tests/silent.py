"""A reporter for trainings of which only the result matters."""

from collections.abc import Mapping
from typing import Any


class Silent:
    """Is told how training goes, and tells nobody."""

    def batch(self, epoch: int, batch: int, batches: int, loss: float, tokens_per_second: float) -> None: ...

    def epoch(self, metrics: Mapping[str, Any]) -> None: ...
