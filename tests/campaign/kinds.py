"""The kinds of cases. A case raises `Failure` if a command did what no command may do."""

import gzip
import json
import re
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.campaign.case import LONG, Case
from tests.campaign.damage import cut_bytes, flipped_bits, spoilt
from tests.campaign.lines import SENTENCES, command_lines
from tests.support.processes import Command, Outcome

Readers = tuple[tuple[str, tuple[str, ...]], ...]
"""Files, each with a command that reads it or writes it."""


def pick(case: Case, *choices: Any) -> Any:
    return case.draw(st.sampled_from(choices))


def commands(case: Case) -> None:
    """Command lines from the declared options."""
    arguments = case.draw(command_lines())
    # What takes long has to stop when it is asked to: other commands may be given thousands of sentences.
    long = bool(arguments) and arguments[0] in LONG
    case.run(
        *arguments,
        stdin=pick(case, "empty", "empty", "input.txt"),
        signal=pick(case, signal.SIGINT, signal.SIGTERM),
        after=case.draw(st.floats(0.3, 2.5)) if long else 8.0,
    )


# -- files -------------------------------------------------------------------------------------------------

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
SLOW_READERS: Readers = (
    ("own/train.en", ("train", "tiny.toml", "--data", "own", "--out", "new", "--epochs", "1")),
    ("tiny.toml", ("train", "tiny.toml", "--out", "new")),
    ("half/metrics.jsonl", ("train", "--resume", "--out", "half")),
    ("study.toml", ("study", "study.toml", "--out", "new")),
    ("study/study.json", ("report", "study", "--out", "new.html")),
)


def files(case: Case) -> None:
    """Files that are spoilt, given to the commands that read them."""
    name, arguments = pick(case, *READERS * 2, *SLOW_READERS)
    path = case.folder / name
    content = path.read_bytes()
    if name.endswith(".gz") and case.draw(st.booleans()):
        content = gzip.compress(case.draw(spoilt(name.removesuffix(".gz"), gzip.decompress(content))))
    else:
        content = case.draw(spoilt(name, content))
    path.write_bytes(content)
    interrupted = {"signal": signal.SIGTERM, "after": 3.0} if arguments[0] in LONG else {}
    case.run(*arguments, **interrupted)


USES: Readers = (
    ("run-a", ("translate", "--model", "run-a", "--json", *SENTENCES)),
    ("run-a", ("evaluate", "run-a", "--split", "test", "--json")),
    ("run-a", ("diagram", SENTENCES[0], "--model", "run-a", "--json")),
    ("run-a", ("theory", "from-run", "run-a", SENTENCES[0], "--json")),
    ("half", ("train", "--resume", "--out", "half")),
)


def runs(case: Case) -> None:
    """Runs that are damaged or mixed up with another: refused, or the same result."""
    name, arguments = pick(case, *USES)
    run = case.folder / name
    path = pick(case, *sorted(each for each in run.iterdir() if each.is_file() and each.name != ".lock"))
    way = pick(case, "remove", "mix up", "flip", "flip", "flip", "cut")
    other = case.folder / "run-b" / path.name
    if way == "remove":
        path.unlink()
    elif way == "mix up" and other.exists():
        shutil.copy(other, path)
    elif content := path.read_bytes():
        path.write_bytes(case.draw((flipped_bits if way == "flip" else cut_bytes)(content)))
    before = _contents(run)
    outcome = case.run(*arguments)
    if outcome.code == 2:
        after = _contents(run)
        unchanged = all(after.get(file) == content for file, content in before.items())
        case.check(unchanged, "a refused command changes the run")
        return
    found = _result(run, outcome, arguments)
    expected = _undamaged(case, name, arguments)
    case.check(
        found == expected, f"{path.name} is damaged, and the result of {arguments[0]} silently another"
    )


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


def _without_times(text: str) -> str:
    return re.sub(r'"\w*seconds?": [^,\n}]+', "", text)


def _result(folder: Path, outcome: Outcome, arguments: Sequence[str]) -> Any:
    """Returns what a command on a run has brought about, without times."""
    if arguments[0] == "train":
        return _tensors(folder / "model.safetensors")
    return _without_times(outcome.out)


_results: dict[tuple[str, ...], Any] = {}


def _undamaged(case: Case, name: str, arguments: tuple[str, ...]) -> Any:
    """Returns the result of the same command on the run as it was. It is computed once."""
    if arguments not in _results:
        case.restore()
        outcome = case.run(*arguments)
        case.check(outcome.code == 0, "a good run is refused", outcome.err)
        _results[arguments] = _result(case.folder / name, outcome, arguments)
    return _results[arguments]


# -- kills, full disks, two at once ------------------------------------------------------------------------

WRITERS: Readers = (
    ("new", ("data", "export", "own", "--out", "new", "--overwrite")),
    ("new", ("data", "export", "pairs.tsv", "--out", "new", "--format", "tsv", "--overwrite")),
    ("new.csv", ("report", "study", "--format", "csv", "--out", "new.csv")),
    ("new.svg", ("diagram", SENTENCES[2], "--model", "run-a", "--out", "new.svg")),
    ("new.txt", ("translate", "--model", "run-a", "--input", "input.txt", "--output", "new.txt")),
    ("run-a/scores.json", ("evaluate", "run-a", "--split", "test", "--beam", "2")),
    ("new.csv", ("theory", "grade", "answers.csv", "--samples", "20", "--out", "new.csv")),
)
SLOW_WRITERS: Readers = (
    ("new.html", ("report", "study", "--out", "new.html")),
    ("new/index.html", ("patterns", "run-a", "--split", "val", "--top", "1", "--out", "new")),
    ("new.svg", ("theory", "1.2", "--samples", "5", "--figure", "new.svg")),
)
TRAINING = ("train", "tiny.toml", "--out", "new")
OWN_TRAINING = ("train", "tiny.toml", "--data", "own", "--out", "new")
RESUMING = ("train", "--resume", "--out", "new")
_counts: dict[tuple[str, ...], tuple[int, int]] = {}
_written: dict[tuple[str, ...], Any] = {}


def a_writer(case: Case, *others: Any) -> tuple[str, tuple[str, ...]]:
    """Returns what a command writes, and the command. Those that draw for seconds come less often."""
    found: tuple[str, tuple[str, ...]] = pick(case, *WRITERS * 4, *SLOW_WRITERS, *others)
    return found


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
        case.restore()
        case.commands.clear()
    return _written[arguments]


def _target(case: Case, target: str) -> Any:
    """Returns the content of what a command writes, without times; None if there is nothing."""
    path = case.folder / target
    if target == "new" and (path / "config.toml").exists():
        metrics = path / "metrics.jsonl"
        curve = metrics.read_text(encoding="utf-8") if metrics.exists() else ""
        return _tensors(path / "model.safetensors"), _without_times(curve)
    if path.is_dir():
        return _contents(path)
    if not path.exists():
        return None
    if path.name == "scores.json":
        return _without_times(path.read_text(encoding="utf-8"))
    return path.read_bytes()


def _moment(case: Case, arguments: tuple[str, ...]) -> dict[str, int]:
    """Returns when a command is sent a signal: at any of its calls or writes."""
    calls, writes = _counts[arguments]
    kind, most = pick(case, ("at_write", writes), ("at_call", calls))
    return {kind: case.draw(st.integers(1, most))}


def _run_again(case: Case, target: str, arguments: tuple[str, ...], expected: Any, what: str) -> None:
    """Runs a command that was disturbed again: its result is that of one that was not."""
    if arguments in (TRAINING, OWN_TRAINING) and (case.folder / "new").exists():
        arguments = RESUMING
    outcome = case.run(*arguments)
    finished = arguments == RESUMING and "nothing to resume" in outcome.err
    case.check(
        outcome.code == 0 or finished, f"after {what}, {arguments[0]} does not work again", outcome.err
    )
    case.check(_target(case, target) == expected, f"after {what}, {arguments[0]} writes something else")
    case.check_leftovers(f"after {what}, {arguments[0]}")


SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def kills(case: Case) -> None:
    """Training that is killed at any call or write, and resumed: bit for bit the same weights."""
    expected = _reference(case, "new", TRAINING, count=True)
    first, *again = [_moment(case, TRAINING) for _ in range(1 + pick(case, 0, 0, 1, 3))]
    outcome = case.run(*TRAINING, signal=pick(case, *SIGNALS), **first)
    for moment in again:  # killed again before it gets anywhere
        if outcome.code == 0:
            break  # training had ended when the signal came
        arguments = RESUMING if (case.folder / "new").exists() else TRAINING
        outcome = case.run(*arguments, signal=signal.SIGKILL, **moment)
    _run_again(case, "new", TRAINING, expected, "a kill")


def writes(case: Case) -> None:
    """Other commands that write, killed at any call or write, and run again: the old or the new, whole."""
    target, arguments = a_writer(case)
    expected = _reference(case, target, arguments, count=True)
    old = _target(case, target)
    case.run(*arguments, signal=pick(case, *SIGNALS), **_moment(case, arguments))
    found = _target(case, target)
    if isinstance(found, dict):  # an export may lack files, but never mixes old and new ones
        visible = {name: content for name, content in found.items() if not name.startswith(".")}
        whole = any(visible.items() <= (each or {}).items() for each in (old, expected))
    else:
        whole = found in (old, expected)
    case.check(whole, f"killed, {arguments[0]} leaves half a result")
    _run_again(case, target, arguments, expected, "a kill")


def full(case: Case) -> None:
    """Disks that are full after some bytes: a sentence, nothing lost, and then it works again."""
    target, arguments = a_writer(case, ("new", TRAINING), ("new", TRAINING))
    expected = _reference(case, target, arguments)
    old = _target(case, target)
    size = pick(case, 0, 10, 100, 1000, 5000, 20_000, 60_000, 200_000) + case.draw(st.integers(0, 99))
    outcome = case.run(*arguments, file_size=size)
    if outcome.code == 0:
        case.check(_target(case, target) == expected, f"on a full disk, {arguments[0]} claims success")
        return
    kept = arguments == TRAINING or _target(case, target) == old
    case.check(kept, f"on a full disk, {arguments[0]} changes what was there")
    _run_again(case, target, arguments, expected, "a full disk")


def few_files(case: Case) -> None:
    """Few files that may be open: a sentence, nothing lost, and then it works again."""
    target, arguments = a_writer(case)
    expected = _reference(case, target, arguments)
    old = _target(case, target)
    outcome = case.run(*arguments, open_files=case.draw(st.integers(1, 11)))
    if outcome.code:
        case.check(_target(case, target) == old, f"without files, {arguments[0]} changes what was there")
        _run_again(case, target, arguments, expected, "too few files")
    case.check(_target(case, target) == expected, f"with few files, {arguments[0]} writes another result")


def both(case: Case) -> None:
    """Two commands at once that write to the same place: both work, or one is refused; nothing is lost."""
    target, arguments = a_writer(case, ("new", TRAINING), ("new", TRAINING))
    expected = _reference(case, target, arguments)
    evaluates = arguments[0] == "evaluate"
    second = (*arguments[:-1], "1") if evaluates else arguments
    delay = pick(case, 0.0, case.draw(st.floats(0, 0.2)))
    outcomes = case.run_all(Command(arguments), Command(second, delay=delay))
    case.check(any(outcome.code == 0 for outcome in outcomes), "both are refused", outcomes[0].err)
    if evaluates:
        rows = json.loads((case.folder / target).read_text(encoding="utf-8"))
        case.check(not any(outcome.code for outcome in outcomes), "one of two evaluations is refused")
        case.check({1, 2} <= {row["beam"] for row in rows if row["split"] == "test"}, "a row is lost")
    else:
        case.check(_target(case, target) == expected, f"two at once: {arguments[0]} writes something else")


def edited(case: Case) -> None:
    """Data that is edited between start and resume: a refusal that names the split, and an unchanged run."""
    expected = _reference(case, "new", OWN_TRAINING, count=True)
    moment, language = _moment(case, OWN_TRAINING), pick(case, "de", "en")
    number, way = case.draw(st.integers(0, 8)), pick(case, "word", "swap", "space")
    case.run(*OWN_TRAINING, signal=signal.SIGKILL, **moment)
    new = case.folder / "new"
    if not (new / "data.json").exists() or (new / "result.json").exists():
        return  # it read no data yet, or there is nothing to resume
    split = pick(case, *sorted(json.loads((new / "data.json").read_text())))  # of those that it has read
    path = case.folder / "own" / f"{split}.{language}"
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    if way == "word":
        lines[number] += " neu"
    elif way == "swap" and lines[number] != lines[number + 1]:
        lines[number : number + 2] = lines[number + 1], lines[number]
    else:
        lines[number] = lines[number].replace(" ", "  ", 1)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    was = _result_files(new)
    outcome = case.run(*RESUMING)
    case.check(outcome.code == 2 and split in outcome.err, "resumes on edited data", outcome.err)
    case.check(_result_files(new) == was, "a refused resume changes the run")
    path.write_text(before, encoding="utf-8")
    _run_again(case, "new", OWN_TRAINING, expected, "an edit that was undone")


def _result_files(run: Path) -> dict[str, bytes]:
    """Returns the files of a run that its weights and scores depend on."""
    return {
        path.name: path.read_bytes()
        for path in run.glob("*.*")
        if path.suffix in (".toml", ".json", ".jsonl")
    }


# -- texts and streams -------------------------------------------------------------------------------------

ODD_SENTENCES = (
    """Dr. Müller kommt um 8.30 Uhr.|„Gut!“, sagt sie.|z. B. ein Hund|Was?!|1. Ein Hund.|…|A.|x""".split("|")
)


def texts(case: Case) -> None:
    """Texts of many sentences, however they are joined: every word is in some sentence, in order."""
    known = (case.folder / "own" / "train.de").read_text(encoding="utf-8").splitlines()
    sentences = st.sampled_from(known) | st.sampled_from(ODD_SENTENCES)
    gaps = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", "", "\u00a0"])
    text = "".join(map("".join, case.draw(st.lists(st.tuples(sentences, gaps), min_size=1, max_size=11))))
    outcome = case.run("translate", "--model", "run-a", "--json", text)
    case.check(outcome.code == 0, "a text is refused", outcome.err)
    found = json.loads(outcome.out)
    read = "".join(each["source"] for each in found.get("sentences", [found]))
    case.check(_words(read) == _words(text), "a text loses words", f"{text!r}\n{read!r}")


def _words(text: str) -> str:
    """Returns the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


QUICK = (
    *("--help", "--version", "nope", "train --help", "train nope", "evaluate nope", "study --list"),
    *("translate --model run-a", "translate --model run-a --json", "translate --model run-a --json Hund."),
    *("translate --model run-a Hund Hund", "evaluate run-a --split val", "score run-a --data pairs.tsv"),
    *("report study --format markdown", "report study --format csv", "plot run-a"),
    *("diagram Hund. --model run-a", "diagram Hund. --model run-a --json", "patterns run-a --split val"),
    *("faithfulness run-a --split val", "data list", "data show own", "data show bilderbuch --json"),
    *("data export own --out new", "data check own", "config list", "config show run-a --json"),
    *("theory 1.1", "theory check 1.2 --query c*(k_a+k_b) --samples 20", "theory 1.6 --json"),
    *("theory 1.2 --question", "theory grade answers.csv --samples 20"),
)


def streams(case: Case) -> None:
    """Streams that are closed, full, unread, ASCII only or not text."""
    (case.folder / "bytes").write_bytes(case.draw(st.binary(max_size=200)))
    environment = {
        "PYTHONIOENCODING": pick(case, "", "", "ascii", "latin-1", "cp1252", "utf-8"),
        "COLUMNS": pick(case, "", "", "", "1", "0", "-5", "20", "x", "100000"),
        "TERM": pick(case, "", "", "dumb", "xterm-256color"),
    }
    case.run(
        *pick(case, *QUICK).split(),
        stdin=pick(case, "empty", "closed", "input.txt", "bytes", "own/val.de", "/dev/zero"),
        stdout=pick(case, "file", "closed", "full", "unread"),
        stderr=pick(case, "file", "file", "closed", "full", "unread"),
        environment={name: value for name, value in environment.items() if value},
    )


KINDS: dict[str, Callable[[Case], None]] = {
    kind.__name__: kind
    for kind in (commands, files, runs, kills, writes, full, few_files, both, streams, edited, texts)
}
