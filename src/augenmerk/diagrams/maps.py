"""What is drawn: the words of a sentence and of its translation, and the attention between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from augenmerk.errors import AugenmerkError

END = "</s>"
"""The word that stands for the end of a sentence; drawn as a subdued sign."""
MOST_WORDS = 400
"""On a side of a map. More would be a picture of a gigabyte that nobody can read."""
ROUNDING = 1e-3
"""Weights that were summed in half precision may lie this far outside of 0 to 1."""


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """How strongly each produced word (a row) attends to each source word (a column)."""

    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: ArrayLike
    """(target words, source words), each between 0 and 1: nested sequences or an array."""
    title: str | None = None
    """Which model, say; stands above the map."""
    reference: str | None = None
    """How a person translated the sentence; stands below the map."""
    note: str | None = None
    """Anything else worth saying; stands below the reference."""
    beside: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Further figures for each target word, in columns with these headings to the right of the map."""

    def __post_init__(self) -> None:
        rows, columns = len(self.target_words), len(self.source_words)
        matrix = self.matrix
        if matrix.shape != (rows, columns):
            shape = " x ".join(map(str, matrix.shape))
            raise AugenmerkError(
                f"{self._name()}: {rows} target words and {columns} source words need {rows} rows of "
                f"{columns} weights, not {shape}."
            )
        wrong = np.argwhere(~(np.isfinite(matrix) & (matrix >= -ROUNDING) & (matrix <= 1 + ROUNDING)))
        if len(wrong):
            row, column = wrong[0]
            raise AugenmerkError(
                f"{self._name()}: the weight of target word {row + 1} on source word {column + 1} is "
                f"{matrix[row, column]:g}; attention lies between 0 and 1."
            )
        for heading, values in self.beside.items():
            if len(values) != rows:
                raise AugenmerkError(
                    f"{self._name()}: '{heading}' has {len(values)} values for {rows} target words."
                )

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The weights as an array of its own."""
        try:
            matrix = np.asarray(self.weights, dtype=np.float64).copy()
        except (TypeError, ValueError) as error:
            raise AugenmerkError(
                f"{self._name()}: the weights are not rows of equally many numbers ({error})."
            ) from error
        shape = len(self.target_words), len(self.source_words)
        # Without any rows, nested sequences cannot say how many columns they would have.
        return np.zeros(shape) if matrix.size == 0 and 0 in shape else matrix

    def check_size(self) -> None:
        """Refuses to be drawn if it is too large."""
        for side, words in (("source", self.source_words), ("target", self.target_words)):
            if len(words) > MOST_WORDS:
                raise AugenmerkError(
                    f"{self._name()} has {len(words):,} {side} words; up to {MOST_WORDS} can be drawn."
                )

    def _name(self) -> str:
        return f"The attention map '{self.title}'" if self.title else "The attention map"


def check_maps(maps: Sequence[AttentionMap]) -> None:
    """Refuses to draw none, or one that is too large."""
    if not maps:
        raise AugenmerkError("There is no attention map to draw.")
    for one in maps:
        one.check_size()
