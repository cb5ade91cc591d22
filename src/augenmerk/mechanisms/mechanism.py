"""What a mechanism defines, and what follows from that in every library.

A mechanism decides how much of each word representation h_1 ... h_S a decoder state g_i takes:

    queries (B, T, Q)       g_i
    states  (B, S, V)       h_t
    mask    (B, S)          True on real words; None if there is no padding
    weights (B, [N,] T, S)  alpha_it >= 0, summing to 1 over real words, 0 on padding
    context (B, T, V)       a_i = sum_t alpha_it v_t
"""

from typing import Any, ClassVar, NamedTuple, Protocol

from augenmerk.base.arrays import Array
from augenmerk.mechanisms.arrays import concat, library, masked_softmax

State = tuple[Array, ...]
"""What is remembered from one target position to the next: arrays (B, K, ...)."""


class Memory(NamedTuple):
    """Keys and values of the source: computed once for a sentence, used at every target position."""

    keys: Array  # (B, S, size of a key), in a Transformer (B, S, L, size of a key)
    values: Array  # likewise
    mask: Array | None  # (B, S), or (1, T, S) where it differs from query to query

    def keep(self, sentences: Array) -> "Memory":
        """Returns the memory of the selected sentences only."""
        mask = None if self.mask is None else self.mask[sentences]
        return Memory(self.keys[sentences], self.values[sentences], mask)


class Layers(Protocol):
    """Makes the parameters of a mechanism. The name of each is that of the attribute that keeps it."""

    def linear(self, name: str, inputs: int, outputs: int, *, bias: bool = True) -> Any:
        """Returns a function: W x + b for every vector x in an array (..., inputs)."""

    def parameter(self, name: str, *shape: int, init: float = 0.0) -> Any:
        """Returns an array of a shape, by default one number, which starts with the same value everywhere."""


class Mechanism:
    """The base class of all mechanisms: scores, a softmax over real words, and a weighted sum.

    A mechanism declares its parameters in `__init__` and defines `product`, `scores`, `weights` or, if it
    remembers something from one target position to the next, `start` and `step`. It computes with operators
    and the functions of `augenmerk.mechanisms.arrays` only.
    """

    selective: ClassVar[bool] = True
    """Whether the weights depend on the words, so that the largest one tells which word was attended to."""
    has_heads: ClassVar[bool] = False
    """Whether there are several heads, so that weights are (B, N, T, S)."""
    heads: int = 1
    scale: float = 1.0
    """What the product of queries and keys is multiplied with."""

    def __init__(self, config: Any, layers: Layers) -> None:
        """Declares the parameters; `config` has `query_size`, `value_size`, `key` and `heads`."""

    def keys(self, states: Array) -> Array:
        """Returns what is computed once for each source word, (B, S, any size)."""
        return states

    def values(self, states: Array) -> Array:
        """Returns what the context is a weighted sum of, (B, S, V)."""
        return states

    def product(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        """Returns q and k, if the scores are q k^T times `scale`: torch then has a faster way."""
        raise NotImplementedError

    def scores(self, queries: Array, memory: Memory) -> Array:
        """Returns the scores before the softmax, (B, [N,] T, S)."""
        q, k = self.product(queries, memory)
        scores = q @ k.mT
        return scores if self.scale == 1 else scores * self.scale

    def weights(self, queries: Array, memory: Memory) -> Array:
        """Returns the weights (B, [N,] T, S), or (B, 1, S) if they are the same for all queries."""
        return masked_softmax(self.scores(queries, memory), memory.mask)

    def mix(self, weights: Array, memory: Memory) -> Array:
        """Returns the context for each query, (B, T, V)."""
        return self.join(weights @ self.split(memory.values))

    def split(self, values: Array) -> Array:
        """Returns the values of each head."""
        return values

    def join(self, context: Array) -> Array:
        """Makes one context of those of all heads."""
        return context

    def start(self, memory: Memory) -> State:  # noqa: ARG002
        """Returns the state before the first target position, arrays (B, 1, ...)."""
        return ()

    def step(self, queries: Array, memory: Memory, state: State) -> tuple[Array, State]:
        """Returns the weights at one target position, and the next state.

        There are K hypotheses, each with its own query and state: axis 1 of both.
        """
        raise NotImplementedError

    # What follows is not to be replaced.

    @property
    def has_state(self) -> bool:
        return type(self).start is not Mechanism.start

    def attend(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        """Returns context (B, T, V) and weights (B, T, S), their mean over heads, for whole targets."""
        weights = self.weigh(queries, memory)
        return self.combine(weights, memory), average_heads(weights)

    def advance(self, queries: Array, memory: Memory, state: State) -> tuple[Array, Array, State]:
        """Does the same for one position of K hypotheses, and returns their new states too."""
        if not self.has_state:
            return (*self.attend(queries, memory), ())
        weights, state = self.step(queries, memory, state)
        return self.mix(weights, memory), average_heads(weights) if self.has_heads else weights, tuple(state)

    def weigh(self, queries: Array, memory: Memory) -> Array:
        """Returns the weights of each head for whole targets, (B, N, T, S)."""
        if not self.has_state:
            weights = for_all(self.weights(queries, memory), queries)
        else:
            found, state = [], self.start(memory)
            for t in range(queries.shape[1]):
                at_t, state = self.step(queries[:, t : t + 1], memory, state)
                found.append(at_t)
            weights = concat(found, axis=-2)
        return weights if self.has_heads else weights[:, None]

    def combine(self, weights: Array, memory: Memory) -> Array:
        """Returns the context (B, T, V) for weights (B, N, T, S), such as changed ones."""
        return self.mix(weights if self.has_heads else weights[:, 0], memory)


def average_heads(weights: Array) -> Array:
    """Returns the mean over heads of weights (B, N, T, S)."""
    return weights[:, 0] if weights.shape[1] == 1 else weights.mean(axis=1)


def for_all(x: Array, queries: Array) -> Array:
    """Repeats a row (..., 1, any size) that is the same for all queries (B, T, Q); others have T rows."""
    T = queries.shape[1]
    return x if x.shape[-2] == T else library(x).broadcast_to(x, (*x.shape[:-2], T, x.shape[-1]))
