"""Line diagrams: source words above, produced words below, lines as strong as the attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from augenmerk.diagrams.maps import END, AttentionMap, check_maps
from augenmerk.diagrams.sheet import LINE, MARGIN, SMALL_SIZE, TITLE_SIZE, Footer, Ruler, Sheet, subdued
from augenmerk.figures import Theme, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORD_SIZE = 12.0
SPACE = 0.18
"""Between two words, in inches."""
WIDEST = 11.0
"""Where a sentence would be wider, its words stand upright, with as much room for each."""
LARGEST_PITCH, SMALLEST_PITCH = 0.24, 0.11
LINK_HEIGHT = 1.6
FAINTEST_LINK = 0.02
STRONGEST_LINE = 5.0
GAP = 0.45
NARROWEST = 3.6


def draw_lines(maps: Sequence[AttentionMap], theme: Theme) -> Figure:
    """One map or several, one below the other, so that the same source words stand in line."""
    check_maps(maps)
    with drawing(theme):
        ruler = Ruler(maps)
        pitch = _pitch(maps, ruler)
        panels = [_Panel.of(one, pitch, ruler) for one in maps]
        room = max(NARROWEST, *(panel.width for panel in panels))
        footer = Footer.of(maps, room, ruler, scale=False)
        height = 2 * MARGIN + sum(panel.height for panel in panels) + GAP * (len(panels) - 1) + footer.height
        sheet = Sheet.of(room + 2 * MARGIN, height, theme, ruler)
        y = MARGIN
        for panel in panels:
            panel.draw(sheet, MARGIN, y)
            y += panel.height + GAP
        footer.draw(sheet, MARGIN, y - GAP)
    return sheet.figure


def _pitch(maps: Sequence[AttentionMap], ruler: Ruler) -> float | None:
    """Room for each word, standing upright, if any sentence is too long for its words to lie in a row."""
    sentences = [words for one in maps for words in (one.source_words, one.target_words)]
    if max(_Row.of(words, ruler, None).width for words in sentences) <= WIDEST:
        return None
    return max(SMALLEST_PITCH, min(LARGEST_PITCH, WIDEST / max(map(len, sentences))))


@dataclass(frozen=True)
class _Row:
    """The words of a sentence in a row: how they are shown and where their middles are, in inches."""

    words: Sequence[str]
    shown: tuple[str, ...]
    middles: tuple[float, ...]
    size: float
    upright: bool
    width: float
    height: float

    @classmethod
    def of(cls, words: Sequence[str], ruler: Ruler, pitch: float | None) -> _Row:
        """With equal room for each word where a pitch is given, otherwise as much as it takes."""
        shown = tuple(ruler.word(word) for word in words)
        size = WORD_SIZE if pitch is None else min(WORD_SIZE, pitch * 72 * 0.75)
        wide = [ruler.width(word, size) for word in shown]
        if pitch is not None:
            middles = tuple((place + 0.5) * pitch for place in range(len(words)))
            return cls(words, shown, middles, size, True, pitch * len(words), max(wide, default=0))
        x, places = 0.0, []
        for width in wide:
            places.append(x + width / 2)
            x += width + SPACE
        return cls(words, shown, tuple(places), size, False, max(x - SPACE, 0), size * LINE / 72)

    def draw(self, sheet: Sheet, x: float, y: float, *, above: bool) -> None:
        """With its lower edge at y if it stands above the lines, with its upper edge if below."""
        for word, shown, middle in zip(self.words, self.shown, self.middles, strict=True):
            sheet.write(
                x + middle,
                y,
                shown,
                self.size,
                subdued(sheet.theme) if word == END else None,
                ha="center",
                va="bottom" if above else "top",
                rotation=90 if self.upright and word != END else 0,
            )


@dataclass(frozen=True)
class _Panel:
    shown: AttentionMap
    source: _Row
    target: _Row
    title: tuple[str, ...]
    note: tuple[str, ...]
    bold: str
    links: float
    """Height of the room between the words."""

    @classmethod
    def of(cls, one: AttentionMap, pitch: float | None, ruler: Ruler) -> _Panel:
        source, target = (_Row.of(words, ruler, pitch) for words in (one.source_words, one.target_words))
        room = max(NARROWEST, source.width, target.width)
        return cls(
            shown=one,
            source=source,
            target=target,
            title=tuple(ruler.wrapped(one.title, TITLE_SIZE, room, ruler.bold)) if one.title else (),
            note=tuple(ruler.wrapped(one.note, SMALL_SIZE, room)) if one.note else (),
            bold=ruler.bold,
            links=LINK_HEIGHT if pitch is None else LINK_HEIGHT * 1.5,
        )

    @property
    def width(self) -> float:
        return max(self.source.width, self.target.width)

    @property
    def height(self) -> float:
        texts = len(self.title) * TITLE_SIZE * LINE / 72 + len(self.note) * SMALL_SIZE * LINE / 72
        gaps = (0.1 if self.title else 0) + (0.1 if self.note else 0) + 0.12
        return texts + gaps + self.source.height + self.links + self.target.height

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        if self.title:
            y = sheet.write_lines(x, y, self.title, TITLE_SIZE, weight=self.bold) + 0.1
        top = y + self.source.height
        bottom = top + self.links + 0.12
        if not (self.source.words and self.target.words):
            sheet.write(x, y, "nothing to show: no words", SMALL_SIZE, subdued(sheet.theme))
        self.source.draw(sheet, x, top, above=True)
        self.target.draw(sheet, x, bottom, above=False)
        self._draw_links(sheet, x, top + 0.06, bottom - 0.06)
        end = bottom + self.target.height + 0.1
        sheet.write_lines(x, end, self.note, SMALL_SIZE, colour=subdued(sheet.theme))

    def _draw_links(self, sheet: Sheet, x: float, top: float, bottom: float) -> None:
        from matplotlib.collections import PathCollection
        from matplotlib.colors import to_rgba
        from matplotlib.path import Path

        weights = self.shown.matrix
        rows, columns = np.nonzero(weights >= FAINTEST_LINK)
        order = np.argsort(weights[rows, columns], kind="stable")  # strong lines over weak ones
        curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        middle = (top + bottom) / 2
        paths, colours, widths = [], [], []
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            start, end = x + self.source.middles[column], x + self.target.middles[row]
            paths.append(Path([(start, top), (start, middle), (end, middle), (end, bottom)], curve))
            weight = min(1.0, float(weights[row, column]))
            colours.append(to_rgba(sheet.theme.accent, 0.12 + 0.88 * weight))
            widths.append(0.4 + (STRONGEST_LINE - 0.4) * weight)
        links = PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths)
        links.set_transform(sheet.axes.transData)
        sheet.axes.add_collection(links)
