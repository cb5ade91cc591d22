"""The mechanisms that are most often compared, in the letters of the specification."""

import math
from typing import Any

from augenmerk.base.arrays import Array
from augenmerk.mechanisms.arrays import join_heads, real_words, split_heads, tanh, total, zeros_like
from augenmerk.mechanisms.mechanism import Layers, Mechanism, Memory


class Nothing(Mechanism):
    """Dummy: attends to nothing.

    a_i = 0, alpha = 0
    """

    selective = False

    def weights(self, queries: Array, memory: Memory) -> Array:  # noqa: ARG002
        return zeros_like(memory.values[..., 0])[:, None]  # (B, 1, S)


class Mean(Mechanism):
    """MeanPool: attends equally to every word.

    alpha_it = 1 / S
    """

    selective = False

    def weights(self, queries: Array, memory: Memory) -> Array:  # noqa: ARG002
        real = real_words(memory)
        return real / total(real)  # (B, 1, S)


class ScaledDot(Mechanism):
    """Scaled dot product, equations 1, 2 and 13 to 15.

    q = W_q g_i,  k_t = W_k h_t,  v_t = h_t,  alpha_it = softmax_t(q . k_t / sqrt(K))
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        self.W_q = layers.linear("W_q", config.query_size, config.key, bias=False)
        self.W_k = layers.linear("W_k", config.value_size, config.key, bias=False)
        self.scale = 1 / math.sqrt(config.key)

    def keys(self, states: Array) -> Array:
        return self.W_k(states)

    def product(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        return self.W_q(queries), memory.keys


class Dot(Mechanism):
    """The dot product without parameters (Luong's "dot").

    alpha_it = softmax_t(g_i . (hf_t + hb_t))

    A GRU's h_t = [hf_t, hb_t] is twice as long as g_i; adding its two halves makes a product possible. In a
    Transformer both have the same size, and alpha_it = softmax_t(g_i . h_t).
    """

    def __init__(self, config: Any, layers: Layers) -> None:  # noqa: ARG002
        self.forward_size = config.query_size if config.value_size == 2 * config.query_size else None

    def keys(self, states: Array) -> Array:
        half = self.forward_size
        return states if half is None else states[..., :half] + states[..., half:]

    def product(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        return queries, memory.keys


class Bilinear(Mechanism):
    """A matrix between the two (Luong's "general").

    alpha_it = softmax_t(g_i^T W h_t)
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        self.W = layers.linear("W", config.value_size, config.query_size, bias=False)

    def keys(self, states: Array) -> Array:
        return self.W(states)  # on the source side, where it is done once for all target positions

    def product(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        return queries, memory.keys


class Additive(Mechanism):
    """A small network instead of a product (Bahdanau).

    alpha_it = softmax_t(w . tanh(W_q g_i + W_k h_t + b))
    """

    def __init__(self, config: Any, layers: Layers) -> None:
        self.W_q = layers.linear("W_q", config.query_size, config.key, bias=False)
        self.W_k = layers.linear("W_k", config.value_size, config.key)
        self.w = layers.linear("w", config.key, 1, bias=False)

    def keys(self, states: Array) -> Array:
        return self.W_k(states)

    def scores(self, queries: Array, memory: Memory) -> Array:
        q = self.W_q(queries)[:, :, None, :]  # (B, T, 1, K)
        return self.w(tanh(q + memory.keys[:, None, :, :]))[..., 0]  # (B, T, S)


class MultiHead(Mechanism):
    """Several scaled dot products side by side, each with its own keys, queries and values.

    q^n = W_q^n g_i,  k_t^n = W_k^n h_t,  v_t^n = W_v^n h_t,  a_i = W_a [a_i^1, ..., a_i^N]
    """

    has_heads = True

    def __init__(self, config: Any, layers: Layers) -> None:
        Q, V, K = config.query_size, config.value_size, config.key
        self.heads = config.heads
        self.W_q = layers.linear("W_q", Q, K, bias=False)
        self.W_k = layers.linear("W_k", V, K, bias=False)
        self.W_v = layers.linear("W_v", V, K, bias=False)
        self.W_a = layers.linear("W_a", K, V, bias=False)
        self.scale = 1 / math.sqrt(K // config.heads)

    def keys(self, states: Array) -> Array:
        return self.W_k(states)

    def values(self, states: Array) -> Array:
        return self.W_v(states)

    def product(self, queries: Array, memory: Memory) -> tuple[Array, Array]:
        return self.split(self.W_q(queries)), self.split(memory.keys)  # (B, N, T or S, K / N)

    def split(self, values: Array) -> Array:
        return split_heads(values, self.heads)

    def join(self, context: Array) -> Array:
        return self.W_a(join_heads(context))
