"""Mechanisms that remember where they looked, from one target position to the next.

Training computes them position by position, so it takes longer.
"""

from typing import Any

from augenmerk.base.arrays import Array
from augenmerk.mechanisms.arrays import (
    concat,
    cumsum,
    exp,
    log_sigmoid,
    masked_softmax,
    maximum,
    minimum,
    positions,
    precise,
    real_words,
    shift,
    tanh,
    total,
    where,
    zeros_like,
)
from augenmerk.mechanisms.classic import Additive, ScaledDot
from augenmerk.mechanisms.mechanism import Layers, Memory, State

REACH = 2
"""How many words to the left and right `location` sees of the weights before."""


class Coverage(Additive):
    """Additive attention that knows how much weight each word has had.

    alpha_it = softmax_t(w . tanh(W_q g_i + W_k h_t + U c_it + b)),  c_it = sum of alpha_jt for all j < i
    """

    features = 1

    def __init__(self, config: Any, layers: Layers) -> None:
        super().__init__(config, layers)
        self.U = layers.linear("U", self.features, config.key, bias=False)

    def start(self, memory: Memory) -> State:
        return (zeros_like(real_words(memory)),)  # (B, 1, S)

    def step(self, queries: Array, memory: Memory, state: State) -> tuple[Array, State]:
        (seen,) = state  # (B, K, S)
        weights = self._weigh(queries, memory, seen[..., None])
        return weights, (seen + weights,)

    def _weigh(self, queries: Array, memory: Memory, seen: Array) -> Array:
        q = self.W_q(queries)[:, :, None, :]  # (B, K, 1, K)
        inside = tanh(q + memory.keys[:, None, :, :] + self.U(seen))  # (B, K, S, K)
        return masked_softmax(self.w(inside)[..., 0], memory.mask)


class Location(Coverage):
    """Additive attention that knows where it looked just before, and beside it.

    alpha_it = softmax_t(w . tanh(W_q g_i + W_k h_t + U [alpha_{i-1,t-2} ... alpha_{i-1,t+2}] + b))
    """

    features = 2 * REACH + 1

    def step(self, queries: Array, memory: Memory, state: State) -> tuple[Array, State]:
        around = [shift(state[0], places)[..., None] for places in range(-REACH, REACH + 1)]
        weights = self._weigh(queries, memory, concat(around))
        return weights, (weights,)


class Monotonic(ScaledDot):
    """Goes from left to right: stops at a word with probability p_it, or goes on to the next; never back.

    p_it = sigmoid(q . k_t / sqrt(K) + r)
    alpha_it = p_it sum_{u <= t} alpha_{i-1,u} prod_{u <= v < t} (1 - p_iv)

    What has not stopped anywhere stops at the last word.
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        super().__init__(config, layers)
        self.r = layers.parameter("r", init=-1.0)

    def start(self, memory: Memory) -> State:
        nothing = zeros_like(real_words(memory))
        return (where(positions(nothing) > 0, nothing, nothing + 1),)  # all weight is on the first word

    def step(self, queries: Array, memory: Memory, state: State) -> tuple[Array, State]:
        real = real_words(memory)
        energy = precise(self.scores(queries, memory)) + self.r  # (B, K, S)
        stop, go = exp(log_sigmoid(energy)) * real, log_sigmoid(-energy) * real
        passed = cumsum(go) - go  # (B, K, S): the logarithm of going past all words before t
        ahead = positions(real)[:, None] >= positions(real)  # (S, S): t is not before u
        between = passed[..., :, None] - passed[..., None, :]  # (B, K, S, S)
        arrive = where(ahead, exp(minimum(between, 0.0)), 0.0) @ state[0][..., None]  # (B, K, S, 1)
        weights = stop * arrive[..., 0]
        last = real - shift(real, -1)
        weights = weights + maximum(1 - total(weights), 0.0) * last
        weights = weights / total(weights)
        return weights, (weights,)
