"""Processes for tests to kill, to starve and to compete with.

Importing torch takes longer than the tests do. So this file is also a program that imports it once, and
forks for each task that it is given on its standard input.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import torch
from torch import Tensor

import augenmerk.__main__
from augenmerk.base.errors import AugenmerkError
from augenmerk.evaluation.evaluator import save_row
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import train
from tests.support.runs import CPU, Silent

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = {
    *(f"augenmerk.training.{name}" for name in ("loop", "engine", "distributed")),
    *(f"augenmerk.run.{name}" for name in ("directory", "records")),
    *("augenmerk.base.files", "augenmerk.base.arrays"),
}
PATIENCE = 240
"""Seconds after which a process is given up. Nothing takes nearly as long; no test waits for it to pass."""


def wait_for(what: str, condition: Callable[[], object]) -> None:
    """Waits until the condition holds; `what` says in a failure what did not come."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


class Forker:
    """Starts processes; each writes what it has to say into a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.support.processes"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(self, task: str, run: Path, number: int = 0) -> "Process":
        output = self._folder / f"said-{self._started}"
        self._started += 1
        self._write(task, run, number, output)
        return Process(output)

    def import_modules(self, *names: str) -> None:
        """Imports modules in the program, so that processes that are started later need not."""
        for name in names:
            self._write("import", name, 0, "")

    def _write(self, *words: object) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write("\t".join(map(str, words)) + "\n")
        self._program.stdin.flush()

    def close(self) -> None:
        """Ends all that was started, also what a failed test has not killed."""
        os.killpg(self._program.pid, signal.SIGKILL)
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait()


class Process:
    """One that was forked."""

    def __init__(self, output: Path) -> None:
        self._output = output

    def said(self) -> list[str]:
        """The lines so far, without the first, which is the process's number."""
        return self._lines()[1:]

    def wait_until_it_spoke(self) -> None:
        self._wait(2)

    def wait_for_line(self, number: int) -> str:
        """Waits for the line with this number, counted from 0, and returns it."""
        self._wait(number + 2)
        return self.said()[number]

    def wait(self) -> None:
        """Waits for its end."""
        number = self._wait(1)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                os.kill(number, 0)
            except ProcessLookupError:
                return
            assert time.monotonic() < deadline, "the process does not end"
            time.sleep(0.001)

    def kill(self) -> None:
        os.kill(self._wait(1), signal.SIGKILL)
        self.wait()

    def _lines(self) -> list[str]:
        text = self._output.read_text(encoding="utf-8") if self._output.exists() else ""
        return text.split("\n")[:-1]

    def _wait(self, lines: int) -> int:
        """Waits for so many lines; returns the process's number."""
        deadline = time.monotonic() + PATIENCE
        while len(self._lines()) < lines:
            assert time.monotonic() < deadline, "the process says nothing"
            time.sleep(0.001)
        return int(self._lines()[0])


# -- what the processes do --------------------------------------------------------------------------------


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def tensors(step: int) -> dict[str, Tensor]:
    """Large enough that there is time to be killed while they are written."""
    return {
        "weight": torch.full((500_000,), float(step)),
        "rng": torch.tensor([step % 256], dtype=torch.uint8),
    }


def save_for_ever(folder: Path, _number: int) -> NoReturn:
    run = RunDirectory.open(folder)
    with run.training():
        state = run.load_state()
        step = 0 if state is None else state[1]["step"]
        while True:
            step += 1
            run.save_model(tensors(step), {"step": step})
            run.write_metrics([{"step": n} for n in range(step)])
            run.save_state(tensors(step), {"step": step})
            say(step)


def create_for_ever(folder: Path, _number: int) -> NoReturn:
    like = RunDirectory.open(folder)
    tokenizers, n = like.tokenizers, 0
    while True:
        RunDirectory.create(folder.parent / "many" / f"{os.getpid()}-{n}", like.config, tokenizers)
        n += 1
        say(n)


def create_contested(folder: Path, _number: int) -> None:
    like = RunDirectory.open(folder)
    RunDirectory.create(folder.parent / "contested", like.config, like.tokenizers)
    say("created")


def create_without_permission(folder: Path, _number: int) -> None:
    like = RunDirectory.open(folder)
    tokenizers = like.tokenizers
    if os.geteuid() == 0:  # whom permissions do not hinder
        os.seteuid(65534)
    RunDirectory.create(folder.parent / "closed" / "run", like.config, tokenizers)


def save_too_much(folder: Path, _number: int) -> None:
    run = RunDirectory.open(folder)
    with run.training(), limited_file_size(50_000):
        run.save_state(tensors(2), {"step": 2})


def create_too_much(folder: Path, _number: int) -> None:
    like = RunDirectory.open(folder)
    tokenizers = like.tokenizers
    with limited_file_size(100):
        RunDirectory.create(folder.parent / "large", like.config, tokenizers)


def hold(folder: Path, _number: int) -> None:
    with RunDirectory.open(folder).training():
        say("held")
        signal.pause()


def keep_rows(folder: Path, number: int) -> None:
    """Writes 30 rows of scores, and as many of an ensemble, for beams from `number` on."""
    run = RunDirectory.open(folder)
    say("ready")
    for beam in range(number, number + 30):
        for others in ({}, {"ensemble": ["other"]}):
            save_row(run, {"split": "val", "beam": beam, **others}, [f"beam {beam}"], [0.5])


def train_until(folder: Path, number: int) -> None:
    """Trains a run, and is killed at the call with this number in the modules `MOMENTS`; 0 is never.

    So a moment is the same on every machine. It may lie anywhere: before the first batch, between two steps,
    or between writing a file and giving it its name.
    """
    run = RunDirectory.open(folder)
    calls = count_calls(number)
    train(run, CPU, Silent())
    sys.setprofile(None)
    say(len(calls))


def count_calls(
    number: int, function: str = "", signum: int = signal.SIGKILL, *, since: str = ""
) -> list[None]:
    """Counts calls from here on, and sends a signal to this process at the one with this number.

    Calls are those in the modules `MOMENTS`, or of one function of them; they are counted from the first call
    of the function `since` on, if it is given.
    """
    calls: list[None] = []
    counting = not since

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counting
        if event not in ("call", "c_call") or frame.f_globals.get("__name__") not in MOMENTS:
            return
        counting = counting or frame.f_code.co_name == since
        if counting and (not function or (event == "call" and frame.f_code.co_name == function)):
            calls.append(None)
            if len(calls) == number:
                os.kill(os.getpid(), signum)

    sys.setprofile(count)
    return calls


def run_together(folder: Path, number: int) -> None:
    """Runs a command in so many processes, as `torchrun` does; says their numbers, and at last their codes.

    The folder holds `command.json`: the arguments of the command, and what happens to the process of one
    `rank`: the arguments of `count_calls`, or the size of the `largest` file that it can write. What the
    processes print is in the files `printed.0`, `printed.1` and so on.
    """
    command = json.loads((folder / "command.json").read_text(encoding="utf-8"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    processes = []
    for rank in range(number):
        if (process := os.fork()) == 0:
            place = {"RANK": rank, "WORLD_SIZE": number, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            place["TORCHELASTIC_USE_AGENT_STORE"] = True
            os.environ |= {name: str(value) for name, value in place.items()}
            output = os.open(folder / f"printed.{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os._exit(_run_rank(command["arguments"], command if rank == command.get("rank") else {}))
        processes.append(process)
    # Where they meet. It has threads, so it comes after the forks; and it outlives whoever is killed.
    store = torch.distributed.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    say(*processes)
    say(*(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes))
    del store


def _run_rank(arguments: list[str], trouble: dict[str, Any]) -> int:
    sys.argv[:] = ["augenmerk", *arguments]
    if "calls" in trouble:
        count_calls(*trouble["calls"], since="train")  # when they have met: how long that takes is chance
    try:
        with limited_file_size(trouble["largest"]) if "largest" in trouble else nullcontext():
            augenmerk.__main__.main()
    except SystemExit as end:
        sys.stdout.flush()
        return int(end.code or 0)
    return 0


@contextmanager
def limited_file_size(size: int) -> Iterator[None]:
    """What a full disk is like, some way into a file."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


TASKS = {
    task.__name__: task
    for task in (
        *(save_for_ever, create_for_ever, create_contested, create_without_permission),
        *(save_too_much, create_too_much, hold, keep_rows, train_until, run_together),
    )
}


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead: let them go at once
    for line in sys.stdin:
        task, folder, number, output = line.rstrip("\n").split("\t")
        if task == "import":
            import_module(folder)
        elif os.fork() == 0:
            try:
                os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
                say(os.getpid())
                TASKS[task](Path(folder), int(number))
            except AugenmerkError as error:
                say(error)
            finally:
                os._exit(0)


if __name__ == "__main__":
    main()
