"""Files that are written whole or not at all, locks between processes, and errors of files as one sentence.

A file is written under a temporary name beside its final one, flushed to the disk, and renamed. So whenever
the process or the machine dies, there is the old file or the new one, never half of either.

The system releases locks and marks when the process ends, even if it is killed. A lock keeps other processes
out. A mark keeps nobody out and only answers `is_marked`, so asking whether something runs never delays what
starts.
"""

import errno
import hashlib
import json
import math
import os
import platform
import re
import shutil
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from io import BufferedWriter
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError

MAX_FILE_BYTES = 2**28
"""The size of the largest file of text or JSON that is read into memory."""
MAX_NAME_BYTES = 200
"""The length of the longest name of a run; systems take 255, and names of temporary files are longer."""
STALE_SECONDS = 24 * 60 * 60
"""The age at which the temporary file of another computer counts as left by a killed process."""
_TEMP_SUFFIX = ".part"


# Two computers, or two containers, may share a folder and have processes with the same number.
_COMPUTER = f"{zlib.crc32(platform.node().encode(errors='replace')):08x}"


def atomic_write(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes a file in place of what was there; raises AugenmerkError if that is impossible.

    A symbolic link stays, and the file that it leads to is replaced. A device, a pipe, or the file to which
    stdout or stderr is redirected is written to as it is.
    """
    if is_stream(path):
        try:
            with path.open("ab") as stream:  # stdout may be a file to which others have written
                stream.writelines(pieces)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise AugenmerkError(f"{path}: cannot be written ({error_reason(error)}).") from None
        return
    with replacing(follow_links(path)) as temporary, temporary.open("wb") as file:
        file.writelines(pieces)


def follow_links(path: Path) -> Path:
    """Returns the file that a symbolic link leads to, or the path; raises AugenmerkError for a circle."""
    if not os.path.islink(path):  # noqa: PTH114 (no error for a name that is too long)
        return path
    found = Path(os.path.realpath(path))  # Path.resolve fails if links lead in a circle
    if found.is_symlink():
        raise AugenmerkError(f"{path}: cannot be written: it is a symbolic link that leads nowhere.")
    return found


def is_stream(path: Path) -> bool:
    """Returns whether the path is a device, a pipe, or the file to which stdout or stderr is redirected."""
    try:
        found = path.stat()
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode):
        return not stat.S_ISDIR(found.st_mode)
    for number in (1, 2):
        with suppress(OSError):  # it is closed
            if os.path.samestat(found, os.fstat(number)):
                return True
    return False


@contextmanager
def replacing(path: Path, *, in_folder: bool = False) -> Iterator[Path]:
    """Yields a temporary path to write a file to, which then replaces `path`.

    With `in_folder` the temporary path is in a temporary folder: some libraries create further files beside
    what they write. Raises AugenmerkError if the file cannot be written.
    """
    _clean_once(path.parent)
    temporary = temp_path(path)
    file = temporary / path.name if in_folder else temporary
    try:
        if in_folder:
            remove(temporary)
            temporary.mkdir()
        yield file
        fsync_path(file)
        file.replace(path)
        fsync_path(path.parent)
    except (OSError, SafetensorError) as error:
        if not path.parent.is_dir():
            raise AugenmerkError(f"{path}: cannot be written: there is no folder {path.parent}.") from None
        kept = "; what was saved before is still there" if path.exists() else ""
        raise AugenmerkError(f"{path}: cannot be written ({error_reason(error)}){kept}.") from None
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it, as far as possible; it may be absent."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Creates a folder for results if it is absent; raises AugenmerkError if that is impossible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise AugenmerkError(f"{path} is a file; a folder is needed here.") from None
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be created ({error_reason(error)}).") from None


def check_folders(*files: str | Path | None) -> list[Path | None]:
    """Returns files that are to be written as paths; raises AugenmerkError if the folder of one is missing.

    To be called before long work, so that a slip of the keyboard does not cost it.
    """
    paths = [None if file is None else Path(file) for file in files]
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise AugenmerkError(f"{path}: there is no folder {path.parent}.")
    return paths


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes a text file, and creates its folder, and those above it, if they are absent."""
    make_folder(path.parent)
    atomic_write(path, [f"{line}\n".encode() for line in lines])


def limit_file_name(name: str) -> str:
    """Returns the name, or its beginning and a digest of it if it has over `MAX_NAME_BYTES`."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name.encode()[: MAX_NAME_BYTES - 20].decode(errors='ignore')}-{digest}"


def temp_path(path: Path) -> Path:
    """Returns a temporary path beside `path` that belongs to this process alone."""
    return path.with_name(f".{path.name}.{_COMPUTER}-{os.getpid()}{_TEMP_SUFFIX}")


def remove_stale_temp_files(folder: Path, *names: str) -> None:
    """Removes the temporary files and folders of processes that have ended, only those of `names` if given.

    Those of another computer are left for a day, because nobody can tell whether their process is alive. On
    Windows those of this computer are too, because there is no harmless way to ask.
    """
    prefixes = tuple(f".{name}." for name in names) or "."
    with suppress(OSError):
        for entry in folder.iterdir():
            found = re.fullmatch(rf"\..+\.([0-9a-f]{{8}})-(\d{{1,9}}){re.escape(_TEMP_SUFFIX)}", entry.name)
            if found is None or not entry.name.startswith(prefixes):
                continue
            here = os.name == "posix" and found[1] == _COMPUTER
            if not _is_alive(int(found[2])) if here else entry.lstat().st_mtime < time.time() - STALE_SECONDS:
                remove(entry)


_clean_once = cache(remove_stale_temp_files)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        pass
    return True


def fsync_path(path: Path) -> None:
    """Waits until a file, or the list of names in a folder, would survive a power cut."""
    if path.is_dir() and os.name == "nt":
        return  # Windows does not open folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_text(path: Path, most: int = MAX_FILE_BYTES) -> str:
    """Reads a file that Augenmerk wrote; raises AugenmerkError if it cannot be read or is too large.

    Lines end in "\\n", whatever an editor or git has made of that.
    """
    with explain_read_errors(path):
        return read_bytes(path, most).decode().replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Reads a file that Augenmerk wrote as bytes; raises AugenmerkError as `read_text` does."""
    with explain_read_errors(path), path.open("rb") as file:
        small = path.is_file() and path.stat().st_size <= most
        content = file.read() if small else file.read(most + 1)  # a device may have no end
    if len(content) > most:
        raise AugenmerkError(f"{path} is too large: the most that is read are {most:,} bytes.")
    return content


def digest_of(content: str | bytes) -> str:
    """Returns the SHA-256 of a text or of bytes."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def digest_file(path: Path) -> str:
    """Returns the SHA-256 of a file of any size; raises AugenmerkError if it cannot be read."""
    with explain_read_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def explain_read_errors(path: Path, where: str = "") -> Iterator[None]:
    """Turns errors of reading a file that Augenmerk wrote into an AugenmerkError that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise AugenmerkError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError:
        raise AugenmerkError(f"{path}: not UTF-8; convert the file to UTF-8.") from None
    except OSError as error:
        raise AugenmerkError(f"{path}: cannot be read ({error_reason(error)}).") from None
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise AugenmerkError(f"{path}{where}: damaged, or not written by Augenmerk ({error}).") from None


def parse_object(text: str) -> dict[str, Any]:
    """Parses a JSON object; raises ValueError if the text is something else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, not {text[:20]!r}")
    return value


def format_json(document: object, *, escape: bool = False, indent: int | None = None) -> str:
    """Returns a document as JSON; with `escape`, in ASCII only."""
    text = json.dumps(document, ensure_ascii=escape, indent=indent)
    for separator in "\x85\u2028\u2029":  # many programs end a line at these, also within a JSON string
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text


def without_nan(value: object) -> object:
    """Returns data with null in place of numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_format(path: Path, found: object, known: int, version: str = "") -> None:
    """Raises AugenmerkError if a file, or a run directory, has another format than this version reads.

    `version` is the augenmerk that wrote it, if that is known.
    """
    if not isinstance(found, int):
        raise AugenmerkError(f"{path}: damaged, or not written by Augenmerk (format {found!r}).")
    if found != known:
        writer = f"augenmerk {version}" if version else "another version of augenmerk"
        remedy = "update your clone and install it again" if found > known else "use that version"
        raise AugenmerkError(
            f"{path} was written by {writer} in format {found}, and this version, {__version__}, reads "
            f"format {known}; {remedy}."
        )


def read_object(path: Path) -> dict[str, Any]:
    """Reads a JSON object that Augenmerk wrote; raises AugenmerkError as `read_text` does."""
    with explain_read_errors(path):
        return parse_object(read_text(path))


def write_object(path: Path, value: object, indent: int | None = None) -> None:
    """Writes an object as JSON, as `atomic_write` does."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    atomic_write(path, [text.encode("utf-8", "backslashreplace") + b"\n"])


def error_reason(error: Exception) -> str:
    """Returns the reason in an error of the operating system, without its number and its file."""
    return getattr(error, "strerror", None) or str(error)


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
    with ExitStack() as stack:
        while not (held := _try_to_lock(path, stack)):
            stack.close()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is locked by another process")
            time.sleep(_RETRY_SECONDS)
        yield held.fileno() if isinstance(held, BufferedWriter) else None


def _try_to_lock(path: Path, stack: ExitStack) -> object:
    """Returns what holds the lock; None if others hold it, or if its file was removed in this moment."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        if path.parent.exists():  # a file, and not a folder that was removed in this moment
            raise
        return None
    file = None
    try:
        if not HAS_FLOCK:
            from filelock import FileLock

            return stack.enter_context(FileLock(path, timeout=0))
        file = stack.enter_context(path.open("ab"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file if os.path.samestat(os.fstat(file.fileno()), path.stat()) else None
    except (BlockingIOError, FileNotFoundError, TimeoutError):
        return None
    except OSError as error:
        if file is None or error.errno not in _NO_LOCKS:
            raise
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

    It is no error if that fails, because nothing depends on a mark.
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
            from filelock import FileLock

            with FileLock(path, timeout=0):
                return False
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except (BlockingIOError, TimeoutError):
        return True
    except OSError:  # it was removed, cannot be read, or has no locks
        return False
