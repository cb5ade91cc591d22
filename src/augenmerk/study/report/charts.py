"""The charts of a report, each drawn in a given theme from a study's result alone."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from augenmerk.drawing.attention_map import shorten_text
from augenmerk.drawing.figures import Theme, label_ends, use_theme
from augenmerk.study.result import (
    BeamRow,
    ComparisonResult,
    StudyResult,
    VariantResult,
    describe_doubt,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.4
"""Inches: small enough that text can be read on a phone, where a chart is as wide as the screen."""
SMALL_SIZE = 8.5
LINE_STYLES = ("-", "--", ":", "-.")
"""The second style is for variants beyond the number of colours, and so on."""
LINE: Mapping[str, Any] = {"linewidth": 2}
LINE_AND_DOT: Mapping[str, Any] = {"linewidth": 2, "marker": "o", "markersize": 5}
DOT: Mapping[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 6}
STROKE: Mapping[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 7}
WHISKER: Mapping[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 10, "markeredgewidth": 1.5}
"""Signs in the legends."""
MEAN_AND_RANGE = {"mean of the runs": LINE_AND_DOT, "from the lowest to the highest run": WHISKER}
MEAN_AND_DEVIATION = {"mean of the runs": LINE_AND_DOT, "standard deviation of the runs": WHISKER}
MIN_POINTS = 3
"""How many values a factor that is a number has, at least, for a line to be drawn along them."""
LOGARITHMIC_FROM = 10.0
"""Axes are logarithmic if their largest value is so many times the smallest."""
MAX_WHISKERS = 10
"""How many epochs of a curve have a whisker, at most: more would hide each other."""
CURVES = {
    "validation_loss": "validation loss",
    "validation_bleu": "validation BLEU, greedy",
    "train_loss": "training loss",
}
LOSS = "loss per word"
BEAM_FIGURES: dict[str, Callable[[BeamRow], float]] = {
    "BLEU": lambda row: row.bleu,
    "length ratio": lambda row: row.length_ratio,
    "mean score by the model": lambda row: row.model_score,
    "milliseconds per sentence": lambda row: 1000 * row.seconds_per_sentence,
}


@dataclass(frozen=True)
class NamedChart:
    """A chart of a report, which can be drawn in either theme."""

    heading: str
    """What it shows, for those who cannot see it."""
    draw: Callable[[Theme], Figure]


def list_charts(result: StudyResult) -> dict[str, NamedChart]:
    """Returns the charts that there are figures for, by the name of their file."""
    charts = {}
    if _list_effects(result):
        heading = "Differences in BLEU with their intervals"
        charts["effects"] = NamedChart(heading, partial(draw_effects, result))
    for factor in list_number_factors(result):
        name = _label_factor(factor)
        draw = partial(draw_factor, result, factor)
        charts[f"by-{name}"] = NamedChart(f"BLEU and loss per word against {name}", draw)
    measured = {curve.measure for variant in result.variants for curve in variant.curves}
    for measure, heading in CURVES.items():
        if measure in measured:
            draw = partial(draw_curves, result, measure)
            charts[measure] = NamedChart(f"{heading} by epoch and variant", draw)
    if any(variant.by_length for variant in result.variants):
        heading = "BLEU by length of the source sentence"
        charts["lengths"] = NamedChart(heading, partial(draw_lengths, result))
    for number, split in enumerate(result.splits if result.beam_rows else (), 1):
        name = "beams" if len(result.splits) == 1 else f"beams-{number}"
        heading = f"Four figures against the width of the beam, {split}"
        charts[name] = NamedChart(heading, partial(draw_beams, result, split))
    return charts


def draw_curves(result: StudyResult, measure: str, theme: Theme) -> Figure:
    """Draws a line for each variant, the mean of its runs, with whiskers from the lowest to the highest run.

    The variants stand a little beside each other, so that each can be seen where their runs overlap.
    """
    from matplotlib.ticker import MaxNLocator

    with use_theme(theme):
        figure, axes = _make_figure(3.5, CURVES[measure])
        ends, labels = [], _label_variants(result)
        for number, variant in enumerate(result.variants):
            for curve in (curve for curve in variant.curves if curve.measure == measure):
                points = curve.points
                every = math.ceil(len(points) / MAX_WHISKERS)
                aside = every * _move_aside(number, result)
                places, means = [point.epoch + aside for point in points], [point.mean for point in points]
                ranges = [(point.low, point.high) for point in points]
                colour = _draw_means(axes, places, means, ranges, number, theme, every)
                right = points[-1].epoch + every * _move_aside(len(result.variants) - 1, result)
                ends.append((right, means[-1], labels[variant.name], colour))
        low, high = axes.get_xlim()
        if high - low < 1:  # there is one epoch only; its variants belong together
            axes.set_xlim(low - 0.5, high + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlabel("epoch")
        label_ends(axes, ends)
        _explain(figure, theme, MEAN_AND_RANGE)
        return figure


def draw_lengths(result: StudyResult, theme: Theme) -> Figure:
    """Draws BLEU against the length of the source sentence."""
    with use_theme(theme):
        figure, axes = _make_figure(3.5, f"BLEU by length of the sentence, {result.splits[0]}")
        ends, labels = [], _label_variants(result)
        for number, variant in enumerate(result.variants):
            bins = variant.by_length
            if not bins:
                continue
            aside = _move_aside(number, result) / 2  # these places are far from each other
            places, means = [place + aside for place in range(len(bins))], [each.bleu for each in bins]
            colour = _draw_means(axes, places, means, [(each.low, each.high) for each in bins], number, theme)
            right = len(bins) - 1 + _move_aside(len(result.variants) - 1, result) / 2
            ends.append((right, means[-1], labels[variant.name], colour))
            lengths = (dict.fromkeys((each.shortest, each.longest)) for each in bins)
            axes.set_xticks(range(len(bins)), ["–".join(map(str, each)) for each in lengths])
        axes.set_xlabel("words of the source sentence")
        label_ends(axes, ends)
        _explain(figure, theme, MEAN_AND_RANGE)
        return figure


def draw_factor(result: StudyResult, factor: str, theme: Theme) -> Figure:
    """Draws BLEU and, where it can be compared, the loss per word against a factor that is a number.

    Each line is a choice of the other factors. The lines stand a little beside each other, so that the
    whiskers of each can be seen.
    """
    lines: dict[str, list[VariantResult]] = {}
    for variant in sorted(result.variants, key=lambda variant: variant.settings[factor]):
        others = [str(value) for key, value in variant.settings.items() if key != factor]
        lines.setdefault(", ".join(others), []).append(variant)
    values = sorted({variant.settings[factor] for variant in result.variants})
    split, beam = result.splits[0], result.beams[0]
    with use_theme(theme):
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator

        figure = Figure(figsize=(WIDTH + 0.8, 3.7), layout="constrained")
        panels: dict[str, tuple[str, str, int | None]] = {"BLEU": ("bleu", split, beam)}
        if "word_loss" not in result.incomparable:
            panels[LOSS] = ("word_loss", split, None)
        places_of = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (heading, asked) in zip(places_of, panels.items(), strict=True):
            drawn = []
            for number, (label, variants) in enumerate(lines.items()):
                found = [(variant.settings[factor], variant.summary(*asked)) for variant in variants]
                points = [(value, summary) for value, summary in found if summary is not None]
                if not points:
                    continue
                aside = 0.012 * (number - (len(lines) - 1) / 2)
                places = [_place_aside(value, values, aside) for value, _ in points]
                means = [summary.mean for _, summary in points]
                deviations = [(summary.variance or 0.0) ** 0.5 for _, summary in points]
                ranges = [(m - d, m + d) for m, d in zip(means, deviations, strict=True)]
                _draw_means(axes, places, means, ranges, number, theme)
                axes.lines[-1].set_label(shorten_text(label))
                drawn += means
            if _is_wide(values):
                axes.set_xscale("log")
            if heading == LOSS and drawn and _is_wide(drawn):
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter("{x:g}")
            axes.set_xticks(values, [f"{value:,}" for value in values], fontsize=SMALL_SIZE)
            axes.minorticks_off()
            axes.set_xlabel(_label_factor(factor))
            _set_title_and_grid(axes, f"{heading}, {split}")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside upper left", ncols=4)
        _explain(figure, theme, MEAN_AND_DEVIATION)
        return figure


def list_number_factors(result: StudyResult) -> list[str]:
    """Returns the factors whose values are numbers, and enough of them to draw a line along."""
    found = []
    for factor in result.factors:
        values = [variant.settings.get(factor) for variant in result.variants]
        if all(type(value) in (int, float) for value in values) and len(set(values)) >= MIN_POINTS:
            found.append(factor)
    return found


def _label_factor(factor: str) -> str:
    return factor.rpartition(".")[2]


def _is_wide(values: Sequence[float]) -> bool:
    return 0 < LOGARITHMIC_FROM * min(values) <= max(values)


def _place_aside(value: float, values: Sequence[float], share: float) -> float:
    """Moves a value to the side by this share of the axis."""
    low, high = min(values), max(values)
    if _is_wide(values):
        return float(value * (high / low) ** share)
    return value + share * (high - low)


def draw_effects(result: StudyResult, theme: Theme) -> Figure:
    """Draws each comparison by BLEU: the difference, its interval, and a stroke for each seed."""
    compared = _list_effects(result)
    labels = _label_variants(result)
    with use_theme(theme):
        names = [_label_difference(each, labels) for each in compared]
        lines = max((name.count("\n") + 1 for name in names), default=1)
        figure, axes = _make_figure(1.4 + max(0.42, 0.2 * lines) * len(compared), grid="x")
        for place, each in enumerate(compared):
            certain = each.difference and not describe_doubt(each)
            colour = theme.accent if certain else theme.ink
            axes.plot(each.interval, [place, place], color=colour, linewidth=2.5, solid_capstyle="round")
            axes.plot([each.difference], [place], "o", color=colour, markersize=7)
            runs = [seed.difference for seed in each.seeds]
            axes.plot(runs, [place + 0.24] * len(runs), "|", color=theme.ink, alpha=0.55, markersize=6)
        axes.axvline(0, color=theme.ink, linewidth=1, alpha=0.7)
        axes.set_yticks(range(len(compared)), names, fontsize=SMALL_SIZE if lines > 2 else None)
        axes.set_ylim(len(compared) - 0.45, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=5)  # few, because the labels of tiny differences are long
        axes.set_xlabel("difference in BLEU")
        signs = {"mean": DOT, "interval": LINE, "one seed": STROKE}
        _explain(figure, theme, signs, {"p < 0.05: the interval excludes 0": theme.accent})
        return figure


def _list_effects(result: StudyResult) -> list[ComparisonResult]:
    wanted = ("bleu", result.splits[0])
    return [each for each in result.comparisons if (each.measure, each.split) == wanted]


def draw_beams(result: StudyResult, split: str, theme: Theme) -> Figure:
    """Draws four figures of a split against the width of the beam."""
    with use_theme(theme):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH + 0.8, 5.4), layout="constrained")
        beams, labels = sorted({row.beam for row in result.beam_rows}), _label_variants(result)
        for axes, (heading, get_value) in zip(figure.subplots(2, 2).flat, BEAM_FIGURES.items(), strict=True):
            for number, variant in enumerate(result.variants):
                rows = [row for row in result.beam_rows if (row.variant, row.split) == (variant.name, split)]
                if not rows:
                    continue
                # A factor, because the axis is logarithmic.
                places = [row.beam * (1 + _move_aside(number, result) / 2) for row in rows]
                values = [get_value(row) for row in rows]
                only_bleu = heading == "BLEU"
                ranges = [(row.bleu_low, row.bleu_high) for row in rows] if only_bleu else []
                _draw_means(axes, places, values, ranges, number, theme)
                axes.lines[-1].set_label(labels[variant.name])
            axes.set_xscale("log")
            axes.set_xticks(beams, map(str, beams))
            axes.minorticks_off()
            axes.set_xlabel("width of the beam")
            if heading.startswith("milli"):
                axes.set_ylim(bottom=0)
            _set_title_and_grid(axes, heading)
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(h_pad=0.12, w_pad=0.08)  # type: ignore[call-arg]
        handles, shown = figure.axes[0].get_legend_handles_labels()
        if len(shown) > 1:
            figure.legend(handles, shown, loc="outside upper left", ncols=4)
        _explain(figure, theme, MEAN_AND_RANGE)
        return figure


def _draw_means(
    axes: Axes,
    places: Sequence[float],
    means: Sequence[float],
    ranges: Sequence[tuple[float, float]],
    number: int,
    theme: Theme,
    every: int = 1,
) -> str:
    """Draws the line of a variant, with a whisker for every so many of its ranges; returns its colour."""
    colour, style = _choose_look(number, theme)
    for place, (low, high) in list(zip(places, ranges, strict=False))[::-every]:  # the last point has one
        axes.plot([place, place], [low, high], color=colour, linewidth=1.2, alpha=0.85)
    axes.plot(places, means, style, color=colour, linewidth=1.8, marker="o", markersize=3.5)
    return colour


def _move_aside(number: int, result: StudyResult) -> float:
    """Returns how far a variant stands beside a place, as a share of the distance between places."""
    count = len(result.variants)
    return (number - (count - 1) / 2) * min(0.06, 0.4 / count)


def _explain(
    figure: Figure,
    theme: Theme,
    signs: Mapping[str, Mapping[str, Any]],
    colours: Mapping[str, str] | None = None,
) -> None:
    """Puts a legend below a chart: what signs mean, in whichever colour, and what colours mean."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=theme.muted, label=label, **sign) for label, sign in signs.items()]
    for label, colour in (colours or {}).items():
        handles.append(Line2D([], [], color=colour, label=label, **LINE_AND_DOT))
    legend = figure.legend(handles=handles, loc="outside lower left", ncols=4, fontsize=SMALL_SIZE)
    for text in legend.get_texts():
        text.set_color(theme.muted)


def _make_figure(height: float, title: str | None = None, grid: str = "y") -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    _set_title_and_grid(axes, title, grid)
    return figure, axes


def _set_title_and_grid(axes: Axes, title: str | None, grid: str = "y") -> None:
    if title:
        axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axes.grid(axis=grid, alpha=0.6)  # type: ignore[arg-type]


def _choose_look(number: int, theme: Theme) -> tuple[str, str]:
    """Returns the colour and the line style of a variant."""
    colours = len(theme.series)
    return theme.series[number % colours], LINE_STYLES[number // colours % len(LINE_STYLES)]


def _label_variants(result: StudyResult) -> dict[str, str]:
    """Returns a short label for each variant by its name: only its values if shortened names are the same."""
    labels = {variant.name: shorten_text(variant.name) for variant in result.variants}
    if len(set(labels.values())) == len(labels):
        return labels
    return {
        variant.name: shorten_text(", ".join(map(str, variant.settings.values())))
        for variant in result.variants
    }


def _label_difference(each: ComparisonResult, labels: Mapping[str, str]) -> str:
    """Names what is compared, in several lines if that is long: the chart needs room too."""
    variant, against = (labels.get(name, name) for name in (each.variant, each.against))
    wrapped = [textwrap.wrap(part, 26, max_lines=2, placeholder="…") for part in (variant, f"− {against}")]
    separator = "\n" if len(variant + against) > 24 else " "
    return separator.join("\n".join(lines) for lines in wrapped)
