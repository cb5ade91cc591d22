"""Results of experiments, with measured numbers beside predicted ones, and grades of answers."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.console import Shown
from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.attention import Array, choose_scale

if TYPE_CHECKING:
    from rich.console import RenderableType

    from augenmerk.drawing.figures import Picture

if TYPE_CHECKING:  # it needs scipy, and a question needs none
    from augenmerk.theory.closed_form import Moments

STANDARD_ERRORS = 4
"""A measurement fits if it is within so many standard errors: by chance alone it nearly always is."""
MIN_DEVIATION = 1e-10  # samples that deviate less than this differ only by rounding
MAX_VARIANCE = 1e6
MAX_SECONDS = 20.0  # of an experiment, on one core
MAX_SCALE = 1e9  # beyond this size of the query the rounding of the logits may decide

Relation = Literal["equal", "at most", "at least"]
Verdict = Literal["right", "right if", "wrong"]
"""What an experiment finds about an answer; `right if` means only under a condition."""
VERDICTS: Mapping[Verdict, str] = {"right": "holds", "right if": "holds in part", "wrong": "fails"}
"""The same in words."""


@dataclass(frozen=True)
class Measurement:
    """A measured number beside the predicted number, or beside a bound for it."""

    name: str
    measured: float
    predicted: float
    relation: Relation = "equal"
    error: float = 0.0  # the standard error of the measured number, 0 if it does not come from samples

    @property
    def fits(self) -> bool:
        """Whether chance or rounding explains by how much it misses the prediction, or passes the bound."""
        difference = self.measured - self.predicted
        excess = {"equal": abs(difference), "at most": difference, "at least": -difference}[self.relation]
        return excess <= STANDARD_ERRORS * self.error + 1e-9 * (1 + abs(self.predicted))

    def to_dict(self) -> dict[str, Any]:
        numbers = {"measured": self.measured, "predicted": self.predicted, "standard_error": self.error}
        return {"name": self.name, **numbers, "relation": self.relation, "fits": self.fits}


def mean_of(
    name: str, samples: Array, predicted: float, deviation: float = 0.0, relation: Relation = "equal"
) -> Measurement:
    """Returns the mean of samples with its standard error.

    The error is computed from the predicted deviation if that is larger, since samples in which nothing rare
    happened look more certain than they are.
    """
    error = max(float(samples.std(ddof=1)), deviation) / math.sqrt(len(samples))
    return Measurement(name, float(samples.mean()), predicted, relation, error)


def deviation_of(name: str, samples: Array, predicted: "Moments") -> Measurement:
    """Returns the standard deviation of samples, with its standard error from the larger fourth moment."""
    centred = samples - samples.mean()
    variance = max(float((centred**2).mean()), predicted.deviation**2)
    error = 0.0
    if variance >= MIN_DEVIATION**2:  # otherwise the error would be rounding divided by rounding
        spread = max(0.0, max(float((centred**4).mean()), predicted.fourth) - variance**2)
        error = math.sqrt(spread / (4 * variance * len(samples)))
    return Measurement(name, float(samples.std()), predicted.deviation, error=error)


def rate_of(name: str, hits: NDArray[np.bool_], predicted: float) -> Measurement:
    """Returns how often something happened; the error is that of the predicted rate, and never quite 0."""
    count = len(hits)
    error = math.sqrt(predicted * (1 - predicted) / count + 1 / count**2)
    return Measurement(name, float(hits.mean()), predicted, error=error)


@dataclass(frozen=True)
class Result(Shown):
    """The outcome of an experiment; `Exercise.run` adds the task, its title and the claim."""

    construction: str
    measures: tuple[Measurement, ...]
    weights: Array
    output: Array
    error: float  # the distance of the output from what it should be; over samples, its mean
    bound: float  # the proven bound of that distance
    settings: dict[str, Any]
    remarks: tuple[str, ...] = ()
    refuted: str = ""
    """Why the claim is not true under these conditions, even if this was predicted correctly."""
    picture: Callable[[], tuple[Any, ...]] = field(default=tuple, repr=False, compare=False)
    """Computes the arguments of the function that draws the exercise's figure, after the theme."""
    task: str = ""
    title: str = ""
    claim: str = ""

    @property
    def as_predicted(self) -> bool:
        return all(measure.fits for measure in self.measures)

    @property
    def holds(self) -> bool:
        """Whether the claim is true under these conditions."""
        return self.as_predicted and not self.refuted

    def to_dict(self) -> dict[str, Any]:
        return {
            **{"task": self.task, "holds": self.holds, "as_predicted": self.as_predicted},
            **{"refuted": self.refuted or None, "error": self.error, "bound": self.bound},
            **{"weights": self.weights.tolist(), "output": self.output.tolist()},
            **{"claim": self.claim, "construction": self.construction, "remarks": list(self.remarks)},
            **{"measures": [measure.to_dict() for measure in self.measures], "settings": self.settings},
        }

    def plot(self) -> "Picture":
        """Returns the exercise's figure."""
        from augenmerk.drawing.figures import Picture
        from augenmerk.theory.drawing import draw

        return Picture(partial(draw, self), self.title)

    def show(self) -> "Iterable[RenderableType]":
        from augenmerk.theory.wording import show_result

        return show_result(self)


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
    "sees the sample": "The queries are chosen before the keys are drawn, so they may use the means only.",
    "lengths left out": "The lengths of the keys are part of every product with them.",
    "other logits": "Each product has the length of its own key as a factor, or its square, and no other.",
    "another statement": "The products are right, but the statement does not follow from them.",
    "incomplete": "There are fewer formulas than the task asks for, or no statement.",
    "another output": "c_2 comes out differently: what is the largest product of x_2?",
    "wrong value": "Each input attends to one input, but V does not make the wanted output of it.",
    "attention is spread": "An input attends to several inputs.",
}
"""The kinds of mistake, each in a sentence for the teacher."""


@dataclass(frozen=True)
class Grade(Shown):
    """The verdict about a reader's answer to a task."""

    task: str
    verdict: Verdict
    why: str  # one or two sentences, with numbers
    error: (
        float  # the largest error: weight in the wrong position, or, for 1.6 and 1.7, distance in units of B
    )
    missing_scale: bool  # whether the answer would hold if it were multiplied by a large number
    answers: tuple[str, ...]
    conditions: tuple[dict[str, Any], ...]
    mistake: str = ""  # one of MISTAKES; nothing if the answer is right
    remarks: tuple[str, ...] = ()  # how the answer was read, where that is not obvious
    only_if: str = ""  # the condition under which it is right, such as "t = c"

    @property
    def holds(self) -> bool:
        """Whether the answer is right without a condition."""
        return self.verdict == "right"

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "holds": self.holds}

    def show(self) -> "Iterable[RenderableType]":
        from augenmerk.theory.wording import show_grade

        return show_grade(self)


def plane_values(count: int) -> Array:
    """Returns values (m, 2) in the plane: v_a = (-1, 0), v_b = (1, 0), and the others on an arc above them.

    The first coordinate of an output is how it leans between v_a and v_b, the second what leaks.
    """
    angles = np.linspace(math.pi, 0, count)[1:-1] if count > 2 else np.zeros(0)
    others = np.stack([1.4 * np.cos(angles), 0.4 + 1.2 * np.sin(angles)], axis=1)
    return np.concatenate([[[-1.0, 0.0], [1.0, 0.0]], others])


def radius(values: Array, centre: Array) -> float:
    """Returns the largest distance of a value from the centre."""
    return float(np.linalg.norm(values - centre, axis=1).max())


@dataclass(frozen=True)
class Setup:
    """The flags of `augenmerk theory`; an experiment reads those that it has."""

    keys: int = 8
    dim: int = 64
    samples: int = 4000
    seed: int = 1
    c: float | None = None
    """The scale of the query, or what the experiment takes if it is None; for 1.6 and 1.7, B (--length)."""
    unscaled: bool = False
    eps: float = 0.01
    beta: float = 0.1
    alpha: float = 0.0
    heads: int = 2

    @property
    def scale(self) -> float:
        """The number by which logits are multiplied."""
        return choose_scale(1.0 if self.unscaled else None, self.dim)

    def to_dict(self, **own: float | None) -> dict[str, float | None]:
        """Returns the settings that all experiments have, and those that one has beside them."""
        return {"keys": self.keys, "dim": self.dim, "samples": self.samples, "seed": self.seed, **own}

    def check(self, least: tuple[int, int, int], sample_seconds: float, start_seconds: float = 0.0) -> None:
        """Raises AugenmerkError, naming the flag, for settings that an experiment cannot work with.

        `least` are the smallest keys, dim and samples that it needs. On one core it takes about
        `start_seconds`, and `sample_seconds` for each sample.
        """
        sizes = {"--keys": self.keys, "--dim": self.dim, "--samples": self.samples}
        for (flag, value), lowest in zip(sizes.items(), least, strict=True):
            if value < lowest:
                raise AugenmerkError(f"{flag} {value} is too small: this task needs {lowest} or more.")
        most = max(0, int((MAX_SECONDS - start_seconds) / sample_seconds))
        if self.samples > most:
            given = " ".join(f"{flag} {value}" for flag, value in sizes.items())
            instead = f"take up to {most:,} samples" if most >= least[2] else "take fewer keys or dimensions"
            raise AugenmerkError(f"{given} would take over {MAX_SECONDS:g} seconds: {instead}.")
        if (c := self.c) is not None and not 0 < c <= MAX_SCALE:
            raise AugenmerkError(f"--scale {c:g} is impossible: choose one above 0, up to {MAX_SCALE:g}.")
        for flag, variance in (("--beta", self.beta), ("--alpha", self.alpha)):
            if not 0 <= variance <= MAX_VARIANCE:
                limit = f"it must be 0 or more, up to {MAX_VARIANCE:g}"
                raise AugenmerkError(f"{flag} {variance:g} is no variance: {limit}.")
