"""The code lab: exercises in code, checked by experiment, with the mistake named.

`exercises/` is the table of exercises. Each has a TOML file with its texts and its mistakes, and a Python
file of the same name with a reference and the inputs on which answers are compared with it. A mistake is an
edit of the reference: what an answer returns is compared with what the edited references return, and the one
that it equals names the mistake (`naming.py`). `grading.py` grades one exercise, `checking.py` a file in a
child process with limits (`child.py`), and `sheet.py` writes what students receive.

The names below are the public ones. Each is imported when it is first used, so that the sheet can be written
without torch.

May import: base, drawing and theory. Read first: `exercises/__init__.py`, then `naming.py`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from augenmerk.lab.checking import Limits, check
    from augenmerk.lab.classroom import ClassReport, grade
    from augenmerk.lab.exercises import EXERCISES
    from augenmerk.lab.report import ExerciseResult, LabReport, read_rubric, write_rubric
    from augenmerk.lab.sheet import start, write_homework

_HOME = {
    **dict.fromkeys(("Limits", "check"), "checking"),
    **dict.fromkeys(("ClassReport", "grade"), "classroom"),
    **dict.fromkeys(("ExerciseResult", "LabReport", "read_rubric", "write_rubric"), "report"),
    **{"EXERCISES": "exercises", "start": "sheet", "write_homework": "sheet"},
}

__all__ = ["EXERCISES", "ClassReport", "ExerciseResult", "LabReport", "Limits"]
__all__ += ["check", "grade", "read_rubric", "start", "write_homework", "write_rubric"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'augenmerk.lab' has no attribute {name!r}")
    return getattr(import_module(f"augenmerk.lab.{_HOME[name]}"), name)
