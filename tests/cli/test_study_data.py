"""A study compares runs of the same data in the same units, and refuses others before anything runs."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import open_bitext
from augenmerk.run.directory import RunDirectory
from augenmerk.study.collect import collect
from augenmerk.study.jobs import Event, Job, LocalExecutor, execute
from augenmerk.study.measure import check_padding
from augenmerk.study.plan import Study, read_study
from augenmerk.study.runner import RunStatus, check_data, fit_to_data, run_study
from augenmerk.text.pairs import sum_pairs
from augenmerk.training.start import start as begin
from augenmerk.translation import Translation, Translator, load
from tests.support.command import run_command

SMALL = """
question = "Does it matter?"
seeds = {seeds}
splits = ["test"]
beams = [1]

[factors]
{factors}

[settings]
data.bitext = "{data}"
model.embedding = 8
model.hidden = 8
model.key = 8
train.epochs = {epochs}
train.batch_size = 16
train.lr = 0.05
"""
WORDS = "text.unit = 'word'\ntext.joint = false\n"


def write_pairs(folder: Path, **sizes: int) -> Path:
    book = open_bitext("bilderbuch", pairs=200, seed=3)
    folder.mkdir(parents=True)
    for split, count in {"train": 60, "val": 12, "test": 20, **sizes}.items():
        pairs = [pair for pair, _ in zip(book[split], range(count), strict=False)]
        lines = (f"{pair.source}\t{pair.target}\n" for pair in pairs)
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


def declare(
    folder: Path,
    data: Path | str,
    factors: str = 'attention = ["none", "mean"]',
    *,
    seeds: Sequence[int] = (1,),
    more: str = "",
    epochs: int = 1,
) -> Study:
    text = SMALL.format(data=data, factors=factors, seeds=list(seeds), epochs=epochs)
    path = folder / "small.toml"
    path.write_text(text.replace("[settings]\n", f"[settings]\n{more}"), encoding="utf-8")
    return read_study(path)


def run_here(study: Study, out: Path) -> list[dict[str, Any]]:
    """Trains and measures all runs in this process; returns their events."""
    events: list[dict[str, Any]] = []
    for planned in study.runs:
        config = planned.config.model_dump(exclude_none=True)
        job = Job(str(out / planned.path), config, study.splits, study.beams, study.sentences, "cpu", [])
        execute(job, lambda **fields: events.append(fields))
    return events


class ExecutorHere(LocalExecutor):
    """Runs each job in this process: one of its own would take most of its time to import torch."""

    def submit(self, job: Job) -> None:
        execute(job, lambda **fields: self._queue.put(Event(job.run, **fields)))
        self._queue.put(Event(job.run, "finished"))


def start(study: Study, out: Path) -> None:
    run_study(study, out, jobs=1, device="cpu", on_progress=lambda _: None)


def append(file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8") + "Ein Hund.\tA dog.\n", encoding="utf-8")


# -- the same test sentences ---------------------------------------------------------------------------------


@pytest.mark.parametrize("factors", ["data.bilderbuch.seed = [1, 2]", 'data.source_language = ["de", "en"]'])
def test_factors_that_change_the_test_sentences_are_refused(factors: str, tmp_path: Path) -> None:
    study = declare(tmp_path, "bilderbuch", factors, more="data.bilderbuch.pairs = 50\n")
    with pytest.raises(AugenmerkError, match="cannot be compared: 'test' has other sentences"):
        start(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    answer = run_command("study", tmp_path / "small.toml", "--out", tmp_path / "out")
    assert answer.code == 2
    assert "choose factors or splits that leave them alone" in answer.err


def test_data_may_be_a_factor_where_the_test_sentences_are_the_same(tmp_path: Path) -> None:
    few, many = (write_pairs(tmp_path / name, train=size) for name, size in (("few", 30), ("many", 60)))
    factors = f'"data.bitext" = ["{few}", "{many}"]'
    check_data(declare(tmp_path, few, factors), tmp_path / "out")
    append(many / "test.tsv")
    study = declare(tmp_path, few, factors)
    with pytest.raises(AugenmerkError, match="cannot be compared: 'test' has 20 and 21 sentences;"):
        check_data(study, tmp_path / "out")


def test_the_number_of_training_pairs_leaves_the_other_splits_alone(tmp_path: Path) -> None:
    study = declare(tmp_path, "bilderbuch", '"data.bilderbuch.pairs" = [5, 50]')
    check_data(study, tmp_path / "out")
    few, many = (open_bitext("bilderbuch", pairs=pairs) for pairs in (5, 50))
    assert (len(list(few["train"])), len(list(many["train"]))) == (5, 50)
    assert list(few["val"]) == list(many["val"]) == list(open_bitext("bilderbuch")["val"])


# -- the data of an earlier start ----------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_data_that_has_changed_between_two_starts_is_refused(split: str, tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    run_here(declare(tmp_path, data, 'attention = ["mean"]'), out)
    study = declare(tmp_path, data, 'attention = ["mean"]', seeds=(1, 2))
    check_data(study, out)
    append(data / f"{split}.tsv")
    size = {"train": 60, "val": 12, "test": 20}[split]
    changed = rf"has changed since .*seed-1 was trained \('{split}' has {size} and {size + 1} sentences,"
    with pytest.raises(AugenmerkError, match=changed):
        start(study, out)
    assert not (out / "runs" / "mean" / "seed-2").exists()


def test_other_data_is_named_before_a_setting_that_follows_from_it(tmp_path: Path) -> None:
    """A preset's warm-up depends on the number of pairs."""
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    declare(tmp_path, data, 'attention = ["mean"]', epochs=40)
    file = tmp_path / "small.toml"
    file.write_text('base = "quick"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    study = read_study(file)
    [planned] = fit_to_data(study).runs
    run = begin(planned.config, out / planned.path)
    run.write_data({"train": sum_pairs(open_bitext(str(data))["train"])})
    train = data / "train.tsv"
    train.write_text(train.read_text(encoding="utf-8") * 20, encoding="utf-8")
    [now] = fit_to_data(study).runs
    assert now.config.train.warmup != planned.config.train.warmup
    with pytest.raises(AugenmerkError, match="'train' has 60 and 1,200 sentences, then and now"):
        start(study, out)


def test_damage_in_one_run_does_not_stop_the_others(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data)
    run_here(study, out)
    for planned, name in zip(study.runs, ("data.json", "probes.json"), strict=True):
        (out / planned.path / name).write_text('{"data": [{"split": "train"}], "train": {}}')
    check_data(study, out)


def test_runs_of_the_same_data_are_kept_though_another_lies_between(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data, 'attention = ["mean"]', seeds=(1, 2, 3))
    text = (data / "train.tsv").read_text(encoding="utf-8")
    for seed in (1, 2, 3):
        (data / "train.tsv").write_text(text + ("Ein Hund.\tA dog.\n" if seed == 2 else ""), encoding="utf-8")
        run_here(declare(tmp_path, data, 'attention = ["mean"]', seeds=(seed,)), out)
    [variant] = collect(study, out).variants
    assert [run.state for run in variant.runs] == ["finished", "failed", "finished"]


def test_a_run_that_read_other_data_than_the_rest_is_set_aside(tmp_path: Path) -> None:
    """As if the data was edited while the study ran."""
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data)
    run_here(declare(tmp_path, data, 'attention = ["none"]'), out)
    append(data / "test.tsv")
    run_here(declare(tmp_path, data, 'attention = ["mean"]'), out)
    result = collect(study, out)
    assert [run.state for variant in result.variants for run in variant.runs] == ["finished", "failed"]
    problem = str(result.variants[1].runs[0].problem)
    assert "other data than none, seed 1: 'test' has 20 and 21 sentences; remove one of the two" in problem
    assert result.comparisons == ()


# -- the same units ------------------------------------------------------------------------------------------


def test_losses_over_different_subwords_are_compared_per_word(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data, '"text.vocabulary_size" = [300, 340]', seeds=(1, 2))
    run_here(study, out)
    result = collect(study, out)
    assert set(result.incomparable) == {"validation_loss", "validation_perplexity", "loss", "perplexity"}
    assert "per token cannot be compared, those per word can" in " ".join(result.remarks)
    assert not any(
        summary.best
        for variant in result.variants
        for summary in variant.summaries
        if summary.measure in result.incomparable
    )
    [found] = [each for each in result.comparisons if each.measure == "word_loss"]
    for variant, sign in zip(result.variants, (-1, 1), strict=True):
        per_word, perplexity = (variant.summary(each, "test") for each in ("word_loss", "word_perplexity"))
        assert per_word is not None
        assert perplexity is not None
        assert np.log(perplexity.values[1]) == pytest.approx(per_word.values[1], rel=1e-4)
        assert sign * found.weights[variant.name] == 1


def test_losses_with_different_unknown_words_are_not_compared(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data, '"text.minimum_frequency" = [1, 3]', more=WORDS)
    run_here(study, out)
    result = collect(study, out)
    assert {"word_loss", "word_perplexity", "loss"} <= set(result.incomparable)
    assert {each.measure for each in result.comparisons} == {"bleu"}
    assert "nor those per word" in " ".join(result.remarks)


def test_losses_over_one_vocabulary_are_compared(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data, more=WORDS)
    run_here(study, out)
    result = collect(study, out)
    assert result.incomparable == ()
    assert {each.measure for each in result.comparisons} == {"bleu", "word_loss"}


# -- what is shown of a run, and its padding -----------------------------------------------------------------


def test_the_loss_that_is_shown_is_that_of_the_weights_that_are_kept(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs", train=20), tmp_path / "out"
    study = declare(tmp_path, data, 'attention = ["mean"]', more=WORDS, epochs=12)
    events = run_here(study, out)
    run = RunDirectory.open(out / study.runs[0].path)
    result, last = run.result, run.read_metrics()[-1]
    assert result is not None
    assert result["best_epoch"] < last["epoch"]  # it has learnt its twenty pairs by heart
    status = RunStatus(study.runs[0])
    for fields in events:
        status.update(Event(str(run.path), **fields))
    assert status.loss == result["validation_loss"] != last["validation_loss"]
    assert status.epoch == result["best_epoch"]
    assert status.bleu == result["validation_bleu"]


def test_a_bleu_of_zero_replaces_an_earlier_one(tmp_path: Path) -> None:
    [planned] = declare(tmp_path, "bilderbuch", 'attention = ["mean"]').runs
    status = RunStatus(planned)
    for bleu in (3.5, 0.0, None):
        status.update(Event("run", "training", bleu=bleu))
    assert status.bleu == 0.0


class Leaking(Translator):
    """Reads the padding of a batch: every sentence continues with the end of the longest one."""

    def translate(self, text: Any, **settings: Any) -> Any:
        if isinstance(text, str):
            return super().translate(text, **settings)
        longest = max(text, key=len).split()
        padded = [" ".join([*each.split(), *longest[len(each.split()) :]]) for each in text]
        found: list[Translation] = super().translate(padded, **settings)
        return found


@pytest.mark.parametrize("count", [2, 5])
def test_the_padding_check_fires_on_a_small_split(count: int, tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data, 'attention = ["scaled-dot"]', more=WORDS)
    run_here(study, out)
    run = RunDirectory.open(out / study.runs[0].path)
    sources = ["Der Hund .", "Der Hund schläft auf dem Sofa , weil es regnet .", "Ein Kind lacht heute ."]
    chosen = (sources * 2)[:count]
    sound = check_padding(load(run.path), chosen)
    assert (sound["sentences"], sound["different_texts"]) == (count, 0)
    assert sound["largest_difference"] < 1e-4
    leaking = check_padding(Leaking.from_runs([run], "cpu"), chosen)
    assert leaking["largest_difference"] > 1e-3


def test_an_answer_is_saved_as_it_was_found(tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "pairs"), tmp_path / "out"
    study = declare(tmp_path, data)
    run_here(study, out)
    result = collect(study, out)
    result.save(out)
    tree = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert tree["format"] == 2
    assert tree["baseline"] == "none"
    assert tree["verdicts"] == [{**asdict(each), "details": list(each.details)} for each in result.verdicts]
    assert re.search("This is about one seed only", tree["verdicts"][0]["answer"])
