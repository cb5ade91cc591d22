"""Processes for tests to kill, to starve and to compete with.

Starting Python and importing torch takes longer than most tests do. So a program, tests/support/forks.py,
imports everything once and forks for each task and each command.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 240
"""Seconds after which a process is given up. Nothing takes nearly as long; no test waits for it to pass."""


def wait_for(what: str, condition: Callable[[], object]) -> None:
    """Waits until the condition holds; `what` says in a failure what did not come."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Command:
    """A command line, and the circumstances under which it is run."""

    arguments: Sequence[str]
    stdin: str = "empty"
    """"empty", "closed", or the path of a file."""
    stdout: str = "file"
    """"file", "closed", "full", or "unread", a pipe that nobody reads."""
    stderr: str = "file"
    environment: dict[str, str] = field(default_factory=dict)
    file_size: int | None = None
    """The largest file that may be written, in bytes: what a full disk is like."""
    open_files: int | None = None
    """How many more files it may have open at a time."""
    signal: int = 0
    """A signal that the command is sent, at the moment given by one of the following four."""
    at_call: int = 0
    at_write: int = 0
    at_function: str = ""
    """MODULE:FUNCTION, at the first call of it."""
    after: float | None = None
    jobs_here: bool = False
    """Whether a study trains its runs in its own process."""
    count: bool = False
    """Whether to count calls and writes."""
    delay: float = 0.0
    """Seconds to wait before it starts."""
    hang: float = 60.0
    """Seconds after which it is killed."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    """Its exit code, or the negative number of the signal that killed it."""
    seconds: float = 0.0
    hung: bool = False
    signalled: bool = False
    """Whether a signal was sent to it after some time."""
    out: str = ""
    err: str = ""
    calls: int = 0
    writes: int = 0


class Forker:
    """Starts processes in sessions of their own; each writes what it has to say into a file."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder = folder
        self._started = 0
        self._processes: dict[int, int] = {}
        self._codes: dict[int, int] = {}
        self._rest = b""
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forks"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **environment},
        )

    def start(self, task: str, run: Path, number: int = 0) -> "Process":
        """Starts one of the tasks in tests/support/tasks.py."""
        return self._start({"task": task, "folder": str(run), "number": number})

    def start_command(self, command: Command, folder: Path) -> "Process":
        """Starts `augenmerk` in a folder."""
        return self._start({"command": asdict(command), "folder": str(folder)})

    def run(self, folder: Path, *commands: Command) -> list[Outcome]:
        """Runs commands, several at the same time."""
        processes = [self.start_command(command, folder) for command in commands]
        return [process.end(command) for process, command in zip(processes, commands, strict=True)]

    def _start(self, request: dict[str, Any]) -> "Process":
        place, self._started = self._started, self._started + 1
        output = self._folder / f"process-{place}"
        assert self._program.stdin is not None
        self._program.stdin.write(
            json.dumps({**request, "place": place, "output": str(output)}).encode() + b"\n"
        )
        while place not in self._processes:
            self._receive(PATIENCE)
        return Process(self, place, self._processes.pop(place), output)

    def code(self, place: int, seconds: float) -> int | None:
        """Waits some seconds for the end of a process, and returns its exit code if it has ended."""
        until = time.monotonic() + seconds
        while place not in self._codes and time.monotonic() <= until:
            self._receive(max(0.0, until - time.monotonic()))
        return self._codes.get(place)

    def _receive(self, seconds: float) -> None:
        assert self._program.stdout is not None
        if select.select([self._program.stdout], [], [], seconds)[0]:
            received = os.read(self._program.stdout.fileno(), 1 << 16)
            assert received, "the program that forks has ended"
            *lines, self._rest = (self._rest + received).split(b"\n")
            for line in lines:
                what, place, number = json.loads(line)
                (self._processes if what == "started" else self._codes)[place] = number

    def close(self) -> None:
        """Ends all that was started, also what a failed test has not killed."""
        with self._program:  # closes its pipes, and so tells it to end all and itself
            pass


class Process:
    """One that was forked."""

    def __init__(self, forker: Forker, place: int, number: int, output: Path) -> None:
        self._forker = forker
        self._place = place
        self._output = output
        self._started = time.monotonic()
        self.number = number

    def said(self, stream: str = "stdout") -> list[str]:
        """The lines so far."""
        path = self._output.with_suffix(f".{stream}")
        return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    def wait_until_it_spoke(self) -> None:
        self.wait_for_line(0)

    def wait_for_line(self, number: int) -> str:
        """Waits for the line with this number, counted from 0, and returns it."""
        deadline = time.monotonic() + PATIENCE
        while len(said := self.said()) <= number:
            assert time.monotonic() < deadline, "the process says nothing"
            time.sleep(0.001)
        return said[number]

    def wait(self) -> int:
        """Waits for its end, and returns its exit code."""
        code = self._forker.code(self._place, PATIENCE)
        assert code is not None, "the process does not end"
        return code

    def kill(self) -> None:
        os.kill(self.number, signal.SIGKILL)
        self.wait()

    def end(self, command: Command) -> Outcome:
        """Waits for the end of a command, and reads how it ended; its signal is sent to it in time."""
        signalled = hung = False
        if command.after is not None and self._forker.code(self._place, command.after) is None:
            signalled = True
            os.kill(self.number, command.signal)
        if self._forker.code(self._place, command.hang) is None:
            hung = True
            os.killpg(self.number, signal.SIGKILL)
        code = self.wait()
        seconds = time.monotonic() - self._started - command.delay
        with suppress(ProcessLookupError):  # what the command has left behind, e.g. workers of a killed study
            os.killpg(self.number, signal.SIGKILL)
        out, err, counts = map(self._take, ("stdout", "stderr", "counts"))
        calls, writes = map(int, counts.split() or (0, 0))
        return Outcome(code, seconds, hung, signalled, out, err, calls, writes)

    def _take(self, name: str) -> str:
        """Reads what the process has left, and removes it."""
        path = self._output.with_suffix(f".{name}")
        text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
        path.unlink(missing_ok=True)
        return text
