"""The training pairs as ids, in windows: text, which is one window, or a prepared corpus."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, PairsSum, SentencePair, is_prepared, resolve_data
from augenmerk.data.corpus import TOO_MANY_TOKENS, PreparedCorpus
from augenmerk.run.directory import RunDirectory
from augenmerk.text import familiarity
from augenmerk.text.batching import ParallelTokens, TokenTable, encode_pairs
from augenmerk.text.subword_dropout import SubwordSampler
from augenmerk.text.tokenizer import UNK, TokenizerPair


class TrainingData(Protocol):
    """The training pairs as ids on the device, which an epoch reads in one or more windows."""

    windows: int
    """The number of windows of an epoch."""

    @property
    def sum(self) -> PairsSum | None:
        """What pairs there are; None until the first window was read."""

    def read_window(self, epoch: int, window: int) -> ParallelTokens:
        """Returns the pairs of a window of an epoch."""

    def describe(self) -> dict[str, Any]:
        """Returns how many pairs there are, how many were left out and why, and shares of unknown words."""

    def learn_familiarity(self) -> dict[str, Any] | None:
        """Returns what `familiarity.learn` counts in the source sentences."""


class TextData:
    """Training pairs that are text, all in one window; with BPE-dropout, they differ from epoch to epoch."""

    windows = 1

    def __init__(
        self, bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
    ) -> None:
        self._bitext = bitext
        self._watched = bitext.watch(config.data.train)
        self._first_sources: list[str] = []
        self._tokenizers = tokenizers
        self._config = config
        self._device = device
        self._samplers: tuple[SubwordSampler, SubwordSampler] | None = None
        if dropout := config.text.bpe_dropout:
            seed = config.train.seed
            self._samplers = (
                SubwordSampler(tokenizers.source, dropout, 2 * seed),
                SubwordSampler(tokenizers.target, dropout, 2 * seed + 1),
            )
        self._encoded: tuple[int, ParallelTokens] | None = None

    @property
    def sum(self) -> PairsSum | None:
        return self._watched.sum

    def read_window(self, epoch: int, window: int = 0) -> ParallelTokens:  # noqa: ARG002 (there is but one)
        """Returns the pairs of an epoch; raises AugenmerkError if all are too long."""
        version = epoch if self._samplers is not None else 0
        if self._encoded is None or self._encoded[0] != version:
            self._encoded = (version, self._encode(epoch).to(self._device))
        return self._encoded[1]

    def describe(self) -> dict[str, Any]:
        """Describes the pairs that were read last; with BPE-dropout, in another epoch a few more or fewer may
        be too long."""
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
        return familiarity.learn(self._tokenizers.source, self._first_sources)

    def _encode(self, epoch: int) -> ParallelTokens:
        max_length = self._config.data.max_length
        if self._samplers is None:
            tokenizers = self._tokenizers
            return encode_pairs(
                self._read(), tokenizers.source.encode_ids, tokenizers.target.encode_ids, max_length
            )
        source, target = self._samplers
        return encode_pairs(
            self._read(),
            lambda texts: source.encode_ids(texts, epoch),
            lambda texts: target.encode_ids(texts, epoch),
            max_length,
        )

    def _read(self) -> Iterator[SentencePair]:
        self._first_sources = []  # kept, because the files may be others at the end of training
        for pair in self._watched:
            if len(self._first_sources) < familiarity.MAX_SENTENCES:
                self._first_sources.append(pair.source)
            yield pair


def _share_of_unknown(table: TokenTable) -> float:
    return int((table.flat == UNK).sum()) / max(1, len(table.flat) - 1)  # the last one is padding


class PreparedData:
    """Training pairs of a prepared corpus."""

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
        sources = self._corpus.read_first_sources(familiarity.MAX_SENTENCES)
        return familiarity.learn_from_ids(self._corpus.tokenizers.source, sources)


def open_training_data(
    bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
) -> TrainingData:
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
        other = f"its {now.pairs:,} pairs are others"
        if before.pairs not in (0, now.pairs):
            other = f"it has {now.pairs:,} pairs instead of {before.pairs:,}"
        remedy = "begin another run"
        if run.model_path.exists():
            command = shlex.join(["augenmerk", "train", "--from", str(run.path), "--data", bitext.name])
            remedy = f"train on it with the weights of this run: {command}"
        raise AugenmerkError(
            f"{bitext.describe(split)} is not what {run.path} was started with: {other}; restore it to "
            f"resume the run, or {remedy}."
        )


def open_prepared(config: RunConfig) -> PreparedCorpus | None:
    """Opens the prepared corpus that the settings name; None if the data is something else."""
    bitext = resolve_data(config).data.bitext
    return PreparedCorpus.open(Path(bitext)) if is_prepared(bitext) else None
