"""Tries queries, the answers to 1.1 to 1.5, on random keys, and explains in numbers why they hold or fail."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.theory.answers import Answers, show_names
from augenmerk.theory.attention import Array, choose_scale, total_variation
from augenmerk.theory.expressions import NotFiniteError
from augenmerk.theory.letters import (
    Choice,
    Experiment,
    Letters,
    Outcome,
    distinct_values,
    find_choice,
    find_limit,
    settle,
)
from augenmerk.theory.trials import LIMIT, MAX_LOGIT, MIN_LAMBDA, TOLERANCE, Condition, Trial, draw_instances

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
            along = _are_parallel(queries[:, 0], keys[:, 0])
        in_order = {name: letters[name] for name in self.letters}
        targets = len(self.exercise.key.targets)
        return Trial(condition, in_order, logits, instances.covered, targets, along)

    def try_out(self, texts: Sequence[str]) -> Outcome:
        choice, trials = self._try_choices(texts)
        rows = [trial.as_row() for trial in trials]
        if choice:
            return Outcome(choice, rows, choice.introduce(_explain_success(trials)))
        self.check_decided()
        mistake, why, missing = _explain_failure(self.answers, trials)
        return Outcome(None, rows, why + self._name_other_size(), mistake, missing)

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

    def _name_other_size(self) -> str:
        """Returns with which sizes of letters the answer would hold, if its own conditions exclude them."""
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
        held = 1 - astray["outside_the_claim_and_missed"] / uncovered
        why += f", though the answer holds in {held:.0%} of them" if held >= 0.005 else ""
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
    mistake, reason = _explain_misses(next(each for each in scaled if not each.holds))
    # A scale is missing as well if the answer does something else when it is larger.
    if not trial.is_limit and larger.factor != 1 and larger.error < trial.error - TOLERANCE:
        reason = f"{small}; and a scale would not save it: {reason}"
    return mistake, f"{reason}.", False


def _explain_misses(trial: Trial) -> tuple[str, str]:
    """Names the mistake that no scale repairs, and explains it."""
    where = f"for {trial.condition}{' and a very large scale' if trial.is_limit else ''}"
    if not trial.logits.any():
        return "zero query", f"{where} the query is 0, so that all keys are attended to alike"
    if trial.targets == 1:
        return _explain_lost_key(trial)
    first = trial.first_weights
    off = total_variation(trial.weights, trial.wanted)
    if off <= TOLERANCE + 3 * first.std() / np.sqrt(len(first)) and first.std() > TOLERANCE:
        low, high = np.quantile(first, [0.05, 0.95])
        return (
            "right only on average",
            f"{where} only the mean over resamplings is right: in single samples the weight on a goes from "
            f"{low:.2f} to {high:.2f} (deviation {first.std():.2f}), because q.k_a and q.k_b differ as the "
            "keys do",
        )
    digits = 2 if off > TOLERANCE else 6
    a, b = (f"{weight:.{digits}f}" for weight in trial.weights[:2])
    text = f"{where} the weights on a and b come to {a} and {b}"
    heads = trial.head_weights[trial.covered].mean(axis=0)
    if len(heads) > 1:
        each = [f"head {n} puts {head[0]:.2f} on a and {head[1]:.2f} on b" for n, head in enumerate(heads, 1)]
        text += f" ({', '.join(each)})"
    mistake, direction = _explain_heads(heads) if len(heads) > 1 else _explain_direction(trial)
    return mistake, f"{text}, instead of 0.50 and 0.50: {direction}"


def _explain_lost_key(trial: Trial) -> tuple[str, str]:
    """Explains a query for one key that another key wins."""
    first = trial.first_weights
    text = (
        f"for {trial.condition} another key has the larger product with the query in "
        f"{float((first < 0.5).mean()):.0%} of the instances (weight on j down to {first.min():.2f})"
    )
    if (trial.logits[:, 0, 0] < 0).all():
        return "points away", f"{text}: the query points away from k_j"
    if trial.along_first:
        text += (
            "; a multiple of k_j is right only where k_j.k_j is above every k_j.k_i, as it is for keys of "
            "one length"
        )
    return "another key wins", text


def _explain_direction(trial: Trial) -> tuple[str, str]:
    """Explains a query for two keys by its products with them, relative to the largest product."""
    products = trial.logits[trial.covered][:, 0]
    products = products / np.maximum(np.abs(products).max(axis=1, keepdims=True), np.finfo(float).tiny)
    a, b = (float(np.median(products[:, key])) for key in (0, 1))
    others = float(np.median(products[:, 2:].max(axis=1)))
    lifted = [product > others + TOLERANCE for product in (a, b)]
    if all(lifted):
        larger, smaller = ("a", "b") if a > b else ("b", "a")
        return "leans to one", (
            f"q.k_{larger} is larger than q.k_{smaller} (as {max(a, b):.4g} to "
            f"{min(a, b):.{4 if abs(a - b) > 1e-3 else 14}g}), and no scale makes them equal"
        )
    if any(lifted):
        on, off, product = ("a", "b", b) if lifted[0] else ("b", "a", a)
        how = "negative" if product < -TOLERANCE else "no larger than with any other key"
        return "only one of two", f"the query points to k_{on} alone; q.k_{off} is {how}"
    if max(a, b) < -TOLERANCE:
        return "points away", "the query points away from both: its products with k_a and k_b are negative"
    return "other keys", "the query lifts neither k_a nor k_b above the other keys"


def _explain_heads(heads: Array) -> tuple[str, str]:
    """Explains two heads by their mean weights (2, m) on the keys."""
    does = []
    for head in heads:
        copied = next((f"copies v_{name}" for name, w in zip("ab", head, strict=False) if w > MOSTLY), "")
        does.append(copied or ("attends to both" if head[:2].sum() > MOSTLY else "attends to other keys"))
    if does[0] == does[1] and does[0].startswith("copies"):
        return "both heads on one key", f"both heads copy {does[0].removeprefix('copies ')}"
    mistake = "a head on two keys" if "attends to both" in does else "other keys"
    return mistake, " and ".join(f"head {number} {what}" for number, what in enumerate(does, 1))
