"""Studies: variants x seeds, trained run by run and compared honestly. The result is `study.json`.

`plan.py` reads a study's file, `runner.py` checks it and has executors (`jobs.py`, `clusters.py`) run
what is missing; a worker (`jobs.py`) trains and measures (`measure.py`) each run. `collect.py` reads them,
`compare.py` compares them, `result.py` is what both write, and `report.py` and `charts.py` show it.
`session.py` is a whole study in a function. This package can be called in its place: `augenmerk.study(...)`.

May import: training and what that may import, evaluation and analysis.
Read first: `plan.py`, then `runner.py` and `collect.py`.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Runs a study: see `augenmerk.study.session.study`."""
        from augenmerk.study.session import study

        return study(*arguments, **keywords)

    @property
    def __wrapped__(self) -> Any:
        """What `help` and `inspect.signature` show."""
        from augenmerk.study.session import study

        return study


sys.modules[__name__].__class__ = _Callable
