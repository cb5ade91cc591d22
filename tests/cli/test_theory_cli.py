"""`augenmerk theory` as a person meets it, and its figures."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.spatial import ConvexHull
from typer.testing import CliRunner

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import app
from augenmerk.drawing.figures import DARK, LIGHT
from augenmerk.theory import EXERCISES, Setup
from augenmerk.theory.drawing import draw
from augenmerk.theory.results import Measurement, Result
from tests.support.command import fails_with_a_sentence, run_command

SETUPS = {
    **{task: Setup() for task in ("1.2", "1.3", "1.4", "1.5", "scaling")},
    **{"1.1": Setup(dim=2), "1.6": Setup(keys=3, dim=16), "1.7": Setup(keys=3, dim=16)},
}
REQUIRED = {"task", "holds", "weights", "output", "error", "bound"}


def in_process(*arguments: str) -> Any:
    """Quicker than a process of its own; the tests below show that `augenmerk` does the same."""
    return CliRunner().invoke(app, ["theory", *arguments])


@pytest.mark.parametrize("task", EXERCISES)
def test_every_claim_holds(task: str) -> None:
    result = in_process(task, "--json", "--seed", "2")  # docs/explanation/theory.md has seed 1
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found.keys() >= REQUIRED
    assert found["task"] == task
    assert found["holds"] is True
    assert sum(found["weights"]) == pytest.approx(1)
    assert found["error"] <= found["bound"] * (1 + 1e-9) + (0.02 if task in ("1.3", "1.4") else 0)
    assert all(measure["fits"] for measure in found["measures"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("1.1", "--keys", "6", "--dim", "5", "--scale", "50", "--samples", "3"),
        ("1.1", "--keys", "2", "--dim", "1", "--unscaled", "--samples", "3"),
        ("1.2", "--keys", "3", "--dim", "3", "--scale", "7", "--unscaled"),
        ("1.2", "--keys", "40", "--dim", "50", "--eps", "0.3", "--samples", "1"),
        ("1.3", "--keys", "3", "--dim", "4", "--beta", "0", "--samples", "100"),
        ("1.3", "--beta", "2", "--scale", "4000", "--samples", "500"),
        ("1.4", "--heads", "5", "--beta", "0.3", "--unscaled", "--scale", "30"),
        ("1.4", "--beta", "0.01", "--samples", "500"),
        ("1.5", "--alpha", "0.01", "--samples", "500"),
        ("1.5", "--alpha", "0", "--beta", "0.1", "--samples", "500"),
        ("1.6", "--keys", "6", "--dim", "7", "--scale", "1.5"),
        ("1.7", "--keys", "5", "--dim", "9", "--scale", "3"),
        ("scaling", "--keys", "5", "--dim", "3", "--samples", "50"),
    ],
)
def test_numbers_are_as_predicted_for_other_sizes_too(arguments: tuple[str, ...]) -> None:
    result = in_process(*arguments)
    assert result.exit_code == 0, result.output
    verdict = result.stdout.splitlines()[-3:]
    assert any(line.startswith(("holds: every number is as predicted", "as predicted")) for line in verdict)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("1.3", "--beta", "0"), "only 0% of the samples lean by more than 0.1"),
        (("1.3", "--beta", "2", "--scale", "4000"), "of the weight is on other values"),
        (("1.4", "--beta", "100"), "a head leaves over 0.05 elsewhere in 7"),
        (("1.5", "--beta", "0"), "of the samples lean"),
        (("1.5", "--beta", "3"), "a head leaves over 0.05 elsewhere in"),
        (("1.6", "--scale", "0.5"), "parts of length 0.5 are too short"),
        (("1.7", "--scale", "0.5"), "parts of length 0.5 are too short"),
        (("scaling", "--dim", "3"), "in 3 dimensions the gradient without it is still"),
    ],
)
def test_a_claim_that_is_false_here_does_not_hold(arguments: tuple[str, ...], reason: str) -> None:
    """However well the failure is predicted."""
    found = json.loads(in_process(*arguments, "--samples", "500", "--json").stdout)
    assert (found["as_predicted"], found["holds"]) == (True, False)
    assert reason in found["refuted"]
    if arguments[0] == "1.6":
        shown = " ".join(in_process(*arguments, "--samples", "500").stdout.split())
        assert f"as predicted, but here the claim does not hold: {found['refuted']}" in shown
        assert "holds:" not in shown


def test_without_any_noise_there_is_no_error_to_speak_of() -> None:
    """Rounding divided by rounding gave an error of 500,000, with which nothing could have failed."""
    result = EXERCISES["1.3"].run(Setup(beta=0.0, samples=100))
    [deviation] = [m for m in result.measures if m.name == "deviation of alpha_a, from means"]
    assert deviation.fits
    assert deviation.error == 0
    assert not Measurement(deviation.name, 1e-6, deviation.predicted, error=deviation.error).fits


def test_wrong_predictions_are_seen_but_a_bound_may_be_passed_by_chance() -> None:
    assert Measurement("a", 1.1, 1.0, "at most", 0.05).fits
    assert not Measurement("a", 1.1, 1.0, "at most", 0.01).fits
    assert not Measurement("a", 0.9, 1.0, "at least", 0.01).fits
    result = EXERCISES["1.7"].run(Setup(keys=3, dim=16, samples=10))
    wrong = Measurement("alpha_a", 0.3, 0.5)
    assert result.holds
    assert not Result(**{**vars(result), "measures": (wrong, *result.measures)}).holds


def test_commands_from_their_arguments_to_their_files(tmp_path: Path) -> None:
    picture = tmp_path / "self.svg"
    result = run_command("theory", "1.6", "--json", "--figure", picture, "--theme", "dark")
    assert result.code == 0, result.err
    assert json.loads(result.out)["holds"]
    assert "self.svg" in result.err
    assert picture.read_text("utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("task", "answers"),
    [
        ("1.1", ["c*k_j"]),
        ("1.2", ["k_a"]),
        ("1.3", ["k_a"]),
        ("1.4", ["k_a", "k_b"]),
        ("1.5", ["k_a"]),
        ("1.6", ["u_a"]),
        ("1.7", ["I", "I", "I"]),
    ],
)
def test_a_grade_of_every_task_can_be_read(task: str, answers: list[str]) -> None:
    queries = [part for answer in answers for part in ("--query", answer)]
    result = in_process("check", task, *queries, "--samples", "10")
    assert result.exit_code == (0 if answers == ["u_a"] else 1), result.output
    table = result.stdout.split("\n\n")[1].splitlines()
    assert len(table) > 3
    assert all(line.endswith(("holds", "fails")) for line in table[1:])


@pytest.mark.parametrize(
    ("query", "code"), [("c(k_a + k_b)", 0), (r"$\alpha(\mu_a + \mu_b)$", 0), ("k_a + k_b", 1), ("k_a +", 2)]
)
def test_the_exit_code_says_what_became_of_an_answer(query: str, code: int) -> None:
    for json_too in ([], ["--json"]):
        answer = run_command("theory", "check", "1.2", "--query", query, "--samples", "10", *json_too)
        assert answer.code == code
        assert bool(answer.out) is (code != 2)
        assert ("--hint" in answer.err) is (code == 1 and not json_too)


def test_without_an_answer_the_command_shows_how_to_give_one() -> None:
    sentence = fails_with_a_sentence("theory", "check", "1.4")
    assert "--query 'q_1 = ...; q_2 = ...'" in sentence
    assert "augenmerk theory 1.4 --question" in sentence


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("1.1", "--keys", "1"), "--keys 1 is too small: this task needs 2"),
        (("1.2", "--keys", "8", "--dim", "7"), "--dim 7 is too small: this task needs 8"),
        (("1.2", "--eps", "0"), "between 0 and 1"),
        (("1.3", "--scale", "-3"), "--scale -3 is impossible"),
        (("1.3", "--beta", "-1"), "--beta -1 is no variance"),
        (("1.3", "--samples", "5"), "--samples 5 is too small"),
        (("1.4", "--heads", "9"), "there can be 2 to 8"),
        (("1.4", "--keys", "1"), "--keys 1 is too small: this task needs 3"),
        (("1.3", "--scale", "1e300"), "--scale 1e+300 is impossible: choose one above 0, up to 1e+09"),
        # What would take over 20 seconds on one core:
        (("1.1", "--keys", "500", "--dim", "600"), "--dim 600 --samples 20 would take over 20 seconds"),
        (("1.1", "--keys", "500", "--dim", "600"), "take fewer keys or dimensions"),
        (("1.1", "--samples", "100000"), "--dim 2 --samples 100000 would take over 20 seconds: take up to"),
        (("1.2", "--samples", "100000"), "take up to 6,"),
        (("1.2", "--keys", "1000", "--dim", "1000"), "take fewer keys"),
        (("1.4", *"--keys 500 --dim 500 --heads 500 --samples 1000".split()), "up to 142 samples."),
        (("1.5", "--samples", "1000000"), "take up to 593,119 samples."),
        (("1.6", "--dim", "4", "--samples", "80000"), "take up to 50,251 samples."),
        (("1.7", "--keys", "1000", "--dim", "1001"), "take up to 4 samples."),
        (("scaling", "--keys", "1000", "--dim", "4096", "--samples", "70"), "take up to 54 samples."),
        (("1.5", "--alpha", "-1"), "--alpha -1 is no variance"),
        (("1.6", "--dim", "3"), "--dim 3 is too small: this task needs 4"),
        (("1.7", "--scale", "100"), "between 0 and 25"),
        (("scaling", "--keys", "1"), "--keys 1 is too small"),
        (("1.1", "--figure", "hull.gif"), "the name of a picture ends in"),
    ],
)
def test_sizes_that_cannot_be_get_a_sentence(arguments: tuple[str, ...], reason: str) -> None:
    result = in_process(*arguments)
    assert isinstance(result.exception, AugenmerkError)
    assert reason in str(result.exception)


@pytest.mark.parametrize("task", SETUPS)
def test_figures_are_drawn_in_dark_too(task: str) -> None:
    figure = draw(EXERCISES[task].run(replace(SETUPS[task], samples=20)), DARK)
    figure.draw_without_rendering()
    assert to_hex(figure.get_facecolor()) == DARK.paper
    assert not {to_hex(text.get_color()) for text in figure.findobj(Text)} & {LIGHT.ink, "#000000"}


def titles(figure: Figure) -> list[str]:
    return [axes.get_title("left") for axes in figure.axes]


def test_many_keys_are_drawn_with_few_names_inside_the_panel() -> None:
    figure = draw(EXERCISES["1.1"].run(Setup(dim=5, keys=30, samples=1)), LIGHT)
    assert titles(figure)[0].startswith("How far each key is from the hull")
    right = figure.axes[1]
    names = [text for text in right.texts if text.get_text().startswith("$k")]
    assert len(names) == 8
    assert all(0 < text.get_position()[1] < 1 for text in names)


@pytest.mark.parametrize(("task", "panel"), [("1.1", 0), ("1.2", 1)])
def test_names_of_keys_cover_neither_one_another_nor_keys(task: str, panel: int) -> None:
    figure = draw(EXERCISES[task].run(Setup(dim=2 if task == "1.1" else 64, samples=2, seed=5)), LIGHT)
    figure.draw_without_rendering()
    axes = figure.axes[panel]
    names = [text for text in axes.texts if text.get_text().startswith("$k")]
    assert len(names) > 4
    boxes = [name.get_window_extent().padded(2) for name in names]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    places = [np.asarray(drawn.get_offsets()) for drawn in axes.collections]
    for x, y in axes.transData.transform(np.concatenate(places)):
        assert not any(box.contains(x, y) for box in boxes)
    # No line goes through the name of a corner, beside which there is room outside of the hull.
    lines = [np.asarray(line.get_xydata()) for line in axes.lines]
    steps = np.linspace(0, 1, 200)[:, None]
    for begin, end in lines:
        for x, y in axes.transData.transform(begin + steps * (end - begin)):
            boxes = [box for box in boxes if not box.contains(x, y)]
    assert len(boxes) >= len(ConvexHull(np.concatenate(places)).vertices) or task == "1.1"


def test_the_picture_of_1_3_does_not_answer_1_4() -> None:
    figure = draw(EXERCISES["1.3"].run(Setup(samples=20)), LIGHT)
    right = figure.axes[-1]
    assert not any("head" in text.get_text() for text in figure.findobj(Text))
    curves, rings = [[line for line in right.lines if line.get_marker() == mark] for mark in ("None", "o")]
    assert {line.get_color() for line in curves} >= {ring.get_markeredgecolor() for ring in rings}
    assert len(rings) == 2


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_hidden_keys_are_drawn_in_any_number_of_dimensions(dim: int) -> None:
    result = EXERCISES["1.1"].run(Setup(dim=dim, keys=12, samples=1))
    hidden = [found for found in result.picture()[1] if not found.possible]
    assert hidden
    right = draw(result, LIGHT).axes[1]
    drawn = [line for line in right.lines if line.get_color() == LIGHT.series[0]]
    assert len(drawn) == 2 * len(hidden)  # the most weight it gets, and its ceiling


def test_a_panel_says_what_it_leaves_out() -> None:
    for keys, said in ((40, "10 keys in the plane (not 40)"), (8, "8 keys in the plane:")):
        figure = draw(EXERCISES["1.2"].run(Setup(keys=keys, samples=1)), LIGHT)
        assert titles(figure)[1].startswith(said)
    for task, keys in (("1.6", 9), ("1.7", 3)):
        figure = draw(EXERCISES[task].run(Setup(keys=keys, dim=16, samples=1)), LIGHT)
        assert ("the first 3 of 9 inputs" in figure.get_supxlabel()) is (keys == 9)
