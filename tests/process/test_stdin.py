"""Lines of a pipe that is kept open are answered at once; what has arrived is answered together."""

import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from augenmerk.data.lines import ArrivingLines, read_stdin
from augenmerk.translation import load
from tests.support.command import COMMAND
from tests.support.processes import PATIENCE
from tests.support.runs import SharedRuns, tiny


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The ends to read from and to write to, the latter for the test to close."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_a_line_is_ready_when_all_of_it_has_arrived(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = ArrivingLines(reading, 20)
    assert not lines.is_ready()
    os.write(writing, b"one\ntwo\nhalf of ")
    assert lines.is_ready()
    assert [lines.readline(), lines.readline()] == [b"one\n", b"two\n"]
    assert not lines.is_ready()
    os.write(writing, b"three\n\n")
    assert [lines.readline(), lines.readline()] == [b"half of three\n", b"\n"]
    assert not lines.is_ready()
    os.write(writing, b"without an end")
    assert not lines.is_ready()
    os.close(writing)
    assert lines.is_ready()
    assert [lines.readline(), lines.readline(), lines.readline()] == [b"without an end", b"", b""]


def test_a_line_is_cut_where_it_is_too_long(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = ArrivingLines(reading, 20)
    os.write(writing, b"0123456789\nshort\n")
    os.close(writing)
    assert [lines.readline(4), lines.readline(4)] == [b"0123", b"4567"]
    assert [lines.readline(4), lines.readline(6), lines.readline(5)] == [b"89\n", b"short\n", b""]


def test_a_line_that_is_too_long_is_not_waited_for(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = ArrivingLines(reading, 20)
    os.write(writing, b"x" * 20)
    assert not lines.is_ready()
    os.write(writing, b"x" * 5)
    assert lines.is_ready()
    assert lines.readline(21) == b"x" * 21
    os.close(writing)


def test_what_has_arrived_is_read_without_a_pause(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = pipe
    with os.fdopen(os.dup(reading)) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(writing, b"one\n\nthree\n")
        lines = read_stdin()
        assert [next(lines) for _ in range(4)] == ["one", "", "three", None]
        os.write(writing, "vier\r\nfünf".encode())
        os.close(writing)
        assert list(lines) == ["vier", "fünf"]


def test_a_file_is_read_without_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    with (tmp_path / "lines").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert list(read_stdin()) == ["one", "two"]


def test_translate_answers_each_line_of_a_pipe_that_stays_open(
    shared_runs: SharedRuns, tmp_path: Path
) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    sentences = ["Der Hund schläft.", "Eine Frau lacht.", "Ein Kind spielt."]
    expected = [one.text for one in load(run.path).translate(sentences)]
    command = [*COMMAND, "translate", "--model", str(run.path), "--device", "cpu"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                for sentence, translation in zip(sentences, expected, strict=True):
                    process.stdin.write(f"{sentence}\n".encode())
                    process.stdin.flush()
                    assert selector.select(PATIENCE), "no answer while the pipe is open"
                    assert process.stdout.readline().decode() == f"{translation}\n"
            process.stdin.close()
            assert process.wait(PATIENCE) == 0
            assert process.stdout.read() == b""
        finally:
            process.kill()
