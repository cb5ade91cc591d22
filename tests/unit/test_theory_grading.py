"""Grades of answers, and how they are explained; the verdicts themselves are in the bank of answers."""

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.answers import MAX_TEXT, split_answers
from augenmerk.theory.grading import check
from augenmerk.theory.results import Grade

K, Q, V = "K = I", "Q = (u_d*u_a^T + u_c*u_d^T)/B^2", "V = (u_b*u_b^T - u_c*u_c^T)/B^2"


def grade(task: str, *answers: str, samples: int = 10, scale: float | None = None) -> Grade:
    return check(task, answers, samples=samples, scale=scale)


# -- the scale ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["1e15", "1e18", "1e200", "1.1e308", "1e-310"])
def test_rounding_is_not_presented_as_mathematics(number: str) -> None:
    with pytest.raises(AugenmerkError, match="rounding decides and not the answer"):
        grade("1.2", f"{number}*(k_a + k_b)")


def test_a_query_of_length_1_has_no_more_weight_than_the_formula_gives() -> None:
    """s = 1/sqrt(2 d), or 1 without the root: e^s / (2 e^s + m - 2)."""
    for answer, scale, s in (("(k_a + k_b)/norm(k_a + k_b)", None, 128**-0.5), ("k_a + k_b", 1.0, 1.0)):
        row = grade("1.2", answer, scale=scale).conditions[0]
        e = 2.718281828459045**s
        assert row["weights"] == pytest.approx([e / (2 * e + 6)] * 2)
    assert grade("1.2", "c*(k_a + k_b)", scale=1.0).holds


def test_a_scale_would_not_save_a_head_on_two_keys() -> None:
    found = grade("1.4", "mu_a + mu_b", "mu_a - mu_b")
    assert not found.missing_scale
    assert "the queries have no scale; and a scale would not save it" in found.why
    assert "head 2 puts" in found.why
    assert "and 0.00 on b" in found.why
    scaled = grade("1.4", "c*(mu_a + mu_b)", "c*(mu_a - mu_b)")
    assert not scaled.holds
    assert "no scale" not in scaled.why
    assert scaled.conditions[0]["weights"][0] > 0.65


def test_a_fixed_number_is_right_only_up_to_some_size() -> None:
    for answer in ("500(k_a + k_b)", "20 sqrt(d) (k_a + k_b)", "c(k_a + k_b) with c = 10^6"):
        assert grade("1.2", answer).only_if == "m and d are not too large"
    assert grade("1.2", "d m (k_a + k_b)").holds
    assert grade("1.2", "20 m (k_a + k_b)", scale=1.0).holds
    found = grade("1.2", "100*(k_a + k_b)")
    assert (found.holds, found.missing_scale) == (False, True)
    assert (
        "for 64 keys in 256 dimensions: the scale of the query is too small, though large enough for 8 keys "
        "in 64 dimensions; 2 times as large it holds there, so a larger scale is all that is missing"
    ) in found.why


@pytest.mark.parametrize("factor", ["c", "gamma", "10 sqrt(d)"])
def test_an_answer_has_to_hold_in_the_limit(factor: str) -> None:
    """At some size the weights are nearly even, but a larger scale makes all of a small difference."""
    found = grade("1.2", f"{factor} (k_a + 0.995 k_b)")
    assert (found.holds, found.mistake, found.missing_scale) == (False, "leans to one", False)
    assert "and a very large scale the weights on a and b come to 1.00 and 0.00" in found.why
    assert all(row["letters"].get(factor, row["times"]) > 1000 for row in found.conditions)
    unscaled = grade("1.2", "k_a + 0.995 k_b")
    assert (unscaled.mistake, unscaled.missing_scale) == ("leans to one", False)
    assert "the query has no scale; and a scale would not save it" in unscaled.why


# -- single exercises --------------------------------------------------------------------------------------


def test_copying_a_key_by_itself_works_for_orthonormal_keys_only() -> None:
    by_sort = {row["sort"]: row["holds"] for row in grade("1.1", "c*k_j").conditions}
    assert (by_sort["orthonormal"], by_sort["flat"]) == (True, False)
    short = grade("1.1", "k_j")
    assert short.conditions[0]["holds"] is False
    assert "the weight on j reaches only" in short.why
    assert "a scale would not save it: for 8 keys of unequal length in 2 dimensions" in short.why


def test_the_verdict_of_1_5_speaks_of_what_its_question_has() -> None:
    found, other = grade("1.5", "c mu_a; c mu_b", samples=30), grade("1.5", "c(mu_a + mu_b)")
    assert (found.holds, other.holds) == (True, False)
    assert "samples with mu_a.k_a below 0.05 (" in found.why
    assert not any(word in said for word in ("lambda", "beta") for said in (found.why, other.why))
    assert all("beta" not in row for row in found.conditions)
    found = grade("1.4", "c*mu_a", "c*mu_b", samples=100)
    [noisy] = [row for row in found.conditions if row["beta"] == 0.5]
    assert noisy["outside_the_claim"] > 0.1
    assert "of all with beta 0.5) do not count, since the question asks for positive lambda." in found.why


# -- how an answer is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("q = c * (k_a + k_b)", ""),
        (r"$\gamma (ka + kb)$", "Read as gamma*(k_a + k_b). gamma is a number of your choice."),
        ("a k_a + s k_b", "a and s are numbers of your choice."),
        ("c(k_a + k_b), c >> 0, c real", "Taken into account: c >> 0; c real."),
        ("∞ k_a + c' k_b", "Read as ∞*k_a + c'*k_b. ∞ and c' are numbers of your choice."),
    ],
)
def test_what_is_not_obvious_is_said(text: str, remarks: str) -> None:
    assert " ".join(grade("1.2", text).remarks) == remarks


def test_beta_is_the_variance_if_there_is_another_scale() -> None:
    taken = "beta is taken as a number of your choice, not as the variance."
    assert taken in grade("1.4", r"\beta \mu_a; \beta \mu_b").remarks
    scaled = grade("1.4", "c mu_a/(1 + beta); c mu_b/(1 + beta)")
    assert scaled.remarks == ()
    assert scaled.conditions[0]["letters"]["c"] > 1


@pytest.mark.parametrize(
    ("task", "answers", "reason"),
    [
        ("1.8", ["c"], "There is no task '1.8'"),
        ("1.2", [], "Give your answer, --query 'q = ...'"),
        ("1.7", [K, K, V], "each once"),
        ("1.7", ["u_a", Q, V], "K, Q and V are matrices"),
        ("1.2", ["q = "], "it is empty"),
        ("1.2", ["c(k_a + k_b)," + " a" * 500 + " b = 2"], "beside the formula"),
        ("1.2", ["k_a" * MAX_TEXT], "at most 2,000 characters"),
        ("1.2", ["(" * 400 + "k_a" + ")" * 400], "at most 500 characters"),
        ("1.2", ["(" * 200 + "k_a" + ")" * 200], "more than 40 brackets"),
        ("1.4", ["c mu_a +"], "ends too early"),
        ("1.4", ["c mu_a; c my_b"], "asks for 2 formulas"),
    ],
)
def test_what_cannot_be_graded_gets_a_sentence(task: str, answers: list[str], reason: str) -> None:
    with pytest.raises(AugenmerkError, match=reason) as refused:
        grade(task, *answers)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(("task", "answer"), [("1.2", "k_z"), ("1.6", "u_z"), ("1.7", "I; I; u_a u_z^T")])
def test_names_that_are_not_in_the_question_are_not_offered(task: str, answer: str) -> None:
    with pytest.raises(AugenmerkError, match="there are") as refused:
        grade(task, answer)
    offered = str(refused.value).split("there are ")[1].rstrip(".").split(", ")
    assert not {"e", "t"} & set(offered)
    assert ("c" in offered) is (task == "1.2")


@pytest.mark.parametrize(("task", "answer"), [("1.4", "c mu_a"), ("1.7", "K = I; Q = I")])
def test_an_incomplete_answer_is_told_apart_from_one_that_cannot_be_read(task: str, answer: str) -> None:
    found = grade(task, answer)
    assert (found.verdict, found.mistake, found.conditions) == ("wrong", "incomplete", ())
    assert "asks for" in found.why


def test_formulas_and_conditions_are_told_apart() -> None:
    known = frozenset({"k_a", "k_b", "c", "lambda_a"})
    texts = ["q = norm(k_a, c) k_a; c > 0", "where lambda_a > 0, c k_b"]
    formulas, conditions = split_answers(texts, {"q"}, known)
    read = [(name, text.strip()) for name, text, _ in formulas]
    assert read == [("q", "q = norm(k_a, c) k_a"), ("", "c k_b")]
    assert conditions == ["c > 0", "lambda_a > 0"]


@pytest.mark.parametrize("product", [" ".join(["(k_a k_b^T)"] * 30), " + ".join(["outer(k_a, k_b)"] * 25)])
def test_long_products_of_matrices_are_no_more_work_than_others(product: str) -> None:
    """They are computed in the few dimensions that the named vectors span; and a grade has a seed."""
    first, second = (check("1.4", ["c*mu_a", f"({product}) k_a"], seed=4) for _ in range(2))
    assert first == second
    assert first.verdict == "wrong"
