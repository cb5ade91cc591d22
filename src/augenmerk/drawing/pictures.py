"""Attention maps as matplotlib figures: heat maps, and line diagrams.

A heat map has the source words on top and the target words at the side. A line diagram has the source words
above and the target words below, with lines between them that are as strong as the attention. All sizes are
in inches, except font sizes and widths of lines, which are in points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, cos, radians, sin
from typing import TYPE_CHECKING

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.attention_map import (
    END,
    END_SIGN,
    MIN_SHOWN_WEIGHT,
    NO_WORDS,
    AttentionMap,
    format_weight,
)
from augenmerk.drawing.canvas import LINE_HEIGHT, NO_GLYPH, Canvas, TextMeasurer, compute_text_height
from augenmerk.drawing.figures import (
    CELL_NUMBER,
    MIN_NUMBER_SIZE,
    Theme,
    choose_ink,
    get_heat_colours,
    make_heat_map_colours,
    quantise,
    use_theme,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.25
GAP = 0.45
"""Distance between two maps of a figure."""
HEADLINE_SIZE, TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 14.0, 12.0, 10.0, 8.0

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
"""More cells than this are drawn as one image, also in SVG and PDF: it looks the same in a smaller file."""
SLANT = 45.0
"""Degrees by which source words above a heat map are turned if they do not fit above their columns."""
LABEL_SIZE = 11.0
EXTRA_COLUMN = 0.8

WORD_SIZE = 12.0
WORD_SPACE = 0.18
MAX_SENTENCE = 11.0
"""Width above which the words of a line diagram are turned upright."""
MAX_PITCH, MIN_PITCH = 0.24, 0.11
"""Width of an upright word."""
LINK_HEIGHT = 1.6
MAX_LINE_WIDTH = 5.0
MIN_DIAGRAM_WIDTH = 3.6

REFERENCE_INDENT = 0.85
SCALE_WIDTH = 2.4
LEGEND_WEIGHTS = (0.1, 0.5, 1.0)
"""Weights whose lines the legend of a line diagram shows."""
REMARK_GAP = "      "


def draw_heat_map(maps: Sequence[AttentionMap], theme: Theme, title: str | None = None) -> Figure:
    """Draws one heat map, or several side by side with the same scale, below a title."""
    _check_maps(maps)
    with use_theme(theme):
        text = TextMeasurer(maps, title)
        in_a_row = ceil(len(maps) / ceil(len(maps) / MAPS_IN_A_ROW))
        longest = max(max(len(one.source_words), len(one.target_words), 1) for one in maps)
        # Cells of maps side by side become smaller, but not so small that they would lose their numbers.
        shared = max(NUMBER_CELL, MAX_ROW / (longest * in_a_row))
        cell = max(MIN_CELL, min(MAX_CELL, MAX_MAP / longest, shared))
        panels = [_HeatPanel(one, cell, text) for one in maps]
        rows = [panels[i : i + in_a_row] for i in range(0, len(panels), in_a_row)]
        return _draw_rows(rows, theme, text, title, _draw_colour_scale)


def draw_line_diagram(maps: Sequence[AttentionMap], theme: Theme, title: str | None = None) -> Figure:
    """Draws one line diagram, or several below each other, so that equal source words are aligned."""
    _check_maps(maps)
    with use_theme(theme):
        text = TextMeasurer(maps, title)
        sentences = [words for one in maps for words in (one.source_words, one.target_words)]
        pitch = None
        if max(_WordRow(words, text, None).width for words in sentences) > MAX_SENTENCE:
            pitch = max(MIN_PITCH, min(MAX_PITCH, MAX_SENTENCE / max(map(len, sentences))))
        rows = [[_LinePanel(one, pitch, text)] for one in maps]
        return _draw_rows(rows, theme, text, title, _draw_line_scale)


def _check_maps(maps: Sequence[AttentionMap]) -> None:
    if not maps:
        raise AugenmerkError("There is no attention map to draw.")
    for one in maps:
        one.check_size()


def _draw_rows(
    rows: Sequence[Sequence[_Panel]],
    theme: Theme,
    text: TextMeasurer,
    title: str | None,
    draw_scale: Callable[[Canvas, float, float], None],
) -> Figure:
    width = max(sum(panel.width for panel in row) + GAP * (len(row) - 1) for row in rows)
    footer = _Footer([panel.map for row in rows for panel in row], width, text, draw_scale)
    parts = [tuple(map(max, zip(*(panel.heights for panel in row), strict=True))) for row in rows]
    headline = text.wrap(title, HEADLINE_SIZE, width, text.title_weight)
    above = compute_text_height(headline, HEADLINE_SIZE) + (0.12 if headline else 0)
    height = 2 * MARGIN + above + sum(map(sum, parts)) + GAP * (len(rows) - 1) + footer.height
    canvas = Canvas(width + 2 * MARGIN, height, theme, text.families)
    canvas.draw_lines_of_text(MARGIN, MARGIN, headline, HEADLINE_SIZE, weight=text.title_weight)
    y = MARGIN + above
    for row, (title_height, head, body) in zip(rows, parts, strict=True):
        x = MARGIN
        for panel in row:
            panel.draw(canvas, x, y, y + title_height + head)
            x += panel.width + GAP
        y += title_height + head + body + GAP
    footer.draw(canvas, MARGIN, y - GAP)
    return canvas.figure


class _Panel:
    """One map of a figure, measured before it is drawn: title, head (source words), body and note."""

    def __init__(self, one: AttentionMap, text: TextMeasurer, width: float, head: float, body: float) -> None:
        self.map, self.width, self.body = one, width, body
        self._title_weight = text.title_weight
        self.title = text.wrap(one.title, TITLE_SIZE, width, text.title_weight)
        self.note = text.wrap(one.note, SMALL_SIZE, width)
        self.heights = (
            compute_text_height(self.title, TITLE_SIZE) + (0.08 if self.title else 0),
            head,
            body + compute_text_height(self.note, SMALL_SIZE) + (0.1 if self.note else 0),
        )

    def draw(self, canvas: Canvas, x: float, y: float, top: float) -> None:
        """Draws the title at y and the body at `top`, so that the bodies of a row are aligned."""
        canvas.draw_lines_of_text(x, y, self.title, TITLE_SIZE, weight=self._title_weight)
        if self.map.has_words:
            self.draw_map(canvas, x, top)
        else:
            canvas.draw_text(x, top, NO_WORDS, SMALL_SIZE, canvas.theme.muted)
        canvas.draw_lines_of_text(x, top + self.body + 0.1, self.note, SMALL_SIZE, canvas.theme.muted)

    def draw_map(self, canvas: Canvas, x: float, top: float) -> None:
        raise NotImplementedError


class _HeatPanel(_Panel):
    def __init__(self, one: AttentionMap, cell: float, text: TextMeasurer) -> None:
        self.cell = cell
        self.columns = text.prepare_words(one.source_words)
        self.rows = text.prepare_words(one.target_words)
        self.row_size = self.column_size = min(LABEL_SIZE, cell * 72 * 0.72)
        self.left = max((text.compute_width(word, self.row_size) for word in self.rows), default=0) + 0.1
        widths = [text.compute_width(word, self.row_size) for word in self.columns]
        self.slant = 0.0 if all(width < cell * 0.92 for width in widths) else SLANT
        across, up = cos(radians(self.slant)), sin(radians(self.slant))
        grid = cell * len(self.columns)
        overhang = 0.0
        if self.slant:
            # Slanted lines of text are closer to each other than their columns are.
            self.column_size = min(LABEL_SIZE, cell * 72 * 0.72 * across * 1.15)
            widths = [text.compute_width(word, self.column_size) for word in self.columns]
            ends = ((index + 0.5) * cell + width * across for index, width in enumerate(widths))
            overhang = max(0.0, max(ends) + self.column_size / 72 * up - grid)
        width = self.left + grid + max(overhang, EXTRA_COLUMN * len(one.extra_columns))
        head = max(widths, default=0) * up + self.column_size / 72 * (0.5 + across)
        body = max(cell * len(self.rows), SMALL_SIZE * LINE_HEIGHT / 72)
        super().__init__(one, text, max(width, MIN_MAP_WIDTH), head, body)

    def draw_map(self, canvas: Canvas, x: float, top: float) -> None:
        self._draw_labels(canvas, x + self.left, top)
        self._draw_cells(canvas, x + self.left, top)
        self._draw_extra_columns(canvas, x + self.left + self.cell * len(self.columns), top)

    def _draw_labels(self, canvas: Canvas, left: float, top: float) -> None:
        size = self.column_size
        for index, (word, shown) in enumerate(zip(self.map.source_words, self.columns, strict=True)):
            middle = left + (index + 0.5) * self.cell
            if self.slant and word != END:
                # The middle of a slanted word's first letter is above the middle of its column.
                x = middle + size / 72 * 0.25
                canvas.draw_text(
                    x, top - 0.06, shown, size, va="bottom", rotation=self.slant, rotation_mode="anchor"
                )
            else:
                colour = canvas.theme.muted if word == END else None
                canvas.draw_text(middle, top - 0.06, shown, size, colour, ha="center", va="bottom")
        for index, (word, shown) in enumerate(zip(self.map.target_words, self.rows, strict=True)):
            colour = canvas.theme.muted if word == END else None
            y = top + (index + 0.5) * self.cell
            canvas.draw_text(left - 0.08, y, shown, self.row_size, colour, ha="right", va="center_baseline")

    def _draw_cells(self, canvas: Canvas, left: float, top: float) -> None:
        weights, cell = self.map.matrix, self.cell
        rows, columns = weights.shape
        if weights.size > MAX_DRAWN_CELLS:
            canvas.draw_image(weights, left, top, columns * cell, rows * cell)
            canvas.draw_frame(left, top, columns * cell, rows * cell)
            return
        edges = left + np.arange(columns + 1) * cell, top + np.arange(rows + 1) * cell
        colour_map = make_heat_map_colours(canvas.theme)
        cells = canvas.axes.pcolormesh(*edges, weights, cmap=colour_map, vmin=0, vmax=1)
        # A cell without attention has the colour of the paper: only these lines show that it is there.
        line_width = 0.6 if cell >= NUMBER_CELL else 0.3
        cells.set(edgecolor=canvas.theme.grid, linewidth=line_width * canvas.scale)
        if cell * min(1, canvas.scale) < NUMBER_CELL:
            return
        colours = get_heat_colours(canvas.theme, 256)
        for row, column in zip(*(weights >= MIN_SHOWN_WEIGHT).nonzero(), strict=True):
            x, y = left + (column + 0.5) * cell, top + (row + 0.5) * cell
            weight = float(weights[row, column])
            look = cell * 72 * NUMBER_SHARE, choose_ink(colours[quantise(weight, 256)])
            canvas.draw_text(
                x, y, format_weight(weight), *look, ha="center", va="center_baseline", gid=CELL_NUMBER
            )

    def _draw_extra_columns(self, canvas: Canvas, left: float, top: float) -> None:
        size, muted = min(self.row_size, TEXT_SIZE), canvas.theme.muted
        for index, (heading, values) in enumerate(self.map.extra_columns.items(), 1):
            right = left + index * EXTRA_COLUMN
            canvas.draw_text(right, top - 0.06, heading, SMALL_SIZE, muted, ha="right", va="bottom")
            for row, value in enumerate(values):
                y = top + (row + 0.5) * self.cell
                canvas.draw_text(right, y, f"{value:.2f}", size, ha="right", va="center_baseline")


class _WordRow:
    """The words of a sentence in a row, with the places of their middles."""

    def __init__(self, words: Sequence[str], text: TextMeasurer, pitch: float | None) -> None:
        """With a pitch, the words are upright and equally wide."""
        self.words = words
        self.shown = text.prepare_words(words)
        self.upright = pitch is not None
        self.size = WORD_SIZE if pitch is None else min(WORD_SIZE, pitch * 72 * 0.75)
        widths = [text.compute_width(word, self.size) for word in self.shown]
        if pitch is None:
            ends = np.cumsum([width + WORD_SPACE for width in widths]) - WORD_SPACE
            self.middles = (ends - np.array(widths) / 2).tolist()
            self.width = float(ends[-1]) if widths else 0.0
            self.height = self.size * LINE_HEIGHT / 72
        else:
            self.middles = [(index + 0.5) * pitch for index in range(len(words))]
            self.width = pitch * len(words)
            self.height = max(widths, default=0.0)

    def draw(self, canvas: Canvas, x: float, y: float, va: str) -> None:
        for word, shown, middle in zip(self.words, self.shown, self.middles, strict=True):
            colour = canvas.theme.muted if word == END else None
            rotation = 90 if self.upright and word != END else 0
            canvas.draw_text(x + middle, y, shown, self.size, colour, ha="center", va=va, rotation=rotation)


class _LinePanel(_Panel):
    def __init__(self, one: AttentionMap, pitch: float | None, text: TextMeasurer) -> None:
        self.source = _WordRow(one.source_words, text, pitch)
        self.target = _WordRow(one.target_words, text, pitch)
        self.links = LINK_HEIGHT if pitch is None else LINK_HEIGHT * 1.5
        width = max(MIN_DIAGRAM_WIDTH, self.source.width, self.target.width)
        super().__init__(one, text, width, self.source.height, self.links + 0.12 + self.target.height)

    def draw_map(self, canvas: Canvas, x: float, top: float) -> None:
        bottom = top + self.links + 0.12
        self.source.draw(canvas, x, top, "bottom")
        self.target.draw(canvas, x, bottom, "top")
        self._draw_links(canvas, x, top + 0.06, bottom - 0.06)

    def _draw_links(self, canvas: Canvas, x: float, top: float, bottom: float) -> None:
        from matplotlib.collections import PathCollection
        from matplotlib.path import Path

        weights = self.map.matrix
        rows, columns = np.nonzero(weights >= MIN_SHOWN_WEIGHT)
        order = np.argsort(weights[rows, columns], kind="stable")  # strong lines over weak ones
        curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        middle = (top + bottom) / 2
        paths, colours, widths = [], [], []
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            start, end = x + self.source.middles[column], x + self.target.middles[row]
            paths.append(Path([(start, top), (start, middle), (end, middle), (end, bottom)], curve))
            weight = min(1.0, float(weights[row, column]))
            colour, line_width = _choose_line(weight, canvas.theme)
            colours.append(colour)
            widths.append(line_width * canvas.scale)
        links = PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths)
        links.set_transform(canvas.axes.transData)
        canvas.axes.add_collection(links)


def _choose_line(weight: float, theme: Theme) -> tuple[tuple[float, float, float, float], float]:
    """Returns the colour and the width of the line for a weight."""
    from matplotlib.colors import to_rgba

    return to_rgba(theme.accent, 0.12 + 0.88 * weight), 0.4 + (MAX_LINE_WIDTH - 0.4) * weight


def _draw_colour_scale(canvas: Canvas, x: float, y: float) -> None:
    muted = canvas.theme.muted
    canvas.draw_text(x, y, "attention  0", SMALL_SIZE, muted, va="center")
    canvas.draw_image(np.linspace(0, 1, 256)[None, :], x + 0.78, y - 0.05, 0.9, 0.1)
    canvas.draw_frame(x + 0.78, y - 0.05, 0.9, 0.1)
    canvas.draw_text(x + 1.74, y, "1", SMALL_SIZE, muted, va="center")


def _draw_line_scale(canvas: Canvas, x: float, y: float) -> None:
    from matplotlib.collections import LineCollection

    canvas.draw_text(x, y, "attention", SMALL_SIZE, canvas.theme.muted, va="center")
    starts = [x + 0.66 + 0.56 * index for index in range(len(LEGEND_WEIGHTS))]
    looks = [_choose_line(weight, canvas.theme) for weight in LEGEND_WEIGHTS]
    lines = LineCollection([[(start, y), (start + 0.22, y)] for start in starts])
    widths = [width * canvas.scale for _, width in looks]
    lines.set(capstyle="butt", edgecolor=[colour for colour, _ in looks], linewidth=widths)
    canvas.axes.add_collection(lines)
    for start, weight in zip(starts, LEGEND_WEIGHTS, strict=True):
        canvas.draw_text(start + 0.29, y, format_weight(weight), SMALL_SIZE, canvas.theme.muted, va="center")


class _Footer:
    """The footer of a figure: the reference, if all maps have the same, the scale of attention, remarks."""

    def __init__(
        self,
        maps: Sequence[AttentionMap],
        width: float,
        text: TextMeasurer,
        draw_scale: Callable[[Canvas, float, float], None],
    ) -> None:
        self.draw_scale = draw_scale
        shared = maps[0].reference if len({one.reference for one in maps}) == 1 else None
        self.reference = text.wrap(shared, TEXT_SIZE, width - REFERENCE_INDENT)
        remarks = []
        if any(END in (*one.source_words, *one.target_words) for one in maps):
            remarks.append(f"{END_SIGN} end of sentence")
        if not text.is_complete:
            remarks.append(f"{NO_GLYPH} no font on this machine has it")
        joined = REMARK_GAP.join(remarks)
        needed = text.compute_width(joined + REMARK_GAP, SMALL_SIZE) + SCALE_WIDTH
        self.legend = ["", *remarks] if needed > width else [joined]

    @property
    def height(self) -> float:
        parts = ((self.reference, TEXT_SIZE), (self.legend, SMALL_SIZE))
        return sum(0.16 + compute_text_height(lines, size) for lines, size in parts if lines)

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        muted = canvas.theme.muted
        if self.reference:
            canvas.draw_text(x, y + 0.16, "Reference", TEXT_SIZE, muted)
            canvas.draw_lines_of_text(x + REFERENCE_INDENT, y + 0.16, self.reference, TEXT_SIZE)
            y += 0.16 + compute_text_height(self.reference, TEXT_SIZE)
        y += 0.16 + SMALL_SIZE * LINE_HEIGHT / 72 / 2
        self.draw_scale(canvas, x, y)
        for index, line in enumerate(self.legend):
            canvas.draw_text(x if index else x + SCALE_WIDTH, y, line, SMALL_SIZE, muted, va="center")
            y += SMALL_SIZE * LINE_HEIGHT / 72
