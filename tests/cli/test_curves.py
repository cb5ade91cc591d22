"""Curves of training: what metrics.jsonl says is what is drawn, in pictures and in the terminal."""

import json
import math
from pathlib import Path

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import open_data
from augenmerk.drawing.charts import (
    KINDS,
    RunCurves,
    choose_kinds,
    draw_training_curves,
    render_terminal_curves,
)
from augenmerk.drawing.figures import LIGHT
from augenmerk.evaluation.agreement import link_references
from augenmerk.training.data import WATCHED_PAIRS
from augenmerk.training.start import start
from augenmerk.translation import load
from augenmerk.translation.alignment import GoldLinks, compare_links
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import SharedRuns, tiny

OLD = RunCurves("old", [{"epoch": n, "train_loss": 5.0 - n, "validation_loss": 4.5 - n} for n in (1, 2, 3)])
NEW = RunCurves(
    "new",
    [
        {**epoch, "step": 10 * epoch["epoch"], "learning_rate": 0.1, "validation_bleu": 7.0 * epoch["epoch"]}
        for epoch in OLD.epochs
    ],
)


def test_lines_go_through_the_figures_of_the_epochs() -> None:
    kinds = choose_kinds([NEW], (), "step")
    assert list(kinds) == ["loss", "bleu", "learning-rate"]
    loss, bleu, _ = draw_training_curves([NEW], kinds, "step", LIGHT).axes
    drawn = [[tuple(point) for point in line.get_xydata().tolist()] for line in loss.lines]  # type: ignore[union-attr]
    assert [(10.0, 3.5), (20.0, 2.5), (30.0, 1.5)] in drawn
    assert [(10.0, 4.0), (20.0, 3.0), (30.0, 2.0)] in drawn
    assert [(30.0, 1.5)] in drawn  # the best
    assert {text.get_text() for text in bleu.texts} == {"best: 21"}


def test_no_two_of_many_runs_look_the_same() -> None:
    runs = [RunCurves(f"run {number}", NEW.epochs) for number in range(2 * len(LIGHT.series) + 1)]
    figure = draw_training_curves(runs, choose_kinds(runs, ("bleu",), "epoch"), "epoch", LIGHT)
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]  # type: ignore[arg-type]
    looks = [(line.get_color(), line.get_marker()) for line in lines]
    assert len(set(looks)) == len(looks) == len(runs)
    named = [line for line in figure.legends[0].get_lines() if line.get_label() != "best"]
    assert [(line.get_color(), line.get_marker()) for line in named] == looks


def test_runs_are_drawn_with_what_they_recorded() -> None:
    assert list(choose_kinds([OLD], (), "epoch")) == ["loss"]
    assert list(choose_kinds([OLD, NEW], (), "epoch")) == ["loss", "bleu", "learning-rate"]
    with pytest.raises(AugenmerkError, match="nothing to draw was recorded"):
        choose_kinds([OLD], (), "step")
    with pytest.raises(AugenmerkError, match="no validation BLEU, greedy recorded"):
        choose_kinds([OLD], ("bleu",), "epoch")


@pytest.mark.parametrize(
    ("runs", "asked", "by", "said"),
    [
        ([RunCurves("new", [])], (), "epoch", "its first epoch is not done"),
        ([OLD], ("blue",), "epoch", "no curve 'blue'; the curves are loss, bleu"),
        ([OLD], (), "day", "by 'day': expected epoch, step, seconds"),
        ([RunCurves("odd", [{"epoch": 1, "train_loss": None}])], (), "epoch", "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn(runs: list[RunCurves], asked: tuple[str, ...], by: str, said: str) -> None:
    with pytest.raises(AugenmerkError, match=said):
        choose_kinds(runs, asked, by)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("epochs", [1, 3])
def test_the_terminal_shows_curves_that_fit(width: int, epochs: int) -> None:
    runs = [RunCurves(run.name, run.epochs[:epochs]) for run in (OLD, NEW)]
    shown = render_terminal_curves(runs, {"loss": KINDS["loss"]}, "epoch", width).plain
    assert max(map(len, shown.splitlines())) <= max(width, 60)
    if epochs == 3:
        _, validation, training, *_ = shown.splitlines()
        assert validation.split() == ["old", "validation", "▇▄▁", "1.5", "best", "1.5,", "epoch", "3"]
        assert training.split() == ["old", "training", "█▅▂", "2"]


def test_the_command_draws_finished_and_unfinished_runs(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    for ending in ("png", "svg", "pdf"):
        picture = tmp_path / f"curves.{ending}"
        assert run_command("plot", run.path, "--out", picture, "--title", "Mine").code == 0
        assert picture.stat().st_size > 1000
    assert ">Mine</text>" in (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert "validation" in run_command("plot", run.path).out
    found = run_json("plot", run.path, "--by", "step")
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text("utf-8").splitlines()]
    expected = [[line["step"], line["validation_loss"]] for line in lines]
    assert found["runs"][0]["curves"]["validation_loss"] == expected
    assert found["runs"][0]["finished"]
    begun = start(tiny(), tmp_path / "begun")
    assert "its first epoch is not done" in fails_with_a_sentence("plot", begun.path)
    begun.write_metrics(lines[:1])  # as they are while it is trained
    assert len(run_json("plot", begun.path, "--curve", "loss")["runs"][0]["curves"]["train_loss"]) == 1
    assert "ends in" in fails_with_a_sentence("plot", run.path, "--out", tmp_path / "curves.gif")


def test_training_logs_entropy_and_alignment_error(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    logged = min(run.read_metrics(), key=lambda epoch: epoch["validation_loss"])
    pairs = list(open_data(run.config.data)["val"])[:WATCHED_PAIRS]
    with load(run.path) as translator:
        read = translator.score_all([(pair.source, pair.target) for pair in pairs])
        rows = [row for one in read for row in one.attention]
        entropies = [-sum(weight * math.log(weight) for weight in row if weight > 0) for row in rows]
        assert logged["validation_entropy"] == pytest.approx(sum(entropies) / len(rows), abs=1e-3)
        links = link_references(translator, pairs, None)[0]
    gold = [GoldLinks.of(pair.alignment or ()) for pair in pairs]
    error = compare_links(zip(links, gold, strict=True)).error
    assert logged["validation_aer"] == pytest.approx(error, abs=0.01)
    assert 0.1 < error < 1
    mean = shared_runs.copy(tiny(model__attention="mean"), tmp_path / "mean").read_metrics()
    assert not {"validation_entropy", "validation_aer"} & set(mean[0])


def test_runs_of_one_name_are_told_apart_by_folders(shared_runs: SharedRuns, tmp_path: Path) -> None:
    runs = [shared_runs.copy(tiny(), tmp_path / name / "seed-1").path for name in ("mean", "dot")]
    shown = run_command("plot", *runs, "--curve", "loss").out
    assert "  mean/seed-1 validation  " in shown
    assert "  dot/seed-1 validation  " in shown
