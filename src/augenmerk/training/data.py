"""The training pairs of a run as ids in windows, and the validation after each epoch.

Training pairs are text, which is one window, or a prepared corpus. With BPE-dropout, `SubwordSampler` splits
a text differently in each epoch.
"""

import hashlib
import heapq
import random
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, PairsSum, SentencePair, is_prepared, resolve_data
from augenmerk.data.corpus import TOO_MANY_TOKENS, PreparedCorpus
from augenmerk.evaluation.evaluator import count_words, measure_loss
from augenmerk.evaluation.metrics import BleuScorer
from augenmerk.model.interface import TranslationModel
from augenmerk.run.directory import RunDirectory
from augenmerk.text.batching import (
    MAX_COUNTED_SENTENCES,
    ParallelTokens,
    TokenTable,
    encode_pairs,
    learn_familiarity,
)
from augenmerk.text.tokenizer import UNK, Tokenizer, TokenizerPair
from augenmerk.translation import Translator
from augenmerk.translation.alignment import GoldLinks, argmax_links, compare_links

GREEDY = {"beam": 1, "n_best": 1, "sample": False, "mbr": False, "candidates": None, "precision": "fp32"}
"""Search settings of validation during training, which is greedy even if the run translates with a beam."""

WATCHED_PAIRS = 100
"""Validation pairs whose attention is measured after each epoch."""
CACHED_SEGMENTATIONS = 2_000_000
_MERGED = -1  # marks a symbol that was merged into the one before it


class SubwordSampler:
    """BPE-dropout (Provilkov et al. 2020, algorithm 1): random segmentations of the same text for training.

    While a word is merged, each possible merge is skipped with probability `dropout`. Each word has `VARIETY`
    segmentations, drawn when first needed, which depend on the seed and the word alone.

    The library's own dropout cannot be seeded, and splits fewer words than the algorithm does, because it
    also tries a skipped merge again after every outdated queue entry. With dropout 0.1 and 2,000 entries for
    bilderbuch, a word has 1.42 subwords there and 1.55 here; without dropout it has 1.12 (measured).
    """

    VARIETY = 32

    def __init__(self, tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        self._tokenizer = tokenizer
        self._dropout = dropout
        self._seed = seed
        self._id_of_byte = {raw[0]: i for i, raw in enumerate(tokenizer.bytes) if len(raw) == 1}
        self._merges = tokenizer.merges()
        self._random = random.Random()
        self._segmentation = lru_cache(CACHED_SEGMENTATIONS)(self._draw_segmentation)

    def encode_ids(self, texts: Sequence[str], epoch: int) -> list[list[int]]:
        """Encodes texts as `Tokenizer.encode_ids` does, in subwords that depend on seed, epoch and texts."""
        sentences = [self._tokenizer.pieces(text) for text in texts]
        generator = np.random.default_rng([self._seed, epoch])
        choices = iter(generator.integers(self.VARIETY, size=sum(map(len, sentences))).tolist())
        return [
            list(chain.from_iterable([self._segmentation(piece, next(choices)) for piece in pieces]))
            for pieces in sentences
        ]

    def _draw_segmentation(self, piece: str, choice: int) -> list[int]:
        name = f"{self._seed} {choice} {piece}".encode()
        self._random.seed(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()))
        return self._merge([self._id_of_byte[byte] for byte in piece.encode()])

    def _merge(self, symbols: list[int]) -> list[int]:
        """Applies the earliest learnt merge that is not skipped, leftmost first, until none remains."""
        end = len(symbols)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))
        queue: list[tuple[int, int, int]] = []  # (rank, position, merged id)

        def offer(position: int) -> None:
            merge = self._merges.get((symbols[position], symbols[after[position]]))
            if merge is not None:
                heapq.heappush(queue, (merge[0], position, merge[1]))

        for position in range(end - 1):
            offer(position)
        skipped = []
        while queue:
            rank, position, merged = entry = heapq.heappop(queue)
            following = after[position]
            pair = symbols[position], symbols[following] if following < end else _MERGED
            if self._merges.get(pair) != (rank, merged):
                continue  # one of the two has been merged with something else since
            if self._random.random() < self._dropout:
                skipped.append(entry)
                continue
            symbols[position], symbols[following] = merged, _MERGED
            after[position] = after[following]
            if before[position] >= 0:
                offer(before[position])
            if after[position] < end:
                before[after[position]] = position
                offer(position)
            for entry in skipped:  # after every merge, skipped ones are tried again
                heapq.heappush(queue, entry)
            skipped.clear()
        return [symbol for symbol in symbols if symbol != _MERGED]


class TextData:
    """Training pairs that are text, all in one window; with BPE-dropout, they differ from epoch to epoch."""

    windows = 1
    """The number of windows of an epoch."""

    def __init__(
        self, bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
    ) -> None:
        self._bitext = bitext
        self._watched = bitext.watch(config.data.train)
        self._first_sources: list[str] = []
        self._sides = tokenizers.source, tokenizers.target
        self._config = config
        self._device = device
        dropout, seed = config.text.bpe_dropout, 2 * config.train.seed
        self._samplers = [
            SubwordSampler(tokenizer, dropout, seed + number)
            for number, tokenizer in enumerate(self._sides if dropout else ())
        ]
        self._encoded: tuple[int, ParallelTokens] | None = None

    @property
    def sum(self) -> PairsSum | None:
        """What pairs there are; None until the first window was read."""
        return self._watched.sum

    def read_window(self, epoch: int, window: int = 0) -> ParallelTokens:  # noqa: ARG002 (there is but one)
        """Returns the pairs of a window of an epoch; raises AugenmerkError if all are too long."""
        version = epoch if self._samplers else 0
        if self._encoded is None or self._encoded[0] != version:
            source, target = (tokenizer.encode_ids for tokenizer in self._sides)
            if self._samplers:
                source, target = (partial(sampler.encode_ids, epoch=epoch) for sampler in self._samplers)
            tokens = encode_pairs(self._read(), source, target, self._config.data.max_length)
            self._encoded = (version, tokens.to(self._device))
        return self._encoded[1]

    def describe(self) -> dict[str, Any]:
        """Returns how many pairs there are, how many were left out and why, and shares of unknown words.

        This is about the window that was read last: with BPE-dropout, in another epoch a few more or fewer
        pairs may be too long.
        """
        assert self._encoded is not None
        assert self.sum is not None
        tokens = self._encoded[1]
        kinds = Counter(bad.kind for bad in self._bitext.skipped)
        return {
            "training_pairs": len(tokens),
            "too_long": self.sum.pairs - len(tokens),
            "max_length": self._config.data.max_length,
            "skipped_lines": dict(sorted(kinds.items())),
            "unknown_source": _share_of_unknown(tokens.source),
            "unknown_target": _share_of_unknown(tokens.target),
        }

    def learn_familiarity(self) -> dict[str, Any] | None:
        """Returns what `learn_familiarity` counts in the source sentences."""
        return learn_familiarity(self._sides[0], self._sides[0].encode_ids(self._first_sources))

    def _read(self) -> Iterator[SentencePair]:
        self._first_sources = []  # kept, because the files may be others at the end of training
        for pair in self._watched:
            if len(self._first_sources) < MAX_COUNTED_SENTENCES:
                self._first_sources.append(pair.source)
            yield pair


def _share_of_unknown(table: TokenTable) -> float:
    return int((table.flat == UNK).sum()) / max(1, len(table.flat) - 1)  # the last one is padding


class PreparedData:
    """Training pairs of a prepared corpus; its methods are those of `TextData`."""

    def __init__(self, corpus: PreparedCorpus, config: RunConfig, device: torch.device) -> None:
        self._corpus = corpus
        self._config = config
        self._device = device
        self.windows = corpus.count_windows()
        self.sum = corpus.sum
        self._read: tuple[tuple[int, int], ParallelTokens] | None = None

    def read_window(self, epoch: int, window: int) -> ParallelTokens:
        if self._read is None or self._read[0] != (epoch, window):
            self._read = None  # it need not stay in memory while the next one is read
            tokens = self._corpus.read_window(self._config.train.seed, epoch, window)
            self._read = ((epoch, window), tokens.to(self._device))
        return self._read[1]

    def describe(self) -> dict[str, Any]:
        corpus = self._corpus
        left_out = {kind: count for kind, count in corpus.left_out.items() if kind != TOO_MANY_TOKENS}
        return {
            "training_pairs": corpus.pairs,
            "too_long": corpus.left_out.get(TOO_MANY_TOKENS, 0),
            "max_length": min(corpus.max_length, self._config.data.max_length),
            "skipped_lines": left_out,
            "unknown_source": corpus.unknown[0],
            "unknown_target": corpus.unknown[1],
        }

    def learn_familiarity(self) -> dict[str, Any] | None:
        sources = self._corpus.read_first_sources(MAX_COUNTED_SENTENCES)
        return learn_familiarity(self._corpus.tokenizers.source, sources)


def open_prepared(config: RunConfig) -> PreparedCorpus | None:
    """Opens the prepared corpus that the settings name; None if the data is something else."""
    bitext = resolve_data(config).data.bitext
    return PreparedCorpus.open(Path(bitext)) if is_prepared(bitext) else None


def open_training_data(
    bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
) -> TextData | PreparedData:
    """Opens the training pairs, prepared or not; raises AugenmerkError if they have another vocabulary."""
    if (corpus := open_prepared(config)) is None:
        return TextData(bitext, tokenizers, config, device)
    corpus.check_settings(config)
    corpus.check_tokenizers(tokenizers)
    return PreparedData(corpus, config, device)


def check_same_pairs(
    run: RunDirectory, bitext: Bitext, known: Mapping[str, PairsSum], found: Mapping[str, PairsSum]
) -> None:
    """Raises AugenmerkError if splits are not those that the run has used, and are known from then."""
    for split, now in found.items():
        before = known.get(split, now)
        if before.sha256 == now.sha256:
            continue
        remedy = "begin another run"
        if run.model_path.exists():
            command = shlex.join(["augenmerk", "train", "--from", str(run.path), "--data", bitext.name])
            remedy = f"train on it with the weights of this run: {command}"
        raise AugenmerkError(
            f"{bitext.describe(split)} is not what {run.path} was started with: its {now.pairs:,} pairs "
            f"are not the {before.pairs:,} of then; restore it to resume the run, or {remedy}."
        )


class Validation:
    """Measures loss, perplexity and, if the settings ask for it, greedy BLEU on the validation split."""

    def __init__(
        self, bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
    ) -> None:
        watched = bitext.watch(config.data.validation)
        pairs = list(watched)
        assert watched.sum is not None
        self.sum = watched.sum
        if not pairs:
            raise AugenmerkError(f"{bitext.name} has no pair in '{config.data.validation}' to validate on.")
        self._tokenizers = tokenizers
        self._config = config
        self._bleu = None
        if config.train.bleu:
            references = [pair.target for pair in pairs]
            self._bleu = BleuScorer(references, lowercase=tokenizers.target.lowercase)
        self._words = count_words(pairs)
        self._watched = pairs[:WATCHED_PAIRS]
        self._sources = tokenizers.source.encode_ids([pair.source for pair in pairs])
        data = encode_pairs(pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids)
        self._data = data.to(device)

    def measure(self, model: TranslationModel) -> dict[str, float]:
        """Returns the metrics of a model in evaluation mode."""
        loss = measure_loss([model], self._data)
        measured = {
            "validation_loss": loss.mean,
            "validation_perplexity": loss.perplexity,
            "validation_word_perplexity": loss.word_perplexity(self._words),
        }
        greedy = self._config.search.model_copy(update=GREEDY)
        config = self._config.model_copy(update={"search": greedy})
        with Translator([model.for_inference()], self._tokenizers, config) as translator:
            if self._bleu is not None:
                found = translator.decode(self._sources, greedy)
                texts = [self._tokenizers.target.decode(best[0].ids) for best in found]
                measured["validation_bleu"] = self._bleu.score(texts)
            if translator.model.selective:
                measured |= self._measure_attention(translator)
        return measured

    def _measure_attention(self, translator: Translator) -> dict[str, float]:
        """Returns the mean entropy of the attention over words, in nats, and its error against gold links."""
        read = translator.score_all([(pair.source, pair.target) for pair in self._watched])
        weights = np.concatenate([one.attention.ravel() for one in read])
        entropy = -float((weights * np.log(np.maximum(weights, 1e-12))).sum())
        measured = {"validation_entropy": entropy / sum(len(one.attention) for one in read)}
        links = [pair.alignment for pair in self._watched]
        if None not in links:
            ours = (argmax_links(one.attention[:-1, :-1].tolist()) for one in read)
            gold = (GoldLinks.of(each or ()) for each in links)
            measured["validation_aer"] = compare_links(zip(ours, gold, strict=True)).error
        return measured
