"""The architectures in numpy, for translating on a CPU without torch.

They have the letters and the order of `augenmerk.model`, which trains them, and give the same numbers to
rounding; tests compare the two. There is no dropout, no gradient, and nothing changes a model once it is
built, so several threads may use one at once.

May import: base, text and search. Read first: `gru.py`.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from numpy.typing import NDArray

from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.interface import InferenceModel
from augenmerk.inference.weights import Weights

__all__ = ["InferenceModel", "build_inference_model", "can_build"]


def can_build(config: ModelConfig) -> bool:
    """Returns whether the architecture and the mechanism exist in numpy; custom mechanisms need torch."""
    return config.runs_in("numpy")


def build_inference_model(
    config: ModelConfig,
    arrays: Mapping[str, NDArray[Any]],
    source_vocabulary: int,
    target_vocabulary: int,
    source: str,
) -> InferenceModel:
    """Builds a model from the weights in a file, `source`.

    Raises AugenmerkError, which names the file, if they are not of this model.
    """
    if not can_build(config):
        raise AugenmerkError(
            f"{source}: '{config.architecture}' with the attention '{config.attention}' needs torch: numpy "
            f"has no such model."
        )
    weights = Weights(arrays, source)
    kind = resolve_name(config.entry.numpy_class or "")
    model: InferenceModel = kind(config, weights, source_vocabulary, target_vocabulary)
    weights.check_all_taken()
    return model
