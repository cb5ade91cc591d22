"""Results of experiments, with measured numbers beside predicted ones, and grades of answers."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.errors import AugenmerkError
from augenmerk.theory.attention import Array
from augenmerk.theory.closed_form import Moments

STANDARD_ERRORS = 4
"""A measurement fits if it is within so many standard errors: by chance alone it nearly always is."""
MIN_DEVIATION = 1e-10
"""Samples that deviate less than this differ only by rounding."""
MAX_SCALE = 1e9
"""Beyond this size of the query the rounding of the logits may decide."""


@dataclass(frozen=True)
class Measurement:
    """A measured number beside the predicted number, or beside a bound for it."""

    name: str
    measured: float
    predicted: float
    error: float = 0.0
    """The standard error of the measured number, 0 if it does not come from samples."""
    at_most: bool = False
    at_least: bool = False

    @property
    def fits(self) -> bool:
        return self._fits(STANDARD_ERRORS * self.error)

    @property
    def only_within_its_error(self) -> bool:
        """Whether the bound is exceeded, but by no more than chance explains."""
        return self.fits and (self.at_most or self.at_least) and not self._fits(0.0)

    def _fits(self, tolerance: float) -> bool:
        slack = tolerance + 1e-9 * (1 + abs(self.predicted))  # a little for rounding
        if self.at_most:
            return self.measured <= self.predicted + slack
        if self.at_least:
            return self.measured >= self.predicted - slack
        return abs(self.measured - self.predicted) <= slack

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "measured": self.measured,
            "predicted": self.predicted,
            "standard_error": self.error,
            "relation": "at most" if self.at_most else "at least" if self.at_least else "equal",
            "fits": self.fits,
        }


def at_most(name: str, measured: float, bound: float) -> Measurement:
    return Measurement(name, measured, bound, at_most=True)


def at_least(name: str, measured: float, bound: float) -> Measurement:
    return Measurement(name, measured, bound, at_least=True)


def mean_of(name: str, samples: Array, predicted: float, deviation: float = 0.0, **how: bool) -> Measurement:
    """Returns the mean of samples with its standard error.

    The error is computed from the predicted deviation if that is larger, since samples in which nothing rare
    happened look more certain than they are.
    """
    error = max(float(samples.std(ddof=1)), deviation) / math.sqrt(len(samples))
    return Measurement(name, float(samples.mean()), predicted, error, **how)


def deviation_of(name: str, samples: Array, predicted: Moments) -> Measurement:
    """Returns the standard deviation of samples, with its standard error from the larger fourth moment."""
    centred = samples - samples.mean()
    variance = max(float((centred**2).mean()), predicted.deviation**2)
    error = 0.0
    if variance >= MIN_DEVIATION**2:  # otherwise the error would be rounding divided by rounding
        spread = max(0.0, max(float((centred**4).mean()), predicted.fourth) - variance**2)
        error = math.sqrt(spread / (4 * variance * len(samples)))
    return Measurement(name, float(samples.std()), predicted.deviation, error)


def rate_of(name: str, hits: NDArray[np.bool_], predicted: float) -> Measurement:
    """Returns how often something happened; the error is that of the predicted rate, and never quite 0."""
    count = len(hits)
    error = math.sqrt(predicted * (1 - predicted) / count + 1 / count**2)
    return Measurement(name, float(hits.mean()), predicted, error)


@dataclass(frozen=True)
class Result:
    """The outcome of an experiment."""

    task: str
    title: str
    claim: str
    construction: str
    measures: tuple[Measurement, ...]
    weights: Array
    output: Array
    error: float
    """The distance of the output from what it should be; over samples, its mean."""
    bound: float
    """The proven bound of that distance."""
    settings: dict[str, Any]
    remarks: tuple[str, ...] = ()
    refuted: str = ""
    """Why the claim is not true under these conditions, even if this was predicted correctly."""
    picture: Callable[[], Any] = field(default=lambda: None, repr=False, compare=False)
    """Computes what the figure of this task shows, when it is drawn."""

    @property
    def as_predicted(self) -> bool:
        return all(measure.fits for measure in self.measures)

    @property
    def holds(self) -> bool:
        """Whether the claim is true under these conditions."""
        return self.as_predicted and not self.refuted

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "holds": self.holds,
            "as_predicted": self.as_predicted,
            "refuted": self.refuted or None,
            "weights": self.weights.tolist(),
            "output": self.output.tolist(),
            "error": self.error,
            "bound": self.bound,
            "claim": self.claim,
            "construction": self.construction,
            "measures": [measure.as_dict() for measure in self.measures],
            "remarks": list(self.remarks),
            "settings": self.settings,
        }


@dataclass(frozen=True)
class Grade:
    """The verdict about a reader's answer to a task."""

    task: str
    holds: bool
    why: str
    """One or two sentences, with numbers."""
    error: float
    """The largest error: weight in the wrong place, or, for 1.6 and 1.7, distance in units of B."""
    missing_scale: bool
    """Whether the answer would hold if it were multiplied by a large number."""
    answers: tuple[str, ...]
    conditions: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def plane_values(count: int) -> Array:
    """Returns values (m, 2) in the plane: v_a = (-1, 0), v_b = (1, 0), and the others on an arc above them.

    The first coordinate of an output says how it leans between v_a and v_b, the second what leaks.
    """
    angles = np.linspace(math.pi, 0, count)[1:-1] if count > 2 else np.zeros(0)
    others = np.stack([1.4 * np.cos(angles), 0.4 + 1.2 * np.sin(angles)], axis=1)
    return np.concatenate([[[-1.0, 0.0], [1.0, 0.0]], others])


def radius(values: Array, centre: Array) -> float:
    """Returns the largest distance of a value from the centre."""
    return float(np.linalg.norm(values - centre, axis=1).max())


def check_sizes(
    keys: int,
    dim: int,
    samples: int,
    *,
    least: tuple[int, int, int],
    most: tuple[int, int, int] = (1000, 4096, 1_000_000),
    most_numbers: int = 300_000_000,
    c: float | None = None,
    **variances: float,
) -> None:
    """Raises AugenmerkError, naming the flag, for sizes that an experiment cannot work with.

    `least` and `most` are the limits for keys, dim and samples; `most_numbers` limits their product.
    """
    for flag, value, lowest, highest in zip(
        ("--keys", "--dim", "--samples"), (keys, dim, samples), least, most, strict=True
    ):
        if value < lowest:
            reason = " (one direction for each)" if flag == "--dim" and lowest > 1 else ""
            raise AugenmerkError(f"{flag} {value} is too small: this task needs {lowest} or more{reason}.")
        if value > highest:
            raise AugenmerkError(f"{flag} {value} is too large: this task takes up to {highest:,}.")
    if keys * dim * samples > most_numbers:
        raise AugenmerkError(
            f"--keys {keys} --dim {dim} --samples {samples} is too large: keys times dim times samples may "
            f"be up to {most_numbers:,} in this task."
        )
    if c is not None and not 0 < c <= MAX_SCALE:
        raise AugenmerkError(f"--scale {c:g} is impossible: choose one above 0, up to {MAX_SCALE:g}.")
    for name, variance in variances.items():
        if not 0 <= variance < math.inf:
            raise AugenmerkError(f"--{name} {variance:g} is no variance: it must be 0 or more.")
