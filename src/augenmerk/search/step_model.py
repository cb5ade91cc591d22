"""What search and scoring need of a model, whether it computes with torch or with numpy.

B sentences, K hypotheses of each, S source positions, T target positions, V entries of the vocabulary,
L layers, N heads.
"""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from augenmerk.base.arrays import Array

if TYPE_CHECKING:
    from augenmerk.base.config import ModelConfig
    from augenmerk.text.batching import Batch

VOCABULARY_MULTIPLE = 64
"""Vocabularies are padded to a multiple of this: matrix units are several times faster on even widths."""

State = tuple[Array, ...]
"""What a decoder remembers of the target words so far: at least one array, each (B, K, ...)."""


class Memory(NamedTuple):
    """Keys and values of the source: computed once for a sentence, used at every target position."""

    keys: Array  # (B, S, size of a key), in a Transformer (B, S, L, size of a key)
    values: Array  # likewise
    mask: Array | None  # (B, S), or (1, T, S) where it differs from query to query

    def keep(self, sentences: Array) -> "Memory":
        """Returns the memory of the selected sentences only."""
        mask = None if self.mask is None else self.mask[sentences]
        return Memory(self.keys[sentences], self.values[sentences], mask)


class Source(NamedTuple):
    """Everything the decoder needs to know about the source sentences."""

    memory: Memory
    start: State  # before the first word, with K = 1

    def keep(self, sentences: Array) -> "Source":
        """Returns the selected sentences only, in this order."""
        return Source(self.memory.keep(sentences), tuple(part[sentences] for part in self.start))


class AttentionWeights(NamedTuple):
    """The weights of every head in every layer, for whole sources and targets.

    A mechanism without heads counts as one head, and a GRU's attention as one layer.
    """

    cross: Array  # (B, L, N, T, S): target words look at the source
    encoder: Array | None = None  # (B, L, N, S, S): source words look at one another; a GRU has none
    decoder: Array | None = None  # (B, L, N, T, T): target words look back


class StepModel(Protocol):
    """A model that can translate word by word: a `TranslationModel` of torch, or one of `inference`."""

    config: "ModelConfig"

    @property
    def selective(self) -> bool:
        """Whether the largest weight tells which source word was attended to: see `Attention.selective`."""

    def encode(self, src: Array, src_mask: Array) -> Source:
        """Reads sources (B, S) padded to the right; the mask is True on real words."""

    def step(self, tokens: Array, state: State, memory: Memory) -> tuple[Array, Array, State]:
        """Reads one more word for K hypotheses of each of B sentences.

        tokens (B, K) -> log-probabilities (B, K, V), attention weights (B, K, S), new state

        The hypotheses of a sentence share one memory, which is never copied for them.
        """

    def target_log_probs(self, batch: "Batch") -> Array:
        """Returns the log-probability of each real target token of a batch, in the order of its mask."""

    def attention_weights(self, src: Array, src_mask: Array, tgt_in: Array) -> AttentionWeights:
        """Returns the weights of all heads in all layers for whole targets.

        The mean of `cross` over layers and heads is what `step` returns.
        """


def padded(vocabulary: int) -> int:
    """Returns the vocabulary size rounded up to a multiple of `VOCABULARY_MULTIPLE`."""
    return -(-vocabulary // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE
