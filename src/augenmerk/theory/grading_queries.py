"""Tries queries, the answers to 1.1 to 1.5, on random instances: whether they hold, and in numbers why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.answers import Answers, show_names
from augenmerk.theory.attention import Array, choose_scale, orthonormal, softmax, total_variation
from augenmerk.theory.choices import (
    Choice,
    Experiment,
    Letters,
    distinct_values,
    find_choice,
    find_limit,
    settle,
)
from augenmerk.theory.copying import reach
from augenmerk.theory.expressions import NotFiniteError
from augenmerk.theory.grading import Outcome
from augenmerk.theory.noise import KeyNoise
from augenmerk.theory.results import MISTAKES

TOLERANCE = 0.02  # an answer holds if no more weight than this is in the wrong position
LIMIT = 1e-5  # the same where letters are as large or as small as can be
FEW = 8  # samples with which the choice of letters is looked for
MAX_LOGIT = 1e9  # logits up to this are known to within LIMIT: a product may lose dozens of its last units
MIN_LAMBDA = 0.05
"""The claims are about keys of positive length; samples with a lambda below this are counted separately."""
ALPHA = 1e-36
"""The variance in all directions in 1.5: tiny, as the task says, so that no size of c makes it matter."""
FAR = 1e5
"""How far keys are from the origin where it must not matter, so that nothing but k_j - h_j is right."""


@dataclass(frozen=True)
class Condition:
    keys: int
    dim: int
    beta: float = 0.0
    sort: str = "orthonormal"
    """The kind of keys in 1.1: orthonormal, random, flat (few dimensions, very different lengths), far
    (random, and all of them far from the origin) or sphere (of length 1)."""
    first_only: bool = False
    """Whether only the first key is noisy, as in 1.5, which has no name for the variance."""

    def __str__(self) -> str:
        kinds = {"random": "random keys", "flat": "keys of unequal length", "far": "keys far from 0"}
        kinds["sphere"] = "keys of length 1"
        noise = f" with beta {self.beta:g}" if self.beta and not self.first_only else ""
        return f"{self.keys} {kinds.get(self.sort, 'keys')} in {self.dim} dimensions{noise}"


@dataclass(frozen=True)
class Instances:
    """Many instances of a task under one condition.

    Vectors are given by their coordinates in the span of those that have names, which is all that matters of
    them: whatever the dimension, there are no more than four.
    """

    names: Mapping[str, Array]  # (N) or (N, r)
    keys: Array  # (N, m, r)
    covered: NDArray[np.bool_]  # (N): whether the claim covers them: lambda_a, lambda_b are above MIN_LAMBDA

    def few(self) -> "Instances":
        """Returns the first instances that the claim covers."""
        first = np.flatnonzero(self.covered)[:FEW]
        names = {name: values[first] for name, values in self.names.items()}
        return Instances(names, self.keys[first], self.covered[first])


@lru_cache(maxsize=5)  # the conditions of one task, since a class answers it many times
def draw_instances(
    known: frozenset[str], condition: Condition, count: int, seeds: tuple[int, int]
) -> Instances:
    """Draws instances of the task with these names under a condition, the same for the same seeds."""
    rng = np.random.default_rng(seeds)
    draw = _draw_copying if "k_j" in known else _draw_pair
    keys, all_names = [], []
    for _ in range(count):
        own, names = draw(condition, rng)
        vectors = [value for value in names.values() if isinstance(value, np.ndarray)]
        basis, _ = np.linalg.qr(np.stack(vectors, axis=1))
        keys.append(own @ basis)
        all_names.append({n: v @ basis if isinstance(v, np.ndarray) else v for n, v in names.items()})
    joined = {name: np.array([names[name] for names in all_names]) for name in all_names[0]}
    covered = np.ones(count, np.bool_)
    for name in {"lambda_a", "lambda_b"} & joined.keys():
        covered &= joined[name] > MIN_LAMBDA
    offered = {name: values for name, values in joined.items() if name in known}
    return Instances(offered, np.stack(keys), covered)


def _draw_pair(condition: Condition, rng: np.random.Generator) -> tuple[Array, dict[str, Array | float]]:
    """Draws noisy keys (m, d), the values of the first two of which are to be averaged, and names."""
    noise = KeyNoise.of_norms(condition.keys, condition.beta)
    if condition.first_only:
        noise = KeyNoise.of_first(condition.keys, condition.beta, ALPHA)
    means = orthonormal(condition.keys, condition.dim, rng)
    [lambdas], [keys] = noise.sample(means, 1, rng)
    return keys, {
        **{"k_a": keys[0], "k_b": keys[1], "mu_a": means[0].copy(), "mu_b": means[1].copy()},
        **{"lambda_a": float(lambdas[0]), "lambda_b": float(lambdas[1])},
        **{"beta": condition.beta, "alpha": ALPHA},
    }


def _draw_copying(condition: Condition, rng: np.random.Generator) -> tuple[Array, dict[str, Array | float]]:
    """Draws keys such that the value of the first can be copied, and names."""
    if condition.sort == "orthonormal":
        keys = orthonormal(condition.keys, condition.dim, rng)
        nearest = keys[1:].mean(axis=0)  # by symmetry
    else:
        keys = rng.standard_normal((condition.keys, condition.dim))
        if condition.sort == "flat":
            keys *= rng.uniform(0.3, 3.0, size=(condition.keys, 1))
        if condition.sort == "sphere":
            keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        if condition.sort == "far":
            keys += FAR * orthonormal(1, condition.dim, rng)
        # With a large margin: the question is whether the query is right, not whether c is large enough.
        found = (reach(keys, [j]) for j in rng.permutation(len(keys)))
        best = next((each for each in found if each.margin > 0.2), None)
        if best is None:
            return _draw_copying(condition, rng)
        nearest, [first] = best.hull_weights @ keys, best.subset
        keys[[0, first]] = keys[[first, 0]]
    return keys, {"k_j": keys[0], "k_mean": keys[1:].mean(axis=0), "h_j": nearest}


@dataclass(frozen=True)
class Trial:
    """The answer under one condition."""

    condition: Condition
    letters: Letters
    logits: Array  # (samples, heads, m)
    covered: NDArray[np.bool_]  # (samples)
    targets: int  # how many of the first keys the answer should attend to: one or two
    factor: float = 1.0  # the number by which the whole answer was multiplied
    is_limit: bool = False  # whether letters, or a factor, are as large as can be, to see what it tends to

    @cached_property
    def head_weights(self) -> Array:
        """The weights (samples, heads, m)."""
        return softmax(self.logits)

    @property
    def wanted(self) -> Array:
        """The weights (m) that the answer should give."""
        return np.repeat([1 / self.targets, 0.0], [self.targets, self.condition.keys - self.targets])

    @cached_property
    def errors(self) -> Array:
        """The weight (samples) in the wrong position."""
        return total_variation(self.head_weights.mean(axis=1), self.wanted)

    @property
    def error(self) -> float:
        """The largest error of the samples that the claim covers."""
        return float(self.errors[self.covered].max())

    @property
    def holds(self) -> bool:
        return self.error <= (LIMIT if self.is_limit else TOLERANCE)

    @property
    def weights(self) -> Array:
        """The mean weights (m) over heads and covered samples."""
        return np.asarray(self.head_weights[self.covered].mean(axis=(0, 1)))

    @property
    def first_weights(self) -> Array:
        """The weight on the first value in each covered sample, averaged over heads."""
        return np.asarray(self.head_weights[self.covered].mean(axis=1)[:, 0])

    def as_row(self) -> dict[str, Any]:
        hidden = {"first_only", "beta"} if self.condition.first_only else {"first_only"}
        return {
            **{name: value for name, value in vars(self.condition).items() if name not in hidden},
            **{"letters": dict(self.letters), "times": self.factor},
            **{"weights": self.weights[: self.targets].tolist()},
            **{"deviation": float(self.first_weights.std()), "error": self.error, "holds": self.holds},
            **{"samples": len(self.covered), "outside_the_claim": float(1 - self.covered.mean())},
        }

    def to_limit(self) -> "Trial":
        """Multiplies each head by a number that is as large as rounding allows."""
        sizes = np.abs(self.logits[self.covered]).max(axis=(0, 2))
        factors = np.where(sizes > 0, MAX_LOGIT / np.where(sizes > 0, sizes, 1.0), 1.0)
        logits = self.logits * factors[:, None]
        return replace(self, factor=float(factors.max()), logits=logits, is_limit=True)

    def enlarge(self) -> "Trial":
        """Multiplies a failing answer by 2, 5, 10, ... until it holds; returns its limit if none helps."""
        limit = self.to_limit()
        # The size of the weaker head decides how much larger the answer has to be.
        size = float(np.median(np.abs(self.logits[self.covered]).max(axis=2), axis=0).min())
        if not limit.holds or not size:
            return limit
        first = max(0, math.floor(-math.log10(size)))
        # From text, because 2 times 10^23 is not quite 2e23.
        factors = (float(f"{digit}e{power}") for power in range(first, first + 9) for digit in (1, 2, 5))
        larger = (replace(self, factor=by, logits=self.logits * by) for by in factors if by * size <= 1e6)
        return next((each for each in larger if each.holds), limit)


ROUNDING = 1e-3  # if the last digit of a logit is worth more than this, rounding may decide, not the answer
MOSTLY = 0.8  # the weight above which a head attends to something
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
        if trial is None or not np.abs(trial.logits[trial.covered]).max() <= MAX_LOGIT:
            return None
        if in_the_limit:
            return trial.error <= LIMIT
        return trial.holds and trial.to_limit().holds

    def error(self, number: int, letters: Letters) -> float:
        trial = self._try_few(number, letters)
        return math.nan if trial is None else trial.error

    def lean(self, number: int, letters: Letters) -> Array:
        trial = self._try_few(number, letters)
        if trial is None or trial.targets == 1 or trial.logits.shape[1] > 1:
            return np.array([math.nan])
        a, b = trial.logits[:, 0, 0], trial.logits[:, 0, 1]
        with np.errstate(all="ignore"):
            return np.asarray((a - b) / (np.abs(a) + np.abs(b)))

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
        condition = self.conditions[number]
        instances = draw_instances(self.exercise.known, condition, self.samples, (self.seed, number))
        instances = instances.few() if few else instances
        keys = instances.keys
        names: dict[str, Array | float] = {**instances.names, **self.sizes(number), "e": math.e, **letters}
        values = self.answers.values(names, keys.shape[2:], rule)
        shape = (len(keys), *keys.shape[2:])
        queries = np.stack([np.broadcast_to(query, shape) for query in values], axis=1)
        with np.errstate(all="ignore"):  # `check_shapes` looks for what is not finite
            logits = queries @ keys.swapaxes(1, 2) * choose_scale(self.scale, condition.dim)
        in_order = {name: letters[name] for name in self.letters}
        return Trial(condition, in_order, logits, instances.covered, len(self.exercise.key.targets))

    def try_out(self, texts: Sequence[str]) -> Outcome:
        choice, trials = self._try_choices(texts)
        rows = [trial.as_row() for trial in trials]
        if choice:
            return Outcome(rows, choice.introduce(_explain_success(trials)), only_if=choice.only_if)
        self.check_decided()
        mistake, why, missing = _explain_failure(self.answers, trials)
        return Outcome(rows, why, mistake, missing_scale=missing)

    def _try_choices(self, texts: Sequence[str]) -> tuple[Choice | None, list[Trial]]:
        numbers = range(len(self.conditions))
        if not self.letters:
            trials = [self.attempt(number, {}) for number in numbers]
            for trial in trials:
                _check_rounding(texts, trial)
            # What holds at one size only, and not at every larger one, is shown where it fails.
            limits = [trial.to_limit() for trial in trials]
            trials = [
                limit if trial.holds and not limit.holds else trial
                for trial, limit in zip(trials, limits, strict=True)
            ]
            holds = all(trial.holds for trial in trials)
            return self._up_to_a_size(Choice({})) if holds else None, trials
        if choice := find_choice(self):
            trials = [self.attempt(number, settle(self, number, choice)) for number in numbers]
            limits = [self.attempt(n, find_limit(self, n, choice)) for n in numbers]
            in_the_limit = not choice.rates or all(limit.error <= LIMIT for limit in limits)
            if in_the_limit and all(trial.holds for trial in trials):
                return (choice if choice.rates else self._up_to_a_size(choice)), trials
        # With all letters equally large, or small where a condition forbids that.
        rates = {n: 1.0 if 1 in self.allowed(n) else -1.0 for n in self.letters}
        plainly = [self.attempt(n, find_limit(self, n, Choice(rates))) for n in numbers]
        return None, [replace(trial, is_limit=True) for trial in plainly]

    def _up_to_a_size(self, choice: Choice) -> Choice:
        """Adds the condition of a query that does not grow with the numbers of keys and dimensions."""
        if {"m", "d"} <= self.answers.uses | (set() if self.scale is None else {"d"}):
            return choice
        conditions = [*filter(None, [choice.only_if]), "m and d are not too large"]
        return replace(choice, only_if=" and ".join(conditions))


def _check_rounding(texts: Sequence[str], trial: Trial) -> None:
    """Raises AugenmerkError if rounding may have decided, so that there is no verdict about the answer."""
    limits, largest = np.finfo(np.float64), float(np.abs(trial.logits).max())
    if trial.holds or not largest or limits.tiny / limits.eps <= largest <= ROUNDING / limits.eps:
        return
    raise AugenmerkError(
        f"'{shorten('; '.join(texts), 200)}' makes logits of {largest:.0e} for {trial.condition}, so "
        f"{'small' if largest < 1 else 'large'} that their rounding decides and not the answer: write c "
        "instead of a number, and several sizes are tried."
    )


def _explain_success(trials: Sequence[Trial]) -> str:
    """Returns the reason why the answer holds."""
    worst = max(trial.error for trial in trials)
    error = "less than 0.0001" if worst < 0.0001 else f"no more than {worst:.4f}"
    what = "v_j" if trials[0].targets == 1 else "(v_a + v_b)/2"
    largest = max((trial.condition for trial in trials), key=lambda condition: condition.keys)
    why = f"{error} of the weight misses {what}, in any of {len(trials)} conditions up to {largest}"
    astray = max((trial.as_row() for trial in trials), key=lambda row: row["outside_the_claim"])
    if uncovered := astray["outside_the_claim"]:
        below, positive = f"mu_a.k_a below {MIN_LAMBDA} ({uncovered:.0%} of all)", "mu_a.k_a"
        if "beta" in astray:
            share = f"{uncovered:.0%} of all with beta {astray['beta']:g}"
            below, positive = f"a lambda_a or lambda_b below {MIN_LAMBDA} ({share})", "lambda"
        why += f"; samples with {below} do not count, since the question asks for positive {positive}"
    return why + "."


def _explain_failure(answers: Answers, trials: Sequence[Trial]) -> tuple[str, str, bool]:
    """Names the mistake, explains it, and returns whether a scale is all that is missing.

    The reason is about the first condition that fails, and about the first that fails with any scale.
    """
    scaled = [trial if trial.holds else trial.enlarge() for trial in trials]
    missing = all(trial.holds for trial in scaled)
    trial, larger = next((own, large) for own, large in zip(trials, scaled, strict=True) if not own.holds)
    one_head = trial.head_weights.shape[1] == 1
    if answers.letters:
        is_short = "the query is too short" if one_head else "the queries are too short"
        lack = f"{is_short} for every size of {' and '.join(answers.letters)} that was tried"
    elif answers.has_fixed_scale:
        lack = f"the scale of the {'query' if one_head else 'queries'} is too small"
        if enough := next((each.condition for each in trials if each.holds), None):
            lack += f", though large enough for {enough}"
    else:
        lack = "the query has no scale" if one_head else "the queries have no scale"
    targets = "weight on j reaches" if trial.targets == 1 else "weights on a and b reach"
    weights = [f"{weight:.2f}" for weight in trial.weights[: trial.targets]]
    numbers = f"{weights[0]} each" if weights == weights[:1] * 2 else " and ".join(weights)
    small = f"the {targets} only {numbers} for {trial.condition}: {lack}"
    if missing:
        fixed = answers.has_fixed_scale
        what = "a larger scale" if fixed else "the scale"
        why = f"{small}; {larger.factor:g} times as large it holds there, so {what} is all that is missing."
        return "scale too small" if fixed else "no scale", why, True
    failed = next(each for each in scaled if not each.holds)
    mistake = _name_mistake(failed)
    why = MISTAKES[mistake]
    reason = f"{_describe_weights(failed)}: {why[0].lower()}{why[1:]}"
    # A scale is missing as well if the answer does something else when it is larger.
    if not trial.is_limit and larger.factor != 1 and larger.error < trial.error - TOLERANCE:
        reason = f"{small}; and a scale would not save it: {reason}"
    return mistake, reason, False


def _describe_weights(trial: Trial) -> str:
    """Returns the weights that an answer gives and those that it should give."""
    where = f"for {trial.condition}{' and a very large scale' if trial.is_limit else ''}"
    first = trial.first_weights
    if trial.targets == 1:
        return f"{where} the weight on j goes down to {first.min():.2f}"
    digits = 2 if total_variation(trial.weights, trial.wanted) > TOLERANCE else 6
    a, b = (f"{weight:.{digits}f}" for weight in trial.weights[:2])
    heads, more = trial.head_weights[trial.covered].mean(axis=0), ""
    if len(heads) > 1:
        each = (f"head {n} puts {head[0]:.2f} on a and {head[1]:.2f} on b" for n, head in enumerate(heads, 1))
        more = f" ({', '.join(each)})"
    elif first.std() > TOLERANCE:
        low, high = np.quantile(first, [0.05, 0.95])
        more = f" (that on a from {low:.2f} to {high:.2f} in single samples)"
    return f"{where} the weights on a and b come to {a} and {b}{more}, instead of 0.50 and 0.50"


def _name_mistake(trial: Trial) -> str:
    """Returns which of MISTAKES an answer makes that no scale repairs."""
    first, off = trial.first_weights, total_variation(trial.weights, trial.wanted)
    if not trial.logits.any():
        return "zero query"
    if trial.targets == 1:
        return "points away" if (trial.logits[:, 0, 0] < 0).all() else "another key wins"
    if off <= TOLERANCE + 3 * first.std() / np.sqrt(len(first)) and first.std() > TOLERANCE:
        return "right only on average"
    heads = trial.head_weights[trial.covered].mean(axis=0)
    if len(heads) > 1:
        copies = [head[:2] > MOSTLY for head in heads]
        if any(map(np.any, copies)) and (copies[0] == copies[1]).all():
            return "both heads on one key"
        on_two = [
            head[:2].sum() > MOSTLY and not any(copied) for head, copied in zip(heads, copies, strict=True)
        ]
        return "a head on two keys" if any(on_two) else "other keys"
    # The products with the keys, relative to the largest.
    products = trial.logits[trial.covered][:, 0]
    products = products / np.maximum(np.abs(products).max(axis=1, keepdims=True), np.finfo(float).tiny)
    a, b = np.median(products[:, :2], axis=0)
    lifted = np.array([a, b]) > np.median(products[:, 2:].max(axis=1)) + TOLERANCE
    if lifted.any():
        return "leans to one" if lifted.all() else "only one of two"
    return "points away" if max(a, b) < -TOLERANCE else "other keys"
