"""Attention maps as HTML: self-contained, escaped, without a script, light or dark as the reader's screen.

A map is a table, so the browser sets the words, in any script and direction. What the pointer or a finger
rests on is spelt out at the lower edge of the window, where neither hides it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from augenmerk.diagrams.labels import heat_colours, ink_on, label, level, number, plain
from augenmerk.diagrams.maps import END, AttentionMap
from augenmerk.diagrams.sheet import subdued
from augenmerk.figures import DARK, LIGHT, Theme, picture_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = 48
"""Shades of a map in HTML: more cannot be told apart."""
ON_DARK_SCREENS = "@media screen and (prefers-color-scheme: dark)"
"""Only on screens: paper is white."""


def html_map(one: AttentionMap, *, theme: Theme | None = None, style: bool = True) -> str:
    """The map as a fragment of HTML. `theme`: instead of whichever suits the reader's screen.

    `style`: whether the fragment brings its own style sheet, rather than standing on a page that has it.
    """
    one.check_size()
    columns = len(one.source_words)
    size = "large" if columns <= 16 else "medium" if columns <= 32 else "small"
    fixed = f" am-{theme.name}" if theme else ""
    parts = [f'<figure class="am am-{size}{fixed}">']
    if style:
        parts.append(f"<style>{map_style()}</style>")
    if one.title:
        parts.append(f"<figcaption>{_text(one.title)}</figcaption>")
    parts.append(_table(one) if one.source_words and one.target_words else "<p>nothing to show: no words</p>")
    if one.reference:
        parts.append(f'<p class="am-reference"><span>Reference</span> {_text(one.reference)}</p>')
    note = one.note or ("" if one.matrix.any() else "It attends to nothing: all weights are 0.")
    if note:
        parts.append(f'<p class="am-note">{_text(note)}</p>')
    parts.append("</figure>")
    return "".join(parts)


def _table(one: AttentionMap) -> str:
    rows = ["<table><thead><tr><td></td>"]
    rows += [f'<th scope="col"{_end(word)}><div>{_word(word)}</div></th>' for word in one.source_words]
    rows += [f'<th scope="col" class="am-beside">{_text(heading)}</th>' for heading in one.beside]
    rows.append("</tr></thead><tbody>")
    sources = [_attribute(word) for word in one.source_words]
    for place, (target, weights) in enumerate(zip(one.target_words, one.matrix.tolist(), strict=True)):
        rows.append(f'<tr><th scope="row"{_end(target)}>{_word(target)}</th>')
        name = _attribute(target)
        for source, weight in zip(sources, weights, strict=True):
            shown = number(weight) if weight >= 0.02 else ""
            told = f"{source} → {name}: {weight:.3f}"
            rows.append(f'<td class="h{level(weight, LEVELS)}" data-w="{told}">{shown}</td>')
        rows += [f'<td class="am-beside">{values[place]:.2f}</td>' for values in one.beside.values()]
        rows.append("</tr>")
    rows.append("</tbody></table>")
    return f'<div class="am-scroll">{"".join(rows)}</div>'


def _text(text: str) -> str:
    return f"<bdi>{escape(plain(text))}</bdi>"


def _word(word: str) -> str:
    return f"<bdi>{escape(label(word))}</bdi>"


def _attribute(word: str) -> str:
    """With marks around it that keep its direction to itself."""
    return "end of sentence" if word == END else f"\u2068{escape(label(word))}\u2069"


def _end(word: str) -> str:
    return ' class="am-end" title="end of sentence"' if word == END else ""


@cache
def map_style() -> str:
    """The style sheet of maps, for a page to have once."""
    light, dark = _colours(LIGHT), _colours(DARK)
    scoped = {name: rules.replace("§", f".am-{name}") for name, rules in (("light", light), ("dark", dark))}
    return (
        _LAYOUT
        + light.replace("§", ".am")
        + f"{ON_DARK_SCREENS}{{{dark.replace('§', '.am')}}}"
        + scoped["light"]
        + scoped["dark"]
    )


def _colours(theme: Theme) -> str:
    """§ stands for the selector of the map."""
    rules = [
        f"§{{background:{theme.paper};color:{theme.ink};"
        f"--am-paper:{theme.paper};--am-ink:{theme.ink};--am-quiet:{subdued(theme)};--am-accent:{theme.accent}}}"
    ]
    for place, colour in enumerate(heat_colours(theme, LEVELS)):
        rules.append(f"§ .h{place}{{background:{colour};color:{ink_on(colour)}}}")
    return "".join(rules)


_LAYOUT = """
.am{display:inline-block;vertical-align:top;box-sizing:border-box;max-width:100%;margin:0;padding:.8em 1em;
border-radius:6px;font:14px/1.35 system-ui,"DejaVu Sans",sans-serif;text-align:left}
.am figcaption{font-weight:600;margin:0 0 .4em}
.am p{margin:.5em 0 0}
.am .am-note,.am .am-reference span,.am .am-end{color:var(--am-quiet);font-weight:400}
.am .am-scroll{overflow-x:auto}
.am table{border-collapse:separate;border-spacing:1px;margin:0;font:inherit;color:inherit;width:auto;border:0}
.am.am tbody tr,.am tr,.am th,.am td{background:none;border:0;padding:0;vertical-align:middle}
.am th{font-weight:400;white-space:nowrap;color:inherit}
.am thead th{vertical-align:bottom;text-align:left;padding:0 0 .3em}
.am thead th div{writing-mode:vertical-rl;transform:rotate(180deg);margin:0 auto;line-height:1.1}
.am tbody th{position:sticky;left:0;background:var(--am-paper);text-align:right;padding:0 .5em 0 0}
.am tbody td{text-align:center;padding:0;line-height:1;font-variant-numeric:tabular-nums;
-webkit-print-color-adjust:exact;print-color-adjust:exact}
.am-large tbody td{min-width:32px;width:32px;height:28px;font-size:11px}
.am-medium{font-size:13px}
.am-medium tbody td{min-width:18px;width:18px;height:18px;font-size:0}
.am-small{font-size:10px}
.am-small tbody td{min-width:10px;width:10px;height:12px;font-size:0}
@media (max-width:30rem){.am{padding:.4em 0}
.am-large tbody td{min-width:24px;width:24px;height:24px;font-size:9.5px}}
@media print{.am{break-inside:avoid}.am-large tbody td{min-width:26px;width:26px;height:20px;font-size:10px}}
.am thead .am-beside{padding-left:.9em;text-align:right;font-size:12px;color:var(--am-quiet)}
.am tbody td.am-beside{padding-left:.9em;text-align:right;font-size:12px;width:auto;min-width:0}
.am tbody tr:hover th{color:var(--am-accent)}
.am td[data-w]:hover{outline:2px solid var(--am-accent);outline-offset:-1px}
.am td[data-w]:hover::after{content:attr(data-w);position:fixed;left:50%;bottom:1rem;z-index:9;
transform:translateX(-50%);max-width:90vw;padding:.45em .9em;border-radius:6px;font-size:14px;line-height:1.4;
overflow-wrap:anywhere;text-align:center;color:var(--am-paper);background:var(--am-ink);pointer-events:none}
""".replace("\n", "")


def embedded(draw: Callable[[Theme], Figure], alt: str) -> str:
    """A figure as HTML, drawn in both themes, of which the reader's screen chooses one."""
    light, dark = (b64encode(picture_bytes(draw(theme), "svg")).decode() for theme in (LIGHT, DARK))
    start = "data:image/svg+xml;base64,"
    return (
        f'<picture><source media="screen and (prefers-color-scheme: dark)" srcset="{start}{dark}">'
        f'<img src="{start}{light}" alt="{escape(plain(alt))}"></picture>'
    )
