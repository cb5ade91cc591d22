"""The training pairs of a prepared corpus, read a window at a time, so that memory does not grow with them.

A shard is a safetensors file with the ids and the lengths of the sentences of both sides. An epoch is a
sequence of windows: the blocks, which are fixed runs of pairs, are permuted, and each window is the next few
of them. Inside a window, pairs are shuffled as in any other data (`ParallelTokens.plan`). All of it follows
from (seed, epoch), so a run can go on from the middle of a window, and a corpus that fits into one window is
trained on as if it were text.
"""

import hashlib
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays

from augenmerk.base.config import RunConfig, TextConfig
from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    check_format,
    digest_file,
    explain_read_errors,
    parse_object,
    read_bytes,
    read_text,
)
from augenmerk.base.settings import format_setting
from augenmerk.data import PairsSum, files
from augenmerk.text.batching import Integers, ParallelTokens, TokenTable
from augenmerk.text.pairs import Bitext, LazySplit, SentencePair
from augenmerk.text.tokenizer import PAD, TokenizerPair

BLOCK = 8_192
"""Pairs that stay together, except for shuffling inside of a window."""
WINDOW = 131_072
"""The most pairs that are in memory at a time; about 16 MB of ids."""


class Side(NamedTuple):
    """The sentences of one side: their ids, one sentence after another, and their lengths."""

    ids: NDArray[Any]
    lengths: NDArray[Any]

    def part(self, start: int, stop: int) -> "Side":
        """Returns the sentences from number `start` to before number `stop`."""
        first = int(self.lengths[:start].sum(dtype=np.int64))
        end = first + int(self.lengths[start:stop].sum(dtype=np.int64))
        return Side(self.ids[first:end], self.lengths[start:stop])


class Shard(NamedTuple):
    """The entry of a shard in prepared.json."""

    name: str
    pairs: int
    source_tokens: int
    target_tokens: int
    sha256: str


def plan_windows(pairs: int, seed: int, epoch: int, *, block: int, window: int) -> list[Integers]:
    """Returns the numbers of the blocks in each window of an epoch; every block is in exactly one.

    Windows differ by one block at most. A window has its blocks in the order of the corpus, so the only
    window of a small corpus is the whole corpus as it stands.
    """
    # A key that no plan of an epoch or of a window has, see `ParallelTokens.plan`.
    rng = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(epoch, 0)))
    order = np.argsort(rng.random_raw(math.ceil(pairs / block)), kind="stable")
    return [np.sort(part) for part in np.array_split(order, math.ceil(len(order) / max(1, window // block)))]


class PreparedCorpus:
    """The training pairs in a folder that `augenmerk.data.prepare` wrote."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder = folder
        with explain_read_errors(folder):
            self.pairs = int(about["pairs"])
            self.text = TextConfig.model_validate(about["settings"]["text"])
            """The settings of the vocabulary."""
            self.max_length = int(about["settings"]["max_length"])
            """The most tokens that a sentence was allowed to have."""
            self.longest = int(about["longest"])
            """The most tokens that a sentence has."""
            self.left_out: dict[str, int] = dict(about["left_out"])
            """How many pairs were left out for each reason."""
            self.unknown = (
                about["unknown_source"] / max(1, about["source_tokens"]),
                about["unknown_target"] / max(1, about["target_tokens"]),
            )
            """The shares of unknown words, source and target."""
            self._vocabulary: dict[str, str] = dict(about["vocabulary"])
            self._shards = [Shard(*(entry[name] for name in Shard._fields)) for entry in about["shards"]]
        self._starts = list(accumulate((shard.pairs for shard in self._shards), initial=0))
        digests = "".join(shard.sha256 for shard in self._shards)
        self.sha256 = hashlib.sha256(digests.encode()).hexdigest()
        """A checksum of all pairs."""
        self._verified: dict[str, tuple[int, int]] = {}  # the shards, with their size and time at that moment

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens a corpus; its shards are read, and their checksums compared, when they are needed."""
        return cls(folder, read_about(folder))

    @property
    def sum(self) -> PairsSum:
        """What pairs there are, without reading them."""
        return PairsSum(self.pairs, self.sha256)

    @property
    def tokenizers(self) -> TokenizerPair:
        for name, sha256 in self._vocabulary.items():
            path = self.folder / VOCABULARY / name
            check_digest(path, digest_file(path), sha256)
        return TokenizerPair.load(self.folder / VOCABULARY)

    def check_settings(self, config: RunConfig) -> None:
        """Raises AugenmerkError if the settings of a run contradict how the corpus was prepared."""
        if config.text.bpe_dropout:
            raise AugenmerkError(
                f"text.bpe_dropout splits sentences differently in every epoch, but {self.folder} keeps "
                f"their ids; leave it out, or train on the text itself."
            )
        for key, value in self.text.model_dump().items():
            if (asked := getattr(config.text, key)) != value:
                here, there = format_setting(asked), format_setting(value)
                raise AugenmerkError(
                    f"{self.folder} was prepared with text.{key} = {there}, so a run on it cannot have "
                    f"{here}; say --set text.{key}={there}, or prepare the pairs again."
                )
        if config.data.max_length < self.longest:
            raise AugenmerkError(
                f"{self.folder} has sentences of up to {self.longest} tokens, more than data.max_length = "
                f"{config.data.max_length}; say --set data.max_length={self.longest}, or prepare the pairs "
                f"again with --max-length {config.data.max_length}."
            )

    def check_tokenizers(self, tokenizers: TokenizerPair) -> None:
        """Raises AugenmerkError if the vocabulary of a run is not the one of the corpus."""
        own = self.tokenizers
        for mine, other in ((own.source, tokenizers.source), (own.target, tokenizers.target)):
            if mine.to_json() != other.to_json():
                raise AugenmerkError(
                    f"{self.folder} was prepared with another vocabulary than this run has; its ids would "
                    f"be other words."
                )

    def count_windows(self) -> int:
        """Returns the number of windows of an epoch."""
        return len(self._plan_windows(0, 0))

    def read_window(self, seed: int, epoch: int, window: int) -> ParallelTokens:
        """Reads the pairs of a window."""
        blocks = self._plan_windows(seed, epoch)[window].tolist()
        parts = [part for block in blocks for part in self._read(block * BLOCK, (block + 1) * BLOCK)]
        source, target = (_make_table(list(sides)) for sides in zip(*parts, strict=True))
        return ParallelTokens(source, target)

    def read_first_sources(self, sentences: int) -> list[list[int]]:
        """Returns the ids of the first source sentences."""
        found = []
        for source, _ in self._read(0, sentences):
            ids, bounds = source.ids.tolist(), accumulate(source.lengths.tolist(), initial=0)
            found += [ids[start:stop] for start, stop in pairwise(bounds)]
        return found

    def _plan_windows(self, seed: int, epoch: int) -> list[Integers]:
        return plan_windows(self.pairs, seed, epoch, block=BLOCK, window=WINDOW)

    def _read(self, start: int, stop: int) -> Iterator[tuple[Side, Side]]:
        """Yields the pairs from number `start` to before number `stop`, in parts."""
        for shard, first in zip(self._shards, self._starts, strict=False):
            if first < stop and start < first + shard.pairs:
                inside = max(0, start - first), min(shard.pairs, stop - first)
                source, target = self._load(shard)
                yield source.part(*inside), target.part(*inside)

    def _load(self, shard: Shard) -> tuple[Side, Side]:
        path = self.folder / SHARDS / shard.name
        content = read_bytes(path)
        with explain_read_errors(path):
            found = path.stat()
            stamp = found.st_size, found.st_mtime_ns
        if self._verified.get(shard.name) != stamp:
            check_digest(path, hashlib.sha256(content).hexdigest(), shard.sha256)
            self._verified[shard.name] = stamp
        with explain_read_errors(path):
            arrays = load_arrays(content)
            return (
                Side(arrays["source"], arrays["source_lengths"]),
                Side(arrays["target"], arrays["target_lengths"]),
            )


def _make_table(sides: list[Side]) -> TokenTable:
    flat = np.concatenate([*(side.ids for side in sides), [PAD]], dtype=np.int32, casting="same_kind")
    lengths = np.concatenate([side.lengths for side in sides], dtype=np.int64)
    return TokenTable(flat, np.concatenate([[0], np.cumsum(lengths)]), lengths)


PREPARED = "prepared.json"
VOCABULARY, SHARDS, UNFINISHED = "vocabulary", "shards", ".unfinished"
FORMAT = 1
TOO_MANY_TOKENS = "too many tokens"
"""Why a pair was left out."""


def is_prepared(place: str) -> bool:
    """Returns whether the place is the folder of a prepared corpus, finished or not."""
    if place in DATASETS:
        return False
    # Not by Path, for which a name that is too long is an error.
    return os.path.isfile(f"{place}/{PREPARED}") or os.path.isdir(f"{place}/{UNFINISHED}")  # noqa: PTH112, PTH113


def read_about(folder: Path) -> dict[str, Any]:
    """Reads prepared.json; raises AugenmerkError if the corpus is not finished."""
    path = folder / PREPARED
    if not path.exists() and (folder / UNFINISHED).is_dir():
        raise AugenmerkError(
            f"{folder}: its preparation was not finished; run `augenmerk data prepare` again with the same "
            f"arguments, and it goes on."
        )
    with explain_read_errors(path):
        about = parse_object(read_text(path))
        check_format(path, about["format"], FORMAT)
        return about


def load(folder: Path, source_language: str | None = None, target_language: str | None = None) -> Bitext:
    """Opens the splits that are text; raises AugenmerkError if another direction is asked for."""
    about = read_about(folder)
    languages = about["source_language"], about["target_language"]
    for wanted, language in zip((source_language, target_language), languages, strict=True):
        if wanted not in (None, language):
            raise AugenmerkError(
                f"{folder} was prepared to translate from {languages[0]} to {languages[1]}; for another "
                f"direction, prepare the pairs again."
            )
    sums = {folder / f"{split}.jsonl": sha256 for split, sha256 in about.get("held_out", {}).items()}
    if missing := [path for path in sums if not path.exists()]:
        raise AugenmerkError(f"{missing[0]} is missing; put it back, or prepare the pairs again.")
    bitext = files.load(folder, *languages, divide=False)
    if not sums:  # it was prepared by a version that kept no checksums of these files
        return bitext
    splits = {
        path.stem: LazySplit(partial(_read_checked, bitext[path.stem], path, sha256))
        for path, sha256 in sums.items()
    }
    return replace(bitext, splits=splits)


def _read_checked(pairs: Iterable[SentencePair], path: Path, sha256: str) -> Iterator[SentencePair]:
    check_digest(path, digest_file(path), sha256)
    yield from pairs


def check_digest(path: Path, found: str, expected: str) -> None:
    """Raises AugenmerkError if the checksum of a file is not the one in prepared.json."""
    if found != expected:
        raise AugenmerkError(
            f"{path} is damaged: its checksum is not the one in prepared.json; put the file back, or prepare "
            f"the pairs again in another folder."
        )
