"""Attention mechanisms in torch, as models call them:

    context, weights = mechanism(queries, states, mask)

`augenmerk.mechanisms` has the mechanisms and the letters. Here each becomes a module with parameters. With
`need_weights=False` the weights are None, and torch's fused kernel may compute the same context without
storing them.
"""

from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from augenmerk.base.config import ModelConfig
from augenmerk.base.entries import MECHANISMS
from augenmerk.base.errors import AugenmerkError
from augenmerk.mechanisms import Mechanism
from augenmerk.mechanisms import Memory as Memory
from augenmerk.mechanisms.arrays import masked_softmax as masked_softmax
from augenmerk.mechanisms.classic import Additive, Bilinear, Dot, Mean, MultiHead, Nothing, ScaledDot
from augenmerk.mechanisms.custom import find_mechanism
from augenmerk.mechanisms.mechanism import average_heads, for_all


class TorchLayers:
    """Makes parameters, which become those of the module whose attributes they are."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def linear(self, name: str, inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
        self.names.append(name)
        return nn.Linear(inputs, outputs, bias=bias)

    def parameter(self, name: str, *shape: int, init: float = 0.0) -> nn.Parameter:
        self.names.append(name)
        return nn.Parameter(torch.full(shape, init))


class Attention(nn.Module, Mechanism):
    """A mechanism as a module of torch, and the base class of mechanisms that are written in torch alone.

    One written in torch alone defines `scores` (and `fused_query`, so that torch's fused kernel can be used),
    or `attend`. `from_config` builds it from the settings.
    """

    dropout: float = 0.0
    """The share of weights that training sets to 0; those returned are without it."""

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:  # noqa: ARG003
        """Builds the mechanism for the sizes in the settings. One without parameters needs none of them."""
        return cls()

    def forward(
        self, queries: Tensor, states: Tensor, mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        return self.attend(queries, self.memory(states, mask), need_weights=need_weights)

    def memory(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        return Memory(self.keys(states), self.values(states), mask)

    def attend(
        self, queries: Tensor, memory: Memory, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        fused = None if need_weights else self.factors(queries, memory)
        if fused is not None:
            q, k, scale = fused
            mask = for_queries(memory.mask)
            context = F.scaled_dot_product_attention(
                q,
                k,
                self.split(memory.values),
                attn_mask=mask[:, None] if mask is not None and q.dim() == 4 else mask,
                dropout_p=self.dropout if self.training else 0.0,
                scale=scale,
            )
            return self.join(context), None
        if self.has_state:
            weights = self.weigh(queries, memory)
            return self.combine(weights, memory), average_heads(weights) if need_weights else None
        weights = self.weights(queries, memory)
        context = for_all(self.mix(weights, memory), queries)
        if not need_weights:
            return context, None
        return context, weights.mean(dim=1) if weights.dim() == 4 else for_all(weights, queries)

    def factors(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor, float] | None:
        """Returns queries, keys and a scale, if the weights are the softmax of their product."""
        fused = self.fused_query(queries)
        if fused is not None:
            return fused[0], memory.keys, fused[1]
        hooks = "scores", "weights", "mix", "start"
        if any(getattr(type(self), name) is not getattr(Mechanism, name) for name in hooks):
            return None
        return *self.product(queries, memory), self.scale

    def weigh(self, queries: Tensor, memory: Memory) -> Tensor:
        mine = type(self)
        if mine.attend is Attention.attend or mine.weights is not Mechanism.weights:
            weights: Tensor = super().weigh(queries, memory)
            return weights[:, 0] if weights.dim() == 5 else weights
        shown = self.attend(queries, memory)[1]
        assert shown is not None
        return shown[:, None]

    def combine(self, weights: Tensor, memory: Memory) -> Tensor:
        has_heads = self.has_heads or weights.shape[1] > 1
        context: Tensor = self.mix(weights if has_heads else weights[:, 0], memory)
        return context

    def fused_query(self, queries: Tensor) -> tuple[Tensor, float] | None:  # noqa: ARG002
        """Returns q and a scale if the scores are scale * q @ keys^T, for one written in torch alone."""
        return None

    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds of the projections for one source position and one target position."""
        size = {name.removesuffix(".weight"): weight.numel() for name, weight in self.named_parameters()}
        return (
            sum(size.get(name, 0) for name in ("W", "W_k", "W_v")),
            sum(size.get(name, 0) for name in ("W_q", "W_a")),
        )


def for_queries(mask: Tensor | None) -> Tensor | None:
    """Returns a mask with a dimension for queries: (B, 1, S), or (1, T, S) as it is."""
    return mask[:, None, :] if mask is not None and mask.dim() == 2 else mask


def _build(module: Attention, config: Any) -> None:
    """Makes the parameters that a mechanism declares."""
    nn.Module.__init__(module)
    layers = TorchLayers()
    super(nn.Module, module).__init__(config, layers)
    for name in layers.names:
        if not hasattr(module, name):
            raise TypeError(f"it declares '{name}' and does not keep it as self.{name}")


@cache
def in_torch(kind: type[Mechanism]) -> type[Attention]:
    """Returns the class for torch of a mechanism that is written for all libraries; settings build it."""
    return type(f"{kind.__name__}InTorch", (Attention, kind), {"__init__": _build, "__module__": __name__})


def make_attention(config: ModelConfig) -> Attention:
    """Builds the mechanism that the settings name."""
    kind = find_mechanism(config.attention)
    try:
        return kind.from_config(config) if issubclass(kind, Attention) else in_torch(kind)(config)  # type: ignore[arg-type]
    except Exception as error:
        if config.attention in MECHANISMS:
            raise
        raise AugenmerkError(
            f"The attention mechanism '{config.attention}' cannot be built ({type(error).__name__}: "
            f"{error}); the __init__ of an augenmerk.Mechanism takes the settings and what makes layers; one "
            f"of augenmerk.Attention that takes sizes needs the class method from_config(cls, config)."
        ) from None


class Sizes(NamedTuple):
    """The sizes that a mechanism is built for, in place of settings."""

    query_size: int = 1
    value_size: int = 2
    key: int = 1
    heads: int = 1


class _Sized(Attention):
    """A mechanism that is built for sizes, so that a class in torch can derive from it."""

    sizes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *sizes: int) -> None:
        _build(self, Sizes(**dict(zip(self.sizes, sizes, strict=True))))

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        return cls(*(getattr(config, name) for name in cls.sizes))


class NoAttention(_Sized, Nothing):
    """Dummy: attends to nothing."""


class MeanAttention(_Sized, Mean):
    """MeanPool: attends equally to every word."""


class ScaledDotAttention(_Sized, ScaledDot):
    """Scaled dot product."""

    sizes = ("query_size", "value_size", "key")


class DotAttention(_Sized, Dot):
    """The dot product without parameters."""

    sizes = ("query_size", "value_size")


class BilinearAttention(_Sized, Bilinear):
    """A matrix between the two."""

    sizes = ("query_size", "value_size")


class AdditiveAttention(_Sized, Additive):
    """A small network instead of a product."""

    sizes = ("query_size", "value_size", "key")


class MultiHeadAttention(_Sized, MultiHead):
    """Several scaled dot products side by side."""

    sizes = ("query_size", "value_size", "key", "heads")


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
