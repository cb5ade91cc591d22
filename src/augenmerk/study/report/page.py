"""The report: one self-contained HTML file, for any screen, light or dark, and for paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from augenmerk.drawing import AttentionMap, Chart
from augenmerk.drawing.figures import Style, Theme
from augenmerk.drawing.html import render_template
from augenmerk.study.report.charts import CURVES, NamedChart, list_charts
from augenmerk.study.report.tables import (
    DEFAULT_STYLE,
    TableStyle,
    build_columns,
    describe_published,
    describe_table,
)
from augenmerk.study.result import MEASURES, Example, StudyResult, describe_doubt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAIN = Style()


def render_report(result: StudyResult, table: TableStyle = DEFAULT_STYLE, style: Style = PLAIN) -> str:
    """Renders the page of a study's result, light or dark like the reader's screen."""
    details = {detail for verdict in result.verdicts for detail in verdict.details}
    bins = next((variant.by_length for variant in result.variants if variant.by_length), ())
    charts = {name: _draw(chart, style) for name, chart in list_charts(result).items()}
    by_beam = [chart for name, chart in charts.items() if name.startswith("beams")]
    context = {
        "title": style.title or f"{result.name}: {result.question}",
        "heading": style.title or result.question,
        "result": result,
        "measures": MEASURES,
        "verdicts": result.verdicts,
        "columns": build_columns(result, table),
        "table_note": describe_table(result, table),
        "alignment_notes": describe_alignment(result),
        "published": describe_published(result, table),
        "describe_doubt": describe_doubt,
        "along_factors": [chart for name, chart in charts.items() if name.startswith("by-")],
        "effects": charts.get("effects"),
        "curves": [charts[measure] for measure in CURVES if measure in charts],
        "bins": bins,
        "lengths": charts.get("lengths"),
        "beams": dict(zip(result.splits, by_beam, strict=False)),
        "repairs": [each.in_words for each in result.beam_repairs if each.in_words not in details],
        "examples": [(example, _make_maps(example)) for example in result.examples],
    }
    return render_template("report.html", context)


def _draw(chart: NamedChart, style: Style) -> Chart:
    def draw(theme: Theme) -> Figure:
        return replace(style, theme=theme, title=None).draw(chart.draw)

    return Chart.draw(draw, chart.heading)


def describe_alignment(result: StudyResult) -> list[str]:
    """Returns a sentence for each variant whose alignment error is that of a chosen head, or of a mean."""
    notes = []
    for variant in result.variants:
        chosen = [
            f"{run.alignment_attention} (seed {run.seed}"
            + (f", chosen on {run.alignment_chosen_on})" if run.alignment_chosen_on else ")")
            for run in variant.runs
            if run.alignment_attention is not None
        ]
        if chosen:
            notes.append(f"The alignment error of {variant.name} is measured with {'; '.join(chosen)}.")
    return notes


def _make_maps(example: Example) -> list[AttentionMap]:
    return [
        AttentionMap(
            source_words=example.source_words,
            target_words=one.target_words,
            weights=one.weights,
            title=f"{one.variant}, seed {one.seed}",
            note=one.translation,
        )
        for one in example.maps
    ]
