"""The questions: complete, without their answers, with hints that come one by one."""

import json
import re
from pathlib import Path

import pytest

from augenmerk.theory.exercises import EXERCISES, GRADED, TASKS, find_function
from augenmerk.theory.grading import check
from augenmerk.theory.results import MISTAKES
from tests.cli.test_theory_cli import in_process
from tests.support.command import fails_with_a_sentence, run_command, run_json

GIVEN_AWAY = {
    "1.1": ["h_j", "hull", "lies outside"],
    "1.1-one-length": ["c k_j", "largest", "cosine"],
    "1.2": ["k_a + k_b", "mu_a + mu_b"],
    "1.3": ["/lambda_a", "leans"],
    "1.3-observation": ["c lambda_a", "mu_a + mu_b", "leans"],
    "1.4": ["c mu_a", "c*mu_a", "copy"],
    "1.4-means": ["c mu_a", "c*mu_a", "copy"],
    "1.5": ["c mu_a", "copy"],
    "1.6": ["c_2 = u_a", "itself"],
    "1.7": ["u_d u_a^T", "u_b u_b^T"],
    "scaling": ["variance d", "vanish"],
}


def test_every_exercise_is_complete() -> None:
    assert set(EXERCISES) == set(GIVEN_AWAY)
    for exercise in EXERCISES.values():
        assert exercise.title
        assert exercise.text
        assert exercise.claim
        for reference in (exercise.experiment, exercise.figure):
            assert callable(find_function(reference))


@pytest.mark.parametrize("task", GRADED)
def test_typical_mistakes_are_graded_as_such(task: str) -> None:
    assert EXERCISES[task].german is not None
    for mistake, answer in EXERCISES[task].key.mistakes.items():
        assert mistake in MISTAKES
        assert check(task, [answer], samples=10).mistake == mistake, answer


@pytest.mark.parametrize("task", GRADED)
def test_the_answer_of_the_key_is_right(task: str) -> None:
    assert check(task, [EXERCISES[task].key.solution], samples=20).verdict == "right"


def test_some_tasks_in_the_variants_that_are_set() -> None:
    found = run_json("theory", "questions", "--tasks", "1.6, 1.1-1.4", "--variant", "1.3=observation")
    assert [one["task"] for one in found["questions"]] == ["1.6", "1.1", "1.2", "1.3-observation", "1.4"]
    [one] = run_json("theory", "questions", "--tasks", "1.1-one-length", "--language", "de")["questions"]
    assert one["title"] == "Einen Wert kopieren, aus Schlüsseln gleicher Länge"
    for wrong in ("1.9", "1.4-1.1", "1.1-1.9", "1.1,", "one"):
        assert "there is no task" in fails_with_a_sentence("theory", "questions", "--tasks", wrong)
    refused = fails_with_a_sentence("theory", "questions", "--variant", "1.2=observation")
    assert "there are 1.1=one-length, 1.3=observation, 1.4=means" in refused
    assert "in en or de" in fails_with_a_sentence("theory", "questions", "--language", "fr")


def test_a_sheet_to_print_and_its_key(tmp_path: Path) -> None:
    sheet, key = tmp_path / "sheet.html", tmp_path / "key.md"
    asked = ("theory", "questions", "--tasks", "1.1-1.4", "--language", "de", "--out", sheet, "--key", key)
    assert run_command(*asked).code == 0
    page, answers = sheet.read_text("utf-8"), key.read_text("utf-8")
    assert '<html lang="de">' in page
    for task in ("1.1", "1.2", "1.3", "1.4"):
        german = EXERCISES[task].german
        assert german
        assert german.title in page
        assert EXERCISES[task].key.solution in answers
        for secret in (
            EXERCISES[task].key.solution,
            german.claim[:40],
            german.hints[0][:20],
            *GIVEN_AWAY[task],
        ):
            assert secret not in page
    refused = fails_with_a_sentence("theory", "questions", "--out", sheet, "--key", sheet)
    assert "give it another name" in refused


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        ("l_a = c lambda_a/sqrt(d), l_b = c lambda_b/sqrt(d), C", ""),
        ("l_b = t \\lambda_b^2; l_a = t \\lambda_a^2; statement C", ""),
        ("l_a = c k_a.k_a; l_b = c k_b.k_b; Aussage: c", ""),
        ("l_a = c lambda_a; l_b = c lambda_b^2; C", "other logits"),
        ("l_a = c lambda_a; l_b = 2 c lambda_b; C", "other logits"),
        ("l_a = -c lambda_a; l_b = -c lambda_b; C", "points away"),
        ("l_a = 0; l_b = 0; C", "zero query"),
        ("l_a = c lambda_a; l_b = c lambda_b", "incomplete"),
        ("l_a = c lambda_a; l_b = c lambda_b; B.", "another statement"),
    ],
)
def test_what_becomes_of_the_average_is_graded_by_logits_and_statement(answer: str, mistake: str) -> None:
    assert check("1.3-observation", answer, samples=20).mistake == mistake


@pytest.mark.parametrize("task", EXERCISES)
def test_a_question_does_not_give_its_answer_away(task: str) -> None:
    shown = in_process(task, "--question").stdout
    assert EXERCISES[task].title in shown
    for secret in (*GIVEN_AWAY[task], "hint 1", "holds:", "measured", "construction"):
        assert secret not in " ".join(shown.split())


@pytest.mark.parametrize("task", EXERCISES)
def test_hints_come_one_by_one(task: str) -> None:
    hints = EXERCISES[task].hints
    assert len(hints) >= 2
    for count in range(1, len(hints) + 2):
        shown = in_process(task, f"--hint={count}").stdout
        numbers = [str(number) for number in range(1, min(count, len(hints)) + 1)]
        assert re.findall(r"^hint (\d)", shown, flags=re.MULTILINE) == numbers
        assert (f"augenmerk theory {task} --hint {count + 1}\n" in shown) is (count < len(hints))
    assert in_process(task, "--hint", str(count)).stdout == shown
    assert in_process(task, "--hint").stdout == in_process(task, "--hint", "1").stdout


@pytest.mark.parametrize("task", EXERCISES)
def test_the_list_of_commands_gives_no_answer_away(task: str) -> None:
    [line] = [line for line in in_process("--help").stdout.splitlines() if f" {task} " in line]
    for secret in (*GIVEN_AWAY[task], "head follows", "hull", "break"):
        assert secret not in line


def test_a_question_without_the_root_does_not_show_it() -> None:
    asked = in_process("1.3", "--unscaled", "--hint", "3").stdout
    assert "sqrt" not in asked
    assert "alpha_i = exp(q.k_i) / sum_j exp(q.k_j), a = sum_j alpha_j v_j." in asked
    assert "augenmerk theory check 1.3 --unscaled --query" in asked
    for task in ("1.6", "scaling"):  # which are about what is left out
        assert EXERCISES[task].without_root() == EXERCISES[task]


def test_a_question_draws_nothing(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    sentence = fails_with_a_sentence("theory", "1.2", "--question", "--out", picture)
    assert "--out draws the answer" in sentence
    assert "augenmerk theory questions --out questions.md" in sentence
    assert not picture.exists()


def test_all_questions_at_once(tmp_path: Path) -> None:
    shown = run_command("theory", "questions")
    assert shown.code == 0
    for task, question in EXERCISES.items():
        assert (in_process(task, "--question").stdout in shown.out) is (task in TASKS)
        assert question.hints[0][:20] not in shown.out
    out = tmp_path / "questions.md"
    written = run_command("theory", "questions", "--out", out, "--unscaled")
    assert (written.code, written.out) == (0, "")
    page = out.read_text("utf-8")
    assert page.count("\n## ") == len(TASKS)
    assert "\n    alpha_i = exp(q.k_i) / sum_j exp(q.k_j), a = sum_j alpha_j v_j.\n" in page
    assert "\n| k_a, k_b | the two keys (mu_a and mu_b are the same here) |\n" in page
    assert "\nAnswer: q_1 = ...; q_2 = ...\n" in page
    for secret in (secret for secrets in GIVEN_AWAY.values() for secret in secrets):
        assert secret not in page
    found = run_json("theory", "questions")
    assert [each["task"] for each in found["questions"]] == list(TASKS)
    assert "ends in .md" in fails_with_a_sentence("theory", "questions", "--out", tmp_path / "q.pdf")


def test_a_question_as_json_and_hints_of_another_kind() -> None:
    found = json.loads(in_process("1.4", "--hint", "--json").stdout)
    assert found["question"].endswith("with positive lambda.")
    assert found["hints"] == [EXERCISES["1.4"].hints[0]]
    assert found["hints_in_all"] == 3
    assert json.loads(in_process("1.4", "--question", "--json").stdout)["hints"] == []
    for arguments in (["--hint", "0"], ["--hint=0"], ["--hint=x"], ["--hint="], ["--hint", "x"]):
        refused = in_process("1.2", *arguments)
        assert refused.exit_code == 2
        assert "Invalid value for '--hint'" in refused.output


@pytest.mark.parametrize("task", GRADED)
def test_the_names_of_a_question_are_those_of_its_answers(task: str) -> None:
    """Apart from synonyms, Euler's number, and what is of no use in a task."""
    told = {name for names in EXERCISES[task].names for name in names.split(", ")}
    understood = EXERCISES[task].known
    assert told <= understood
    unsaid = {
        **{"1.1": "t e h_j", "1.1-one-length": "t e h_j k_mean", "1.2": "t e mu_a mu_b"},
        **{"1.4-means": "t e k_a k_b lambda_a lambda_b", "1.6": "c e I", "1.7": "c e"},
    }
    assert understood - told == set(unsaid.get(task, "t e").split())
