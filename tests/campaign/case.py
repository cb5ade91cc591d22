"""A case: commands that are run in a copy of the world, and what holds for every command."""

import json
import re
import shlex
import shutil
import signal
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.support.processes import Command, Forker, Outcome

LONG = ("demo", "train", "study", "bench")
"""Commands that may take minutes: they are interrupted, and must stop."""
VERDICTS = (("study",), ("theory", "check"), ("theory", "grade"), ("data", "check"))
"""Commands that say with exit code 1 that what they looked at is wrong."""
USAGE = re.compile(r"^ ?Usage:|^Error: .+\.$", re.M)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Failure(Exception):  # noqa: N818
    """What went wrong, and the commands that led to it."""

    reason = ""
    """What went wrong, in words that are the same for the same fault."""


@cache
def failure_because_of(reason: str) -> type[Failure]:
    """A class for each reason: hypothesis takes failures of the same class for the same fault."""
    return type("Failure", (Failure,), {"reason": reason})


class Case:
    """A copy of the world's files, and what hypothesis draws."""

    def __init__(self, forker: Forker, world: Path, folder: Path, data: st.DataObject) -> None:
        self._forker = forker
        self.world = world
        self.folder = folder / "here"  # so that ".." is the case's own as well
        self.draw = data.draw
        self.commands: list[Command] = []
        self.seconds = 0.0
        shutil.rmtree(folder, ignore_errors=True)
        self.restore()

    def restore(self) -> None:
        """Puts all files back as they were."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.world, self.folder, symlinks=True)

    def run(self, *arguments: str, **circumstances: Any) -> Outcome:
        """Runs a command, and judges how it ended."""
        return self.run_all(Command(arguments, **circumstances))[0]

    def run_all(self, *commands: Command) -> list[Outcome]:
        """Runs commands at the same time, and judges how each of them ended."""
        home = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), "AUGENMERK_DATA": ""}
        home["COLUMNS"] = "100"
        commands = tuple(replace(each, environment={**home, **each.environment}) for each in commands)
        self.commands += commands
        outcomes = self._forker.run(self.folder, *commands)
        for command, outcome in zip(commands, outcomes, strict=True):
            self.seconds = max(self.seconds, outcome.seconds)
            self.judge(command, outcome)
        if not any(command.signal == signal.SIGKILL for command in self.commands):
            self.check_leftovers("a command")
        return outcomes

    def check(self, holds: object, reason: str, detail: str = "") -> None:
        """Raises Failure unless it holds."""
        if not holds:
            commands = "\n".join(map(describe, self.commands))
            raise failure_because_of(reason)(f"{reason}\n{commands}\n{detail}")

    def check_leftovers(self, what: str) -> None:
        left = sorted(re.sub(r"[-\da-f]{3,}", "N", path.name) for path in self.folder.rglob(".*.part"))
        self.check(not left, f"{what} leaves a temporary file behind: {left}")

    def judge(self, command: Command, outcome: Outcome) -> None:
        """Judges what holds for every command under all circumstances."""
        said = outcome.err + outcome.out
        self.check(not outcome.hung, "hangs")
        if "Traceback (most recent call last)" in said:
            self.check(False, f"traceback: {_signature(said)}", said[-3000:])
        for word in ("panicked at", "Exception ignored", "Segmentation fault"):
            self.check(word not in said, f"says {word!r}", said[-2000:])
        reason = f"exit code {outcome.code} of {' '.join(name_of(command.arguments))}"
        self.check(outcome.code in _allowed_codes(command, outcome), reason, said[-2000:])
        readable = command.stderr == "file" and command.environment.get("COLUMNS", "100") == "100"
        if outcome.code == 2 and readable and command.file_size is None:
            last = outcome.err.strip().rpartition("\n")[2]
            sentence = last.startswith("augenmerk: ") and last.endswith((".", "?", "…"))
            self.check(sentence or USAGE.search(said), "exit code 2 without a sentence", outcome.err[-2000:])
            self.check(len(outcome.err) < 6000, "an endless message", outcome.err[:2000])
        found = CONTROL.search(outcome.err) or CONTROL.search(outcome.out)
        self.check(found is None, "prints a control character", repr(found))
        words = set(command.arguments)
        # After -- it is a text.
        asked = "--json" in words and not words & {"--help", "-h", "--"} and command.stdout == "file"
        if outcome.code == 0 and asked:
            self.check(_is_json(outcome.out), "--json prints something else", outcome.out[:2000])


def name_of(arguments: Sequence[str]) -> tuple[str, ...]:
    return tuple(arguments[: 2 if arguments and arguments[0] in ("data", "theory", "bench", "config") else 1])


def _allowed_codes(command: Command, outcome: Outcome) -> set[int]:
    codes = {0, 2}
    if name_of(command.arguments) in VERDICTS:
        codes.add(1)
    if "unread" in (command.stdout, command.stderr):
        codes |= {141, -signal.SIGPIPE}
    if command.signal and (outcome.signalled or command.at_call or command.at_write):
        codes.add(-command.signal)
        if command.signal != signal.SIGKILL:
            codes.add(128 + command.signal)
    return codes


def _signature(text: str) -> str:
    """Returns the last line of a traceback, and the last place within the package, without numbers."""
    places = re.findall(r'File ".*?(augenmerk/[^"]+)", line \d+, in (\S+)', text)
    errors = re.findall(r"^(\w[\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b.*)$", text, re.M)
    last = (errors or [text.strip()[-80:]])[-1][:90]
    return re.sub(r"\d+", "N", f"{last} in {'/'.join(places[-1]) if places else '?'}")


def _is_json(text: str) -> bool:
    """Whether a text is a document, or has one in each line."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    for documents in ([text], text.splitlines()):
        try:
            for each in documents:
                json.loads(each, parse_constant=refuse)
        except ValueError:
            continue
        return True
    return False


def describe(command: Command) -> str:
    """Returns a command as one would type it, with what is unusual about it."""
    plain = Command(())
    unusual = [
        f"{name}={value!r}"
        for name, value in vars(command).items()
        if name not in ("arguments", "environment") and value != getattr(plain, name)
    ]
    own = ("HOME", "XDG_CACHE_HOME", "AUGENMERK_DATA", "COLUMNS")
    unusual += [f"{key}={value}" for key, value in command.environment.items() if key not in own]
    arguments = [
        each if len(each) < 200 else f"{each[:50]}…({len(each)} characters)" for each in command.arguments
    ]
    note = f"   # {', '.join(unusual)}" if unusual else ""
    return ascii(f"    augenmerk {shlex.join(arguments)}{note}")[1:-1].replace("\\\\", "\\")
