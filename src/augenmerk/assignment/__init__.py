"""A whole course assignment in one command: theory, a translator, diagrams, a comparison, beams, a report.

`plan.py` declares what is asked and what others have published. `work.py` measures it step by step and may be
interrupted; the result is `assignment.json`. `sections.py` words it, and `report.py` writes it as a page, as
Markdown and as a notebook, which show no number that the JSON does not have. `session.py` is all of it in a
function. This package can be called in its place: `augenmerk.assignment(...)`.

May import: theory, study and what these may import, analysis, evaluation. Read first: `work.py`.
"""

from augenmerk.base.modules import make_callable

make_callable(__name__, "assignment")
