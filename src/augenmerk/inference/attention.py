"""Attention mechanisms in numpy: `augenmerk.mechanisms` has them and their letters."""

from functools import cache
from typing import Any

from augenmerk.base.config import ModelConfig
from augenmerk.inference.model import Floats, Layer, Linear, Mask, Weights
from augenmerk.mechanisms import Mechanism, Memory
from augenmerk.mechanisms.classic import MultiHead, ScaledDot
from augenmerk.mechanisms.custom import find_mechanism


class Attention(Mechanism):
    """A mechanism with the weights of a run."""

    projection: Layer | None = None
    """What contexts are multiplied with: see `project_context`."""
    bundled: bool = False
    """Whether it is one of the package, in which only `mix` reads the values."""

    def project_context(self, W: Linear) -> None:
        """Makes `mix` return W a_i instead of a_i, if W has no bias.

        Since a_i is a weighted sum of values, W can be applied to the values, once for each source word.
        """
        folded: Any = self
        if self.bundled and isinstance(folded, MultiHead):
            folded.W_a = Linear(folded.W_a.weight @ W.weight, None)
        else:
            self.projection = W

    def memory(self, states: Floats, mask: Mask | None = None) -> Memory:
        """Returns keys and values of word representations (B, S, V)."""
        values = self.values(states)
        if self.projection is not None and self.bundled:
            values = self.projection(values)
        return Memory(self.keys(states), values, mask)

    def mix(self, weights: Floats, memory: Memory) -> Floats:
        context: Floats = super().mix(weights, memory)
        return context if self.projection is None or self.bundled else self.projection(context)


@cache
def in_numpy(kind: type[Mechanism]) -> type[Attention]:
    """Returns the class for numpy of a mechanism; settings and weights build it."""
    bundled = kind.__module__.startswith("augenmerk.")

    def build(self: Attention, config: ModelConfig, weights: Weights) -> None:
        kind.__init__(self, config, weights)
        as_defined = kind.product is ScaledDot.product and kind.keys is ScaledDot.keys
        if bundled and isinstance(self, ScaledDot) and as_defined:
            _fold(self, config)

    own = {"__init__": build, "__module__": __name__, "bundled": bundled}
    return type(f"{kind.__name__}InNumpy", (Attention, kind), own)


def _fold(attention: ScaledDot, config: ModelConfig) -> None:
    """Multiplies the scale and, unless that makes keys longer, W_q with other matrices.

    Since q . k_t = g_i . (W_q^T W_k h_t), one matrix on the source side takes the place of both.
    """
    W_q = attention.scale * attention.W_q.weight
    attention.scale, attention.W_q = 1.0, Linear(W_q, None)
    if config.query_size <= config.key:
        attention.W_k, attention.W_q = Linear(attention.W_k.weight @ W_q.T, None), _same


def _same(x: Floats) -> Floats:
    return x


def make_attention(config: ModelConfig, weights: Weights) -> Attention:
    """Builds the mechanism that the settings name."""
    return in_numpy(find_mechanism(config.attention))(config, weights)  # type: ignore[arg-type]
