"""Runs `augenmerk` and sends a signal to it as soon as it calls a certain function.

    python -m tests.support.interrupted SIGTERM augenmerk.evaluation.evaluator:evaluate_run evaluate runs/mine

So the moment is the same on every machine.
"""

import os
import signal
import sys
from importlib import import_module
from types import FrameType

from augenmerk.__main__ import main


def run() -> None:
    signum, (module, function) = signal.Signals[sys.argv[1]], sys.argv[2].split(":")

    def send(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (frame.f_globals.get("__name__"), frame.f_code.co_name) == (module, function):
            sys.setprofile(None)
            os.kill(os.getpid(), signum)

    sys.argv[:] = ["augenmerk", *sys.argv[3:]]
    import_module(module)  # with torch, as a rule: under a profiler that takes several times as long
    sys.setprofile(send)
    main()


if __name__ == "__main__":
    run()
