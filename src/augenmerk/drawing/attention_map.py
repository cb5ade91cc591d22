"""The data that every diagram shows: words, attention weights, and how both are written as text."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.text.words import INVISIBLE

END = "</s>"
"""The word for the end of a sentence."""
BEGIN = "<s>"
"""The word for the beginning of a target sentence."""
END_SIGN = "∎"
"""How diagrams show it."""
NO_WORDS = "nothing to show: no words"
MAX_WORDS = 400
"""The most words on a side of a map: the picture of a larger one would be huge and unreadable."""
MAX_WORD_LENGTH = 24
"""The most characters of a word in a picture: a longer one, such as a URL, would crowd out the map."""
MIN_SHOWN_WEIGHT = 0.02
"""Smaller weights are drawn without a number and without a line."""
ROUNDING = 1e-3
"""Weights that were summed in half precision may be outside of 0 to 1 by this much."""


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """How strongly each target word (a row) attends to each source word (a column)."""

    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: ArrayLike
    """(target words, source words), each between 0 and 1: nested sequences, an array or a tensor."""
    title: str | None = None
    """Text above the map, such as the name of the model."""
    reference: str | None = None
    """The human translation, shown below the map."""
    note: str | None = None
    """A remark, shown below the reference."""
    extra_columns: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Further values for each target word, shown in columns with these headings to the right of the map."""

    def __post_init__(self) -> None:
        rows, columns = len(self.target_words), len(self.source_words)
        matrix = self.matrix
        if matrix.shape != (rows, columns):
            shape = " x ".join(map(str, matrix.shape))
            raise AugenmerkError(
                f"{self._name}: {rows} target words and {columns} source words need {rows} rows of "
                f"{columns} weights, not {shape}."
            )
        wrong = np.argwhere(~(np.isfinite(matrix) & (matrix >= -ROUNDING) & (matrix <= 1 + ROUNDING)))
        if len(wrong):
            row, column = wrong[0]
            raise AugenmerkError(
                f"{self._name}: the weight of target word {row + 1} on source word {column + 1} is "
                f"{matrix[row, column]:g}; attention lies between 0 and 1."
            )
        for heading, values in self.extra_columns.items():
            if len(values) != rows:
                raise AugenmerkError(
                    f"{self._name}: '{heading}' has {len(values)} values for {rows} target words."
                )

    @classmethod
    def from_translation(
        cls,
        translation: Any,
        *,
        subwords: bool = False,
        head: Any = None,
        title: str | None = None,
        reference: str | None = None,
    ) -> Self:
        """Makes the map of an `augenmerk.Translation`, over its words or over its subwords.

        With one of its heads it is the map of that head, and called after it. In the map of a head of
        self-attention, source words look at source words, or target words at those before them.
        """
        notes = []
        if translation.truncated:
            notes.append("The sentence was longer than the model reads: only its beginning was translated.")
        if not translation.finished:
            notes.append("The translation was cut off at its maximum length.")
        shown = translation if head is None else head
        source, target, weights = translation.source_words, translation.target_words, shown.attention
        if target and not weights.any():
            notes.append("This model attends to nothing.")
        if subwords:
            source, target = translation.source_subwords, translation.target_subwords
            weights = shown.subword_attention
        if head is not None:
            title = f"{title}, {head.name}" if title else head.name
            if head.part == "encoder":
                target = source
            elif head.part == "decoder":
                source = (BEGIN, *target)[: weights.shape[1]]
        return cls(source, target, weights.tolist(), title, reference, " ".join(notes) or None)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """A copy of the weights as an array."""
        try:
            matrix = np.asarray(self.weights, dtype=np.float64).copy()
        except (TypeError, ValueError) as error:
            raise AugenmerkError(
                f"{self._name}: the weights are not rows of equally many numbers ({error})."
            ) from error
        shape = len(self.target_words), len(self.source_words)
        # Without any rows, nested sequences have no number of columns.
        return np.zeros(shape) if matrix.size == 0 and 0 in shape else matrix

    @property
    def has_words(self) -> bool:
        """Whether there are words on both sides."""
        return bool(self.source_words and self.target_words)

    def check_size(self) -> None:
        """Raises AugenmerkError if the map has too many words to be drawn."""
        for side, words in (("source", self.source_words), ("target", self.target_words)):
            if len(words) > MAX_WORDS:
                raise AugenmerkError(
                    f"{self._name} has {len(words):,} {side} words; up to {MAX_WORDS} can be drawn."
                )

    @property
    def _name(self) -> str:
        return f"The attention map '{self.title}'" if self.title else "The attention map"


def clean_text(text: str) -> str:
    """Removes characters that cannot be seen or encoded, and turns line breaks into spaces."""
    visible = INVISIBLE.sub("", text).encode("utf-8", "replace").decode("utf-8")
    return " ".join(visible.split())


def format_word(word: str) -> str:
    """Returns a word as HTML shows it: cleaned, with a sign for the end of a sentence."""
    return END_SIGN if word == END else clean_text(word) or " "


def shorten_word(word: str) -> str:
    """Returns a word as pictures and the terminal show it: as `format_word`, but cut if it is too long."""
    return shorten_text(format_word(word))


def shorten_text(text: str) -> str:
    """Returns a text cut to `MAX_WORD_LENGTH` characters."""
    if len(text) <= MAX_WORD_LENGTH:
        return text
    kept = MAX_WORD_LENGTH - 1
    while kept > 1 and unicodedata.category(text[kept]).startswith("M"):
        kept -= 1  # an accent stays with its letter
    return text[:kept] + "…"


def format_weight(weight: float) -> str:
    """Returns a weight as it is written in a cell: `.83`, `1` if it rounds to one, nothing if it is small."""
    if weight < MIN_SHOWN_WEIGHT:
        return ""
    return "1" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0")
