"""Runs commands in real processes that have imported everything already.

Starting Python and torch takes longer than most commands do. So this file is also a program that imports both
once, and forks for each command. A command has its own session, folder, environment, streams and limits, and
ends as any Python program ends; it may be sent a signal after some time, or at its n-th call or write.
"""

import atexit
import gc
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import IO, Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
HANG = 60.0
"""Seconds after which a command counts as hanging."""
MEMORY = 6 << 30
"""Bytes of address space that a command may take more than it has at its start."""
WRITES = frozenset(
    "open write writelines replace rename mkdir rmdir unlink fsync truncate symlink serialize_file".split()
)

FILES = (ModuleType, io.BufferedWriter, io.BufferedRandom, io.FileIO, io.TextIOWrapper)
"""What these functions belong to; a string has `replace` as well, and a buffer in memory `write`."""


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
    """A signal that the command is sent, at the moment given by one of the following three."""
    at_call: int = 0
    at_write: int = 0
    after: float | None = None
    count: bool = False
    """Whether to count calls and writes."""
    delay: float = 0.0
    """Seconds to wait before it starts."""
    hang: float = HANG
    """Seconds after which it is killed."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    """Its exit code, or the negative number of the signal that killed it."""
    seconds: float
    hung: bool
    signalled: bool
    """Whether a signal was sent to it after some time."""
    out: str
    err: str
    calls: int = 0
    writes: int = 0


class Server:
    """A process that forks for each command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.server", str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        )

    def run(self, folder: Path, *commands: Command) -> list[Outcome]:
        """Runs commands in `folder`, several at the same time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"folder": str(folder), "commands": [asdict(command) for command in commands]}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        outcomes = []
        for place, ended in enumerate(json.loads(self._process.stdout.readline())):
            said = [
                (self._folder / f"{place}.{name}").read_bytes().decode("utf-8", "replace")
                for name in ("stdout", "stderr")
            ]
            outcomes.append(Outcome(*ended[:4], *said, *ended[4:]))
        return outcomes

    def close(self) -> None:
        with self._process:  # closes its pipes, and so tells it that no more commands come
            pass


# -- the program -------------------------------------------------------------------------------------------


def main() -> None:
    _import_everything()
    gc.collect()
    gc.freeze()  # so that a child's garbage collector does not touch, and so copy, all that was imported
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    output = Path(sys.argv[1])
    # Not `for line in sys.stdin`: a child must not inherit lines that were read ahead.
    while line := _read_line():
        request = json.loads(line)
        commands = [Command(**command) for command in request["commands"]]
        children = []
        for place, command in enumerate(commands):
            started = time.monotonic()
            process = os.fork()
            if process == 0:
                answers.close()
                _become(command, Path(request["folder"]), output, place)
            children.append((process, started))
        ended = [_wait(*child, command) for child, command in zip(children, commands, strict=True)]
        counts = [_counted(output / f"{place}.counts") for place in range(len(commands))]
        answers.write(json.dumps([[*end, *count] for end, count in zip(ended, counts, strict=True)]) + "\n")
        answers.flush()


def _import_everything() -> None:
    from importlib import import_module

    for folder in (
        "",
        "theory",
        "study",
        "report",
        "patterns",
        "diagrams",
        "translate",
        "bench",
        "model",
        "inference",
    ):
        for file in (ROOT / "src" / "augenmerk" / folder).glob("*.py"):
            name = ".".join(["augenmerk", *filter(None, [folder]), file.stem])
            if file.stem not in ("__main__", "__init__"):
                import_module(name)
    for name in (
        *("matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
        *(
            "scipy.stats",
            "scipy.optimize",
            "sacrebleu",
            "jinja2",
            "tokenizers",
            "rich.progress",
            "augenmerk.cli",
        ),
        *("rich._emoji_codes", "sympy", "torch._dynamo"),
    ):
        import_module(name)


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return b""
        line += byte
    return line


def _become(command: Command, folder: Path, output: Path, place: int) -> NoReturn:
    """Turns this process into the command, and runs it until it exits."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    time.sleep(command.delay)
    os.chdir(folder)
    os.environ.update(command.environment)
    sys.argv = ["augenmerk", *command.arguments]
    _open_streams(command, output, place)
    size = _address_space() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    if command.file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (command.file_size, resource.RLIM_INFINITY))
    from augenmerk.__main__ import main as run

    if command.open_files is not None:
        most = max(int(name) for name in os.listdir("/proc/self/fd")) + command.open_files  # noqa: PTH208
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    watch = Watch(command)
    if command.count or command.at_call or command.at_write:
        sys.setprofile(watch)
    code = 1
    try:
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.setprofile(None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    (output / f"{place}.counts").write_text(f"{watch.calls} {watch.writes}")
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

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            if frame.f_globals.get("__name__", "").startswith("augenmerk"):
                self.calls += 1
                if self.calls == self._command.at_call:
                    os.kill(os.getpid(), self._command.signal)
        elif event == "c_call" and argument.__name__ in WRITES and isinstance(argument.__self__, FILES):
            self.writes += 1
            if self.writes == self._command.at_write:
                os.kill(os.getpid(), self._command.signal)


def _counted(path: Path) -> list[int]:
    if not path.exists():
        return [0, 0]
    counts = [int(number) for number in path.read_text().split()]
    path.unlink()
    return counts


def _open_streams(command: Command, output: Path, place: int) -> None:
    """Replaces the three streams as a shell does, and makes Python's objects for them as Python does."""
    for descriptor, name, kind in (
        (0, "stdin", command.stdin),
        (1, "stdout", command.stdout),
        (2, "stderr", command.stderr),
    ):
        path = output / f"{place}.{name}"
        path.write_bytes(b"")
        if kind == "closed":
            os.close(descriptor)
        else:
            os.dup2(_descriptor(kind, path), descriptor)
    encoding = command.environment.get("PYTHONIOENCODING", "utf-8")
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        stream: IO[str] | None = None
        if getattr(command, name) != "closed":
            errors = "backslashreplace" if name == "stderr" else None
            stream = open(  # noqa: SIM115
                descriptor, mode, encoding=encoding, errors=errors, closefd=False
            )
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


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _wait(process: int, started: float, command: Command) -> tuple[int, float, bool, bool]:
    handle = os.pidfd_open(process)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    signalled = hung = False
    if command.after is not None and not poll.poll(command.after * 1000):
        signalled = True
        os.kill(process, command.signal)
    if not poll.poll(command.hang * 1000):
        hung = True
        os.killpg(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.close(handle)
    seconds = time.monotonic() - started - command.delay
    with suppress(ProcessLookupError):  # what the command has left behind, e.g. workers of a killed study
        os.killpg(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status), seconds, hung, signalled


if __name__ == "__main__":
    main()
