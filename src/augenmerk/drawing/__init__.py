"""Diagrams of attention: heat maps and line diagrams, self-contained HTML, blocks in the terminal.

Words and weights come in as plain data; nothing is computed here.

May import: base and text. Read first: `attention_map.py`, then `figures.py`.
"""

from augenmerk.drawing.attention_map import END, AttentionMap
from augenmerk.drawing.html import Card, Chart, render_html_map, render_index_page, write_page
from augenmerk.drawing.pictures import draw_heat_map, draw_line_diagram
from augenmerk.drawing.terminal import explain_terminal_maps, render_terminal_map, render_terminal_maps

__all__ = [
    "END",
    "AttentionMap",
    "Card",
    "Chart",
    "draw_heat_map",
    "draw_line_diagram",
    "explain_terminal_maps",
    "render_html_map",
    "render_index_page",
    "render_terminal_map",
    "render_terminal_maps",
    "write_page",
]
