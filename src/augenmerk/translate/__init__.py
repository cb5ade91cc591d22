"""Text to translations: tokenizer, encoder, search, and back to words with the attention over them."""

from augenmerk.translate.mbr import minimum_bayes_risk
from augenmerk.translate.translation import END, HeadAttention, Part, Translation, average_heads
from augenmerk.translate.translator import OnProgress, Translator, load, load_model

__all__ = [
    "END",
    "HeadAttention",
    "OnProgress",
    "Part",
    "Translation",
    "Translator",
    "average_heads",
    "load",
    "load_model",
    "minimum_bayes_risk",
]
