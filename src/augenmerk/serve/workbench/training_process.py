"""Runs `augenmerk` so that it saves its state and ends when its parent process ends.

    python -m augenmerk.serve.workbench.training_process train quick --out runs/mine

Its standard input is a pipe that its parent holds open. When the parent ends, in whatever way, the pipe does.
"""

import os
import runpy
import signal
import sys
import threading


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runpy.run_module("augenmerk", run_name="__main__", alter_sys=True)
