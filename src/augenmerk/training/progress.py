"""How far a run is in training, and the clock that measures it."""

import math
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class TrainingProgress:
    """How far a run is. With the tensors of `Engine.state`, this is the whole state; it is saved as JSON."""

    epoch: int = 0
    """The number of finished epochs."""
    window: int = 0
    """The number of finished windows of the current epoch; data in memory is one window."""
    batch: int = 0
    """The number of finished batches of the current window."""
    step: int = 0
    """The number of updates of the weights."""
    loss_sum: float = 0.0
    tokens: int = 0
    """Target tokens of the current epoch so far."""
    seconds: float = 0.0
    """Time spent so far, validation included; a resumed run adds to it."""
    all_tokens: int = 0
    training_seconds: float = 0.0
    """Time without validation and saving, for tokens per second."""
    best_epoch: int = 0
    best: float = math.inf
    """The lowest validation loss so far; with `select_by = "bleu"`, the lowest negative BLEU."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """The metrics of each epoch: the lines of metrics.jsonl."""
    threads: int = 0
    """CPU threads that compute; sums, and so the last digits of weights, depend on them."""
    initial: dict[str, float] = field(default_factory=dict)
    """The metrics of the weights of another run with which this one began."""

    def finish_epoch(self, metrics: dict[str, Any], select_by: str) -> None:
        self.epoch += 1
        self.window, self.batch, self.loss_sum, self.tokens = 0, 0, 0.0, 0
        self.history.append(metrics)
        value = -metrics["validation_bleu"] if select_by == "bleu" else metrics["validation_loss"]
        if value < self.best or not self.best_epoch:
            self.best, self.best_epoch = value, self.epoch

    def has_ended(self, epochs: int, patience: int) -> bool:
        """Returns whether there is nothing left to train."""
        return self.epoch >= epochs or self.has_stopped_improving(patience)

    def has_stopped_improving(self, patience: int) -> bool:
        return bool(patience) and self.epoch - self.best_epoch >= patience


class Clock:
    """Measures training time, also across resumptions, and tells when to report and when to save."""

    REPORT_SECONDS = 0.25

    def __init__(self, progress: TrainingProgress, save_seconds: float) -> None:
        self._progress = progress
        self._save_seconds = save_seconds
        self._began = time.monotonic() - progress.seconds
        self._reported = self._saved = 0.0
        self._lap_began = 0.0
        self._lap_tokens = 0

    def start(self) -> None:
        """Starts measuring, at the start of an epoch or after saving."""
        self._lap_began = self._saved = time.monotonic()
        self._lap_tokens = 0

    def stop(self) -> None:
        """Stops measuring, before validation or saving."""
        self._progress.training_seconds += time.monotonic() - self._lap_began
        self._progress.all_tokens += self._lap_tokens
        self._progress.seconds = self.total()

    def count(self, tokens: int) -> None:
        self._progress.tokens += tokens
        self._lap_tokens += tokens

    def speed(self) -> float:
        """Returns target tokens per second since the last start."""
        return self._lap_tokens / max(time.monotonic() - self._lap_began, 1e-9)

    def total(self) -> float:
        return time.monotonic() - self._began

    def report_is_due(self) -> bool:
        now = time.monotonic()
        due = now - self._reported >= self.REPORT_SECONDS
        if due:
            self._reported = now
        return due

    def save_is_due(self) -> bool:
        return time.monotonic() - self._saved >= self._save_seconds
