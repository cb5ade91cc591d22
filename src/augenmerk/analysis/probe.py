"""Takes the queries and keys of a trained run out of its attention, as numbers for the theory lab."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from augenmerk.base.errors import AugenmerkError
from augenmerk.model.attention import Attention, Memory
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import TranslationModel
from augenmerk.model.transformer import TransformerTranslator
from augenmerk.search.decoder import Source
from augenmerk.translation import Translation, Translator
from augenmerk.translation.translation import check_number


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
    layer: int | None
    """The layer of a Transformer, counted from 1; None for a GRU."""


@torch.inference_mode()
def probe_attention(
    translator: Translator, text: str, head: int = 0, layer: int | None = None
) -> AttentionProbe:
    """Translates a sentence and returns the queries and keys that the model computed, those of one head.

    In a Transformer they are those with which a decoder layer, by default the last, looks at the source.
    Heads and layers are counted from 0. Raises AugenmerkError if the scores of the model's attention are not
    products of queries and keys.
    """
    translation = translator.translate(text, split_sentences=False)
    if translation.hypothesis is None:
        raise AugenmerkError("There is no word in the sentence; give one that can be translated.")
    model = translator.torch_model
    [(_, batch)] = translator.batch_translations([translation], 1, model.device)
    source = model.encode(batch.src, batch.src_mask)
    tokens = batch.tgt_in[:, : len(translation.target_subwords)]
    attention, states, memory, number = _find_states(model, tokens, source, layer)
    queries, keys, scale = _project(model.config.attention, attention, states, memory, head)
    arrays = [np.asarray(tensor.to(torch.float64).cpu().numpy()) for tensor in (queries, keys)]
    tokens_of = translation.source_subwords, translation.target_subwords
    return AttentionProbe(translation, *tokens_of, arrays[0], arrays[1], scale, number)


def _find_states(
    model: TranslationModel, tokens: Tensor, source: Source, layer: int | None
) -> tuple[Attention, Tensor, Memory, int | None]:
    """Returns a mechanism, the states that it asks with, its memory, and the number of its layer from 1."""
    if isinstance(model, TransformerTranslator):
        looks = model.looks_at_source(tokens, source)
        if layer is None:
            layer = len(looks) - 1
        check_number("layer", layer + 1, len(looks))
        return *looks[layer], layer + 1
    if not isinstance(model, GRUTranslator):
        raise AugenmerkError(f"The theory lab does not know the architecture '{model.config.architecture}'.")
    check_number("layer", (layer or 0) + 1, 1)
    return model.attention, model.states(tokens, source), source.memory, None


def _project(
    name: str, attention: Attention, states: Tensor, memory: Memory, head: int
) -> tuple[Tensor, Tensor, float]:
    """Returns queries (T, K), keys (S, K) and the scale of their products."""
    check_number("head", head + 1, attention.heads)
    factors = attention.factors(states, memory)
    if factors is None:
        raise AugenmerkError(
            f"The attention of this model is '{name}', which is no product of queries "
            "and keys; take a run with scaled-dot, dot, bilinear or multi-head."
        )
    queries, keys, scale = factors
    return (queries[0, head], keys[0, head], scale) if attention.has_heads else (queries[0], keys[0], scale)
