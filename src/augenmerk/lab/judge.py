"""The process that grades the submissions of a class: it compares with references, and executes no answer.

    python -m augenmerk.lab.judge       (a line of JSON on stdin for each submission, and one on stdout)

The answers run in a process that it forks for each submission (`sandbox.py`), and that sends back tensors.
Where such a process ends, hangs or does what it may not, the exercise gets no points, and the next begins
with a new one.
"""

import io
import json
import os
import select
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch._dynamo  # which the meta device imports, and which makes a folder then
from torch import Tensor

from augenmerk.lab.child import MEGABYTE, make_missing, split_file
from augenmerk.lab.exercises import EXERCISES
from augenmerk.lab.grading import grade
from augenmerk.lab.outcomes import Case, Outcome, Remote
from augenmerk.lab.sandbox import Job, run

MAX_REPLY = 64 * MEGABYTE
WAIT = 3.0
"""A call may take so many times its computing time, and some seconds, before it is ended from outside."""


class StoppedError(BaseException):
    """Raised if the process of the answers cannot go on; says why."""


class Worker:
    """A process with the answers of one submission."""

    def __init__(self, job: Job) -> None:
        self._wait = WAIT * job.seconds + 5
        self._folder = tempfile.TemporaryDirectory(prefix="augenmerk-lab-")
        asked, ask = os.pipe()
        replies, told = os.pipe()
        self._ask, self._replies = os.fdopen(ask, "wb"), replies
        self._pid = os.fork()
        if self._pid == 0:
            os.close(ask)
            os.close(replies)
            run(job, asked, told, self._folder.name)
        os.close(asked)
        os.close(told)
        try:
            self.started = self._read()
        except StoppedError:
            self.close()
            raise

    def ask(self, *request: object) -> Mapping[str, Any]:
        try:
            self._ask.write((" ".join(map(str, request)) + "\n").encode())
            self._ask.flush()
        except BrokenPipeError:
            raise StoppedError("The answer ended the program") from None
        return self._read()

    def _read(self) -> Mapping[str, Any]:
        deadline = time.monotonic() + self._wait
        [size] = struct.unpack("<Q", self._take(8, deadline))
        if size > MAX_REPLY:
            raise StoppedError(f"It returns more than {MAX_REPLY // MEGABYTE} MB")
        data = io.BytesIO(self._take(size, deadline))
        found: Mapping[str, Any] = torch.load(data, weights_only=True)  # which executes nothing
        return found

    def _take(self, size: int, deadline: float) -> bytes:
        data = b""
        while len(data) < size:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._replies], [], [], left)[0]:
                raise StoppedError(f"It does not end, and was stopped after {self._wait:g} s")
            part = os.read(self._replies, min(size - len(data), MEGABYTE))
            if not part:
                raise StoppedError("It ended the program, or needed too much time or memory")
            data += part
        return data

    def close(self) -> None:
        self._ask.close()
        os.close(self._replies)
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(self._pid, signal.SIGKILL)  # not yet the leader of a group
        os.waitpid(self._pid, 0)
        self._folder.cleanup()


class Answer(Remote):
    """A class or function of a submission, which is called in its own process."""

    def __init__(self, worker: Worker, name: str, cases: list[Case], seconds: float) -> None:
        self._worker, self._name, self._cases, self._seconds = worker, name, cases, seconds

    def call(self, case: Case, prepare: str, seed: int, device: str) -> Outcome:
        number = next(i for i, each in enumerate(self._cases) if each is case)
        found = self._worker.ask(self._name, number, prepare, seed, device)
        if "forbidden" in found:
            raise StoppedError(found["forbidden"])
        if "slow" in found:
            place = found["slow"]
            raise StoppedError(
                f"It does not end within {self._seconds:g} s of computing{place and ': '}{place}"
            )
        if "missing" in found or "problem" in found:
            raise StoppedError(found.get("problem", ""))
        weights = {str(name): own for name, own in dict(found["weights"]).items() if isinstance(own, Tensor)}
        if "error" in found:
            return Outcome(error=str(found["error"]), explained=str(found["explained"]), weights=weights)
        raw = [
            torch.empty(
                0, dtype=getattr(torch, str(kind)), device="meta" if where == "meta" else "cpu"
            ).requires_grad_(bool(trained))
            for kind, trained, where in found["tensors"]
        ]
        return Outcome(found["value"], raw=raw, weights=weights, changed=bool(found["changed"]))


def judge(job: Mapping[str, Any]) -> dict[str, Any]:
    """Grades a submission; returns what is found about each exercise, or the `problem` of the whole file."""
    seed, names = job["seed"], job["exercises"]
    cases = {name: EXERCISES[name].make_cases(seed) for name in names}
    own: dict[str, Sequence[Case]] = {EXERCISES[name].object: cases[name] for name in names}
    limits = (job["seconds"], job["megabytes"], job["total"])
    worker: Worker | None = None
    found, problem = [], ""
    isolation: str | None = None
    try:
        for name in names:
            try:
                if worker is None:
                    worker = Worker(Job(job["path"], job["text"], own, *limits))
                    isolation = str(worker.started.get("isolation", ""))
                    problem = _find_problem(worker.started, job["seconds"])
                if problem:
                    break
                answer = Answer(worker, EXERCISES[name].object, cases[name], job["seconds"])
                files = [*split_file(job["path"], job["text"])]
                found.append(grade(EXERCISES[name], answer, seed, files, cases=cases[name]))
            except StoppedError as error:
                if worker is None:
                    problem = f"{error}, before anything is called."
                    break
                says = str(error)
                found.append(make_missing(name, says and f"{says}."))
                if worker and says:
                    worker.close()
                    worker = None
    finally:
        if worker:
            worker.close()
    if problem:
        found = [make_missing(name) for name in names]
    return {"found": found, "problem": problem, "isolation": isolation}


def _find_problem(started: Mapping[str, Any], seconds: float) -> str:
    """Returns why a file could not be loaded, if it could not."""
    if "slow" in started:
        return f"The file itself takes over {seconds:g} s, before anything is called."
    if "problem" in started:
        return f"It cannot be loaded: {started['problem']}."
    return f"{started['forbidden']}." if "forbidden" in started else ""


def main() -> None:
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    torch.set_num_threads(1)  # a process with threads cannot be forked
    for line in sys.stdin:
        results.write(json.dumps(judge(json.loads(line))) + "\n")
        results.flush()


if __name__ == "__main__":
    main()
