"""One run that several processes train: real processes, which are stopped and killed."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import train
from augenmerk.training.start import start
from tests.process.test_train import flags
from tests.support.processes import Forker, Process
from tests.support.runs import CPU, SharedRuns, Silent, tiny

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# The last batch has one pair, so that all processes but one have none of it.
FEW = {"data__bilderbuch": {"pairs": 65}, "train__batch_size": 16, "train__accumulate": 2, "train__clip": 1.0}


class Ended(NamedTuple):
    """Processes that trained a run: their exit codes, and what they printed, one after the other."""

    codes: list[int]
    printed: str


class Together:
    """Starts commands in several processes at once."""

    def __init__(self, forker: Forker, folder: Path) -> None:
        self._forker = forker
        self._folder = folder
        self._commands = 0

    def start(self, size: int, *arguments: object, **trouble: object) -> "Command":
        folder = self._folder / f"command-{self._commands}"
        self._commands += 1
        folder.mkdir()
        command = {"arguments": list(map(str, arguments)), **trouble}
        (folder / "command.json").write_text(json.dumps(command), encoding="utf-8")
        return Command(self._forker.start("run_together", folder, size), folder, size)

    def run(self, size: int, *arguments: object, **trouble: object) -> Ended:
        return self.start(size, *arguments, **trouble).wait()

    def go_on(self, size: int, run: RunDirectory, **trouble: object) -> Ended:
        return self.run(size, *resume(run), **trouble)


class Command:
    def __init__(self, process: Process, folder: Path, size: int) -> None:
        self._process = process
        self._folder = folder
        self._size = size

    def numbers(self) -> list[int]:
        return list(map(int, self._process.wait_for_line(0).split()))

    def printed(self) -> str:
        files = (self._folder / f"printed.{rank}" for rank in range(self._size))
        return "".join(file.read_text(encoding="utf-8") for file in files if file.exists())

    def wait(self) -> Ended:
        codes = list(map(int, self._process.wait_for_line(1).split()))
        return Ended(codes, self.printed())


@pytest.fixture
def together(forker: Forker, tmp_path: Path) -> Together:
    return Together(forker, tmp_path)


def resume(run: RunDirectory) -> list[str]:
    return ["train", "--resume", "--out", str(run.path), "--device", "cpu"]


def state(run: RunDirectory) -> dict[str, torch.Tensor]:
    """The weights and moments at the end, without the state of random generators that nothing depends on."""
    saved = run.load_state()
    assert saved is not None
    return {name: torch.from_numpy(array) for name, array in saved[0].items() if "random" not in name}


def assert_same(some: RunDirectory, other: RunDirectory) -> None:
    assert some.finished
    assert other.finished
    ours, theirs = state(some), state(other)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
    for ours_of_epoch, theirs_of_epoch in zip(some.read_metrics(), other.read_metrics(), strict=True):
        for name in ("train_loss", "validation_loss", "learning_rate", "step"):
            assert ours_of_epoch[name] == theirs_of_epoch[name]


def the_sentence(ended: Ended) -> str:
    """The one line in which the processes say why they end."""
    assert "Traceback" not in ended.printed
    [line] = [line for line in ended.printed.splitlines() if line.startswith("augenmerk: ")]
    return line


def test_processes_give_the_result_of_one_except_for_rounding(together: Together, tmp_path: Path) -> None:
    config = tiny(**FEW, model__embedding_dropout=0.0, train__epochs=2)
    alone = start(config, tmp_path / "alone")
    train(alone, CPU, Silent())
    for size in (2, 3):
        shared = start(config, tmp_path / f"shared-{size}")
        ended = together.go_on(size, shared)
        assert ended.codes == [0] * size, ended.printed
        assert ended.printed.count("epoch   1") == 1
        for name, tensor in state(alone).items():
            torch.testing.assert_close(state(shared)[name], tensor, rtol=1e-3, atol=1e-4)
        for ours, theirs in zip(shared.read_metrics(), alone.read_metrics(), strict=True):
            assert ours["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-5)
            assert ours["validation_loss"] == pytest.approx(theirs["validation_loss"], rel=1e-5)
            assert (ours["step"], ours["learning_rate"]) == (theirs["step"], theirs["learning_rate"])
        assert shared.result is not None
        assert shared.result["processes"] == size


def test_an_exact_run_is_the_same_for_any_number_of_processes(together: Together, tmp_path: Path) -> None:
    """Also if it is stopped and resumed with another number."""
    config = tiny(**FEW, train__exact_parts=4, train__ema=0.9)
    alone = start(config, tmp_path / "alone")
    train(alone, CPU, Silent())
    four = start(config, tmp_path / "four")
    ended = together.go_on(4, four)
    assert ended.codes == [0] * 4, ended.printed
    assert_same(four, alone)
    changing = start(config, tmp_path / "changing")
    ended = together.go_on(2, changing, rank=1, calls=(3, "agree", signal.SIGTERM))
    assert ended.codes == [143, 143], ended.printed
    train(RunDirectory.open(changing.path), CPU, Silent())
    assert_same(changing, alone)


def test_a_signal_to_any_process_saves_and_resuming_is_exact(together: Together, tmp_path: Path) -> None:
    config = tiny(**FEW)
    whole, stopped = start(config, tmp_path / "whole"), start(config, tmp_path / "stopped")
    assert together.go_on(2, whole).codes == [0, 0]
    ended = together.go_on(2, stopped, rank=1, calls=(3, "agree", signal.SIGTERM))
    assert ended.codes == [143, 143], ended.printed
    assert ended.printed.count("Saved. Continue with:") == 1
    assert f"torchrun --nproc-per-node 2 -m augenmerk train --resume --out {stopped.path}" in ended.printed
    ended = together.go_on(2, stopped, rank=0, calls=(1, "agree", signal.SIGINT))
    assert ended.codes == [130, 130], ended.printed
    ended = together.go_on(2, stopped)
    assert ended.codes == [0, 0], ended.printed
    assert_same(stopped, whole)


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.thorough)])
def test_killed_at_any_moment_all_end_and_resuming_is_exact(
    together: Together, tmp_path: Path, kills: int
) -> None:
    """One of three processes is killed, in turns; the others end with one sentence that says how to go on."""
    config = tiny(**FEW, train__epochs=2 + kills * 2 // 3, train__save_seconds=1e-9)  # saves after every step
    whole, killed = start(config, tmp_path / "whole"), start(config, tmp_path / "killed")
    assert together.go_on(3, whole).codes == [0, 0, 0]
    rng = random.Random(kills)
    for number in range(kills):
        rank = number % 3
        # A step has about 800 calls in the process that saves and 100 in the others, and the start 100 more.
        ended = together.go_on(3, killed, rank=rank, calls=(rng.randrange(1, 400 if rank else 1500),))
        assert ended.codes[rank] == -signal.SIGKILL, ended.printed
        assert sorted(ended.codes) == [-signal.SIGKILL, 2, 2], ended.printed
        sentence = the_sentence(ended)
        assert "One of the 3 processes has ended" in sentence
        assert f"train --resume --out {killed.path}" in sentence
    ended = together.go_on(3, killed)
    assert ended.codes == [0, 0, 0], ended.printed
    assert_same(killed, whole)


def test_what_fails_in_one_process_ends_all_with_one_sentence(
    together: Together, shared_runs: SharedRuns, tmp_path: Path
) -> None:
    full = start(tiny(**FEW), tmp_path / "full")
    ended = together.go_on(3, full, rank=0, largest=50_000)
    assert ended.codes == [2, 2, 2], ended.printed
    assert "model.safetensors: cannot be written" in the_sentence(ended)
    assert not full.finished
    diverging = shared_runs.copy(tiny(), tmp_path / "diverging")
    saved = diverging.load_state()
    assert saved is not None
    saved[0]["weight.W_o.bias"][5] = float("nan")
    (diverging.path / "result.json").unlink()
    diverging.save_state(saved[0], {**saved[1], "epoch": 1})
    ended = together.go_on(2, diverging)
    assert ended.codes == [2, 2], ended.printed
    assert "The loss is nan in epoch 2: training has diverged" in the_sentence(ended)


def test_what_cannot_be_divided_is_refused(together: Together, tmp_path: Path) -> None:
    small = start(tiny(train__batch_size=2), tmp_path / "small")
    ended = together.go_on(3, small)
    assert ended.codes == [2, 2, 2]
    assert "Batches of 2 pairs (train.batch_size) cannot be divided into 3 parts" in the_sentence(ended)
    exact = start(tiny(train__exact_parts=4), tmp_path / "exact")
    ended = together.go_on(3, exact)
    assert ended.codes == [2, 2, 2]
    assert "4 parts of a batch (train.exact_parts) cannot be shared equally by 3 processes" in the_sentence(
        ended
    )
    ended = together.run(2, "translate", "Ein Hund.")
    assert ended.codes == [2, 2]
    assert "only `augenmerk train` divides its work" in the_sentence(ended)
    ended = together.run(2, "train", "--no-such-option")
    assert ended.codes == [2, 2]
    assert ended.printed.count("--no-such-option") == 1


KILLING_LOGGER = """
import os, signal

class Killing:
    def start(self, run, settings, step): pass

    def log(self, step, metrics):
        if "validation_loss" in metrics and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)

    def close(self): pass
"""


def test_torchrun_starts_killed_processes_again(together: Together, tmp_path: Path) -> None:
    """The command that began the run goes on with it; the first process is killed after the first epoch."""
    whole = start(tiny(**FEW, data__validation="train"), tmp_path / "whole")  # its val is the whole one
    assert together.go_on(2, whole).codes == [0, 0]
    (tmp_path / "killing.py").write_text(KILLING_LOGGER, encoding="utf-8")
    place = tmp_path / "restarted"
    torchrun = [*(sys.executable, "-m", "torch.distributed.run"), "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "--max-restarts", "1", "-m", "augenmerk", "train", "quick", *flags(**FEW)]
    command += [
        "--set=data.validation=train",
        "--logger",
        f"{tmp_path / 'killing.py'}:Killing",
        "--out",
        str(place),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("torchrun starts them again.") == 1
    assert re.findall("epoch +([0-9]+) ", ended.stderr) == ["1", "2"]
    assert_same(RunDirectory.open(place), whole)
