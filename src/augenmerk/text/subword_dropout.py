"""BPE-dropout: random segmentations of the same text for training, as a function of a seed."""

import hashlib
import heapq
import random
from collections.abc import Sequence
from itertools import chain

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.text.tokenizer import Tokenizer

_MERGED = -1  # marks a symbol that was merged into the one before it


class SubwordSampler:
    """BPE-dropout (Provilkov et al. 2020, algorithm 1): random segmentations of the same text for training.

    While a word is merged, each possible merge is skipped with probability `dropout`. Each word has `VARIETY`
    segmentations, drawn when first needed, which depend on the seed and the word alone.

    The library's own dropout cannot be seeded, and splits fewer words than the algorithm does, because a
    skipped merge is tried again after every outdated queue entry, too. With dropout 0.1 and 2,000 entries for
    bilderbuch, a word has 1.42 subwords there and 1.55 here; without dropout it has 1.12 (measured).
    """

    VARIETY = 32
    _CACHE_SIZE = 2_000_000

    def __init__(self, tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        if not tokenizer.is_bpe:
            raise AugenmerkError("BPE-dropout needs subwords: set unit to 'bpe' or bpe_dropout to 0.")
        self._tokenizer = tokenizer
        self._dropout = dropout
        self._seed = seed
        self._id_of_byte = {raw[0]: i for i, raw in enumerate(tokenizer.bytes) if len(raw) == 1}
        self._merges = tokenizer.merges()
        self._random = random.Random()
        self._cache: dict[tuple[str, int], list[int]] = {}

    def encode_ids(self, texts: Sequence[str], epoch: int) -> list[list[int]]:
        """Encodes texts as `Tokenizer.encode_ids` does, in subwords that depend on seed, epoch and texts."""
        sentences = [self._tokenizer.pieces(text) for text in texts]
        generator = np.random.default_rng([self._seed, epoch])
        choices = iter(generator.integers(self.VARIETY, size=sum(map(len, sentences))).tolist())
        return [
            list(chain.from_iterable([self._segmentation(piece, next(choices)) for piece in pieces]))
            for pieces in sentences
        ]

    def _segmentation(self, piece: str, choice: int) -> list[int]:
        ids = self._cache.get((piece, choice))
        if ids is None:
            if len(self._cache) >= self._CACHE_SIZE:
                self._cache.clear()
            name = f"{self._seed} {choice} {piece}".encode()
            self._random.seed(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()))
            ids = self._cache[piece, choice] = self._merge(
                [self._id_of_byte[byte] for byte in piece.encode()]
            )
        return ids

    def _merge(self, symbols: list[int]) -> list[int]:
        """Applies the earliest learnt merge that is not skipped, leftmost first, until none remains."""
        end = len(symbols)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))
        queue: list[tuple[int, int, int]] = []  # (rank, place, merged id)

        def offer(place: int) -> None:
            merge = self._merges.get((symbols[place], symbols[after[place]]))
            if merge is not None:
                heapq.heappush(queue, (merge[0], place, merge[1]))

        for place in range(end - 1):
            offer(place)
        skipped = []
        while queue:
            rank, place, merged = entry = heapq.heappop(queue)
            following = after[place]
            if following == end or self._merges.get((symbols[place], symbols[following])) != (rank, merged):
                continue  # one of the two has been merged with something else since
            if self._random.random() < self._dropout:
                skipped.append(entry)
                continue
            symbols[place], symbols[following] = merged, _MERGED
            after[place] = after[following]
            if before[place] >= 0:
                offer(before[place])
            if after[place] < end:
                before[after[place]] = place
                offer(place)
            # After every merge, skipped ones are tried again.
            for entry in skipped:
                heapq.heappush(queue, entry)
            skipped.clear()
        return [symbol for symbol in symbols if symbol != _MERGED]
