"""Detects text that is unlike anything a model learnt from, which it translates all the same, but badly.

Training counts how often each source token occurs. A sentence has two measures, both mean log-probabilities
under these counts: over its tokens, which is low for words of another language that the vocabulary happens to
have (as a joint vocabulary has those of the target language); and over its words between spaces, which is low
where words fall into many small pieces. A sentence is unfamiliar if one of the two is lower than in all but
`RARE` of the training sentences. These thresholds come from half of the sentences, with counts of the other
half, so that they allow for the tokens that every new text has.

How often this is right is in docs/results.md. A language whose words look like those of the source language
may pass. Without counts, as in runs of earlier versions, only characters and words that the vocabulary lacks
are noticed.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augenmerk.text.tokenizer import UNK, Tokenizer

RARE = 0.001
"""The share of training sentences that are less familiar than the thresholds."""
MAX_COUNTED_SENTENCES = 20_000
"""The most training sentences that are counted: more would hardly change the thresholds."""
SMOOTHING = 0.5
"""Added to every count, for tokens that training did not have."""

Reason = Literal["characters", "unknown words", "rare words"]
REASONS: dict[Reason, str] = {
    "characters": "characters that the model never learnt",
    "unknown words": "mostly words that the model does not know",
    "rare words": "words, or pieces of words, that the model hardly ever saw",
}
"""What makes a sentence unfamiliar, in words."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Familiarity:
    """Judges sentences by what a source tokenizer knows and, if given, what `learn_familiarity` returned."""

    def __init__(self, tokenizer: Tokenizer, learnt: Mapping[str, Any] | None = None) -> None:
        """Raises KeyError, TypeError or ValueError if what was learnt does not belong to the tokenizer."""
        single = [len(raw) == 1 and not raw.isascii() for raw in tokenizer.bytes]
        # A single byte of a character appears where the vocabulary has nothing larger.
        self._is_byte = np.array(single or [False] * tokenizer.size)
        self._starts_word = _find_word_starts(tokenizer)
        self._log_probabilities: Floats | None = None
        if learnt is not None:
            if len(learnt["counts"]) != tokenizer.size:
                raise ValueError(
                    f"it has {len(learnt['counts']):,} counts for {tokenizer.size:,} source tokens"
                )
            self._log_probabilities = _estimate(np.array(learnt["counts"], np.float64))
            self._thresholds = np.array([learnt["per_token"], learnt["per_word"]], np.float64)

    def judge(self, sentences: Sequence[Sequence[int]]) -> list[Reason | None]:
        """Returns, for sentences as ids, why each is unfamiliar; None for one that is not, or is empty."""
        reasons: list[Reason | None] = [None] * len(sentences)
        spoken = [index for index, ids in enumerate(sentences) if ids]
        if not spoken:
            return reasons
        flat, starts = _flatten([sentences[index] for index in spoken])
        lengths = np.diff([*starts, len(flat)])
        strange, unknown = (
            np.add.reduceat(marked.astype(np.float64), starts) / lengths > 0.5
            for marked in (self._is_byte[flat], flat == UNK)
        )
        unfamiliar = strange | unknown
        if self._log_probabilities is not None:
            measures = _measure(flat, starts, self._log_probabilities, self._starts_word)
            unfamiliar = np.asarray((measures < self._thresholds).any(1))
        for i in unfamiliar.nonzero()[0].tolist():
            reasons[spoken[i]] = (
                "characters" if strange[i] else "unknown words" if unknown[i] else "rare words"
            )
        return reasons


def learn_familiarity(tokenizer: Tokenizer, sentences: Iterable[Sequence[int]]) -> dict[str, Any] | None:
    """Counts the tokens of training sentences, `MAX_COUNTED_SENTENCES` at most.

    Returns plain data for JSON, or None if there are too few.
    """
    encoded = [ids for ids in sentences if ids]
    if len(encoded) < 2:
        return None
    halves = [_flatten(encoded[half::2]) for half in (0, 1)]
    known, new = (np.bincount(flat, minlength=tokenizer.size).astype(np.float64) for flat, _ in halves)
    measures = _measure(*halves[1], _estimate(known), _find_word_starts(tokenizer))
    per_token, per_word = np.quantile(measures, RARE, axis=0, method="lower").tolist()
    return {
        "sentences": len(encoded),
        "per_token": round(per_token, 4),
        "per_word": round(per_word, 4),
        "counts": (known + new).astype(int).tolist(),
    }


def _estimate(counts: Floats) -> Floats:
    """Returns the log-probability of each token; an unknown word is as rare as one that never occurred."""
    smoothed = counts + SMOOTHING
    smoothed[UNK] = SMOOTHING
    return np.asarray(np.log(smoothed / smoothed.sum()))


def _measure(
    flat: Integers, starts: Integers, log_probabilities: Floats, starts_word: NDArray[np.bool_]
) -> Floats:
    """Returns the log-probability of each sentence per token and per word, (sentences, 2)."""
    sums = np.add.reduceat(log_probabilities[flat], starts)
    words = np.add.reduceat(starts_word[flat].astype(np.float64), starts)
    return np.stack([sums / np.diff([*starts, len(flat)]), sums / np.maximum(words, 1)], axis=1)


def _flatten(sentences: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """Returns the ids of all sentences, none of which is empty, and where each sentence starts."""
    lengths = np.array([len(ids) for ids in sentences], np.int64)
    return np.fromiter(chain.from_iterable(sentences), np.int64), np.cumsum(lengths) - lengths


def _find_word_starts(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    starts = [raw.startswith(b" ") for raw in tokenizer.bytes]
    return np.array(starts or [True] * tokenizer.size)
