"""Both architectures in numpy, for translating on a CPU without torch.

They have the letters and the order of `augenmerk.model`, which trains them, and give the same numbers to
rounding; tests compare the two. There is no dropout, no gradient, and nothing changes a model once it is
built, so several threads may use one at once.

May import: base, text and search. Read first: `gru.py`.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from augenmerk.base.config import ModelConfig
from augenmerk.inference.attention import MECHANISMS
from augenmerk.inference.gru import GRUTranslator
from augenmerk.inference.transformer import TransformerTranslator
from augenmerk.inference.weights import Weights

__all__ = ["GRUTranslator", "InferenceModel", "TransformerTranslator", "build_inference_model", "can_build"]

InferenceModel = GRUTranslator | TransformerTranslator


def can_build(config: ModelConfig) -> bool:
    """Returns whether a model can be built here: mechanisms in a person's own file are written in torch."""
    return config.attention in MECHANISMS


def build_inference_model(
    config: ModelConfig,
    arrays: Mapping[str, NDArray[Any]],
    source_vocabulary: int,
    target_vocabulary: int,
    place: str,
) -> InferenceModel:
    """Builds a model with weights that were read from a place.

    Raises AugenmerkError, which names the place, if they are not of this model.
    """
    weights = Weights(arrays, place)
    kind = TransformerTranslator if config.architecture == "transformer" else GRUTranslator
    model = kind(config, weights, source_vocabulary, target_vocabulary)
    weights.check_all_taken()
    return model
