"""JavaScript without a browser: modules in a process of Node, asked in JSON."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MODULES = Path(__file__).parents[1] / "web"
NODE = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")


class Node:
    """A process of Node with a module of `tests/web/` whose functions answer questions."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, call: str, argument: Any = None) -> Any:
        """Calls a function with plain data; raises AssertionError with the stack of what it throws."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # In ASCII, halves of surrogate pairs survive, and no character can look like the end of a line.
        self._process.stdin.write(json.dumps({"call": call, "argument": argument}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]


@contextmanager
def run_node(module: str) -> Iterator[Node]:
    """Starts Node with a module; skips the test where there is none, which CI forbids as for the browser."""
    if NODE is None:
        missing = "no Node on this machine: `make` installs it; JavaScript is not compared with Python"
        pytest.fail(missing) if "AUGENMERK_NEEDS_BROWSER" in os.environ else pytest.skip(missing)
    command = [str(NODE), str(MODULES / "answer.mjs"), str(MODULES / module)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Node(process)  # it ends when its input does
