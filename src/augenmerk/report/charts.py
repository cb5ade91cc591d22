"""The charts of a report, each drawn for a given theme from a study's result alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from augenmerk.figures import Theme, drawing
from augenmerk.study.result import BeamRow, StudyResult, VariantResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.4
"""Inches: small enough that words can be read on a phone, where a chart is as wide as the screen."""
STYLES = ("-", "--", ":", "-.")
"""For more variants than there are colours."""
CURVES = {
    "validation_loss": "validation loss",
    "validation_bleu": "validation BLEU, greedy",
    "train_loss": "training loss",
}


def curves_chart(result: StudyResult, measure: str, theme: Theme) -> Figure:
    """A line for each variant: the mean of its runs, within the band from the lowest to the highest."""
    with drawing(theme):
        figure, axes = _figure(WIDTH, 3.5)
        ends = []
        for place, variant in enumerate(result.variants):
            for curve in (curve for curve in variant.curves if curve.measure == measure):
                epochs = [point.epoch for point in curve.points]
                means = [point.mean for point in curve.points]
                colour, style = _look(place, theme)
                low, high = [point.low for point in curve.points], [point.high for point in curve.points]
                shade = 0.22 if len(result.variants) <= 3 else 0.12
                axes.fill_between(epochs, low, high, color=colour, alpha=shade, linewidth=0)
                axes.plot(epochs, means, style, color=colour, linewidth=2, marker="o", markersize=3.5)
                ends.append((epochs[-1], means[-1], variant.name, colour))
        _whole_numbers(axes)
        axes.set_xlabel("epoch")
        _title(axes, CURVES[measure])
        axes.grid(axis="y", alpha=0.6)
        _name_ends(axes, ends)
        return figure


def lengths_chart(result: StudyResult, theme: Theme) -> Figure:
    """BLEU of short and of long sentences."""
    with drawing(theme):
        figure, axes = _figure(WIDTH, 3.5)
        ends = []
        labels: list[str] = []
        for place, variant in enumerate(result.variants):
            bins = variant.by_length
            if not bins:
                continue
            colour, style = _look(place, theme)
            xs = list(range(len(bins)))
            means = [each.bleu for each in bins]
            # A mean of equal figures may lie a rounding error beyond them.
            spread = [[max(0.0, m - each.low) for m, each in zip(means, bins, strict=True)]]
            spread.append([max(0.0, each.high - m) for m, each in zip(means, bins, strict=True)])
            axes.errorbar(
                xs, means, spread, color=colour, linestyle=style, linewidth=2, marker="o", capsize=3
            )
            ends.append((xs[-1], means[-1], variant.name, colour))
            labels = [
                f"{each.shortest}–{each.longest}" if each.shortest != each.longest else f"{each.shortest}"
                for each in bins
            ]
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel("words of the source sentence")
        _title(axes, f"BLEU by length of the sentence, {result.splits[0]}")
        axes.grid(axis="y", alpha=0.6)
        _name_ends(axes, ends)
        return figure


def effects_chart(result: StudyResult, theme: Theme) -> Figure:
    """The difference between every two variants with its interval; a dot for each pair of runs."""
    wanted = ("bleu", result.splits[0])
    compared = [each for each in result.comparisons if (each.measure, each.split) == wanted]
    with drawing(theme):
        figure, axes = _figure(WIDTH, 1.1 + 0.42 * len(compared))
        for place, each in enumerate(compared):
            sure = not each.interval[0] <= 0 <= each.interval[1] and each.p_corrected < 0.05
            colour = theme.accent if sure else theme.ink
            axes.plot(each.interval, [place, place], color=colour, linewidth=2.5, solid_capstyle="round")
            axes.plot([each.difference], [place], "o", color=colour, markersize=7)
            runs = [seed.difference for seed in each.seeds]
            axes.plot(runs, [place + 0.24] * len(runs), "|", color=theme.ink, alpha=0.55, markersize=6)
        axes.axvline(0, color=theme.ink, linewidth=1, alpha=0.7)
        axes.set_yticks(range(len(compared)), [f"{each.variant} − {each.against}" for each in compared])
        axes.set_ylim(len(compared) - 0.45, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("difference in BLEU")
        axes.grid(axis="x", alpha=0.6)
        return figure


def beams_chart(result: StudyResult, split: str, theme: Theme) -> Figure:
    """What a wider beam does to four figures."""
    panels: dict[str, Callable[[BeamRow], float]] = {
        "BLEU": lambda row: row.bleu,
        "length ratio": lambda row: row.length_ratio,
        "mean score by the model": lambda row: row.model_score,
        "milliseconds per sentence": lambda row: 1000 * row.seconds_per_sentence,
    }
    with drawing(theme):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH + 0.8, 5.4), layout="constrained")
        names = [variant.name for variant in result.variants]
        for axes, (heading, figure_of) in zip(figure.subplots(2, 2).flat, panels.items(), strict=True):
            for place, name in enumerate(names):
                rows = [row for row in result.beam_rows if (row.variant, row.split) == (name, split)]
                if not rows:
                    continue
                colour, style = _look(place, theme)
                beams = [row.beam for row in rows]
                if heading == "BLEU":
                    _band(axes, rows, colour)
                values = [figure_of(row) for row in rows]
                axes.plot(
                    beams, values, style, color=colour, linewidth=2, marker="o", markersize=4, label=name
                )
            axes.set_xscale("log")
            axes.set_xticks(sorted({row.beam for row in result.beam_rows}))
            axes.set_xticklabels(map(str, sorted({row.beam for row in result.beam_rows})))
            axes.minorticks_off()
            axes.set_xlabel("width of the beam")
            if heading.startswith("milli"):
                axes.set_ylim(bottom=0)
            _title(axes, heading)
            axes.grid(axis="y", alpha=0.6)
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(h_pad=0.12, w_pad=0.08)  # type: ignore[call-arg]
        handles, labels = figure.axes[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside upper left", ncols=4)
        return figure


def _band(axes: Axes, rows: Sequence[BeamRow], colour: str) -> None:
    low, high = [row.bleu_low for row in rows], [row.bleu_high for row in rows]
    axes.fill_between([row.beam for row in rows], low, high, color=colour, alpha=0.22, linewidth=0)


def has_curve(variants: Sequence[VariantResult], measure: str) -> bool:
    return any(curve.measure == measure for variant in variants for curve in variant.curves)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, fontweight="bold")


def _look(place: int, theme: Theme) -> tuple[str, str]:
    return theme.series[place % len(theme.series)], STYLES[place // len(theme.series) % len(STYLES)]


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _name_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Names stand where the lines end, pushed apart where they would cover each other."""
    low, high = axes.get_ylim()
    ordered = sorted(ends, key=lambda end: end[1])
    for (x, _, name, colour), place in zip(
        ordered, spread([y for _, y, _, _ in ordered], (high - low) * 0.065), strict=True
    ):
        axes.annotate(
            name,
            (x, place),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            fontweight="bold",
            annotation_clip=False,
        )


def spread(places: Sequence[float], room: float) -> list[float]:
    """Rising places moved apart by at least `room`, each crowd staying around its own middle."""
    crowds: list[list[float]] = []
    for place in places:
        crowd = [place]
        while crowds and _top(crowds[-1], room) + room > _bottom(crowd, room):
            crowd = crowds.pop() + crowd
        crowds.append(crowd)
    return [_bottom(crowd, room) + number * room for crowd in crowds for number in range(len(crowd))]


def _bottom(crowd: Sequence[float], room: float) -> float:
    return sum(crowd) / len(crowd) - (len(crowd) - 1) / 2 * room


def _top(crowd: Sequence[float], room: float) -> float:
    return sum(crowd) / len(crowd) + (len(crowd) - 1) / 2 * room
