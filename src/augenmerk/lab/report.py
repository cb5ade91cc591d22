"""Reports of checked answers, their points, and the rubric that decides them."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.markup import escape

from augenmerk.base.console import Shown, make_table
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import atomic_write, read_text
from augenmerk.lab.exercises import COST, EXERCISES, WITHOUT_NAME

if TYPE_CHECKING:
    from rich.console import RenderableType

Verdict = Literal["right", "wrong", "not done", "missing"]
UNNAMED = 0.5
"""The share of the points for an answer with an unknown mistake, times the share of right results."""
COLOURS = {"right": "green", "wrong": "red", "not done": "yellow", "missing": "yellow"}


@dataclass(frozen=True)
class Finding:
    """A mistake, by its id, and what the student is told."""

    mistake: str
    says: str


@dataclass(frozen=True)
class ExerciseResult:
    """What the check found about one exercise."""

    exercise: str
    verdict: Verdict
    passed: int
    experiments: int
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    example: Mapping[str, str] = field(default_factory=dict)
    """The smallest input with a wrong result: `case`, `input`, `expected` and `got`."""
    points: float = 0.0
    possible: float = 0.0

    @property
    def title(self) -> str:
        return EXERCISES[self.exercise].title

    def to_dict(self) -> dict[str, Any]:
        found = {"findings": [vars(each) for each in self.findings], "remarks": list(self.remarks)}
        return {**vars(self), "title": self.title, **found, "example": dict(self.example)}


Rubric = Mapping[str, Mapping[str, Any]]


def make_rubric() -> dict[str, dict[str, Any]]:
    """Returns the default rubric: for each exercise its points, and what each mistake loses of them."""
    return {
        name: {"points": exercise.points, "unnamed": UNNAMED, "loses": exercise.costs}
        for name, exercise in EXERCISES.items()
    }


RUBRIC_HEADER = """\
# How answers of the code lab are graded. For each exercise:
#   points   what a right answer is worth
#   unnamed  the share of the points for an answer that is wrong in a way that has no name, times the share of
#            the experiments with the right result
#   loses    the share of the points that each mistake loses; what is not listed loses half

"""


def write_rubric(out: str | Path | None = None) -> dict[str, dict[str, Any]]:
    """Returns the default rubric, and writes it to a TOML file if one is named."""
    import tomli_w

    rubric = make_rubric()
    if out is not None:
        atomic_write(Path(out), [RUBRIC_HEADER.encode(), tomli_w.dumps(rubric).encode()])
    return rubric


def read_rubric(path: str | Path) -> Rubric:
    """Reads a rubric; raises AugenmerkError if it has an unknown exercise or key, or an impossible number."""
    try:
        rubric = tomllib.loads(read_text(Path(path)))
    except tomllib.TOMLDecodeError as error:
        raise AugenmerkError(f"{path} is not TOML: {error}.") from None
    for name, own in rubric.items():
        if name not in EXERCISES or not isinstance(own, dict):
            known = ", ".join(EXERCISES)
            raise AugenmerkError(f"{path}: there is no exercise '{shorten(name)}'; there are {known}.")
        loses = own.get("loses", {})
        shares = {
            "unnamed": own.get("unnamed", 0),
            **(loses if isinstance(loses, dict) else {"loses": None}),
        }
        for key, value in {"points": own.get("points", 0), **shares}.items():
            most = 1000 if key == "points" else 1
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
                raise AugenmerkError(f"{path}, [{name}] {key}: expected a number from 0 to {most}.")
        if (
            unknown := own.keys() - {"points", "unnamed", "loses"}
            or loses.keys() - EXERCISES[name].costs.keys()
        ):
            raise AugenmerkError(f"{path}, [{name}]: unknown key '{shorten(min(unknown))}'.")
    return rubric


def score(found: Mapping[str, Any], rubric: Rubric) -> ExerciseResult:
    """Returns the result with its points, of what the child process has found."""
    exercise = EXERCISES[found["exercise"]]
    own = rubric.get(exercise.name, {})
    possible = float(own.get("points", exercise.points))
    findings = tuple(Finding(**each) for each in found["findings"])
    costs = exercise.costs | own.get("loses", {})
    share = {"right": 1.0, "wrong": 0.0}.get(found["verdict"], 0.0)
    if found["verdict"] == "wrong" and any(each.mistake in WITHOUT_NAME for each in findings):
        share = own.get("unnamed", UNNAMED) * found["passed"] / max(1, found["experiments"])
    elif found["verdict"] == "wrong":
        share = max(0.0, 1 - sum(costs.get(each.mistake, COST) for each in findings))
    kept = {**found, "findings": findings, "remarks": tuple(found["remarks"])}
    return ExerciseResult(**kept, points=round(possible * share, 2), possible=possible)


class LabReport(Shown):
    """What the check found about a file, or about classes and functions."""

    def __init__(self, name: str, results: Sequence[ExerciseResult], problem: str = "") -> None:
        self.name, self.results = name, tuple(results)
        self.problem = problem
        """Why nothing could be checked, such as a syntax error; empty otherwise."""

    @property
    def points(self) -> float:
        return round(sum(each.points for each in self.results), 2)

    @property
    def possible(self) -> float:
        return sum(each.possible for each in self.results)

    @property
    def right(self) -> bool:
        return not self.problem and all(each.verdict == "right" for each in self.results)

    def __getitem__(self, exercise: str) -> ExerciseResult:
        return next(each for each in self.results if each.exercise == exercise)

    def to_dict(self) -> dict[str, Any]:
        results = [each.to_dict() for each in self.results]
        total = {"points": self.points, "possible": self.possible, "right": self.right}
        return {"name": self.name, **total, "problem": self.problem or None, "exercises": results}

    def show(self) -> "Iterable[RenderableType]":
        yield f"[bold]{escape(self.name)}: {self.points:g} of {self.possible:g} points[/]"
        if self.problem:
            yield f"[red]{escape(self.problem)}[/]"
            return
        yield ""
        rows = [
            [
                each.exercise,
                f"[{COLOURS[each.verdict]}]{each.verdict}[/]",
                escape(", ".join(finding.mistake for finding in each.findings)),
                f"{each.points:g}/{each.possible:g}",
            ]
            for each in self.results
        ]
        yield make_table(["exercise", "", "mistake", "points"], rows, left=3)
        for each in self.results:
            if each.verdict in ("wrong", "right") and (each.findings or each.remarks):
                yield ""
                yield f"[bold]{each.exercise}[/]  {escape(each.title)}"
                yield from (escape(finding.says) for finding in each.findings)
                yield from (f"[dim]Remark, at no cost: {escape(remark)}[/]" for remark in each.remarks)
                yield from (f"[dim]  {key:9}{escape(text)}[/]" for key, text in each.example.items())
