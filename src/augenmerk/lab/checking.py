"""Checks a file of answers in a child process, or classes and functions in this one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import read_text
from augenmerk.lab.child import make_missing
from augenmerk.lab.exercises import EXERCISES, choose_exercises
from augenmerk.lab.report import LabReport, Rubric, read_rubric, score


@dataclass(frozen=True)
class Limits:
    """What the child process may use."""

    seconds: float = 10.0
    """Computing time of a single call."""
    megabytes: int = 1024
    """Memory beside that of Python and torch."""
    total: float = 300.0
    """Seconds for the whole file, waiting included."""


LIMITS = Limits()


def check(
    path: str | Path | None = None,
    exercises: Iterable[str] | str | None = None,
    *,
    seed: int = 1,
    rubric: str | Path | Rubric | None = None,
    limits: Limits = LIMITS,
    **answers: Any,
) -> LabReport:
    """Checks a file of answers, `lab.py` or `lab.ipynb`, or the answers themselves, as in `check(bleu=mine)`.

    The file is executed in a child process with limits, answers themselves in this process without any.
    """
    chosen = [each.name for each in choose_exercises(exercises or [*answers])]
    own = rubric if isinstance(rubric, Mapping) else read_rubric(rubric) if rubric is not None else {}
    if (path is None) == (not answers) or (answers and exercises):
        raise AugenmerkError(
            "Check either a file, such as check('lab.py'), or answers, such as check(bleu=mine)."
        )
    if path is None:
        from augenmerk.lab.grading import grade

        found = [grade(EXERCISES[name], answer, seed) for name, answer in answers.items()]
        return LabReport(", ".join(answers), [score(each, own) for each in found])
    if Path(path).is_dir():
        raise AugenmerkError(
            f"{path} is a folder; name the file with the answers, such as {Path(path, 'lab.py')}."
        )
    found, problem = _run_child(Path(path), chosen, seed, limits)
    return LabReport(str(path), [score(each, own) for each in found], problem)


def _run_child(
    path: Path, exercises: list[str], seed: int, limits: Limits
) -> tuple[list[dict[str, Any]], str]:
    """Returns what is found about each exercise, and why the file cannot be checked, or ""."""
    if find_spec("torch") is None:
        raise ModuleNotFoundError(name="torch")
    job = {"path": str(path), "text": read_text(path), "exercises": exercises, "seed": seed}
    job |= {"seconds": limits.seconds, "megabytes": limits.megabytes}
    command = [sys.executable, "-m", "augenmerk.lab.child"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # more would only wait for each other
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job).encode(),
            stdout=subprocess.PIPE,
            env=environment,
            timeout=limits.total,
            check=False,
        )
        printed, end = done.stdout, f"the check ended early, with exit code {done.returncode}"
    except subprocess.TimeoutExpired as late:
        printed, end = late.stdout or b"", f"the check did not end within {limits.total:g} s"
    found = [json.loads(line) for line in printed.splitlines()]
    if found and "problem" in found[0]:
        return [make_missing(name) for name in exercises], found[0]["problem"]
    for name in exercises[len(found) :]:
        found.append(make_missing(name, f"Not checked: {end}."))
    return found, ""
