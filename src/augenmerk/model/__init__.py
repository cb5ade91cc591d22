"""The models and their exchangeable part, attention.

To add an architecture, write a `TranslationModel` in a file of its own, import it here, add a line to
`build_model`, and add its name to `augenmerk.base.config.ModelConfig.architecture`.

May import: base, text, search and inference. Read first: `attention.py`, then `gru.py`.
"""

from augenmerk.base.config import ModelConfig
from augenmerk.model.attention import Attention, Memory
from augenmerk.model.custom import load_mechanism
from augenmerk.model.gru import GRUTranslator
from augenmerk.model.interface import TranslationModel
from augenmerk.model.transformer import TransformerTranslator
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
    "load_mechanism",
]


def build_model(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """Builds a model with random weights; sizes come from the settings and the tokenizers."""
    match config.architecture:
        case "gru":
            return GRUTranslator(config, source_vocabulary, target_vocabulary)
        case "transformer":
            return TransformerTranslator(config, source_vocabulary, target_vocabulary)
