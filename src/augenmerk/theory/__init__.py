"""The theory lab: what attention can and cannot compute, constructed, measured and bounded.

It needs numpy and scipy, and no trained model. `attention.py` is equations 1 and 2. `exercises/` is the table
of exercises: the questions, the experiments that answer them, and what an answer must give. An experiment
is a function that takes a `Setup` and returns a `Result` (both in `results.py`): `copying.py` has 1.1 and 1.2
and decides which values can be copied or averaged; `noise.py` has 1.3 to 1.5 by simulation, which
`closed_form.py` predicts; `self_attention.py` has 1.6 and 1.7; `scaling.py` compares logits
with and without 1/sqrt(d). `lab.py` runs them. `grading.py` is `augenmerk theory check`, `classroom.py`
`augenmerk theory grade` (`columns.py` finds the columns of a table), and `from_run.py` examines a real
query. Only `drawing*.py` import matplotlib.

The names below are the public ones. Each is imported when it is first used, so that the questions can be
read without scipy.

May import: base and drawing. Read first: `attention.py`, then `exercises/`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from augenmerk.theory.attention import AttentionOutput, attend
    from augenmerk.theory.copying import Reach, reach, strength_needed
    from augenmerk.theory.exercises import EXERCISES, ask, ask_all
    from augenmerk.theory.grading import check
    from augenmerk.theory.lab import grade, run
    from augenmerk.theory.results import Grade, Result, Setup

_HOME = {
    **dict.fromkeys(("AttentionOutput", "attend"), "attention"),
    **dict.fromkeys(("Reach", "reach", "strength_needed"), "copying"),
    **dict.fromkeys(("Grade", "Result", "Setup"), "results"),
    **{"EXERCISES": "exercises", "ask": "exercises", "ask_all": "exercises", "check": "grading"},
    **dict.fromkeys(("grade", "run"), "lab"),
}

__all__ = ["EXERCISES", "AttentionOutput", "Grade", "Reach", "Result", "Setup"]
__all__ += ["ask", "ask_all", "attend", "check", "grade", "reach", "run", "strength_needed"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'augenmerk.theory' has no attribute {name!r}")
    return getattr(import_module(f"augenmerk.theory.{_HOME[name]}"), name)
