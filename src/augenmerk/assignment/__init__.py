"""A whole course assignment in one command: theory, a translator, diagrams, a comparison, beams, a report.

`plan.py` declares what is asked and what others have published. `work.py` measures it step by step and may be
interrupted; the result is `assignment.json`. `sections.py` words it, and `report.py` writes it as a page, as
Markdown and as a notebook, which show no number that the JSON does not have. `session.py` is all of it in a
function. This package can be called in its place: `augenmerk.assignment(...)`.

May import: theory, study and what these may import, analysis, evaluation. Read first: `work.py`.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Does an assignment: see `augenmerk.assignment.session.assignment`."""
        from augenmerk.assignment.session import assignment

        return assignment(*arguments, **keywords)

    @property
    def __wrapped__(self) -> Any:
        """What `help` and `inspect.signature` show."""
        from augenmerk.assignment.session import assignment

        return assignment


sys.modules[__name__].__class__ = _Callable
