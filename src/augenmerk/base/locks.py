"""Locks between processes, and marks that show that a process is at work.

The system releases both when the process ends, even if it is killed. A lock keeps other processes out. A mark
keeps nobody out and only answers `is_marked`, so asking whether something runs never delays what starts.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from filelock import BaseFileLock, FileLock, Timeout

from augenmerk.base.files import remove

try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows
    HAS_FLOCK = False

_RETRY_SECONDS = 0.02
_MARKING_TIMEOUT = 5.0
"""Seconds that a mark waits for a lock, which `is_marked` holds for microseconds."""
_NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}
"""Errors of a file system without locks, as on some networks: there, nothing is locked."""


@contextmanager
def hold_lock(path: Path, timeout: float) -> Iterator[int | None]:
    """Holds the lock in a file, whose folder is created; raises TimeoutError if others hold it for so long.

    Yields the file descriptor, None on Windows. This is flock where there is one: a process that inherits the
    descriptor then also holds the lock. The file may be removed while the lock is held: a process
    that waits for it then locks the file that is there next, so it never holds a lock that nobody sees.
    """
    deadline = time.monotonic() + timeout
    while (held := _try_to_lock(path)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} is locked by another process")
        time.sleep(_RETRY_SECONDS)
    if isinstance(held, BaseFileLock):
        try:
            yield None
        finally:
            held.release()
    else:
        with held:
            yield held.fileno()


def _try_to_lock(path: Path) -> IO[bytes] | BaseFileLock | None:
    """Returns what holds the lock; None if others hold it, or if its file was removed in this moment."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        if path.parent.exists():  # a file, and not a folder that was removed in this moment
            raise
        return None
    if not HAS_FLOCK:
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        return lock
    with ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return None
        except (BlockingIOError, FileNotFoundError):
            return None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        stack.pop_all()
        return file


def remove_locked_folder(folder: Path, lock: str) -> None:
    """Removes what is in a folder, then the file of its lock, which is held, and then the folder.

    A process that waits for the lock may create both again: it never loses a file to this one.
    """
    for path in folder.iterdir():
        if path.name != lock:
            remove(path)
    with suppress(OSError):  # Windows keeps a file that is open; or another process was faster
        (folder / lock).unlink()
        folder.rmdir()


@contextmanager
def mark(path: Path) -> Iterator[int | None]:
    """Marks a file until the context or the process ends, for `is_marked` to see; yields as `hold_lock` does.

    Failing to mark is no error, because nothing depends on a mark.
    """
    with ExitStack() as stack:
        descriptor = None
        with suppress(OSError):  # TimeoutError is one
            descriptor = stack.enter_context(hold_lock(path, _MARKING_TIMEOUT))
        yield descriptor


def is_marked(path: Path) -> bool:
    """Returns whether a process has marked a file, which need not exist."""
    try:
        if not path.is_file():
            return False
        if not HAS_FLOCK:
            with FileLock(path, timeout=0):
                return False
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except (BlockingIOError, Timeout):
        return True
    except OSError:  # it was removed, cannot be read, or has no locks
        return False
