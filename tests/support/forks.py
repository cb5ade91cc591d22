"""The program that forks for each task and each command; tests/support/processes.py starts it."""

import atexit
import gc
import io
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import IO, Any, NoReturn

import torch
from torch import Tensor

import augenmerk
import augenmerk.__main__
from augenmerk.base.errors import AugenmerkError
from augenmerk.evaluation.evaluator import save_row
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import train
from tests.support.processes import Command
from tests.support.runs import CPU, Silent

MOMENTS = {
    *(f"augenmerk.training.{name}" for name in ("loop", "engine", "distributed")),
    *(f"augenmerk.run.{name}" for name in ("directory", "records")),
    *("augenmerk.base.files", "augenmerk.base.arrays"),
}
MEMORY = 6 << 30
"""Bytes of address space that a command may take more than it has at its start."""
WRITES = frozenset(
    "open write writelines replace rename mkdir rmdir unlink fsync truncate symlink serialize_file".split()
)
FILES = (ModuleType, io.BufferedWriter, io.BufferedRandom, io.FileIO, io.TextIOWrapper)
"""What these functions belong to; a string has `replace` as well, and a buffer in memory `write`."""


def main() -> None:
    """Forks for each line of standard input; prints each process's number, and how it ended."""
    _import_everything()
    gc.collect()
    gc.freeze()  # so that a child's garbage collector does not touch, and so copy, all that was imported
    answers = os.dup(1)
    os.dup2(2, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    children: dict[int, int] = {}
    rest = b""

    def answer(*words: object) -> None:
        with suppress(BrokenPipeError):  # nobody asks any more
            os.write(answers, json.dumps(words).encode() + b"\n")

    while True:
        ready = select.select([0, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1 << 16)
            while children and (ended := os.waitpid(-1, os.WNOHANG))[0]:
                answer("ended", children.pop(ended[0]), os.waitstatus_to_exitcode(ended[1]))
        if 0 in ready:
            received = os.read(0, 1 << 16)
            if not received:
                break
            *lines, rest = (rest + received).split(b"\n")
            for line in lines:
                request = json.loads(line)
                process = os.fork()
                if process == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for descriptor in (answers, woken, wake):
                        os.close(descriptor)
                    _work(request)
                children[process] = request["place"]
                answer("started", request["place"], process)
    for process in children:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)


def _import_everything() -> None:
    names = [each.name for each in pkgutil.walk_packages(augenmerk.__path__, "augenmerk.")]
    names += ["matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"]
    names += [
        "scipy.stats",
        "scipy.optimize",
        "sacrebleu",
        "rich.progress",
        "rich._emoji_codes",
        "torch._dynamo",
    ]
    for name in names:
        if not name.endswith("__main__"):
            with suppress(ImportError):  # what needs a GPU
                import_module(name)


def _work(request: dict[str, Any]) -> NoReturn:
    """Turns this process into the task or the command that was asked for."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    folder, output = Path(request["folder"]), Path(request["output"])
    if "command" in request:
        _become(Command(**request["command"]), folder, output)
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(output.with_suffix(".stdout"), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
        TASKS[request["task"]](folder, request["number"])
        code = 0
    except AugenmerkError as error:
        say(error)
        code = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


# -- commands ----------------------------------------------------------------------------------------------


def _become(command: Command, folder: Path, output: Path) -> NoReturn:
    """Runs a command until it exits, as any Python program does."""
    time.sleep(command.delay)
    os.chdir(folder)
    os.environ.update(command.environment)
    sys.argv = ["augenmerk", *command.arguments]
    _open_streams(command, output)
    if (pages := Path("/proc/self/statm")).exists():
        size = int(pages.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    if command.open_files is not None:
        most = max(int(name) for name in os.listdir("/proc/self/fd")) + command.open_files  # noqa: PTH208
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    watch = Watch(command)
    code = 1
    with nullcontext() if command.file_size is None else limited_file_size(command.file_size):
        if command.count or command.at_call or command.at_write or command.at_function:
            sys.setprofile(watch)
        try:
            augenmerk.__main__.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        sys.setprofile(None)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    output.with_suffix(".counts").write_text(f"{watch.calls} {watch.writes}")
    os._exit(_finish(code))


def _finish(code: int) -> int:
    """Does what Python does at its end, except for freeing its modules, which takes a second with torch."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            if stream is sys.stdout:
                os.write(2, f"Exception ignored while flushing sys.stdout: {error!r}\n".encode())
            code = 120
    return code


class Watch:
    """A profiler that counts calls within the package and changes of files, and sends the signal in time."""

    def __init__(self, command: Command) -> None:
        self.calls = self.writes = 0
        self._command = command
        self._module, _, self._function = command.at_function.partition(":")

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        command = self._command
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if self._function and (module, frame.f_code.co_name) == (self._module, self._function):
                self._function = ""
                os.kill(os.getpid(), command.signal)
            elif module.startswith("augenmerk"):
                self.calls += 1
                if self.calls == command.at_call:
                    os.kill(os.getpid(), command.signal)
        elif event == "c_call" and argument.__name__ in WRITES and isinstance(argument.__self__, FILES):
            self.writes += 1
            if self.writes == command.at_write:
                os.kill(os.getpid(), command.signal)


def _open_streams(command: Command, output: Path) -> None:
    """Replaces the three streams as a shell does, and makes Python's objects for them as Python does."""
    encoding = command.environment.get("PYTHONIOENCODING", "utf-8")
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        kind, path = getattr(command, name), output.with_suffix(f".{name}")
        path.write_bytes(b"")
        stream: IO[str] | None = None
        if kind == "closed":
            os.close(descriptor)
        else:
            os.dup2(_descriptor(kind, path), descriptor)
            errors = "backslashreplace" if name == "stderr" else None
            stream = open(descriptor, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _descriptor(kind: str, path: Path) -> int:
    if kind == "empty":
        return os.open(os.devnull, os.O_RDONLY)
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY)
    if kind == "unread":
        reading, writing = os.pipe()
        os.close(reading)
        return writing
    if kind == "file":
        return os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    return os.open(kind, os.O_RDONLY)


@contextmanager
def limited_file_size(size: int) -> Iterator[None]:
    """What a full disk is like, some way into a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# -- tasks -------------------------------------------------------------------------------------------------


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


TASKS = {
    task.__name__: task
    for task in (
        *(save_for_ever, create_for_ever, create_contested, create_without_permission),
        *(save_too_much, create_too_much, hold, keep_rows, train_until, run_together),
    )
}


if __name__ == "__main__":
    main()
