"""Studies: variants x seeds, trained run by run and compared honestly. The result is `study.json`.

`plan.py` reads a study's file, `runner.py` checks it and has executors (`jobs.py`, `clusters.py`) run
what is missing; a worker (`jobs.py`) trains and measures (`measure.py`) each run. `collect.py` reads them,
`compare.py` compares them, `result.py` is what both write, and `report.py` and `charts.py` show it.
`session.py` is a whole study in a function. This package can be called in its place: `augenmerk.study(...)`.

May import: training and what that may import, evaluation and analysis.
Read first: `plan.py`, then `runner.py` and `collect.py`.
"""

from augenmerk.base.modules import make_callable

make_callable(__name__, "study")
