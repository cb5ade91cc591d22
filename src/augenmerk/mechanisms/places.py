"""Mechanisms that know where in the sentence they look.

p_i = (S - 1) sigmoid(w . tanh(W_p g_i)) is the place that a decoder state asks for; S is the number of words.
"""

from typing import Any

from augenmerk.base.arrays import Array
from augenmerk.mechanisms.arrays import exp, positions, real_words, sigmoid, tanh, total
from augenmerk.mechanisms.classic import ScaledDot
from augenmerk.mechanisms.mechanism import Layers, Mechanism, Memory


class Gaussian(Mechanism):
    """Looks at a place, whatever the words are there.

    alpha_it = softmax_t(-(t - p_i)^2 / (2 sigma^2)), where sigma is learnt
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        self.W_p = layers.linear("W_p", config.query_size, config.key, bias=False)
        self.w = layers.linear("w", config.key, 1, bias=False)
        self.log_sigma = layers.parameter("log_sigma", init=0.5)

    def scores(self, queries: Array, memory: Memory) -> Array:
        return distances(self, queries, memory) * exp(-2 * self.log_sigma) * -0.5


class Local(ScaledDot):
    """A scaled dot product under a window around a place (Luong's "local-p").

    alpha_it = softmax_t(q . k_t / sqrt(K) - (t - p_i)^2 / (2 sigma^2)), sigma = 5 / 2
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        super().__init__(config, layers)
        self.W_p = layers.linear("W_p", config.query_size, config.key, bias=False)
        self.w = layers.linear("w", config.key, 1, bias=False)

    def scores(self, queries: Array, memory: Memory) -> Array:
        return super().scores(queries, memory) - distances(self, queries, memory) / (2 * 2.5**2)


def distances(mechanism: Any, queries: Array, memory: Memory) -> Array:
    """Returns (t - p_i)^2, (B, T, S)."""
    real = real_words(memory)
    p = (total(real) - 1) * sigmoid(mechanism.w(tanh(mechanism.W_p(queries))))  # (B, T, 1)
    away = positions(real) - p
    return away * away
