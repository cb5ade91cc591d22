"""The charts of a report, each drawn in a given theme from a study's result alone."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from augenmerk.drawing.attention_map import shorten_text
from augenmerk.drawing.charts import SMALL, add_legend, choose_colour, label_ends, make_sign, set_heading
from augenmerk.drawing.figures import Theme, new_figure, pt, use_theme
from augenmerk.study.result import BeamRow, ComparisonResult, StudyResult, VariantResult, describe_doubt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.4
"""Inches: small enough that text can be read on a phone, where a chart is as wide as the screen."""
WIDE = 7.2
"""Inches, of a chart with two panels in a row."""
LINE_STYLES = ("-", "--", ":", "-.")
"""The second style marks variants beyond the number of colours, and so on."""
LINE: Mapping[str, Any] = {"linewidth": 2}
LINE_AND_DOT: Mapping[str, Any] = {"linewidth": 2, "marker": "o", "markersize": 5}
DOT: Mapping[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 6}
STROKE: Mapping[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 7}
WHISKER: Mapping[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 10, "markeredgewidth": 1.5}
"""Signs in the legends."""
MEAN_AND_RANGE = {"mean of the runs": LINE_AND_DOT, "from the lowest to the highest run": WHISKER}
MEAN_AND_DEVIATION = {"mean of the runs": LINE_AND_DOT, "standard deviation of the runs": WHISKER}
MIN_VALUES = 3
"""Fewest values of a factor that is a number for which a line is drawn along them."""
LOGARITHMIC_FROM = 10.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
MAX_WHISKERS = 10
"""Most whiskers of a curve: more would hide each other."""
MAX_SHIFT, ALL_SHIFTS = 0.012, 0.06
"""Shares of the axis by which a line is shifted from the next one, and all lines of a panel together."""
CURVES = {
    "validation_loss": "validation loss",
    "validation_bleu": "validation BLEU, greedy",
    "train_loss": "training loss",
}
BEAM_PANELS: dict[str, Callable[[BeamRow], float]] = {
    "BLEU": lambda row: row.bleu,
    "length ratio": lambda row: row.length_ratio,
    "mean score by the model": lambda row: row.model_score,
    "milliseconds per sentence": lambda row: 1000 * row.seconds_per_sentence,
}


@dataclass(frozen=True)
class NamedChart:
    """A chart of a report, which can be drawn in either theme."""

    heading: str
    """What it shows, for readers who cannot see it."""
    draw: Callable[[Theme], Figure]


class Line(NamedTuple):
    """Means along x, each with the range that its whisker shows; `number` chooses colour and style."""

    number: int
    label: str
    xs: Sequence[float]
    means: Sequence[float]
    ranges: Sequence[tuple[float, float]] = ()


def list_charts(result: StudyResult) -> dict[str, NamedChart]:
    """Returns the charts that there are numbers for, by the name of their file."""
    charts = dict[str, NamedChart]()

    def add(name: str, heading: str, draw: Callable[..., Figure], *about: str) -> None:
        charts[name] = NamedChart(heading, partial(draw, result, *about))

    if _list_effects(result):
        add("effects", "Differences in BLEU with their intervals", draw_effects)
    for factor in list_number_factors(result):
        name = _label_factor(factor)
        add(f"by-{name}", f"BLEU and loss per word against {name}", draw_factor, factor)
    measured = {curve.measure for variant in result.variants for curve in variant.curves}
    for measure, heading in CURVES.items():
        if measure in measured:
            add(measure, f"{heading} by epoch and variant", draw_curves, measure)
    if any(variant.by_length for variant in result.variants):
        add("lengths", "BLEU by length of the source sentence", draw_lengths)
    for number, split in enumerate(result.splits if result.beam_rows else (), 1):
        name = "beams" if len(result.splits) == 1 else f"beams-{number}"
        add(name, f"Four measures against the width of the beam, {split}", draw_beams, split)
    return charts


def draw_curves(result: StudyResult, measure: str, theme: Theme) -> Figure:
    """Draws the mean of the runs of each variant, with whiskers from the lowest to the highest run."""
    from matplotlib.ticker import MaxNLocator

    lines = [
        Line(
            number,
            label,
            [point.epoch for point in curve.points],
            [point.mean for point in curve.points],
            [(point.low, point.high) for point in curve.points],
        )
        for number, label, variant in _list_variants(result)
        for curve in variant.curves
        if curve.measure == measure
    ]
    with use_theme(theme):
        figure, axes = _draw_panel(lines, theme, CURVES[measure])
        low, high = axes.get_xlim()
        if high - low < 1:  # there is one epoch only; its variants belong together
            axes.set_xlim(low - 0.5, high + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlabel("epoch")
        return figure


def draw_lengths(result: StudyResult, theme: Theme) -> Figure:
    """Draws BLEU against the length of the source sentence."""
    lines = []
    for number, label, variant in _list_variants(result):
        if bins := variant.by_length:
            ranges = [(each.low, each.high) for each in bins]
            lines.append(Line(number, label, range(len(bins)), [each.bleu for each in bins], ranges))
    bins = next(variant.by_length for variant in reversed(result.variants) if variant.by_length)
    lengths = ["–".join(map(str, dict.fromkeys((each.shortest, each.longest)))) for each in bins]
    with use_theme(theme):
        figure, axes = _draw_panel(lines, theme, f"BLEU by length of the sentence, {result.splits[0]}")
        axes.set_xticks(range(len(bins)), lengths)
        axes.set_xlabel("words of the source sentence")
        return figure


def _draw_panel(lines: Sequence[Line], theme: Theme, heading: str) -> tuple[Figure, Axes]:
    """Draws lines in one panel, and names them at their ends."""
    figure = new_figure(WIDTH, 3.5)
    axes = figure.subplots()
    set_heading(axes, heading)
    _draw_lines(axes, lines, theme)
    shift = axes.dataLim.x1 - max(line.xs[-1] for line in lines)  # of the line furthest to the right
    ends = [
        (line.xs[-1] + shift, line.means[-1], line.label, choose_colour(line.number, theme)) for line in lines
    ]
    label_ends(axes, ends)
    _explain(figure, theme, MEAN_AND_RANGE)
    return figure, axes


def _draw_lines(axes: Axes, lines: Sequence[Line], theme: Theme) -> None:
    """Draws lines, shifted sideways a little so that you can see the whiskers. Set the scale of x before."""
    every = max((math.ceil(len(line.ranges) / MAX_WHISKERS) for line in lines), default=1) or 1
    everywhere = [x for line in lines for x in line.xs]
    for index, line in enumerate(lines):
        share = (index - (len(lines) - 1) / 2) * min(MAX_SHIFT, ALL_SHIFTS / len(lines))
        low, high = min(everywhere), max(everywhere)
        if axes.get_xscale() == "log":
            xs = [x * (high / low) ** share for x in line.xs]
        else:
            xs = [x + share * ((high - low) or 1) for x in line.xs]
        colour = choose_colour(line.number, theme)
        style = LINE_STYLES[line.number // len(theme.series) % len(LINE_STYLES)]
        for x, ends in list(zip(xs, line.ranges, strict=False))[::-every]:
            axes.plot([x, x], ends, color=colour, linewidth=pt(1.2), alpha=0.85)
        look: dict[str, Any] = {"marker": "o", "markersize": pt(3.5), "linewidth": pt(1.8)}
        axes.plot(xs, line.means, style, color=colour, label=line.label, **look)


def draw_factor(result: StudyResult, factor: str, theme: Theme) -> Figure:
    """Draws BLEU and, where it can be compared, the loss per word against a factor that is a number.

    Each line is a choice of the other factors.
    """
    from matplotlib.ticker import LogLocator

    by_others: dict[str, list[VariantResult]] = {}
    for variant in sorted(result.variants, key=lambda variant: variant.settings[factor]):
        others = [str(value) for key, value in variant.settings.items() if key != factor]
        by_others.setdefault(shorten_text(", ".join(others)), []).append(variant)
    values = sorted({variant.settings[factor] for variant in result.variants})
    split = result.splits[0]
    panels: dict[str, tuple[str, str, int | None]] = {"BLEU": ("bleu", split, result.beams[0])}
    if "word_loss" not in result.incomparable:
        panels["loss per word"] = ("word_loss", split, None)
    with use_theme(theme):
        figure = new_figure(WIDE, 3.7)
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (heading, asked) in zip(row, panels.items(), strict=True):
            lines = []
            for number, (label, variants) in enumerate(by_others.items()):
                found = [(variant.settings[factor], variant.summary(*asked)) for variant in variants]
                measured = [(value, summary) for value, summary in found if summary is not None]
                xs, means = [value for value, _ in measured], [summary.mean for _, summary in measured]
                spreads = [(summary.mean, (summary.variance or 0.0) ** 0.5) for _, summary in measured]
                if measured:
                    lines.append(Line(number, label, xs, means, [(m - d, m + d) for m, d in spreads]))
            if _is_wide(values):
                axes.set_xscale("log")
            if asked[0] == "word_loss" and _is_wide([mean for line in lines for mean in line.means]):
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter("{x:g}")
            _draw_lines(axes, lines, theme)
            axes.set_xticks(values, [f"{value:,}" for value in values], fontsize=pt(SMALL))
            axes.minorticks_off()
            axes.set_xlabel(_label_factor(factor))
            set_heading(axes, f"{heading}, {split}")
        _name_lines(figure)
        _explain(figure, theme, MEAN_AND_DEVIATION)
        return figure


def list_number_factors(result: StudyResult) -> list[str]:
    """Returns the factors whose values are numbers, and enough of them to draw a line along."""
    values = {each: [variant.settings.get(each) for variant in result.variants] for each in result.factors}
    return [
        factor
        for factor, found in values.items()
        if all(type(value) in (int, float) for value in found) and len(set(found)) >= MIN_VALUES
    ]


def _label_factor(factor: str) -> str:
    return factor.rpartition(".")[2]


def _is_wide(values: Sequence[float]) -> bool:
    return bool(values) and 0 < LOGARITHMIC_FROM * min(values) <= max(values)


def draw_effects(result: StudyResult, theme: Theme) -> Figure:
    """Draws each comparison by BLEU: the difference, its interval, and a stroke for each seed."""
    compared = _list_effects(result)
    labels = {variant.name: label for _, label, variant in _list_variants(result)}
    names = [_label_difference(each, labels) for each in compared]
    lines = max((name.count("\n") + 1 for name in names), default=1)
    with use_theme(theme):
        figure = new_figure(WIDTH, 1.4 + max(0.42, 0.2 * lines) * len(compared))
        axes = figure.subplots()
        set_heading(axes, None, grid="x")
        for row, each in enumerate(compared):
            certain = each.difference and not describe_doubt(each)
            colour = theme.accent if certain else theme.ink
            look: dict[str, Any] = {"linewidth": pt(2.5), "solid_capstyle": "round"}
            axes.plot(each.interval, [row, row], color=colour, **look)
            axes.plot([each.difference], [row], "o", color=colour, markersize=pt(7))
            runs = [seed.difference for seed in each.seeds]
            stroke: dict[str, Any] = {"color": theme.ink, "alpha": 0.55, "markersize": pt(6)}
            axes.plot(runs, [row + 0.24] * len(runs), "|", **stroke)
        axes.axvline(0, color=theme.ink, linewidth=pt(1), alpha=0.7)
        axes.set_yticks(range(len(compared)), names, fontsize=pt(SMALL if lines > 2 else 10))
        axes.set_ylim(len(compared) - 0.45, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=5)  # few, because the labels of tiny differences are long
        axes.set_xlabel("difference in BLEU")
        signs = {"mean": DOT, "interval": LINE, "one seed": STROKE}
        clear = make_sign("p < 0.05: the interval excludes 0", theme.accent, **LINE_AND_DOT)
        _explain(figure, theme, signs, clear)
        return figure


def _list_effects(result: StudyResult) -> list[ComparisonResult]:
    asked = ("bleu", result.splits[0])
    return [each for each in result.comparisons if (each.measure, each.split) == asked]


def draw_beams(result: StudyResult, split: str, theme: Theme) -> Figure:
    """Draws four numbers of a split against the width of the beam."""
    beams = sorted({row.beam for row in result.beam_rows})
    with use_theme(theme):
        figure = new_figure(WIDE, 5.4)
        for axes, (heading, get_value) in zip(figure.subplots(2, 2).flat, BEAM_PANELS.items(), strict=True):
            lines = []
            for number, label, variant in _list_variants(result):
                rows = [row for row in result.beam_rows if (row.variant, row.split) == (variant.name, split)]
                if rows:
                    ranges = [(row.bleu_low, row.bleu_high) for row in rows if heading == "BLEU"]
                    xs = [row.beam for row in rows]
                    lines.append(Line(number, label, xs, [get_value(row) for row in rows], ranges))
            axes.set_xscale("log")
            _draw_lines(axes, lines, theme)
            axes.set_xticks(beams, map(str, beams))
            axes.minorticks_off()
            axes.set_xlabel("width of the beam")
            if heading.startswith("milli"):
                axes.set_ylim(bottom=0)
            set_heading(axes, heading)
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(h_pad=0.12, w_pad=0.08)  # type: ignore[call-arg]
        _name_lines(figure)
        if any(row.runs > 1 for row in result.beam_rows):
            _explain(figure, theme, MEAN_AND_RANGE)
        return figure


def _name_lines(figure: Figure) -> None:
    """Names the lines of the first panel above all panels, if there are several."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        add_legend(figure, handles, "upper")


def _explain(figure: Figure, theme: Theme, signs: Mapping[str, Mapping[str, Any]], *others: Any) -> None:
    """Puts a legend below a chart that explains signs, whatever their colour, and the other signs given."""
    made = [make_sign(label, theme.muted, **sign) for label, sign in signs.items()]
    add_legend(figure, [*made, *others], "lower", SMALL, theme.muted)


def _list_variants(result: StudyResult) -> list[tuple[int, str, VariantResult]]:
    """Returns the variants with their numbers and short labels; only values if short names are the same."""
    labels = [shorten_text(variant.name) for variant in result.variants]
    if len(set(labels)) < len(labels):
        labels = [shorten_text(", ".join(map(str, each.settings.values()))) for each in result.variants]
    return list(zip(range(len(labels)), labels, result.variants, strict=True))


def _label_difference(each: ComparisonResult, labels: Mapping[str, str]) -> str:
    """Names what is compared, in several lines if that is long: the chart needs room too."""
    variant, against = (labels.get(name, name) for name in (each.variant, each.against))
    wrapped = [textwrap.wrap(part, 26, max_lines=2, placeholder="…") for part in (variant, f"− {against}")]
    separator = "\n" if len(variant + against) > 24 else " "
    return separator.join("\n".join(lines) for lines in wrapped)
