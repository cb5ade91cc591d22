"""Why an answer to 1.1 to 1.5 holds or fails, in numbers, and the kind of mistake that it makes."""

from collections.abc import Mapping, Sequence

import numpy as np

from augenmerk.theory.answers import Answers
from augenmerk.theory.attention import Array, total_variation
from augenmerk.theory.trials import MIN_LAMBDA, TOLERANCE, Trial

MISTAKES: Mapping[str, str] = {
    "no scale": "The direction is right, but the query is too short for the softmax to decide.",
    "scale too small": "There is a scale, but one that is too small for many keys or many dimensions.",
    "right only on average": "Every sample leans to one side; only the mean over many is the average.",
    "leans to one": "Both keys are above all others, but not equally, and a scale magnifies the difference.",
    "only one of two": "The query points to one of the two keys alone.",
    "points away": "The query points away from what it should attend to.",
    "other keys": "Keys are attended to that should not be.",
    "another key wins": "Another key has the larger product with the query, for some sets of keys.",
    "both heads on one key": "Both heads copy the same value.",
    "a head on two keys": "A head attends to two keys, and swings between them as a single head does.",
    "zero query": "The query is 0 and attends to everything alike.",
    "right under a condition": "It holds only for some letters, such as t = c, or up to some size.",
    "incomplete": "There are fewer formulas than the task asks for.",
    "another output": "c_2 comes out differently: what is the largest product of x_2?",
    "factor missing": "Only a factor is missing or wrong, such as 1/B^2 for the length of the parts.",
    "wrong value": "Each input attends to one input, but V does not make the wanted output of it.",
    "attention is spread": "An input attends to several inputs.",
}
"""The kinds of mistake, each in a sentence for the teacher."""
MOSTLY = 0.8  # the weight above which a head is said to attend to something


def explain_success(trials: Sequence[Trial]) -> str:
    """Returns the reason why the answer holds."""
    worst = max(trials, key=lambda trial: trial.error)
    error = "less than 0.0001" if worst.error < 0.0001 else f"no more than {worst.error:.4f}"
    what = "v_j" if worst.targets == 1 else "(v_a + v_b)/2"
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


def explain_failure(
    answers: Answers, trials: Sequence[Trial], scaled: Sequence[Trial], missing_scale: bool
) -> tuple[str, str]:
    """Names the mistake, and explains the first condition that fails and the first that any scale fails."""
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
    if missing_scale:
        mistake, what = (
            ("scale too small", "a larger scale") if answers.has_fixed_scale else ("no scale", "the scale")
        )
        return (
            mistake,
            f"{small}; {larger.factor:g} times as large it holds there, so {what} is all that is missing.",
        )
    mistake, reason = _explain_misses(next(each for each in scaled if not each.holds))
    # A scale is missing as well if the answer does something else when it is larger.
    if not trial.is_limit and larger.factor != 1 and larger.error < trial.error - TOLERANCE:
        return mistake, f"{small}; and a scale would not save it: {reason}."
    return mistake, f"{reason}."


def _explain_misses(trial: Trial) -> tuple[str, str]:
    """Names the mistake that no scale repairs, and explains it."""
    where = f"for {trial.condition}{' and a very large scale' if trial.is_limit else ''}"
    if not trial.logits.any():
        return "zero query", f"{where} the query is 0, so that all keys are attended to alike"
    first = trial.first_weights
    if trial.targets == 1:
        return _explain_lost_key(trial)
    standard_error = first.std() / np.sqrt(len(first))
    off = total_variation(trial.weights, trial.wanted)
    if off <= TOLERANCE + 3 * standard_error and first.std() > TOLERANCE:
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
    first, products = trial.first_weights, trial.logits[:, 0]
    lost = float((first < 0.5).mean())
    text = (
        f"for {trial.condition} another key has the larger product with the query in {lost:.0%} of the "
        f"instances (weight on j down to {first.min():.2f})"
    )
    if (products[:, 0] < 0).all():
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
    copied = [
        next((name for name, weight in zip("ab", head, strict=False) if weight > MOSTLY), "")
        for head in heads
    ]
    both = [not one and head[:2].sum() > MOSTLY for one, head in zip(copied, heads, strict=True)]
    does = [
        f"head {number} "
        + (f"copies v_{one}" if one else "attends to both" if two else "attends to other keys")
        for number, (one, two) in enumerate(zip(copied, both, strict=True), 1)
    ]
    if copied[0] and copied[0] == copied[1]:
        return "both heads on one key", f"both heads copy v_{copied[0]}"
    mistake = "a head on two keys" if any(both) else "other keys"
    return mistake, " and ".join(does)
