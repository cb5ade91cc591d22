"""Runs `augenmerk` so that it saves its state and ends when its parent process ends.

    python -m augenmerk.serve.workbench.training_process train quick --out runs/mine

Its standard input is a pipe that its parent holds open. When the parent ends, in whatever way, the pipe does.
"""

import runpy
import signal

from augenmerk.base.process import signal_when_stdin_closes

if __name__ == "__main__":
    signal_when_stdin_closes(signal.SIGTERM)
    runpy.run_module("augenmerk", run_name="__main__", alter_sys=True)
