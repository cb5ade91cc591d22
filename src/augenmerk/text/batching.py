"""Token ids of many sentences as arrays, the plan of an epoch, and the batches that a model reads.

B sentences of a batch, S source positions, T target positions, end of sentence included in both. Padding is
always to the right. Every source ends in EOS, so that even an empty sentence has one position to attend to.

All arrays are numpy's until `to` moves them to a device; then they are tensors of torch.

`Familiarity` detects text that is unlike anything a model learnt from, which it translates all the same, but
badly. Training counts how often each source token occurs. A sentence has two measures, both mean
log-probabilities under these counts: over its tokens, which is low for words of another language that the
vocabulary happens to have (as a joint vocabulary has those of the target language); and over its words
between spaces, which is low where words fall into many small pieces. A sentence is unfamiliar if one of the
two is lower than in all but `RARE` of the training sentences. These thresholds come from half of the
sentences, with counts of the other half, so that they allow for the tokens that every new text has.
docs/lab/2026-11-15-attention.md tells how often this is right. A language whose words look like those of the
source language may pass. Without counts, as in runs of earlier versions, only characters and words that the
vocabulary lacks are noticed.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array, namespace, to_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.text.pairs import SentencePair
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

BUCKET_WIDTH = 2
"""How many neighbouring lengths share a bucket, within which sentences are shuffled. Wider buckets mix better
from epoch to epoch; narrower ones save padding."""

MAX_POSITIONS = 65_536
"""Limits the memory of a batch. It is enough for 512 pairs of 64 + 64 tokens."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentence pairs as padded arrays; ids are int64, masks are True on real tokens."""

    src: Array  # (B, S) words, EOS
    src_mask: Array  # (B, S)
    src_lengths: Array  # (B) EOS included
    tgt_in: Array  # (B, T) BOS, words
    tgt_out: Array  # (B, T) words, EOS
    tgt_mask: Array  # (B, T) for both
    indices: Array  # (B) which pairs of the data these are
    target_tokens: int  # real tokens of tgt_out, counted on the host to avoid waiting for a GPU

    def part(self, number: int, parts: int) -> Self | None:
        """Returns one of several parts of the batch, of every few pairs one; None if it would be empty.

        Its `target_tokens` are those of the whole batch.
        """
        if number >= len(self.src):
            return None
        return replace(self, **{name: getattr(self, name)[number::parts] for name in _ARRAYS})

    def to(self, device: Any) -> Self:
        """Returns the batch as tensors of torch on a device."""
        return replace(self, **{name: to_device(getattr(self, name), device) for name in _ARRAYS})


_ARRAYS = ("src", "src_mask", "src_lengths", "tgt_in", "tgt_out", "tgt_mask", "indices")
"""The fields of a batch that are arrays."""


class PlannedBatch(NamedTuple):
    """The pairs of a batch and its widths S and T, so that all shapes are known in advance."""

    indices: Integers
    source_width: int
    target_width: int
    target_tokens: int
    """The number of real target tokens, ends of sentences included."""


@dataclass(frozen=True, eq=False)
class TokenTable:
    """Many sentences in two arrays, so that a batch is collated by indexing alone, on any device."""

    flat: Array  # int32: all sentences one after another, then one PAD, which all padding is read from
    bounds: Array  # int64: sentence i is flat[bounds[i] : bounds[i + 1]]
    lengths: Integers  # stays on the host, where epochs are planned

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> "TokenTable":
        """Builds a table from sentences, which are ids without BOS and EOS, in four bytes per id."""
        [table] = _make_tables(((sentence,) for sentence in sentences), ["Sentence"])
        return table

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: Any) -> Self:
        """Returns the table as tensors of torch on a device."""
        return replace(self, flat=to_device(self.flat, device), bounds=to_device(self.bounds, device))

    def rows(self, indices: Array, width: int) -> tuple[Array, Array, Array]:
        """Returns sentences with EOS, padded to (B, width), their mask, and their lengths with EOS (B)."""
        xp = namespace(indices)
        starts = self.bounds[indices]
        lengths = self.bounds[indices + 1] - starts
        columns = xp.arange(width, device=indices.device)
        positions = xp.where(columns < lengths[:, None], starts[:, None] + columns, len(self.flat) - 1)
        ids = xp.asarray(self.flat[positions], dtype=xp.int64)
        ids = xp.where(columns == lengths[:, None], EOS, ids)
        return ids, columns <= lengths[:, None], lengths + 1


def _make_tables(rows: Iterable[Sequence[Sequence[int]]], kinds: Sequence[str]) -> list[TokenTable]:
    """Builds a table of each column of rows of sentences, without lists of lists."""
    flats, bounds = [array("i") for _ in kinds], [array("q", [0]) for _ in kinds]
    for row in rows:
        for flat, bound, sentence in zip(flats, bounds, row, strict=True):
            flat.extend(sentence)
            bound.append(len(flat))
    tables = []
    for kind, flat, bound in zip(kinds, flats, bounds, strict=True):
        flat.append(PAD)
        ids, ends = np.frombuffer(flat, np.int32), np.frombuffer(bound, np.int64)
        # BOS and EOS are refused too, because a caller who adds them would have them twice.
        if (misplaced := np.flatnonzero(ids[:-1] < UNK)).size:
            sentence_number = np.searchsorted(ends, misplaced[0], side="right") - 1
            raise AugenmerkError(
                f"{kind} {sentence_number} (counted from 0) holds the id {ids[misplaced[0]]}, but words have "
                f"ids from {UNK} on: padding, BOS and EOS are added when batches are made."
            )
        tables.append(TokenTable(ids, ends, np.diff(ends)))
    return tables


@dataclass(frozen=True, eq=False)
class ParallelTokens:
    """Source and target sentences in pairs.

    Sentences to be translated have empty targets, so that `tgt_in` is BOS alone.
    """

    source: TokenTable
    target: TokenTable

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise AugenmerkError(
                f"There are {len(self.source)} source sentences but {len(self.target)} target sentences; "
                f"every source needs exactly one target."
            )
        if not len(self.source):
            raise AugenmerkError("There are no sentence pairs; batches need at least one.")

    @classmethod
    def of(cls, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Self:
        """Builds both tables from pairs of sentences, which are ids without BOS and EOS."""
        return cls(*_make_tables(pairs, ["Source sentence", "Target sentence"]))

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: Any) -> Self:
        """Returns the pairs as tensors of torch on a device."""
        return replace(self, source=self.source.to(device), target=self.target.to(device))

    def plan(
        self,
        batch_size: int,
        *,
        shuffle: bool = True,
        seed: int = 0,
        epoch: int = 0,
        window: int = 0,
        round_to: int = 1,
    ) -> list[PlannedBatch]:
        """Plans an epoch: every pair is in exactly one batch, together with pairs of similar lengths.

        shuffle: batches and their order are random, as a function of (seed, epoch, window) alone; otherwise
            sorted by length, for evaluation.
        window: which part of the epoch these pairs are, if it is divided (see `augenmerk.data.corpus`).
        round_to: widths are multiples of this, so that there are few shapes.

        A batch has fewer than `batch_size` pairs if B·(S + T) would exceed `MAX_POSITIONS`; a pair that
        exceeds it alone has its own batch.
        """
        source, target = (_round_up(side.lengths + 1, round_to) for side in (self.source, self.target))
        key = (epoch, window) if window else (epoch,)
        rng = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)) if shuffle else None
        order = _length_order(source, target, rng)
        parts = _cut(source[order], target[order], batch_size, rng)
        batches = [self.planned(order[part], round_to) for part in parts]
        if rng is None:
            return batches
        # numpy promises that raw bits never change between versions, but not so for `Generator.permutation`.
        return [batches[i] for i in np.argsort(rng.random_raw(len(batches)), kind="stable")]

    def planned(self, indices: Integers, round_to: int = 1) -> PlannedBatch:
        """Plans a batch of the given pairs, as wide as the longest."""
        source, target = self.source.lengths[indices] + 1, self.target.lengths[indices] + 1
        source_width, target_width = (_round_up(int(side.max()), round_to) for side in (source, target))
        return PlannedBatch(indices, source_width, target_width, int(target.sum()))

    def batches(self, plan: Sequence[PlannedBatch]) -> Iterator[Batch]:
        """Yields the planned batches, on the device of the data."""
        if not plan:
            return
        # One transfer for the whole plan, so that on a GPU a batch costs the host only kernel launches.
        order = np.concat([planned.indices for planned in plan])
        xp = namespace(self.source.flat)
        order = xp.asarray(order, device=self.source.flat.device)
        stop = 0
        for planned in plan:
            start, stop = stop, stop + len(planned.indices)
            indices = order[start:stop]
            src, src_mask, src_lengths = self.source.rows(indices, planned.source_width)
            tgt_out, tgt_mask, _ = self.target.rows(indices, planned.target_width)
            shifted = xp.concat([xp.full_like(tgt_out[:, :1], BOS), tgt_out[:, :-1]], 1)
            yield Batch(
                src=src,
                src_mask=src_mask,
                src_lengths=src_lengths,
                tgt_in=xp.where(tgt_mask, shifted, PAD),  # removes the EOS of shorter targets
                tgt_out=tgt_out,
                tgt_mask=tgt_mask,
                indices=indices,
                target_tokens=planned.target_tokens,
            )


_Length = TypeVar("_Length", int, Integers)


def _round_up(lengths: _Length, multiple: int) -> _Length:
    return -(-lengths // multiple) * multiple


def _length_order(source: Integers, target: Integers, rng: "np.random.PCG64 | None") -> Integers:
    """Sorts all pairs by source bucket, then by target bucket, then at random.

    Target lengths rise in one source bucket and fall in the next, so that a batch across two buckets does not
    combine the longest targets with the shortest.
    """
    bucket_width = 1 if rng is None else BUCKET_WIDTH
    source_bucket, target_bucket = -(-source // bucket_width), -(-target // bucket_width)
    serpentine_bucket = np.where(source_bucket % 2 == 1, -target_bucket, target_bucket)
    last_key = np.arange(len(source)) if rng is None else rng.random_raw(len(source))
    return np.lexsort((last_key, serpentine_bucket, source_bucket))


def _cut(
    source: Integers, target: Integers, batch_size: int, rng: "np.random.PCG64 | None"
) -> Iterator[slice]:
    """Yields consecutive slices of the pairs, limited by `batch_size` and `MAX_POSITIONS`."""
    full, rest = divmod(len(source), batch_size)
    # The batch that is not full has a random number; otherwise it would always have the longest sentences.
    number_of_rest = full if rng is None else int(rng.random_raw()) % (full + 1)
    start = number = 0
    while start < len(source):
        size = rest if rest and number == number_of_rest else batch_size
        part = slice(start, start + size)
        widths = np.maximum.accumulate(source[part]) + np.maximum.accumulate(target[part])
        positions = widths * np.arange(1, len(widths) + 1)
        stop = start + max(1, int(np.searchsorted(positions, MAX_POSITIONS, side="right")))
        yield slice(start, stop)
        start, number = stop, number + 1


CHUNK = 10_000
"""The number of pairs that are encoded together."""

Encoder = Callable[[Sequence[str]], list[list[int]]]
"""Turns texts into ids: `Tokenizer.encode_ids`, or a subword sampler."""


def encode_pairs(
    pairs: Iterable[SentencePair], source: Encoder, target: Encoder, max_length: int | None = None
) -> ParallelTokens:
    """Encodes pairs, leaving out those with more than `max_length` tokens on a side.

    Raises AugenmerkError if none is left.
    """

    def encoded() -> Iterator[tuple[list[int], list[int]]]:
        iterator, read, kept = iter(pairs), 0, 0
        while chunk := list(islice(iterator, CHUNK)):
            sources = source([pair.source for pair in chunk])
            targets = target([pair.target for pair in chunk])
            for source_ids, target_ids in zip(sources, targets, strict=True):
                read += 1
                if max_length is None or max(len(source_ids), len(target_ids)) <= max_length:
                    kept += 1
                    yield source_ids, target_ids
        if read and not kept:
            raise AugenmerkError(
                f"Nothing is left to train on: each of the {read:,} pairs has more than {max_length} tokens "
                f"on a side (data.max_length)."
            )

    return ParallelTokens.of(encoded())


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
                raise ValueError(f"{len(learnt['counts']):,} counts for {tokenizer.size:,} source tokens")
            self._log_probabilities = _estimate(np.array(learnt["counts"], np.float64))
            self._thresholds = np.array([learnt["per_token"], learnt["per_word"]], np.float64)

    def judge(self, sentences: Sequence[Sequence[int]]) -> list[Reason | None]:
        """Returns, for sentences as ids, why each is unfamiliar; None for one that is not, or is empty."""
        reasons: list[Reason | None] = [None] * len(sentences)
        spoken = [index for index, ids in enumerate(sentences) if ids]
        if not spoken:
            return reasons
        table = TokenTable.of(sentences[index] for index in spoken)
        flat = table.flat[:-1]
        strange, unknown = (
            _add_up(marked, table) / table.lengths > 0.5 for marked in (self._is_byte[flat], flat == UNK)
        )
        unfamiliar = strange | unknown
        if self._log_probabilities is not None:
            measures = _measure(table, self._log_probabilities, self._starts_word)
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
    halves = [TokenTable.of(encoded[half::2]) for half in (0, 1)]
    known, new = (np.bincount(half.flat[:-1], minlength=tokenizer.size) for half in halves)
    measures = _measure(halves[1], _estimate(known), _find_word_starts(tokenizer))
    per_token, per_word = np.quantile(measures, RARE, axis=0, method="lower").tolist()
    return {
        "sentences": len(encoded),
        "per_token": round(per_token, 4),
        "per_word": round(per_word, 4),
        "counts": (known + new).tolist(),
    }


def _estimate(counts: NDArray[Any]) -> Floats:
    """Returns the log-probability of each token; an unknown word is as rare as one that never occurred."""
    smoothed = counts + SMOOTHING
    smoothed[UNK] = SMOOTHING
    return np.asarray(np.log(smoothed / smoothed.sum()))


def _measure(table: TokenTable, log_probabilities: Floats, starts_word: NDArray[np.bool_]) -> Floats:
    """Returns the log-probability of each sentence per token and per word, (sentences, 2)."""
    flat = table.flat[:-1]
    sums, words = _add_up(log_probabilities[flat], table), _add_up(starts_word[flat], table)
    return np.stack([sums / table.lengths, sums / np.maximum(words, 1)], axis=1)


def _add_up(values: NDArray[Any], table: TokenTable) -> Floats:
    """Returns the sum over each sentence, none of which is empty, of a value for each token of the table."""
    return np.add.reduceat(values.astype(np.float64), table.bounds[:-1])


def _find_word_starts(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    starts = [raw.startswith(b" ") for raw in tokenizer.bytes]
    return np.array(starts or [True] * tokenizer.size)
