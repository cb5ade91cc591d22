"""Patterns for people: a page with the pictures, the verdicts and the measures, and the split at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from augenmerk.diagrams import Card, embedded, html_map, index_page
from augenmerk.figures import Theme, drawing
from augenmerk.patterns.kinds import KINDS
from augenmerk.patterns.split import Finding, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOTTED = {
    "entropy_normalised": "entropy, normalised",
    "sharpness": "sharpness",
    "coverage": "coverage",
    "monotonicity": "monotonicity (tau)",
    "crossing_rate": "crossing rate",
    "diagonal": "mass on the diagonal",
}
SHOWN = {
    **{"entropy_normalised": "entropy", "sharpness": "sharpness", "coverage": "coverage"},
    **{"monotonicity": "monotonicity", "crossing_rate": "crossings", "diagonal": "diagonal"},
    **{"end_mass": "on the end", "punctuation_mass": "on marks", "longest_run": "longest run"},
    "best_offset": "best offset",
}


def patterns_page(
    title: str,
    intro: str,
    chosen: Sequence[Finding],
    findings: Sequence[Finding],
    summary: Mapping[str, Any],
    files: Sequence[str],
) -> str:
    """One HTML page that needs nothing else; `files` are the pictures of `chosen` beside it."""
    glance = (
        embedded(lambda theme: draw_kinds(summary["kinds"], theme), "How many sentences are of each kind"),
        embedded(lambda theme: draw_measures(findings, theme), "How the measures are distributed"),
    )
    cards = [
        _card(number, finding, file)
        for number, (finding, file) in enumerate(zip(chosen, files, strict=True), 1)
    ]
    return index_page(
        title, intro, cards, summary=f'<div class="pictures">{"".join(glance)}</div>{_tags(summary)}'
    )


def _card(number: int, finding: Finding, file: str) -> Card:
    translation, pattern = finding.translation, finding.pattern
    sentences = {"source": translation.source, "translation": translation.text}
    if finding.pair.target != translation.text:
        sentences["reference"] = finding.pair.target
    if finding.pair.tags:
        sentences["tags"] = ", ".join(finding.pair.tags)
    measures = {label: _number(getattr(pattern.measures, name)) for name, label in SHOWN.items()}
    return Card(
        heading=f"{number} · {pattern.kind} · sentence {finding.index}",
        pictures=[html_map(translation.attention_map(), style=False)],
        sentences=sentences,
        measures=measures,
        verdict=pattern.verdict,
        file=file,
    )


def _tags(summary: Mapping[str, Any]) -> str:
    """Where the bitext says what is in a sentence: how often each of that is an inversion."""
    if "tags" not in summary:
        return ""
    by_share = sorted(summary["tags"].items(), key=lambda item: -(item[1]["inversion"] or 0))
    rows = "".join(
        f"<tr><td>{escape(tag)}</td><td align='right'>{share['sentences']:,}</td>"
        f"<td align='right'>{share['inversion']:.0%}</td></tr>"
        for tag, share in by_share
        if share["sentences"]
    )
    return (
        "<details><summary>Inversions by tag</summary><table cellpadding='3'><thead><tr><th align='left'>tag"
        f"</th><th>sentences</th><th>inversions</th></tr></thead><tbody>{rows}</tbody></table></details>"
    )


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def draw_kinds(kinds: Mapping[str, int], theme: Theme) -> Figure:
    """How many sentences there are of each kind."""
    from matplotlib.figure import Figure

    with drawing(theme):
        figure = Figure(figsize=(3.8, 3.9), layout="constrained")
        _draw_bars(figure.subplots(), kinds, theme)
        return figure


def draw_measures(findings: Sequence[Finding], theme: Theme) -> Figure:
    """How the measures are distributed over the split."""
    from matplotlib.figure import Figure

    values = values_of(findings)
    with drawing(theme):
        figure = Figure(figsize=(7.2, 3.9), layout="constrained")
        figure.get_layout_engine().set(hspace=0.12, wspace=0.05)  # type: ignore[union-attr,call-arg]
        for axes, (name, label) in zip(figure.subplots(2, 3).flat, PLOTTED.items(), strict=True):
            _draw_measure(axes, values.get(name, []), label, theme)
        return figure


def _draw_bars(axes: Axes, kinds: Mapping[str, int], theme: Theme) -> None:
    counts = [kinds[kind] for kind in KINDS]
    axes.barh(KINDS, counts, color=[theme.series[number] for number in range(len(KINDS))], height=0.7)
    for place, count in enumerate(counts):
        axes.text(count, place, f"  {count:,}", va="center")
    axes.invert_yaxis()
    axes.set_xlim(0, max(1, *counts) * 1.2)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title("sentences of each kind", loc="left", fontsize=11)


def _draw_measure(axes: Axes, values: Sequence[float], label: str, theme: Theme) -> None:
    import numpy as np

    low = -1.0 if label.startswith("monotonicity") else 0.0
    axes.hist(values, bins=np.linspace(low, 1.0, 31).tolist(), color=theme.series[1])
    if values:
        middle = float(np.median(values))
        axes.axvline(middle, color=theme.accent, linewidth=1.5)
        axes.set_xlabel(f"median {middle:.2f}", fontsize=9)
    axes.set_xlim(low, 1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_title(label, loc="left", fontsize=10)
