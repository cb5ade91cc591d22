"""Heat maps: source words on top, produced words at the side, bright where a word is attended to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, radians, sin
from typing import TYPE_CHECKING, Any

from augenmerk.diagrams.labels import heat_colours, ink_on, level, number
from augenmerk.diagrams.maps import END, AttentionMap, check_maps
from augenmerk.diagrams.sheet import (
    LINE,
    MARGIN,
    SMALL_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    Footer,
    Ruler,
    Sheet,
    subdued,
)
from augenmerk.figures import Theme, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_CELL, SMALLEST_CELL = 0.46, 0.09
MAP_SIDE = 9.0
"""Inches that a map may take up before its cells become smaller."""
ROW_WIDTH = 14.0
"""... and that the cells of maps side by side may take up."""
NUMBERED_CELL = 0.3
"""Cells of this size hold a number."""
FAINTEST_NUMBER = 0.02
SLANT = 45.0
LARGEST_LABEL = 11.0
DRAWN_CELLS = 3000
"""More cells than this become one image, also inside SVG and PDF: it looks the same, and files stay small."""
NARROWEST = 2.4
GAP = 0.45
MAPS_IN_A_ROW = 4


def draw_heat_map(maps: Sequence[AttentionMap], theme: Theme) -> Figure:
    """One map, or several side by side on the same scale."""
    check_maps(maps)
    with drawing(theme):
        ruler = Ruler(maps)
        in_a_row = ceil(len(maps) / ceil(len(maps) / MAPS_IN_A_ROW))
        cell = _cell(maps, in_a_row)
        panels = [_Panel.of(one, cell, ruler) for one in maps]
        rows = [panels[i : i + in_a_row] for i in range(0, len(panels), in_a_row)]
        room = max(sum(panel.width for panel in row) + GAP * (len(row) - 1) for row in rows)
        footer = Footer.of(maps, room, ruler, scale=True)
        heights = [_height(row) for row in rows]
        height = 2 * MARGIN + sum(heights) + GAP * (len(rows) - 1) + footer.height
        sheet = Sheet.of(room + 2 * MARGIN, height, theme, ruler)
        y = MARGIN
        for row, high in zip(rows, heights, strict=True):
            x = MARGIN
            title, head = max(panel.title_height for panel in row), max(panel.head for panel in row)
            for panel in row:
                panel.draw(sheet, x, y, title, head)
                x += panel.width + GAP
            y += high + GAP
        footer.draw(sheet, MARGIN, y - GAP)
    return sheet.figure


def _cell(maps: Sequence[AttentionMap], in_a_row: int) -> float:
    """The side of a cell, the same in all maps of a figure."""
    longest = max(max(len(one.source_words), len(one.target_words), 1) for one in maps)
    # Maps side by side move together, but not so close that they would lose their numbers.
    together = max(NUMBERED_CELL, ROW_WIDTH / (longest * in_a_row))
    return max(SMALLEST_CELL, min(LARGEST_CELL, MAP_SIDE / longest, together))


@dataclass(frozen=True)
class _Panel:
    """One map with its labels, measured but not yet drawn; all in inches."""

    shown: AttentionMap
    cell: float
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    title: tuple[str, ...]
    note: tuple[str, ...]
    slant: float
    """Of the source words, in degrees: none if each fits above its column."""
    bold: str
    left: float
    """Room for the target words."""
    head: float
    """Room for the source words."""
    width: float

    @classmethod
    def of(cls, one: AttentionMap, cell: float, ruler: Ruler) -> _Panel:
        columns, rows = (
            tuple(ruler.word(word) for word in words) for words in (one.source_words, one.target_words)
        )
        size = row_label_size(cell)
        wide = [ruler.width(word, size) for word in columns]
        slant = 0.0 if all(width < cell * 0.92 for width in wide) else SLANT
        left = max((ruler.width(word, size) for word in rows), default=0) + 0.1
        if slant:
            size = column_label_size(cell)
            wide = [ruler.width(word, size) for word in columns]
        across, up = cos(radians(slant)), sin(radians(slant))
        grid = cell * len(columns)
        overhang = 0.0
        if slant:
            ends = ((place + 0.5) * cell + width * across for place, width in enumerate(wide))
            overhang = max(0.0, max(ends, default=0.0) + size / 72 * up - grid)
        beside = BESIDE * len(one.beside)
        width = max(left + grid + max(overhang, beside), NARROWEST)
        return cls(
            shown=one,
            cell=cell,
            columns=columns,
            rows=rows,
            title=tuple(ruler.wrapped(one.title, TITLE_SIZE, width, ruler.bold)) if one.title else (),
            note=tuple(ruler.wrapped(one.note, SMALL_SIZE, width)) if one.note else (),
            slant=slant,
            bold=ruler.bold,
            left=left,
            head=max(wide, default=0) * up + size / 72 * (0.5 + across),
            width=width,
        )

    @property
    def title_height(self) -> float:
        return len(self.title) * TITLE_SIZE * LINE / 72 + (0.08 if self.title else 0)

    @property
    def below(self) -> float:
        """From the top of the first row to the end of the note."""
        note = len(self.note) * SMALL_SIZE * LINE / 72 + 0.1 if self.note else 0
        return max(self.cell * len(self.rows), SMALL_SIZE * LINE / 72) + note

    def draw(self, sheet: Sheet, x: float, y: float, title_height: float, head: float) -> None:
        sheet.write_lines(x, y, self.title, TITLE_SIZE, weight=self.bold)
        top, left = y + title_height + head, x + self.left
        if not (self.rows and self.columns):
            sheet.write(x, top, "nothing to show: no words", SMALL_SIZE, subdued(sheet.theme))
        else:
            self._draw_labels(sheet, left, top)
            self._draw_cells(sheet, left, top)
            self._draw_beside(sheet, left + self.cell * len(self.columns), top)
        end = top + self.below - len(self.note) * SMALL_SIZE * LINE / 72
        sheet.write_lines(x, end, self.note, SMALL_SIZE, colour=subdued(sheet.theme))

    def _draw_labels(self, sheet: Sheet, left: float, top: float) -> None:
        quiet = subdued(sheet.theme)
        size = column_label_size(self.cell) if self.slant else row_label_size(self.cell)
        for place, (word, shown) in enumerate(zip(self.shown.source_words, self.columns, strict=True)):
            middle = left + (place + 0.5) * self.cell
            if self.slant and word != END:
                how: dict[str, Any] = {"rotation": self.slant, "rotation_mode": "anchor", "va": "bottom"}
                # The middle of a slanted word's first letter stands above the middle of its column.
                sheet.write(middle + size / 72 * 0.25, top - 0.06, shown, size, **how)
            else:
                colour = quiet if word == END else None
                sheet.write(middle, top - 0.06, shown, size, colour, ha="center", va="bottom")
        size = row_label_size(self.cell)
        for place, (word, shown) in enumerate(zip(self.shown.target_words, self.rows, strict=True)):
            colour = quiet if word == END else None
            middle = top + (place + 0.5) * self.cell
            sheet.write(left - 0.08, middle, shown, size, colour, ha="right", va="center_baseline")

    def _draw_cells(self, sheet: Sheet, left: float, top: float) -> None:
        weights, cell = self.shown.matrix, self.cell
        rows, columns = weights.shape
        if weights.size > DRAWN_CELLS:
            sheet.show(weights, left, top, columns * cell, rows * cell)
            return
        sheet.axes.pcolormesh(
            [left + place * cell for place in range(columns + 1)],
            [top + place * cell for place in range(rows + 1)],
            weights,
            cmap=sheet.theme.heat,
            vmin=0,
            vmax=1,
            edgecolors=sheet.theme.paper,
            linewidth=1.2 if cell >= NUMBERED_CELL else 0.4,
        )
        if cell < NUMBERED_CELL:
            return
        colours = heat_colours(sheet.theme, 256)
        for row, column in zip(*(weights >= FAINTEST_NUMBER).nonzero(), strict=True):
            weight = float(weights[row, column])
            place = left + (column + 0.5) * cell, top + (row + 0.5) * cell
            colour = ink_on(colours[level(weight, 256)])
            sheet.write(*place, number(weight), cell * 72 * 0.27, colour, ha="center", va="center_baseline")

    def _draw_beside(self, sheet: Sheet, left: float, top: float) -> None:
        size, quiet = min(row_label_size(self.cell), TEXT_SIZE), subdued(sheet.theme)
        for place, (heading, values) in enumerate(self.shown.beside.items(), 1):
            right = left + place * BESIDE
            sheet.write(right, top - 0.06, heading, SMALL_SIZE, quiet, ha="right", va="bottom")
            for row, value in enumerate(values):
                middle = top + (row + 0.5) * self.cell
                sheet.write(right, middle, f"{value:.2f}", size, ha="right", va="center_baseline")


BESIDE = 0.8
"""Room for a column of figures beside a map."""


def _height(row: Sequence[_Panel]) -> float:
    parts = ([panel.title_height, panel.head, panel.below] for panel in row)
    return sum((max(values) for values in zip(*parts, strict=True)), 0.0)


def row_label_size(cell: float) -> float:
    """Of the words beside rows of a height in inches, in points."""
    return min(LARGEST_LABEL, cell * 72 * 0.72)


def column_label_size(cell: float) -> float:
    """Slanted lines of text are closer to each other than their columns are."""
    return min(LARGEST_LABEL, cell * 72 * 0.72 * cos(radians(SLANT)) * 1.15)
