"""A few numbers and what they say: mean, variance and interval over seeds; many tests at once."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from augenmerk.study.result import Interval

CONFIDENCE = 0.95


class Summarised(NamedTuple):
    """The last two are None for one value: it says nothing about how values vary."""

    mean: float
    variance: float | None
    interval: Interval | None


def summarise(values: Sequence[float]) -> Summarised:
    """Mean, variance with n - 1, and the 95% interval of the mean by Student's t."""
    n = len(values)
    mean = math.fsum(values) / n
    mean = min(max(mean, min(values)), max(values))  # rounding must not carry it beyond them
    if n == 1:
        return Summarised(mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Summarised(mean, variance, (mean - half, mean + half))


def t_quantile(degrees_of_freedom: float) -> float:
    """How many standard errors half a 95% interval is wide."""
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, degrees_of_freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p corrected for all of them (Holm 1979): the chance of one false alarm in the family stays below
    whatever the corrected values are held against."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected
