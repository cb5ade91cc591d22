"""The questions of the theory lab, apart from their answers, each with hints that give away more and more."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Question:
    task: str
    title: str
    text: str
    names: Mapping[str, str]
    """The names that an answer may use, each with what it stands for; none if no answer can be checked."""
    answer: str
    """What to give to `augenmerk theory check`, with the answer itself left out."""
    hints: tuple[str, ...]

    def without_root(self) -> "Question":
        """Returns the question about attention without 1/sqrt(d), where it is about attention with it."""
        if not self.text.startswith(_ATTENTION):
            return self
        hints = tuple(hint.replace("/sqrt(d)", "") for hint in self.hints)
        return replace(self, text=self.text.replace("/sqrt(d)", ""), hints=hints)

    def as_dict(self, hints: int) -> dict[str, Any]:
        """Returns the question with the first of its hints."""
        return {
            **{"task": self.task, "title": self.title, "question": self.text, "names": dict(self.names)},
            **{"answer": self.answer, "hints": list(self.hints[:hints]), "hints_in_all": len(self.hints)},
        }


_ATTENTION = "alpha_i = exp(q.k_i/sqrt(d)) / sum_j exp(q.k_j/sqrt(d)), a = sum_j alpha_j v_j."
_CHOSEN = {"c": "a number as large, or as small, as you like (as is any letter that is not used here)"}
_SIZES = {"d, m": "the dimension and the number of keys"}
_NOISY = {
    "k_a, k_b": "the two keys, as they come out",
    "mu_a, mu_b": "their means, orthogonal vectors of length 1",
    "lambda_a, lambda_b": "the lengths of the keys",
}
_PARTS = {
    "u_a, u_b, u_c, u_d": "the parts",
    "x_1, x_2, x_3": "the inputs",
    "B": "the length of the parts",
}

_ALL = (
    Question(
        "1.1",
        "Copying one value",
        f"{_ATTENTION}\nWhen is there a query q with a = v_j, as nearly as you like? Find the condition on "
        "the keys, and a query that works whenever it is met: for keys of any length and in any position. If "
        "your query needs a point that has no name here, the third hint names it (augenmerk theory 1.1 "
        "--hint 3).",
        {
            "k_j": "the key whose value is to be copied",
            "k_mean": "the mean of the other keys",
            **_CHOSEN,
            **_SIZES,
        },
        "q = ...",
        (
            "a = v_j needs alpha_j near 1. What must be true of q.k_j and of every other q.k_i, and what "
            "does a factor in front of q do to their differences?",
            "The differences k_j - k_i must all have a positive product with q: draw keys in the plane and "
            "look for a line that has k_j on one side and all the others on the other side. Which keys "
            "have none?",
            "k_j itself is such a direction if all keys have one length, but not if a longer key lies "
            "behind k_j. What counts is the shape of all the others together, their convex hull. In an "
            "answer, its point that is nearest to k_j is called h_j.",
            "The line that keeps the largest distance stands at right angles to the shortest way from the "
            "hull of the others to k_j.",
        ),
    ),
    Question(
        "1.2",
        "Averaging two values",
        f"{_ATTENTION}\nThe keys are orthogonal and have length 1. Find a query with a = (v_a + v_b)/2, as "
        "nearly as you like, for any number of keys m and any dimension d.",
        {"k_a, k_b": "the two keys (mu_a and mu_b are the same here)", **_CHOSEN, **_SIZES},
        "q = ...",
        (
            "Which two weights must be 1/2, and what must the others be? What does that say about the "
            "products q.k_i?",
            "Two products have to be equal and above all others. Which vector has the same product with "
            "k_a as with k_b, and 0 with every key that is orthogonal to both?",
            "With the right direction, look at the size: m - 2 other keys have e^0 = 1 each. How large "
            "must the two products be for the others not to matter, however many they are?",
        ),
    ),
    Question(
        "1.3",
        "The same average, of keys of random length",
        f"{_ATTENTION}\nNow k_i = lambda_i mu_i with lambda_i ~ N(1, beta); the mu_i are orthogonal and have "
        "length 1. You reuse your query of 1.2, once with the mu and once with the k. What does a look "
        "like in a single sample, and what on average over many? To be checked: one query with a = (v_a + "
        "v_b)/2 in every sample with positive lambda; it may look at the keys.",
        {**_NOISY, "beta": "the variance of the lengths", **_CHOSEN, **_SIZES},
        "q = ...",
        (
            "Write down q.k_a and q.k_b for q = c(mu_a + mu_b). By how much do they differ?",
            "alpha_a/alpha_b = exp(q.k_a/sqrt(d) - q.k_b/sqrt(d)): the same large c that shuts out the other "
            "keys multiplies this difference, too.",
            "For every sample to come out even, q.k_a = q.k_b must hold whatever the lengths are: a longer "
            "key needs a smaller share in q.",
        ),
    ),
    Question(
        "1.4",
        "Two heads",
        f"{_ATTENTION}\nThe keys are those of 1.3, but now two queries q_1 and q_2 give two outputs, and the "
        "result is their mean, (a_1 + a_2)/2. Find two queries with which it is (v_a + v_b)/2 in every "
        "sample with positive lambda.",
        {**_NOISY, "beta": "the variance of the lengths", **_CHOSEN, **_SIZES},
        "q_1 = ...; q_2 = ...",
        (
            "One query failed because it had to hold a balance. Which task needs no balance, however long "
            "the keys are?",
            "The mean of two outputs is already half of each. What should each of them be?",
            "Each head only has to copy one value, as in 1.1, and a positive length does not change which "
            "key wins.",
        ),
    ),
    Question(
        "1.5",
        "Noise along one key's own direction",
        f"{_ATTENTION}\nNow k_a ~ N(mu_a, alpha I + (1/2) mu_a mu_a^T), and the other keys have the "
        "covariance alpha I with a tiny alpha; the mu_i are orthogonal and have length 1. What does the "
        "query of 1.2 do from sample to sample, and what do the two of 1.4? To be checked: one query or "
        "two, with which the output is (v_a + v_b)/2 in every sample in which mu_a.k_a is positive.",
        {
            "k_a, k_b": "the two keys, as they come out",
            "mu_a, mu_b": "their means, orthogonal vectors of length 1",
            "alpha": "the tiny variance",
            **_CHOSEN,
            **_SIZES,
        },
        "q_1 = ...; q_2 = ...",
        (
            "In which direction does k_a vary noticeably? What does that do to its length?",
            "It is 1.3 again, with noise in one key alone: where k_a comes out long, who wins?",
            "What repaired 1.3 in 1.4 does not depend on where the noise is.",
        ),
    ),
    Question(
        "1.6",
        "Self-attention without projections",
        "Three inputs, x_1 = u_d + u_b, x_2 = u_a, x_3 = u_c + u_b, are made of orthogonal parts of one "
        "large length B. Queries, keys and values are the inputs themselves, and there is no 1/sqrt(d). "
        "What is the second output, c_2? Could it become u_b if u_d or u_c were added to x_2?",
        _PARTS,
        "c_2 = ...",
        (
            "Write down the three products of x_2 with x_1, x_2 and x_3, in units of B^2.",
            "B is large, so the largest product takes all of the weight. Which is it?",
            "With u_d added, x_2.x_1 becomes B^2. What becomes of x_2.x_2? And is u_b anywhere between the "
            "inputs?",
        ),
    ),
    Question(
        "1.7",
        "Self-attention with K, Q and V",
        "The inputs are those of 1.6, and there is no 1/sqrt(d), but now k_i = K x_i, q_i = Q x_i and v_i "
        "= V x_i. Find matrices K, Q and V with c_2 = u_b and c_1 = u_b - u_c, as nearly as you like for "
        "large B.",
        {**_PARTS, "I": "the identity matrix"},
        "K = ...; Q = ...; V = ...",
        (
            "Begin with the values: u u^T/B^2 keeps the part u of an input and removes the others. Which V "
            "makes u_b of one input and u_b - u_c of another?",
            "Then x_2 has to attend to the one, and x_1 to the other. Leave the keys as they are, K = I.",
            "(w u^T)/B^2 turns a part u into w. Which part does each of the inputs that are to be attended "
            "to have for itself, and what has Q to make of x_2, and of x_1?",
        ),
    ),
    Question(
        "scaling",
        "Why 1/sqrt(d)",
        "Queries and keys have d entries of mean 0 and variance 1. How does the variance of q.k grow with "
        "d? What does that do to the weights, and to what can be learnt from them, without 1/sqrt(d)?",
        {},
        "",
        (
            "q.k is a sum of d independent terms; variances of independent terms add up.",
            "What does the softmax of large logits look like, and what is its derivative there?",
        ),
    ),
)

QUESTIONS: Mapping[str, Question] = {question.task: question for question in _ALL}
