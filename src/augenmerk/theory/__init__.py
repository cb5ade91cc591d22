"""The theory lab: what attention can and cannot compute, constructed, measured and bounded.

It needs numpy and scipy, and no trained model. `attention.py` is equations 1 and 2. Each experiment behind
`augenmerk theory` is a function that returns a `Result`: `reach.py` has 1.1 and 1.2 and decides which values
can be copied or averaged; `noise.py` has 1.3 to 1.5 by simulation, which `closed_form.py` predicts;
`self_attention.py` has 1.6 and 1.7 with a solver; `scaling.py` compares logits with and without 1/sqrt(d).
`grading.py` is `augenmerk theory check`, `from_run.py` examines a real query. Only `drawing*.py` import
matplotlib.
"""

from augenmerk.theory.attention import AttentionOutput, attend
from augenmerk.theory.grading import check
from augenmerk.theory.reach import Reach, reach, strength_needed
from augenmerk.theory.results import Grade
from augenmerk.theory.self_attention import Projections, solve

__all__ = [
    "AttentionOutput",
    "Grade",
    "Projections",
    "Reach",
    "attend",
    "check",
    "reach",
    "solve",
    "strength_needed",
]
