"""Studies by Slurm: with commands that stand in for Slurm's, and with submitit's own local executor."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from augenmerk.run.directory import RunDirectory
from augenmerk.study import clusters
from augenmerk.study.clusters import SlurmCluster, SlurmExecutor
from augenmerk.study.jobs import INTERRUPTED, Job
from augenmerk.study.plan import read_study
from tests.support.cluster_study import EPOCHS, epochs, local_result, read_result, runs, write_study
from tests.support.command import run_command
from tests.support.fake_slurm import FakeSlurm
from tests.support.processes import PATIENCE, Command, Forker, wait_for


@pytest.fixture(scope="module")
def file(shared_folder: Path) -> Path:
    return write_study(shared_folder)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlurm]:
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.path)
    yield slurm
    slurm.close()


def test_a_study_that_is_stopped_and_killed_goes_on_with_the_jobs_that_slurm_has(
    file: Path, slurm: FakeSlurm, forker: Forker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    on_slurm = ("--on", "slurm", "--slurm", "partition=night", "--slurm", "mem=2G")
    command = Command(
        ["study", str(file), "--out", str(out), *on_slurm], environment={"PATH": slurm.path}, hang=PATIENCE
    )
    stopped = forker.start_command(command, tmp_path)
    wait_for("the first epoch", lambda: any(map(epochs, runs(out))))
    os.kill(stopped.number, signal.SIGINT)
    ended = stopped.end(command)
    assert ended.code == 130
    assert ended.err.splitlines()[-1].endswith("--on slurm --slurm partition=night --slurm mem=2G")
    assert all(not RunDirectory.is_in_training(run) for run in runs(out))
    saved = [epochs(run) for run in runs(out)]
    assert min(saved) < EPOCHS
    assert len(slurm.scripts) == 2
    options = {line.removeprefix("#SBATCH --") for line in slurm.scripts[0].splitlines()}
    assert {"partition=night", "mem=2G", "time=4:00:00", "no-requeue"} <= options
    assert "gpu" not in slurm.scripts[0]

    killed = forker.start_command(command, tmp_path)
    wait_for("more epochs", lambda: sum(map(epochs, runs(out))) >= sum(saved) + 2)
    killed.kill()
    assert len(slurm.scripts) == 4
    slurm.kill(4)  # the machine of the second run fails; the first one trains on

    monkeypatch.setattr(clusters, "QUEUE_SECONDS", 1.0)
    answer = run_command(*command.arguments)
    assert answer.code == 0, answer.err
    assert read_result(out) == local_result(file)
    assert len(slurm.scripts) == 5  # the first run went on, the second one was submitted again
    assert [path.suffix for path in (out / "logs").iterdir() if path.is_file()] == []


def test_a_worker_saves_when_its_time_is_up(file: Path, tmp_path: Path) -> None:
    """submitit has Slurm send SIGUSR2 before the time limit is reached."""
    config = read_study(file).runs[0].config.model_dump(exclude_none=True)
    config["train"] |= {"epochs": 100_000, "save_seconds": 1e9}
    run, events = tmp_path / "run", tmp_path / "events"
    job = json.dumps(asdict(Job(str(run), config, ["val"], [1], [], "cpu")))
    worker = subprocess.Popen(
        [sys.executable, "-m", "augenmerk.study.jobs", job, str(events)], stdin=subprocess.DEVNULL
    )
    wait_for("two epochs", lambda: epochs(run) >= 2)
    worker.send_signal(signal.SIGUSR2)
    assert worker.wait() == INTERRUPTED
    assert json.loads(events.read_text().splitlines()[-1])["phase"] == "stopped"
    saved = RunDirectory.open(run).load_state()
    assert saved is not None
    assert saved[1]["epoch"] >= 2


def refusal(file: Path, tmp_path: Path, *options: str) -> str:
    answer = run_command("study", file, "--out", tmp_path / "out", *options)
    assert answer.code == 2
    return answer.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--slurm", "partition=night"], "--slurm cannot be used with --on local; use --on slurm."),
        (
            ["--on", "slurm", "--ray-address", "auto"],
            "--ray-address cannot be used with --on slurm; use --on ray.",
        ),
        (
            ["--cpus-per-job", "2"],
            "--cpus-per-job and --gpus-per-job cannot be used with --on local; use --on ray or slurm.",
        ),
        (["--on", "slurm", "--threads", "2"], "--threads cannot be used with --on slurm"),
        (["--on", "slurm", "--slurm", "=night"], "'=night' is no option of sbatch"),
        (["--on", "slurm", "--slurm", "partition="], "'partition=' is no option of sbatch"),
        (["--on", "slurm", "--slurm", "--mem=2G"], "'--mem=2G' is no option of sbatch"),
        (["--on", "slurm", "--gpus-per-job", "0.5"], "Slurm gives whole GPUs"),
        (["--on", "slurm", "--gpus-per-job", "1", "--device", "cpu"], "contradict each other"),
        (["--on", "slurm", "--device", "cuda:1"], "'cuda:1' is no device for the runs on a cluster"),
        (["--on", "slurm"], "Slurm is not on this machine"),
    ],
)
def test_wrong_options_are_said_in_a_sentence(
    file: Path, tmp_path: Path, options: list[str], complaint: str
) -> None:
    assert complaint in refusal(file, tmp_path, *options)
    assert not (tmp_path / "out").exists()


def test_a_study_does_not_go_into_the_folder_of_a_run(file: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.toml").touch()
    assert "out is the folder of a run; choose another" in refusal(file, tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["config.toml"]


def test_without_submitit_a_sentence_says_how_to_install_it(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert "pip install '.[slurm]'" in refusal(file, tmp_path, "--on", "slurm")


def test_options_become_those_of_sbatch(slurm: FakeSlurm, tmp_path: Path) -> None:
    cluster = SlurmCluster(2, 1, {"time": "10", "mem-per-cpu": "1G", "exclusive": True})
    with SlurmExecutor(tmp_path / "logs", cluster) as executor:
        executor.submit(Job(str(tmp_path / "run"), {}, [], [], [], "cuda"))
    options = {line.removeprefix("#SBATCH --") for line in slurm.scripts[0].splitlines()}
    expected = {"time=10", "mem-per-cpu=1G", "exclusive", "cpus-per-task=2", "gpus-per-node=1"}
    assert expected <= options


def test_a_place_that_is_not_there(file: Path) -> None:
    answer = run_command("study", file, "--on", "cloud")
    assert answer.code == 2
    assert "'cloud' is not one of 'local', 'ray', 'slurm'" in answer.err


def test_what_sbatch_refuses_is_passed_on(file: Path, slurm: FakeSlurm, tmp_path: Path) -> None:
    sbatch = Path(slurm.path.split(os.pathsep)[0]) / "sbatch"
    sbatch.write_text("#!/bin/bash\necho 'sbatch: error: invalid partition specified: night' >&2\nexit 1\n")
    said = refusal(file, tmp_path, "--on", "slurm", "--slurm", "partition=night")
    assert "Slurm has not taken the job" in said
    assert "invalid partition specified: night" in said
