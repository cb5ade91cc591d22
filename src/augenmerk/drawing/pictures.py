"""Attention maps as matplotlib figures: heat maps, and line diagrams.

A heat map has the source words on top and the target words at the side. A line diagram has the source words
above and the target words below, with lines between them that are as strong as the attention. Sizes are in
inches, those of text and lines in points; `new_figure` arranges the parts and scales them to the style.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, cos, radians, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.attention_map import (
    END,
    END_SIGN,
    MIN_SHOWN_WEIGHT,
    NO_WORDS,
    AttentionMap,
    clean_text,
    format_weight,
    shorten_word,
)
from augenmerk.drawing.figures import (
    CELL_NUMBER,
    MIN_NUMBER_SIZE,
    Theme,
    choose_ink,
    get_heat_colours,
    make_heat_map_colours,
    new_figure,
    pt,
    quantise,
    use_theme,
    wrap_text,
)
from augenmerk.drawing.fonts import NO_GLYPH, Replacements, choose_fonts, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE_HEIGHT = 1.45
"""Height of a line of text, relative to its font size."""
TITLE_SIZE, LABEL_SIZE, NOTE_SIZE = 12.0, 11.0, 8.5
LEGEND_HEIGHT = 0.4
GAP = 0.45
"""Distance between two maps of a figure."""

MAX_CELL, MIN_CELL = 0.46, 0.09
MAX_MAP = 9.0
"""Side of a heat map above which its cells become smaller."""
MAX_ROW = 14.0
"""Largest total width of the cells of heat maps side by side."""
MAPS_IN_A_ROW = 4
MIN_MAP_WIDTH = 2.4
NUMBER_SHARE = 0.27
"""Size of the number in a cell, as a share of the cell's side."""
NUMBER_CELL = MIN_NUMBER_SIZE / 72 / NUMBER_SHARE
"""Smallest side of a cell that has room for a number."""
MAX_DRAWN_CELLS = 3000
"""More cells than this are one image also in SVG and PDF: it looks the same in a smaller file."""
SLANT = 45
"""Degrees by which source words above a heat map are turned if they do not fit above their columns."""
EXTRA_COLUMN = 0.8
"""Width of a column of numbers beside a heat map."""

WORD_SPACE = 0.18
"""Space between the words of a line diagram."""
MAX_SENTENCE = 11.0
"""Width above which the words of a line diagram are turned upright."""
MAX_PITCH, MIN_PITCH = 0.24, 0.11
"""Width of an upright word."""
LINK_HEIGHT = 1.6
MAX_LINE_WIDTH = 5.0
MIN_DIAGRAM_WIDTH = 3.6
LEGEND_WEIGHTS = (0.1, 0.5, 1.0)
"""Weights whose colours or lines the legend shows."""


def draw_heat_map(maps: Sequence[AttentionMap], theme: Theme) -> Figure:
    """Draws one heat map, or several side by side with the same scale."""
    from matplotlib.patches import Patch

    with _use_fonts(maps, theme) as replacements:
        in_a_row = ceil(len(maps) / ceil(len(maps) / MAPS_IN_A_ROW))
        longest = max(max(len(one.source_words), len(one.target_words), 1) for one in maps)
        # Cells of maps side by side become smaller, but not so small that they would lose their numbers.
        shared = max(NUMBER_CELL, MAX_ROW / (longest * in_a_row))
        cell = max(MIN_CELL, min(MAX_CELL, MAX_MAP / longest, shared))
        panels = [_make_heat_panel(one, cell, theme, replacements) for one in maps]
        colours = get_heat_colours(theme, 256)
        signs = [
            Patch(
                facecolor=colours[quantise(weight, 256)], edgecolor=theme.faint, label=format_weight(weight)
            )
            for weight in LEGEND_WEIGHTS
        ]
        return _arrange(panels, in_a_row, theme, signs, replacements)


def draw_line_diagram(maps: Sequence[AttentionMap], theme: Theme) -> Figure:
    """Draws one line diagram, or several below each other, so that equal source words are aligned."""
    from matplotlib.lines import Line2D

    with _use_fonts(maps, theme) as replacements:
        shown = [
            _prepare(words, replacements) for one in maps for words in (one.source_words, one.target_words)
        ]
        pitch = None
        if max(_place_words(words, None)[1] for words in shown) > MAX_SENTENCE:
            pitch = max(MIN_PITCH, min(MAX_PITCH, MAX_SENTENCE / max(map(len, shown))))
        width = max(MIN_DIAGRAM_WIDTH, *(_place_words(words, pitch)[1] for words in shown))
        panels = [
            _make_line_panel(one, source, target, pitch, width, theme)
            for one, source, target in zip(maps, shown[::2], shown[1::2], strict=True)
        ]
        looks = [(weight, *_choose_line(weight, theme)) for weight in LEGEND_WEIGHTS]
        signs = [
            Line2D([], [], color=colour, linewidth=pt(line_width), label=format_weight(weight))
            for weight, colour, line_width in looks
        ]
        return _arrange(panels, 1, theme, signs, replacements)


@dataclass(frozen=True)
class _Panel:
    """One map of a figure, measured before it is drawn."""

    map: AttentionMap
    draw: Callable[[Axes], None]
    """Draws the map and its words into axes that are as large as the body."""
    body: tuple[float, float]
    beside: float
    above: float
    """Sizes of the words beside the body, and above and below it."""

    def get_texts(self, note: str) -> tuple[str, str]:
        """Returns the lines of the title and of the notes, the given one first."""
        width = max(self.body[0], MIN_MAP_WIDTH)
        notes = (wrap_text(clean_text(text), NOTE_SIZE, width) for text in (note, self.map.note or ""))
        title = wrap_text(clean_text(self.map.title or ""), TITLE_SIZE, width)
        return title, "\n".join(filter(None, notes))


def _arrange(
    panels: Sequence[_Panel], in_a_row: int, theme: Theme, signs: list[Any], replacements: Replacements
) -> Figure:
    """Returns a figure of the panels, with a legend below them."""
    from matplotlib.lines import Line2D

    maps = [panel.map for panel in panels]
    remarks = []
    if maps[0].reference and len({one.reference for one in maps}) == 1:
        remarks.append(f"Reference: {maps[0].reference}")
    if any(END in (*one.source_words, *one.target_words) for one in maps):
        remarks.append(f"{END_SIGN} end of sentence")
    if NO_GLYPH in replacements.values():
        remarks.append(f"{NO_GLYPH} no font on this machine has it")
    texts = [panel.get_texts("" if index else " ".join(remarks)) for index, panel in enumerate(panels)]
    heights = [
        panel.body[1] + panel.above + _height(title, TITLE_SIZE) + _height(note, NOTE_SIZE)
        for panel, (title, note) in zip(panels, texts, strict=True)
    ]
    starts = range(0, len(panels), in_a_row)
    columns = [panels[start::in_a_row] for start in range(in_a_row)]
    figure = new_figure(
        sum(
            max(max(panel.body[0], MIN_MAP_WIDTH) + panel.beside for panel in column) + GAP
            for column in columns
        ),
        sum(max(heights[start : start + in_a_row]) + GAP for start in starts) + LEGEND_HEIGHT,
    )
    grid = figure.subplots(
        len(starts),
        in_a_row,
        squeeze=False,
        width_ratios=[max(panel.body[0] for panel in column) for column in columns],
        height_ratios=[max(panel.body[1] for panel in panels[start : start + in_a_row]) for start in starts],
    )
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, panel, (title, note) in zip(grid.flat, panels, texts, strict=False):
        axes.set_axis_on()
        axes.spines[:].set_visible(False)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title.translate(replacements), loc="left", fontsize=pt(TITLE_SIZE), fontweight="bold")
        look: dict[str, Any] = {"loc": "left", "fontsize": pt(NOTE_SIZE), "color": theme.muted}
        axes.set_xlabel(note.translate(replacements), **look)
        if panel.map.has_words:
            panel.draw(axes)
        else:
            axes.text(0, 0.5, NO_WORDS, fontsize=pt(NOTE_SIZE), color=theme.muted)
    figure.legend(
        handles=[Line2D([], [], linestyle="none", label="attention"), *signs],
        loc="outside lower left",
        ncols=len(LEGEND_WEIGHTS) + 1,
        fontsize=pt(NOTE_SIZE),
        labelcolor=theme.muted,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=1.0,
    )
    return figure


def _height(text: str, size: float) -> float:
    """Returns the height of lines of text, with space around them."""
    return (text.count("\n") + 1.6) * size * LINE_HEIGHT / 72 if text else 0.0


def _make_heat_panel(one: AttentionMap, cell: float, theme: Theme, replacements: Replacements) -> _Panel:
    rows, columns = (_prepare(words, replacements) for words in (one.target_words, one.source_words))
    row_size = column_size = min(LABEL_SIZE, cell * 72 * 0.72)
    widths = [measure(word, row_size) for word in columns]
    slant = 0 if all(width < cell * 0.92 for width in widths) else SLANT
    across, up, overhang = cos(radians(slant)), sin(radians(slant)), 0.0
    if slant:
        # Slanted lines of text are closer to each other than their columns are.
        column_size = min(LABEL_SIZE, cell * 72 * 0.72 * across * 1.15)
        widths = [measure(word, column_size) for word in columns]
        ends = ((index + 0.5) * cell + width * across for index, width in enumerate(widths))
        overhang = max(0.0, max(ends) + column_size / 72 * up - cell * len(columns))
    beside = max((measure(word, row_size) for word in rows), default=0.0) + 0.1
    beside += max(overhang, EXTRA_COLUMN * len(one.extra_columns))
    above = max(widths, default=0.0) * up + column_size / 72 * (0.5 + across)

    def draw(axes: Axes) -> None:
        axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), aspect="equal")
        _draw_cells(axes, one, cell, theme)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        look: dict[str, Any] = {"ha": "left", "rotation_mode": "anchor"} if slant else {"ha": "center"}
        axes.set_xticks(
            np.arange(len(columns)) + 0.5, columns, fontsize=pt(column_size), rotation=slant, **look
        )
        axes.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=pt(row_size))
        _mute_end(axes.get_xticklabels(), one.source_words, theme)
        _mute_end(axes.get_yticklabels(), one.target_words, theme)
        for number, (heading, values) in enumerate(one.extra_columns.items(), 1):
            right = len(columns) + number * EXTRA_COLUMN / cell
            axes.text(right, -0.1, heading, ha="right", fontsize=pt(NOTE_SIZE), color=theme.muted)
            for row, value in enumerate(values, 1):
                axes.text(right, row - 0.5, f"{value:.2f}", ha="right", va="center", fontsize=pt(row_size))

    return _Panel(one, draw, (cell * max(1, len(columns)), cell * max(1, len(rows))), beside, above)


def _draw_cells(axes: Axes, one: AttentionMap, cell: float, theme: Theme) -> None:
    weights, is_large = one.matrix, one.matrix.size > MAX_DRAWN_CELLS
    axes.pcolormesh(
        weights,
        cmap=make_heat_map_colours(theme),
        vmin=0,
        vmax=1,
        edgecolors="none" if is_large else theme.grid,
        linewidth=pt(min(0.6, cell)),
        rasterized=is_large,
    )
    if cell < NUMBER_CELL:
        return
    colours = get_heat_colours(theme, 256)
    for row, column in zip(*(weights >= MIN_SHOWN_WEIGHT).nonzero(), strict=True):
        weight = float(weights[row, column])
        axes.text(
            column + 0.5,
            row + 0.5,
            format_weight(weight),
            fontsize=pt(cell * 72 * NUMBER_SHARE),
            color=choose_ink(colours[quantise(weight, 256)]),
            ha="center",
            va="center_baseline",
            gid=CELL_NUMBER,
        )


def _mute_end(labels: Iterable[Any], words: Sequence[str], theme: Theme) -> None:
    """Gives the sign for the end of a sentence a weaker colour than words have."""
    for label, word in zip(labels, words, strict=False):
        if word == END:
            label.set(color=theme.muted, rotation=0)


def _place_words(words: Sequence[str], pitch: float | None) -> tuple[list[float], float]:
    """Returns the distance of each word's middle from the left of a row, and the width of the row.

    With a pitch, the words are upright and equally wide.
    """
    widths = np.array([pitch or measure(word, TITLE_SIZE) + WORD_SPACE for word in words])
    return (np.cumsum(widths) - widths / 2).tolist(), float(widths.sum())


def _make_line_panel(
    one: AttentionMap,
    source: Sequence[str],
    target: Sequence[str],
    pitch: float | None,
    width: float,
    theme: Theme,
) -> _Panel:
    size, rotation = (TITLE_SIZE, 0) if pitch is None else (min(TITLE_SIZE, pitch * 72 * 0.75), 90)
    height = LINK_HEIGHT if pitch is None else 1.5 * LINK_HEIGHT
    words = 2 * size * LINE_HEIGHT / 72
    if pitch is not None:
        words = sum(max((measure(word, size) for word in row), default=0.0) for row in (source, target))

    def draw(axes: Axes) -> None:
        axes.set(xlim=(0, width), ylim=(height, 0))
        top = axes.secondary_xaxis("top")
        top.spines[:].set_visible(False)
        source_at, target_at = _place_words(source, pitch)[0], _place_words(target, pitch)[0]
        for side, middles, shown, row in (
            (top, source_at, source, one.source_words),
            (axes, target_at, target, one.target_words),
        ):
            side.tick_params(length=0)
            side.set_xticks(middles, shown, fontsize=pt(size), rotation=rotation)
            _mute_end(side.get_xticklabels(), row, theme)
        _draw_links(axes, one, source_at, target_at, height, theme)

    return _Panel(one, draw, (width, height), 0.0, words)


def _draw_links(
    axes: Axes,
    one: AttentionMap,
    source: Sequence[float],
    target: Sequence[float],
    height: float,
    theme: Theme,
) -> None:
    """Draws a line from the middle of each source word to those of the target words that attend to it."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    weights = one.matrix
    rows, columns = np.nonzero(weights >= MIN_SHOWN_WEIGHT)
    order = np.argsort(weights[rows, columns], kind="stable")  # strong lines over weak ones
    curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    paths, looks = [], []
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        start, end = source[column], target[row]
        paths.append(Path([(start, 0), (start, height / 2), (end, height / 2), (end, height)], curve))
        looks.append(_choose_line(min(1.0, float(weights[row, column])), theme))
    links = PathCollection(
        paths,
        facecolors="none",
        edgecolors=[colour for colour, _ in looks],
        linewidths=[pt(line_width) for _, line_width in looks],
    )
    links.set_transform(axes.transData)
    axes.add_collection(links)


def _choose_line(weight: float, theme: Theme) -> tuple[tuple[float, float, float, float], float]:
    """Returns the colour and the width of the line for a weight."""
    from matplotlib.colors import to_rgba

    return to_rgba(theme.accent, 0.12 + 0.88 * weight), 0.4 + (MAX_LINE_WIDTH - 0.4) * weight


@contextmanager
def _use_fonts(maps: Sequence[AttentionMap], theme: Theme) -> Iterator[Replacements]:
    """Uses the theme, and fonts that have the characters of the maps; yields a table for the others."""
    import matplotlib

    if not maps:
        raise AugenmerkError("There is no attention map to draw.")
    texts = [END_SIGN, NO_GLYPH]
    for one in maps:
        one.check_size()
        texts += map(shorten_word, (*one.source_words, *one.target_words))
        texts += map(clean_text, (one.title or "", one.reference or "", one.note or "", *one.extra_columns))
    with use_theme(theme):
        families, replacements = choose_fonts(texts)
        matplotlib.rcParams["font.family"] = families
        yield replacements


def _prepare(words: Sequence[str], replacements: Replacements) -> list[str]:
    """Returns the words as they are drawn, with a box for each character that no font has."""
    return [shorten_word(word).translate(replacements) for word in words]
