"""The theory lab: what attention can and cannot compute, constructed, measured and bounded.

Needs numpy and scipy, and no trained model. `attention.py` is equations 1 and 2; `reach.py` says which
values can be copied or averaged at all; `noise.py` and `closed_form.py` are two independent ways to the
same numbers; `self_attention.py` has the constructions of 1.6 and 1.7 and a solver; `lab_*.py` are the
experiments behind `augenmerk theory 1.1` to `1.7` and `scaling`; `grading.py` is `augenmerk theory check`.
Only `drawing*.py` know matplotlib.
"""

from augenmerk.theory.attention import Attended, attend
from augenmerk.theory.grading import Grade, check
from augenmerk.theory.reach import Reach, reach, strength_needed
from augenmerk.theory.self_attention import Projections, solve

__all__ = [
    "Attended",
    "Grade",
    "Projections",
    "Reach",
    "attend",
    "check",
    "reach",
    "solve",
    "strength_needed",
]
