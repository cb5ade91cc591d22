"""Attention mechanisms, each written once for torch, numpy and the exported page.

B sentences, T target positions (or K hypotheses, at one position), S source positions, N heads, Q the size of
a decoder state, V that of a word representation.

May import: base. Read first: `mechanism.py`, what a mechanism defines; then `classic.py`.
"""

from augenmerk.mechanisms.mechanism import Layers, Mechanism, Memory, State

__all__ = ["Layers", "Mechanism", "Memory", "State"]
