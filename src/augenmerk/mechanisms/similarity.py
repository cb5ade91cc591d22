"""Other scores than a scaled product, and values that are not the states as they are."""

from typing import Any

from augenmerk.base.arrays import Array
from augenmerk.mechanisms.arrays import exp, minimum, real_words, sigmoid, sqrt, total, where
from augenmerk.mechanisms.classic import ScaledDot
from augenmerk.mechanisms.mechanism import Layers, Mechanism, Memory


def normalise(x: Array) -> Array:
    """Returns vectors of length 1 in the same directions; nearly 0 stays nearly 0."""
    return x / sqrt(total(x * x) + 1e-6)


class Cosine(ScaledDot):
    """The angle between query and key, whatever their lengths.

    alpha_it = softmax_t(c cos(W_q g_i, W_k h_t)), where c is learnt and starts at 10
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        super().__init__(config, layers)
        self.scale = 1.0
        self.c = layers.parameter("c", init=10.0)

    def keys(self, states: Array) -> Array:
        return normalise(self.W_k(states))

    def product(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        return self.c * normalise(self.W_q(queries)), memory.keys


class Linear(Mechanism):
    """A product of positive features, so that sums over the words could be kept instead of the words.

    alpha_it = phi(W_q g_i) . phi(W_k h_t) / sum_u phi(W_q g_i) . phi(W_k h_u),  phi(x) = elu(x) + 1
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        self.W_q = layers.linear("W_q", config.query_size, config.key, bias=False)
        self.W_k = layers.linear("W_k", config.value_size, config.key, bias=False)

    def keys(self, states: Array) -> Array:
        return self._features(self.W_k(states))

    def weights(self, queries: Array, memory: Memory) -> Array:
        scores = self._features(self.W_q(queries)) @ memory.keys.mT * real_words(memory)
        return scores / total(scores)

    def _features(self, x: Array) -> Array:
        return where(x > 0, x + 1, exp(minimum(x, 0.0)))


class Gated(ScaledDot):
    """Scaled dot product with values that a gate can close.

    v_t = sigmoid(W_v h_t + b) h_t, one number for each word
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        super().__init__(config, layers)
        self.W_v = layers.linear("W_v", config.value_size, 1)

    def values(self, states: Array) -> Array:
        return sigmoid(self.W_v(states)) * states
