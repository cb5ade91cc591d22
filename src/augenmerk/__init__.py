"""Augenmerk: attention in sequence-to-sequence models, to learn, to teach and to research."""

__version__ = "0.1.0"
