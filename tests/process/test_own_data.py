"""A person's own pairs: what training says about them, more epochs, and fine-tuning."""

import hashlib
import json
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from augenmerk import AugenmerkError
from augenmerk.base.config import RunConfig, load_config
from augenmerk.data import open_bitext
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run
from augenmerk.model.interface import build_model
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.training.loop import TrainingInterrupted, train
from augenmerk.training.start import change_epochs, describe_direction, fit_to_data, start
from tests.support.command import Answer, fails_with_a_sentence, run_command, run_json
from tests.support.processes import Forker
from tests.support.runs import CPU, SharedRuns, Silent, tiny


class Listening(Silent):
    """A reporter that remembers what the run learns from."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}

    def begin(self, data: Mapping[str, Any]) -> None:
        self.data = dict(data)


SMALL = tuple(
    f"--set={setting}"
    for setting in ("model.embedding=16", "model.hidden=16", "model.key=16", "text.vocabulary_size=400")
)


def train_command(*arguments: object) -> Answer:
    return run_command("train", *arguments, "--device", "cpu", "--set", "train.bleu=false")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of 200 pairs as a person would have them."""
    path = tmp_path / "pairs.tsv"
    pairs = list(open_bitext("bilderbuch", pairs=200, seed=5)["train"])
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


class TestCase:
    def test_presets_keep_the_case_of_own_pairs(self) -> None:
        for preset in ("classic", "quick", "strong"):
            assert load_config(preset).text.lowercase
            assert load_config(preset, ["data.bitext=bilderbuch"]).text.lowercase
            assert not load_config(preset, ["data.bitext=pairs.tsv"]).text.lowercase
            assert load_config(preset, ["data.bitext=pairs.tsv", "text.lowercase = true"]).text.lowercase

    def test_a_file_of_settings_is_taken_at_its_word(self, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text('[data]\nbitext = "a.tsv"\n[text]\nlowercase = true\n')
        assert load_config(str(tmp_path / "mine.toml")).text.lowercase


class TestWhatTrainingSays:
    def test_pairs_vocabulary_and_case(self, own: Path, tmp_path: Path) -> None:
        with own.open("ab") as file:
            file.write(b"\xff\tbroken\n\nno tab\n" + b"Wort " * 300 + b"\tword\n")
        training = ("quick", "--data", own, *SMALL, "--epochs", 1, "--set", "train.select_by=loss")
        refused = train_command(*training, "--out", tmp_path / "a")
        assert refused.code == 2
        assert "pairs.tsv, line 201: not UTF-8" in refused.err
        assert "augenmerk data check" in refused.err
        assert not (tmp_path / "a").exists()
        answer = train_command(*training, "--out", tmp_path / "b", "--skip-bad", "--json")
        assert answer.code == 0, answer.err
        assert "3 bad lines skipped: 1 empty, 1 malformed, 1 not UTF-8" in answer.err
        assert "180 training pairs, 1 left out that have more than 200 tokens on a side; 10 for" in answer.err
        assert "vocabulary: 400 subwords for both languages, case kept" in answer.err
        data = json.loads(answer.out)["data"]
        assert (data["training_pairs"], data["too_long"], data["validation_pairs"]) == (180, 1, 10)
        assert data["skipped_lines"] == {"empty": 1, "malformed": 1, "not UTF-8": 1}
        run = RunDirectory.open(tmp_path / "b")
        assert run.config.data.skip_bad
        [row] = evaluate_run(Evaluator(run, CPU), ["test"], [1])
        assert row["loss"] > 0

    def test_words_that_the_vocabulary_lacks(self, tmp_path: Path) -> None:
        reporter = Listening()
        train(start(tiny(text__minimum_frequency=3, train__epochs=1), tmp_path / "run"), CPU, reporter)
        assert 0.02 < reporter.data["unknown_source"] < 0.5
        assert reporter.data["source_vocabulary"] != reporter.data["target_vocabulary"]
        assert not reporter.data["joint"]

    def test_nothing_left_to_train_on(self, tmp_path: Path) -> None:
        run = start(tiny(data__max_length=1), tmp_path / "run")
        with pytest.raises(AugenmerkError, match="each of the 300 pairs has more than 1 tokens"):
            train(run, CPU, Silent())


class TestWarmUp:
    """A preset's warm-up takes at most a fifth of the steps that a person's own pairs give."""

    def test_it_is_shortened_recorded_and_said(self, own: Path, tmp_path: Path) -> None:
        run = tmp_path / "run"
        training = ("quick", "--data", own, *SMALL, "--set", "train.select_by=loss", "--epochs", 5)
        answer = train_command(*training, "--out", run)
        assert answer.code == 0, answer.err
        # 180 pairs in batches of 64 are 3 steps an epoch.
        assert "warm-up: 3 steps instead of 200, a fifth of all steps" in answer.err
        assert RunDirectory.open(run).config.train.warmup == 3
        assert "There are 15 steps in all: the model will learn little." in answer.err
        assert "Try more --epochs and --set train.batch_size=16." in " ".join(answer.err.split())
        resumed = train_command(*training, "--out", run, "--resume")
        assert "is finished" in resumed.err, "the same command names the same run"

    def test_no_advice_that_was_already_taken(self, own: Path, tmp_path: Path) -> None:
        settings = ("--set", "train.select_by=loss", "--set", "train.batch_size=16")
        training = ("quick", "--data", own, *SMALL, *settings, "--epochs", 1)
        said = " ".join(train_command(*training, "--out", tmp_path / "run").err.split())
        assert "the model will learn little. Try more --epochs." in said
        assert "--set train.batch_size" not in said

    def test_fine_tuning_too(self, shared_runs: SharedRuns, own: Path, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(train__warmup=30), tmp_path / "parent")
        tuning = ("--from", parent.path, "--data", own, "--epochs", 1)
        answer = train_command(*tuning, "--out", tmp_path / "tuned")
        assert answer.code == 0, answer.err
        assert "warm-up: 2 steps instead of 30, a fifth of all steps" in answer.err
        assert RunDirectory.open(tmp_path / "tuned").config.train.warmup == 2

    def test_what_a_person_says_stays(self, shared_runs: SharedRuns, own: Path, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(train__warmup=30), tmp_path / "parent")
        tuning = ("--from", parent.path, "--data", own, "--epochs", 1, "--set", " train.warmup = 30")
        answer = train_command(*tuning, "--out", tmp_path / "run")
        assert RunDirectory.open(tmp_path / "run").config.train.warmup == 30, answer.err

    def test_a_file_of_settings_is_taken_at_its_word(self, own: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text(tiny(train__warmup=30, train__epochs=1).to_toml())
        answer = train_command(tmp_path / "mine.toml", "--data", own, "--out", tmp_path / "run")
        assert RunDirectory.open(tmp_path / "run").config.train.warmup == 30, answer.err
        assert "rises during the first 30" in answer.err

    def test_it_is_never_longer_nor_changed_for_data_with_a_name(self, own: Path) -> None:
        def shortened(**changes: object) -> int:
            config = tiny(train__epochs=2, train__batch_size=30, **changes)
            return fit_to_data(config.leaving_open({"train.warmup"})).train.warmup

        # 180 pairs in batches of 30, twice, are 12 steps.
        assert shortened(data__bitext=str(own), train__warmup=2) == 2
        assert shortened(data__bitext=str(own), train__warmup=3) == 2
        assert shortened(data__bitext=str(own), train__warmup=3, train__accumulate=4) == 0
        assert shortened(data__bitext="bilderbuch", train__warmup=1000) == 1000
        assert fit_to_data(tiny(data__bitext=str(own), train__warmup=1000)).train.warmup == 1000


def same_tensors(some: Path, others: Path, name: str) -> bool:
    first, second = load_file(some / name), load_file(others / name)
    return first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)


class TestMoreEpochs:
    def test_two_epochs_and_one_more_are_three(self, shared_runs: SharedRuns, tmp_path: Path) -> None:
        longer = shared_runs.copy(tiny(), tmp_path / "longer")
        whole = shared_runs.copy(tiny(train__epochs=3), tmp_path / "whole")
        answer = run_command("train", "--resume", "--out", longer.path, "--epochs", 3, "--device", "cpu")
        assert answer.code == 0, answer.err
        assert "The run continues from epoch 2 to epoch 3, instead of 2.\n" in answer.err
        assert "The result will be that of a run that began with 3 epochs.\n" in answer.err
        assert "best epoch 3 of 3 (lowest loss), validation loss" in answer.out
        for name in ("model.safetensors", "state.safetensors"):
            assert same_tensors(longer.path, whole.path, name)
        assert RunDirectory.open(longer.path).config == whole.config
        assert (longer.path / "config.toml").read_text() == (whole.path / "config.toml").read_text()
        assert [row["validation_loss"] for row in RunDirectory.open(longer.path).read_metrics()] == [
            row["validation_loss"] for row in whole.read_metrics()
        ]

    def test_a_cosine_says_that_it_rises_again(self, shared_runs: SharedRuns, tmp_path: Path) -> None:
        run = shared_runs.copy(tiny(train__schedule="cosine"), tmp_path / "run")
        longer, about = change_epochs(run, 4)
        assert "is now 0.005, so the result will not be that" in about  # half of 0.01, halfway
        result = train(longer, CPU, Silent())
        assert result["epochs"] == 4

    def test_scores_of_fewer_epochs_are_removed(self, shared_runs: SharedRuns, tmp_path: Path) -> None:
        run = shared_runs.copy(tiny(), tmp_path / "run")
        evaluate_run(Evaluator(run, CPU), ["val"])
        longer, about = change_epochs(run, 3)
        assert "Its scores will be removed" in about
        assert longer.finished, "nothing is written before the data was read"
        train(longer, CPU, Silent())
        assert longer.read_scores() == []

    @pytest.mark.parametrize("loss", ["folder", "empty validation", "state", "disk"])
    def test_what_cannot_go_on_loses_nothing(
        self, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str
    ) -> None:
        run = start(tiny(data__bitext=str(own), train__epochs=1), tmp_path / "run")
        train(run, CPU, Silent())
        evaluate_run(Evaluator(run, CPU), ["val"])
        before = {
            name: (run.path / name).read_bytes() for name in ("config.toml", "result.json", "scores.json")
        }
        if loss == "folder":
            own.rename(tmp_path / "moved")
        elif loss == "empty validation":
            lines = own.read_text(encoding="utf-8").splitlines()
            own.write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
        elif loss == "state":
            (run.path / "state.safetensors").write_bytes(b"damaged")
        else:
            import augenmerk.run.directory

            def full(_path: Path) -> None:
                raise OSError(28, "No space left on device")

            monkeypatch.setattr(augenmerk.run.directory, "fsync_path", full)
        answer = run_command("train", "--resume", "--out", run.path, "--epochs", 2, "--device", "cpu")
        assert answer.code == 2, answer.err
        assert "Traceback" not in answer.err
        assert {name: (run.path / name).read_bytes() for name in before} == before
        Evaluator(RunDirectory.open(run.path), CPU)

    @pytest.mark.parametrize(
        "function", ["augenmerk.run.directory.write_object", "augenmerk.run.directory.replacing"]
    )
    def test_killed_in_between_it_can_be_opened(
        self, shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
    ) -> None:
        run = shared_runs.copy(tiny(), tmp_path / "run")

        def die(*_arguments: Any, **_options: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(function, die)
        with pytest.raises(KeyboardInterrupt):
            change_epochs(run, 3)[0].write_changes()
        monkeypatch.undo()
        found = RunDirectory.open(run.path)
        assert found.config.train.epochs == 2
        assert found.load_state() is not None
        found.load_model()
        assert train(change_epochs(found, 3)[0], CPU, Silent())["epochs"] == 3

    def test_what_cannot_be_continued(self, shared_runs: SharedRuns, tmp_path: Path) -> None:
        run = shared_runs.copy(tiny(), tmp_path / "run")
        resume = ("train", "--resume", "--out", run.path, "--device", "cpu")
        assert "unless --epochs asks for more than its 2" in fails_with_a_sentence(*resume)
        assert "--epochs is their total" in fails_with_a_sentence(*resume, "--epochs", 1)
        with pytest.raises(AugenmerkError, match=r"'train\.epochs'"):
            change_epochs(run, 1_000_000)
        assert RunDirectory.open(run.path).finished, "nothing is lost by a mistake"
        (run.path / "state.safetensors").unlink()
        assert f"augenmerk train --from {run.path}" in fails_with_a_sentence(*resume, "--epochs", 3)

    def test_a_run_that_patience_ended(self, tmp_path: Path) -> None:
        run = start(tiny(train__lr=1e-12, train__patience=1, train__epochs=20), tmp_path / "run")
        train(run, CPU, Silent())
        with pytest.raises(AugenmerkError, match=r"1 epochs brought no improvement .*--from"):
            change_epochs(run, 30)


class TestMovedPairs:
    def test_the_same_pairs_elsewhere_and_no_others(self, own: Path, tmp_path: Path) -> None:
        run = start(tiny(data__bitext=str(own), train__epochs=1), tmp_path / "run")
        train(run, CPU, Silent())
        resume = ("train", "--resume", "--out", run.path, "--epochs", 2, "--device", "cpu")
        copied = shutil.copy(own, tmp_path / "copied.tsv")
        kept = fails_with_a_sentence(*resume, "--data", copied)
        assert (
            f"leave out --data, or begin a new run with its weights: augenmerk train --from {run.path}"
            in kept
        )
        own.rename(tmp_path / "moved.tsv")
        assert "say where it is now: --data PATH." in fails_with_a_sentence(*resume)
        lines = (tmp_path / "moved.tsv").read_text(encoding="utf-8").splitlines()
        (tmp_path / "other.tsv").write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
        settings = (run.path / "config.toml").read_bytes()
        other = run_command(*resume, "--data", tmp_path / "other.tsv")
        assert other.code == 2
        assert "is not what" in other.err
        assert (run.path / "config.toml").read_bytes() == settings
        assert run.finished
        answer = run_command(*resume, "--data", tmp_path / "moved.tsv")
        assert answer.code == 0, answer.err
        assert RunDirectory.open(run.path).config.data.bitext == str(tmp_path / "moved.tsv")
        [row] = run_json("evaluate", run.path, "--device", "cpu")
        assert row["split"] == "val"


class TestFineTuning:
    def test_it_begins_where_the_other_run_ended(
        self, shared_runs: SharedRuns, own: Path, tmp_path: Path
    ) -> None:
        parent = shared_runs.copy(tiny(), tmp_path / "parent")
        config = tiny(data__bitext=str(own), train__initial_run=str(parent.path), train__epochs=1)
        run, reporter = start(config, tmp_path / "tuned"), Listening()
        assert run.tokenizers.source.to_json() == parent.tokenizers.source.to_json()
        result = train(run, CPU, reporter)
        # The old run, measured by `evaluate` on the same pairs.
        moved = shutil.copytree(parent.path, tmp_path / "moved")
        settings = parent.config.model_dump(exclude_none=True)
        settings["data"]["bitext"] = str(own)
        (moved / "config.toml").write_text(RunConfig.model_validate(settings).to_toml())
        [row] = evaluate_run(Evaluator(RunDirectory.open(moved, accept_changes=True), CPU), ["val"])
        begun = reporter.data["initial"]
        assert begun["validation_loss"] == pytest.approx(row["loss"], abs=1e-6)
        assert begun["sha256"] == parent.model_digest
        assert begun["run"] == str(parent.path)
        assert result["data"]["initial"] == begun
        assert result["validation_loss"] < begun["validation_loss"]
        assert reporter.data["unknown_source"] > 0

    def test_the_wrong_direction_is_noticed(self, shared_runs: SharedRuns, own: Path, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(), tmp_path / "parent")
        config = tiny(data__bitext=str(own))
        assert describe_direction(parent, config) == []
        rows = [line.split("\t") for line in own.read_text(encoding="utf-8").splitlines()]
        own.write_text("".join(f"{english}\t{german}\n" for german, english in rows), encoding="utf-8")
        [warning] = describe_direction(parent, config)
        assert "The direction looks wrong: of the first 180 training pairs, 180 have a source" in warning
        answer = train_command("--from", parent.path, "--data", own, "--out", tmp_path / "a", "--epochs", 1)
        assert (answer.code, answer.err.count("The direction looks wrong")) == (0, 1)
        # Neither side is like what the run learnt from.
        own.write_text("".join(f"{english}\t{english}\n" for _, english in rows), encoding="utf-8")
        assert describe_direction(parent, config) == []
        (parent.path / "familiarity.json").unlink()
        assert describe_direction(parent, config) == []

    def test_what_becomes_worse_is_said(self, shared_runs: SharedRuns, own: Path, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(), tmp_path / "parent")
        tuning = ("--from", parent.path, "--epochs", 1, "--data", own)
        worse = train_command(*tuning, "--set", "train.lr=5", "--out", tmp_path / "worse")
        better = train_command(*tuning, "--out", tmp_path / "better")
        assert (worse.code, better.code) == (0, 0)
        said = "The weights that it began with were better. Try a smaller train.lr."
        assert (said in worse.err, said in better.err) == (True, False)

    def test_without_a_step_the_weights_are_the_same(self, shared_runs: SharedRuns, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(train__ema=0.9), tmp_path / "parent")
        answer = train_command(
            *("--from", parent.path, "--out", tmp_path / "tuned", "--epochs", 1),
            *("--set", "train.lr=1e-12", "--set", "train.ema=0", "--set", "train.optimizer=adamw"),
        )
        assert answer.code == 0, answer.err
        assert f"begins with the weights of {parent.path}" in answer.err
        before, after = parent.load_model(), RunDirectory.open(tmp_path / "tuned").load_model()
        assert all(np.allclose(before[name], after[name], atol=1e-8) for name in before)

    def test_killed_and_resumed_without_the_other_run(
        self, shared_runs: SharedRuns, own: Path, tmp_path: Path
    ) -> None:
        parent = shared_runs.copy(tiny(), tmp_path / "parent")
        config = tiny(data__bitext=str(own), train__initial_run=str(parent.path))
        runs = [start(config, tmp_path / name) for name in ("first", "second")]
        train(runs[0], CPU, Silent())
        shutil.rmtree(parent.path)
        train(RunDirectory.open(runs[1].path), CPU, Silent())
        assert same_tensors(runs[0].path, runs[1].path, "state.safetensors")
        (runs[1].path / "initial.safetensors").unlink()
        with pytest.raises(AugenmerkError, match=r"initial\.safetensors: there is no such file"):
            train(RunDirectory.open(runs[1].path), CPU, Silent())

    def test_another_model_is_refused(self, shared_runs: SharedRuns, own: Path, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(), tmp_path / "parent")
        tune = ("train", "--from", parent.path, "--data", own, "--out", tmp_path / "tuned")
        for setting, there in (
            ("model.hidden=32", "model.hidden = 24"),
            ("model.attention=mean", "model.attention = scaled-dot"),
            ("text.lowercase=false", "text.lowercase = true"),
            ("model.transformer.feed_forward=64", "model.transformer.feed_forward = 1024"),
        ):
            assert there in fails_with_a_sentence(*tune, "--set", setting)
        assert "text.unit = word" in fails_with_a_sentence(*tune[:1], "quick", *tune[1:])
        assert "one of them" in fails_with_a_sentence(*tune, "--resume")
        assert not (tmp_path / "tuned").exists()

    def test_a_preset_keeps_the_vocabulary(self, own: Path, tmp_path: Path) -> None:
        own.write_text("".join(own.read_text(encoding="utf-8").splitlines(True)[:20]), encoding="utf-8")
        config = load_config("classic", ["data.bitext=bilderbuch", "data.bilderbuch.pairs=60"])
        parent = start(config, tmp_path / "parent")
        sizes = parent.tokenizers.source.size, parent.tokenizers.target.size
        parent.save_model(build_model(config.model, *sizes).state_dict(), {})
        answer = train_command(
            *("classic", "--from", parent.path, "--data", own, "--out", tmp_path / "tuned", "--epochs", 1)
        )
        assert answer.code == 0, answer.err
        assert RunDirectory.open(tmp_path / "tuned").config.text == config.text
        assert "lowercased; unknown: " in answer.err

    def test_a_damaged_run_is_refused(self, shared_runs: SharedRuns, own: Path, tmp_path: Path) -> None:
        parent = shared_runs.copy(tiny(), tmp_path / "parent")
        tune = ("train", "--from", parent.path, "--data", own, "--out", tmp_path / "tuned")
        content = bytearray(parent.model_path.read_bytes())
        content[-5] ^= 1
        parent.model_path.write_bytes(content)
        assert "model.safetensors" in fails_with_a_sentence(*tune)
        parent.model_path.unlink()
        assert "model.safetensors" in fails_with_a_sentence(*tune)
        assert "no such run" in fails_with_a_sentence("train", "--from", tmp_path / "nowhere")
        assert not (tmp_path / "tuned").exists()
        assert not list(tmp_path.glob(".*")), "nothing half made is left"

    def test_the_shipped_model_goes_by_its_name(self, own: Path, tmp_path: Path) -> None:
        own.write_text("".join(own.read_text(encoding="utf-8").splitlines(True)[:20]), encoding="utf-8")
        answer = train_command(
            *("--from", BUNDLED_MODEL.name, "--data", own, "--out", tmp_path / "tuned", "--epochs", 1),
            *("--set", "train.select_by=loss"),
        )
        assert answer.code == 0, answer.err
        assert RunDirectory.open(tmp_path / "tuned").config.train.initial_run == str(BUNDLED_MODEL)


def spoil(path: Path, change: str) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    changed = {
        "a word": [lines[0].replace("e", "i", 1), *lines[1:]],
        "a line less": lines[1:],
        "the order": lines[::-1],
    }[change]
    assert changed != lines
    path.write_text("\n".join(changed) + "\n", encoding="utf-8")


class StopAfterEpoch(Silent):
    """A reporter that stops training after an epoch, as Ctrl-C does."""

    def epoch(self, metrics: Mapping[str, Any]) -> None:  # noqa: ARG002
        signal.raise_signal(signal.SIGINT)


class TestChangedPairs:
    """A run continues on the pairs that it was begun with, or not at all."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write_splits(tmp_path / "pairs")
        return tmp_path / "pairs"

    @pytest.mark.parametrize(
        ("name", "change"),
        [("train.de", "a word"), ("val.en", "a word"), ("train.de", "a line less"), ("val.de", "the order")],
    )
    def test_a_run_that_was_interrupted(self, folder: Path, tmp_path: Path, name: str, change: str) -> None:
        run = start(tiny(data__bitext=str(folder)), tmp_path / "run")
        with pytest.raises(TrainingInterrupted):
            train(run, CPU, StopAfterEpoch())
        before = digests(run.path)
        split = name.partition(".")[0]
        for side in ("de", "en") if change != "a word" else (name.partition(".")[2],):
            spoil(folder / f"{split}.{side}", change)
        answer = run_command("train", "--resume", "--out", run.path, "--device", "cpu")
        assert answer.code == 2
        count = {"train": 90, "val": 30}[split]
        now = count - 1 if change == "a line less" else count
        assert answer.err.strip().splitlines()[-1] == (
            f"augenmerk: Split '{split}' of {folder} ({folder / split}.de and {folder / split}.en) is not "
            f"what {run.path} was started with: its {now} pairs are not the {count} of then; "
            f"restore it to resume the run, or train on it with the weights of this run: augenmerk train "
            f"--from {run.path} --data {folder}."
        )
        assert digests(run.path) == before
        answer = run_command(
            *("train", "--from", run.path, "--data", folder, "--epochs", 1, "--out", tmp_path / "tuned"),
            *("--device", "cpu"),
        )
        assert answer.code == 0, answer.err
        write_splits(folder)
        assert train(RunDirectory.open(run.path), CPU, Silent())["epochs"] == 2

    def test_a_run_without_a_step_has_its_vocabulary_of_them(self, folder: Path, tmp_path: Path) -> None:
        run = start(tiny(data__bitext=str(folder)), tmp_path / "run")
        spoil(folder / "train.de", "a word")
        with pytest.raises(AugenmerkError, match=r"Split 'train' of .* or begin another run\.$"):
            train(run, CPU, Silent())
        assert run.load_state() is None
        write_splits(folder)
        spoil(folder / "val.en", "a word")
        train(run, CPU, Silent())  # nothing was made of these before

    def test_killed_before_anything_was_saved(self, folder: Path, tmp_path: Path, forker: Forker) -> None:
        run = start(tiny(data__bitext=str(folder)), tmp_path / "run")
        process = forker.start("train_until", run.path, 1)
        process.wait()
        whole = forker.start("train_until", start(run.config, tmp_path / "whole").path)
        whole.wait()
        [calls] = map(int, whole.said())
        assert calls > 100
        process = forker.start("train_until", run.path, calls // 2)
        process.wait()
        assert not run.finished
        spoil(folder / "val.de", "the order")
        with pytest.raises(AugenmerkError, match=r"Split 'val' of .* its 30 pairs are not the 30 of then"):
            train(run, CPU, Silent())

    def test_more_epochs(self, folder: Path, tmp_path: Path) -> None:
        run = start(tiny(data__bitext=str(folder)), tmp_path / "run")
        train(run, CPU, Silent())
        before = digests(run.path)
        spoil(folder / "val.en", "a word")
        answer = run_command("train", "--resume", "--out", run.path, "--epochs", 3, "--device", "cpu")
        assert (answer.code, "Split 'val'" in answer.err) == (2, True), answer.err
        assert digests(run.path) == before

    def test_between_two_epochs_that_read_them(self, folder: Path, tmp_path: Path) -> None:
        class Spoiling(Silent):
            def epoch(self, metrics: Mapping[str, Any]) -> None:
                if metrics["epoch"] == 1:
                    spoil(folder / "train.de", "a word")

        config = tiny(data__bitext=str(folder), text__unit="bpe", text__bpe_dropout=0.1)
        run = start(config, tmp_path / "run")
        with pytest.raises(AugenmerkError, match=r"Split 'train' of .* changed while it was in use; put"):
            train(run, CPU, Spoiling())
        assert not run.finished

    def test_a_prepared_corpus(self, folder: Path, tmp_path: Path) -> None:
        corpus, config = tmp_path / "corpus", tiny(data__bitext=str(tmp_path / "corpus"))
        words = ("--set", "text.unit=word", "--set", "text.joint=false", "--set", "text.lowercase=true")
        prepare = ("data", "prepare", folder, "--out", corpus, "--workers", 1, *words)
        assert run_command(*prepare).code == 0
        run = start(config, tmp_path / "run")
        with pytest.raises(TrainingInterrupted):
            train(run, CPU, StopAfterEpoch())
        shutil.rmtree(corpus)
        spoil(folder / "train.de", "the order")
        spoil(folder / "train.en", "the order")
        assert run_command(*prepare).code == 0
        with pytest.raises(AugenmerkError, match=r"Split 'train' of .*corpus is not what"):
            train(RunDirectory.open(run.path), CPU, Silent())


def write_splits(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    pairs = list(open_bitext("bilderbuch", pairs=120, seed=7)["train"])
    for split, some in (("train", pairs[:90]), ("val", pairs[90:])):
        for language, side in (("de", "source"), ("en", "target")):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in some)
            (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
