"""Every attention mechanism, side by side.

A mechanism decides how much of each word representation h_1 ... h_S a decoder state g_i takes. All
mechanisms are called in the same way,

    context, weights = mechanism(queries, states, mask)

B sentences, T target positions (one or all of them at once), S source positions, Q the size of a decoder
state, V that of a word representation.

    queries (B, T, Q)   g_i
    states  (B, S, V)   h_t
    mask    (B, S)      True on real words; None if there is no padding. In a Transformer's decoder, which
                        must not see the words to come, (1, T, S)
    context (B, T, V)   a_i = sum_t alpha_it v_t
    weights (B, T, S)   alpha_it >= 0, summing to 1 over real words, 0 on padding

With `need_weights=False` the weights are None, and torch's fused kernel may compute the same context
without storing them.

To add a mechanism, write its class here and add an entry to `augenmerk.base.entries`. A mechanism can also
be in your own file: see `augenmerk.model.custom`.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from augenmerk.base.config import ModelConfig
from augenmerk.base.entries import MECHANISMS
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.decoder import Memory as Memory


class Attention(nn.Module):
    """The base class of all mechanisms: keys computed once, scores, softmax over real words, weighted sum.

    A mechanism defines `keys` and `scores`. If its scores are a scaled dot product, it also defines
    `fused_query`, so that torch's fused kernel can be used. `from_config` builds it from the settings.
    """

    selective: ClassVar[bool] = True
    """Whether the weights depend on the words, so that the largest one tells which word was attended to."""

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:  # noqa: ARG003
        """Builds the mechanism for the sizes in the settings. One without parameters needs none of them."""
        return cls()

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
                context = F.scaled_dot_product_attention(
                    fused[0], memory.keys, memory.values, attn_mask=for_queries(memory.mask), scale=fused[1]
                )
                return context, None
        weights = masked_softmax(self.scores(queries, memory), memory.mask)  # (B, T, S)
        return self.mix(weights, memory), weights if need_weights else None

    def weights(self, queries: Tensor, memory: Memory) -> Tensor:
        """Returns the weights that `mix` takes: (B, T, S), or (B, N, T, S) for a mechanism with N heads."""
        weights = self.attend(queries, memory)[1]
        assert weights is not None
        return weights

    def mix(self, weights: Tensor, memory: Memory) -> Tensor:
        """Returns the context vector for each query, (B, T, V): a_i = sum_t alpha_it v_t."""
        context: Tensor = weights @ memory.values
        return context

    def keys(self, states: Tensor) -> Tensor:
        return states

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        """Returns the scores before the softmax, (B, T, S)."""
        raise NotImplementedError

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float] | None:  # noqa: ARG002
        """Returns q and a scale if the scores are scale * q @ keys^T, otherwise None."""
        return None

    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds of the projections for one source position and one target position."""
        size = {name.removesuffix(".weight"): weight.numel() for name, weight in self.named_parameters()}
        return (
            sum(size.get(name, 0) for name in ("W", "W_k", "W_v")),
            sum(size.get(name, 0) for name in ("W_q", "W_a")),
        )


def apply(layer: nn.Linear, x: Tensor) -> Tensor:
    """Returns layer(x) with a type that mypy knows."""
    return F.linear(x, layer.weight, layer.bias)


def for_queries(mask: Tensor | None) -> Tensor | None:
    """Returns a mask with a dimension for queries: (B, 1, S), or (1, T, S) as it is."""
    return mask[:, None, :] if mask is not None and mask.dim() == 2 else mask


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Returns the softmax of scores (B, ..., T, S) over real positions. Every sentence has one: its end."""
    mask = for_queries(mask)
    if mask is not None:
        shape = (len(mask), *[1] * (scores.dim() - 3), *mask.shape[1:])
        scores = scores.masked_fill(~mask.view(shape), float("-inf"))
    return scores.softmax(dim=-1)


class NoAttention(Attention):
    """Dummy: attends to nothing.

    a_i = 0, alpha = 0
    """

    selective = False

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

    selective = False

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

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        return cls(config.query_size, config.value_size, config.key)

    def keys(self, states: Tensor) -> Tensor:
        return apply(self.W_k, states)

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        scores: Tensor = apply(self.W_q, queries) @ memory.keys.mT * self.scale
        return scores

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float]:
        return self.W_q(queries), self.scale


class DotAttention(Attention):
    """The dot product without parameters (Luong's "dot").

    alpha_it = softmax_t(g_i . (hf_t + hb_t))

    A GRU's h_t = [hf_t, hb_t] is twice as long as g_i; adding its two halves makes a product possible. In a
    Transformer both have the same size, and alpha_it = softmax_t(g_i . h_t).
    """

    def __init__(self, *, add_halves: bool = True) -> None:
        super().__init__()
        self.add_halves = add_halves

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        return cls(add_halves=config.value_size == 2 * config.query_size)

    def keys(self, states: Tensor) -> Tensor:
        if not self.add_halves:
            return states
        forward, backward = states.chunk(2, dim=-1)
        return forward + backward

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        scores: Tensor = queries @ memory.keys.mT
        return scores

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float]:
        return queries, 1.0


class BilinearAttention(Attention):
    """A matrix between the two (Luong's "general").

    alpha_it = softmax_t(g_i^T W h_t)
    """

    def __init__(self, query: int, value: int) -> None:
        super().__init__()
        self.W = nn.Linear(value, query, bias=False)

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        return cls(config.query_size, config.value_size)

    def keys(self, states: Tensor) -> Tensor:
        return apply(self.W, states)  # on the source side, where it is done once for all target positions

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        scores: Tensor = queries @ memory.keys.mT
        return scores

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

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        return cls(config.query_size, config.value_size, config.key)

    def keys(self, states: Tensor) -> Tensor:
        return apply(self.W_k, states)

    def scores(self, queries: Tensor, memory: Memory) -> Tensor:
        q = self.W_q(queries)[:, :, None, :]  # (B, T, 1, K)
        return apply(self.w, torch.tanh(q + memory.keys[:, None, :, :])).squeeze(-1)  # (B, T, S)


class MultiHeadAttention(Attention):
    """Several scaled dot products side by side, each with its own keys, queries and values.

    q^n = W_q^n g_i,  k_t^n = W_k^n h_t,  v_t^n = W_v^n h_t,  a_i = W_a [a_i^1, ..., a_i^N]

    The weights returned are the mean over the heads.
    """

    def __init__(self, query: int, value: int, key: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(query, key, bias=False)
        self.W_k = nn.Linear(value, key, bias=False)
        self.W_v = nn.Linear(value, key, bias=False)
        self.W_a = nn.Linear(key, value, bias=False)
        self.scale = 1 / math.sqrt(key // heads)
        self.dropout = dropout
        """The share of weights that training sets to 0; those returned are without it."""

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        return cls(config.query_size, config.value_size, config.key, config.heads)

    def memory(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        return Memory(self.W_k(states), self.W_v(states), mask)

    def attend(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        if not need_weights:
            q, k = self.split_queries_and_keys(queries, memory)
            v, mask = self._split(memory.values), for_queries(memory.mask)
            mask = None if mask is None else mask[:, None]
            dropout = self.dropout if self.training else 0.0
            heads = F.scaled_dot_product_attention(q, k, v, mask, dropout, scale=self.scale)
            return self.W_a(self._join(heads)), None
        weights = self.weights(queries, memory)
        return self.mix(weights, memory), weights.mean(dim=1)

    def weights(self, queries: Tensor, memory: Memory) -> Tensor:
        q, k = self.split_queries_and_keys(queries, memory)
        return masked_softmax(q @ k.mT * self.scale, memory.mask)  # (B, N, T, S)

    def split_queries_and_keys(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Returns the queries (B, N, T, K / N) and the keys (B, N, S, K / N) of each head."""
        return self._split(self.W_q(queries)), self._split(memory.keys)

    def mix(self, weights: Tensor, memory: Memory) -> Tensor:
        return apply(self.W_a, self._join(weights @ self._split(memory.values)))

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (B, N, T or S, K / N)

    def _join(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)  # (B, T, K)


@dataclass(frozen=True)
class CustomMechanism:
    """A mechanism in the user's own file, as it was when it was loaded: see `custom.py`."""

    torch_class: type[Attention]
    path: Path
    source: bytes
    replaced: Path | None = None
    """A different file of the same name that was loaded before, under the same name in the settings."""


CUSTOM_MECHANISMS: dict[str, CustomMechanism] = {}
"""The custom mechanisms that were loaded, by their names in the settings."""


def find_mechanism(name: str) -> type[Attention]:
    """Returns the class of a mechanism; raises AugenmerkError if it is in a file that was not loaded."""
    if name in MECHANISMS:
        bundled: type[Attention] = resolve_name(MECHANISMS[name].torch_class)
        return bundled
    if name not in CUSTOM_MECHANISMS:
        raise AugenmerkError(
            f"The attention mechanism '{name}' is code in your own file, which runs only if you name it: "
            f"give --attention PATH/{name}."
        )
    return CUSTOM_MECHANISMS[name].torch_class


def make_attention(config: ModelConfig) -> Attention:
    """Builds the mechanism that the settings name."""
    mechanism = find_mechanism(config.attention)
    try:
        return mechanism.from_config(config)
    except Exception as error:
        if config.attention in MECHANISMS:
            raise
        raise AugenmerkError(
            f"The attention mechanism '{config.attention}' cannot be built ({type(error).__name__}: "
            f"{error}); a class whose __init__ takes sizes needs the class method from_config(cls, config), "
            f"which returns it for [model]."
        ) from None


class _SingleQuery(Attention):
    """The contract of the course code (CS539, homework on attention): one query, time first.

    hidden (batch, dec_hid_dim), encoder_outputs (src_len, batch, 2 * enc_hid_dim)
    -> attended_val (batch, 2 * enc_hid_dim), alpha (batch, src_len)
    """

    def forward(  # type: ignore[override]  # the original contract, not ours
        self, hidden: Tensor, encoder_outputs: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        memory = self.memory(encoder_outputs.transpose(0, 1), mask)
        context, weights = self.attend(hidden[:, None, :], memory)
        assert weights is not None
        return context[:, 0], weights[:, 0]


class SingleQueryScaledDotProductAttention(_SingleQuery, ScaledDotAttention):
    """Scaled dot product with the contract of the original course code."""

    def __init__(self, enc_hid_dim: int, dec_hid_dim: int, kq_dim: int = 512) -> None:
        super().__init__(dec_hid_dim, 2 * enc_hid_dim, kq_dim)


class Dummy(_SingleQuery, NoAttention):
    """Attends to nothing, with the contract of the original course code."""

    def __init__(self, dev: str | torch.device | None = None) -> None:
        super().__init__()
        self.dev = dev  # kept for the course code, which reads it; results are where the inputs are


class MeanPool(_SingleQuery, MeanAttention):
    """Attends equally to every word, with the contract of the original course code."""
