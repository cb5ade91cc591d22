"""The command `augenmerk`, which is also `python -m augenmerk`."""

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from augenmerk.base.process import prepare_environment, raise_terminated


def main() -> None:
    """Runs the command line. Ctrl-C and SIGTERM end it with one line, whatever they interrupt.

    A library that is interrupted while it is imported may raise anything, or say something itself when Python
    ends. So this function remembers the signal, and ends the process without waiting for other threads.
    """
    received: list[int] = []

    def interrupt(signum: int, frame: FrameType | None) -> NoReturn:
        received.append(signum)
        if signum == signal.SIGTERM:
            raise_terminated(signum, frame)
        raise KeyboardInterrupt

    def report_unraisable(problem: "sys.UnraisableHookArgs") -> None:
        # Python cannot raise what a signal raises while an object is being freed, and would print a traceback
        # of it. The signal is remembered, which is enough.
        if not isinstance(problem.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(problem)

    sys.unraisablehook = report_unraisable
    signal.signal(signal.SIGTERM, interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in the background of a shell script
        signal.signal(signal.SIGINT, interrupt)
    gc.disable()  # until the command begins: what is imported stays, so looking for garbage only takes time
    try:
        prepare_environment()
        from augenmerk.cli import main as run

        run()
    except BaseException as error:
        # The command has ended: what interrupts Python while it ends could only make it complain.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if not received:
            raise
        code = 128 + received[0]
        from augenmerk.training.distributed import should_report_error

        if not (isinstance(error, SystemExit) and error.code == code) and should_report_error():
            os.write(2, b"augenmerk: Interrupted.\n")  # else the command has spoken
        os._exit(code)


if __name__ == "__main__":
    main()
