"""Tasks 1.3, 1.4 and 1.5 without simulation: the logistic of a normal variable, and integrals over it.

With s = c * scale, mu orthonormal and lambda_i ~ N(1, beta_i), the logits of the first two keys are

    q = c (mu_a + mu_b)   s lambda_a,    s lambda_b       (queries from the means)
    q = c (k_a + k_b)     s lambda_a^2,  s lambda_b^2     (queries from the keys)

and those of the others are 0. The share of a, alpha_a / (alpha_a + alpha_b), is the logistic of their
difference and does not depend on the other keys.

Integrals over a normal density are trapezoid sums: for a smooth integrand that vanishes at both ends these
converge faster than any power of the step, as soon as the step resolves the logistic.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy.integrate import simpson
from scipy.special import expit, logit, ndtr

from augenmerk.theory.attention import Array

Origin = Literal["means", "keys"]
"""What queries are made of: the means, which are known beforehand, or the keys that were drawn."""

MAX_DEVIATIONS = 9.0  # integrals end at so many standard deviations: less than 1e-18 of the density is beyond
MAX_LOGIT = 40.0  # beyond this a logistic is within 1e-17 of its limit
MAX_NODES = 40_001


class Moments(NamedTuple):
    mean: float
    deviation: float
    fourth: float  # the fourth central moment, from which the standard error of a measured deviation follows

    @classmethod
    def of_loss(cls, first: float, second: float, third: float, fourth: float) -> "Moments":
        """Computes the moments of a weight from those of 1 - weight, which stay exact if that is tiny."""
        variance = max(0.0, second - first**2)
        central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return cls(1 - first, math.sqrt(variance), max(0.0, central))


def expect(f: Callable[[Array], Array], variance: float, steepness: float = 1.0) -> Array:
    """Returns E f(x) for x ~ N(0, variance), where f is vectorised over its last axis.

    `steepness` is the largest slope of f's logistic, per unit of x.
    """
    if variance == 0:
        return np.asarray(f(np.zeros(1)))[..., 0]
    deviation = math.sqrt(variance)
    x, weights = _nodes(max(1.0, steepness * deviation))
    return np.asarray(f(x * deviation) @ weights)


def _nodes(steepness: float) -> tuple[Array, Array]:
    """Returns points of a standard normal variable and their weights."""
    count = min(MAX_NODES, 2 * math.ceil(MAX_DEVIATIONS * max(8.0, 0.8 * steepness)) + 1)
    x = np.linspace(-MAX_DEVIATIONS, MAX_DEVIATIONS, count)
    density = np.exp(-(x**2) / 2)
    return x, density / density.sum()


def share_of_first(strength: float, beta_a: float, beta_b: float, alpha: float = 0.0) -> Moments:
    """Returns the moments of the share of a for queries from the means.

    The noise alpha I of 1.5 adds 2 alpha to each of the two products, since |mu_a + mu_b|^2 = 2.
    """
    variance = strength**2 * (beta_a + beta_b + 4 * alpha)
    second, fourth = expect(lambda x: np.stack([(expit(x) - 0.5) ** 2, (expit(x) - 0.5) ** 4]), variance)
    return Moments(0.5, math.sqrt(second), float(fourth))


def mean_lean(strength: float, beta: float) -> float:
    """Returns E |share of a - share of b| = E |tanh(x / 2)| for queries from the means."""
    deviation = strength * math.sqrt(2 * beta)
    if deviation == 0:
        return 0.0
    # Integrates 1 - tanh on one side of its corner at 0: it soon vanishes, however wide the density is.
    x = np.linspace(0, min(MAX_LOGIT, MAX_DEVIATIONS * deviation), 4001)
    density = 2 * np.exp(-((x / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    return float(1 - simpson(2 * expit(-x) * density, x=x))


def share_density(share: Array, strength: float, beta: float) -> Array:
    """Returns the logit-normal density of the share of a for queries from the means."""
    variance = 2 * strength**2 * beta
    normal = np.exp(-(logit(share) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return np.asarray(normal / (share * (1 - share)))


def off_probability(off: float, strength: float, beta: float, origin: Origin = "means") -> float:
    """Returns P(|share of a - 1/2| > off), where both keys have the same beta.

    The difference of the logits is s (lambda_a - lambda_b), or s (lambda_a - lambda_b)(lambda_a + lambda_b),
    whose two factors are independent: N(0, 2 beta) and N(2, 2 beta).
    """
    limit = float(logit(0.5 + off))
    if strength == 0 or beta == 0:
        return 0.0
    deviation = strength * math.sqrt(2 * beta)
    if origin == "means":
        return float(2 * ndtr(-limit / deviation))

    def tail(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(2 * ndtr(-limit / (deviation * np.abs(2 + x))))

    # Near a sum of 0 the tail falls to 0 quickly, which needs small steps.
    return float(expect(tail, 2 * beta, 400 / math.sqrt(beta)))


def off_probability_of_first(off: float, strength: float, beta: float) -> float:
    """Returns P(|share of a - 1/2| > off) where only k_a varies (1.5 with alpha = 0), queries from the keys.

    The difference of the logits is s (lambda_a^2 - 1).
    """
    limit = float(logit(0.5 + off)) / strength
    if beta == 0:
        return 0.0
    upper, lower = math.sqrt(1 + limit), math.sqrt(max(0.0, 1 - limit))
    bounds = (np.array([upper, lower, -upper, -lower]) - 1) / math.sqrt(beta)
    return float(1 - ndtr(bounds) @ [1, -1, -1, 1])


def weight_of_first(keys: int, strength: float, beta: float, origin: Origin = "means") -> Moments:
    """Returns the moments of alpha_a, including what leaks to the other keys (1.3).

    alpha_a = logistic(z_a - ln(e^{z_b} + m - 2)); the inner integral is over z_a, the outer over z_b.
    """
    logits, slope = _logits_of_noise(strength, beta, origin)
    deviation = math.sqrt(beta)
    # The inner integral is a smooth function of z_b, so that few nodes are enough for the outer one.
    outer, weights = _nodes(1.0) if beta else (np.zeros(1), np.ones(1))
    with np.errstate(divide="ignore"):
        beside = np.logaddexp(logits(outer * deviation), np.log(keys - 2.0))
    losses = [expect(_powers_of_loss(logits, against), beta, slope) for against in beside]
    return Moments.of_loss(*map(float, weights @ np.stack(losses)))


def head_weight(keys: float, strength: float, beta: float, origin: Origin = "means") -> Moments:
    """Returns the moments of the weight on a of a head with q = c mu_a, or c k_a (1.4).

    The weight is logistic(s lambda - ln(m - 1)), or with lambda^2. `head_weight_floor` passes a number of
    keys that is not whole.
    """
    logits, slope = _logits_of_noise(strength, beta, origin)
    return Moments.of_loss(*map(float, expect(_powers_of_loss(logits, math.log(keys - 1)), beta, slope)))


def head_weight_floor(keys: int, strength: float, beta: float, alpha: float) -> float:
    """Returns a lower bound of the mean weight on a of a head with q = c mu_a, under the noise of 1.5.

    mu_a . k_a ~ N(1, beta + alpha), the other products N(0, alpha). The weight that is lost is concave in
    the sum of the others' exponentials, whose mean is (m - 1) exp(s^2 alpha / 2): Jensen's inequality.
    """
    exponent = strength**2 * alpha / 2
    others = (keys - 1) * (math.exp(exponent) if exponent < 700 else math.inf)
    return head_weight(1 + others, strength, beta + alpha).mean


def _logits_of_noise(strength: float, beta: float, origin: Origin) -> tuple[Callable[[Array], Array], float]:
    """Returns the logit as a function of lambda - 1, and its steepest slope."""
    if origin == "means":
        return lambda x: strength * (1 + x), strength
    return lambda x: strength * (1 + x) ** 2, strength * 2 * (1 + 5 * math.sqrt(beta))


def _powers_of_loss(logits: Callable[[Array], Array], against: float) -> Callable[[Array], Array]:
    """Returns a function that computes 1 - logistic(logits - against) and its powers, (4, n)."""

    def powers(x: Array) -> Array:
        loss = expit(against - logits(x))
        return np.stack([loss, loss**2, loss**3, loss**4])

    return powers


def head_per_value_weight(
    keys: int, strength: float, beta: float, heads: int = 2, origin: Origin = "means"
) -> Moments:
    """Returns the moments of the mean weight of n heads on v_a: its own head's, and a little of the others'.

    The heads depend on different lambdas, so their variances add.
    """
    mean, deviation, fourth = head_weight(keys, strength, beta, origin)
    spilt = (1 - mean) / (keys - 1)
    # The contribution of each head to the variance, as a fraction of that of a single head.
    parts = np.array([1.0, *[(keys - 1) ** -2.0] * (heads - 1)]) / heads**2
    variance = deviation**2 * parts.sum()
    crossed = 3 * deviation**4 * (parts.sum() ** 2 - (parts**2).sum())
    mean_together = (mean + (heads - 1) * spilt) / heads
    return Moments(mean_together, math.sqrt(variance), float(fourth * (parts**2).sum() + crossed))


def head_breaks(keys: int, strength: float, beta: float, eps: float, origin: Origin = "means") -> float:
    """Returns P(a head leaves more than eps elsewhere) = P(lambda, or lambda^2, < ln((m-1)(1-eps)/eps) / s).

    For s = inf this is P(lambda <= 0) for queries from the means, and 0 for queries from the keys, where the
    sign of lambda cancels.
    """
    if keys == 1:
        return 0.0
    least = (math.log(keys - 1) + float(logit(1 - eps))) / strength
    if beta == 0:
        return float(least > 1)
    deviation = math.sqrt(beta)
    if origin == "means":
        return float(ndtr((least - 1) / deviation))
    root = math.sqrt(max(0.0, least))
    return float(ndtr((root - 1) / deviation) - ndtr((-root - 1) / deviation))
