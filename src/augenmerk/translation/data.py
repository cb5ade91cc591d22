"""A translation as data: the command line prints it, the server answers with it, and pages store it.

The API's description lists its keys with the text below each.
"""

from typing import Required, TypedDict

from augenmerk.text.batching import Reason

Rows = list[list[float]]


class Unfamiliar(TypedDict):
    """Why a text is unlike anything the model learnt from."""

    reason: Reason
    in_words: str


class Uncovered(TypedDict):
    """The part of a source that its translation probably leaves out."""

    text: str
    in_words: str


class HeadData(TypedDict, total=False):
    """The attention of one head."""

    layer: int
    """Counted from 1; only of a Transformer."""
    head: Required[int | None]
    attention: Required[Rows]
    subword_attention: Rows


class WordsData(TypedDict, total=False):
    """The words of a pair and what each of them looks at; only if that was asked for."""

    source_words: list[str]
    target_words: list[str]
    word_log_probabilities: list[float]
    attention: Rows
    """Target words x source words."""
    attentions: dict[str, list[list[Rows]]]
    """Of a Transformer: part, layer, head, rows."""
    heads: list[HeadData]


class AttentionData(WordsData, total=False):
    """The same, with subwords if they were asked for."""

    source_subwords: list[str]
    target_subwords: list[str]
    subword_attention: Rows


class PairData(WordsData):
    """What a translation and a scored pair have in common."""

    source: str
    log_probability: float
    truncated: bool
    """Whether the source was too long, and only its beginning was read."""
    uncovered: Uncovered | None
    """What the target probably leaves out."""


class TranslationData(PairData, AttentionData, total=False):
    """A translation. Words and attention only if they were asked for; those of a text are in `sentences`."""

    translation: Required[str]
    score: Required[float]
    """log_probability / length**length_penalty."""
    finished: Required[bool]
    """Whether it ended before its maximum length."""
    unfamiliar: Unfamiliar | None
    expected_chrf: float
    """Only with mbr."""
    alternatives: list["TranslationData"]
    """The next best."""
    sentences: list["TranslationData"]
    """Only if the text has several; its numbers are their sums and means."""
