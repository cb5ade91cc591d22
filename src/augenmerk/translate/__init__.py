"""Text to `Translation`: ids, encoder, search, and back to words with the attention over them."""

from augenmerk.translate.decoding import TranslatorDecoder, hypotheses_of, load_translator
from augenmerk.translate.texts import Options, TextTranslator, load
from augenmerk.translate.translation import Translation

__all__ = [
    "Options",
    "TextTranslator",
    "Translation",
    "TranslatorDecoder",
    "hypotheses_of",
    "load",
    "load_translator",
]
