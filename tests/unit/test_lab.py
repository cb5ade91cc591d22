"""The code lab: references, the table of mistakes, and what a check says about answers."""

import json
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from augenmerk import AugenmerkError, lab
from augenmerk.lab.exercises import COMMON, EXERCISES
from augenmerk.lab.grading import grade
from augenmerk.lab.naming import compile_reference
from augenmerk.lab.outcomes import call
from augenmerk.model.attention import MeanPool, SingleQueryScaledDotProductAttention

SEED = 1
BANK = tomllib.loads((Path(__file__).parents[1] / "support" / "lab_answers.toml").read_text(encoding="utf-8"))
FREE = {"device", "precision lost"}
"""What is remarked on, but costs nothing."""


@pytest.mark.parametrize("name", EXERCISES)
def test_every_mistake_changes_the_result_and_differs_from_the_others(name: str) -> None:
    """Otherwise it could not be named."""
    exercise = EXERCISES[name]
    cases = exercise.make_cases(SEED)
    reference = compile_reference(name)
    right = [call(reference, case) for case in cases]
    found = []
    for mistake in exercise.mistakes:
        mutant = compile_reference(name, mistake.edits)
        assert mutant is not None, f"{mistake.id}: an edit does not apply"
        outcomes = [call(mutant, case) for case in cases]
        if isinstance(reference, type):  # which computes with the weights of the answer
            pairs = zip(cases, outcomes, strict=True)
            right = [call(reference, case, each.weights) for case, each in pairs]
        same = all(one.equals(other) for one, other in zip(outcomes, right, strict=True))
        assert not same or mistake.accepted, f"{mistake.says} changes nothing"
        found.append((mistake, outcomes))
    for (one, ours), (other, theirs) in combinations(found, 2):
        same = all(left.equals(right) for left, right in zip(ours, theirs, strict=True))
        assert not same or one.id == other.id or one.accepted or other.accepted, f"{one.says} = {other.says}"


@pytest.mark.parametrize("name", EXERCISES)
def test_a_reference_is_right_with_other_seeds(name: str) -> None:
    for seed in (2, 3):
        report = lab.check(**{name: compile_reference(name)}, seed=seed)
        assert report.right, str(report)


def test_the_package_agrees_with_the_references() -> None:
    attention = compile_reference("attention")(3, 7, 5)
    ours = SingleQueryScaledDotProductAttention(3, 7, 5)
    for theirs, own in ((attention.W_q, ours.W_q), (attention.W_k, ours.W_k)):
        theirs.weight.data = own.weight.data
        theirs.bias.data.zero_()
    hidden, states = torch.randn(4, 7), torch.randn(6, 4, 6)
    for pair in ((attention, ours), (compile_reference("mean")(), MeanPool())):
        for one, other in zip(*(each(hidden, states) for each in pair), strict=True):
            torch.testing.assert_close(one, other)


def test_torch_agrees_with_multi_head_attention() -> None:
    ours, theirs = compile_reference("heads")(8, 2), torch.nn.MultiheadAttention(8, 2, batch_first=True)
    layers = (ours.W_q, ours.W_k, ours.W_v)
    theirs.in_proj_weight.data = torch.cat([layer.weight for layer in layers])
    theirs.in_proj_bias.data = torch.cat([layer.bias for layer in layers])
    theirs.out_proj = ours.W_o
    query, key, value = torch.randn(3, 4, 8), torch.randn(3, 5, 8), torch.randn(3, 5, 8)
    mask = torch.rand(3, 4, 5) > 0.3
    mask[..., 0] = True
    hidden = ~mask.repeat_interleave(2, dim=0)
    expected = theirs(query, key, value, attn_mask=hidden, average_attn_weights=False)
    for one, other in zip(ours(query, key, value, mask), expected, strict=True):
        torch.testing.assert_close(one, other)


def test_what_is_written_is_a_sheet_a_skeleton_and_a_notebook(tmp_path: Path) -> None:
    lab.start(tmp_path)
    notebook = json.loads((tmp_path / "lab.ipynb").read_text("utf-8"))
    for exercise in EXERCISES.values():
        for text in (exercise.title, exercise.object):
            assert text in (tmp_path / "sheet.md").read_text("utf-8")
            assert any(text in "".join(cell["source"]) for cell in notebook["cells"])
    found: dict[str, Any] = {"__name__": "lab"}
    exec((tmp_path / "lab.py").read_text("utf-8"), found)
    answers = {name: found[exercise.object] for name, exercise in EXERCISES.items()}
    assert {each.verdict for each in lab.check(**answers).results} == {"not done"}
    with pytest.raises(AugenmerkError, match="exists"):
        lab.start(tmp_path)


def define(exercise: str, code: str) -> object:
    names: dict[str, object] = {"__name__": "answers"}
    exec(compile(BANK["imports"] + code, "lab.py", "exec"), names)
    return names[EXERCISES[exercise].object]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_mistakes_of_seeded_answers_are_named_and_right_answers_are_right(exercise: str) -> None:
    """The counts are in docs/guides/code-lab.md."""
    missed = []
    for each in BANK["answers"]:
        if each["exercise"] == exercise:
            found = grade(EXERCISES[exercise], define(exercise, each["code"]), SEED, ["lab.py"])
            mistakes = {finding["mistake"] for finding in found["findings"]}
            expected = set(each["mistakes"]) - FREE
            verdict = "wrong" if expected else "right"
            remarks = {COMMON[name].says for name in FREE & {*each["mistakes"]}}
            if found["verdict"] != verdict or mistakes != expected or remarks - {*found["remarks"]}:
                missed.append((each["about"], mistakes))
    assert missed == []


def test_a_rubric_decides_the_points(tmp_path: Path) -> None:
    path = tmp_path / "rubric.toml"
    lab.write_rubric(path)
    code = next(each["code"] for each in BANK["answers"] if each["mistakes"] == ["no scale"])
    answer = define("attention", code)
    assert lab.check(attention=answer, rubric=path).points == lab.check(attention=answer).points == 3.5
    path.write_text('[attention]\npoints = 10\nloses = { "no scale" = 0.1 }\n', encoding="utf-8")
    report = lab.check(attention=answer, rubric=path)
    assert (report.points, report.possible) == (9.0, 10.0)
    assert report["attention"].findings[0].mistake == "no scale"
    for wrong, said in (
        ("[attention]\npoints = -1\n", "expected a number"),
        ("[attentoin]\n", "no exercise"),
        ("[attention]\nloses = 3\n", "expected a number"),
        ("[attention]\nloses = 0.5\n", "expected a number"),
        ("[attention]\npoint = 3\n", "unknown key"),
        ('[attention]\nloses = { "no scal" = 0.1 }\n', "unknown key 'no scal'"),
        ("attention", "not TOML"),
    ):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(AugenmerkError, match=said):
            lab.check(attention=answer, rubric=path)


def test_a_mistake_without_a_name_shows_the_smallest_input_and_the_result_that_is_wrong() -> None:
    def mean(_: object, states: torch.Tensor, mask: object = None) -> object:  # noqa: ARG001
        return states.mean(0) + 7, torch.full(states.shape[1::-1], 1 / len(states))

    report = lab.check(mean=mean)
    assert "attended_val is wrong, but not alpha" in report["mean"].findings[0].says
    assert report["mean"].example["case"] == "one sentence"
    assert "expected" in str(report)
    assert "one sentence" in report._repr_html_()


def test_what_costs_nothing_is_a_remark_and_exercises_are_set_apart() -> None:
    code = next(each["code"] for each in BANK["answers"] if each["mistakes"] == ["precision lost"])
    report = lab.check(heads=define("heads", code))
    assert report.right
    assert report["heads"].findings == ()
    assert "Remark, at no cost: With inputs in double precision" in str(report)
    assert "<br></pre><pre" in report._repr_html_().replace(' style="margin:0;white-space:pre-wrap"', "")


def test_lines_of_a_skeleton_fit_a_printed_sheet() -> None:
    for exercise in EXERCISES.values():
        for language in exercise.texts:
            assert max(map(len, exercise.make_skeleton(language).splitlines())) <= 88, exercise.name


def test_what_to_check_is_a_file_or_answers() -> None:
    several: list[dict[str, Any]] = [
        {},
        {"path": "lab.py", "bleu": len},
        {"bleu": len, "exercises": ["mask"]},
    ]
    for wrong in several:
        with pytest.raises(AugenmerkError, match="either a file"):
            lab.check(**wrong)
    with pytest.raises(AugenmerkError, match="no exercise"):
        lab.check(blue=len)
