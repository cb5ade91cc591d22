"""Runs what a study lacks: several processes at once, each with its share of the cores, none left behind.

A worker stops and saves when its stdin closes. So Ctrl-C here loses nothing, and neither does killing the
study: the system closes the pipes of the dead. The study's directory stays locked until the last worker has
saved, since each of them holds the lock too; a study that is started again meanwhile waits for that.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from augenmerk.checkpoint import RunDirectory
from augenmerk.errors import AugenmerkError
from augenmerk.storage import error_reason
from augenmerk.study.collecting import collect, read_finished
from augenmerk.study.measuring import refuse_absent_splits
from augenmerk.study.plan import PlannedRun, Study
from augenmerk.study.result import LOCK, StudyResult
from augenmerk.study.worker import INTERRUPTED, Job

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 30.0
"""Seconds to wait for workers of a study that was killed: they are saving."""
GLANCE = 0.2
"""Seconds between two looks of whoever watches."""


class StudyInterrupted(Exception):  # noqa: N818 (nothing went wrong)
    """Ctrl-C: every run has saved."""


@dataclass
class RunStatus:
    """Where a run is, for whoever watches."""

    planned: PlannedRun
    state: Literal["waiting", "running", "stopped", "finished", "failed"] = "waiting"
    doing: str = ""
    """training, translating, ..."""
    done: float = 0.0
    """Of what it is doing, from 0 to 1."""
    epoch: int = 0
    loss: float | None = None
    bleu: float | None = None
    """On the validation split, after the latest epoch."""
    problem: str | None = None
    was_there: bool = False
    """Finished before this study began."""
    began: float = 0.0
    began_at: float = 0.0
    """When training was first heard of, and how much of it was done then."""

    @property
    def seconds_left(self) -> float | None:
        """Of training, if it goes on as it did."""
        gained, spent = self.done - self.began_at, time.monotonic() - self.began
        if self.doing != "training" or gained <= 0 or spent < 2:
            return None
        return spent * (1 - self.done) / gained

    def hear(self, said: dict[str, Any]) -> None:
        if said["doing"] == "training" and self.doing != "training":
            self.began, self.began_at = time.monotonic(), said["done"]
        self.doing, self.done = said["doing"], said.get("done", 0.0)
        self.epoch = said.get("epoch", self.epoch)
        self.loss = said.get("loss", self.loss)
        self.bleu = said.get("bleu") or self.bleu
        self.problem = said.get("problem")


Watch = Callable[[Sequence[RunStatus]], None]


@dataclass
class _Worker:
    status: RunStatus
    process: subprocess.Popen[bytes]
    log: Path
    said: "queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]]" = field(repr=False)

    def listen(self) -> None:
        """In a thread: passes on what the worker says, and at last that it says no more."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                with suppress(ValueError):
                    self.said.put((self, json.loads(line)))
        self.said.put((self, None))


def run_study(study: Study, out: Path, *, jobs: int, device: str, watch: Watch) -> StudyResult:
    """Runs all that is missing under `out`, and keeps in study.json what is found, also when interrupted.

    A run that fails keeps no other from running.
    """
    refuse_changes(study, out)
    for data in dict.fromkeys(run.config.data for run in study.runs):
        refuse_absent_splits(data, study.splits)
    statuses = [RunStatus(planned) for planned in study.runs]
    with _locked(out) as lock:
        for status in statuses:
            _look_at(study, out, status)
        try:
            with _termination_is_interruption():
                _work_off(study, out, statuses, jobs, device, watch, lock)
        finally:
            problems = {status.planned.name: status.problem for status in statuses if status.problem}
            result = collect(study, out, problems)
            result.save(out)
    return result


def _look_at(study: Study, out: Path, status: RunStatus) -> None:
    """Whether the run is there already: whole, or damaged so that it must not pass for a finished one."""
    try:
        found = read_finished(study, out, status.planned)
        if found is not None:
            found.run.load_model()  # reads all of it, and adds it up
            status.state, status.was_there = "finished", True
    except AugenmerkError as error:
        again = f"Remove {out / status.planned.place} to have it run again."
        status.state, status.problem = "failed", f"{error} {again}"


def refuse_changes(study: Study, out: Path) -> None:
    """A run keeps the settings it was begun with; figures of two kinds must not meet in one table."""
    for planned in study.runs:
        place = out / planned.place
        if not (place / "config.toml").exists():
            continue
        try:
            old, new = RunDirectory.open(place).config.model_dump(), planned.config.model_dump()
        except AugenmerkError:
            continue  # damaged: that is for this run to say, and no reason to keep the others from running
        for group in new:
            for key in new[group]:
                if old[group][key] != new[group][key]:
                    raise AugenmerkError(
                        f"{place} was begun with {group}.{key} = {old[group][key]}, but the study now says "
                        f"{new[group][key]}; choose another --out, or remove that run."
                    )


def threads_each(jobs: int) -> int:
    """The cores shared out among the jobs; fewer where $OMP_NUM_THREADS says so."""
    share = max(1, cores() // jobs)
    told = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(told)) if told.isdecimal() and int(told) > 0 else share


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _work_off(
    study: Study,
    out: Path,
    statuses: Sequence[RunStatus],
    jobs: int,
    device: str,
    watch: Watch,
    lock: int | None,
) -> None:
    said: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]] = queue.SimpleQueue()
    waiting = [status for status in statuses if status.state == "waiting"]
    threads = threads_each(min(jobs, max(1, len(waiting))))
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_started(study, out, waiting.pop(0), device, threads, lock, said))
            watch(statuses)
            _listen(workers, said)
        watch(statuses)
    except KeyboardInterrupt:
        _stop(workers)
        watch(statuses)
        raise StudyInterrupted from None
    except BaseException:
        _stop(workers)
        raise


def _started(
    study: Study,
    out: Path,
    status: RunStatus,
    device: str,
    threads: int,
    lock: int | None,
    said: "queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]]",
) -> _Worker:
    planned = status.planned
    job = Job(
        run=str(out / planned.place),
        config=planned.config.model_dump(exclude_none=True),
        splits=list(study.splits),
        beams=list(study.beams),
        sentences=list(study.sentences),
        device=device,
    )
    log = out / "logs" / f"{planned.variant.folder}.seed-{planned.seed}.txt"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "augenmerk.study.worker", json.dumps(asdict(job))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)},
            start_new_session=True,  # Ctrl-C on the terminal is for the study, which then tells its workers
            pass_fds=() if lock is None else (lock,),
        )
    status.state, status.doing = "running", "starting"
    worker = _Worker(status, process, log, said)
    threading.Thread(target=worker.listen, daemon=True).start()
    return worker


def _listen(workers: list[_Worker], said: "queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]]") -> None:
    """Takes in what was said within a glance."""
    until = time.monotonic() + GLANCE
    while (left := until - time.monotonic()) > 0:
        try:
            worker, what = said.get(timeout=left)
        except queue.Empty:
            return
        if what is not None:
            worker.status.hear(what)
        else:
            _finish(worker)
            workers.remove(worker)
            return


def _finish(worker: _Worker) -> None:
    status, code = worker.status, worker.process.wait()
    _close(worker.process.stdin)
    if code == 0:
        status.state, status.doing = "finished", ""
        worker.log.unlink(missing_ok=True)
        return
    status.state = "stopped" if code == INTERRUPTED else "failed"
    if status.state == "failed" and status.problem is None:
        said = worker.log.read_text(errors="replace").strip().splitlines()
        why = f"signal {-code}" if code < 0 else said[-1] if said else f"exit code {code}"
        status.problem = f"The process of the run ended unexpectedly ({why}); see {worker.log}."


def _stop(workers: Sequence[_Worker]) -> None:
    """Asks all at once and waits for each; asked a second time, does not wait."""
    for worker in workers:
        _close(worker.process.stdin)
    try:
        for worker in workers:
            _finish(worker)
    except KeyboardInterrupt:
        for worker in workers:
            worker.process.kill()
        raise


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with suppress(OSError):
            pipe.close()


@contextmanager
def _locked(out: Path) -> Iterator[int | None]:
    """Keeps two studies from working in one directory; the lock is passed on to the workers."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("ab")
    except OSError as error:
        raise AugenmerkError(f"{out}: cannot be written to ({error_reason(error)}).") from None
    with lock:
        if fcntl is not None:
            _wait_for(lock, out)
        yield lock.fileno() if os.name == "posix" else None


def _wait_for(lock: IO[bytes], out: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise AugenmerkError(
                    f"Another study is at work in {out}; wait until it is done, or stop it."
                ) from None
            time.sleep(GLANCE)
        except OSError:
            return  # a file system without locks, on some networks


@contextmanager
def _termination_is_interruption() -> Iterator[None]:
    """`kill` without a number does what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
