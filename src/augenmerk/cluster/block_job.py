"""A job on a large input in numbered blocks, of which a killed process need not repeat any.

A folder keeps what there is until the job is done:

    request.json          what the results depend on: all settings, and digests of the input
    scan.json             the blocks with their sizes and checksums, and a summary of the input; written last
    000000.input, ...     the content of a block
    000000.json, ...      the entry of a finished block: the checksum of its result, and remarks

The result of a block is a file, in this folder or another one, which is written before its entry.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from augenmerk.cluster.blocks import MapBlocks

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
