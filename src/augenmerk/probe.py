"""Takes the queries and keys of a trained run out of its attention, as numbers for the theory lab."""

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
class AttentionProbe:
    """Queries and keys of a translation; its attention is softmax(scale * queries @ keys^T)."""

    translation: Translation
    source: tuple[str, ...]
    """The source tokens, one for each key; the last is the end of the sentence."""
    target: tuple[str, ...]
    """The produced tokens, one for each query."""
    queries: NDArray[np.float64]  # (T, K)
    keys: NDArray[np.float64]  # (S, K)
    scale: float


@torch.inference_mode()
def probe_attention(translator: Translator, text: str, head: int = 0) -> AttentionProbe:
    """Translates a sentence and returns the queries and keys that the model computed, those of one head.

    Raises AugenmerkError if the scores of the model's attention are not products of queries and keys.
    """
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
    queries, keys, scale = _project(model, states, source.memory.keys, head)
    arrays = [np.asarray(tensor.to(torch.float64).cpu().numpy()) for tensor in (queries, keys)]
    tokens_of = translation.source_subwords, translation.target_subwords
    return AttentionProbe(translation, *tokens_of, arrays[0], arrays[1], scale)


def _project(model: GRUTranslator, states: Tensor, keys: Tensor, head: int) -> tuple[Tensor, Tensor, float]:
    """Returns queries (T, K), keys (S, K) and the scale of their products."""
    attention = model.attention
    heads = attention.heads if isinstance(attention, MultiHeadAttention) else 1
    if not 0 <= head < heads:
        raise AugenmerkError(f"There is no head {head + 1}: this model has {heads}.")
    if isinstance(attention, MultiHeadAttention):
        own = [x[0].chunk(heads, dim=-1)[head] for x in (attention.W_q(states), keys)]
        return own[0], own[1], attention.scale
    fused = attention.fused_query(states)
    if fused is None:
        raise AugenmerkError(
            f"The attention of this model is '{model.config.attention}', which is no product of queries "
            "and keys; take a run with scaled-dot, dot, bilinear or multi-head."
        )
    return fused[0][0], keys[0], fused[1]
