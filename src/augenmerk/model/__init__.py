"""The models and their exchangeable part, attention.

To add an architecture, write a `TranslationModel` in its own file and add an entry to
`augenmerk.base.entries`.

May import: base, text, mechanisms, search and inference. Read first: `attention.py`, then `gru.py`.
"""
