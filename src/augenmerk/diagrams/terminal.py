"""Attention maps in the terminal: coloured blocks, with the weight in them for where there is no colour."""

from rich.cells import cell_len
from rich.text import Text

from augenmerk.diagrams.labels import heat_colours, ink_on, level, number, short_label
from augenmerk.diagrams.maps import END, AttentionMap
from augenmerk.figures import DARK, Theme

LEVELS = 64
NARROWEST = 4
"""Columns of a cell that holds a weight such as `.83`, with some air."""
LISTED = 3
"""Source words that are named for each target word where there is no room for a map."""
FAINTEST = 0.02


def terminal_map(one: AttentionMap, width: int, theme: Theme = DARK) -> Text:
    """A map with the source words across. Where that is too wide for the terminal, their letters go down;
    where even that is, a list says what each word attends to."""
    if not (one.source_words and one.target_words):
        return Text("nothing to show: no words", style="dim")
    source = [short_label(word) for word in one.source_words]
    margin = max(cell_len(short_label(word)) for word in one.target_words)
    across = [max(NARROWEST, cell_len(word) + 1) for word in source]
    if margin + 1 + sum(across) <= width:
        return _grid(one, margin, across, _words_across(one, source, margin, across), theme)
    down = [2] * len(source)
    if margin + 1 + sum(down) <= width:
        return _grid(one, margin, down, _words_down(one, source, margin), theme)
    return _list(one, margin)


def _words_across(one: AttentionMap, source: list[str], margin: int, widths: list[int]) -> Text:
    head = Text(" " * (margin + 1))
    for word, shown, wide in zip(one.source_words, source, widths, strict=True):
        head.append(_centred(shown, wide), style="dim" if word == END else "bold")
    return head


def _words_down(one: AttentionMap, source: list[str], margin: int) -> Text:
    """A letter a line; the last letters stand just above the cells."""
    letters = [_letters(word) for word in source]
    high = max(map(len, letters))
    head = Text()
    for line in range(high):
        head.append(("\n" if line else "") + " " * (margin + 1))
        for word, column in zip(one.source_words, letters, strict=True):
            place = line - (high - len(column))
            letter = column[place] if place >= 0 else ""
            head.append(_centred(letter, 2), style="dim" if word == END else "bold")
    return head


def _letters(word: str) -> list[str]:
    """Accents and joiners stay with the letter before them."""
    letters: list[str] = []
    for character in word:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _grid(one: AttentionMap, margin: int, widths: list[int], head: Text, theme: Theme) -> Text:
    colours = heat_colours(theme, LEVELS)
    text = head
    for target, weights in zip(one.target_words, one.matrix.tolist(), strict=True):
        shown = short_label(target)
        text.append("\n" + " " * (margin - cell_len(shown)))
        text.append(shown, style="dim" if target == END else "bold")
        text.append(" ")
        for weight, wide in zip(weights, widths, strict=True):
            colour = colours[level(weight, LEVELS)]
            inside = "" if weight < FAINTEST else number(weight) if wide >= NARROWEST else _digit(weight)
            text.append(_centred(inside, wide), style=f"{ink_on(colour)} on {colour}")
    return text


def _list(one: AttentionMap, margin: int) -> Text:
    text = Text()
    for place, (target, weights) in enumerate(zip(one.target_words, one.matrix.tolist(), strict=True)):
        shown = short_label(target)
        text.append(("\n" if place else "") + " " * (margin - cell_len(shown)))
        text.append(shown, style="dim" if target == END else "bold")
        strongest = sorted(range(len(weights)), key=lambda column: -weights[column])[:LISTED]
        attended = [column for column in strongest if weights[column] >= FAINTEST]
        for column in attended:
            text.append(f"  {short_label(one.source_words[column])} ", style="yellow")
            text.append(number(weights[column]), style="dim")
        if not attended:
            text.append("  ·", style="dim")
    return text


def _digit(weight: float) -> str:
    """Tenths, where there is room for one digit; 9 is all but everything."""
    return str(min(9, int(weight * 10 + 0.5))) if weight >= 0.05 else ""


def _centred(text: str, width: int) -> str:
    room = width - cell_len(text)
    return " " * (room // 2) + text + " " * (room - room // 2)
