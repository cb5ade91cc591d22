"""Attention maps in the terminal: coloured blocks, with the weights for terminals without colour."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

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
from augenmerk.drawing.figures import DARK, Theme, choose_ink, get_heat_colours, quantise

LEVELS = 64
WIDE_CELL = 4
"""Columns of a cell that holds a weight such as `.83`."""
NARROW_CELL = 2
MAP_GAP = 3
"""Columns between maps side by side."""
LISTED_WORDS = 3
"""Source words that are named for each target word if there is no room for a map."""


def render_terminal_map(one: AttentionMap, width: int, theme: Theme = DARK) -> Text:
    """Renders the map with the source words across, letter below letter if that is too wide for the terminal,
    and as a list of the words that each target word attends to if even that is too wide."""
    if not one.has_words:
        return Text(NO_WORDS, style="dim")
    widths, margin = _choose_widths(one, width), _compute_margin(one)
    if not widths:
        return _render_list(one, margin)
    split = _split_letters if _is_narrow(widths) else lambda word: [word]
    return _render_grid(one, margin, [split(shorten_word(word)) for word in one.source_words], widths, theme)


def explain_terminal_maps(groups: Sequence[Sequence[AttentionMap]], width: int) -> str:
    """Returns what the signs in maps mean that were drawn at this width; maps of a group share their rows."""
    signs = []
    if any(
        _is_narrow(_choose_widths(one, width if len(maps) == 1 else _choose_room(maps, width)))
        for maps in groups
        for one in maps
    ):
        signs.append("A digit: tenths")
    if any(END in (*one.source_words, *one.target_words) for maps in groups for one in maps):
        signs.append(f"{END_SIGN}: end of sentence")
    return "; ".join(signs) + "." if signs else ""


def _choose_widths(one: AttentionMap, width: int) -> list[int]:
    """Returns the columns of each cell in a row of the map, none if it has no words or is too wide."""
    source = [shorten_word(word) for word in one.source_words]
    wide = [max(WIDE_CELL, cell_len(word) + 1) for word in source]
    for widths in (wide, [NARROW_CELL] * len(source)):
        if one.has_words and _compute_margin(one) + 1 + sum(widths) <= width:
            return widths
    return []


def _is_narrow(widths: Sequence[int]) -> bool:
    return NARROW_CELL in widths


def render_terminal_maps(maps: Sequence[AttentionMap], width: int, theme: Theme = DARK) -> Table:
    """Renders maps of the same words, such as those of attention heads, with their titles above them.

    As many as fit are side by side; their source words are then letter below letter.
    """
    room = _choose_room(maps, width)
    in_a_row = max(1, min(len(maps), (width + MAP_GAP) // (room + MAP_GAP)))
    table = Table.grid(padding=(0, MAP_GAP, 0, 0), pad_edge=False)
    for start in range(0, len(maps), in_a_row):
        if start:
            table.add_row("")
        cells = []
        for one in maps[start : start + in_a_row]:
            title = clean_text(one.title or "")
            cells.append(Text.assemble((f"{title}\n", "dim"), render_terminal_map(one, room, theme)))
        table.add_row(*cells)
    return table


def _choose_room(maps: Sequence[AttentionMap], width: int) -> int:
    """Returns how wide each of several maps is drawn: as narrow as possible if two fit side by side."""
    needed = max(map(_compute_narrow_width, maps))
    return needed if len(maps) > 1 and 2 * needed + MAP_GAP <= width else width


def _compute_margin(one: AttentionMap) -> int:
    return max((cell_len(shorten_word(word)) for word in one.target_words), default=0)


def _compute_narrow_width(one: AttentionMap) -> int:
    return max(
        _compute_margin(one) + 1 + NARROW_CELL * len(one.source_words),
        cell_len(one.title or ""),
        len(NO_WORDS),
    )


def _split_letters(word: str) -> list[str]:
    """Splits a word into letters; accents and joiners stay with the letter before them."""
    letters: list[str] = []
    for character in word:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _render_grid(
    one: AttentionMap, margin: int, columns: list[list[str]], widths: list[int], theme: Theme
) -> Text:
    """Renders the map below its column headings, whose last lines are just above the cells."""
    height = max(map(len, columns))
    padded = [[""] * (height - len(column)) + column for column in columns]
    text = Text()
    for line, letters in enumerate(zip(*padded, strict=True)):
        text.append(("\n" if line else "") + " " * (margin + 1))
        for word, letter, width in zip(one.source_words, letters, widths, strict=True):
            text.append(_centre(letter, width), style=_choose_style(word))
    colours = get_heat_colours(theme, LEVELS)
    for target, weights in zip(one.target_words, one.matrix.tolist(), strict=True):
        text.append("\n")
        _append_row_label(text, target, margin)
        text.append(" ")
        for weight, width in zip(weights, widths, strict=True):
            colour = colours[quantise(weight, LEVELS)]
            shown = format_weight(weight) if width >= WIDE_CELL else _format_tenths(weight)
            text.append(_centre(shown, width), style=f"{choose_ink(colour)} on {colour}")
    return text


def _render_list(one: AttentionMap, margin: int) -> Text:
    text = Text()
    for index, (target, weights) in enumerate(zip(one.target_words, one.matrix.tolist(), strict=True)):
        text.append("\n" if index else "")
        _append_row_label(text, target, margin)
        strongest = sorted(range(len(weights)), key=lambda column: -weights[column])[:LISTED_WORDS]
        shown = [column for column in strongest if weights[column] >= MIN_SHOWN_WEIGHT]
        for column in shown:
            text.append(f"  {shorten_word(one.source_words[column])} ", style="yellow")
            text.append(format_weight(weights[column]), style="dim")
        if not shown:
            text.append("  ·", style="dim")
    return text


def _append_row_label(text: Text, word: str, margin: int) -> None:
    shown = shorten_word(word)
    text.append(" " * (margin - cell_len(shown)))
    text.append(shown, style=_choose_style(word))


def _choose_style(word: str) -> str:
    return "dim" if word == END else "bold"


def _format_tenths(weight: float) -> str:
    """Returns the weight in tenths, for a cell with room for one digit; at most 9."""
    return str(min(9, int(weight * 10 + 0.5))) if weight >= 0.05 else ""


def _centre(text: str, width: int) -> str:
    room = width - cell_len(text)
    return " " * (room // 2) + text + " " * (room - room // 2)
