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

import augenmerk
import augenmerk.__main__
from augenmerk.base.errors import AugenmerkError
from tests.support.book import use_short_book
from tests.support.processes import Command

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
    use_short_book()
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
    names += ["scipy.stats", "scipy.optimize", "sacrebleu", "rich.progress", "rich._emoji_codes"]
    for name in names:
        if not name.endswith("__main__"):
            with suppress(ImportError):  # what needs a GPU, or what a test forbids
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
        from tests.support.tasks import TASKS

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
    if command.jobs_here:
        from augenmerk.study import runner
        from tests.support.runs import JobsHere

        vars(runner)["LocalExecutor"] = JobsHere
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


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


if __name__ == "__main__":
    main()
