"""Where sentence pairs come from."""

from augenmerk.bitext.pairs import Bitext, Links, SentencePair

__all__ = ["Bitext", "Links", "SentencePair"]
