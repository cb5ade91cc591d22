"""The theory lab: what attention can and cannot compute, constructed, measured and bounded.

It needs numpy and scipy, and no trained model. `attention.py` is equations 1 and 2. Each experiment behind
`augenmerk theory` is a function that takes a `Setup` and returns a `Result` (both in `results.py`):
`reach.py` has 1.1 and 1.2 and decides which values can be copied or averaged; `noise.py` has 1.3 to 1.5 by
simulation, which `closed_form.py` predicts; `self_attention.py` has 1.6 and 1.7 with a solver; `scaling.py`
compares logits with and without 1/sqrt(d). `questions.py` has the questions, `grading.py` is `augenmerk
theory check`, `classroom.py` is `augenmerk theory grade`, and `from_run.py` examines a real query. Only
`drawing*.py` import matplotlib.
"""

from collections.abc import Callable, Mapping

from augenmerk.theory.attention import AttentionOutput, attend
from augenmerk.theory.grading import check
from augenmerk.theory.noise import run_noisy_average, run_noisy_direction, run_several_heads
from augenmerk.theory.reach import Reach, reach, run_averaging, run_copying, strength_needed
from augenmerk.theory.results import Grade, Result, Setup
from augenmerk.theory.scaling import run_scaling
from augenmerk.theory.self_attention import (
    Projections,
    run_with_projections,
    run_without_projections,
    solve,
)

EXPERIMENTS: Mapping[str, Callable[[Setup], Result]] = {
    **{"1.1": run_copying, "1.2": run_averaging},
    **{"1.3": run_noisy_average, "1.4": run_several_heads, "1.5": run_noisy_direction},
    **{"1.6": run_without_projections, "1.7": run_with_projections, "scaling": run_scaling},
}

__all__ = ["EXPERIMENTS", "AttentionOutput", "Grade", "Projections", "Reach", "Result", "Setup"]
__all__ += ["attend", "check", "reach", "solve", "strength_needed"]
