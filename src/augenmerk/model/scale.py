"""Warns of custom mechanisms whose scores are too large, or are divided by the wrong number."""

import re

import torch
from torch import Tensor

from augenmerk.base.config import ModelConfig
from augenmerk.mechanisms import Mechanism
from augenmerk.mechanisms.classic import ScaledDot
from augenmerk.model.attention import Attention, make_attention
from augenmerk.model.interface import find_model_class

WORDS = 20
"""The number of words in the sentences on which the size of scores is measured."""
SATURATED = 0.75
"""The mean largest weight at random weights above which a softmax is called saturated. Bundled mechanisms
have 0.05 to 0.3, but 0.9 and more for `dot` and `bilinear` in a Transformer, which do not scale."""
SIZES = 64, 1024
"""Values of model.key for which scores are compared."""


@torch.no_grad()
def describe_saturation(config: ModelConfig) -> str | None:
    """Returns a warning if a mechanism with random weights looks at hardly more than one word."""
    attention = make_attention(config).eval()
    architecture = find_model_class(config)
    architecture.init_attention(attention)
    queries, states = _draw_inputs(config, architecture.state_deviation)
    memory = attention.memory(states)
    weights = attention.attend(queries, memory)[1]
    assert weights is not None
    if (largest := weights.amax(dim=-1).mean().item()) <= SATURATED:
        return None
    deviation = attention.scores(queries, memory).std() if _has_scores(attention) else None
    measured = "" if deviation is None else f" (its scores have a standard deviation of {deviation:.1f})"
    return (
        f"starts saturated: before training, it gives {largest:.0%} of the weight to one of {WORDS} words"
        f"{measured}, and the others get almost no gradient; a product of vectors of size d is usually "
        f"divided by sqrt(d)."
    )


@torch.no_grad()
def describe_wrong_scale(config: ModelConfig) -> str | None:
    """Returns a warning if a mechanism claims to be a scaled dot product, but its scores depend on its size.

    What the scores of any other mechanism should be divided by cannot be told.
    """
    attention, name = make_attention(config), config.attention.rpartition(":")[2].lower()
    claims = isinstance(attention, ScaledDot) or re.search("scaled.*dot", name)
    if not claims or "unscaled" in name or not _has_scores(attention):
        return None
    try:
        small, large = (_measure_scores(config, size) for size in SIZES)
    except Exception:  # it can only be made with the sizes of these settings
        return None
    if not small or not large or 0.5 < large / small < 2:
        return None
    mistake = "they are not divided, or by too little" if large > small else "they are divided by too much"
    return (
        f"is a scaled dot product by its name or base class, but the standard deviation of its scores is "
        f"{small:.3g} with vectors of size {SIZES[0]} and {large:.3g} with {SIZES[1]:,}: {mistake}; it stays "
        f"the same if q . k is divided by sqrt(d), where d is the size of q and k."
    )


def _measure_scores(config: ModelConfig, size: int) -> float:
    """Returns the standard deviation of the scores of vectors of a size, made from inputs with variance 1."""
    changed, twice = (config.model_copy(update={"key": key}) for key in (size, 2 * size))
    shapes, of_twice = ([each.shape for each in make_attention(c).parameters()] for c in (changed, twice))
    if shapes == of_twice:  # it has other sizes
        changed = config.model_copy(update={"embedding": size, "hidden": size})
    attention = make_attention(changed).eval()
    queries, states = _draw_inputs(changed)
    return float(attention.scores(queries, attention.memory(states)).std())


def _draw_inputs(config: ModelConfig, deviation: float = 1.0) -> tuple[Tensor, Tensor]:
    """Returns random queries and states of 8 sentences."""
    queries = deviation * torch.randn(8, WORDS, config.query_size)
    return queries, deviation * torch.randn(8, WORDS, config.value_size)


def _has_scores(attention: Attention) -> bool:
    return type(attention).scores is not Mechanism.scores or type(attention).product is not Mechanism.product
