"""A prepared corpus, as `augenmerk.data.preparing` writes it.

    prepared.json           what it was made of and how, what was left out, and the checksums of all files;
                            written last
    vocabulary              the tokenizers
    shards                  the training pairs as ids
    val.jsonl, test.jsonl   the other splits, which stay text

A shard is a safetensors file with the ids and the lengths of the sentences of both sides. Training reads a
window of pairs at a time, so memory does not grow with the corpus. An epoch is a sequence of windows: the
blocks, which are fixed runs of pairs, are permuted, and each window is the next few of them. Inside a window,
pairs are shuffled as in any other data (`ParallelTokens.plan`). All of it follows from (seed, epoch), so a
run can be resumed in the middle of a window, and training on a corpus of one window equals training on text.
"""

import hashlib
import math
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
from augenmerk.data import PREPARED, UNFINISHED, PairsSum, files
from augenmerk.text.batching import Integers, ParallelTokens, TokenTable
from augenmerk.text.pairs import Bitext, LazySplit, SentencePair
from augenmerk.text.tokenizer import PAD, TokenizerPair

VOCABULARY, SHARDS = "vocabulary", "shards"
FORMAT = 1
TOO_MANY_TOKENS = "too many tokens"
"""Why a pair was left out."""
BLOCK = 8_192
"""Pairs that stay together, except for shuffling inside a window."""
WINDOW = 131_072
"""The most pairs that are in memory at a time; about 16 MB of ids."""


def read_about(folder: Path) -> dict[str, Any]:
    """Reads prepared.json; raises AugenmerkError if the corpus is not finished."""
    path = folder / PREPARED
    if not path.exists() and (folder / UNFINISHED).is_dir():
        raise AugenmerkError(
            f"{folder}: its preparation was not finished; run `augenmerk data prepare` again with the same "
            f"arguments to resume it."
        )
    with explain_read_errors(path):
        about = parse_object(read_text(path))
        check_format(path, about["format"], FORMAT)
        return about


def load(folder: Path, source_language: str | None = None, target_language: str | None = None) -> Bitext:
    """Opens the splits that are text; raises AugenmerkError if another direction is asked for."""
    about = read_about(folder)
    with explain_read_errors(folder / PREPARED):
        languages = about["source_language"], about["target_language"]
        sums = {folder / f"{split}.jsonl": sha256 for split, sha256 in about["held_out"].items()}
    if source_language not in (None, languages[0]) or target_language not in (None, languages[1]):
        raise AugenmerkError(
            f"{folder} was prepared to translate from {languages[0]} to {languages[1]}; for another "
            f"direction, prepare the pairs again."
        )
    if missing := [path for path in sums if not path.exists()]:
        raise AugenmerkError(f"{missing[0]} is missing; put it back, or prepare the pairs again.")
    bitext = files.load(folder, *languages, divide=False)

    def read(pairs: Iterable[SentencePair], path: Path) -> Iterator[SentencePair]:
        _check_digest(path, digest_file(path), sums[path])
        yield from pairs

    splits = {path.stem: LazySplit(partial(read, bitext[path.stem], path)) for path in sums}
    return replace(bitext, splits=splits)


def _check_digest(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise AugenmerkError(
            f"{path} is damaged: its checksum is not the one in prepared.json; put the file back, or prepare "
            f"the pairs again in another folder."
        )


def check_dropout(config: TextConfig) -> None:
    """Raises AugenmerkError if sentences would have other ids in every epoch."""
    if config.bpe_dropout:
        raise AugenmerkError(
            "text.bpe_dropout splits sentences differently in every epoch, but a prepared corpus keeps their "
            "ids; leave it out, or train on the text itself."
        )


def plan_windows(pairs: int, seed: int, epoch: int, *, block: int, window: int) -> list[Integers]:
    """Returns the numbers of the blocks in each window of an epoch; every block is in exactly one.

    Windows differ by one block at most. A window has its blocks in the order of the corpus, so the only
    window of a small corpus is the whole corpus in its order.
    """
    # A key that no plan of an epoch or of a window has, see `ParallelTokens.plan`.
    rng = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(epoch, 0)))
    order = np.argsort(rng.random_raw(math.ceil(pairs / block)), kind="stable")
    return [np.sort(part) for part in np.array_split(order, math.ceil(len(order) / max(1, window // block)))]


class Side(NamedTuple):
    """The sentences of one side: their ids, one sentence after another, and their lengths."""

    ids: NDArray[Any]
    lengths: NDArray[Any]

    def part(self, start: int, stop: int) -> "Side":
        """Returns the sentences from index `start` to before index `stop`."""
        first = int(self.lengths[:start].sum(dtype=np.int64))
        end = first + int(self.lengths[start:stop].sum(dtype=np.int64))
        return Side(self.ids[first:end], self.lengths[start:stop])


class PreparedCorpus:
    """The training pairs of a prepared corpus. Shards are read, and verified, when they are needed."""

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
            self.unknown = tuple(
                about[f"unknown_{side}"] / max(1, about[f"{side}_tokens"]) for side in ("source", "target")
            )
            """The shares of unknown words, source and target."""
            self._vocabulary: dict[str, str] = dict(about["vocabulary"])
            self._shards = [
                (str(each["name"]), int(each["pairs"]), each["sha256"]) for each in about["shards"]
            ]
        self.sha256 = hashlib.sha256("".join(shard[2] for shard in self._shards).encode()).hexdigest()
        """A checksum of all pairs."""
        self.sum = PairsSum(self.pairs, self.sha256)
        self._verified: set[tuple[str, int, int]] = set()  # shards with the size and the time they had

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens a corpus; raises AugenmerkError if it is not finished or damaged."""
        return cls(folder, read_about(folder))

    @property
    def tokenizers(self) -> TokenizerPair:
        for name, sha256 in self._vocabulary.items():
            path = self.folder / VOCABULARY / name
            _check_digest(path, digest_file(path), sha256)
        return TokenizerPair.load(self.folder / VOCABULARY)

    def check_settings(self, config: RunConfig) -> None:
        """Raises AugenmerkError if the settings of a run contradict how the corpus was prepared."""
        check_dropout(config.text)
        for key, value in self.text.model_dump().items():
            if (asked := getattr(config.text, key)) != value:
                here, there = format_setting(asked), format_setting(value)
                raise AugenmerkError(
                    f"{self.folder} was prepared with text.{key} = {there}, so a run on it cannot have "
                    f"{here}; use --set text.{key}={there}, or prepare the pairs again."
                )
        if config.data.max_length < self.longest:
            raise AugenmerkError(
                f"{self.folder} has sentences of up to {self.longest} tokens, more than data.max_length = "
                f"{config.data.max_length}; use --set data.max_length={self.longest}, or prepare the pairs "
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
        source, target = (_make_table(sides) for sides in zip(*parts, strict=True))
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
        """Yields the pairs from index `start` to before index `stop`, in parts."""
        first = 0
        for name, pairs, sha256 in self._shards:
            if first < stop and start < first + pairs:
                inside = max(0, start - first), min(pairs, stop - first)
                source, target = self._load(self.folder / SHARDS / name, sha256)
                yield source.part(*inside), target.part(*inside)
            first += pairs

    def _load(self, path: Path, sha256: str) -> tuple[Side, Side]:
        with explain_read_errors(path):
            content, found = read_bytes(path), path.stat()
            stamp = path.name, found.st_size, found.st_mtime_ns
            if stamp not in self._verified:
                _check_digest(path, hashlib.sha256(content).hexdigest(), sha256)
                self._verified.add(stamp)
            arrays = load_arrays(content)
            source, target = (Side(arrays[side], arrays[f"{side}_lengths"]) for side in ("source", "target"))
            return source, target


def _make_table(sides: Iterable[Side]) -> TokenTable:
    ids, lengths = zip(*sides, strict=True)
    flat = np.concatenate([*ids, [PAD]], dtype=np.int32, casting="same_kind")
    lengths = np.concatenate(lengths, dtype=np.int64)
    return TokenTable(flat, np.concatenate([[0], np.cumsum(lengths)]), lengths)
