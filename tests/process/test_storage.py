"""Files that are written whole or not at all, and what a killed process leaves of them."""

import os
import subprocess
import sys
import time
from pathlib import Path

from augenmerk.base.files import STALE_SECONDS, atomic_write, temp_path

KILLED = """
import os, signal, sys
from pathlib import Path
from augenmerk.base.files import atomic_write

def pieces():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)

atomic_write(Path(sys.argv[1]), pieces())
"""


def is_left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "test.gold.align"], check=False)
    assert killed.returncode < 0
    assert len(is_left(tmp_path)) == 1
    atomic_write(tmp_path / "other.txt", [b"whole"])
    assert is_left(tmp_path) == []
    assert (tmp_path / "other.txt").read_bytes() == b"whole"


def test_what_others_may_still_write_is_left_alone(tmp_path: Path) -> None:
    written = temp_path(tmp_path / "mine.txt")
    young, old = (tmp_path / f".{name}.txt.00000000-999999.part" for name in ("young", "old"))
    own = tmp_path / ".a-file-of-the-user.part"
    for path in (written, young, old, own):
        path.touch()
    before = time.time() - STALE_SECONDS - 60
    os.utime(old, (before, before))
    atomic_write(tmp_path / "whole.txt", [b"whole"])
    assert is_left(tmp_path) == sorted(path.name for path in (written, young, own))
