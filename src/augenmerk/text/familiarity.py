"""Tells text that is unlike anything a model learnt from, which it translates all the same, but badly.

Training counts how often each source token occurs. A sentence has two measures, both mean log-probabilities
under these counts: over its tokens, which is low for words of another language that the vocabulary happens to
have (as a joint vocabulary has those of the target language); and over its words between spaces, which is low
where words fall into many small pieces. A sentence is unfamiliar if one of the two is lower than in all but
`RARE` of the training sentences. These thresholds come from half of the sentences, with counts of the other
half, so that they allow for the tokens that every new text has.

How often this is right is in docs/results.md. A language whose words look like those of the source
language may pass.

A run from before this was counted knows only which characters and words its vocabulary lacks.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.text.tokenizer import UNK, Tokenizer

RARE = 0.001
MAX_SENTENCES = 20_000
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


class Familiarity:
    """Judges sentences by what a source tokenizer knows and, if it is given, by what `learn` returned."""

    def __init__(self, tokenizer: Tokenizer, learnt: Mapping[str, Any] | None = None) -> None:
        """Raises AugenmerkError if what was learnt does not belong to the tokenizer."""
        self._is_byte = np.array([len(raw) == 1 and not raw.isascii() for raw in tokenizer.bytes], bool)
        self._starts_word = _find_word_starts(tokenizer)
        self._log_probabilities: Floats | None = None
        if learnt is not None:
            if len(learnt["counts"]) != tokenizer.size:
                raise AugenmerkError(
                    f"Of {tokenizer.size:,} source tokens, {len(learnt['counts']):,} are counted; "
                    f"remove familiarity.json from the run, or train it again."
                )
            self._log_probabilities = _estimate(np.array(learnt["counts"], np.float64))
            self._thresholds = np.array([learnt["per_token"], learnt["per_word"]], np.float64)

    @classmethod
    def of_run(cls, tokenizer: Tokenizer, learnt: Mapping[str, Any] | None, place: object) -> Self:
        """Returns the familiarity of a run; raises AugenmerkError, which names `place`, if it is damaged."""
        try:
            return cls(tokenizer, learnt)
        except (KeyError, TypeError, ValueError) as error:
            raise AugenmerkError(f"{place}: familiarity.json is damaged ({error!r}); remove it.") from None

    def judge(self, sentences: Sequence[Sequence[int]]) -> list[Reason | None]:
        """Returns, for sentences as ids, why each is unfamiliar; None for one that is not, or is empty."""
        reasons: list[Reason | None] = [None] * len(sentences)
        spoken = [index for index, ids in enumerate(sentences) if ids]
        if not spoken:
            return reasons
        flat, starts = _flatten([sentences[index] for index in spoken])
        lengths = np.diff([*starts, len(flat)])
        strange, unknown = (
            np.add.reduceat(marked, starts) / lengths > 0.5
            for marked in (self._mark_bytes(flat), (flat == UNK).astype(np.float64))
        )
        if self._log_probabilities is None:
            unfamiliar = strange | unknown
        else:
            measures = _measure(flat, starts, self._log_probabilities, self._starts_word)
            unfamiliar = np.asarray((measures < self._thresholds).any(1))
        for place in unfamiliar.nonzero()[0].tolist():
            reasons[spoken[place]] = (
                "characters" if strange[place] else "unknown words" if unknown[place] else "rare words"
            )
        return reasons

    def _mark_bytes(self, flat: NDArray[np.int64]) -> Floats:
        """Marks single bytes of characters, which stand where the vocabulary has nothing larger."""
        return self._is_byte[flat].astype(np.float64) if len(self._is_byte) else np.zeros(len(flat))


def learn(tokenizer: Tokenizer, sources: Iterable[str]) -> dict[str, Any] | None:
    """Counts the tokens of training sentences; returns plain data for JSON, or None if there are too few."""
    return learn_from_ids(tokenizer, tokenizer.encode_ids(list(islice(sources, MAX_SENTENCES))))


def learn_from_ids(tokenizer: Tokenizer, sentences: Iterable[Sequence[int]]) -> dict[str, Any] | None:
    """Does what `learn` does, with sentences that are ids already, `MAX_SENTENCES` at most."""
    encoded = [ids for ids in sentences if ids]
    if len(encoded) < 2:
        return None
    starts_word = _find_word_starts(tokenizer)
    known = _count(encoded[::2], tokenizer.size)
    thresholds = np.quantile(
        _measure(*_flatten(encoded[1::2]), _estimate(known), starts_word), RARE, axis=0, method="lower"
    )
    return {
        "sentences": len(encoded),
        "per_token": round(float(thresholds[0]), 4),
        "per_word": round(float(thresholds[1]), 4),
        "counts": _count(encoded, tokenizer.size).astype(int).tolist(),
    }


def _count(sentences: Sequence[Sequence[int]], size: int) -> Floats:
    return np.bincount(_flatten(sentences)[0], minlength=size).astype(np.float64)


def _estimate(counts: Floats) -> Floats:
    """Returns the log-probability of each token; an unknown word is as rare as one that never occurred."""
    smoothed = counts + SMOOTHING
    smoothed[UNK] = SMOOTHING
    return np.asarray(np.log(smoothed / smoothed.sum()))


def _measure(
    flat: NDArray[np.int64],
    starts: NDArray[np.int64],
    log_probabilities: Floats,
    starts_word: NDArray[np.bool_],
) -> Floats:
    """Returns the log-probability of each sentence per token and per word, (sentences, 2)."""
    sums = np.add.reduceat(log_probabilities[flat], starts)
    words = np.add.reduceat(starts_word[flat].astype(np.float64), starts)
    return np.stack([sums / np.diff([*starts, len(flat)]), sums / np.maximum(words, 1)], axis=1)


def _flatten(sentences: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the ids of all sentences, none of which is empty, and where each sentence starts."""
    flat = np.concatenate([np.asarray(ids, np.int64) for ids in sentences])
    lengths = np.array([len(ids) for ids in sentences], np.int64)
    return flat, np.cumsum(lengths) - lengths


def _find_word_starts(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    if not tokenizer.is_bpe:
        return np.ones(tokenizer.size, bool)
    return np.array([raw.startswith(b" ") for raw in tokenizer.bytes], bool)
