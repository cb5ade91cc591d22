"""Text to translations: tokenizer, encoder, search, and back to words with the attention over them.

May import: run and what that may import, data, search, model and inference.
Read first: `translation.py`, then `translator.py`.
"""

from augenmerk.translation.mbr import minimum_bayes_risk
from augenmerk.translation.translation import END, HeadAttention, Part, Translation, average_heads
from augenmerk.translation.translator import OnProgress, Translator, load, load_model

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
