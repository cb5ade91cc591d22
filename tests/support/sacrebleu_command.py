"""The `sacrebleu` command, run in this process: starting Python for each call would take most of the time."""

import os
import signal
import sys
import tempfile
import warnings
from types import SimpleNamespace

import pytest
from sacrebleu.sacrebleu import main

# That import lets SIGPIPE end the process, and a write to a closed socket would end the tests.
signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def run_sacrebleu(*arguments: object) -> str:
    """Returns what the command prints. It reopens the files behind stdin and stdout, so both are real."""
    with tempfile.TemporaryFile() as printed, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sacrebleu", *map(str, arguments)])
        for name in ("stdin", "stdout"):
            patch.setattr(sys, name, SimpleNamespace(fileno=lambda: os.dup(printed.fileno())))
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):  # it leaves its files open
            main()  # type: ignore[no-untyped-call]
        sys.stdin.close()
        sys.stdout.close()
        printed.seek(0)
        return printed.read().decode()
