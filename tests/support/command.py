"""Runs `augenmerk` in this process: starting Python and torch for each command would take most of the time.

Tests for which a process of its own is the point (signals, pipes, locks, imports) start `COMMAND`.
"""

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from augenmerk import cli
from augenmerk.base.console import err, out

COMMAND = (sys.executable, "-m", "augenmerk")


class Answer(NamedTuple):
    code: int
    out: str
    err: str


def run_command(
    *arguments: object, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Answer:
    """Runs the command as a person does who is in the folder `cwd` and pipes `stdin` into it."""
    printed, complained = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["augenmerk", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(printed, "utf-8", newline="", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(complained, "utf-8", newline="", write_through=True))
        for name, value in {"COLUMNS": "100", "NO_COLOR": "1", **(env or {})}.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        out.cache_clear()  # a console keeps the width of the terminal in which it was made
        err.cache_clear()
        with pytest.raises(SystemExit) as end:
            cli.main()
        code = end.value.code
        assert code is None or isinstance(code, int)
        return Answer(code or 0, printed.getvalue().decode(), complained.getvalue().decode())


def run_json(*arguments: object) -> Any:
    """Returns the JSON document that the command prints."""
    answer = run_command(*arguments, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def fails_with_a_sentence(
    *arguments: object, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> str:
    """Returns the one sentence with which the command refuses what it was asked for."""
    answer = run_command(*arguments, stdin=stdin, env=env)
    assert (answer.code, answer.out) == (2, ""), answer.err
    [line] = answer.err.strip().splitlines()
    assert line.startswith("augenmerk: ")
    assert line.endswith(".")
    return line
