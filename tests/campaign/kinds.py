"""The kinds of cases. A case raises `Failure` if a command did what no command may do."""

import gzip
import json
import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from augenmerk.base.config import RunConfig
from tests.campaign.damage import NUMBERS, TEXTS, spoil, spoil_bytes
from tests.campaign.server import Command, Outcome, Server

LONG = ("demo", "train", "study", "bench")
"""Commands that may take minutes: they are interrupted, and must stop."""
VERDICTS = (("study",), ("theory", "check"), ("theory", "grade"), ("data", "check"))
"""Commands that say with exit code 1 that what they looked at is wrong."""
USAGE = re.compile(r"^ ?Usage:|^Error: .+\.$", re.M)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Failure(Exception):  # noqa: N818
    """What went wrong, in words that are the same for the same fault, and the commands that led to it."""

    def __init__(self, reason: str, commands: Sequence[Command], detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.commands = commands
        self.detail = detail


class Case:
    """A copy of the world's files, and random numbers of its own."""

    def __init__(self, server: Server, world: Path, folder: Path, seed: str) -> None:
        self._server = server
        self.world = world
        self.folder = folder / "here"  # so that ".." is the case's own as well
        self.rng = random.Random(seed)
        self.commands: list[Command] = []
        self.seconds = 0.0
        shutil.copytree(world, self.folder, symlinks=True)

    def run(self, *arguments: str, **circumstances: Any) -> Outcome:
        """Runs a command, and judges how it ended."""
        return self.run_all(Command(arguments, **circumstances))[0]

    def run_all(self, *commands: Command) -> list[Outcome]:
        """Runs commands at the same time, and judges how each of them ended."""
        home = {
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "AUGENMERK_DATA": "",
            "COLUMNS": "100",
        }
        commands = tuple(replace(each, environment={**home, **each.environment}) for each in commands)
        self.commands += commands
        outcomes = self._server.run(self.folder, *commands)
        for command, outcome in zip(commands, outcomes, strict=True):
            self.seconds = max(self.seconds, outcome.seconds)
            self.judge(command, outcome)
        if not any(command.signal == signal.SIGKILL for command in self.commands):
            self.check(not self.leftovers(), f"leaves a temporary file behind: {self.leftovers()}")
        return outcomes

    def check(self, holds: bool, reason: str, detail: str = "") -> None:
        """Raises Failure unless it holds."""
        if not holds:
            raise Failure(reason, self.commands, detail)

    def leftovers(self) -> list[str]:
        return sorted(re.sub(r"[-\da-f]{3,}", "N", path.name) for path in self.folder.rglob(".*.part"))

    def judge(self, command: Command, outcome: Outcome) -> None:
        """Judges what holds for every command under all circumstances."""
        said = outcome.err + outcome.out
        self.check(not outcome.hung, "hangs")
        if "Traceback (most recent call last)" in said:
            self.check(False, f"traceback: {_signature(said)}", said[-3000:])
        for word in ("panicked at", "Exception ignored", "Segmentation fault"):
            self.check(word not in said, f"says {word!r}", said[-2000:])
        self.check(
            outcome.code in _allowed_codes(command, outcome),
            f"exit code {outcome.code} of {' '.join(_name(command.arguments))}",
            said[-2000:],
        )
        readable = command.stderr == "file" and command.environment.get("COLUMNS", "100") == "100"
        if outcome.code == 2 and readable and command.file_size is None:
            lines = outcome.err.strip().splitlines()
            sentence = (
                bool(lines) and lines[-1].startswith("augenmerk: ") and lines[-1].endswith((".", "?", "…"))
            )
            self.check(
                sentence or USAGE.search(outcome.err + outcome.out) is not None,
                "exit code 2 without a sentence",
                outcome.err[-2000:],
            )
            self.check(len(outcome.err) < 6000, "an endless message", outcome.err[:2000])
        found = CONTROL.search(outcome.err) or CONTROL.search(outcome.out)
        self.check(found is None, "prints a control character", repr(found))
        if (
            outcome.code == 0
            and "--json" in command.arguments
            and not {"--help", "-h", "--"} & set(command.arguments)  # after -- it is a text
            and command.stdout == "file"
        ):
            self.check(_is_json(outcome.out), "--json prints something else", outcome.out[:2000])


def _name(arguments: Sequence[str]) -> tuple[str, ...]:
    return tuple(arguments[: 2 if arguments and arguments[0] in ("data", "theory", "bench", "config") else 1])


def _allowed_codes(command: Command, outcome: Outcome) -> set[int]:
    codes = {0, 2}
    if _name(command.arguments) in VERDICTS:
        codes.add(1)
    if "unread" in (command.stdout, command.stderr):
        codes |= {141, -signal.SIGPIPE}
    if command.signal and (outcome.signalled or command.at_call or command.at_write):
        codes |= (
            {-command.signal} if command.signal == signal.SIGKILL else {128 + command.signal, -command.signal}
        )
    return codes


def _signature(text: str) -> str:
    """Returns the last line of a traceback, and the last place within the package, without numbers."""
    places = re.findall(r'File ".*?(augenmerk/[^"]+)", line \d+, in (\S+)', text)
    errors = re.findall(r"^(\w[\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b.*)$", text, re.M) or [
        text.strip()[-80:]
    ]
    return re.sub(r"\d+", "N", f"{errors[-1][:90]} in {'/'.join(places[-1]) if places else '?'}")


def _is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        try:
            for line in text.splitlines():
                json.loads(line, parse_constant=refuse)
        except ValueError:
            return False
    return True


# -- command lines from the declared options ---------------------------------------------------------------

SENTENCES = ("Ein Hund schläft.", "Die Frau, die lacht, kauft einen Apfel.", "Hund", "ein ein ein")
OUTPUTS = (
    "new",
    "new.png",
    "new.svg",
    "new.pdf",
    "new.html",
    "new.txt",
    "old.txt",
    "sub/new.svg",
    "own",
    "/dev/null",
)
GOOD: dict[str, tuple[str, ...]] = {
    "preset": ("tiny.toml", "tiny.toml", "tiny.toml", "quick", "run-a/config.toml"),
    "data": ("own", "own", "pairs.tsv", "bilderbuch", "pairs.jsonl"),
    "run": ("run-a", "run-b", "half"),
    "study": ("study", "study/study.json"),
    "file": ("study.toml", "answers.csv"),
    "name": ("own", "pairs.tsv", "pairs.tsv.gz", "pairs.jsonl", "bilderbuch"),
    "text": SENTENCES,
    "example": SENTENCES,
    "source": SENTENCES,
    "target": ("A dog sleeps.", "a a a"),
    "split": ("val", "test", "train"),
    "input": ("input.txt",),
    "hypotheses": ("own/val.en",),
    "gold": ("links.align",),
    "device": ("cpu", "auto"),
    "attention": ("scaled-dot", "mean", "mine.py:Mine"),
    "url": ("http://127.0.0.1:9/", "http://127.0.0.1:9/x?y"),
    "task": ("1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"),
    "query": ("c*(k_a+k_b)", "k_a", "beta*mu_a", "10*k_1", "c*k_j", "K=I", "(k_a", "k_a^2/0"),
    "answers": ("answers.csv",),
    "source_language": ("de", "en"),
    "target_language": ("en", "de"),
}
RUNS = ("model", "baseline", "ensemble", "reverse_run", "from_run", "start", "runs")
WRITTEN = ("out", "output", "figure", "figures", "page", "summary")
NUMBERS_OF_USE = ("1", "2", "3", "5", "0", "8")


@cache
def leaves() -> list[tuple[tuple[str, ...], Any]]:
    """All commands that are declared, each with its names."""
    from augenmerk.cli import app

    def visit(command: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        if hasattr(command, "commands"):
            for name, each in command.commands.items():
                yield from visit(each, (*names, name))
        else:
            yield names, command

    return list(visit(typer.main.get_command(app), ()))


@cache
def settings() -> list[str]:
    """The names of all settings of a run."""

    def visit(model: Any, prefix: str) -> Iterator[str]:
        for name, field in model.model_fields.items():
            inner = next(
                (
                    each
                    for each in (field.annotation, *get_args(field.annotation))
                    if hasattr(each, "model_fields")
                ),
                None,
            )
            if inner is None:
                yield prefix + name
            else:
                yield from visit(inner, f"{prefix}{name}.")

    return list(visit(RunConfig, ""))


def a_value(rng: random.Random, parameter: Any) -> str:
    """Returns a value for an argument or option: mostly one that makes sense, else a hostile one."""
    kind = parameter.type_descriptor.annotation
    kind = next(iter(get_args(kind)), kind) if get_origin(kind) else kind
    name = parameter.name
    hostile = rng.random() < 0.2
    if name == "settings":
        values = (
            (*NUMBERS, *TEXTS) if hostile else (*NUMBERS_OF_USE, "true", "false", '"word"', '"bpe"', "[1]")
        )
        return f"{rng.choice(settings())}{rng.choice(['=', '=', '=', '=', '', '=='])}{rng.choice(values)}"
    if kind in (int, float):
        few = ("0.5", "1.5", "10") if kind is float else ()
        limits = [
            str(limit + shift)
            for limit in (parameter.min, parameter.max)
            if limit is not None
            for shift in (-1, 0, 1)
        ]
        default = () if parameter.default is None else (str(parameter.default),)
        numbers = (*NUMBERS, *limits) if hostile else (*NUMBERS_OF_USE, *few, *default)
        return str(rng.choice(numbers))
    if hostile:
        text = rng.choice(TEXTS)
        return text if text != "/" or name not in WRITTEN else "loop"
    if name in WRITTEN:
        return rng.choice(OUTPUTS)
    if name in RUNS:
        return rng.choice(GOOD["run"])
    if name in GOOD:
        return rng.choice(GOOD[name])
    words = re.findall(r"[\w.:-]+", str(getattr(parameter, "help", "") or ""))
    return str(rng.choice([*words, *SENTENCES, "run-a", "own", parameter.default]))


def a_command_line(rng: random.Random) -> list[str]:
    """Returns a command with some of its arguments and options."""
    names, command = rng.choice(leaves())
    while names[0] in LONG and rng.random() < 0.8:
        names, command = rng.choice(leaves())
    arguments = list(names)
    for parameter in command.params:
        if not parameter.opts[0].startswith("-"):
            if rng.random() < (0.97 if parameter.required else 0.7):
                count = 1 if parameter.nargs == 1 else rng.randrange(1, 4)
                arguments += [a_value(rng, parameter) for _ in range(count)]
        elif rng.random() < (0.97 if parameter.required else 0.2) or (
            names == ("data", "fetch") and parameter.name == "url"
        ):
            option = rng.choice([*parameter.opts, *parameter.secondary_opts])
            for _ in range(rng.choice([1, 1, 2]) if parameter.multiple else 1):
                arguments += [option] if parameter.is_flag else [option, a_value(rng, parameter)]
    if rng.random() < 0.03:
        arguments.insert(
            rng.randrange(len(arguments) + 1), rng.choice(["--nope", "-x", "--", "", "--help", "\x1b[31m"])
        )
    if rng.random() < 0.02:
        arguments = arguments[: rng.randrange(len(arguments))]
    return [argument.replace("\0", "") for argument in arguments]


def commands(case: Case) -> None:
    """Command lines from the declared options."""
    rng = case.rng
    arguments = a_command_line(rng)
    if arguments[:2] == ["data", "fetch"] and "--url" not in arguments:
        arguments += ["--url", "http://127.0.0.1:9/"]  # nothing is fetched from elsewhere
    # What takes long has to stop when it is asked to: other commands may be given thousands of sentences.
    long = bool(arguments) and arguments[0] in LONG
    case.run(
        *arguments,
        stdin=rng.choice(["empty", "empty", "input.txt"]),
        signal=rng.choice([signal.SIGINT, signal.SIGTERM]),
        after=rng.uniform(0.3, 2.5) if long else 8.0,
    )


# -- files -------------------------------------------------------------------------------------------------

Readers = tuple[tuple[str, tuple[str, ...]], ...]
READERS: Readers = (
    ("own/train.de", ("data", "show", "own", "--json")),
    ("own/val.en", ("evaluate", "run-a", "--data", "own", "--split", "val")),
    ("pairs.tsv", ("data", "show", "pairs.tsv")),
    ("pairs.tsv", ("data", "check", "pairs.tsv", "--json")),
    ("own/train.en", ("data", "check", "own")),
    ("pairs.tsv", ("score", "run-a", "--data", "pairs.tsv", "--json")),
    ("answers.csv", ("theory", "grade", "answers.csv", "--samples", "20", "--out", "new.csv")),
    ("run-a/config.toml", ("config", "show", "run-a/config.toml")),
    ("run-a/metrics.jsonl", ("plot", "run-a", "--json")),
    ("own/val.en", ("evaluate", "run-a", "--split", "val", "--hypotheses", "own/val.en")),
    ("pairs.tsv", ("data", "export", "pairs.tsv", "--out", "new")),
    ("pairs.jsonl", ("data", "show", "pairs.jsonl", "--json")),
    ("pairs.tsv.gz", ("data", "show", "pairs.tsv.gz")),
    ("input.txt", ("translate", "--model", "run-a", "--input", "input.txt")),
    ("input.txt", ("translate", "--model", "run-a", "--json", "--input", "input.txt")),
    ("links.align", ("evaluate", "run-a", "--split", "val", "--gold", "links.align", "--alignment")),
    ("study/study.json", ("report", "study", "--format", "latex")),
    ("study/study.json", ("report", "study", "--format", "csv")),
    ("study/study.json", ("report", "study", "--format", "markdown")),
    ("run-a/scores.json", ("evaluate", "run-a", "--split", "test")),
    ("run-a/result.json", ("train", "--resume", "--out", "run-a")),
)
TRAINERS: Readers = (
    ("own/train.en", ("train", "tiny.toml", "--data", "own", "--out", "new", "--epochs", "1")),
    ("tiny.toml", ("train", "tiny.toml", "--out", "new")),
    ("half/metrics.jsonl", ("train", "--resume", "--out", "half")),
)
SLOW_READERS: Readers = (
    ("study.toml", ("study", "study.toml", "--out", "new")),
    ("study/study.json", ("report", "study", "--out", "new.html")),
)


def files(case: Case) -> None:
    """Files that are spoilt, given to the commands that read them."""
    name, arguments = case.rng.choice(READERS if case.rng.random() < 0.9 else TRAINERS)
    if case.rng.random() < 0.01:  # these take seconds
        name, arguments = case.rng.choice(SLOW_READERS)
    path = case.folder / name
    content = path.read_bytes()
    if name.endswith(".gz") and case.rng.random() < 0.5:
        content = gzip.compress(spoil(case.rng, name.removesuffix(".gz"), gzip.decompress(content)))
    else:
        for _ in range(case.rng.choice([1, 1, 1, 2, 5])):
            content = spoil(case.rng, name, content) if content else content
    path.write_bytes(content)
    interrupted = {"signal": signal.SIGTERM, "after": 3.0} if arguments[0] in LONG else {}
    case.run(*arguments, **interrupted)


# -- runs --------------------------------------------------------------------------------------------------

USES = (
    ("run-a", ("translate", "--model", "run-a", "--json", *SENTENCES)),
    ("run-a", ("evaluate", "run-a", "--split", "test", "--json")),
    ("run-a", ("diagram", SENTENCES[0], "--model", "run-a", "--json")),
    ("run-a", ("theory", "from-run", "run-a", SENTENCES[0], "--json")),
    ("half", ("train", "--resume", "--out", "half")),
)


def runs(case: Case) -> None:
    """Runs that are damaged or mixed up with another: refused, or the same result."""
    rng = case.rng
    name, arguments = rng.choice(USES)
    paths = sorted(path for path in (case.folder / name).iterdir() if path.is_file() and path.name != ".lock")
    path = rng.choice(paths)
    way = rng.randrange(8)
    if way == 0:
        path.unlink()
    elif way == 1:
        other = case.folder / "run-b" / path.name
        if other.exists():
            shutil.copy(other, path)
    elif way <= 4 and path.stat().st_size:
        content = bytearray(path.read_bytes())
        for _ in range(rng.choice([1, 1, 1, 3])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif path.stat().st_size:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
    before = _contents(case.folder / name)
    outcome = case.run(*arguments)
    if outcome.code == 2:
        after = _contents(case.folder / name)
        case.check(
            all(after.get(file) == content for file, content in before.items()),
            "a refused command changes the run",
        )
        return
    expected = _undamaged(case, name, arguments)
    got = _result(case.folder / name, outcome, arguments)
    case.check(got == expected, f"{path.name} is damaged, and the result of {arguments[0]} silently another")


def _tensors(path: Path) -> tuple[str, bytes]:
    """Returns the names, kinds and bytes of the tensors in a file, without what it says about times."""
    if not path.exists():
        return "", b""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__")
    return json.dumps(header, sort_keys=True), content[8 + length :]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _result(folder: Path, outcome: Outcome, arguments: Sequence[str]) -> Any:
    """Returns what a command on a run has brought about, without times."""
    if arguments[0] == "train":
        return _tensors(folder / "model.safetensors")
    return re.sub(r'"\w*seconds?": [^,\n}]+', "", outcome.out)


_results: dict[tuple[str, ...], Any] = {}


def _undamaged(case: Case, name: str, arguments: tuple[str, ...]) -> Any:
    """Returns the result of the same command on the run as it was. It is computed once."""
    if arguments not in _results:
        shutil.rmtree(case.folder / name)
        shutil.copytree(case.world / name, case.folder / name)
        outcome = case.run(*arguments)
        case.check(outcome.code == 0, "a good run is refused", outcome.err)
        _results[arguments] = _result(case.folder / name, outcome, arguments)
    return _results[arguments]


# -- kills, full disks, two at once ------------------------------------------------------------------------

WRITERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("new", ("data", "export", "own", "--out", "new", "--overwrite")),
    ("new", ("data", "export", "pairs.tsv", "--out", "new", "--format", "tsv", "--overwrite")),
    ("new.csv", ("report", "study", "--format", "csv", "--out", "new.csv")),
    ("new.svg", ("diagram", SENTENCES[2], "--model", "run-a", "--out", "new.svg")),
    ("new.txt", ("translate", "--model", "run-a", "--input", "input.txt", "--output", "new.txt")),
    ("run-a/scores.json", ("evaluate", "run-a", "--split", "test", "--beam", "2")),
    ("new.csv", ("theory", "grade", "answers.csv", "--samples", "20", "--out", "new.csv")),
)
SLOW_WRITERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("new.html", ("report", "study", "--out", "new.html")),
    ("new/index.html", ("patterns", "run-a", "--split", "val", "--top", "1", "--out", "new")),
    ("new.svg", ("theory", "1.2", "--samples", "5", "--figure", "new.svg")),
)


def a_writer(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Returns a command and what it writes. Those that draw for seconds come less often."""
    return rng.choice(WRITERS if rng.random() < 0.97 else SLOW_WRITERS)


TRAINING = ("train", "tiny.toml", "--out", "new")
_counts: dict[tuple[str, ...], tuple[int, int]] = {}
_written: dict[tuple[str, ...], Any] = {}


def _reference(case: Case, target: str, arguments: tuple[str, ...], count: bool = False) -> Any:
    """Returns what an undisturbed command writes. It is run once, or again to `count` its calls and writes.

    Counting takes three times as long as the command.
    """
    if arguments not in (_counts if count else _written):
        outcome = case.run(*arguments, count=count)
        case.check(outcome.code == 0, "a good command is refused", outcome.err)
        if count:
            _counts[arguments] = (outcome.calls, outcome.writes)
        _written[arguments] = _target(case, target)
        shutil.rmtree(case.folder)
        shutil.copytree(case.world, case.folder, symlinks=True)
        case.commands.clear()
    return _written[arguments]


def _target(case: Case, target: str) -> Any:
    """Returns the content of what a command writes, without times; None if there is nothing."""
    path = case.folder / target
    if target == "new" and (path / "config.toml").exists():
        metrics = path / "metrics.jsonl"
        curve = metrics.read_text(encoding="utf-8") if metrics.exists() else ""
        return _tensors(path / "model.safetensors"), re.sub(r'"\w*seconds?": [^,}]+', "", curve)
    if path.is_dir():
        return _contents(path)
    if not path.exists():
        return None
    if path.name == "scores.json":
        return re.sub(r'"\w*seconds?": [^,\n}]+', "", path.read_text(encoding="utf-8"))
    return path.read_bytes()


def _moment(case: Case, arguments: tuple[str, ...]) -> dict[str, int]:
    calls, writes = _counts[arguments]
    if case.rng.random() < 0.5:
        return {"at_write": case.rng.randrange(1, writes + 1)}
    return {"at_call": case.rng.randrange(1, calls + 1)}


def kills(case: Case) -> None:
    """Training that is killed at any call or write, and resumed: bit for bit the same weights."""
    expected = _reference(case, "new", TRAINING, count=True)
    number = case.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    outcome = case.run(*TRAINING, signal=number, **_moment(case, TRAINING))
    if outcome.code == 0:
        return  # the signal came after the end, or training had ended when it came
    for _ in range(case.rng.choice([0, 0, 1, 3])):  # killed again before it gets anywhere
        again = ("train", "--resume", "--out", "new") if (case.folder / "new").exists() else TRAINING
        if case.run(*again, signal=signal.SIGKILL, **_moment(case, TRAINING)).code == 0:
            break
    else:
        again = ("train", "--resume", "--out", "new") if (case.folder / "new").exists() else TRAINING
        outcome = case.run(*again)
        finished = "nothing to resume" in outcome.err
        case.check(outcome.code == 0 or finished, "cannot be resumed", outcome.err)
    case.check(_target(case, "new") == expected, "resumed, it is another model")
    case.check(not case.leftovers(), f"leftovers stay after a kill: {case.leftovers()}")


def writes(case: Case) -> None:
    """Other commands that write, killed at any call or write, and run again: the old or the new, whole."""
    target, arguments = a_writer(case.rng)
    expected = _reference(case, target, arguments, count=True)
    old = _target(case, target)
    number = case.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    case.run(*arguments, signal=number, **_moment(case, arguments))
    found = _target(case, target)
    if isinstance(found, dict):  # an export may lack files, but never mixes old and new ones
        visible = {name: content for name, content in found.items() if not name.startswith(".")}
        whole = any(visible.items() <= (each or {}).items() for each in (old, expected))
    else:
        whole = found in (old, expected)
    case.check(whole, f"killed, {arguments[0]} leaves half a result")
    outcome = case.run(*arguments)
    case.check(outcome.code == 0, f"after a kill, {arguments[0]} does not work again", outcome.err)
    case.check(_target(case, target) == expected, f"after a kill, {arguments[0]} writes something else")
    case.check(not case.leftovers(), f"leftovers stay after a kill: {case.leftovers()}")


def full(case: Case) -> None:
    """Disks that are full after some bytes: a sentence, nothing lost, and then it works again."""
    target, arguments = a_writer(case.rng) if case.rng.random() < 0.9 else ("new", TRAINING)
    expected = _reference(case, target, arguments)
    old = _target(case, target)
    size = case.rng.choice([0, 10, 100, 1000, 5000, 20_000, 60_000, 200_000])
    outcome = case.run(*arguments, file_size=size + case.rng.randrange(100))
    if outcome.code == 0:
        case.check(_target(case, target) == expected, f"on a full disk, {arguments[0]} claims success")
        return
    if arguments != TRAINING:
        case.check(_target(case, target) == old, f"on a full disk, {arguments[0]} changes what was there")
    elif (case.folder / "new").exists():
        arguments = ("train", "--resume", "--out", "new")
    outcome = case.run(*arguments)
    finished = arguments[0] == "train" and "nothing to resume" in outcome.err
    case.check(
        outcome.code == 0 or finished, f"after a full disk, {arguments[0]} does not work again", outcome.err
    )
    case.check(_target(case, target) == expected, f"after a full disk, {arguments[0]} writes something else")


def few_files(case: Case) -> None:
    """Few files that may be open: a sentence, nothing lost, and then it works again."""
    target, arguments = a_writer(case.rng)
    expected = _reference(case, target, arguments)
    old = _target(case, target)
    outcome = case.run(*arguments, open_files=case.rng.randrange(1, 12))
    if outcome.code != 0:
        case.check(_target(case, target) == old, f"without files, {arguments[0]} changes what was there")
        outcome = case.run(*arguments)
    case.check(outcome.code == 0, f"after too few files, {arguments[0]} does not work", outcome.err)
    case.check(
        _target(case, target) == expected, f"after too few files, {arguments[0]} writes another result"
    )


def both(case: Case) -> None:
    """Two commands at once that write to the same place: both work, or one is refused; nothing is lost."""
    target, arguments = a_writer(case.rng) if case.rng.random() < 0.9 else ("new", TRAINING)
    expected = _reference(case, target, arguments)
    second = arguments
    if arguments[0] == "evaluate":
        second = (*arguments[:-1], "1")
    delays = case.rng.choice([(0.0, 0.0), (0.0, case.rng.uniform(0, 0.2))])
    outcomes = case.run_all(Command(arguments, delay=delays[0]), Command(second, delay=delays[1]))
    case.check(any(outcome.code == 0 for outcome in outcomes), "both are refused", outcomes[0].err)
    if arguments[0] == "evaluate":
        rows = json.loads((case.folder / target).read_text(encoding="utf-8"))
        beams = {row["beam"] for row in rows if row["split"] == "test"}
        case.check(outcomes[0].code == outcomes[1].code == 0, "one of two evaluations is refused")
        case.check({1, 2} <= beams, "a row of scores is lost")
    else:
        case.check(_target(case, target) == expected, f"two at once: {arguments[0]} writes something else")


# -- streams -----------------------------------------------------------------------------------------------

QUICK: tuple[tuple[str, ...], ...] = (
    ("--help",),
    ("--version",),
    ("nope",),
    ("train", "--help"),
    ("train", "nope"),
    ("translate", "--model", "run-a", *SENTENCES),
    ("translate", "--model", "run-a"),
    ("translate", "--model", "run-a", "--json"),
    ("translate", "--model", "run-a", "--json", SENTENCES[1]),
    ("evaluate", "run-a", "--split", "val"),
    ("evaluate", "nope"),
    ("report", "study", "--format", "markdown"),
    ("report", "study", "--format", "csv"),
    ("diagram", SENTENCES[0], "--model", "run-a"),
    ("diagram", SENTENCES[0], "--model", "run-a", "--json"),
    ("patterns", "run-a", "--split", "val"),
    ("faithfulness", "run-a", "--split", "val"),
    ("data", "list"),
    ("data", "show", "own"),
    ("data", "show", "bilderbuch", "--json"),
    ("data", "export", "own", "--out", "new"),
    ("theory", "1.1"),
    ("theory", "check", "1.2", "--query", "c*(k_a+k_b)", "--samples", "20"),
    ("theory", "1.6", "--json"),
    ("theory", "1.2", "--question"),
    ("theory", "grade", "answers.csv", "--samples", "20"),
    ("score", "run-a", "--data", "pairs.tsv"),
    ("plot", "run-a"),
    ("config", "list"),
    ("config", "show", "run-a", "--json"),
    ("data", "check", "own"),
    ("study", "--list"),
)


OWN_TRAINING = ("train", "tiny.toml", "--data", "own", "--out", "new")


def edited(case: Case) -> None:
    """Data that is edited between start and resume: a refusal that names the split, and an unchanged run."""
    rng = case.rng
    _reference(case, "new", OWN_TRAINING, count=True)
    case.run(*OWN_TRAINING, signal=signal.SIGKILL, **_moment(case, OWN_TRAINING))
    new = case.folder / "new"
    if not (new / "data.json").exists() or (new / "result.json").exists():
        return  # it read no data yet, or there is nothing to resume
    split = rng.choice(sorted(json.loads((new / "data.json").read_text())))  # of those that it has read
    path = case.folder / "own" / f"{split}.{rng.choice(['de', 'en'])}"
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    number = rng.randrange(len(lines) - 1)
    match rng.choice(["word", "swap", "space"]):
        case "word":
            lines[number] += " neu"
        case "swap" if lines[number] != lines[number + 1]:
            lines[number : number + 2] = lines[number + 1], lines[number]
        case _:
            lines[number] = lines[number].replace(" ", "  ", 1)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    was = _result_files(new)
    outcome = case.run("train", "--resume", "--out", "new")
    case.check(outcome.code == 2 and split in outcome.err, "resumes on edited data", outcome.err)
    case.check(_result_files(new) == was, "a refused resume changes the run")
    path.write_text(before, encoding="utf-8")
    outcome = case.run("train", "--resume", "--out", "new")
    case.check(outcome.code == 0, "does not resume on its own data", outcome.err)


def _result_files(run: Path) -> dict[str, bytes]:
    """Returns the files of a run that its weights and scores depend on."""
    return {
        path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".toml", ".json", ".jsonl")
    }


def texts(case: Case) -> None:
    """Texts of many sentences, however they are joined: every word is in some sentence, in order."""
    rng = case.rng
    known = (case.folder / "own" / "train.de").read_text(encoding="utf-8").splitlines()
    odd = (
        "Dr. Müller kommt um 8.30 Uhr.",
        "„Gut!“, sagt sie.",
        "z. B. ein Hund",
        "Was?!",
        "1. Ein Hund.",
        "…",
        "A.",
        "x",
    )
    sentences = [
        rng.choice(odd) if rng.random() < 0.3 else rng.choice(known) for _ in range(rng.randrange(1, 12))
    ]
    text = "".join(
        each + rng.choice([" ", " ", " ", "  ", "\n", "\n\n", "\t", "", "\u00a0"]) for each in sentences
    )
    outcome = case.run("translate", "--model", "run-a", "--json", text)
    case.check(outcome.code == 0, "a text is refused", outcome.err)
    found = json.loads(outcome.out)
    read = "".join(each["source"] for each in found.get("sentences", [found]))
    case.check(_words(read) == _words(text), "a text loses words", f"{text!r}\n{read!r}")


def _words(text: str) -> str:
    """Returns the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def streams(case: Case) -> None:
    """Streams that are closed, full, unread, ASCII only or not text."""
    rng = case.rng
    (case.folder / "bytes").write_bytes(rng.randbytes(200))
    environment = {}
    if rng.random() < 0.4:
        environment["PYTHONIOENCODING"] = rng.choice(["ascii", "latin-1", "cp1252", "utf-8"])
    if rng.random() < 0.3:
        environment["COLUMNS"] = rng.choice(["1", "0", "-5", "20", "x", "100000"])
    if rng.random() < 0.2:
        environment |= {"TERM": rng.choice(["dumb", "xterm-256color", ""]), "NO_COLOR": "1"}
    case.run(
        *rng.choice(QUICK),
        stdin=rng.choice(
            [
                "empty",
                "closed",
                "input.txt",
                "bytes",
                "own/val.de",
                "/dev/zero" if rng.random() < 0.1 else "empty",
            ]
        ),
        stdout=rng.choice(["file", "closed", "full", "unread"]),
        stderr=rng.choice(["file", "file", "closed", "full", "unread"]),
        environment=environment,
    )


KINDS: dict[str, Callable[[Case], None]] = {
    kind.__name__: kind
    for kind in (
        *(commands, files, runs, kills, writes, full, few_files, both),
        *(streams, edited, texts),
    )
}
