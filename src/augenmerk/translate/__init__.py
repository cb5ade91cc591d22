"""Text to `Translation`: ids, encoder, search, and back to words with the attention over them."""

from augenmerk.translate.decoding import TranslatorDecoder, hypotheses_of, load_translator
from augenmerk.translate.texts import Options, TextTranslator, load
from augenmerk.translate.translation import END, Translation

__all__ = [
    "END",
    "Options",
    "TextTranslator",
    "Translation",
    "TranslatorDecoder",
    "hypotheses_of",
    "load",
    "load_translator",
]
