"""Training: the loop, one step of it, its data, several processes, loggers.

May import: evaluation and what that may import. Read first: `loop.py`, then `engine.py`.
"""
