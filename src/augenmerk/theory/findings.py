"""What an experiment of the lab found: the claim, the construction, and the measured beside the predicted."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.theory.attention import Array
from augenmerk.theory.closed_form import Moments

ERRORS = 4
"""A sample may be off by so many of its standard errors: by chance alone it hardly ever is."""
NO_DEVIATION = 1e-10
"""Below it, what differs between samples is rounding."""


@dataclass(frozen=True)
class Measure:
    """A number that was measured, and what it should be."""

    name: str
    measured: float
    predicted: float | None = None
    error: float = 0.0
    """The standard error of what was measured, 0 if it is no sample."""
    at_most: bool = False
    at_least: bool = False
    """What is predicted is a bound from above or below, rather than the number itself."""

    @property
    def fits(self) -> bool:
        """Within four standard errors, and a little for rounding."""
        return self._fits(ERRORS * self.error)

    @property
    def only_within_its_error(self) -> bool:
        """Beyond the bound, but by no more than chance explains."""
        return self.fits and (self.at_most or self.at_least) and not self._fits(0.0)

    def _fits(self, chance: float) -> bool:
        if self.predicted is None:
            return True
        slack = chance + 1e-9 * (1 + abs(self.predicted))
        if self.at_most:
            return self.measured <= self.predicted + slack
        if self.at_least:
            return self.measured >= self.predicted - slack
        return abs(self.measured - self.predicted) <= slack

    def as_dict(self) -> dict[str, Any]:
        kind = "at most" if self.at_most else "at least" if self.at_least else "equal"
        return {
            "name": self.name,
            "measured": self.measured,
            "predicted": self.predicted,
            "standard_error": self.error,
            "relation": kind,
            "fits": self.fits,
        }


@dataclass(frozen=True)
class Finding:
    task: str
    title: str
    claim: str
    construction: str
    measures: tuple[Measure, ...]
    weights: list[float]
    output: list[float]
    error: float
    """How far the output is from what it should be; over samples, on average."""
    bound: float
    """What is proven about that distance."""
    settings: dict[str, Any]
    remarks: tuple[str, ...] = ()
    refuted: str = ""
    """Why the claim is not true under these conditions, however well its failure is predicted."""
    picture: Callable[[], Any] = field(default=lambda: None, repr=False, compare=False)
    """What the drawing of this task needs, worked out when it is drawn."""

    @property
    def as_predicted(self) -> bool:
        return all(measure.fits for measure in self.measures)

    @property
    def holds(self) -> bool:
        """Whether the claim is true under these conditions, not only predicted rightly where it fails."""
        return self.as_predicted and not self.refuted

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "holds": self.holds,
            "as_predicted": self.as_predicted,
            "refuted": self.refuted or None,
            "weights": self.weights,
            "output": self.output,
            "error": self.error,
            "bound": self.bound,
            "claim": self.claim,
            "construction": self.construction,
            "measures": [measure.as_dict() for measure in self.measures],
            "remarks": list(self.remarks),
            "settings": self.settings,
        }


def mean_of(name: str, samples: Array, predicted: float, deviation: float = 0.0, **how: bool) -> Measure:
    """The mean of a sample, with its standard error: from the predicted deviation if that is larger, since a
    sample in which nothing rare happened looks surer than it is."""
    error = max(float(samples.std(ddof=1)), deviation) / math.sqrt(len(samples))
    return Measure(name, float(samples.mean()), predicted, error, **how)


def deviation_of(name: str, samples: Array, predicted: Moments) -> Measure:
    """The deviation of a sample, with its standard error, from the fourth moment, whichever is larger."""
    centred = samples - samples.mean()
    variance = max(float((centred**2).mean()), predicted.deviation**2)
    if variance < NO_DEVIATION**2:  # the error below would be rounding divided by rounding
        return Measure(name, float(samples.std()), predicted.deviation)
    spread = max(0.0, max(float((centred**4).mean()), predicted.fourth) - variance**2)
    error = math.sqrt(spread / (4 * variance * len(samples)))
    return Measure(name, float(samples.std()), predicted.deviation, error)


def rate_of(name: str, hits: NDArray[np.bool_], predicted: float, **how: bool) -> Measure:
    """How often something happened; the error is that of the predicted rate, and never quite 0."""
    count = len(hits)
    error = math.sqrt(predicted * (1 - predicted) / count + 1 / count**2)
    return Measure(name, float(hits.mean()), predicted, error, **how)


def plane_values(count: int) -> Array:
    """Values (m, 2) to look at: v_a = (-1, 0) and v_b = (1, 0), the others on an arc above them.

    So the first coordinate of an output says how it leans between v_a and v_b, the second what leaks.
    """
    angles = np.linspace(math.pi, 0, count)[1:-1] if count > 2 else np.zeros(0)
    others = np.stack([1.4 * np.cos(angles), 0.4 + 1.2 * np.sin(angles)], axis=1)
    return np.concatenate([[[-1.0, 0.0], [1.0, 0.0]], others])
