"""The real queries and keys of a trained run, as numbers for the theory lab to look at."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from augenmerk.errors import AugenmerkError
from augenmerk.model.attention import MultiHeadAttention
from augenmerk.model.translator import GRUTranslator
from augenmerk.text import BOS, EOS
from augenmerk.translate import Translation, Translator


@dataclass(frozen=True)
class Probe:
    """The attention of a translation: softmax(scale * queries @ keys^T), a row for each token produced."""

    translation: Translation
    source: tuple[str, ...]
    """The tokens that have keys; the last is the end of the sentence."""
    target: tuple[str, ...]
    """The tokens that were produced, each with the query it was produced with."""
    queries: NDArray[np.float64]  # (T, K)
    keys: NDArray[np.float64]  # (S, K)
    scale: float
    heads: int
    """How many the model has; the queries and keys are those of one."""


@torch.inference_mode()
def probe(translator: Translator, text: str, head: int = 0) -> Probe:
    """Translates, and takes the queries and keys by the projections of the model's own attention."""
    translation = translator.translate(text)
    hypothesis = translation.hypothesis
    if hypothesis is None:
        raise AugenmerkError("There is no word in the sentence; give one that can be translated.")
    model = translator.model
    if not isinstance(model, GRUTranslator):
        raise AugenmerkError(f"The theory lab does not know the architecture '{model.config.architecture}'.")
    device = model.device
    ids = translator.tokenizers.source.encode_ids([text])[0][: translator.max_source_length]
    source = model.encode(
        torch.tensor([[*ids, EOS]], device=device),
        torch.ones(1, len(ids) + 1, dtype=torch.bool, device=device),
    )
    tokens = torch.tensor([[BOS, *hypothesis.ids]], device=device)[:, : len(translation.target_subwords)]
    states = model.states(tokens, source)  # g_i
    queries, keys, scale, heads = _projected(model, states, source.memory.keys, head)
    return Probe(
        translation,
        translation.source_subwords,
        translation.target_subwords,
        _plain(queries),
        _plain(keys),
        scale,
        heads,
    )


def _projected(
    model: GRUTranslator, states: Tensor, keys: Tensor, head: int
) -> tuple[Tensor, Tensor, float, int]:
    """Queries (T, K), keys (S, K), the scale of their products, and the number of heads."""
    attention = model.attention
    heads = attention.heads if isinstance(attention, MultiHeadAttention) else 1
    if not 0 <= head < heads:
        raise AugenmerkError(f"There is no head {head + 1}: this model has {heads}.")
    if isinstance(attention, MultiHeadAttention):
        own = [x[0].chunk(heads, dim=-1)[head] for x in (attention.W_q(states), keys)]
        return own[0], own[1], attention.scale, heads
    fused = attention.fused_query(states)
    if fused is None:
        raise AugenmerkError(
            f"The attention of this model is '{model.config.attention}', which is no product of queries "
            "and keys; take a run with scaled-dot, dot, bilinear or multi-head."
        )
    return fused[0][0], keys[0], fused[1], heads


def _plain(tensor: Tensor) -> NDArray[np.float64]:
    return np.asarray(tensor.to(torch.float64).cpu().numpy())
