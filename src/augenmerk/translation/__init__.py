"""Text to translations: tokenizer, encoder, search, and back to words with the attention over them.

`Translator` is the public face. Its jobs are functions over `LoadedModels` (loading.py): decoding, building
translations from hypotheses, scoring given translations, tracing a search.

May import: run and what that may import, data, search, model and inference.
Read first: `translation.py`, then `translator.py`.
"""

from augenmerk.translation.decoding import OnProgress
from augenmerk.translation.loading import load_model
from augenmerk.translation.mbr import minimum_bayes_risk
from augenmerk.translation.translation import END, HeadAttention, Part, Translation, average_heads
from augenmerk.translation.translator import Translator, load

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
