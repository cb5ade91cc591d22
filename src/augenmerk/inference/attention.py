"""Every attention mechanism in numpy, in the order and the letters of `augenmerk.model.attention`.

B sentences, T queries of each, S source positions, Q the size of a decoder state, V that of a word
representation, N heads.
"""

import math
from pkgutil import resolve_name
from typing import ClassVar

import numpy as np

from augenmerk.base.config import ModelConfig
from augenmerk.base.entries import MECHANISMS
from augenmerk.inference.model import Floats, Layer, Linear, Mask, Weights, softmax
from augenmerk.search.decoder import Memory


class Attention:
    """The base class of all mechanisms: keys computed once, scores, softmax over real words, weighted sum."""

    selective: ClassVar[bool] = True
    """Whether the weights depend on the words, so that the largest one tells which word was attended to."""
    heads: int = 1
    projection: Layer | None = None
    """What values are multiplied with: see `project_context`."""

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        """Takes the mechanism's weights; one without parameters takes none."""

    def project_context(self, W: Linear) -> None:
        """Makes `mix` return W a_i instead of a_i, if W has no bias.

        Since a_i is a weighted sum of values, W can be applied to the values, once for each source word.
        """
        self.projection = W

    def memory(self, states: Floats, mask: Mask | None = None) -> Memory:
        """Returns keys and values of word representations (B, S, V)."""
        values = states if self.projection is None else self.projection(states)
        return Memory(self.keys(states), values, mask)

    def attend(self, queries: Floats, memory: Memory) -> tuple[Floats, Floats]:
        """Returns the context for each query, (B, T, V), and the weights (B, T, S), their mean over heads."""
        weights = self.weights(queries, memory)  # (B, N, T, S)
        return self.mix(weights, memory), weights[:, 0] if self.heads == 1 else weights.mean(axis=1)

    def weights(self, queries: Floats, memory: Memory) -> Floats:
        """Returns the weights of each head, (B, N, T, S)."""
        return masked_softmax(self.scores(queries, memory)[:, None], memory.mask)

    def mix(self, weights: Floats, memory: Memory) -> Floats:
        """Returns the context for each query, (B, T, V): a_i = sum_t alpha_it v_t."""
        context: Floats = weights[:, 0] @ memory.values
        return context

    def keys(self, states: Floats) -> Floats:
        return states

    def scores(self, queries: Floats, memory: Memory) -> Floats:
        """Returns the scores before the softmax, (B, T, S); by default the product of queries and keys."""
        scores: Floats = queries @ memory.keys.mT
        return scores


def masked_softmax(scores: Floats, mask: Mask | None) -> Floats:
    """Returns the softmax of scores (B, N, T, S) over real positions. Every sentence has one: its end."""
    if mask is not None and not mask.all():
        mask = mask[:, None, None] if mask.ndim == 2 else mask[:, None]
        scores = np.where(mask, scores, np.float32(-np.inf))
    return softmax(scores)


class NoAttention(Attention):
    """Dummy: attends to nothing.

    a_i = 0, alpha = 0
    """

    selective = False

    def weights(self, queries: Floats, memory: Memory) -> Floats:
        B, T, _ = queries.shape
        return np.zeros((B, 1, T, memory.values.shape[1]), queries.dtype)


class MeanAttention(Attention):
    """MeanPool: attends equally to every word.

    alpha_it = 1 / S
    """

    selective = False

    def scores(self, queries: Floats, memory: Memory) -> Floats:
        B, T, _ = queries.shape
        return np.zeros((B, T, memory.values.shape[1]), queries.dtype)


class ScaledDotAttention(Attention):
    """Scaled dot product, equations 1, 2 and 13 to 15.

    q = W_q g_i,  k_t = W_k h_t,  v_t = h_t,  alpha_it = softmax_t(q . k_t / sqrt(K))

    Since q . k_t = g_i . (W_q^T W_k h_t), one matrix on the source side takes the place of both, unless that
    would make keys longer.
    """

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        W_q = weights.linear("W_q", config.query_size, config.key, bias=False)
        W_k = weights.linear("W_k", config.value_size, config.key, bias=False)
        scale = 1 / math.sqrt(config.key)
        self.W_q: Layer | None = None
        if config.query_size <= config.key:
            self.W_k: Layer = Linear(W_k.weight @ (scale * W_q.weight.T), None)
        else:
            self.W_q, self.W_k = Linear(scale * W_q.weight, None), W_k

    def keys(self, states: Floats) -> Floats:
        return self.W_k(states)

    def scores(self, queries: Floats, memory: Memory) -> Floats:
        return super().scores(queries if self.W_q is None else self.W_q(queries), memory)


class DotAttention(Attention):
    """The dot product without parameters (Luong's "dot").

    alpha_it = softmax_t(g_i . (hf_t + hb_t)), or softmax_t(g_i . h_t) in a Transformer
    """

    def __init__(self, config: ModelConfig, weights: Weights) -> None:  # noqa: ARG002
        self.add_halves = config.value_size == 2 * config.query_size

    def keys(self, states: Floats) -> Floats:
        if not self.add_halves:
            return states
        half = states.shape[-1] // 2
        return states[..., :half] + states[..., half:]


class BilinearAttention(Attention):
    """A matrix between the two (Luong's "general").

    alpha_it = softmax_t(g_i^T W h_t)
    """

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        self.W = weights.linear("W", config.value_size, config.query_size, bias=False)

    def keys(self, states: Floats) -> Floats:
        return self.W(states)  # on the source side, where it is done once for all target positions


class AdditiveAttention(Attention):
    """A small network instead of a product (Bahdanau).

    alpha_it = softmax_t(w . tanh(W_q g_i + W_k h_t + b))
    """

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        self.W_q = weights.linear("W_q", config.query_size, config.key, bias=False)
        self.W_k = weights.linear("W_k", config.value_size, config.key)
        self.w = weights.linear("w", config.key, 1, bias=False)

    def keys(self, states: Floats) -> Floats:
        return self.W_k(states)

    def scores(self, queries: Floats, memory: Memory) -> Floats:
        q = self.W_q(queries)[:, :, None, :]  # (B, T, 1, K)
        return self.w(np.tanh(q + memory.keys[:, None, :, :]))[..., 0]  # (B, T, S)


class MultiHeadAttention(Attention):
    """Several scaled dot products side by side, each with its own keys, queries and values.

    q^n = W_q^n g_i,  k_t^n = W_k^n h_t,  v_t^n = W_v^n h_t,  a_i = W_a [a_i^1, ..., a_i^N]
    """

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        Q, V, K = config.query_size, config.value_size, config.key
        self.heads = config.heads
        self.W_q = weights.linear("W_q", Q, K, bias=False)
        self.W_k = weights.linear("W_k", V, K, bias=False)
        self.W_v = weights.linear("W_v", V, K, bias=False)
        self.W_a = weights.linear("W_a", K, V, bias=False)
        self.scale = 1 / math.sqrt(K // config.heads)

    def project_context(self, W: Linear) -> None:
        self.W_a = Linear(self.W_a.weight @ W.weight, None)

    def memory(self, states: Floats, mask: Mask | None = None) -> Memory:
        return Memory(self.W_k(states), self.W_v(states), mask)

    def weights(self, queries: Floats, memory: Memory) -> Floats:
        q, k = self.split_queries_and_keys(queries, memory)
        return masked_softmax(q @ k.mT * self.scale, memory.mask)  # (B, N, T, S)

    def split_queries_and_keys(self, queries: Floats, memory: Memory) -> tuple[Floats, Floats]:
        """Returns the queries (B, N, T, K / N) and the keys (B, N, S, K / N) of each head."""
        return self._split(self.W_q(queries)), self._split(memory.keys)

    def mix(self, weights: Floats, memory: Memory) -> Floats:
        heads = weights @ self._split(memory.values)  # (B, N, T, K / N)
        B, _, T, _ = heads.shape
        return self.W_a(heads.swapaxes(1, 2).reshape(B, T, -1))

    def _split(self, x: Floats) -> Floats:
        return x.reshape(*x.shape[:2], self.heads, -1).swapaxes(1, 2)  # (B, N, T or S, K / N)


def make_attention(config: ModelConfig, weights: Weights) -> Attention:
    """Builds the mechanism that the settings name, of which `ModelConfig.runs_in` knows that it is here."""
    attention: Attention = resolve_name(MECHANISMS[config.attention].numpy_class or "")(config, weights)
    return attention
