"""Answers graded by experiment: the published ones come out as they must, and so do ones made up here."""

import json

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.grading import check

SAMPLES = 30
K, Q, V = "K = I", "Q = (u_d*u_a^T + u_c*u_d^T)/B^2", "V = (u_b*u_b^T - u_c*u_c^T)/B^2"

PUBLISHED = [
    ("A", "1.2", ["c*(k_a + k_b)"], True),
    ("A", "1.2", ["c(k_a + k_b)"], True),
    ("B", "1.2", ["(k_a + k_b)/norm(k_a + k_b)"], False),
    ("C", "1.2", ["t*(mu_a + mu_b)"], True),
    ("D", "1.2", ["k_a + k_b"], False),
    ("A", "1.4", ["c*lambda_a*mu_a", "c*lambda_b*mu_b"], True),
    ("C", "1.4", ["t*mu_a", "t*mu_b"], True),
    ("C", "1.4", ["q_1 = t mu_a", "q_2 = t mu_b"], True),
    ("D", "1.4", ["mu_a + mu_b", "mu_a - mu_b"], False),
]


@pytest.mark.parametrize(("who", "task", "answers", "holds"), PUBLISHED)
def test_the_published_answers_come_out_as_they_must(
    who: str, task: str, answers: list[str], holds: bool
) -> None:
    grade = check(task, answers, samples=SAMPLES)
    assert grade.holds is holds, who
    assert grade.why.endswith(".")
    assert all(row["holds"] for row in grade.conditions) is holds
    json.dumps(grade.as_dict())


def test_a_missing_scale_is_told_exactly_that() -> None:
    for answer, weight in (("(k_a + k_b)/norm(k_a + k_b)", "0.13"), ("k_a + k_b", "0.14")):
        grade = check("1.2", [answer], samples=SAMPLES)
        assert grade.missing_scale
        assert f"only {weight} each for 8 keys in 64 dimensions: the query has no scale" in grade.why
        assert "the scale is all that is missing" in grade.why
    assert check("1.4", ["mu_a", "mu_b"], samples=SAMPLES).missing_scale


@pytest.mark.parametrize(
    ("task", "answers"),
    [
        ("1.4", ["1e-4*mu_a", "1e-4*mu_b"]),
        ("1.4", ["1e-4*mu_a", "mu_b"]),
        ("1.2", ["1e-6*(k_a + k_b)"]),
        ("1.2", ["1e-200*(k_a + k_b)"]),
        ("1.5", ["1e-30*mu_a", "1e-30*mu_b"]),
    ],
)
def test_a_missing_scale_is_found_however_small_the_answer_is(task: str, answers: list[str]) -> None:
    grade = check(task, answers, samples=SAMPLES)
    assert not grade.holds
    assert grade.missing_scale
    assert "would not save it" not in grade.why


@pytest.mark.parametrize("number", ["1e15", "1e18", "1e200", "1.1e308", "1e-310"])
def test_rounding_is_not_presented_as_mathematics(number: str) -> None:
    with pytest.raises(AugenmerkError, match="rounding decides and not the answer"):
        check("1.2", [f"{number}*(k_a + k_b)"], samples=10)


def test_where_rounding_does_not_matter_large_numbers_are_graded() -> None:
    assert check("1.4", ["1e18*mu_a", "1e18*mu_b"], samples=10).verdict == "right if"
    nothing = check("1.2", ["0*k_a"], samples=10)
    assert not nothing.holds
    assert not nothing.missing_scale


def test_b_really_has_no_more_weight_than_the_formula_gives() -> None:
    """s = 1/sqrt(2 d): e^s / (2 e^s + m - 2)."""
    row = check("1.2", ["(k_a + k_b)/norm(k_a + k_b)"], samples=SAMPLES).conditions[0]
    e = 2.718281828459045 ** (1 / (2 * 64) ** 0.5)
    assert row["weights"] == pytest.approx([e / (2 * e + 6)] * 2)


def test_a_scale_would_not_save_d() -> None:
    grade = check("1.4", ["mu_a + mu_b", "mu_a - mu_b"], samples=SAMPLES)
    assert not grade.missing_scale
    assert "the queries have no scale; and a scale would not save it" in grade.why
    assert "head 2 puts" in grade.why
    assert "and 0.00 on b" in grade.why
    scaled = check("1.4", ["c*(mu_a + mu_b)", "c*(mu_a - mu_b)"], samples=SAMPLES)
    assert not scaled.holds
    assert "no scale" not in scaled.why
    assert scaled.conditions[0]["weights"][0] > 0.65


def test_one_query_is_right_on_average_only() -> None:
    for answer in ("c*(mu_a + mu_b)", "c*(k_a + k_b)"):
        grade = check("1.3", [answer], samples=100)
        assert not grade.holds
        assert "only the mean over resamplings is right" in grade.why
    # Unless it may look at the lambdas: then it can undo them.
    assert check("1.3", ["c*(mu_a/lambda_a + mu_b/lambda_b)"], samples=SAMPLES).holds
    assert check("1.3", ["c*(k_a/norm(k_a)^2 + k_b/norm(k_b)^2)"], samples=SAMPLES).holds


def test_two_heads_hold_for_1_5_and_one_does_not() -> None:
    assert check("1.5", ["c*mu_a", "c*mu_b"], samples=SAMPLES).holds
    assert not check("1.5", ["c*(mu_a + mu_b)"], samples=SAMPLES).holds


def test_what_happens_below_zero_is_told_too() -> None:
    """A's query has the sign of lambda in it twice, C's once."""
    a = check("1.4", ["c*lambda_a*mu_a", "c*lambda_b*mu_b"], samples=100)
    c = check("1.4", ["c*mu_a", "c*mu_b"], samples=100)
    (of_a,), (of_c,) = ([r for r in grade.conditions if r["beta"] == 0.5] for grade in (a, c))
    assert of_a["outside_the_claim"] == of_c["outside_the_claim"] > 0.1
    assert of_a["outside_the_claim_and_missed"] < 0.5 * of_c["outside_the_claim_and_missed"]
    assert "with beta 0.5" in c.why


def test_copying_a_key_by_itself_works_for_orthonormal_keys_only() -> None:
    grade = check("1.1", ["c*k_j"], samples=SAMPLES)
    by_sort = {row["sort"]: row["holds"] for row in grade.conditions}
    assert by_sort["orthonormal"]
    assert not by_sort["flat"]
    assert "another key has the larger product" in grade.why
    short = check("1.1", ["k_j"], samples=SAMPLES)
    assert short.conditions[0]["holds"] is False
    assert "the weight on j reaches only" in short.why
    assert "a scale would not save it: for 8 keys of unequal length in 2 dimensions" in short.why


def test_a_fixed_number_is_not_enough_for_any_number_of_keys() -> None:
    grade = check("1.2", ["100*(k_a + k_b)"], samples=SAMPLES)
    assert not grade.holds
    assert grade.missing_scale
    assert (
        "for 64 keys in 256 dimensions: the scale of the query is too small, though large enough for 8 keys "
        "in 64 dimensions; 2 times as large it holds there, so a larger scale is all that is missing"
    ) in grade.why


@pytest.mark.parametrize("factor", ["log(m) sqrt(d)", "sqrt(d)", "5", "e^2"])
def test_a_scale_that_is_too_small_is_not_called_missing(factor: str) -> None:
    grade = check("1.2", [f"{factor} (k_a + k_b)"], samples=10)
    assert (grade.holds, grade.mistake, grade.missing_scale) == (False, "scale too small", True)
    assert "the scale of the query is too small" in grade.why
    assert "no scale" not in grade.why


@pytest.mark.parametrize("factor", ["c", "gamma", "10 sqrt(d)"])
def test_an_answer_has_to_hold_in_the_limit(factor: str) -> None:
    """At some size the weights are nearly even, but a larger scale makes all of a small difference."""
    grade = check("1.2", [f"{factor} (k_a + 0.995 k_b)"], samples=10)
    assert (grade.holds, grade.mistake, grade.missing_scale) == (False, "leans to one", False)
    assert "and a very large scale the weights on a and b come to 1.00 and 0.00" in grade.why
    assert "q.k_a is larger than q.k_b (as 1 to 0.995)" in grade.why
    assert all(row["letters"].get(factor, row["times"]) > 1000 for row in grade.conditions)
    unscaled = check("1.2", ["k_a + 0.995 k_b"], samples=10)
    assert (unscaled.mistake, unscaled.missing_scale) == ("leans to one", False)
    assert "the query has no scale; and a scale would not save it" in unscaled.why


def test_one_query_may_look_at_the_noisy_key_of_1_5() -> None:
    """The other keys vary too little to matter, as the question says."""
    assert check("1.5", ["c(mu_a/(mu_a^T k_a) + mu_b)"], samples=SAMPLES).holds


def test_the_verdict_of_1_5_speaks_of_what_its_question_has() -> None:
    grade = check("1.5", ["c mu_a; c mu_b"], samples=SAMPLES)
    assert "samples with mu_a.k_a below 0.05 (" in grade.why
    for said in (grade.why, check("1.5", ["c(mu_a + mu_b)"], samples=SAMPLES).why):
        assert "lambda" not in said
        assert "beta" not in said
    assert all("beta" not in row for row in grade.conditions)


def test_self_attention_answers() -> None:
    assert check("1.6", ["u_a"], samples=10).holds
    wrong = check("1.6", ["c_2 = u_b"], samples=10)
    assert not wrong.holds
    assert wrong.why == "the answer is 1.41 B away from c_2: which product of x_2 is the largest?"
    for order in ([K, Q, V], [V, K, Q], ["I", Q.removeprefix("Q = "), V.removeprefix("V = ")]):
        assert check("1.7", order, samples=10).holds
    small = check("1.7", [K, Q.replace("^2", "^4"), V], samples=10)
    assert small.missing_scale
    assert "the factor is all that is missing" in small.why
    tiny = check("1.7", [K, f"1e-30*{Q[4:]}", V], samples=10)
    assert tiny.missing_scale
    factor = check("1.7", [K, Q, "V = u_b*u_b^T - u_c*u_c^T"], samples=10)
    assert factor.missing_scale
    assert "with a V 1/B^2 times as large it holds, so the factor is all that is missing" in factor.why
    half = check("1.7", [K, Q, f"{V[4:]}/2"], samples=10)
    assert half.missing_scale
    assert "with a V 2 times as large it holds" in half.why
    both = check("1.7", [K, Q.replace("^2", "^4"), f"3*{V[4:]}"], samples=10)
    assert both.missing_scale
    assert (
        "with a larger Q and a V 1/3 times as large it holds, so these factors are all that is missing"
        in both.why
    )
    swapped = check("1.7", [K, Q, "V = (u_c*u_c^T - u_b*u_b^T)/B^2"], samples=10)
    assert not swapped.holds
    assert not swapped.missing_scale
    assert "c_2 as -u_b" in swapped.why


def test_the_unscaled_form_is_graded_too() -> None:
    assert check("1.2", ["c*(k_a + k_b)"], samples=10, scale=1.0).holds
    row = check("1.2", ["k_a + k_b"], samples=10, scale=1.0).conditions[0]
    e = 2.718281828459045
    assert row["weights"] == pytest.approx([e / (2 * e + 6)] * 2)


@pytest.mark.parametrize(
    ("task", "answers", "reason"),
    [
        ("1.8", ["c"], "There is no task '1.8'"),
        ("1.2", [], "asks for 1 formula .q = .*, not 0"),
        ("1.7", [K, K, V], "each once"),
        ("1.2", ["p = c*k_a"], "asks for q"),
        ("1.2", ["c"], "is a number; a query is a vector"),
        ("1.2", ["k_a*k_b^T"], "is a matrix; a query is a vector"),
        ("1.2", ["c*lambda_a*k_a"], "no 'lambda_a' in this task"),
        ("1.6", ["B"], "is a number; an output is a vector"),
        ("1.7", ["u_a", Q, V], "K, Q and V are matrices"),
        ("1.2", ["q = c*(k_a+"], "'q = c.*▸', character 12: the formula ends too early"),
        ("1.2", [" q=k_a + k_z"], "character 10: there is no 'k_z'"),
        ("1.2", ["q = "], "it is empty"),
        ("1.2", ["k_a*1e300*1e300"], "character 10: this has no value"),
        ("1.2", ["k_a/0"], "it divides by zero"),
        ("1.2", ["k_a/(c-c)"], "it divides by zero"),
        ("1.2", ["0^(-1)*k_a"], "divides by zero"),
        ("1.2", ["ln(0)*k_a"], "character 1: this has no value"),
        ("1.2", ["sqrt(-2)*k_a"], "the root or logarithm of a number that is not positive"),
        ("1.2", ["(-2)^0.5*k_a"], "has no value"),
        ("1.2", ["exp(1000)*k_a"], "or is too large"),
        ("1.2", ["__import__('os').system('true')"], "character 12: .* cannot be part"),
    ],
)
def test_answers_that_cannot_be_graded_get_a_sentence(task: str, answers: list[str], reason: str) -> None:
    with pytest.raises(AugenmerkError, match=reason):
        check(task, answers, samples=10)


def test_the_same_seed_gives_the_same_grade() -> None:
    first, second = (check("1.3", ["c*(mu_a + mu_b)"], samples=10, seed=4) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("task", "answers"),
    [
        ("1.2", ["c*(" + " ".join(["(k_a k_b^T)"] * 30) + ")*k_a"]),
        ("1.2", ["c*(" + " + ".join(["outer(k_a, k_b)"] * 25) + ")*k_b"]),
        ("1.4", ["c*mu_a", "(" + " ".join(["k_a k_b^T"] * 30) + ")k_a"]),
    ],
)
def test_long_products_of_matrices_are_no_more_work_than_others(task: str, answers: list[str]) -> None:
    """They are computed in the few dimensions that the named vectors span."""
    assert check(task, answers).verdict == "wrong"
