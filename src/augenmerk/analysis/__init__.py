"""What attention does in a trained model: patterns, faithfulness, wanted words, queries and keys.

May import: evaluation and what that may import. Returns data. Read first: `patterns/kinds.py`.
"""
