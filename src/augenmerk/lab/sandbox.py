"""The process in which the answers of one submission run, and nothing else: no reference, no comparison.

The grader forks it when everything is imported, and asks it for single calls over a pipe. What it can do is
limited twice: by the system (a namespace without a network where there can be one, an own folder, limits of
computing time, memory and file sizes), and within Python, by an audit hook that answers cannot remove.
"""

import ctypes
import io
import linecache
import os
import re
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch

from augenmerk.lab.child import MEGABYTE, split_file
from augenmerk.lab.grading import TooSlowError, explain_error, find_line, limit_seconds
from augenmerk.lab.outcomes import Case, Outcome, call, list_tensors, to_double, to_trained

PREPARATIONS = {"to_double": to_double, "to_trained": to_trained}
MAX_PRINTED = MEGABYTE
MAX_FILES = 64  # that may be open
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_NEW_USER, _NEW_NET, _NEW_PID = 0x1000_0000, 0x4000_0000, 0x2000_0000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HERE = Path(__file__).resolve().parent
_OURS = re.compile(rf"{re.escape(str(_HERE.parent))}/(?!{_HERE.name}/[^/]+$)")
_FORBIDDEN = {
    **dict.fromkeys(
        ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system"), "process"
    ),
    **dict.fromkeys(("subprocess.Popen", "pty.spawn", "os.kill", "os.killpg", "os.setpriority"), "process"),
    **dict.fromkeys(("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink"), "file"),
    **dict.fromkeys(("os.truncate", "os.chmod", "os.chown", "os.utime", "shutil.rmtree"), "file"),
    **dict.fromkeys(("gc.get_objects", "gc.get_referrers", "gc.get_referents"), "grader"),
    **dict.fromkeys(("sys.addaudithook", "resource.setrlimit", "sys.settrace", "ctypes.dlopen"), "grader"),
}
"""Python's names of what happens, with the key of the sentence below; all of sockets is forbidden, too."""
SENTENCES = {
    "process": "It starts or stops a process, which answers may not",
    "network": "It uses the network, which answers may not",
    "file": "It writes, moves or deletes a file, which answers may not",
    "grader": "It reaches into Augenmerk or the grader, which answers may not",
    "output": "It prints more than 1 MB",
}


class ForbiddenError(BaseException):
    """Raised by what answers may not do; a BaseException, so that `except Exception` does not catch it."""


class Watch:
    """Notes what was forbidden, and stops it."""

    def __init__(self) -> None:
        self.seen = ""
        self.is_on = False
        """Whether an answer is running, and not what explains its errors."""

    def stop(self, what: str) -> NoReturn:
        self.seen = self.seen or SENTENCES[what]
        raise ForbiddenError(SENTENCES[what])

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook."""
        if not self.is_on:
            return
        if event == "open":
            path, mode, flags = arguments
            if (isinstance(flags, int) and flags & _WRITES) or (
                isinstance(mode, str) and set(mode) & set("wax+")
            ):
                self.stop("file")
            # Torch reads the lines of its callers, which are here; references are elsewhere in the package.
            if isinstance(path, str | bytes) and _OURS.match(os.path.realpath(os.fsdecode(path))):
                self.stop("grader")
        elif event == "import":
            if arguments[0].startswith("augenmerk."):
                self.stop("grader")
        elif event.startswith("socket."):
            self.stop("network")
        elif event in _FORBIDDEN:
            self.stop(_FORBIDDEN[event])


class Printed(io.TextIOBase):
    """Counts what is printed, and forgets it."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self._count = watch, 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._count += len(text)
        if self._count > MAX_PRINTED:
            self._watch.stop("output")
        return len(text)


@dataclass(frozen=True)
class Job:
    """A submission, and what it may use."""

    path: str
    text: str
    cases: dict[str, Sequence[Case]]
    """The inputs of each class or function that is asked for."""
    seconds: float
    megabytes: int
    total: float
    """Seconds of computing for the whole file."""


def isolate() -> str:
    """Leaves the network, and the processes of others for those forked from here; returns what was left.

    Both without privileges, on Linux; returns "" where that is not possible. Ends with the grader.
    """
    try:
        unshare, prctl = (getattr(ctypes.CDLL(None), name) for name in ("unshare", "prctl"))
    except (OSError, AttributeError):
        return ""
    prctl(_END_WITH_PARENT, signal.SIGKILL)
    for flags, left in ((_NEW_USER | _NEW_NET | _NEW_PID, "namespace"), (_NEW_USER | _NEW_NET, "network")):
        if unshare(flags) == 0:
            return left
    return ""


def limit(job: Job) -> None:
    """Sets the limits of the system."""

    def lower(what: int, most: int) -> None:
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))

    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if pages:
        lower(resource.RLIMIT_AS, pages * resource.getpagesize() + job.megabytes * MEGABYTE)
    lower(resource.RLIMIT_CPU, int(job.total) + 1)
    lower(resource.RLIMIT_FSIZE, MEGABYTE)
    lower(resource.RLIMIT_NOFILE, MAX_FILES)
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_NPROC, 1)  # no more processes: of no effect for root


def run(job: Job, requests: int, replies: int, folder: str) -> NoReturn:
    """Serves the grader from this process, which was just forked, until it closes the pipe; never returns."""
    os.setsid()
    isolation = isolate()
    if isolation == "namespace" and (
        inner := os.fork()
    ):  # the first process there, with which all others end
        os.closerange(3, 4096)
        os.waitpid(inner, 0)
        os._exit(0)
    if isolation == "namespace":
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    asked, told = os.fdopen(requests, "rb"), os.fdopen(replies, "wb")
    for number in set(range(3, MAX_FILES)) - {requests, replies}:
        try:
            os.close(number)
        except OSError:
            continue
    try:
        _serve(job, asked, told, isolation)
    finally:
        os._exit(0)


def _serve(job: Job, asked: Any, told: Any, isolation: str) -> None:
    def tell(**reply: Any) -> None:
        buffer = io.BytesIO()
        torch.save(reply, buffer)
        told.write(struct.pack("<Q", buffer.tell()) + buffer.getvalue())
        told.flush()

    watch = Watch()
    torch.save({"warm": torch.zeros(1)}, io.BytesIO())  # what it imports, it imports now
    limit(job)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr = Printed(watch)
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.partition(".")[0] == "augenmerk"]:
        del sys.modules[name]
    sys.modules["augenmerk"] = ModuleType("augenmerk")  # notebooks import it, and leave out the checks
    sys.addaudithook(watch.hear)
    files: dict[str, str] = {}

    def guard(work: Any) -> dict[str, Any]:
        """Returns what came of it, or why it was ended."""
        watch.seen, watch.is_on = "", True
        try:
            with limit_seconds(job.seconds):
                found: dict[str, Any] = work()
            watch.is_on = False
        except TooSlowError as error:
            watch.is_on = False
            return {"slow": find_line(error, [*files])}
        except ForbiddenError as error:
            watch.is_on = False
            place = find_line(error, [*files])
            return {"forbidden": f"{watch.seen}{place and ': '}{place}"}
        except BaseException as error:
            watch.is_on = False
            found = {"problem": explain_error(error, [*files])}
        return {"forbidden": watch.seen} if watch.seen else found

    module = sys.modules["lab_answers"] = ModuleType("lab_answers")

    def load() -> dict[str, Any]:
        files.update(split_file(job.path, job.text))
        for name, code in files.items():
            linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
            exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)
        return {}

    tell(isolation=isolation, **guard(load))

    def answer(name: str, number: str, prepare: str, seed: str, device: str) -> dict[str, Any]:
        case, answer = job.cases[name][int(number)], vars(module).get(name)
        how: dict[str, Any] = {"prepare": PREPARATIONS[prepare]} if prepare in PREPARATIONS else {}
        on = None if device == "-" else torch.device(device)
        if answer is None:
            return {"missing": True}
        found = guard(lambda: {"outcome": call(answer, case, seed=int(seed), device=on, **how)})
        outcome = found.pop("outcome", None)
        return _describe(outcome, [*files], has_value=on is None) if outcome else found

    while line := asked.readline():
        tell(**answer(*line.decode().split()))


def _describe(outcome: Outcome, files: Sequence[str], *, has_value: bool) -> dict[str, Any]:
    """Returns what came of a call, as text, numbers and tensors."""
    weights = dict(outcome.weights)
    if outcome.raised:
        return {"error": outcome.error, "weights": weights, "explained": explain_error(outcome.raised, files)}
    tensors = [
        (str(tensor.dtype).removeprefix("torch."), tensor.requires_grad, tensor.device.type)
        for tensor in list_tensors(outcome.raw)
    ]
    value = outcome.value if has_value else None
    return {"value": value, "tensors": tensors, "weights": weights, "changed": outcome.changed}
