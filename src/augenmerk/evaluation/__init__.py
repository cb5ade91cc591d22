"""How good a model is: loss, BLEU, chrF, TER, alignment error, and whether a difference may be chance.

`metrics.py` lists all metrics. `comparison.py` compares runs by the statistics of `significance.py`, which
knows no models.

May import: translation and what that may import. Read first: `evaluator.py`, then `significance.py`.
"""
