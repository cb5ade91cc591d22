"""Exports by processes that are killed, or that write into one folder at once."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import temp_path
from augenmerk.data import SentencePair
from augenmerk.data.exporting import write_splits
from augenmerk.data.files import load


def fork(action: Callable[[], None]) -> int:
    """Returns the number of a process that does this and exits with 0, or with 2 if it is refused."""
    if child := os.fork():
        return child
    try:
        action()
        os._exit(0)
    except AugenmerkError:
        os._exit(2)
    finally:
        os._exit(3)


def run_and_kill(action: Callable[[], None], lines: int) -> int:
    """Returns the exit code of a process that is killed when it executes so many lines that touch files."""
    left = lines

    def count(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_name not in ("write_splits", "_write_split", "replacing"):
            return None
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return count

    def traced() -> None:
        sys.settrace(count)
        action()

    return os.waitstatus_to_exitcode(os.waitpid(fork(traced), 0)[1])


def write_pairs(pairs: list[SentencePair], folder: Path, overwrite: bool) -> None:
    write_splits({"test": pairs}, folder, "de", "en", format="text", overwrite=overwrite)


@pytest.mark.parametrize("before", ["no folder", "another split", "the same split"])
def test_a_kill_at_any_line_leaves_whole_files_and_can_be_repeated(tmp_path: Path, before: str) -> None:
    pairs, interrupted = [SentencePair("new", "neu")], 0
    for lines in range(1, 200):
        folder = tmp_path / str(lines)
        if before != "no folder":
            other = "val" if before == "another split" else "test"
            write_splits({other: [SentencePair("old", "alt")]}, folder, "de", "en", format="text")
        write = partial(write_pairs, pairs, folder, before == "the same split")
        code = run_and_kill(write, lines)
        found = {path.name: path.read_text() for path in folder.glob("test.*")}
        old = {"test.de": "old\n", "test.en": "alt\n"} if before == "the same split" else {}
        whole = {"test.de": "new\n", "test.en": "neu\n"}
        assert found.items() <= old.items() or found.items() <= whole.items(), "two exports are mixed"
        if code == 0:
            break
        assert code == -signal.SIGKILL
        if found != whole:
            interrupted += bool({"new\n", "neu\n"} & set(found.values()))
            write()
        assert {path.name: path.read_text() for path in folder.glob("test.*")} == whole
        assert not list(folder.glob(".*.part")), "nothing is left of the process that was killed"
    else:
        pytest.fail("the export never ended")
    assert interrupted, "a process was killed between two files"


@pytest.mark.parametrize("overwrite", [True, False])
def test_exports_into_one_folder_at_once(tmp_path: Path, overwrite: bool) -> None:
    for round_ in range(5):
        folder = tmp_path / str(round_)
        children = []
        for number in range(4):
            pairs = [SentencePair(f"{number} {line}", f"{number} {line}") for line in range(300)]
            children.append(fork(partial(write_pairs, pairs, folder, overwrite)))
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert sorted(codes) == ([0] * 4 if overwrite else [0, 2, 2, 2])
        back = list(load(folder)["test"])
        [writer] = {pair.source.split()[0] for pair in back} & {pair.target.split()[0] for pair in back}
        assert len(back) == 300
        assert codes[int(writer)] == 0
        assert {path.name for path in folder.iterdir()} == {"test.de", "test.en"}


def test_temporary_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    process = fork(lambda: None)
    os.waitpid(process, 0)
    mine = temp_path(tmp_path / "export-0").name
    dead = tmp_path / mine.replace(str(os.getpid()), str(process))
    living = tmp_path / mine.replace(str(os.getpid()), str(os.getppid()))
    old, young = tmp_path / ".export-1.00000000-1.part", tmp_path / ".export-2.00000000-1.part"
    for folder in (dead, living, old, young):
        folder.mkdir()
    os.utime(old, (0, 0))
    write_splits({"test": [SentencePair("a", "b")]}, tmp_path, "de", "en", format="tsv")
    assert [folder.exists() for folder in (dead, living, old, young)] == [False, True, False, True]
