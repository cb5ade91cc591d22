"""The questions: complete, without their answers, with hints that come one by one."""

import json
import re

import pytest

from augenmerk.theory import EXPERIMENTS, grading_self
from augenmerk.theory.questions import QUESTIONS
from augenmerk.theory.trials import NAMES
from tests.test_theory_cli import in_process

GIVEN_AWAY = {
    "1.1": ["k_j - h_j", "lies outside"],
    "1.2": ["k_a + k_b", "mu_a + mu_b"],
    "1.3": ["/lambda_a", "leans"],
    "1.4": ["c mu_a", "c*mu_a", "copy"],
    "1.5": ["c mu_a", "copy"],
    "1.6": ["c_2 = u_a", "itself"],
    "1.7": ["u_d u_a^T", "u_b u_b^T"],
    "scaling": ["variance d", "vanish"],
}


def test_every_experiment_has_a_question() -> None:
    assert set(QUESTIONS) == set(EXPERIMENTS) == set(GIVEN_AWAY)


@pytest.mark.parametrize("task", EXPERIMENTS)
def test_a_question_does_not_give_its_answer_away(task: str) -> None:
    shown = in_process(task, "--question").stdout
    assert QUESTIONS[task].title in shown
    assert "hint 1" not in shown
    for secret in GIVEN_AWAY[task]:
        assert secret not in " ".join(shown.split())
    for claimed in ("holds:", "measured", "construction"):
        assert claimed not in shown


@pytest.mark.parametrize("task", EXPERIMENTS)
def test_hints_come_one_by_one(task: str) -> None:
    hints = QUESTIONS[task].hints
    assert len(hints) >= 2
    for count in range(1, len(hints) + 2):
        result = in_process(task, *["--hint"] * count)
        assert result.exit_code == 0
        assert re.findall(r"^hint (\d)", result.stdout, flags=re.MULTILINE) == [
            str(number) for number in range(1, min(count, len(hints)) + 1)
        ]
        more = f"augenmerk theory {task}{' --hint' * (count + 1)}\n"
        assert (more in result.stdout) is (count < len(hints))


def test_a_question_as_json() -> None:
    found = json.loads(in_process("1.4", "--hint", "--json").stdout)
    assert found["question"].endswith("with positive lambda.")
    assert found["hints"] == [QUESTIONS["1.4"].hints[0]]
    assert found["hints_in_all"] == 3
    assert json.loads(in_process("1.4", "--question", "--json").stdout)["hints"] == []


@pytest.mark.parametrize("task", [*NAMES, "1.6", "1.7"])
def test_the_names_of_a_question_are_those_of_its_answers(task: str) -> None:
    """Apart from synonyms, Euler's number, and what is of no use in a task."""
    told = {name for names in QUESTIONS[task].names for name in names.split(", ")}
    understood = NAMES.get(task, grading_self.NAMES)
    assert told <= understood
    unsaid = {"1.2": {"t", "e", "mu_a", "mu_b"}, "1.6": {"c", "e", "I"}, "1.7": {"c", "e"}}
    assert understood - told == unsaid.get(task, {"t", "e"})
