"""The models and their exchangeable part, attention.

To add an architecture, write a `TranslationModel` in its own file and add an entry to
`augenmerk.base.architectures`.

May import: base, text, search and inference. Read first: `attention.py`, then `gru.py`.
"""

from pkgutil import resolve_name

from augenmerk.base.config import ModelConfig
from augenmerk.model.attention import Attention, Memory
from augenmerk.model.custom import load_mechanism
from augenmerk.model.interface import TranslationModel
from augenmerk.search.step_model import AttentionWeights, Source, State, StepModel

__all__ = [
    "Attention",
    "AttentionWeights",
    "Memory",
    "Source",
    "State",
    "StepModel",
    "TranslationModel",
    "build_model",
    "find_model_class",
    "load_mechanism",
]


def find_model_class(config: ModelConfig) -> type[TranslationModel]:
    """Returns the class of the architecture that the settings name."""
    found: type[TranslationModel] = resolve_name(config.entry.torch_class)
    return found


def build_model(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """Builds a model with random weights; sizes come from the settings and the tokenizers."""
    return find_model_class(config)(config, source_vocabulary, target_vocabulary)
