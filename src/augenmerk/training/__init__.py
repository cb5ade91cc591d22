"""Training: making runs, the loop, one step of it, its data, several processes, loggers.

May import: evaluation and what that may import. Read first: `start.py`, then `loop.py`.
"""
