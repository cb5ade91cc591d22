"""Numbered blocks of work, mapped over processes or a Ray cluster, and jobs that can be resumed.

A block is a function of its number and a few small arguments, and its result is small too: large data is in
files, which the processes read and write themselves. So any process may compute it, and more than once.

A `BlockJob` keeps in a folder what a killed process need not repeat:

    request.json          what the results depend on: all settings, and digests of the input
    scan.json             the blocks with their sizes and checksums, and a summary of the input; written last
    000000.input, ...     the content of a block
    000000.json, ...      the entry of a finished block: the checksum of its result, and remarks

The result of a block is a file, in this folder or another one, which is written before its entry.
"""

import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from secrets import token_hex
from socket import gethostname
from typing import Any

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    atomic_write,
    digest_file,
    error_reason,
    hold_lock,
    make_folder,
    read_bytes,
    read_object,
    remove,
    remove_locked_folder,
    remove_stale_temp_files,
    write_object,
)
from augenmerk.cluster.ray import first_line, list_nodes

ATTEMPTS = 4
"""The number of times a block is started if the process or the machine that computes it dies."""
AHEAD = 2
"""Blocks submitted at a time for each slot of the cluster: more would wait in memory."""
LOCK = ".lock"
_REQUEST, _SCAN = "request.json", "scan.json"
_LOCK_TIMEOUT = 0.5
"""Seconds to wait for another process that works in the same folder."""

Start = Callable[[], Callable[..., Any]]
"""Called once in a process; what it returns is called with the number and the arguments of each block."""
Blocks = Mapping[int, tuple[Any, ...]]
"""The arguments of each block, by its number."""
Finish = Callable[[int, Any], None]
"""Called with the number of each block and its result, as soon as that is there."""
MapBlocks = Callable[[Start, Blocks, Finish], None]
"""Computes blocks, some at a time; raises what one of them raises."""
OnProgress = Callable[[str, int, int | None], None]
"""Called with what is done, how much of it is done, and how much there is if that is known."""


@dataclass(frozen=True)
class ProcessPool:
    """Computes blocks in processes of this machine, or here if one is enough: a `MapBlocks`."""

    workers: int

    def __call__(self, start: Start, blocks: Blocks, finish: Finish) -> None:
        workers = min(self.workers, len(blocks))
        if workers == 0:
            return
        if workers == 1:
            compute = start()
            for number, arguments in blocks.items():
                finish(number, compute(number, *arguments))
            return
        # Not forked, because threads of the libraries, or of a progress bar, may hold locks.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (start,))
        try:
            with _without_script():
                numbers = {
                    pool.submit(_compute, number, *arguments): number for number, arguments in blocks.items()
                }
            for future in as_completed(numbers):
                finish(numbers[future], future.result())
        except BrokenProcessPool:
            raise AugenmerkError(
                "A worker was killed, perhaps because memory ran out; run the same command again, with fewer "
                "--workers, to resume."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _without_script() -> Iterator[None]:
    """Keeps new processes from running the user's script once more; they need nothing of it."""
    main = vars(sys.modules["__main__"])
    file = main.pop("__file__", None)
    try:
        yield
    finally:
        if file is not None:
            main["__file__"] = file


@dataclass(frozen=True)
class RayTasks:
    """Computes blocks on the machines of the connected Ray cluster: a `MapBlocks`.

    If a machine vanishes, another one computes its blocks.
    """

    folder: Path
    """A folder that all machines must share."""
    gpus: int = 0
    """The number of GPUs for a block, which also needs a core."""

    def __call__(self, start: Start, blocks: Blocks, finish: Finish) -> None:
        import ray

        if not blocks:
            return
        if not self._count_slots():
            missing = "GPU" if self.gpus else "core"
            raise AugenmerkError(
                f"No machine of the Ray cluster has a {missing} for this; `ray status` lists what there is."
            )
        compute = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=ATTEMPTS - 1)(_compute_on_node)
        submit: Callable[..., Any] = compute.remote
        common = token_hex(8), __version__, self.folder, start
        waiting, running = iter(blocks.items()), dict[Future[Any], tuple[int, Any]]()
        try:
            while True:
                free = AHEAD * max(1, self._count_slots()) - len(running)
                for number, arguments in islice(waiting, max(0, free)):
                    task = submit(*common, number, *arguments)
                    running[task.future()] = number, task
                if not running:
                    return
                # Not ray.wait, in which SIGTERM would look like Ctrl-C. Not longer, because machines may have
                # joined the cluster.
                for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                    finish(running.pop(future)[0], future.result())
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AugenmerkError):
                raise AugenmerkError(str(error.cause)) from None
            if "No module named 'augenmerk" in str(error):
                raise AugenmerkError(
                    "A machine of the Ray cluster does not have augenmerk: install it on all of them, in the "
                    "Python that runs Ray there."
                ) from None
            raise RuntimeError(str(error)) from None
        except ray.exceptions.RayError as error:
            raise AugenmerkError(
                f"A block was started {ATTEMPTS} times, and each time the process or the machine that "
                f"computed it was lost ({first_line(error)}); run the same command again to resume."
            ) from None
        finally:
            for _, task in running.values():
                ray.cancel(task, force=True)

    def _count_slots(self) -> int:
        """Returns how many blocks the cluster computes at a time."""
        nodes = list_nodes()
        return sum(min(node.cpus, node.gpus // self.gpus) if self.gpus else node.cpus for node in nodes)


# In a worker

_started: Callable[..., Any]
_started_for = ""


def _start_worker(start: Start) -> None:
    global _started
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the parent ends them
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _started = start()


def _end_with_parent() -> None:
    """Ends this process when its parent was killed, which would otherwise wait for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _compute(number: int, *arguments: Any) -> Any:
    return _started(number, *arguments)


def _compute_on_node(job: str, version: str, folder: Path, start: Start, number: int, *arguments: Any) -> Any:
    """Computes a block in a process of Ray, which may have computed others, of the same job or another."""
    global _started, _started_for
    if _started_for != job:
        if version != __version__:
            raise AugenmerkError(
                f"{gethostname()} has augenmerk {__version__}, but the command was started with {version}; "
                f"install the same version on all machines."
            )
        if not folder.is_dir():
            raise AugenmerkError(
                f"{folder}: {gethostname()}, a machine of the Ray cluster, has no such folder; choose one "
                f"that all of them share."
            )
        _started, _started_for = start(), job
    return _started(number, *arguments)


# Jobs


@dataclass(frozen=True)
class BlockJob:
    """The files of a job. Workers get a copy of this object."""

    root: Path
    """The folder to lock, and to remove if the job cannot be resumed."""
    folder: Path
    """The folder that is removed when the job is done: the root, or one inside."""
    results: Path
    suffix: str
    """The file name suffix of results."""

    @contextmanager
    def lock(self, output: Path) -> Iterator[None]:
        """Locks the job, and explains write errors; `output` is what messages call it."""
        try:
            with hold_lock(self.root / LOCK, _LOCK_TIMEOUT):
                yield
        except TimeoutError:
            raise AugenmerkError(
                f"{output} is being written by another process; wait for it or stop it."
            ) from None
        except OSError as error:
            raise AugenmerkError(
                f"{self.root}: cannot be written ({error_reason(error)}); what is finished is kept."
            ) from None

    def begin(self, asked: Mapping[str, Any], **kept: Any) -> dict[str, Any]:
        """Begins the job, or resumes one for the same request; returns the request of the first process.

        That also has what was `kept`, which may be different in this process. Raises AugenmerkError if the
        folder has blocks for another request.
        """
        if not (self.folder / _SCAN).exists():  # there are no blocks yet, or the folder was being removed
            make_folder(self.folder)
            for path in self.folder.iterdir():
                if path.name != LOCK:
                    remove(path)
            write_object(self.folder / _REQUEST, {**asked, **kept})
        make_folder(self.results)
        before = read_object(self.folder / _REQUEST)
        check_request(self.root, before, asked)
        return before

    def split(
        self, blocks: Iterable[tuple[bytes, int]], summarise: Callable[[], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Keeps the content of blocks, which come with their sizes; returns the scan.

        `summarise` is called after the last block. If all this was done before, nothing is read.
        """
        path = self.folder / _SCAN
        if path.exists():
            return read_object(path)
        entries: list[dict[str, Any]] = []
        for number, (content, size) in enumerate(blocks):
            self._path(number, ".input").write_bytes(content)
            entries.append({"size": size, "sha256": hashlib.sha256(content).hexdigest()})
        scan = {"size": sum(entry["size"] for entry in entries), "blocks": entries, **summarise()}
        write_object(path, scan)
        return scan

    def read(self, number: int, sha256: str) -> bytes:
        """Returns the content of a block; raises AugenmerkError if it is damaged."""
        path = self._path(number, ".input")
        content = read_bytes(path)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise AugenmerkError(f"{path} is damaged; remove {self.root} and begin again.")
        return content

    def compute(
        self,
        scan: Mapping[str, Any],
        arguments: Sequence[tuple[Any, ...]],
        start: Start,
        map_blocks: MapBlocks,
        on_done: Callable[[int], None],
    ) -> list[dict[str, Any]]:
        """Computes the blocks that are not finished; returns the entries of all.

        Workers call `finish`. `on_done` is called with the sum of the sizes of all finished blocks.
        """
        sizes = [block["size"] for block in scan["blocks"]]
        entries: dict[int, dict[str, Any]] = {}
        for number in range(len(sizes)):
            with suppress(AugenmerkError):  # it was not finished, or its result is damaged
                entry = read_object(self._path(number, ".json"))
                if digest_file(self.result(number)) == entry["sha256"]:
                    entries[number] = entry
        done = sum(sizes[number] for number in entries)

        def finish(number: int, entry: dict[str, Any]) -> None:
            nonlocal done
            entries[number] = entry
            done += sizes[number]
            on_done(done)

        map_blocks(start, {n: arguments[n] for n in range(len(sizes)) if n not in entries}, finish)
        remove_stale_temp_files(self.results)  # of workers that were lost
        return [entries[number] for number in range(len(sizes))]

    def finish(self, number: int, pieces: Iterable[bytes], about: Mapping[str, Any]) -> dict[str, Any]:
        """Writes the result of a block and then its entry, each whole or not at all; returns the entry.

        `about` may be filled in while the pieces are produced.
        """
        digest = hashlib.sha256()

        def count() -> Iterator[bytes]:
            for piece in pieces:
                digest.update(piece)
                yield piece

        path = self.result(number)
        atomic_write(path, count())
        entry = {"name": path.name, "sha256": digest.hexdigest(), **about}
        write_object(self._path(number, ".json"), entry)
        return entry

    def remove(self) -> None:
        """Removes the folder, with the lock if that is inside."""
        (self.folder / _SCAN).unlink(missing_ok=True)  # first, because `begin` trusts nothing without it
        remove_locked_folder(self.folder, LOCK)

    def result(self, number: int) -> Path:
        """Returns the path of the result of a block."""
        return self.results / f"{number:06d}{self.suffix}"

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:06d}{suffix}"


def check_request(root: Path, before: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises AugenmerkError if what was asked for before was something else."""
    asked = json.loads(json.dumps(asked))
    if other := [key for key, value in asked.items() if before.get(key) != value]:
        name = other[0].replace("_", " ")
        raise AugenmerkError(f"{root} was made with different {name}; remove it, or write somewhere else.")
