"""What every architecture offers to training, search and scoring.

B sentences, K hypotheses of each, S source positions, T target positions, V entries of the vocabulary.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from augenmerk.config import ModelConfig
from augenmerk.model.attention import Memory

VOCABULARY_MULTIPLE = 64
"""Vocabularies are padded to a multiple of this: matrix units are several times faster on even widths."""

State = tuple[Tensor, ...]
"""What a decoder remembers of the target words so far: at least one tensor, each (B, K, ...)."""


class Source(NamedTuple):
    """Everything the decoder needs to know about the source sentences."""

    memory: Memory
    start: State  # before the first word, with K = 1

    def keep(self, sentences: Tensor) -> "Source":
        """Returns the selected sentences only, in this order."""
        return Source(
            self.memory.keep(sentences), tuple(part.index_select(0, sentences) for part in self.start)
        )


class AttentionWeights(NamedTuple):
    """The weights of every head in every layer, for whole sources and targets.

    A mechanism without heads counts as one head, and a GRU's attention as one layer.
    """

    cross: Tensor  # (B, L, N, T, S): target words look at the source
    encoder: Tensor | None = None  # (B, L, N, S, S): source words look at one another; a GRU has none
    decoder: Tensor | None = None  # (B, L, N, T, T): target words look back


class StepModel(Protocol):
    """A model that can translate word by word: a `TranslationModel`, or a faster form of one."""

    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Reads sources (B, S) padded to the right; the mask is True on real words."""

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, Tensor, State]:
        """Reads one more word for K hypotheses of each of B sentences.

        tokens (B, K) -> log-probabilities (B, K, V), attention weights (B, K, S), new state

        The hypotheses of a sentence share one memory, which is never copied for them.
        """


class TranslationModel(nn.Module, ABC):
    """A sequence-to-sequence model with attention.

    For training, `encode`, `decode` and `output` compute the logits of whole targets at once. For search,
    `encode` and `step` compute one word at a time. `decode` and `step` give the same numbers, to rounding.
    """

    def __init__(self, config: ModelConfig, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.target_vocabulary = target_vocabulary

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Reads sources (B, S) padded to the right; the mask is True on real words."""

    @abstractmethod
    def decode(
        self, tgt_in: Tensor, source: Source, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Returns what the output layer reads for whole targets (B, T), and the weights (B, T, S)."""

    @property
    @abstractmethod
    def selective(self) -> bool:
        """Whether the largest weight tells which source word was attended to: see `Attention.selective`."""

    @abstractmethod
    def attention_weights(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor) -> AttentionWeights:
        """Returns the weights of all heads in all layers for whole targets.

        The mean of `cross` over layers and heads is what `decode` and `step` return.
        """

    @abstractmethod
    def output(self, features: Tensor) -> Tensor:
        """Returns the logits (..., V) of the next words, in fp32 or better."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, Tensor, State]:
        """Reads one more word for each hypothesis; see `StepModel.step`."""

    @abstractmethod
    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds that one source token and one target token need in a forward pass."""

    def for_inference(self) -> StepModel:
        """Returns what translates fastest with the present weights, which must not change afterwards."""
        return self

    def forward(
        self, src: Tensor, src_mask: Tensor, tgt_in: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Returns log-probabilities (B, T, V) of each next word given the words before it."""
        features, weights = self.decode(tgt_in, self.encode(src, src_mask), need_weights=need_weights)
        return self.output(features).log_softmax(dim=-1), weights

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def padded(vocabulary: int) -> int:
    """Returns the vocabulary size rounded up to a multiple of `VOCABULARY_MULTIPLE`."""
    return -(-vocabulary // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE
