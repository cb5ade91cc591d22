"""Tokenising at the same time as a GPU is started: in processes that wait for their turn, text in memory.

One process learns the vocabulary; others take their share of the sentences to words and number these. With
the vocabulary learnt, only the distinct words are left to be encoded, and numpy puts the sentences together.
The ids are those of `TokenizerPair.train` on the same sample of pairs and of `Tokenizer.encode_ids`.
"""

import multiprocessing as mp
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.config import TextConfig
from augenmerk.data import SentencePair
from augenmerk.text.batching import ParallelTokens, TokenTable
from augenmerk.text.tokenizer import Tokenizer, TokenizerPair, split_pieces

Integers = NDArray[np.int64]
Ids = NDArray[np.int32]
SHARES = 2
"""Processes that take the sources, and as many the targets, of the training pairs to words."""


class Numbered(NamedTuple):
    """Sentences as numbers of distinct words: sentence i is numbers[bounds[i] : bounds[i + 1]]."""

    words: list[str]
    numbers: Integers
    bounds: Integers


class Flat(NamedTuple):
    """Sentences as ids: sentence i is ids[bounds[i] : bounds[i + 1]]."""

    ids: Ids
    bounds: Integers

    def keep(self, sentences: Integers) -> "Flat":
        starts, lengths = self.bounds[sentences], np.diff(self.bounds)[sentences]
        return Flat(self.ids[spread(starts, lengths)], np.concatenate([[0], np.cumsum(lengths)]))

    def table(self) -> TokenTable:
        padded = np.append(self.ids, np.int32(0))  # PAD, which all padding is read from
        return TokenTable(padded, self.bounds, np.diff(self.bounds))


def spread(starts: Integers, lengths: Integers) -> Integers:
    """The places start, start + 1, ... of each run, one run after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def number(texts: Sequence[str], config: TextConfig) -> Numbered:
    sentences = [split_pieces(text, config.lowercase, True) for text in texts]
    number_of: dict[str, int] = {}
    numbers = [number_of.setdefault(word, len(number_of)) for word in chain.from_iterable(sentences)]
    bounds = list(accumulate(map(len, sentences), initial=0))
    return Numbered(list(number_of), np.array(numbers), np.array(bounds))


def encode(tokenizer: Tokenizer, parts: Sequence[Numbered]) -> Flat:
    """The parts one after another, as ids."""
    ids, lengths = [], []
    for part in parts:
        encoded = tokenizer.encode_pieces(part.words)
        sizes = np.array([len(word) for word in encoded])
        starts, each = np.cumsum(sizes) - sizes, sizes[part.numbers]
        flat = np.array(list(chain.from_iterable(encoded)), np.int32)
        ids.append(flat[spread(starts[part.numbers], each)])
        lengths.append(np.diff(np.concatenate([[0], np.cumsum(each)])[part.bounds]))
    return Flat(np.concatenate(ids), np.concatenate([[0], np.cumsum(np.concatenate(lengths))]))


class BackgroundTokenizer:
    """Processes that wait, once it is made, for `begin`.

    They are forked, so they have to be made before there is a CUDA context.
    """

    def __init__(
        self,
        config: TextConfig,
        train: Sequence[SentencePair],
        val: Sequence[SentencePair],
        *,
        sample: int,
        longest: int,
    ) -> None:
        """The vocabulary is learnt from every `sample`th pair; training pairs over `longest` are left out."""
        assert config.unit == "bpe", "a word is put together of subwords"
        assert config.joint, "one vocabulary is learnt"
        self._fork = mp.get_context("fork")
        self._ready, self._begun = self._fork.Semaphore(0), self._fork.Event()
        columns = [[p.source for p in train], [p.target for p in train]]
        cut = [len(train) * share // SHARES for share in range(SHARES + 1)]
        parts = [column[a:b] for column in columns for a, b in pairwise(cut)]
        parts += [[p.source for p in val], [p.target for p in val]]
        numbered = [self._start(part, partial(number, part, config)) for part in parts]
        learnt_from = train[::sample]

        def finish() -> tuple[dict[str, float], TokenizerPair, list[Flat]]:
            os.environ["TOKENIZERS_PARALLELISM"] = "true"  # no process will be forked from this one
            began = time.perf_counter()
            tokenizers = TokenizerPair.train(learnt_from, config)
            learnt = time.perf_counter()
            received = [connection.recv() for connection in numbered]
            source = encode(tokenizers.source, received[:SHARES])
            target = encode(tokenizers.target, received[SHARES:-2])
            short = np.flatnonzero(np.maximum(np.diff(source.bounds), np.diff(target.bounds)) <= longest)
            flat = [source.keep(short), target.keep(short)]
            flat += [encode(tokenizers.source, [part]) for part in received[-2:]]
            ended = time.perf_counter()
            return {"learning the vocabulary": learnt - began, "encoding": ended - learnt}, tokenizers, flat

        texts = [text for pair in learnt_from for text in (pair.source, pair.target)]
        self._finished = self._start(texts, finish)
        for _ in range(len(parts) + 1):
            self._ready.acquire()

    def begin(self) -> None:
        """All processes begin to work."""
        self._begun.set()

    def result(self) -> tuple[dict[str, float], TokenizerPair, ParallelTokens, ParallelTokens]:
        """Waits: the seconds it took, the vocabulary, training and validation pairs."""
        seconds, tokenizers, flat = self._finished.recv()
        tables = [each.table() for each in flat]
        return seconds, tokenizers, ParallelTokens(*tables[:2]), ParallelTokens(*tables[2:])

    def _start(self, texts: Sequence[str], work: Callable[[], object]) -> Connection:
        here, there = self._fork.Pipe(duplex=False)

        def wait_and_work() -> None:
            sum(map(len, texts))  # memory that was forked is copied when it is first touched: now
            self._ready.release()
            self._begun.wait()
            there.send(work())

        self._fork.Process(target=wait_and_work, daemon=True).start()
        return here
