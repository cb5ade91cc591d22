"""What tests let the processes of a Ray cluster do; it imports little, because each of them has to.

As a program it runs `augenmerk` with small blocks, and sends itself a signal after some of them:
python -m tests.support.block_work SIGNAL BLOCKS ARGUMENT...
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError


class Work:
    """Computes blocks that do what they are told, and leaves a file for each that was begun."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, number: int, task: str) -> str:
        os.close(tempfile.mkstemp(prefix=f"{number}-", dir=self._folder)[0])
        begun = len(list(self._folder.glob(f"{number}-*")))
        if task == "die" or (task == "die once" and begun == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "complain":
            raise AugenmerkError("This block cannot be computed.")
        if task == "fail":
            raise ZeroDivisionError(task)
        return f"{number} {task}"


def run_and_stop(number: int, blocks: int) -> None:
    """Runs the command line of this process, which gets a signal when so many blocks are finished."""
    from augenmerk.__main__ import main
    from augenmerk.cluster.blocks import RayTasks
    from augenmerk.translation import translator

    translator.CHUNK_LINES = 60
    compute, finished = RayTasks.__call__, list[int]()

    def stop(
        tasks: RayTasks,
        start: Callable[[], Callable[..., Any]],
        todo: Mapping[int, tuple[Any, ...]],
        finish: Callable[[int, Any], None],
    ) -> None:
        def count(block: int, result: Any) -> None:
            finish(block, result)
            finished.append(block)
            if len(finished) == blocks:
                os.kill(os.getpid(), number)

        compute(tasks, start, todo, count)

    RayTasks.__call__ = stop  # type: ignore[method-assign, assignment]
    main()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _, how, when, *sys.argv[1:] = sys.argv
    run_and_stop(int(how), int(when))
