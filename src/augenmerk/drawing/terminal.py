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
"""Shades of a map."""
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
    widths = _choose_widths(one, width)
    return _render_grid(one, widths, theme) if widths else _render_list(one)


def render_terminal_maps(maps: Sequence[AttentionMap], width: int, theme: Theme = DARK) -> Table | Text:
    """Renders one map, or several of the same words, such as those of heads, with their titles above them.

    As many as fit are side by side; their source words are then letter below letter.
    """
    if len(maps) == 1:
        return render_terminal_map(maps[0], width, theme)
    room = _choose_room(maps, width)
    in_a_row = max(1, (width + MAP_GAP) // (room + MAP_GAP))
    table = Table.grid(padding=(0, MAP_GAP, 0, 0), pad_edge=False)
    for start in range(0, len(maps), in_a_row):
        if start:
            table.add_row("")
        row = maps[start : start + in_a_row]
        titles = [(f"{clean_text(one.title or '')}\n", "dim") for one in row]
        drawn = [render_terminal_map(one, room, theme) for one in row]
        table.add_row(*map(Text.assemble, titles, drawn))
    return table


def explain_terminal_maps(groups: Sequence[Sequence[AttentionMap]], width: int) -> str:
    """Returns what the signs in maps mean that were drawn at this width; maps of a group share their rows."""
    signs = []
    if any(NARROW_CELL in _choose_widths(one, _choose_room(maps, width)) for maps in groups for one in maps):
        signs.append("A digit: tenths")
    if any(END in (*one.source_words, *one.target_words) for maps in groups for one in maps):
        signs.append(f"{END_SIGN}: end of sentence")
    return "; ".join(signs) + "." if signs else ""


def _choose_room(maps: Sequence[AttentionMap], width: int) -> int:
    """Returns how wide each of the maps is drawn: as narrow as possible if two fit side by side."""
    needed = max(
        max(_margin(one) + 1 + NARROW_CELL * len(one.source_words), cell_len(one.title or ""), len(NO_WORDS))
        for one in maps
    )
    return needed if len(maps) > 1 and 2 * needed + MAP_GAP <= width else width


def _choose_widths(one: AttentionMap, width: int) -> list[int]:
    """Returns the columns of each cell in a row of the map, none if it has no words or is too wide."""
    wide = [max(WIDE_CELL, cell_len(shorten_word(word)) + 1) for word in one.source_words]
    for widths in (wide, [NARROW_CELL] * len(wide)):
        if one.has_words and _margin(one) + 1 + sum(widths) <= width:
            return widths
    return []


def _margin(one: AttentionMap) -> int:
    """Returns the width of the longest target word."""
    return max((cell_len(shorten_word(word)) for word in one.target_words), default=0)


def _render_grid(one: AttentionMap, widths: list[int], theme: Theme) -> Text:
    """Renders the map below its column headings, whose last lines are just above the cells."""
    is_narrow, margin = NARROW_CELL in widths, _margin(one)
    words = [shorten_word(word) for word in one.source_words]
    columns = [_split_letters(word) if is_narrow else [word] for word in words]
    height = max(map(len, columns))
    text = Text()
    for line in range(height):
        text.append(("\n" if line else "") + " " * (margin + 1))
        for word, letters, width in zip(one.source_words, columns, widths, strict=True):
            index = line - height + len(letters)
            text.append(_centre(letters[index] if index >= 0 else "", width), style=_choose_style(word))
    colours = get_heat_colours(theme, LEVELS)
    for target, weights in zip(one.target_words, one.matrix.tolist(), strict=True):
        _append_row_label(text, target, margin)
        text.append(" ")
        for weight, width in zip(weights, widths, strict=True):
            colour = colours[quantise(weight, LEVELS)]
            tenths = str(min(9, int(weight * 10 + 0.5))) if weight >= 0.05 else ""
            shown = format_weight(weight) if width >= WIDE_CELL else tenths
            text.append(_centre(shown, width), style=f"{choose_ink(colour)} on {colour}")
    return text


def _split_letters(word: str) -> list[str]:
    """Splits a word into letters; accents and joiners stay with the letter before them."""
    letters: list[str] = []
    for character in word:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _render_list(one: AttentionMap) -> Text:
    text = Text()
    for target, weights in zip(one.target_words, one.matrix.tolist(), strict=True):
        _append_row_label(text, target, _margin(one))
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
    text.append(("\n" if text else "") + " " * (margin - cell_len(shown)))
    text.append(shown, style=_choose_style(word))


def _choose_style(word: str) -> str:
    return "dim" if word == END else "bold"


def _centre(text: str, width: int) -> str:
    room = width - cell_len(text)
    return " " * (room // 2) + text + " " * (room - room // 2)
