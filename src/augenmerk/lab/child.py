"""The process that executes a student's file, within limits of computing time and memory.

    python -m augenmerk.lab.child          (a job as JSON on stdin; an object as JSON on stdout per exercise)

The limits stop what is endless or too large by mistake. They are no sandbox: the file can do what you can.
"""

import json
import linecache
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

MEGABYTE = 1 << 20


def limit_memory(megabytes: int) -> None:
    """Lets this process have so much memory beside what it has now; on Linux only."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (ImportError, OSError):
        return
    most = pages * resource.getpagesize() + megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def split_file(path: str, text: str) -> dict[str, str]:
    """Returns the code by its name: the file's, or `cell 3` for each cell of a notebook.

    Left out are cells that check, and lines for IPython.
    """
    if not path.endswith(".ipynb"):
        return {path: text}
    cells = json.loads(text)["cells"]
    found = {}
    for number, cell in enumerate(cells, 1):
        code = "".join(cell["source"])
        if cell["cell_type"] == "code" and "lab.check(" not in code:
            lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in code.split("\n")]
            found[f"cell {number}"] = "\n".join(lines)
    return found


def run_job(job: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> None:
    """Loads the file and grades each exercise; emits one object for each, or one with a `problem`."""
    from augenmerk.lab.exercises import EXERCISES
    from augenmerk.lab.grading import TooSlowError, explain_error, grade, limit_seconds

    limit_memory(job["megabytes"])
    module = sys.modules["lab_answers"] = ModuleType("lab_answers")
    files: dict[str, str] = {}
    try:
        files = split_file(job["path"], job["text"])
        with limit_seconds(job["seconds"]):
            for name, code in files.items():
                linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
                exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)
    except TooSlowError:
        emit({"problem": f"The file itself takes over {job['seconds']:g} s, before anything is called."})
        return
    except (Exception, SystemExit) as error:
        emit({"problem": f"It cannot be loaded: {explain_error(error, [*files])}."})
        return
    for name in job["exercises"]:
        exercise = EXERCISES[name]
        answer = vars(module).get(exercise.object)
        if answer is None:
            emit(make_missing(name))
        else:
            emit(grade(exercise, answer, job["seed"], [*files], job["seconds"]))


def make_missing(exercise: str, says: str = "") -> dict[str, Any]:
    """Returns what is found about an exercise without an answer, or whose check ended early."""
    findings = [{"mistake": "error", "says": says}] if says else []
    counts = {"passed": 0, "experiments": 0, "remarks": [], "example": {}}
    return {"exercise": exercise, "verdict": "wrong" if says else "missing", "findings": findings, **counts}


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what the answer prints
    os.dup2(nowhere, 2)

    def emit(found: dict[str, Any]) -> None:
        results.write(json.dumps(found) + "\n")
        results.flush()

    run_job(job, emit)
    results.flush()
    os._exit(0)  # threads or exit functions of the answer are not waited for


if __name__ == "__main__":
    main()
