"""Sentences as data: words, sentence pairs, tokens and batches.

May import: base. Read first: `pairs.py` for `SentencePair`, then `tokenizer.py` and `batching.py`.
"""
