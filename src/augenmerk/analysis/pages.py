"""Pages of pictures: diagrams of sentences, patterns of a split, words with what they lose without attention.

`make_diagrams` chooses which maps to draw. The page of patterns has an overview, and a card with picture and
measures for each sentence; that of `augenmerk faithfulness` has the drops of each word beside its map.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from augenmerk.analysis.patterns import KIND_COLOURS, KINDS, PatternMatch, collect_measures
from augenmerk.base.files import atomic_write
from augenmerk.drawing import AttentionMap, Card, Chart, draw_heat_map, draw_line_diagram, write_page
from augenmerk.drawing.figures import Style, Theme, use_theme, write_pictures
from augenmerk.drawing.html import render_template
from augenmerk.translation import HeadAttention, Part, Translation, Translator, average_heads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.analysis.faithfulness import Faithfulness

View = Literal["heat", "lines"]
Sentence = tuple[int | None, str, str | None]
"""The index in a split, if it is from one; the source; the reference."""

HOW_TO_READ = {
    "heat": "Rows are {looking}, columns {looked_at}; the stronger the colour, the more a word is attended "
    "to. Point at a cell to read its weight.",
    "lines": "Above are {looked_at}, below {looking}; the stronger the line, the more a word is attended to.",
}
"""An explanation of each view for the page of pictures."""
WHO_LOOKS: dict[Part, dict[str, str]] = {
    "cross": {"looking": "the words produced", "looked_at": "the words of the source"},
    "encoder": {"looking": "the words of the source", "looked_at": "the source words that they look at"},
    "decoder": {"looking": "the words produced", "looked_at": "the words before them"},
}
WIDE_MAP, WIDE_MAP_WITH_DROPS = 16, 9
"""Source words above which a map, alone or with columns beside it, takes the whole width of the page."""


@dataclass(frozen=True)
class Diagram:
    """A sentence with each model's translation and the attention maps to draw."""

    source: str
    index: int | None
    """Its index in a split, and its reference there."""
    reference: str | None
    translations: Sequence[Translation]
    maps: Sequence[Sequence[AttentionMap]]
    """Those of each translation: one; with the heads, that of all heads followed by that of each."""

    def draw(self, view: View, theme: Theme) -> Figure:
        """Draws all maps side by side."""
        draw = draw_heat_map if view == "heat" else draw_line_diagram
        return draw([one for maps in self.maps for one in maps], theme)

    def to_dict(self, models: Sequence[Path], file: Path | None, *, subwords: bool) -> dict[str, Any]:
        """Returns the sentence, its picture and the translation of each model, as data for JSON."""
        translations = [
            {"model": str(model), **translation.to_dict(subwords=subwords)}
            for model, translation in zip(models, self.translations, strict=True)
        ]
        about = {"source": self.source, "index": self.index, "reference": self.reference}
        return {**about, "file": None if file is None else str(file), "translations": translations}


def explain_view(view: View, part: Part) -> str:
    """Returns how to read diagrams."""
    return HOW_TO_READ[view].format(**WHO_LOOKS[part])


def make_diagrams(
    translators: Sequence[Translator],
    titles: Sequence[str | None],
    sentences: Sequence[Sentence],
    *,
    beam: int | None = None,
    part: Part = "cross",
    layer: int | None = None,
    heads: bool = False,
    subwords: bool = False,
) -> list[Diagram]:
    """Translates sentences with each model, and chooses the maps to draw; titles are those of the models.

    `heads` adds the map of each head to the mean over the heads of this part and layer.
    """
    sources = [source for _, source, _ in sentences]
    need_heads = heads or layer is not None or part != "cross"
    by_model = [
        translator.translate(sources, heads=need_heads, beam=beam, split_sentences=False)
        for translator in translators
    ]
    diagrams = []
    for (index, source, reference), *translations in zip(sentences, *by_model, strict=True):
        maps = []
        for translation, title in zip(translations, titles, strict=True):
            chosen = _choose_heads(translation, part, layer, each=heads)
            about = {"subwords": subwords, "title": title, "reference": reference}
            maps.append([AttentionMap.from_translation(translation, head=one, **about) for one in chosen])
        diagrams.append(Diagram(source, index, reference, translations, maps))
    return diagrams


def _choose_heads(
    translation: Translation, part: Part, layer: int | None, *, each: bool
) -> Sequence[HeadAttention | None]:
    """Returns the heads to draw: their mean, then perhaps each; None stands for the only one."""
    chosen = translation.select_heads(part, layer)
    if not chosen or (part == "cross" and len(translation.heads) == 1):
        return [None]
    return chosen if len(chosen) == 1 else [average_heads(chosen), *(chosen if each else ())]


def write_diagrams(
    folder: Path,
    style: Style,
    intro: str,
    diagrams: Sequence[Diagram],
    names: Sequence[str],
    split: str,
    *,
    view: View,
    format: str,  # noqa: A002
) -> list[Path]:
    """Writes a numbered picture of each diagram, and a page that shows all; returns the pictures.

    `names` are those of the models.
    """
    figures = [(f"{split}-{drawn.index}.{format}", partial(drawn.draw, view)) for drawn in diagrams]
    cards = []
    for number, drawn in enumerate(diagrams, 1):
        # The page shows the sentences above the pictures, so the pictures need not repeat the reference.
        drawn = replace(drawn, maps=[[replace(one, reference=None) for one in maps] for maps in drawn.maps])
        maps = [one for maps in drawn.maps for one in maps]
        lines = partial(drawn.draw, "lines")
        charts = [Chart.draw(lines, "Which words attend to which")] if view == "lines" else []
        labels = names if len(names) > 1 else ["translation"]
        texts = {name: one.text for name, one in zip(labels, drawn.translations, strict=True)}
        card = Card(
            heading=f"{number} · {split} {drawn.index}",
            maps=() if charts else maps,
            charts=charts,
            sentences={"source": drawn.source, **texts, "reference": drawn.reference or ""},
            wide=any(len(one.source_words) > WIDE_MAP for one in maps),
        )
        cards.append(card)
    return write_page(folder, style, intro, cards, figures)


# Faithfulness

NOTE = "log p: log-probability of each word, in nats; uniform, permuted: how much it drops with such weights"


def _make_map(one: Faithfulness) -> AttentionMap:
    """Returns the attention map of a sentence, with the log-probabilities and their drops beside it."""
    columns = {"log p": one.word_log_probabilities, **one.drops}
    extra_columns = {name: [round_drop(value) for value in values] for name, values in columns.items()}
    attention = AttentionMap.from_translation(one.translation)
    note = f"{attention.note} {NOTE}" if attention.note else NOTE
    return replace(attention, extra_columns=extra_columns, note=note)


def round_drop(value: float) -> float:
    """Rounds to two digits; adding 0.0 turns -0.0 into 0.0."""
    return round(value, 2) + 0.0


def write_faithfulness_page(
    folder: Path, chosen: Mapping[int, Faithfulness], summary: Mapping[str, Any], style: Style
) -> None:
    """Writes a numbered picture of each sentence, and a page that shows all of them."""
    split, uniform, permuted = summary["split"], summary["uniform"], summary["permuted"]
    figures, cards = [], []
    for number, (index, one) in enumerate(chosen.items(), 1):
        attention = _make_map(one)
        figures.append((f"{split}-{index}.svg", partial(draw_heat_map, [attention])))
        card = Card(
            heading=f"{number} · {split} {index}",
            maps=[replace(attention, note=AttentionMap.from_translation(one.translation).note)],
            sentences={"source": one.translation.source, "translation": one.translation.text},
            wide=len(attention.source_words) > WIDE_MAP_WITH_DROPS,
        )
        cards.append(card)
    intro = (
        f"Beside each attention map: the log-probability (in nats) of each word, and how much it drops when "
        f"the attention at this word is replaced by uniform weights, or by permuted ones. "
        f"A word that loses nothing would have been predicted without this attention."
        f"\n\nSentences of {split}: {summary['sentences']:,}. A word loses {uniform['mean_drop']:.2f} on "
        f"average under uniform weights and {permuted['mean_drop']:.2f} under permuted ones. "
        f"{summary['in_words']}"
    )
    write_page(folder, style, intro, cards, figures)


# Patterns

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
