"""Grades what a given query is said to do to noisy keys: its two logits, and a statement to choose.

With q = c (mu_a + mu_b) the logits are c lambda_a and c lambda_b, and with q = c (k_a + k_b) they are
c lambda_a^2 and c lambda_b^2; the factor, with or without 1/sqrt(d), does not matter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from augenmerk.theory.answers import show_names
from augenmerk.theory.attention import Array
from augenmerk.theory.choices import distinct_values
from augenmerk.theory.grading import Outcome, Trying
from augenmerk.theory.grading_queries import Condition, draw_instances
from augenmerk.theory.results import MISTAKES

EXACT = 1e-9  # how far apart factors may be that are equal but for rounding
LETTERS = "ABCDEFGH"
"""The names of statements, in their order."""


@dataclass(frozen=True)
class LogitExperiment(Trying):
    """Two logits as formulas of the lengths, tried on random lengths, and the letter of a statement."""

    def check_shapes(self) -> None:
        self._compute(0)

    def _compute(self, number: int) -> tuple[Array, Array]:
        """Returns the lengths (N, 2) and logits (N, 2) under a condition, with positive lengths."""
        condition = Condition(**self.exercise.key.conditions[number])
        drawn = draw_instances(self.exercise.known, condition, self.samples, (self.seed, number))
        names: dict[str, Array | float] = {
            **{**drawn.names, "d": float(condition.dim), "m": float(condition.keys), "e": math.e},
            **distinct_values(self.answers.letters),
        }
        logits = self.answers.values(names, (), "a logit is a number")
        lengths = np.stack([drawn.names["lambda_a"], drawn.names["lambda_b"]], axis=1)
        given = np.stack([np.broadcast_to(each, len(lengths)) for each in logits], axis=1)
        return lengths[drawn.covered], given[drawn.covered]

    def try_out(self, texts: Sequence[str]) -> Outcome:  # noqa: ARG002
        rows, mistake = [], ""
        for number, condition in enumerate(self.exercise.key.conditions):
            found, error = _find_mistake(*self._compute(number))
            mistake = mistake or found
            rows.append({**condition, "letters": {}, "error": error, "holds": not found})
        letters, right = self.answers.letters, self.exercise.key.statement
        if not mistake and not letters and not self.answers.has_fixed_scale:
            mistake = "no scale"
        formulas = show_names(" and ".join(each.text.strip() for each in self.answers.expressions))
        if mistake:
            return Outcome(rows, f"{formulas}: {_lower(MISTAKES[mistake])}", mistake)
        said = "the products are right"
        if not self.answers.statement:
            every = f"{LETTERS[0]} to {LETTERS[len(self.exercise.statements) - 1]}"
            return Outcome(rows, f"{said}; which of the statements is true, {every}?", "incomplete")
        if self.answers.statement != right:
            why = f"{said}, but statement {self.answers.statement} does not follow from them."
            return Outcome(rows, why, "another statement")
        return Outcome(rows, f"{said}, and statement {right} is what they mean.")


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _find_mistake(lengths: Array, logits: Array) -> tuple[str, float]:
    """Returns one of MISTAKES, or nothing, and how far the factors of lengths or their squares differ."""
    error = math.inf
    for power in (1, 2):
        factors = logits / lengths**power
        error = min(error, float(np.ptp(factors) / (np.abs(factors).max() or 1.0)))
    if error <= EXACT:
        return ("" if logits.min() > 0 else "points away" if logits.any() else "zero query"), error
    if not logits.any(axis=0).all():
        return "only one of two", error
    return ("lengths left out" if np.ptp(logits, axis=0).max() <= EXACT else "other logits"), error
