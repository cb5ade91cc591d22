"""How good a model is: loss, BLEU, chrF, TER, alignment error, and whether a difference may be chance.

May import: translation and what that may import. Read first: `evaluator.py`, then `significance.py`.
"""
