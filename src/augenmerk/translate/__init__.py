"""Text to `Translation`: ids, encoder, search, and back to words with the attention over them."""

from augenmerk.translate.decoding import Models, TranslatorDecoder, hypotheses_of, load_translator, members
from augenmerk.translate.ensemble import load_members
from augenmerk.translate.mbr import least_risk
from augenmerk.translate.options import Options
from augenmerk.translate.texts import TextTranslator, load
from augenmerk.translate.translation import END, Translation

__all__ = [
    "END",
    "Models",
    "Options",
    "TextTranslator",
    "Translation",
    "TranslatorDecoder",
    "hypotheses_of",
    "least_risk",
    "load",
    "load_members",
    "load_translator",
    "members",
]
