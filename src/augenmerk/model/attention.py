"""Every attention mechanism, side by side.

A mechanism answers one question: a decoder state g_i looks at the word representations h_1 ... h_S; how
much of each does it take? All are called alike,

    context, weights = mechanism(queries, states, mask)

B sentences, T target positions (one or all of them at once), S source positions, Q the size of a decoder
state, V that of a word representation.

    queries (B, T, Q)   g_i
    states  (B, S, V)   h_t
    mask    (B, S)      True on real words; None if there is no padding
    context (B, T, V)   a_i = sum_t alpha_it v_t
    weights (B, T, S)   alpha_it >= 0, summing to 1 over real words, 0 on padding

With `need_weights=False` the weights are None, and torch's fused kernel may compute the same context
without ever writing them down.

To add a mechanism, write its class here, add a line to `make_attention`, and its name to
`augenmerk.config.AttentionName`.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from augenmerk.config import ModelConfig


class Memory(NamedTuple):
    """What of the source a mechanism looks at: made once for a sentence, used at every target position."""

    keys: Tensor  # (B, S, K); what they are is the mechanism's own business
    values: Tensor  # (B, S, V)
    mask: Tensor | None  # (B, S)

    def keep(self, sentences: Tensor) -> "Memory":
        """The memory of these of its sentences."""
        mask = None if self.mask is None else self.mask.index_select(0, sentences)
        return Memory(self.keys.index_select(0, sentences), self.values.index_select(0, sentences), mask)


class Attention(nn.Module):
    """What all mechanisms share: keys made once, scores, softmax over real words, weighted sum.

    A mechanism defines `keys` and `scores`; and `fused_query` if its scores are a scaled dot product, so
    that torch's fused kernel applies.
    """

    def forward(
        self, queries: Tensor, states: Tensor, mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        return self.attend(queries, self.memory(states, mask), need_weights=need_weights)

    def memory(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        return Memory(self.keys(states), states, mask)

    def attend(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        if not need_weights:
            fused = self.fused_query(queries)
            if fused is not None:
                mask = None if memory.mask is None else memory.mask[:, None, :]  # (B, 1, S)
                context = F.scaled_dot_product_attention(
                    fused[0], memory.keys, memory.values, attn_mask=mask, scale=fused[1]
                )
                return context, None
        weights = masked_softmax(self.scores(queries, memory), memory.mask)  # (B, T, S)
        return self.mix(weights, memory), weights if need_weights else None

    def weights(self, queries: Tensor, memory: Memory) -> Tensor:
        """What `mix` takes: (B, T, S), or of each of N heads (B, N, T, S)."""
        weights = self.attend(queries, memory)[1]
        assert weights is not None
        return weights

    def mix(self, weights: Tensor, memory: Memory) -> Tensor:
        """The context (B, T, V) that weights give, wherever they come from: a_i = sum_t alpha_it v_t."""
        return weights @ memory.values

    def keys(self, states: Tensor) -> Tensor:
        return states

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        """(B, T, S), before the softmax."""
        raise NotImplementedError

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float] | None:  # noqa: ARG002
        """q and the scale, if the scores are scale * q @ keys^T."""
        return None


def apply(layer: nn.Linear, x: Tensor) -> Tensor:
    """layer(x), with a type."""
    return F.linear(x, layer.weight, layer.bias)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the source positions that are real. Every sentence has one: its end."""
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, :], float("-inf"))
    return scores.softmax(dim=-1)


class NoAttention(Attention):
    """Dummy: attends to nothing.

    a_i = 0, alpha = 0
    """

    def attend(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        B, T, _ = queries.shape
        context = memory.values.new_zeros(B, T, memory.values.shape[2])
        return context, memory.values.new_zeros(B, T, memory.values.shape[1]) if need_weights else None


class MeanAttention(Attention):
    """MeanPool: attends equally to every word.

    alpha_it = 1 / S
    """

    def attend(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        values, mask = memory.values, memory.mask
        B, S, _ = values.shape
        real = values.new_ones(B, S) if mask is None else mask.to(values.dtype)
        weights = real / real.sum(dim=1, keepdim=True)  # (B, S)
        T = queries.shape[1]
        context = (weights[:, None, :] @ values).expand(-1, T, -1)  # (B, T, V)
        return context, weights[:, None, :].expand(-1, T, -1) if need_weights else None


class ScaledDotAttention(Attention):
    """Scaled dot product, equations 1, 2 and 13 to 15.

    q = W_q g_i,  k_t = W_k h_t,  v_t = h_t,  alpha_it = softmax_t(q . k_t / sqrt(K))
    """

    def __init__(self, query: int, value: int, key: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(query, key, bias=False)
        self.W_k = nn.Linear(value, key, bias=False)
        self.scale = 1 / math.sqrt(key)

    def keys(self, states: Tensor) -> Tensor:
        return apply(self.W_k, states)

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        return apply(self.W_q, queries) @ memory.keys.mT * self.scale

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float]:
        return self.W_q(queries), self.scale


class DotAttention(Attention):
    """The dot product without parameters (Luong's "dot").

    alpha_it = softmax_t(g_i . (hf_t + hb_t))

    h_t = [hf_t, hb_t] is twice as long as g_i; adding its two halves makes a product possible.
    """

    def keys(self, states: Tensor) -> Tensor:
        forward, backward = states.chunk(2, dim=-1)
        return forward + backward

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        return queries @ memory.keys.mT

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float]:
        return queries, 1.0


class BilinearAttention(Attention):
    """A matrix between the two (Luong's "general").

    alpha_it = softmax_t(g_i^T W h_t)
    """

    def __init__(self, query: int, value: int) -> None:
        super().__init__()
        self.W = nn.Linear(value, query, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        return apply(self.W, states)  # on the source side, where it is done once for all target positions

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        return queries @ memory.keys.mT

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float]:
        return queries, 1.0


class AdditiveAttention(Attention):
    """A small network instead of a product (Bahdanau).

    alpha_it = softmax_t(w . tanh(W_q g_i + W_k h_t + b))
    """

    def __init__(self, query: int, value: int, key: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(query, key, bias=False)
        self.W_k = nn.Linear(value, key)
        self.w = nn.Linear(key, 1, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        return apply(self.W_k, states)

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        q = self.W_q(queries)[:, :, None, :]  # (B, T, 1, K)
        return apply(self.w, torch.tanh(q + memory.keys[:, None, :, :])).squeeze(-1)  # (B, T, S)


class MultiHeadAttention(Attention):
    """Several scaled dot products side by side, each with keys, queries and values of its own.

    q^n = W_q^n g_i,  k_t^n = W_k^n h_t,  v_t^n = W_v^n h_t,  a_i = W_a [a_i^1, ..., a_i^N]

    The weights returned are the mean over the heads.
    """

    def __init__(self, query: int, value: int, key: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(query, key, bias=False)
        self.W_k = nn.Linear(value, key, bias=False)
        self.W_v = nn.Linear(value, key, bias=False)
        self.W_a = nn.Linear(key, value, bias=False)
        self.scale = 1 / math.sqrt(key // heads)

    def memory(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        return Memory(self.W_k(states), self.W_v(states), mask)

    def attend(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        if not need_weights:
            q, k, v = self._split(self.W_q(queries)), self._split(memory.keys), self._split(memory.values)
            mask = None if memory.mask is None else memory.mask[:, None, None, :]  # (B, 1, 1, S)
            heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale)
            return self.W_a(self._join(heads)), None
        weights = self.weights(queries, memory)
        return self.mix(weights, memory), weights.mean(dim=1)

    def weights(self, queries: Tensor, memory: Memory) -> Tensor:
        scores = self._split(self.W_q(queries)) @ self._split(memory.keys).mT * self.scale  # (B, N, T, S)
        if memory.mask is not None:
            scores = scores.masked_fill(~memory.mask[:, None, None, :], float("-inf"))
        return scores.softmax(dim=-1)

    def mix(self, weights: Tensor, memory: Memory) -> Tensor:
        return apply(self.W_a, self._join(weights @ self._split(memory.values)))

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (B, N, T or S, K / N)

    def _join(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)  # (B, T, K)


def make_attention(config: ModelConfig) -> Attention:
    """The mechanism that the settings name."""
    query, value, key = config.hidden, 2 * config.hidden, config.key
    match config.attention:
        case "none":
            return NoAttention()
        case "mean":
            return MeanAttention()
        case "scaled-dot":
            return ScaledDotAttention(query, value, key)
        case "dot":
            return DotAttention()
        case "bilinear":
            return BilinearAttention(query, value)
        case "additive":
            return AdditiveAttention(query, value, key)
        case "multi-head":
            return MultiHeadAttention(query, value, key, config.heads)


class SingleQueryScaledDotProductAttention(ScaledDotAttention):
    """Scaled dot product with the contract of the original course code: one query, time first.

    hidden (batch, dec_hid_dim), encoder_outputs (src_len, batch, 2 * enc_hid_dim)
    -> attended_val (batch, 2 * enc_hid_dim), alpha (batch, src_len)
    """

    def __init__(self, enc_hid_dim: int, dec_hid_dim: int, kq_dim: int = 512) -> None:
        super().__init__(dec_hid_dim, 2 * enc_hid_dim, kq_dim)

    def forward(  # type: ignore[override]  # the original contract, not ours
        self, hidden: Tensor, encoder_outputs: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        return _single_query(self, hidden, encoder_outputs, mask)


class Dummy(NoAttention):
    """Attends to nothing, with the contract of `SingleQueryScaledDotProductAttention`."""

    def __init__(self, dev: str | torch.device | None = None) -> None:
        super().__init__()
        self.dev = dev  # kept for the course code, which reads it; results are where the inputs are

    def forward(  # type: ignore[override]
        self, hidden: Tensor, encoder_outputs: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        return _single_query(self, hidden, encoder_outputs, mask)


class MeanPool(MeanAttention):
    """Attends equally to every word, with the contract of `SingleQueryScaledDotProductAttention`."""

    def forward(  # type: ignore[override]
        self, hidden: Tensor, encoder_outputs: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        return _single_query(self, hidden, encoder_outputs, mask)


def _single_query(
    mechanism: Attention, hidden: Tensor, encoder_outputs: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """One query a sentence and time first, on a mechanism that takes many and the batch first."""
    memory = mechanism.memory(encoder_outputs.transpose(0, 1), mask)
    context, weights = mechanism.attend(hidden[:, None, :], memory)
    assert weights is not None
    return context[:, 0], weights[:, 0]
