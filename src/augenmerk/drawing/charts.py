"""Building blocks of charts, and curves of training: loss, BLEU and others, as figures and in the terminal.

The blocks are headings, names at the ends of lines, and legends; sizes are in points. Curves are against
epochs, steps or seconds. They are drawn from the lines of metrics.jsonl, which a run has as soon as its first
epoch is done.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.figures import DARK, Picture, Theme, new_figure, pt, use_theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.text import Text

SMALL, MEDIUM = 8.5, 9.0
SIGN_LENGTH = 6
"""Letters as wide as a sign in a legend with the space around it."""
LETTERS_PER_INCH = 130.0
"""Letters of a legend in an inch, times the font size in points."""


def set_heading(axes: Axes, heading: str | None, grid: str = "y") -> None:
    """Gives a panel a heading above its left edge, and a grid."""
    if heading:
        axes.set_title(heading, loc="left", fontsize=pt(10.5), fontweight="bold")
    axes.grid(axis=grid, alpha=0.6)  # type: ignore[arg-type]


def choose_colour(number: int, theme: Theme) -> str:
    return theme.series[number % len(theme.series)]


def make_sign(label: str, colour: str, **look: Any) -> Any:
    """Returns a sign for a legend."""
    from matplotlib.lines import Line2D

    sizes = ("linewidth", "markersize", "markeredgewidth")
    scaled: dict[str, Any] = {name: pt(value) if name in sizes else value for name, value in look.items()}
    return Line2D([], [], color=colour, label=label, **scaled)


def add_legend(
    figure: Figure, signs: Iterable[Any], side: str, size: float = 10.0, colour: str | None = None
) -> None:
    """Puts a legend above ("upper") or below ("lower") all panels, in as many columns as fit."""
    handles = list(signs)
    lengths = [len(handle.get_label()) + SIGN_LENGTH for handle in handles]
    room = LETTERS_PER_INCH * figure.get_figwidth() / pt(size)
    columns = min(4, len(handles))
    while columns > 1:
        rows = math.ceil(len(handles) / columns)
        if sum(max(lengths[start : start + rows]) for start in range(0, len(handles), rows)) <= room:
            break
        columns -= 1
    look: dict[str, Any] = {"loc": f"outside {side} left", "ncols": columns}
    figure.legend(handles=handles, fontsize=pt(size), labelcolor=colour, **look)


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Writes each name at the end (x, y) of its line in its colour, moved so that no two overlap."""
    low, high = axes.get_ylim()
    logarithmic = axes.get_yscale() == "log"
    if logarithmic:
        low, high = math.log(low), math.log(high)
    ordered = sorted(ends, key=lambda end: end[1])
    heights = [math.log(y) if logarithmic else y for _, y, _, _ in ordered]
    for (x, _, name, colour), y in zip(ordered, move_apart(heights, (high - low) * 0.065), strict=True):
        end = x, math.exp(y) if logarithmic else y
        look: dict[str, Any] = {"color": colour, "va": "center", "fontweight": "bold"}
        axes.annotate(name, end, (pt(8), 0), textcoords="offset points", annotation_clip=False, **look)


def move_apart(heights: Sequence[float], room: float) -> list[float]:
    """Moves rising heights at least `room` apart; those that were too close stay around their mean."""
    groups: list[list[float]] = []
    for height in heights:
        group = [height]
        while groups and fmean(groups[-1]) + (len(groups[-1]) + len(group)) / 2 * room > fmean(group):
            group = groups.pop() + group
        groups.append(group)
    return [
        fmean(group) + (number - (len(group) - 1) / 2) * room
        for group in groups
        for number in range(len(group))
    ]


# Curves of training

AXES = ("epoch", "step", "seconds")
"""What curves can be drawn against: keys of metrics.jsonl."""
LINE_STYLES = ("-", (0, (4, 1.5)))
"""Validation, and training."""
MARKERS = ("o", "s", "^", "D", "v")
"""The second marks runs beyond the number of colours, and so on."""
BEST: Mapping[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 8, "markerfacecolor": "none"}


@dataclass(frozen=True)
class CurveKind:
    """A panel: its heading, and the keys of metrics.jsonl that it shows, each with a name."""

    heading: str
    keys: Mapping[str, str]
    best: str | None = None
    """Whether the lowest or the highest value of the first key is the best one."""
    from_zero: bool = False
    """Whether the axis starts at 0."""


KINDS: Mapping[str, CurveKind] = {
    "loss": CurveKind("loss", {"validation_loss": "validation", "train_loss": "training"}, "lowest"),
    "bleu": CurveKind("validation BLEU, greedy", {"validation_bleu": "validation"}, "highest"),
    "perplexity": CurveKind("validation perplexity", {"validation_perplexity": "validation"}, "lowest"),
    "entropy": CurveKind("entropy of the attention, in nats", {"validation_entropy": "validation"}),
    "aer": CurveKind("alignment error of the attention", {"validation_aer": "validation"}, "lowest"),
    "learning-rate": CurveKind("learning rate", {"learning_rate": "after the epoch"}, from_zero=True),
    "speed": CurveKind("target tokens per second", {"target_tokens_per_second": "training"}, from_zero=True),
}
"""The curves that can be asked for, by name."""
USUAL_KINDS = ("loss", "bleu", "learning-rate")
"""Those drawn by default, where a run has them."""
BLOCKS = "▁▂▃▄▅▆▇█"
"""Heights of a curve in the terminal."""


@dataclass(frozen=True)
class RunCurves:
    """The metrics of a run, a mapping for each epoch so far."""

    name: str
    epochs: Sequence[Mapping[str, Any]]

    def get_points(self, key: str, by: str) -> list[tuple[float, float]]:
        """Returns (x, y) for each epoch that has both."""
        found = [(epoch.get(by), epoch.get(key)) for epoch in self.epochs]
        return [(float(x), float(y)) for x, y in found if x is not None and y is not None]


def choose_kinds(runs: Sequence[RunCurves], asked: Sequence[str], by: str) -> dict[str, CurveKind]:
    """Returns the curves to draw: those that were asked for, or the usual ones that any run has.

    Raises AugenmerkError for an unknown name, and if there is nothing to draw.
    """
    if by not in AXES:
        raise AugenmerkError(f"Curves cannot be drawn by '{by}': expected {', '.join(AXES)}.")
    for name in asked:
        if name not in KINDS:
            raise AugenmerkError(f"There is no curve '{name}'; the curves are {', '.join(KINDS)}.")
    for run in runs:
        if not run.epochs:
            raise AugenmerkError(f"{run.name} has no curves yet: its first epoch is not done.")
    kinds = {}
    for name in dict.fromkeys(asked) or USUAL_KINDS:
        if any(run.get_points(key, by) for run in runs for key in KINDS[name].keys):
            kinds[name] = KINDS[name]
        elif asked:
            raise AugenmerkError(
                f"{' and '.join(run.name for run in runs)}: no {KINDS[name].heading} recorded."
            )
    if not kinds:
        raise AugenmerkError(f"{' and '.join(run.name for run in runs)}: nothing to draw was recorded.")
    return kinds


class Curves(Picture):
    """The curves of runs: a picture, and a chart as text."""

    def __init__(
        self, runs: Sequence[RunCurves], asked: Sequence[str], by: str, about: Sequence[Mapping[str, Any]]
    ) -> None:
        """`about` is the path of each run, and whether it is finished, for JSON."""
        self.runs, self.by = runs, by
        self.kinds = choose_kinds(runs, asked, by)
        self._about = about
        super().__init__(partial(draw_training_curves, runs, self.kinds, by))

    def render(self, width: int) -> Text:
        """Returns a chart for a terminal that is so wide."""
        return render_terminal_curves(self.runs, self.kinds, self.by, width)

    def __repr__(self) -> str:
        return self.render(80).plain

    def to_dict(self) -> dict[str, Any]:
        """Returns the points, as data for JSON."""
        keys = [key for kind in self.kinds.values() for key in kind.keys]
        runs = [
            {**about, "curves": {key: run.get_points(key, self.by) for key in keys}}
            for about, run in zip(self._about, self.runs, strict=True)
        ]
        return {"by": self.by, "file": None if self.file is None else str(self.file), "runs": runs}


def draw_training_curves(
    runs: Sequence[RunCurves], kinds: Mapping[str, CurveKind], by: str, theme: Theme
) -> Figure:
    """Draws a panel for each kind; a line for each run, and in a loss panel a second one for training."""
    with use_theme(theme):
        columns = min(len(kinds), 3)
        rows = math.ceil(len(kinds) / columns)
        several = len(runs) > 1
        figure = new_figure({1: 6.4, 2: 9.6, 3: 12.0}[columns], 3.6 * rows + (0.3 if several else 0))
        panels = figure.subplots(rows, columns, squeeze=False).flat
        for axes in panels[len(kinds) :]:
            axes.set_axis_off()
        for axes, kind in zip(panels, kinds.values(), strict=False):
            axes.margins(x=0.04, y=0.14)
            for number, run in enumerate(runs):
                _draw_run(axes, run, number, kind, by, theme, several=several)
            set_heading(axes, kind.heading)
            axes.set_xlabel(by)
            axes.xaxis.get_major_locator().set_params(integer=by != "seconds")
            if kind.from_zero:
                axes.set_ylim(bottom=0)
            if several and len(kind.keys) > 1:
                styles = zip(kind.keys.values(), LINE_STYLES, strict=False)
                signs = [make_sign(name, theme.muted, linestyle=style) for name, style in styles]
                axes.legend(handles=signs, fontsize=pt(MEDIUM))
        if several:
            signs = [
                make_sign(
                    run.name, choose_colour(number, theme), linewidth=2, **_choose_marker(number, theme)
                )
                for number, run in enumerate(runs)
            ]
            add_legend(figure, [*signs, make_sign("best", theme.ink, **BEST)], "upper")
        return figure


def _draw_run(
    axes: Axes, run: RunCurves, number: int, kind: CurveKind, by: str, theme: Theme, *, several: bool
) -> None:
    """Draws the lines of a run, with a ring around its best value; their names, if it is the only one."""
    ends = []
    marker = _choose_marker(number, theme)
    marker["markersize"] = pt(marker["markersize"])
    for line, (key, name) in enumerate(kind.keys.items()):
        curve = run.get_points(key, by)
        if not curve:
            continue
        colour = choose_colour(number if several else line, theme)
        look: dict[str, Any] = {"color": colour, "linestyle": LINE_STYLES[line], "lw": pt(2 - line / 2)}
        every = 1 if len(curve) <= 40 else len(curve) // 20  # so that the line is seen
        axes.plot(*zip(*curve, strict=True), markevery=every, **look, **marker)
        ends.append((*curve[-1], name, colour))
        if line == 0 and kind.best is not None:
            best = find_best(curve, kind.best)
            ring: dict[str, Any] = {"markersize": pt(9), "markeredgewidth": pt(1.2)}
            axes.plot(*zip(best, strict=True), "o", mfc="none", markeredgecolor=theme.ink, **ring)
            if not several:
                side = pt(-14 if kind.best == "lowest" else 14)  # where no curve is
                text = axes.annotate(f"best: {best[1]:.4g}", best, (0, side), textcoords="offset points")
                text.set(ha="center", va="center", fontsize=pt(SMALL), color=theme.muted)
    if not several and len(kind.keys) > 1:
        label_ends(axes, ends)


def _choose_marker(number: int, theme: Theme) -> dict[str, Any]:
    marker = MARKERS[number // len(theme.series) % len(MARKERS)]
    return {"marker": marker, "markersize": 3.5 if marker == "o" else 5.0}


def find_best(curve: Sequence[tuple[float, float]], best: str) -> tuple[float, float]:
    """Returns the first point with the lowest or the highest y."""
    return (min if best == "lowest" else max)(curve, key=lambda point: point[1])


def render_terminal_curves(
    runs: Sequence[RunCurves], kinds: Mapping[str, CurveKind], by: str, width: int
) -> Text:
    """Renders a line of blocks for each curve below the heading of its kind, with its last and best value."""
    from rich.text import Text

    text = Text()
    for panel, kind in enumerate(kinds.values()):
        found = [
            (" ".join(filter(None, (run.name if len(runs) > 1 else "", name))), run.get_points(key, by), line)
            for run in runs
            for line, (key, name) in enumerate(kind.keys.items())
        ]
        ys = [y for _, curve, _ in found for _, y in curve]
        low, high, wide = min(ys), max(ys), max(len(label) for label, _, _ in found)
        text.append("\n\n" if panel else "")
        text.append(kind.heading, style="bold")
        for number, (label, curve, line) in enumerate(each for each in found if each[1]):
            every = math.ceil(len(curve) / max(1, width // 2))
            levels = [round((y - low) / (high - low or 1) * (len(BLOCKS) - 1)) for _, y in curve[::-every]]
            text.append(f"\n  {label:{wide}}  ").append("".join(BLOCKS[level] for level in reversed(levels)))
            text.stylize(choose_colour(number, DARK), text.plain.rindex("\n"))
            text.append(f"  {curve[-1][1]:.4g}")
            if line == 0 and kind.best is not None:
                x, y = find_best(curve, kind.best)
                text.append(f"  best {y:.4g}, {by} {x:g}", style="dim")
    return text
