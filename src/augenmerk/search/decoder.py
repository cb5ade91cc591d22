"""What a search needs of a model, decoders made of decoders, and the hypotheses that a search finds.

B or N sentences, K hypotheses of each, S source positions, T target positions, V entries of the vocabulary,
L layers, N heads.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import Array, namespace, to_numpy
from augenmerk.base.errors import AugenmerkError
from augenmerk.mechanisms import Memory as Memory
from augenmerk.text.tokenizer import EOS

if TYPE_CHECKING:
    from augenmerk.base.config import ModelConfig
    from augenmerk.text.batching import Batch

SHRINK_AT = 4
"""A batch shrinks when one in four of its sentences is done; earlier, copying costs more than it saves."""

State = tuple[Array, ...]
"""What a decoder remembers of the target words so far: at least one array, each (B, K, ...)."""


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
    selective: bool
    """Whether the largest weight tells which source word was attended to: see `Attention.selective`."""

    @abstractmethod
    def encode(self, src: Array, src_mask: Array) -> Source:
        """Reads sources (B, S) padded to the right; the mask is True on real words."""

    @abstractmethod
    def step(self, tokens: Array, state: State, memory: Memory) -> tuple[Array, Array, State]:
        """Reads one more word for K hypotheses of each of B sentences.

        tokens (B, K) -> log-probabilities (B, K, V), attention weights (B, K, S), new state

        The hypotheses of a sentence share one memory, which is never copied for them.
        """

    @abstractmethod
    def target_log_probs(self, batch: "Batch") -> Array:
        """Returns the log-probability of each real target token of a batch, in the order of its mask."""

    @abstractmethod
    def attention_weights(self, src: Array, src_mask: Array, tgt_in: Array) -> AttentionWeights:
        """Returns the weights of all heads in all layers for whole targets.

        The mean of `cross` over layers and heads is what `step` (and `decode`) returns.
        """


class Decoder(Protocol):
    """Predicts one more word for each hypothesis of a batch of sentences whose sources it has already read.

    It keeps what it knows of a source once for each sentence, not for each hypothesis, which makes wide beams
    cheap. A search only reads its arrays and never writes to them.
    """

    @property
    def sentences(self) -> int:
        """The number of sentences, N."""

    def start(self) -> State:
        """Returns the state before BOS is read, with K = 1."""

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        """Reads tokens (N, K).

        Returns log-probabilities (N, K, V) of the next ones, attention weights (N, K, S), and the new state.
        """

    def keep(self, sentences: Array) -> "Decoder":
        """Returns a decoder for the selected sentences, in this order. S may shrink to what they need."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A translation in ids, with its probability and attention."""

    ids: tuple[int, ...]
    """The tokens produced, without BOS and EOS."""
    finished: bool
    """Whether it ended in EOS, rather than at the maximum length."""
    log_probability: float
    """The sum of `token_log_probabilities`."""
    score: float
    """log_probability / length**length_penalty, where EOS counts towards the length."""
    token_log_probabilities: tuple[float, ...]
    """The model's own, one for each id and, if finished, one for EOS."""
    weights: NDArray[np.float32]
    """Attention weights, (len(token_log_probabilities), S): a row for each token produced."""
    expected_chrf: float | None = None
    """What candidates are ranked by if minimum Bayes risk chose among them."""

    @classmethod
    def of(
        cls, ids: list[int], log_probs: list[float], weights: Array, length_penalty: float
    ) -> "Hypothesis":
        """Returns the hypothesis that produced these tokens, EOS included."""
        finished, total = ids[-1] == EOS, sum(log_probs)
        score = float(total / len(ids) ** length_penalty)
        ids = ids[:-1] if finished else ids
        return cls(tuple(ids), finished, total, score, tuple(log_probs), weights)


class Step(NamedTuple):
    """The record of one step. Without back-pointers, every hypothesis continues itself."""

    rows: Array  # (N) which sentences were still there
    tokens: Array  # (N, B)
    parents: Array | None  # (N, B) which of the K hypotheses these continue
    log_probs: Array  # (N, B) of these tokens
    weights: Array  # (N, K, S)


def take_rows(arrays: Sequence[Array], rows: Array) -> State:
    return tuple(array[rows] for array in arrays)


def read_back(
    history: Sequence[Step], lengths: Array, slots: Array, length_penalty: float
) -> list[list[Hypothesis]]:
    """Follows the back-pointers and returns the hypotheses that end in the given slots.

    lengths and slots are both (N, n); a length of 0 means that there is no hypothesis.
    """
    xp, device = namespace(lengths), lengths.device
    N, n = lengths.shape
    T, S = len(history), history[0].weights.shape[2]
    ids = xp.zeros((N, n, T), dtype=xp.int64, device=device)
    log_probs = xp.zeros((N, n, T), dtype=history[0].log_probs.dtype, device=device)
    weights = xp.zeros((N, n, T, S), dtype=history[0].weights.dtype, device=device)
    slots = xp.asarray(slots, copy=True)
    for t in reversed(range(T)):
        rows, tokens, parents, token_log_probs, step_weights = history[t]
        row = xp.arange(len(rows), device=device)[:, None]
        slot = slots[rows]  # a hypothesis that ended before t waits in its slot
        ids[rows, :, t] = tokens[row, slot]
        log_probs[rows, :, t] = token_log_probs[row, slot]
        if parents is not None:
            slot = xp.where(lengths[rows] > t, parents[row, slot], slot)
            slots[rows] = slot
            slot = slot.clip(max=step_weights.shape[1] - 1)  # for those waiting: there may be fewer parents
        weights[rows, :, t, : step_weights.shape[2]] = step_weights[row, slot]
    if bool((lengths[:, 0] == 0).any() | xp.isnan(log_probs).any()):
        raise AugenmerkError(
            "The model gives no word a probability (not a number): its weights are broken, as they are "
            "when training has diverged; train again with a lower train.lr."
        )
    columns = (ids.tolist(), log_probs.tolist(), to_numpy(weights), lengths.tolist())
    return [
        [
            Hypothesis.of(i[:length], p[:length], w[:length], length_penalty)
            for i, p, w, length in zip(*sentence, strict=True)
            if length
        ]
        for sentence in zip(*columns, strict=True)
    ]


class EnsembleDecoder:
    """Averages the predictions of its members for the next word, and their attention.

    Probabilities are averaged, not their logarithms. Their mean is a distribution, so everything about
    scores, loss and samples holds for an ensemble too; its loss is never above the mean of its members'
    losses; and no single member can veto a word that it hardly knows.

    The members read the same sentences, know the same V ids and have the same S source positions. The
    state is that of the first member, followed by that of the second, and so on.
    """

    def __init__(self, members: Sequence[Decoder]) -> None:
        self._members = members
        self._parts = [len(member.start()) for member in members]  # of the state

    @property
    def sentences(self) -> int:
        return self._members[0].sentences

    def start(self) -> State:
        return tuple(part for member in self._members for part in member.start())

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        rest, log_probs, weights = iter(state), [], []
        new_state: list[Array] = []
        for member, parts in zip(self._members, self._parts, strict=True):
            its_log_probs, its_weights, its_state = member.step(tokens, tuple(islice(rest, parts)))
            log_probs.append(its_log_probs)
            weights.append(its_weights)
            new_state += its_state
        return mean_of_probabilities(log_probs), sum(weights) / len(weights), tuple(new_state)

    def keep(self, sentences: Array) -> "EnsembleDecoder":
        return EnsembleDecoder([member.keep(sentences) for member in self._members])


def mean_of_probabilities(log_probs: Sequence[Array]) -> Array:
    """Returns the logarithm of the mean of the members' probabilities, given their logarithms.

    Adds one member at a time: on a CPU that takes a sixth of the time of `logsumexp` over all stacked.
    """
    return reduce(namespace(log_probs[0]).logaddexp, log_probs) - math.log(len(log_probs))


class PrefixDecoder:
    """Gives probability to no other word than the given ones, as long as there are any; they keep their own.

    A search steps through it once, from the start, as searches do.
    """

    def __init__(self, decoder: Decoder, ids: Sequence[int], position: int = 0) -> None:
        self._decoder = decoder
        self._ids = ids
        self._position = position  # how many words were predicted

    @property
    def sentences(self) -> int:
        return self._decoder.sentences

    def start(self) -> State:
        return self._decoder.start()

    def step(self, tokens: Array, state: State) -> tuple[Array, Array, State]:
        log_probs, weights, state = self._decoder.step(tokens, state)
        if self._position < len(self._ids):
            only = self._ids[self._position]
            own = log_probs[..., only]
            log_probs = namespace(log_probs).full_like(log_probs, -math.inf)
            log_probs[..., only] = own
        self._position += 1
        return log_probs, weights, state

    def keep(self, sentences: Array) -> "PrefixDecoder":
        return PrefixDecoder(self._decoder.keep(sentences), self._ids, self._position)
