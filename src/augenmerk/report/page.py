"""The report: one HTML file that needs nothing else, for any screen, light or dark, and for paper."""

from functools import partial

from augenmerk.diagrams import AttentionMap, Chart
from augenmerk.diagrams.html import render_template
from augenmerk.report import charts
from augenmerk.report.tables import build_columns, describe_table
from augenmerk.study.result import MEASURES, Example, StudyResult


def render_report(result: StudyResult) -> str:
    """Renders the page of a study's result."""
    first = result.splits[0]
    answers = [each.in_words for each in result.comparisons if (each.measure, each.split) == ("bleu", first)]
    # In a study with only one variant, the width of the beam is what the question is about.
    leading = [each for each in result.beam_repairs if len(result.variants) == 1 and each.split == first]
    bins = next((variant.by_length for variant in result.variants if variant.by_length), ())
    curves = {curve.measure for variant in result.variants for curve in variant.curves}
    context = {
        "title": f"{result.name}: {result.question}",
        "result": result,
        "measures": MEASURES,
        "answers": [*answers, *(each.in_words for each in leading)],
        "columns": build_columns(result),
        "table_note": describe_table(result),
        "effects": result.comparisons
        and Chart.draw(partial(charts.draw_effects, result), "Differences in BLEU with 95% intervals"),
        "curves": [
            Chart.draw(partial(charts.draw_curves, result, measure), f"{heading} by epoch and variant")
            for measure, heading in charts.CURVES.items()
            if measure in curves
        ],
        "bins": bins,
        "lengths": bins
        and Chart.draw(partial(charts.draw_lengths, result), "BLEU by length of the source sentence"),
        "beams": {
            split: Chart.draw(
                partial(charts.draw_beams, result, split),
                f"Four figures against the width of the beam, {split}",
            )
            for split in (result.splits if result.beam_rows else ())
        },
        "repairs": [each.in_words for each in result.beam_repairs if each not in leading],
        "examples": [(example, _make_maps(example)) for example in result.examples],
    }
    return render_template("report.html", context)


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
