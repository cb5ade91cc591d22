"""What attention does in a trained model: patterns, faithfulness, wanted words, queries and keys.

The analyses return data; `wording.py` puts what they find into sentences.

May import: evaluation and what that may import. Read first: `patterns.py`.
"""
