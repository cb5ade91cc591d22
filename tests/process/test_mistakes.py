"""Ordinary mistakes get one sentence: impossible names and numbers, full and closed streams, Ctrl-C."""

import fcntl
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest
import typer

from augenmerk import cli
from augenmerk.base.config import RunConfig, SearchConfig, load_config
from augenmerk.base.console import SafeConsole
from augenmerk.base.errors import AugenmerkError, format_message, shorten
from augenmerk.run.directory import RunDirectory
from augenmerk.study import demo
from augenmerk.study.jobs import Job, LocalExecutor, log_name
from augenmerk.training.engine import Engine
from tests.support.command import COMMAND, fails_with_a_sentence, run_command
from tests.support.processes import Command, Forker
from tests.support.runs import SharedRuns, tiny

LONG = "x" * 300
MANY_DIGITS = "9" * 4301


# -- names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["train", LONG],
        ["train", f"{LONG}.toml"],
        ["train", "quick", "--data", LONG],
        ["train", "quick", "--attention", f"{LONG}.py:Mine"],
        ["train", "--resume", "--out", LONG],
        ["evaluate", LONG],
        ["translate", "--model", LONG, "Hund"],
        ["translate", "--input", LONG],
        ["translate", "Ein Hund.", "--output", LONG],
        ["study", LONG],
        ["report", LONG],
        ["diagram", "Ein Hund.", "--out", f"{LONG}.svg"],
        ["diagram", "--split", "val", "--count", "1", "--out", LONG],
        ["data", "show", LONG],
        ["bench", "train", "--preset", LONG],
        ["bench", "decode", "--model", LONG],
        ["theory", "1.1", "--figure", f"{LONG}.svg"],
        ["theory", "grade", f"{LONG}.csv"],
    ],
)
def test_a_name_that_is_too_long(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = fails_with_a_sentence(*command)
    assert len(sentence) < 300  # the name is shortened


@pytest.mark.parametrize("name", ["**x", "[/x]", "loop", "", " ", "a\x1b[31mb"])
@pytest.mark.parametrize(
    "command", [["train", "quick", "--data"], ["data", "show"], ["evaluate"], ["study"], ["report"]]
)
def test_names_of_nothing(
    command: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    assert "\x1b" not in fails_with_a_sentence(*command, name)


def test_a_folder_that_is_not_utf8(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(folder).mkdir()
    for split in ("train", "val"):
        Path(folder, f"{split}.tsv").write_text("Ein Hund\tA dog\n", encoding="utf-8")
    assert "UTF-8" in fails_with_a_sentence("train", "quick", "--data", folder, "--out", tmp_path / "run")
    assert "\\udcff" in run_command("data", "show", folder, "--json", "--split", "nope").err


def test_names_with_markup_are_printed_as_they_are(shared_runs: SharedRuns, tmp_path: Path) -> None:
    (tmp_path / "[").mkdir()
    run = shared_runs.copy(tiny(), tmp_path / "[/x]")
    answer = run_command("evaluate", run.path, "--split", "val")
    assert answer.code == 0, answer.err
    assert "[/x]" in answer.err
    trained = run_command("train", "--resume", "--out", run.path)
    assert "[/x] is finished" in trained.err


def test_a_default_run_name_is_not_too_long(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 250)
    folder.mkdir()
    for split in ("train", "val"):
        (folder / f"{split}.tsv").write_text("Ein Hund\tA dog\n" * 4, encoding="utf-8")
    small = ["--set", "model.hidden=8", "--set", "model.embedding=8", "--set", "model.key=8", "--epochs", "1"]
    answer = run_command("train", "classic", "--data", folder, *small, cwd=tmp_path)
    assert answer.code == 0, answer.err
    again = run_command("train", "classic", "--data", folder, *small, "--seed", "2", cwd=tmp_path)
    assert again.code == 0, again.err  # its name has another seed, in the part that is cut
    names = [run.name for run in (tmp_path / "runs").iterdir()]
    assert len(names) == 2
    assert all(len(name.encode()) <= 200 for name in names)


def test_logs_of_runs_with_long_names_differ() -> None:
    names = {log_name(Path("study", "é" * 120 + f"{number}", "seed-1")) for number in range(3)}
    assert len(names) == 3
    assert all(len(name.encode()) < 255 for name in names)
    assert log_name(Path("study/mean/seed-1")) == "mean.seed-1.txt"


def test_logs_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    job = Job(str(tmp_path / "mean" / "1"), {}, [], [], [], "cpu")
    with (
        LocalExecutor(tmp_path / "logs", 1) as executor,
        pytest.raises(AugenmerkError, match="cannot be written"),
    ):
        executor.submit(job)


# -- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [
        "search.max_ratio=1e308",
        "search.temperature=inf",
        "search.temperature=1e-320",
        f"search.top_k={2**64}",
        f"train.warmup={2**64}",
        f"train.patience={'9' * 400}",
        f"train.seed={MANY_DIGITS}",
        f"data.bilderbuch.pairs={2**64}",
        f"text.minimum_frequency={2**64}",
        "train.clip=1e308",
        'data.bitext="a\\u0000b"',
    ],
)
def test_settings_beyond_what_can_be_computed(setting: str) -> None:
    with pytest.raises(AugenmerkError) as caught:
        load_config("quick", [setting])
    assert len(str(caught.value)) < 200


def test_numbers_of_many_digits_and_nul_in_toml() -> None:
    with pytest.raises(AugenmerkError, match="not valid TOML"):
        RunConfig.from_toml(f"[train]\nseed = {MANY_DIGITS}", "x.toml")
    with pytest.raises(AugenmerkError, match="not valid TOML"):
        RunConfig.from_toml("[train]\nseed = 1\0", "x.toml")
    with pytest.raises(AugenmerkError, match="without NUL"):
        RunConfig.from_toml('[data]\nbitext = "a\\u0000b"', "x.toml")


@pytest.mark.parametrize(
    "command",
    [
        ["translate", "Ein Hund.", "--sample", "--temperature", "inf"],
        ["translate", "Ein Hund.", "--sample", "--temperature", "1e-320"],
        ["theory", "1.3", "--beta", "1e308"],
    ],
)
def test_flags_beyond_what_can_be_computed(command: list[str]) -> None:
    assert len(fails_with_a_sentence(*command)) < 300


@pytest.mark.parametrize(
    "command",
    [
        ["bench", "decode", "--beam", "0"],
        ["bench", "decode", "--beam", "5000"],
        ["bench", "decode", "--sentences", "9" * 400],
        ["data", "show", "--pairs", str(2**63)],
        ["theory", "1.2", "--dim", "0"],
        ["translate", "Ein Hund.", "--beam", "-1"],
        ["train", "quick", "--seed", str(2**63)],
        ["diagram", "--split", "val", "--index", MANY_DIGITS],
        ["translate", "--no\x1b[31mred"],
        ["\x1b[31mred"],
        ["--\x1b[31mred"],
        ["[/x]"],
    ],
)
def test_errors_of_usage_are_short_and_safe(command: list[str]) -> None:
    answer = run_command(*command)
    assert answer.code == 2
    assert answer.out == ""
    assert "\x1b" not in answer.err
    assert len(answer.err) < 1500


def list_commands() -> Iterator[Callable[..., object]]:
    apps: list[typer.Typer] = [import_module(f"augenmerk.cli.{name}").app for name in cli.COMMANDS]
    apps += [group.typer_instance for app in apps for group in app.registered_groups if group.typer_instance]
    yield from (command.callback for app in apps for command in app.registered_commands if command.callback)


def test_every_whole_number_has_a_least_and_a_most() -> None:
    numbers = 0
    for command in list_commands():
        for name, hint in get_type_hints(command, include_extras=True).items():
            if get_origin(hint) is Annotated and re.search(r"\bint\b", str(get_args(hint)[0])):
                option = get_args(hint)[1]
                if option.count:  # a flag that may be repeated
                    continue
                place = f"{command.__module__}.{command.__name__}: {name}"
                assert option.min is not None, place
                assert option.max is not None, place
                assert option.max < 2**63, place
                numbers += 1
    assert numbers > 50


def test_the_coldest_and_the_hottest_sample_are_possible() -> None:
    for temperature in ("1e-4", "1e4"):
        sampled = run_command("translate", "Ein Hund.", "--sample", "--temperature", temperature)
        assert sampled.code == 0, sampled.err
    assert SearchConfig(max_ratio=1000.0).max_ratio == 1000.0


def test_a_sentence_of_one_endless_word_is_examined() -> None:
    """Its 200 keys are nearly equal, which the simplex method does not solve."""
    assert run_command("theory", "from-run", "d" * 5000, "--samples", "10").code == 0


# -- sizes -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
@pytest.mark.parametrize(
    "command",
    [
        ["translate", "--input", "/dev/zero"],
        ["train", "/dev/zero"],
        ["study", "/dev/zero"],
        ["bench", "train", "--preset", "/dev/zero"],
    ],
)
def test_a_device_without_end(command: list[str]) -> None:
    assert "1,000,000 bytes" in fails_with_a_sentence(*command)


def test_a_stdin_without_end() -> None:
    assert "stdin, line 1: the line is longer" in fails_with_a_sentence("translate", stdin=bytes(1_000_001))


def read_all(place: Path) -> None:
    run = RunDirectory.open(place)
    run.read_scores()
    run.read_metrics()
    run.load_model()


@pytest.mark.parametrize("file", ["config.toml", "tokenizer.source.json", "scores.json", "metrics.jsonl"])
def test_files_of_a_run_of_absurd_size(shared_runs: SharedRuns, tmp_path: Path, file: str) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    with (run.path / file).open("ab") as stream:
        stream.truncate(3 * 10**9)  # takes no room on the disk
    with pytest.raises(AugenmerkError, match=f"{file} is too large"):
        read_all(run.path)


def test_a_study_of_absurd_size(tmp_path: Path) -> None:
    with (tmp_path / "study.json").open("wb") as stream:
        stream.truncate(3 * 10**9)
    assert "study.json is too large" in fails_with_a_sentence("report", tmp_path)


# -- where output goes -------------------------------------------------------------------------------------

WRITERS = {
    ".txt": ["translate", "Ein Hund.", "--output"],
    ".svg": ["theory", "1.1", "--samples", "1", "--figure"],
    ".png": ["diagram", "Ein Hund.", "--out"],
}


@pytest.mark.parametrize("ending", WRITERS)
def test_output_may_be_a_link_a_pipe_or_a_device(tmp_path: Path, ending: str) -> None:
    link, pipe, device = (tmp_path / f"{name}{ending}" for name in ("link", "pipe", "device"))
    link.symlink_to("file")
    os.mkfifo(pipe)
    device.symlink_to(os.devnull)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 2**20)  # nobody reads until the command is done
    for place in (link, pipe, device):
        answer = run_command(*WRITERS[ending], place)
        assert answer.code == 0, answer.err
    assert link.is_symlink()
    assert pipe.is_fifo()
    assert device.is_symlink()
    assert device.is_char_device()
    assert os.read(reader, 2**20) == (tmp_path / "file").read_bytes() != b""
    os.close(reader)
    assert len(list(tmp_path.iterdir())) == 4
    full, loop = (tmp_path / f"{name}{ending}" for name in ("full", "loop"))
    full.symlink_to("/dev/full")
    loop.symlink_to(loop.name)
    assert "No space left" in fails_with_a_sentence(*WRITERS[ending], full)
    if ending != ".txt":  # translate writes a file in place of the link
        assert "leads nowhere" in fails_with_a_sentence(*WRITERS[ending], loop)


# -- what is printed ---------------------------------------------------------------------------------------


def test_values_in_messages_are_shortened() -> None:
    assert shorten("short") == "short"
    assert len(shorten("x" * 1000)) == 60
    assert format_message("two\nlines \x1b]0;title\x07 \x9b31m") == "two lines ]0;title 31m"
    assert len(format_message(f"There is no kind '{'two words ' * 500}'.")) < 100


def test_a_terminal_gets_no_escapes_of_others() -> None:
    console = SafeConsole(force_terminal=True, highlight=False, color_system="standard", width=80)
    with console.capture() as capture:
        console.print("[red]ours[/]", "theirs \x1b[31m\x9b31m\x07", markup=True)
    assert capture.get() == "\x1b[31mours\x1b[0m theirs [31m31m\n"


def test_escapes_in_data_reach_json_only(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("Ein \x1b[31mHund\x07\tA dog [/x]\n", encoding="utf-8")
    asked = ("data", "show", tmp_path, "--split", "test")
    shown = run_command(*asked).out
    assert "\x1b" not in shown
    assert "A dog [/x]" in shown
    assert json.loads(run_command(*asked, "--json").out)[0]["source"] == "Ein \x1b[31mHund\x07"


# -- streams -----------------------------------------------------------------------------------------------

FULL = "augenmerk: The output cannot be written (No space left on device).\n"


@pytest.mark.parametrize(
    ("arguments", "streams", "code", "complaint"),
    [
        ("--help", {"stdout": "full"}, 2, FULL),
        ("data list", {"stdout": "full"}, 2, FULL),
        ("data list --json", {"stdout": "full"}, 2, FULL),
        ("data show nowhere", {"stderr": "full"}, 2, ""),
        ("data list --json", {"stdin": "closed"}, 0, ""),
        ("data list --json", {"stdout": "closed"}, 0, ""),
        ("data list --json", {"stderr": "closed"}, 0, ""),
        ("data show nowhere", {"stdout": "closed"}, 2, "augenmerk: There is no "),
        ("data show nowhere", {"stderr": "closed"}, 2, ""),
        ("translate", {"stdin": "closed"}, 0, ""),
        ("--help", {"stdout": "unread"}, 0, ""),
        ("data list", {"stdout": "unread"}, 0, ""),
        ("data list --json", {"stdout": "unread"}, 0, ""),
        ("data show --pairs 500", {"stdout": "unread"}, 0, ""),
    ],
)
def test_streams_that_are_full_closed_or_unread(
    arguments: str, streams: dict[str, str], code: int, complaint: str, forker: Forker, tmp_path: Path
) -> None:
    [ended] = forker.run(tmp_path, Command(arguments.split(), **streams))  # type: ignore[arg-type]
    assert ended.code == code
    assert ended.err.startswith(complaint)
    assert ended.err.count("\n") == bool(complaint)


@pytest.mark.parametrize("stream", ["full", "closed", "unread"])
def test_work_is_done_whatever_becomes_of_stderr(stream: str, forker: Forker, tmp_path: Path) -> None:
    export = Command("data export bilderbuch --pairs 2 --out pairs".split(), stderr=stream)
    [first], [again] = forker.run(tmp_path, export), forker.run(tmp_path, export)
    assert (first.code, first.out) == (0, "")
    assert (tmp_path / "pairs" / "train.de").exists()
    assert again.code == 2  # it is already there


def in_shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line of bash in which $A is `augenmerk`."""
    environment = {**os.environ, "A": " ".join(COMMAND), **env}
    arguments = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("command", "code", "complaint"),
    [
        ("{ sleep 0.2; $A data show --pairs 500; } | true", 0, ""),
        ("{ sleep 0.2; $A data show nowhere; } 2> >(true)", 2, ""),
    ],
)
def test_streams_of_a_shell(command: str, code: int, complaint: str) -> None:
    answer = in_shell(command)
    assert (answer.returncode, answer.stdout, answer.stderr) == (code, "", complaint)


def test_ascii_only() -> None:
    shown = in_shell("$A data show --pairs 1", PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\\xe4" in shown.stdout
    document = in_shell("$A data show --pairs 1 --json", PYTHONIOENCODING="ascii")
    assert json.loads(document.stdout) == json.loads(
        run_command("data", "show", "--pairs", "1", "--json").out
    )


def test_an_error_of_the_system_without_a_file_is_one_sentence() -> None:
    explained = cli._explain(FileNotFoundError("No usable temporary directory found"))
    assert explained == (
        2,
        "The system refused a call that this needs (No usable temporary directory found).",
    )


# -- Ctrl-C ------------------------------------------------------------------------------------------------


def test_ctrl_c_while_modules_are_imported(tmp_path: Path) -> None:
    """A module that interrupts the process takes the place of the first that the command line imports."""
    (tmp_path / "typer.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\n", encoding="utf-8"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    answer = in_shell("$A data list", PYTHONPATH=path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", "augenmerk: Interrupted.\n")


def test_ctrl_c_while_the_demo_trains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On few pairs, which are read at once."""
    whole = demo.demo_config

    def on_few_pairs(attention: str) -> RunConfig:
        tree = whole(attention).model_dump(exclude_none=True)
        tree["data"]["bilderbuch"]["pairs"] = 100
        return RunConfig.model_validate(tree)

    monkeypatch.setattr(demo, "demo_config", on_few_pairs)
    monkeypatch.setattr(Engine, "step", lambda *_: signal.raise_signal(signal.SIGINT))
    answer = run_command("demo", "--out", tmp_path / "demo")
    assert answer.code == 130
    assert answer.err.splitlines()[-1].startswith("Saved. Continue with:")
    assert "Traceback" not in answer.err
