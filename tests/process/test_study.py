"""A study from its file to its result: run in real processes, killed on the way, and compared."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file
from typer.testing import CliRunner

import augenmerk.base.arrays
import augenmerk.base.device
import augenmerk.base.files
import augenmerk.evaluation.evaluator
import augenmerk.study.collect
from augenmerk.base.arrays import Arrays
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import app
from augenmerk.data import open_bitext, open_data
from augenmerk.evaluation.evaluator import hypothesis_path
from augenmerk.evaluation.metrics import score_texts
from augenmerk.evaluation.significance import estimate_mean
from augenmerk.run.directory import RunDirectory
from augenmerk.study import measure, runner
from augenmerk.study.collect import collect
from augenmerk.study.jobs import Event, Job, execute
from augenmerk.study.plan import Study, read_study
from augenmerk.study.result import StudyResult, is_running
from augenmerk.study.runner import (
    RunStatus,
    StudyInterrupted,
    check_settings,
    default_jobs,
    list_devices,
    run_jobs,
    run_study,
    threads_each,
)
from augenmerk.training.data import TextData
from augenmerk.training.loop import train
from augenmerk.training.start import start
from tests.support.mechanisms import CLASSIC
from tests.support.processes import PATIENCE, Command, Forker, wait_for
from tests.support.runs import CPU, Silent

TINY = """
question = "Does it matter?"
seeds = [1, 2]
splits = ["test"]
beams = [1, 3]

[factors]
attention = ["mean", "scaled-dot"]

[settings.data]
bitext = "{data}"
source_language = "de"
target_language = "en"

[settings.text]
unit = "word"
joint = false

[settings.model]
embedding = 16
hidden = 24
key = 16

[settings.train]
epochs = 6
batch_size = 16
lr = 0.01
"""


def workers_are_gone(out: Path) -> bool:
    """Each of them holds the study's lock as long as it lives."""
    import fcntl

    with (out / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.fixture(scope="module")
def file(shared_folder: Path) -> Path:
    """The file of the study, beside its data. It is written once, for all processes of pytest."""
    folder = shared_folder / "study"
    path = folder / "tiny.toml"
    with FileLock(shared_folder / "study-file.lock"):
        if not path.exists():
            write_study(folder)
    return path


def write_study(folder: Path) -> None:
    book = open_bitext("bilderbuch", pairs=300, seed=3)
    for split, count in (("train", 300), ("val", 40), ("test", 60)):
        pairs = [pair for pair, _ in zip(book[split], range(count), strict=False)]
        lines = (f"{pair.source}\t{pair.target}\n" for pair in pairs)
        (folder / "pairs").mkdir(parents=True, exist_ok=True)
        (folder / "pairs" / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "tiny.toml").write_text(TINY.format(data=folder / "pairs"), encoding="utf-8")


@pytest.fixture(scope="module")
def study(file: Path) -> Study:
    return read_study(file)


@pytest.fixture(scope="module")
def finished(
    file: Path, shared_folder: Path, forker: Forker, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """Killed outright in the middle, then started again: where it is, and what it printed."""
    shared, printed = shared_folder / "finished", shared_folder / "finished.json"
    with FileLock(shared_folder / "finished.lock"):
        if not printed.exists():
            printed.write_text(kill_and_finish(forker, file, shared), encoding="utf-8")
    out = tmp_path_factory.mktemp("finished") / "out"
    shutil.copytree(shared, out)
    return out, json.loads(printed.read_text(encoding="utf-8"))


def kill_and_finish(forker: Forker, file: Path, out: Path) -> str:
    options = ("--out", str(out), "--jobs", "2", "--device", "cpu", "--json")
    command = Command(["study", str(file), *options], hang=PATIENCE)
    first = forker.start_command(command, file.parent)
    wait_for("the first epoch", (out / "runs" / "mean" / "seed-1" / "metrics.jsonl").exists)
    first.kill()
    wait_for("the workers to notice", lambda: workers_are_gone(out))
    assert RunDirectory.open(out / "runs" / "mean" / "seed-1").load_state() is not None
    with pytest.raises(
        AugenmerkError, match=r"that has not ended.* use `augenmerk study FILE --out .*finished`"
    ):
        StudyResult.load(out)
    [again] = forker.run(file.parent, command)
    assert again.code == 0, again.err
    return again.out


def test_a_study_that_was_killed_finds_what_one_that_was_not_finds(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path
) -> None:
    out, _ = finished
    planned = study.runs[0]
    config = planned.config.model_dump(exclude_none=True)
    job = Job(str(tmp_path / "run"), config, study.splits, study.beams, study.sentences, "cpu")
    execute(job, lambda **_: None)
    ours, theirs = out / planned.path, tmp_path / "run"
    weights = load_file(ours / "model.safetensors")
    for name, tensor in load_file(theirs / "model.safetensors").items():
        assert torch.equal(weights[name], tensor)
    for path in (theirs / "hypotheses").iterdir():
        assert (ours / "hypotheses" / path.name).read_bytes() == path.read_bytes()
    first, second = (json.loads((place / "probes.json").read_text()) for place in (ours, theirs))
    assert first == second


def test_the_result_is_what_the_runs_say(finished: tuple[Path, dict[str, Any]], study: Study) -> None:
    out, printed = finished
    result = StudyResult.load(out)
    assert printed == json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert StudyResult.from_dict(printed) == result
    assert result.complete
    assert result == collect(study, out)
    references = [pair.target for pair in open_data(study.runs[0].config.data)["test"]]
    for variant, its_tree in zip(result.variants, printed["variants"], strict=True):
        values = {}
        for run in variant.runs:
            directory = RunDirectory.open(out / run.run)
            texts = hypothesis_path(directory, "test", 1).read_text().splitlines()
            values[run.seed] = score_texts(texts, references)["bleu"]
            assert run.state == "finished"
            assert directory.result is not None
            assert run.seconds == directory.result["seconds"]
        bleu = variant.summary("bleu", "test", 1)
        assert bleu is not None
        assert bleu.values == pytest.approx(values)
        assert bleu.mean == pytest.approx(np.mean(list(values.values())))
        assert its_tree["mean"]["bleu"] == bleu.mean
        assert (
            its_tree["variance"]["bleu"]
            == bleu.variance
            == estimate_mean(list(bleu.values.values())).variance
        )
        assert [point.epoch for point in variant.curves[0].points] == [1, 2, 3, 4, 5, 6]
        assert sum(each.sentences for each in variant.by_length) == 60
        assert variant.summary("alignment_error", "test") is None  # these pairs have no gold links
    comparison, of_losses = result.comparisons
    assert (comparison.variant, comparison.against) == ("scaled-dot", "mean")
    assert (comparison.measure, of_losses.measure, of_losses.beam) == ("bleu", "word_loss", None)
    losses = [variant.summary("word_loss", "test") for variant in result.variants]
    assert losses[0] is not None
    assert losses[1] is not None
    for seed in of_losses.seeds:
        difference = losses[1].values[seed.seed] - losses[0].values[seed.seed]
        assert seed.difference == pytest.approx(difference, abs=1e-6)
    assert of_losses.in_words.startswith("The loss per word of scaled-dot is ")
    assert [each.seed for each in comparison.seeds] == [1, 2]
    assert comparison.p_corrected == comparison.p
    means = [variant.summary("bleu", "test", 1) for variant in result.variants]
    assert means[0] is not None
    assert means[1] is not None
    assert comparison.difference == pytest.approx(means[1].mean - means[0].mean)
    assert "2 seeds: a small sample. Only 60 sentences: a small sample." in comparison.in_words


def test_the_result_says_where_it_comes_from(finished: tuple[Path, dict[str, Any]]) -> None:
    provenance = StudyResult.load(finished[0]).provenance
    assert provenance is not None
    assert {each.split: each.sentences for each in provenance.data} == {"train": 300, "val": 40, "test": 60}
    assert provenance.padding is not None
    assert provenance.padding.different_texts == 0
    assert 0 <= provenance.padding.largest_difference < 1e-4
    assert provenance.padding.runs == 4
    assert "all 128 translations are the same" in provenance.padding.in_words
    assert provenance.software["torch"] == torch.__version__
    assert "case:lc" in provenance.signatures["BLEU"]


def test_wider_beams_are_compared_with_the_narrowest(finished: tuple[Path, dict[str, Any]]) -> None:
    out, result = finished[0], StudyResult.load(finished[0])
    assert [(row.variant, row.beam) for row in result.beam_rows] == [
        (variant, beam) for variant in ("mean", "scaled-dot") for beam in (1, 3)
    ]
    for repair in result.beam_repairs:
        better = worse = 0
        for seed in (1, 2):
            folder = out / "runs" / repair.variant / f"seed-{seed}" / "hypotheses"
            texts = [(folder / f"test.beam{beam}.txt").read_text().splitlines() for beam in (1, 3)]
            scores = [
                list(map(float, (folder / f"test.beam{beam}.scores").read_text().split())) for beam in (1, 3)
            ]
            for text, wider_text, score, wider in zip(*texts, *scores, strict=True):
                better += text != wider_text and wider > score + 1e-4
                worse += text != wider_text and wider < score - 1e-4
        assert (repair.better, repair.worse, repair.sentences) == (better, worse, 120)
        assert repair.in_words.startswith(f"{repair.variant} on test: beam 3 ")
        rows = {row.beam: row for row in result.beam_rows if row.variant == repair.variant}
        assert repair.difference == pytest.approx(rows[3].bleu - rows[1].bleu)
        assert rows[3].model_score > rows[1].model_score


def test_what_is_finished_is_left_alone(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished[0], tmp_path / "out")
    counts = count_calls(monkeypatch, measure, "count_bleu")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*")}
    seen: list[bool] = []
    result = run_study(
        study,
        tmp_path / "out",
        jobs=1,
        device="cpu",
        on_progress=lambda statuses: seen.extend(status.already_finished for status in statuses),
    )
    assert seen == [True] * 4
    assert len(counts) == len(study.runs) * len(study.splits) * len(study.beams), "each is counted once"
    assert result == StudyResult.load(finished[0])
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*")}


def test_the_command_prints_a_table_and_what_follows_from_it(
    finished: tuple[Path, dict[str, Any]], file: Path
) -> None:
    answer = CliRunner().invoke(app, ["study", str(file), "--out", str(finished[0]), "--device", "cpu"])
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    bleu = finished[1]["variants"][0]["mean"]["bleu"]
    [row] = [line for line in lines if line.startswith("mean ") and "2/2" in line]
    assert row.split()[1:3] == ["2/2", f"{bleu:.2f}"]
    assert f"- {finished[1]['comparisons'][0]['in_words']}" in lines
    assert finished[1]["beam_repairs"][0]["in_words"] not in answer.stdout
    [verdict] = finished[1]["verdicts"]
    assert verdict["question"] == "Does it matter?"
    assert verdict["answer"] in lines
    further = len(finished[1]["comparisons"]) + len(finished[1]["beam_repairs"]) - 1
    assert f"{further} further comparisons: see the report." in lines
    assert answer.stderr.count("already finished") == 4
    impossible = CliRunner().invoke(app, ["study", str(file), "--jobs", "0", "--out", str(finished[0])])
    assert impossible.exit_code == 2


def test_a_run_that_fails_is_reported_and_the_others_go_on(
    finished: tuple[Path, dict[str, Any]], file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    place = out / "runs" / "mean" / "seed-2"
    (place / "result.json").unlink()
    (place / "state.safetensors").write_bytes(b"rubbish")
    answer = CliRunner().invoke(app, ["study", str(file), "--out", str(out), "--device", "cpu", "--json"])
    assert answer.exit_code == 1
    assert "mean, seed 2: failed:" in answer.stderr
    assert "state.safetensors: damaged" in answer.stderr
    assert "1 of 4 runs failed" in answer.stderr
    result = StudyResult.load(out)
    assert not result.complete
    [failed] = [run for run in result.variants[0].runs if run.state == "failed"]
    assert failed.problem is not None
    assert "damaged" in failed.problem
    assert [[each.seed for each in comparison.seeds] for comparison in result.comparisons] == [[1], [1]]


def cut_model(run: Path) -> None:
    model = run / "model.safetensors"
    model.write_bytes(model.read_bytes()[:1000])


def change_a_weight(run: Path) -> None:
    model = run / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[-5] ^= 1
    model.write_bytes(content)


def write(name: str, text: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        (run / name).write_text(text)

    return damage


def cut(name: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[: len(content) // 2])

    return damage


def change(name: str, key: str, value: object) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        tree = json.loads((run / name).read_text())
        (tree[0] if isinstance(tree, list) else tree)[key] = value
        (run / name).write_text(json.dumps(tree))

    return damage


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (cut_model, "model.safetensors: damaged"),
        (change_a_weight, "model.safetensors: damaged"),
        (lambda run: (run / "model.safetensors").unlink(), "has no model.safetensors"),
        (cut("scores.json"), "scores.json: damaged"),
        (write("scores.json", "[3]"), "scores.json: damaged"),
        (cut("probes.json"), "probes.json: damaged"),
        (write("config.toml", "[model"), "config.toml"),
        (cut("result.json"), "result.json: damaged"),
        (write("result.json", "{}"), "seed-2: damaged"),
        (write("metrics.jsonl", "{"), "metrics.jsonl, line"),
        (cut("tokenizer.source.json"), "tokenizer.source.json is not a tokenizer"),
        (cut("hypotheses/test.beam1.txt"), "seed-2"),
        (cut("hypotheses/test.beam3.scores"), "beam 3 are not those that were scored"),
        (change("scores.json", "bleu", "high"), "seed-2: damaged"),
        (change("scores.json", "loss", None), ""),
        (change("result.json", "seconds", float("inf")), "seed-2: damaged"),
        (change("probes.json", "losses", []), "seed-2: damaged"),
        (change("probes.json", "examples", [{}]), "seed-2: damaged"),
        (change("probes.json", "padding", 3), "seed-2: damaged"),
        (change("probes.json", "hardware", None), "seed-2: damaged"),
    ],
)
def test_a_run_that_was_damaged_fails_by_itself(
    damage: Callable[[Path], None],
    complaint: str,
    finished: tuple[Path, dict[str, Any]],
    study: Study,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    damage(out / "runs" / "mean" / "seed-2")
    result = run_study(study, out, jobs=1, device="cpu", on_progress=lambda _: None)
    states = [[run.state for run in variant.runs] for variant in result.variants]
    if not complaint:  # a figure that is not there is left out, as that of a run whose loss was infinite
        assert states == [["finished"] * 2] * 2
        return
    assert states == [["finished", "failed"], ["finished", "finished"]]
    problem = result.variants[0].runs[1].problem
    assert problem is not None
    assert complaint in problem
    assert problem.endswith(f"Remove {out / 'runs/mean/seed-2'} to have it run again.")
    assert "\n" not in problem
    assert StudyResult.load(out) == result


def test_changed_settings_are_refused(finished: tuple[Path, dict[str, Any]], file: Path) -> None:
    changed = file.with_name("changed.toml")
    changed.write_text(file.read_text().replace("lr = 0.01", "lr = 0.02"))
    with pytest.raises(AugenmerkError, match=r"mean/seed-1 was started with train.lr = 0.01, but the study "):
        check_settings(read_study(changed), finished[0])


def test_a_split_that_is_absent_is_said_before_anything_is_run(file: Path, tmp_path: Path) -> None:
    other = file.with_name("other.toml")
    other.write_text(file.read_text().replace('["test"]', '["test_2016"]'))
    with pytest.raises(AugenmerkError, match="no split called 'test_2016'"):
        run_study(read_study(other), tmp_path / "out", jobs=1, device="cpu", on_progress=lambda _: None)
    assert not (tmp_path / "out").exists()


# Each thing once


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """Calls the function as it is, and counts."""
    calls: list[int] = []
    original = getattr(owner, name)

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_a_worker_loads_its_model_and_data_and_computes_each_loss_once(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished[0] / study.runs[0].path, run)
    probes = json.loads((run / "probes.json").read_text())
    rows = {(row["split"], row["beam"]): row for row in json.loads((run / "scores.json").read_text())}
    for name in ("scores.json", "probes.json"):
        (run / name).unlink()
    shutil.rmtree(run / "hypotheses")
    loads = count_calls(monkeypatch, RunDirectory, "load_model")
    files = count_calls(monkeypatch, augenmerk.base.arrays, "safe_open")
    opened = count_calls(monkeypatch, augenmerk.evaluation.evaluator, "open_data")
    losses = count_calls(monkeypatch, augenmerk.evaluation.evaluator, "sentence_losses")
    events: list[Event] = []
    config = study.runs[0].config.model_dump(exclude_none=True)
    job = Job(str(run), config, ["test", "val"], [1, 3], [], "cpu")
    execute(job, lambda **fields: events.append(Event(job.run, **fields)))
    assert (len(loads), len(files), len(opened), len(losses)) == (1, 1, 1, 2)  # a loss for each split
    again = json.loads((run / "scores.json").read_text())
    assert {(row["split"], row["beam"]) for row in again} == {(s, b) for s in ("test", "val") for b in (1, 3)}
    for row in again:
        if row["split"] == "test":
            assert (row["bleu"], row["loss"]) == (rows["test", row["beam"]]["bleu"], rows["test", 1]["loss"])
    assert json.loads((run / "probes.json").read_text())["losses"]["test"] == probes["losses"]["test"]
    assert {event.phase for event in events} == {"starting", "translating", "probing"}
    execute(job, lambda **_: None)
    assert len(loads) == 1  # nothing was missing


# Where jobs run


def test_jobs_are_distributed_over_all_gpus() -> None:
    assert list_devices("cuda", 3) == ["cuda:0", "cuda:1", "cuda:2"]
    assert list_devices("cuda:1", 3) == ["cuda:1"]
    assert list_devices("cpu", 3) == ["cpu"]


def test_several_gpus_have_a_job_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (augenmerk.base.device, runner):
        monkeypatch.setattr(module, "count_cores", lambda: 3)
    assert default_jobs("cuda", 8) == 8
    assert default_jobs("cuda", 1) == default_jobs("cuda:1", 8) == default_jobs("cpu", 8) == 3
    for module in (augenmerk.base.device, runner):
        monkeypatch.setattr(module, "count_cores", lambda: 64)
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert default_jobs("cpu", 0) == 4
    assert [threads_each(jobs) for jobs in (1, 4, 100)] == [64, 16, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_each(1) == 1


class ScriptedExecutor:
    """Ends the job that was submitted first whenever it is asked for events; `interrupt` presses Ctrl-C."""

    def __init__(self, interrupt: bool = False) -> None:
        self.submitted: list[Job] = []
        self.stopped: list[str] = []
        self.most = 0
        self._running: list[str] = []
        self._interrupt = interrupt

    def submit(self, job: Job) -> None:
        self.submitted.append(job)
        self._running.append(job.run)
        self.most = max(self.most, len(self._running))

    def events(self, timeout: float) -> Iterator[Event]:  # noqa: ARG002
        if self._interrupt and not self.stopped:
            raise KeyboardInterrupt
        run = self._running.pop(0)
        yield Event(run, "training", progress=0.5, epoch=3, loss=1.5)
        yield Event(run, "stopped" if run in self.stopped else "finished")

    def stop(self, job: Job) -> None:
        self.stopped.append(job.run)


def planned_jobs(study: Study) -> tuple[list[Job], dict[str, RunStatus]]:
    statuses = {str(planned.path): RunStatus(planned) for planned in study.runs}
    return [Job(run, {}, [], [], [], "cuda") for run in statuses], statuses


def test_any_executor_can_run_the_jobs(study: Study) -> None:
    executor = ScriptedExecutor()
    jobs, statuses = planned_jobs(study)
    seen: list[list[str]] = []

    def on_progress(runs: Sequence[RunStatus]) -> None:
        seen.append([run.state for run in runs])

    run_jobs(executor, jobs, 3, list_devices("cuda", 2), statuses, on_progress)
    assert executor.most == 3
    assert [job.device for job in executor.submitted] == ["cuda:0", "cuda:1", "cuda:0", "cuda:0"]
    assert seen[0] == ["queued", "queued", "queued", "waiting"]
    assert seen[-1] == ["finished"] * 4
    assert {(status.epoch, status.loss) for status in statuses.values()} == {(3, 1.5)}


def test_an_interrupted_study_stops_its_jobs_and_waits_for_them(study: Study) -> None:
    executor = ScriptedExecutor(interrupt=True)
    jobs, statuses = planned_jobs(study)
    with pytest.raises(StudyInterrupted):
        run_jobs(executor, jobs, 2, ["cpu"], statuses, lambda _: None)
    assert executor.stopped == [job.run for job in jobs[:2]]
    assert [status.state for status in statuses.values()] == ["stopped"] * 2 + ["waiting"] * 2


class LosingExecutor(ScriptedExecutor):
    """Loses every job that is submitted, after as much of the training as `progress` says."""

    def __init__(self, *progress: float) -> None:
        super().__init__()
        self._progress = list(progress)

    def events(self, timeout: float) -> Iterator[Event]:
        if not self._progress:
            yield from super().events(timeout)
            return
        run = self._running.pop(0)
        yield Event(run, "training", progress=self._progress.pop(0), host="node1")
        yield Event(run, "lost", problem="The machine is gone.")


def test_a_job_that_is_lost_is_submitted_again_and_fails_if_it_gets_no_further(study: Study) -> None:
    [job, *_], statuses = planned_jobs(study)
    status = statuses[job.run]
    for progress, submitted, state in (
        ((0.2, 0.1, 0.2, 0.2), 4, "failed"),
        ((0.2, 0.1, 0.2), 4, "finished"),
        ((0.2, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3), 7, "failed"),
    ):
        statuses[job.run] = status = RunStatus(status.planned)
        executor = LosingExecutor(*progress)
        run_jobs(executor, [job], 1, ["cpu"], statuses, lambda _: None, restarts=3)
        assert (len(executor.submitted), status.state, status.host) == (submitted, state, "node1")
        problem = "The machine is gone. It was lost 4 times at this point."
        assert status.problem == (problem if state == "failed" else None)


# Words for what is not there, not alike, or the same


def without(finished: Path, out: Path, *runs: str) -> Path:
    shutil.copytree(finished, out)
    for run in runs:
        shutil.rmtree(out / "runs" / run)
    return out


def test_runs_that_do_not_exist_yet(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path
) -> None:
    nothing = collect(study, tmp_path / "nothing")
    assert [run.state for variant in nothing.variants for run in variant.runs] == ["missing"] * 4
    assert nothing.comparisons == ()
    assert nothing.provenance is None
    assert nothing.remarks[0] == "4 of 4 runs are not finished: numbers may still change."
    assert StudyResult.from_dict(nothing.to_dict()) == nothing
    one = collect(study, without(finished[0], tmp_path / "one", "mean/seed-1", "mean/seed-2"))
    assert one.comparisons == ()
    assert "No run of mean is finished yet: it is left out of the comparisons." in one.remarks
    assert one.variants[0].remarks == ("no run is finished yet",)
    assert one.variants[1].remarks == ("2 runs: a small sample",)


def test_one_variant_is_said_to_be_alone_unless_its_beams_are_compared(study: Study, tmp_path: Path) -> None:
    alone = "There is one variant: nothing is compared with it."
    one = replace(study, variants=study.variants[:1], contrasts=(), runs=study.runs[:: len(study.variants)])
    assert alone not in collect(one, tmp_path).remarks
    assert alone in collect(replace(one, beams=(1,)), tmp_path).remarks


def test_unequal_seeds_and_a_single_run(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path
) -> None:
    unequal = collect(study, without(finished[0], tmp_path / "unequal", "mean/seed-2"))
    assert (
        "scaled-dot has 2 finished runs and mean has 1 finished run: they are compared on seed 1, which all "
        "of them have."
    ) in unequal.remarks
    assert "mean has 1 finished run: there is no variance, and no interval over seeds." in unequal.remarks
    bleu = unequal.variants[0].summary("bleu", "test", 1)
    assert bleu is not None
    assert (bleu.variance, bleu.interval) == (None, None)
    comparison, _ = unequal.comparisons
    assert comparison.interval_covers == "sentences"
    assert comparison.seed_deviation is None
    assert "One run of each: this says nothing about other seeds." in comparison.in_words
    apart = collect(study, without(finished[0], tmp_path / "apart", "mean/seed-2", "scaled-dot/seed-1"))
    assert apart.comparisons == ()
    assert "scaled-dot and mean cannot be compared: no seed has a finished run of each." in apart.remarks


def test_systems_that_translate_alike(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path
) -> None:
    out = without(finished[0], tmp_path / "same")
    for seed in (1, 2):
        ours, theirs = (out / "runs" / name / f"seed-{seed}" for name in ("scaled-dot", "mean"))
        for name in ("hypotheses", "scores.json"):
            source = theirs / name
            if source.is_dir():
                shutil.copytree(source, ours / name, dirs_exist_ok=True)
            else:
                shutil.copy(source, ours / name)
    comparison, _ = collect(study, out).comparisons
    assert (comparison.difference, comparison.p, comparison.interval) == (0, 1, (0, 0))
    assert comparison.in_words == (
        "scaled-dot and mean have the same BLEU on test with greedy search whatever sentences are drawn: "
        "no difference."
    )


def test_hypotheses_that_are_not_those_scored_do_not_count(
    finished: tuple[Path, dict[str, Any]], study: Study, tmp_path: Path
) -> None:
    out = without(finished[0], tmp_path / "changed")
    path = out / "runs" / "mean" / "seed-1" / "hypotheses" / "test.beam1.txt"
    path.write_text("The dog.\n" * 60)
    result = collect(study, out)
    assert [run.state for run in result.variants[0].runs] == ["failed", "finished"]
    assert "are not those that were scored" in str(result.variants[0].runs[0].problem)
    assert [each.seed for each in result.comparisons[0].seeds] == [2]


# The same seed


def test_under_one_seed_variants_share_weights_and_order(file: Path, tmp_path: Path) -> None:
    """Trained for real, but at a rate at which nothing moves: the weights kept are the initial ones."""
    path = file.with_name("paired.toml")
    text = file.read_text().replace('["mean", "scaled-dot"]', json.dumps(CLASSIC))
    text = text.replace(
        "[settings.data]", '[settings.data]\ntrain = "test"'
    )  # the order of 60 pairs is enough
    path.write_text(text.replace("epochs = 6", "epochs = 1\nbleu = false").replace("lr = 0.01", "lr = 1e-20"))
    study = read_study(path)
    shared: dict[int, Arrays] = {}
    plans: dict[int, list[list[int]]] = {}
    for planned in study.runs[: len(CLASSIC) + 1]:  # all with the first seed, one with the second
        run = start(planned.config, tmp_path / planned.path)
        train(run, CPU, Silent())
        weights = {name: w for name, w in run.load_model().items() if not name.startswith("attention.")}
        assert any(name.startswith("W_o") for name in weights)
        tokens = TextData(open_data(planned.config.data), run.tokenizers, planned.config, CPU).read_window(0)
        plan = [
            batch.indices.tolist() for batch in tokens.batches(tokens.plan(16, seed=planned.seed, epoch=0))
        ]
        first = shared.setdefault(planned.seed, weights)
        assert plans.setdefault(planned.seed, plan) == plan
        assert weights.keys() == first.keys()
        for name in weights:
            np.testing.assert_allclose(weights[name], first[name], rtol=0, atol=1e-12)
    assert plans[1] != plans[2]
    assert not np.array_equal(shared[1]["W_z.weight"], shared[2]["W_z.weight"])


@pytest.mark.parametrize("with_flock", [True, False])
def test_two_studies_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_flock: bool) -> None:
    """Without flock, as on Windows, another lock takes its place."""
    monkeypatch.setattr(runner, "LOCK_TIMEOUT", 0.0)
    monkeypatch.setattr(augenmerk.base.files, "HAS_FLOCK", with_flock)
    folder = tmp_path / "study"
    with runner._lock(folder) as handles:
        assert len(handles) == 2 * with_flock
        assert is_running(folder)
        with pytest.raises(AugenmerkError, match="Another study is at work"), runner._lock(folder):
            pass
    assert not is_running(folder)
    with runner._lock(folder):
        pass
