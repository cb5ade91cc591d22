"""The page of a split's patterns: an overview, and a card with picture and measures for each sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augenmerk.analysis.patterns import KIND_COLOURS, KINDS, PatternMatch, collect_measures
from augenmerk.base.files import atomic_write
from augenmerk.drawing import AttentionMap, Card, Chart, draw_heat_map
from augenmerk.drawing.figures import Style, Theme, use_theme, write_pictures
from augenmerk.drawing.html import render_template

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    **{"entropy_normalised": "entropy", "sharpness": "sharpness", "coverage": "coverage"},
    **{"monotonicity": "monotonicity", "crossing_rate": "crossings", "diagonal": "diagonal"},
    **{"end_mass": "on the end", "punctuation_mass": "on marks", "longest_run": "longest run"},
    "best_offset": "best offset",
}
"""The measures with their labels; the first six are drawn."""


def write_patterns_page(
    folder: Path,
    style: Style,
    matches: Sequence[PatternMatch],
    chosen: Sequence[PatternMatch],
    summary: Mapping[str, Any],
    kind: str | None,
) -> None:
    """Writes a numbered picture of each chosen sentence, a page that shows them, and JSON files."""

    def make_map(match: PatternMatch) -> AttentionMap:
        reference = match.pair.target if summary["of"] == "translations" else None
        return AttentionMap.from_translation(match.translation, head=match.head, reference=reference or None)

    figures = [
        (f"{one.pattern.kind}-{one.index}.svg", partial(draw_heat_map, [make_map(one)])) for one in chosen
    ]
    files = write_pictures(folder, style, figures)
    kinds = f"of the kind '{kind}'" if kind else "of every kind in turn"
    reading = "as it read the references" if summary["of"] == "references" else "as it translated them"
    intro = (
        f"{count_sentences(summary)} of {summary['split']}, {reading}; below, the {len(chosen)} clearest "
        f"{kinds}. Rows are the words produced, columns the words of the source.\n\n"
        f"Inversion: a word moved over two source words or more. Monotone: none did. Spread: a word looks at "
        f"much of the source. Stuck: five words or more in a row look at the same one. Shifted: the diagonal "
        f"lies one word away from where it should be."
    )
    page = render_patterns_page(style.title or "", intro, chosen, matches, summary, files)
    atomic_write(folder / "index.html", [page.encode()])
    for name, document in (("summary", summary), ("patterns", [one.to_dict() for one in chosen])):
        text = json.dumps(document, ensure_ascii=False, indent=2)
        atomic_write(folder / f"{name}.json", [text.encode()])


def count_sentences(summary: Mapping[str, Any]) -> str:
    """Returns how many sentences the summary is about, in words."""
    return f"{summary['sentences']:,} sentence{'s' if summary['sentences'] != 1 else ''}"


def render_patterns_page(
    title: str,
    intro: str,
    chosen: Sequence[PatternMatch],
    matches: Sequence[PatternMatch],
    summary: Mapping[str, Any],
    files: Sequence[str],
) -> str:
    """Renders the page of the chosen matches; `files` are the names of their pictures beside the page."""
    tags = [(tag, share) for tag, share in summary.get("tags", {}).items() if share["sentences"]]
    context = {
        "title": title,
        "intro": intro,
        "cards": list(map(_make_card, count(1), chosen, files)),
        "charts": [
            Chart.draw(partial(draw_kinds, summary["kinds"]), "How many sentences are of each kind"),
            Chart.draw(partial(draw_measures, matches), "How the measures are distributed"),
        ],
        "tags": sorted(tags, key=lambda tag: -(tag[1]["inversion"] or 0)),
    }
    return render_template("patterns.html", context)


def _make_card(number: int, match: PatternMatch, file: str) -> Card:
    translation, pattern = match.translation, match.pattern
    sentences = {"source": translation.source, "translation": translation.text}
    if match.pair.target and match.pair.target != translation.text:
        sentences["reference"] = match.pair.target
    if match.pair.tags:
        sentences["tags"] = ", ".join(match.pair.tags)
    measures = {label: getattr(pattern.measures, name) for name, label in MEASURES.items()}
    return Card(
        heading=f"{number} · {pattern.kind} · sentence {match.index}",
        maps=[AttentionMap.from_translation(translation, head=match.head)],
        sentences=sentences,
        measures={
            label: str(value) if isinstance(value, int) else f"{value:.2f}"
            for label, value in measures.items()
        },
        verdict=pattern.verdict,
        file=file,
    )


def draw_kinds(kinds: Mapping[str, int], theme: Theme) -> Figure:
    """Draws how many sentences there are of each kind."""
    from matplotlib.figure import Figure

    with use_theme(theme):
        figure = Figure(figsize=(3.8, 4.2), layout="constrained")
        axes = figure.subplots()
        counts = [kinds[kind] for kind in KINDS]
        bars = axes.barh(
            KINDS, counts, color=[theme.series[KIND_COLOURS[kind]] for kind in KINDS], height=0.7
        )
        axes.bar_label(bars, [f"{count:,}" for count in counts], padding=5)
        axes.invert_yaxis()
        axes.set_xlim(0, max(1, *counts) * 1.2)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_title("sentences of each kind", loc="left", fontsize=11)
        return figure


def draw_measures(matches: Sequence[PatternMatch], theme: Theme) -> Figure:
    """Draws how the measures are distributed over the split."""
    import numpy as np
    from matplotlib.figure import Figure

    measures = collect_measures(matches)
    with use_theme(theme):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        figure.get_layout_engine().set(hspace=0.12, wspace=0.05)  # type: ignore[union-attr,call-arg]
        for axes, (name, label) in zip(figure.subplots(2, 3).flat, MEASURES.items(), strict=False):
            values = measures.get(name, [])
            low = -1.0 if name == "monotonicity" else 0.0
            axes.hist(values, bins=np.linspace(low, 1.0, 31).tolist(), color=theme.series[1])
            if values:
                median = float(np.median(values))
                axes.axvline(median, color=theme.accent, linewidth=1.5)
                axes.set_xlabel(f"median {median:.2f}", fontsize=9)
            axes.set_xlim(low, 1.0)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.tick_params(labelsize=8)
            axes.set_title(label, loc="left", fontsize=10)
        return figure
