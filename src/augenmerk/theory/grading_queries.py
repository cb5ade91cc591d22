"""Tries queries, the answers to 1.1 to 1.5, on random keys."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.answers import show_names
from augenmerk.theory.attention import Array, choose_scale
from augenmerk.theory.expressions import NotFiniteError
from augenmerk.theory.letters import (
    Choice,
    Experiment,
    Letters,
    distinct_values,
    find_choice,
    find_limit,
    settle,
)
from augenmerk.theory.mistakes import explain_failure, explain_success
from augenmerk.theory.trials import LIMIT, Condition, Instances, Trial, draw_instances, enlarge, to_limit

ROUNDING = 1e-3
"""If the last digit of a logit is worth more than this, rounding may decide instead of the answer."""
RULE = "a query is a vector like the keys"


@dataclass(frozen=True)
class QueryExperiment(Experiment):
    """Queries, tried with values of their letters."""

    @cached_property
    def conditions(self) -> Sequence[Condition]:
        return [Condition(**fields) for fields in self.exercise.key.conditions]

    def sizes(self, number: int) -> Mapping[str, float]:
        return {"d": float(self.conditions[number].dim), "m": float(self.conditions[number].keys)}

    def check_shapes(self) -> None:
        own = ", ".join(map(show_names, self.letters))
        rule = f"{RULE}{f' (read as numbers: {own})' if own else ''}"
        for number in range(len(self.conditions)):
            trial = self.attempt(number, distinct_values(self.letters), rule=rule)
            if not np.isfinite(trial.logits[trial.covered]).all():
                text = shorten("; ".join(each.text.strip() for each in self.answers.expressions), 200)
                raise AugenmerkError(
                    f"'{text}' cannot be computed for some of the keys: it has a root or a logarithm of a "
                    "negative number, a division by zero, or a number that is too large."
                )

    def holds(self, number: int, letters: Letters, in_the_limit: bool, in_all: bool = False) -> bool | None:
        trial = self._try_few(number, letters, few=not in_all)
        if trial is None or not trial.is_known:
            return None
        if in_the_limit:
            return trial.error <= LIMIT
        return trial.holds and to_limit(trial).holds

    def error(self, number: int, letters: Letters) -> float:
        trial = self._try_few(number, letters)
        return math.nan if trial is None else trial.error

    def lean(self, number: int, letters: Letters) -> Array | None:
        trial = self._try_few(number, letters)
        if trial is None or trial.targets == 1 or trial.logits.shape[1] > 1:
            return None
        a, b = trial.logits[:, 0, 0], trial.logits[:, 0, 1]
        with np.errstate(all="ignore"):
            return np.asarray((a - b) / (np.abs(a) + np.abs(b)))

    def query(self, letters: Letters) -> Array | None:
        try:
            return np.asarray(self._queries(0, letters, self._instances(0).few())[0])
        except NotFiniteError:
            return None

    def _instances(self, number: int) -> Instances:
        return draw_instances(self.exercise.task, self.conditions[number], self.samples, (self.seed, number))

    def _queries(self, number: int, letters: Letters, instances: Instances, rule: str = RULE) -> Array:
        """Returns the queries (N, heads, r)."""
        names: dict[str, Array | float] = {**instances.names, **self.conditions[number].numbers, **letters}
        found = self.answers.values(names, instances.keys.shape[2:], rule)
        shape = (len(instances.keys), *instances.keys.shape[2:])
        return np.stack([np.broadcast_to(query, shape) for query in found], axis=1)

    def _try_few(self, number: int, letters: Letters, few: bool = True) -> Trial | None:
        """Tries the answer; returns None if it cannot be computed with these letters."""
        try:
            return self.attempt(number, letters, few)
        except NotFiniteError:
            return None

    def attempt(self, number: int, letters: Letters, few: bool = False, rule: str = RULE) -> Trial:
        """Tries the answer; raises AugenmerkError with the rule if it is no query.

        Raises NotFiniteError if it cannot be computed at all with these letters.
        """
        instances, condition = self._instances(number), self.conditions[number]
        instances = instances.few() if few else instances
        queries, wanted = self._queries(number, letters, instances, rule), np.zeros(condition.keys)
        wanted[: len(self.exercise.key.targets)] = 1 / len(self.exercise.key.targets)
        with np.errstate(all="ignore"):  # what is not finite is looked for when all is known
            logits = queries @ instances.keys.swapaxes(1, 2) * choose_scale(self.scale, condition.dim)
            along = _are_parallel(queries[:, 0], instances.keys[:, 0])
        in_order = {name: letters[name] for name in self.letters}
        return Trial(condition, in_order, 1.0, logits, instances.covered, wanted, along)

    def try_out(self, texts: Sequence[str]) -> tuple[Choice | None, list[Trial]]:
        numbers = range(len(self.conditions))
        if not self.letters:
            trials = [self.attempt(number, {}) for number in numbers]
            for trial in trials:
                _check_rounding(texts, trial)
            # What holds at one size only, and not at every larger one, is shown where it fails.
            trials = [
                limit if trial.holds and not (limit := to_limit(trial)).holds else trial for trial in trials
            ]
            return (
                self._up_to_a_size(Choice({}, "")) if all(trial.holds for trial in trials) else None
            ), trials
        if choice := find_choice(self):
            trials = [self.attempt(number, settle(self, number, choice)) for number in numbers]
            limits = [self.attempt(n, find_limit(self, n, choice)) for n in numbers]
            in_the_limit = not choice.rates or all(limit.error <= LIMIT for limit in limits)
            if in_the_limit and all(trial.holds for trial in trials):
                return (choice if choice.rates else self._up_to_a_size(choice)), trials
        # With all letters equally large, or small where a condition forbids that.
        rates = {n: 1.0 if 1 in self.allowed(n) else -1.0 for n in self.letters}
        plainly = [self.attempt(n, find_limit(self, n, Choice(rates, ""))) for n in numbers]
        return None, [replace(trial, is_limit=True) for trial in plainly]

    def _up_to_a_size(self, choice: Choice) -> Choice:
        """Adds the condition of a query that does not grow with the numbers of keys and dimensions."""
        if {"m", "d"} <= self.answers.uses | (set() if self.scale is None else {"d"}):
            return choice
        conditions = [*filter(None, [choice.only_if]), "m and d are not too large"]
        return replace(choice, only_if=" and ".join(conditions))

    def explain_success(self, trials: Sequence[Trial]) -> str:
        return explain_success(trials)

    def explain_failure(self, trials: Sequence[Trial]) -> tuple[str, str, bool]:
        scaled = [trial if trial.holds else enlarge(trial) for trial in trials]
        missing = all(trial.holds for trial in scaled)
        mistake, why = explain_failure(self.answers, trials, scaled, missing)
        return mistake, why + self._name_other_size(), missing

    def _name_other_size(self) -> str:
        """Tells with which sizes of letters the answer would hold, if its own conditions rule them out."""
        if not any(letter in self.answers.signs for letter in self.letters):
            return ""
        choice = find_choice(replace(self, answers=replace(self.answers, signs={})))
        if choice is None:
            return ""
        where = f"only if {choice.only_if}" if choice.only_if else choice.where
        return f" It would hold {where}, but its own conditions rule this out."


def _are_parallel(some: Array, others: Array) -> bool:
    """Returns whether each vector (N, r) is a positive multiple of its counterpart."""
    sizes, lengths = np.linalg.norm(some, axis=1), np.linalg.norm(others, axis=1)
    return bool((sizes > 0).all() and ((some * others).sum(axis=1) > (1 - 1e-9) * lengths * sizes).all())


def _check_rounding(texts: Sequence[str], trial: Trial) -> None:
    """Raises AugenmerkError if rounding may have decided, so that there is no verdict about the answer."""
    limits, largest = np.finfo(np.float64), float(np.abs(trial.logits).max())
    if trial.holds or not largest or limits.tiny / limits.eps <= largest <= ROUNDING / limits.eps:
        return
    size, other = ("small", "larger") if largest < 1 else ("large", "smaller")
    raise AugenmerkError(
        f"'{shorten('; '.join(texts), 200)}' makes logits of {largest:.0e} for {trial.condition}, so {size} "
        f"that their rounding decides and not the answer; choose a {other} number, or c, for which several "
        "sizes are tried."
    )
