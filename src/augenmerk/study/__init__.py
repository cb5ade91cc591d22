"""Studies: variants x seeds, run by run, compared honestly. What is found is `study.json`, see `result`.

May import: training and what that may import, evaluation and analysis.
Read first: `plan.py`, then `running.py`.
"""
