"""Maps a function over numbered blocks of work: in processes of this machine, or over a Ray cluster.

A block is a function of its number and a few small arguments, and its result is also small: large data is in
files, which the processes read and write themselves. So any process may compute it, and more than once.
"""

import hashlib
import json
import os
import signal
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
from typing import Any, Protocol, TypeVar

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
from augenmerk.cluster.ray import list_nodes

ATTEMPTS = 4
"""How often a block is begun before it is given up, if the process or the machine that computes it dies."""
AHEAD = 2
"""Blocks for each slot of the cluster that are submitted at a time, so that no slot waits for the next."""

_Result = TypeVar("_Result")


class MapBlocks(Protocol):
    """Computes blocks, some at a time."""

    def __call__(
        self,
        start: Callable[[], Callable[..., _Result]],
        blocks: Mapping[int, tuple[Any, ...]],
        finish: Callable[[int, _Result], None],
    ) -> None:
        """Calls `finish` with the number of each block and its result, as soon as that is there.

        A process calls `start` once, and what that returns with the number and the arguments of each block
        that it computes. Raises what one of them raises.
        """


class ProcessPool:
    """Computes blocks in processes of this machine, or here if one is enough: a `MapBlocks`."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def __call__(
        self,
        start: Callable[[], Callable[..., _Result]],
        blocks: Mapping[int, tuple[Any, ...]],
        finish: Callable[[int, _Result], None],
    ) -> None:
        if not blocks:
            return
        workers = min(self._workers, len(blocks))
        if workers == 1:
            compute = start()
            for number, arguments in blocks.items():
                finish(number, compute(number, *arguments))
            return
        # Not forked, because threads of the libraries, or of a progress bar, may hold locks.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (start,))
        try:
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


class RayTasks:
    """Computes blocks on the machines of the Ray cluster that is connected: a `MapBlocks`.

    What a machine was computing when it vanished is computed on another one.
    """

    def __init__(self, folder: Path, *, gpus: int = 0) -> None:
        """All machines have to see the `folder`; a block needs a core, and so many GPUs."""
        self._folder = folder
        self._gpus = gpus

    def __call__(
        self,
        start: Callable[[], Callable[..., _Result]],
        blocks: Mapping[int, tuple[Any, ...]],
        finish: Callable[[int, _Result], None],
    ) -> None:
        import ray

        if not blocks:
            return
        if not self._count_slots():
            missing = "GPU" if self._gpus else "core"
            raise AugenmerkError(
                f"No machine of the Ray cluster has a {missing} for this; `ray status` lists what there is."
            )
        compute = ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=ATTEMPTS - 1)(_compute_on_node)
        submit: Callable[..., Any] = compute.remote
        common = token_hex(8), __version__, self._folder, start
        waiting, running = iter(blocks.items()), dict[Future[_Result], tuple[int, Any]]()
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
                    number, _ = running.pop(future)
                    finish(number, future.result())
        except ray.exceptions.RayTaskError as error:
            raise _explain(error) from None
        except ray.exceptions.RayError as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise AugenmerkError(
                f"A block was begun {ATTEMPTS} times, and each time the process or the machine that computed "
                f"it was lost ({reason}); run the same command again to resume."
            ) from None
        finally:
            for _, task in running.values():
                ray.cancel(task, force=True)

    def _count_slots(self) -> int:
        """Returns how many blocks the cluster computes at a time."""
        nodes = list_nodes()
        return sum(min(node.cpus, node.gpus // self._gpus) if self._gpus else node.cpus for node in nodes)


def _explain(error: Any) -> Exception:
    """Returns what a block raised: an error for people as it is, and others with where they were raised."""
    if isinstance(error.cause, AugenmerkError):
        return AugenmerkError(str(error.cause))
    if "No module named 'augenmerk" in str(error):
        return AugenmerkError(
            "A machine of the Ray cluster does not have augenmerk: install it on all of them, in the Python "
            "that runs Ray there."
        )
    return RuntimeError(str(error))


# In a worker

_started: Callable[..., Any]
_started_for = ""


def _start_worker(start: Callable[[], Callable[..., Any]]) -> None:
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


def _compute_on_node(
    job: str,
    version: str,
    folder: Path,
    start: Callable[[], Callable[..., Any]],
    number: int,
    *arguments: Any,
) -> Any:
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


LOCK = ".lock"
_REQUEST, _SCAN = "request.json", "scan.json"
_LOCK_TIMEOUT = 0.5
"""Seconds to wait for another process that works in the same folder."""

OnProgress = Callable[[str, int, int | None], None]
"""Is called with what is done, how much of it is done, and how much there is if that is known."""


@dataclass(frozen=True)
class BlockJob:
    """The files of a job. Workers get a copy of this object."""

    root: Path
    """The folder to lock, and to remove if the job cannot be resumed."""
    folder: Path
    """The folder that is removed when the job is done: the root, or one inside."""
    results: Path
    suffix: str
    """What the names of results end in."""

    @contextmanager
    def lock(self, output: Path) -> Iterator[None]:
        """Locks the job, and explains errors of writing; `output` is what messages call it."""
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
            for path in self.folder.iterdir() if self.folder.exists() else ():
                if path.name != LOCK:
                    remove(path)
            make_folder(self.folder)
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
            self._input(number).write_bytes(content)
            entries.append({"size": size, "sha256": hashlib.sha256(content).hexdigest()})
        scan = {"size": sum(entry["size"] for entry in entries), "blocks": entries, **summarise()}
        write_object(path, scan)
        return scan

    def read(self, number: int, sha256: str) -> bytes:
        """Returns the content of a block; raises AugenmerkError if it is damaged."""
        content = read_bytes(self._input(number))
        if hashlib.sha256(content).hexdigest() != sha256:
            raise AugenmerkError(f"{self._input(number)} is damaged; remove {self.root} and begin again.")
        return content

    def compute(
        self,
        scan: Mapping[str, Any],
        arguments: Sequence[tuple[Any, ...]],
        start: Callable[[], Callable[..., dict[str, Any]]],
        map_blocks: MapBlocks,
        on_done: Callable[[int], None],
    ) -> list[dict[str, Any]]:
        """Computes the blocks that are not finished; returns the entries of all.

        A worker calls `start` once, and what that returns with the number and the arguments of each block; it
        calls `finish`. `on_done` is called with the sizes of all finished blocks, summed up.
        """
        sizes = [block["size"] for block in scan["blocks"]]
        entries = {n: entry for n in range(len(sizes)) if (entry := self._read_entry(n)) is not None}
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

        def count(pieces: Iterable[bytes]) -> Iterator[bytes]:
            for piece in pieces:
                digest.update(piece)
                yield piece

        atomic_write(self.result(number), count(pieces))
        entry = {"name": self.result(number).name, "sha256": digest.hexdigest(), **about}
        write_object(self._entry(number), entry)
        return entry

    def remove(self) -> None:
        """Removes the folder, with the lock if that is inside."""
        (self.folder / _SCAN).unlink(
            missing_ok=True
        )  # first: without it, `begin` trusts nothing that is left
        remove_locked_folder(self.folder, LOCK)

    def result(self, number: int) -> Path:
        """Returns the path of the result of a block."""
        return self.results / f"{number:06d}{self.suffix}"

    def _input(self, number: int) -> Path:
        return self.folder / f"{number:06d}.input"

    def _entry(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def _read_entry(self, number: int) -> dict[str, Any] | None:
        """Returns the entry of a block that was finished before and whose result is undamaged, or None."""
        with suppress(AugenmerkError):
            entry = read_object(self._entry(number))
            if digest_file(self.result(number)) == entry["sha256"]:
                return entry
        return None


def check_request(root: Path, before: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises AugenmerkError if what was asked for before was something else."""
    asked = json.loads(json.dumps(asked))
    if other := [key for key, value in asked.items() if before.get(key) != value]:
        name = other[0].replace("_", " ")
        raise AugenmerkError(f"{root} was made with different {name}; remove it, or write somewhere else.")
