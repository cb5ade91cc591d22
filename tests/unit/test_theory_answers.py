"""Answers as people write them: names, conditions, several formulas in one text, letters of their own."""

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.answers import MAX_TEXT, split_answers
from augenmerk.theory.grading import MISTAKES, check

RIGHT = [
    ("1.1", "c(k_j - h_j)"),
    ("1.1", r"$q = \gamma \frac{k_j - h_j}{\|k_j - h_j\|}$"),
    ("1.2", r"\alpha(k_a+k_b)"),
    ("1.2", r"$\beta (\mu_a + \mu_b)$"),
    ("1.2", "scale*(ka + kb)"),
    ("1.2", "C(k_a + k_b)"),
    ("1.2", "lambda (k_a + k_b)"),  # 1.2 has no lambda of its own
    ("1.2", r"\[ \mathbf{q} = c(\mathbf{k}_a + \mathbf{k}_b) \]"),
    ("1.2", "q = c(k_a + k_b), where c >> 0"),
    ("1.2", r"q = c(k_a + k_b), \quad c \gg 0"),
    ("1.2", "c(k_a + k_b) for some large c"),
    ("1.2", "for c large, q = c(k_a + k_b)"),
    ("1.2", "The query should be c(k_a + k_b) with c large."),
    ("1.2", r"$q = c\cdot(\vec k_a + \vec k_b)$."),
    ("1.2", r"Let $q = c(k_a + k_b)$. Mit $c \to \infty$."),
    ("1.2", "Antwort: c (k_a + k_b) mit einer sehr großen Zahl c"),
    ("1.2", r"c(k_a + k_b), c \in \mathbb{R}^+, c >> sqrt(d)"),
    ("1.2", "= c(k_a + k_b)"),
    ("1.2", "q := c(k_a + k_b)"),
    ("1.2", r"\frac{k_a + k_b}{\tau}"),
    ("1.2", "(k_a + k_b)/s with s << 1"),
    ("1.2", r"c\,(k_a + k_b)"),
    ("1.2", r"c\;k_a + c\>k_b,\; c \gg 0"),
    ("1.2", r"\begin{align} q &= c(k_a + k_b) \end{align}"),
    ("1.2", "𝑞 = 𝑐(𝑘_𝑎 + 𝑘_𝑏)"),  # in italic letters
    ("1.2", "𝛼(𝝁_a + 𝝁_b)"),
    ("1.4", r"\begin{align*}q_1 &= c \mu_a \\ q_2 &= c \mu_b\end{align*}"),
    ("1.4", r"$q_1 = \beta \mu_a$; $q_2 = \beta \mu_b$"),
    ("1.4", r"$q_1 = c\,\mu_a$; $q_2 = c\:\mu_b$"),
    ("1.4", "q_2 = c mu_b, q_1 = c mu_a"),
    ("1.4", "q1 = c mu_a and q2 = c mu_b"),
    ("1.4", "c_1 mu_a, c_2 mu_b with c_1, c_2 >> 0"),
    ("1.4", "c mu_a\nc mu_b"),
    ("1.5", r"\alpha \mu_a; \alpha \mu_b"),
    ("1.5", "c*mu_a/(mu_a.k_a) + c*mu_b/(mu_b.k_b)"),
    ("1.5", r"c \frac{\mu_a}{\mu_a \cdot k_a} + c \frac{\mu_b}{\mu_b \cdot k_b}."),
    ("1.6", "u_a."),
    ("1.6", "c2 = u_a"),
    ("1.6", "x_2"),
    ("1.7", r"K = I, Q = (u_d u_a^\top + u_c u_d^\top)/\|u_a\|^2, V = \frac{1}{B^2}(u_b u_b^T - u_c u_c^T)"),
    (
        "1.7",
        r"$K = I$, $Q = \frac{1}{B^2}\,(u_d u_a^T + u_c u_d^T)$, $V = (u_b u_b^T - u_c u_c^T)\;/B^2$",
    ),
]


@pytest.mark.parametrize(("task", "text"), RIGHT)
def test_right_answers_are_right_however_they_are_written(task: str, text: str) -> None:
    assert check(task, [text], samples=10).holds


WRONG = [
    (
        "1.1",
        "c*k_j",
        "another key wins",
        "right only where k_j.k_j is above every k_j.k_i, as it is for keys of",
    ),
    ("1.1", "c(k_j - k_mean)", "another key wins", "another key has the larger product"),
    ("1.1", "-c k_j", "points away", "the query points away from k_j"),
    ("1.1", "k_j - h_j", "no scale", "the query has no scale"),
    ("1.1", "(k_j - h_j)/1000", "scale too small", "the scale of the query is too small; "),
    ("1.2", "k_a + k_b", "no scale", "the scale is all that is missing"),
    ("1.2", "100(k_a + k_b)", "scale too small", "the scale of the query is too small"),
    ("1.2", "c/(1 + c) (k_a + k_b)", "no scale", "the query is too short for every size of c that was tried"),
    ("1.2", "(k_a + k_b)/c, c >> 1", "no scale", "hold for small c, but its own conditions rule this out."),
    ("1.2", "c k_a", "only one of two", "points to k_a alone; q.k_b is no larger than with any other key"),
    ("1.2", "c(k_b - k_a)", "only one of two", "points to k_b alone; q.k_a is negative"),
    ("1.2", "c(2 k_a + k_b)", "leans to one", "q.k_a is larger than q.k_b (as 1 to 0.5)"),
    ("1.2", "-c(k_a + k_b)", "points away", "its products with k_a and k_b are negative"),
    ("1.2", "k_a - k_b", "only one of two", "no scale; and a scale would not save it"),
    ("1.2", "0 k_a", "zero query", "all keys are attended to alike"),
    ("1.2", "q = 0.", "zero query", "all keys are attended to alike"),
    ("1.3", "c(mu_a + mu_b)", "right only on average", "only the mean over resamplings is right"),
    ("1.4", "c mu_a; c mu_a", "both heads on one key", "both heads copy v_a"),
    ("1.4", "c(mu_a + mu_b); c mu_a", "a head on two keys", "head 1 attends to both and head 2 copies v_a"),
    ("1.4", "c mu_a; -c mu_b", "other keys", "head 1 copies v_a and head 2 attends to other keys"),
    (
        "1.6",
        "u_a*B",
        "factor missing",
        "the direction is right, but not the length: with a c_2 1/B times as large it holds.",
    ),
    ("1.6", "u_b", "another output", "which product of x_2 is the largest?"),
    ("1.7", "I; I; I", "wrong value", "c_2 as u_a"),
    ("1.7", "0*I; I; I", "attention is spread", "with 0.33, 0.33, 0.33"),
    ("1.7", "I; u_d u_a^T + u_c u_d^T; u_b u_b^T - u_c u_c^T", "factor missing", "a V 1/B^2 times as large"),
]


@pytest.mark.parametrize(("task", "text", "mistake", "reason"), WRONG)
def test_the_mistake_is_named_and_explained(task: str, text: str, mistake: str, reason: str) -> None:
    grade = check(task, [text], samples=20)
    assert not grade.holds
    assert grade.mistake == mistake
    assert reason in grade.why


def test_every_kind_of_mistake_can_be_made() -> None:
    made = {mistake for _, _, mistake, _ in WRONG}
    made |= {check(*one, samples=10).mistake for one in (("1.4", ["c mu_a"]), ("1.2", ["t k_a + c k_b"]))}
    assert made == set(MISTAKES)


def remarks(task: str, text: str) -> str:
    return " ".join(check(task, [text], samples=10).remarks)


def test_what_is_not_obvious_is_said() -> None:
    assert remarks("1.2", "q = c * (k_a + k_b)") == ""
    assert (
        remarks("1.2", r"$\gamma (ka + kb)$")
        == "Read as gamma*(k_a + k_b). gamma is a number of your choice."
    )
    assert "a and s are numbers of your choice." in remarks("1.2", "a k_a + s k_b")
    assert "Taken into account: c >> 0; c real." in remarks("1.2", "c(k_a + k_b), c >> 0, c real")
    assert remarks("1.2", "∞ k_a + c' k_b") == "Read as ∞*k_a + c'*k_b. ∞ and c' are numbers of your choice."
    beta = "beta is taken as a number of your choice, not as the variance."
    assert beta in remarks("1.4", r"\beta \mu_a; \beta \mu_b")
    # With a scale beside it, it is the variance.
    assert remarks("1.4", "c mu_a/(1 + beta); c mu_b/(1 + beta)") == ""
    assert (
        check("1.4", ["c mu_a/(1 + beta); c mu_b/(1 + beta)"], samples=10).conditions[0]["letters"]["c"] > 1
    )


def test_a_fixed_number_is_right_only_up_to_some_size() -> None:
    for answer in ("500(k_a + k_b)", "20 sqrt(d) (k_a + k_b)", "c(k_a + k_b) with c = 10^6"):
        assert check("1.2", [answer], samples=10).only_if == "m and d are not too large"
    assert check("1.2", ["d m (k_a + k_b)"], samples=10).holds
    assert check("1.2", ["20 m (k_a + k_b)"], samples=10, scale=1.0).holds


def test_samples_that_do_not_count_alarm_nobody() -> None:
    why = check("1.4", ["c mu_a; c mu_b"], samples=100).why
    assert "of all with beta 0.5) do not count, since the question asks for positive lambda." in why


def test_a_number_that_has_to_be_small_says_so() -> None:
    grade = check("1.2", ["(k_a + k_b)/tau"], samples=10)
    assert grade.why.startswith("for small tau, less than 0.0001 of the weight misses")
    assert all(row["letters"]["tau"] < 1 for row in grade.conditions)


@pytest.mark.parametrize(
    ("task", "text", "reason"),
    [
        ("1.2", "c(k_a + k_z)", "there is no 'k_z' in this task"),
        ("1.2", "c k", "there is no 'k' in this task"),
        ("1.2", "c v_a", "there is no 'v_a' in this task"),
        ("1.2", "lambda_a k_a", "there is no 'lambda_a' in this task"),
        ("1.4", "lambda mu_a; lambda mu_b", "there is no 'lambda' in this task"),
        ("1.2", "normalise(k_a + k_b)", "there is no function 'normalise'"),
        ("1.2", "not c(k_a + k_b)", "there is no 'not' in this task"),
        ("1.2", "It is impossible with c(k_a + k_b)", "'It is impossible', beside the formula, may change"),
        ("1.2", "c(k_a + k_b). This is wrong.", "'This is wrong', beside the formula, may change"),
        ("1.2", "c(k_a + k_b) with d = 64", "'d = 64', beside the formula, may change"),
        ("1.3", "c(mu_a + mu_b) for small beta", "'small beta', beside the formula, may change"),
        ("1.2", "c(k_a + k_b), c large, c << 1", "The conditions ask that c is both large and small."),
        ("1.2", "t k_a + s k_b, t = s, s = t", "t and s are defined by one another"),
        ("1.2", "c(k_a + k_b) with s = 3", "'s = 3' defines a letter that is not in the formula"),
        ("1.2", "r k_a + s k_a + t k_b", "It may hold for certain values of r and s and t"),
        ("1.7", "I; u_d u_a^T + u_c u_d^T; u_b u_b^T/s - u_c u_c^T/t", "certain values of s and t"),
        ("1.2", "a b c s t (k_a + k_b)", "5 letters are too many"),
        ("1.2", "c(k_a + k_b), c > 0 not large", "'c > 0 not large', beside the formula"),
        ("1.2", "c(k_a + k_b)," + " a" * 500 + " b = 2", "beside the formula"),
        ("1.2", "direction k_a + k_b", "there is no 'direction' in this task"),
        ("1.2", "the mean of k_a + k_b", "there is no 'mean' in this task"),
        ("1.2", "c(k_a + k_b) or c k_a", "there is no 'or' in this task"),
        ("1.2", "k_a·k_b·k_a", "x.y.z can be read in two ways"),
        ("1.2", "gamma", r"is a number; a query is a vector like the keys \(read as numbers: gamma\)"),
        ("1.2", "c(ka + kc)", "there is no 'kc' in this task"),
        ("1.6", "1e300 u_a", "has entries of .*; numbers up to 1e.12 can be graded"),
        ("1.7", "1e200 I; 1e200 I; I", "has entries of 1e.200; numbers up to 1e.12 can be graded"),
        ("1.7", "I; I; 1e300 I", "has entries of 1e.300"),
        ("1.2", "c k_a, c k_b", "asks for 1 formula"),
        ("1.2", "p = c(k_a + k_b)", "asks for q"),
        ("1.4", "c mu_a c mu_b", "a product of two vectors"),
        ("1.4", "c", "is a number; a query is a vector"),
        ("1.2", "the two keys added", "."),
        ("1.2", "", "it is empty"),
        ("1.2", "keine Ahnung", "there is no 'keine' in this task; there are k_a, k_b, c, d, m."),
        ("1.4", "ich weiß es nicht", "character 8: 'ß' cannot be part of a formula"),
        ("1.2", "c(K_a + k_b)", "there is no 'K_a' in this task; there are k_a, k_b, c, d, m."),
        ("1.2", "(v_a + v_b)/2", "there is no 'v_a' in this task; there are k_a"),
        (
            "1.2",
            r"\infty k_a + \infty k_b",
            "more than one infinity, and they may differ: write c",
        ),
        ("1.2", "1,000 k_a + 1,000 k_b", "'1,000' is one number in English and another in German"),
        ("1.2", "c(k_a' + k_b)", "primes on some names and not on others"),
        ("1.2", "k_a" * MAX_TEXT, "at most 2,000 characters"),
        ("1.2", "(" * 400 + "k_a" + ")" * 400, "at most 500 characters"),
        ("1.2", "(" * 200 + "k_a" + ")" * 200, "more than 40 brackets"),
    ],
)
def test_what_cannot_be_graded_gets_a_sentence(task: str, text: str, reason: str) -> None:
    with pytest.raises(AugenmerkError, match=reason) as refused:
        check(task, [text], samples=10)
    assert len(str(refused.value)) < 1000


def test_names_that_are_not_in_the_question_are_not_offered() -> None:
    for task, answer in (("1.2", "k_z"), ("1.6", "u_z"), ("1.7", "I; I; u_a u_z^T")):
        with pytest.raises(AugenmerkError, match="there are") as refused:
            check(task, [answer], samples=10)
        offered = str(refused.value).split("there are ")[1].rstrip(".").split(", ")
        assert not {"e", "t"} & set(offered)
        assert ("c" in offered) is (task == "1.2")


def test_an_incomplete_answer_is_told_apart_from_one_that_cannot_be_read() -> None:
    for task, answer in (("1.4", "c mu_a"), ("1.7", "K = I; Q = I")):
        grade = check(task, [answer], samples=10)
        assert (grade.verdict, grade.mistake, grade.conditions) == ("wrong", "incomplete", ())
        assert "asks for" in grade.why
    unreadable = [("1.4", "c mu_a +"), ("1.4", "ask me tomorrow"), ("1.4", "c mu_a; c my_b")]
    for task, answer in [*unreadable, ("1.2", "c k_a; c k_b")]:
        with pytest.raises(AugenmerkError):
            check(task, [answer], samples=10)


def test_the_whole_answer_is_shown_as_it_was_read() -> None:
    said = remarks("1.7", r"I; \frac{u_d u_a^T + u_c u_d^T}{B^2}; (u_b u_b^T - u_c u_c^T)/B^2")
    assert said.startswith("Read as K = I; Q = ((u_d*u_a^T + u_c*u_d^T)/(B^2)); V = (u_b")


def test_formulas_and_conditions_are_told_apart() -> None:
    known = frozenset({"k_a", "k_b", "c", "lambda_a"})
    texts = ["q = norm(k_a, c) k_a; c > 0", "where lambda_a > 0, c k_b"]
    formulas, conditions = split_answers(texts, {"q"}, known)
    assert [(name, text.strip()) for name, text, _ in formulas] == [
        ("q", "q = norm(k_a, c) k_a"),
        ("", "c k_b"),
    ]
    assert conditions == ["c > 0", "lambda_a > 0"]
