"""Locks and marks, with real processes that ask, wait and remove."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import augenmerk.base.files
import augenmerk.translation.translator
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import hold_lock, is_marked, mark, remove_locked_folder
from augenmerk.cluster.blocks import ProcessPool
from augenmerk.run.directory import RunDirectory
from augenmerk.study import runner
from augenmerk.study.result import is_running
from augenmerk.translation import load
from augenmerk.translation.files import FileJob, blocks_folder, translate_file
from augenmerk.translation.output import LineFormat
from tests.support.processes import wait_for
from tests.support.runs import SharedRuns, tiny

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def fork(action: Callable[[], object]) -> int:
    """Returns the number of a process that does this; it exits with 0, with 2 if it is refused, or with 3."""
    if child := os.fork():
        return child
    code = 3
    try:
        action()
        code = 0
    except AugenmerkError:
        code = 2
    finally:
        os._exit(code)


def end_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def count_events(action: Callable[[], object], at: int = 0, then: Callable[[], None] = lambda: None) -> int:
    """Returns the number of calls and returns of functions in an action; does something at one of them."""
    events = 0

    def count_one(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal events
        events += 1
        if events == at:
            then()

    sys.setprofile(count_one)
    try:
        action()
    finally:
        sys.setprofile(None)
    return events


def stop_at_any_moment(
    question: Callable[[], object], start: Callable[[], AbstractContextManager[Any]]
) -> None:
    """Starts something while a process is stopped in the middle of asking whether it runs."""
    question()  # imports what it needs
    step = 1 + count_events(question) // 50
    for moment in count(1, step):
        child = fork(partial(count_events, question, moment, partial(signal.raise_signal, signal.SIGSTOP)))
        if os.WIFEXITED(os.waitpid(child, os.WUNTRACED)[1]):
            assert moment > 20 * step
            return
        try:
            with start():
                pass
        finally:
            os.kill(child, signal.SIGKILL)
            end_of(child)


class TestAsking:
    @pytest.fixture(autouse=True)
    def _short_waiting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(augenmerk.base.files, "_MARKING_TIMEOUT", 0.05)
        monkeypatch.setattr(runner, "LOCK_TIMEOUT", 0.05)

    def test_no_training_fails_because_others_ask_whether_it_runs(
        self, shared_runs: SharedRuns, tmp_path: Path
    ) -> None:
        run = shared_runs.copy(tiny(), tmp_path / "run")
        with run.training():
            assert RunDirectory.is_in_training(run.path)
        stop_at_any_moment(partial(RunDirectory.is_in_training, run.path), run.training)

    def test_no_study_fails_because_others_ask_whether_it_runs(self, tmp_path: Path) -> None:
        with runner._lock(tmp_path):
            assert is_running(tmp_path)
        stop_at_any_moment(partial(is_running, tmp_path), partial(runner._lock, tmp_path))

    def test_asking_writes_nothing(self, tmp_path: Path) -> None:
        assert not RunDirectory.is_in_training(tmp_path / "absent")
        assert not is_running(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_mark_ends_with_its_process(self, tmp_path: Path) -> None:
        def hold() -> None:
            with mark(tmp_path / "mark"):
                signal.pause()

        child = fork(hold)
        wait_for("the mark", lambda: is_marked(tmp_path / "mark"))
        os.kill(child, signal.SIGKILL)
        end_of(child)
        assert not is_marked(tmp_path / "mark")


class TestRemoving:
    def test_a_lock_is_held_by_one_although_its_folder_is_removed(self, tmp_path: Path) -> None:
        """Each process makes the folder, is alone in it, and removes it, while others wait for its lock."""
        folder = tmp_path / "folder"

        def work() -> None:
            for _ in range(60):
                with hold_lock(folder / ".lock", timeout=60):
                    (tmp_path / "inside").mkdir()  # fails if another process is inside
                    (folder / "mine").write_text(str(os.getpid()))
                    time.sleep(0.001)
                    assert (folder / "mine").read_text() == str(os.getpid())
                    (tmp_path / "inside").rmdir()
                    remove_locked_folder(folder, ".lock")

        assert [end_of(child) for child in [fork(work) for _ in range(3)]] == [0, 0, 0]
        assert list(tmp_path.iterdir()) == []

    def test_a_translation_removes_its_blocks_before_another_one_begins(
        self, shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = shared_runs.copy(tiny(), tmp_path / "run")
        source, output = tmp_path / "de.txt", tmp_path / "en.txt"
        source.write_text("Der Hund schläft.\n" * 40, encoding="utf-8")
        monkeypatch.setattr(augenmerk.translation.translator, "CHUNK_LINES", 1)  # many blocks
        waiting = tmp_path / "waiting"

        def translate(on_progress: Callable[[str, int, int | None], None]) -> None:
            job = FileJob((run.path,), "cpu", {"beam": 1}, LineFormat())
            with load(run.path) as translator:
                translate_file(
                    job, translator, source, output, map_blocks=ProcessPool(1), on_progress=on_progress
                )

        def let_another_one_wait(what: str, _done: int, _total: int | None) -> None:
            if what == "translating" and not waiting.exists():
                for number in range(20_000):  # which take a while to remove
                    (blocks_folder(output) / f"left-{number}").touch()
                waiting.touch()
                time.sleep(0.2)

        def translate_later() -> None:
            wait_for("the first translation", waiting.exists)
            while True:
                try:
                    return translate(lambda *_: None)
                except AugenmerkError as error:
                    if "is being written by another process" not in str(error):
                        raise

        child = fork(translate_later)
        translate(let_another_one_wait)
        assert end_of(child) == 0
        assert len(output.read_text(encoding="utf-8").splitlines()) == 40
        assert not blocks_folder(output).exists()
