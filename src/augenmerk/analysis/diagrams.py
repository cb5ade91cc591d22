"""Diagrams of the attention of models in sentences: which maps to draw, and a page of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from augenmerk.drawing import AttentionMap, Card, Chart, draw_heat_map, draw_line_diagram, write_page
from augenmerk.translation import HeadAttention, Part, Translation, Translator, average_heads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.drawing.figures import Style, Theme

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
WIDE = 16
"""Source words above which a map takes the whole width of the page."""


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
            wide=any(len(one.source_words) > WIDE for one in maps),
        )
        cards.append(card)
    return write_page(folder, style, intro, cards, figures)
