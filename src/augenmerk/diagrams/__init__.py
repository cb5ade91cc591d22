"""Attention drawn: heat maps and line diagrams, HTML that needs no network, blocks in the terminal.

Draws and computes nothing: words and weights come in as plain data.
"""

from augenmerk.diagrams.heat import draw_heat_map
from augenmerk.diagrams.lines import draw_lines
from augenmerk.diagrams.maps import END, AttentionMap
from augenmerk.diagrams.markup import embedded, html_map
from augenmerk.diagrams.pages import Card, html_page, index_page
from augenmerk.diagrams.terminal import terminal_map

__all__ = [
    "END",
    "AttentionMap",
    "Card",
    "draw_heat_map",
    "draw_lines",
    "embedded",
    "html_map",
    "html_page",
    "index_page",
    "terminal_map",
]
