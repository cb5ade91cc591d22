"""Token ids of many sentences as arrays, the plan of an epoch, and the batches that a model reads.

B sentences of a batch, S source positions, T target positions, end of sentence included in both. Padding is
always to the right. Every source ends in EOS, so that even an empty sentence has one position to attend to.

All arrays are numpy's until `to` moves them to a device; then they are tensors of torch.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array, namespace, to_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.text.pairs import SentencePair
from augenmerk.text.tokenizer import BOS, EOS, PAD, UNK

Integers = NDArray[np.int64]

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
"""The parts of a batch that are arrays."""


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
    def of(cls, sentences: Iterable[Sequence[int]]) -> Self:
        """Builds a table from sentences, which are ids without BOS and EOS, in four bytes per id."""
        growing = _GrowingTable()
        for sentence in sentences:
            growing.append(sentence)
        return cls(*growing.finish("Sentence"))

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: Any) -> Self:
        """Returns the table as tensors of torch on a device."""
        return replace(self, flat=to_device(self.flat, device), bounds=to_device(self.bounds, device))

    def rows(self, indices: Array, width: int) -> tuple[Array, Array]:
        """Returns the first `width` ids of some sentences, padded to (B, width), and their lengths (B)."""
        xp = namespace(indices)
        starts = self.bounds[indices]
        lengths = self.bounds[indices + 1] - starts
        columns = xp.arange(width, device=indices.device)
        inside = columns < lengths[:, None]
        places = xp.where(inside, starts[:, None] + columns, len(self.flat) - 1)
        return xp.asarray(self.flat[places], dtype=xp.int64), lengths

    def rows_with_eos(self, indices: Array, width: int) -> tuple[Array, Array, Array]:
        """Returns sentences with EOS, padded to (B, width), their mask, and their lengths with EOS (B)."""
        xp = namespace(indices)
        ids, lengths = self.rows(indices, width)
        columns = xp.arange(width, device=indices.device)
        ids = xp.where(columns == lengths[:, None], EOS, ids)
        return ids, columns <= lengths[:, None], lengths + 1


class _GrowingTable:
    """A table that grows while sentences are read, without lists of lists."""

    def __init__(self) -> None:
        self._flat = array("i")
        self._bounds = array("q", [0])

    def append(self, sentence: Sequence[int]) -> None:
        self._flat.extend(sentence)
        self._bounds.append(len(self._flat))

    def finish(self, kind: str) -> tuple[NDArray[np.int32], Integers, Integers]:
        self._flat.append(PAD)
        flat, bounds = np.frombuffer(self._flat, np.int32), np.frombuffer(self._bounds, np.int64)
        # BOS and EOS are refused too, because a caller who adds them would have them twice.
        if (misplaced := np.flatnonzero(flat[:-1] < UNK)).size:
            sentence = np.searchsorted(bounds, misplaced[0], side="right") - 1
            raise AugenmerkError(
                f"{kind} {sentence} (counted from 0) holds the id {flat[misplaced[0]]}, but words have "
                f"ids from {UNK} on: padding, BOS and EOS are added when batches are made."
            )
        return flat, bounds, np.diff(bounds)


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
        source, target = _GrowingTable(), _GrowingTable()
        for source_ids, target_ids in pairs:
            source.append(source_ids)
            target.append(target_ids)
        return cls(
            TokenTable(*source.finish("Source sentence")), TokenTable(*target.finish("Target sentence"))
        )

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
        exact_source_length: bool = False,
        round_to: int = 1,
        max_positions: int = MAX_POSITIONS,
    ) -> list[PlannedBatch]:
        """Plans an epoch: every pair is in exactly one batch, together with pairs of similar lengths.

        shuffle: batches and their order are random, as a function of (seed, epoch, window) alone; otherwise
            sorted by length, for evaluation.
        window: which part of the epoch these pairs are, if it is divided (see `augenmerk.data.corpus`).
        exact_source_length: all sources in a batch have the same length. Then the last batch of each length
            is not full.
        round_to: widths are multiples of this, so that there are few shapes; but not the source width with
            `exact_source_length`, which has no source padding.
        max_positions: a batch has fewer than `batch_size` pairs if B·(S + T) would exceed this; a pair that
            exceeds it alone is a batch by itself.
        """
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("round_to", round_to, 1),
            ("max_positions", max_positions, 1),
            ("seed", seed, 0),
            ("epoch", epoch, 0),
            ("window", window, 0),
        ):
            if value < least:
                raise AugenmerkError(f"{name} is {value}, but must be at least {least}.")
        source = _round_up(self.source.lengths + 1, 1 if exact_source_length else round_to)
        target = _round_up(self.target.lengths + 1, round_to)
        key = (epoch, window) if window else (epoch,)
        rng = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)) if shuffle else None

        order = _length_order(source, target, exact_source_length, rng)
        source, target = source[order], target[order]
        changes = (np.flatnonzero(np.diff(source)) + 1).tolist() if exact_source_length else []
        batches = [
            self.planned(order[part], 1 if exact_source_length else round_to, round_to)
            for section in pairwise([0, *changes, len(order)])
            for part in _cut(source, target, section, batch_size, max_positions, rng)
        ]
        return batches if rng is None else [batches[i] for i in _permutation(len(batches), rng)]

    def planned(self, indices: Integers, round_source: int = 1, round_target: int = 1) -> PlannedBatch:
        """Plans a batch of the given pairs, as wide as the longest."""
        source, target = self.source.lengths[indices] + 1, self.target.lengths[indices] + 1
        return PlannedBatch(
            indices,
            _round_up(int(source.max()), round_source),
            _round_up(int(target.max()), round_target),
            int(target.sum()),
        )

    def batches(self, plan: Sequence[PlannedBatch]) -> Iterator[Batch]:
        """Yields the planned batches, on the device of the data."""
        for planned, indices in self.with_indices(plan):
            yield self.collate(planned, indices)

    def with_indices(self, plan: Sequence[PlannedBatch]) -> Iterator[tuple[PlannedBatch, Array]]:
        """Yields the planned batches, each with its indices on the device of the data."""
        if not plan:
            return
        # One transfer for the whole plan, so that on a GPU a batch costs the host only kernel launches.
        order = np.concat([planned.indices for planned in plan])
        order = namespace(self.source.flat).asarray(order, device=self.source.flat.device)
        stop = 0
        for planned in plan:
            start, stop = stop, stop + len(planned.indices)
            yield planned, order[start:stop]

    def collate(self, planned: PlannedBatch, indices: Array) -> Batch:
        """Returns a planned batch, given its indices on the device of the data."""
        src, src_mask, src_lengths = self.source.rows_with_eos(indices, planned.source_width)
        tgt_out, tgt_mask, _ = self.target.rows_with_eos(indices, planned.target_width)
        xp = namespace(tgt_out)
        shifted = xp.concat([xp.full_like(tgt_out[:, :1], BOS), tgt_out[:, :-1]], 1)
        return Batch(
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


def _length_order(
    source: Integers, target: Integers, exact_source_length: bool, rng: "np.random.PCG64 | None"
) -> Integers:
    """Sorts all pairs by source bucket, then by target bucket, then at random.

    Target lengths rise in one source bucket and fall in the next, so that a batch across two buckets does not
    combine the longest targets with the shortest.
    """
    bucket_width = 1 if rng is None else BUCKET_WIDTH
    source_bucket = source if exact_source_length else -(-source // bucket_width)
    target_bucket = -(-target // bucket_width)
    serpentine_bucket = np.where(source_bucket % 2 == 1, -target_bucket, target_bucket)
    last_key = np.arange(len(source)) if rng is None else rng.random_raw(len(source))
    return np.lexsort((last_key, serpentine_bucket, source_bucket))


def _cut(
    source: Integers,
    target: Integers,
    section: tuple[int, int],
    batch_size: int,
    max_positions: int,
    rng: "np.random.PCG64 | None",
) -> Iterator[slice]:
    """Yields consecutive slices of a section, limited by `batch_size` and `max_positions`."""
    start, end = section
    full, rest = divmod(end - start, batch_size)
    # The batch that is not full has a random place; otherwise it would always have the longest sentences.
    place_of_rest = full if rng is None else int(rng.random_raw()) % (full + 1)
    number = 0
    while start < end:
        size = rest if rest and number == place_of_rest else batch_size
        stop = min(start + size, end)
        widths = np.maximum.accumulate(source[start:stop]) + np.maximum.accumulate(target[start:stop])
        positions = widths * np.arange(1, len(widths) + 1)
        stop = start + max(1, int(np.searchsorted(positions, max_positions, side="right")))
        yield slice(start, stop)
        start, number = stop, number + 1


def _permutation(count: int, rng: "np.random.PCG64") -> Integers:
    """Returns a random permutation made from raw bits.

    numpy promises that these never change between versions, but not so for `Generator.permutation`.
    """
    return np.argsort(rng.random_raw(count), kind="stable")


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
