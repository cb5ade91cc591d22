"""Ctrl-C and SIGTERM end every command with one line and the signal's exit code; what was done is kept."""

import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from augenmerk.base.process import Terminated, interrupt_on_sigterm
from augenmerk.cluster.ray import RESUMABLE
from tests.support.command import run_command
from tests.support.processes import PATIENCE, Command, Forker
from tests.support.runs import SharedRuns, tiny

COMMANDS = {
    "--help": "augenmerk.cli.terminal:prepare_streams",
    "demo": "augenmerk.study.demo:run_demo",
    "train quick --data bilderbuch --out new": "augenmerk.training.start:start",
    "evaluate run": "augenmerk.evaluation.evaluator:evaluate_run",
    "translate --model run --input de.txt --output en.txt": "augenmerk.translation.translator:stream",
    "theory 1.5": "augenmerk.theory.noise:resample",
    "bench decode --model run --sentences 4 --beam 1": "augenmerk.bench.decoding:bench_decoding",
    "diagram --model run Hund. --out dog.png": "augenmerk.drawing.figures:save_figure",
    "patterns run": "augenmerk.analysis.patterns:find_patterns",
    "data export bilderbuch --pairs 100 --out pairs": "augenmerk.data.exporting:_write_split",
}
"""Commands, each with the function in which it is interrupted."""

STUDY = """
question = "?"
seeds = [1, 2]
[factors]
attention = ["none", "mean"]
[settings]
data.bilderbuch.pairs = 300
text.unit = "word"
train.epochs = 1000
train.bleu = false
model.embedding = 8
model.hidden = 8
"""


def interrupt(
    forker: Forker, signum: signal.Signals, function: str, *arguments: str, cwd: Path
) -> tuple[int, list[str]]:
    """Returns the exit code and the lines on stderr of a command that the signal meets in the function."""
    [ended] = forker.run(cwd, Command(arguments, signal=signum, at_function=function, hang=PATIENCE))
    return ended.code, ended.err.splitlines()


def processes_that_name(text: str) -> list[str]:
    """Returns the command lines of all processes that contain the text."""
    lines = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                lines.append((process / "cmdline").read_bytes().decode(errors="replace"))
            except OSError:  # it has ended meanwhile
                continue
    return [line for line in lines if text in line]


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and ".lock" not in path.name)


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[key.replace(" ", "-") for key in COMMANDS])
def test_a_signal_ends_every_command_with_one_line(
    number: int, forker: Forker, shared_runs: SharedRuns, tmp_path: Path
) -> None:
    command, function = list(COMMANDS.items())[number]
    shared_runs.copy(tiny(), tmp_path / "run")
    (tmp_path / "de.txt").write_text("Der Hund schläft.\n", encoding="utf-8")
    before = files_in(tmp_path)
    signum, code = [(signal.SIGINT, 130), (signal.SIGTERM, 143)][number % 2]
    ended, lines = interrupt(forker, signum, function, *command.split(), cwd=tmp_path)
    assert (ended, lines[-1].startswith("augenmerk: Interrupted.")) == (code, True), lines
    assert len(lines) == (3 if command == "demo" else 1)  # demo begins with two lines of its own
    assert files_in(tmp_path) == before, "half a file stays behind"


def test_training_that_is_interrupted_before_its_first_step_says_how_to_go_on(
    forker: Forker, tmp_path: Path
) -> None:
    arguments = "train quick --data bilderbuch --out new --set data.bilderbuch.pairs=50".split()
    code, lines = interrupt(
        forker, signal.SIGTERM, "augenmerk.training.start:start", *arguments, cwd=tmp_path
    )
    assert (code, lines) == (143, ["augenmerk: Interrupted. Training had not started; nothing is lost."])
    function = "augenmerk.base.process:limit_malloc_caching"
    code, lines = interrupt(forker, signal.SIGTERM, function, *arguments, cwd=tmp_path)
    assert code == 143
    assert lines[-1] == "augenmerk: Interrupted. Continue with:  augenmerk train --resume --out new"


def test_what_is_translated_is_kept_beside_the_file(
    shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The translator is interrupted after two lines."""
    import augenmerk.translation.translator as translator

    run = shared_runs.copy(tiny(), tmp_path / "run")
    (tmp_path / "de.txt").write_text("Der Hund schläft.\n" * 5, encoding="utf-8")
    (tmp_path / "en.txt").write_text("before", encoding="utf-8")
    stream = translator.Translator.stream

    def interrupted(self, sources, **options):  # type: ignore[no-untyped-def]
        for number, translation in enumerate(stream(self, sources, **options)):
            if number == 2:
                raise Terminated
            yield translation

    monkeypatch.setattr(translator.Translator, "stream", interrupted)
    monkeypatch.chdir(tmp_path)
    answer = run_command("translate", "--model", run.path, "--input", "de.txt", "--output", "en.txt")
    assert answer.code == 143
    assert answer.err.startswith("augenmerk: Interrupted.")
    assert answer.err.endswith("en.txt.partial has the first 2 lines.\n")
    assert len((tmp_path / "en.txt.partial").read_text(encoding="utf-8").splitlines()) == 2
    assert (tmp_path / "en.txt").read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_study_that_is_stopped_leaves_no_worker_behind(
    signum: signal.Signals, code: int, forker: Forker, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    out = tmp_path / "out"
    arguments = ("study", "study.toml", "--out", str(out), "--jobs", "1")
    ended, lines = interrupt(
        forker, signum, "augenmerk.study.runner:receive_events", *arguments, cwd=tmp_path
    )
    assert ended == code, lines
    assert lines[-1].startswith("Saved: finished runs are kept")
    assert "Continue with:  augenmerk study study.toml" in lines[-1]
    assert (out / "study.json").is_file()
    assert processes_that_name(f"{out}") == []


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_sigterm_while_a_ray_cluster_starts(forker: Forker, tmp_path: Path) -> None:
    """Ray has then replaced the handler of the signal by its own, which exits without a word."""
    arguments = "data prepare bilderbuch --pairs 300 --out new --on ray --ray-address local".split()
    code, lines = interrupt(forker, signal.SIGTERM, "ray._private.node:__init__", *arguments, cwd=tmp_path)
    assert (code, lines) == (143, [f"augenmerk: Interrupted. {RESUMABLE}"])


def test_a_second_sigterm_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interrupt_on_sigterm():
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_ends_says_nothing(number: signal.Signals) -> None:
    program = (
        "import atexit, os, sys; from augenmerk.__main__ import main; "
        f"atexit.register(os.kill, os.getpid(), {int(number)}); sys.argv[1:] = ['--version']; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_signal_that_meets_the_end_of_a_generator_is_one_line_too() -> None:
    code = (
        "import signal, sys\n"
        "import augenmerk.cli\n"
        "from augenmerk.__main__ import main\n"
        "def numbers():\n"
        "    try:\n"
        "        yield 1\n"
        "    finally:\n"
        "        signal.raise_signal(signal.SIGTERM)\n"
        "def command():\n"
        "    generator = numbers()\n"
        "    next(generator)\n"
        "    del generator\n"  # Python cannot raise here, and would print what was raised
        "    sys.exit(0)\n"
        "augenmerk.cli.main = command\n"
        "main()\n"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (143, "augenmerk: Interrupted.\n")
