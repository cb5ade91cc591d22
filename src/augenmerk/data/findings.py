"""What `augenmerk data check` finds, and how it is shown."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import Shown, make_table
from augenmerk.base.entries import DATASETS

MAX_SHOWN = 8
"""The most lines of a kind that are shown; `to_dict` has all."""


@dataclass(frozen=True)
class Problem:
    """Something that stops training. `file` and `line` are None where the reason names the location."""

    split: str
    kind: str
    reason: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Finding:
    """Something that is worth a look, in a sentence, with the numbers of the lines that it is about."""

    split: str
    kind: str
    message: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class SideSummary:
    """One side of a split: its language, the lengths of its sentences in words, and its scripts."""

    language: str
    median_words: float
    longest: int
    scripts: dict[str, int]
    """How many sentences have words in each script, the most frequent first."""


@dataclass(frozen=True)
class SplitSummary:
    """How much there is in a split."""

    split: str
    pairs: int
    bad_lines: int
    repeated: int
    length_ratio: float
    """The median of target length divided by source length, in characters."""
    source: SideSummary
    target: SideSummary


@dataclass(repr=False)
class CheckResult(Shown):
    """All that was found."""

    place: str
    splits: list[SplitSummary] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "trainable": not self.problems}

    def show(self) -> Iterator[RenderableType]:
        if self.splits:
            sides = self.splits[0].source, self.splits[0].target
            source, target = (escape(side.language) for side in sides)
            yield f"[bold]{escape(self.place)}[/]: {source} to {target}; words of a sentence: median, most"
            words = [f"{source} words", f"{target} words"]
            headings = ["split", "pairs", "bad lines", "repeated", *words, "length ratio", "scripts"]
            yield make_table(headings, map(_list_cells, self.splits))
            yield ""
        if self.problems:
            yield from self._show_problems()
        else:
            yield "[bold green]Nothing stops training.[/]"
        if self.findings:
            yield "[bold]Worth a look[/]"
        for finding in self.findings:
            yield f"  [cyan]{escape(finding.split)}[/]  {escape(finding.message)}"
            if finding.lines and finding.kind != "shifted":
                further = len(finding.lines) - MAX_SHOWN
                more = f", and {further:,} more" if further > 0 else ""
                numbers = ", ".join(f"{line:,}" for line in finding.lines[:MAX_SHOWN])
                yield f"  {' ' * len(finding.split)}  [dim]line {numbers}{more}[/]"
        if self.place not in DATASETS and any(finding.lines for finding in self.findings):
            yield "  [dim]To write the pairs without these lines: augenmerk data export --clean[/]"

    def _show_problems(self) -> Iterator[RenderableType]:
        yield "[bold red]What stops training[/]"
        seen: Counter[tuple[str, str]] = Counter()
        for problem in self.problems:  # they are in the order of the splits and of their lines
            seen[problem.split, problem.kind] += 1
            if seen[problem.split, problem.kind] <= MAX_SHOWN:
                where = f"{problem.file}, line {problem.line:,}: " if problem.line is not None else ""
                yield f"  {escape(where + problem.reason)}"
        for (split, kind), count in seen.items():
            if count > MAX_SHOWN:
                yield f"  [dim]and {count - MAX_SHOWN:,} more in '{escape(split)}' ({kind})[/]"
        if all(problem.line is not None for problem in self.problems):
            yield "  [dim]Correct these lines, or train without them: augenmerk train --skip-bad[/]"


def _list_cells(split: SplitSummary) -> list[str]:
    counts = [f"{count:,}" for count in (split.pairs, split.bad_lines, split.repeated)]
    sides = split.source, split.target
    words = [f"{side.median_words:g}, {side.longest:,}" for side in sides]
    scripts = ["/".join(script.capitalize() for script in islice(side.scripts, 2)) for side in sides]
    return [escape(split.split), *counts, *words, f"{split.length_ratio:.2f}", "-".join(scripts)]
