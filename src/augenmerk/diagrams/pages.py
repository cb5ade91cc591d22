"""Pages of pictures: one HTML file that needs no network, for a screen of any size, and for paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from augenmerk.diagrams.labels import plain
from augenmerk.diagrams.markup import ON_DARK_SCREENS, map_style
from augenmerk.diagrams.sheet import blend, subdued
from augenmerk.figures import DARK, LIGHT, Theme


@dataclass(frozen=True)
class Card:
    """One sentence on an index page. Everything is escaped, except what is said to be HTML."""

    heading: str
    pictures: Sequence[str] = ()
    """HTML: what `html_map(..., style=False)` or `embedded` gives; side by side where there is room."""
    sentences: Mapping[str, str] = field(default_factory=dict)
    """What each is called, and the sentence: source, translation, reference."""
    measures: Mapping[str, str | float] = field(default_factory=dict)
    verdict: str | None = None
    """What there is to see, in a sentence."""
    wide: bool = False
    """Whether it takes the whole width of the page, as it does with more than one picture."""
    file: str | None = None
    """The picture's own file, relative to the page."""
    extra: str = ""
    """HTML that stands last."""


def index_page(title: str, intro: str, cards: Sequence[Card], *, summary: str = "") -> str:
    """A page with all the cards; `summary` is HTML that stands before them (plots, tables)."""
    parts = [f"<header><h1>{_text(title)}</h1>"]
    parts += [f"<p>{_text(paragraph)}</p>" for paragraph in intro.split("\n\n") if paragraph.strip()]
    parts.append("</header>")
    if summary:
        parts.append(f'<section class="summary">{summary}</section>')
    shown = (_card(card, f"card-{place}") for place, card in enumerate(cards, 1))
    parts.append(f'<div class="cards">{"".join(shown)}</div>')
    return html_page(title, "".join(parts), style=map_style())


def html_page(title: str, body: str, *, style: str = "") -> str:
    """A whole page in the house style around a body that is HTML; `style` is put after the house's."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(plain(title))}</title>"
        f"<style>{_colours(LIGHT)}{ON_DARK_SCREENS}{{{_colours(DARK)}}}{_LAYOUT}{style}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _card(card: Card, name: str) -> str:
    wide = " wide" if card.wide or len(card.pictures) > 1 else ""
    parts = [f'<article class="card{wide}" id="{name}"><h2>{_text(card.heading)}</h2>']
    if card.verdict:
        parts.append(f'<p class="verdict">{_text(card.verdict)}</p>')
    if card.sentences:
        rows = (f"<dt>{_text(key)}</dt><dd>{_text(text)}</dd>" for key, text in card.sentences.items())
        parts.append(f'<dl class="sentences">{"".join(rows)}</dl>')
    if card.pictures:
        parts.append(f'<div class="pictures">{"".join(card.pictures)}</div>')
    if card.measures:
        rows = (
            f"<div><dt>{_text(key)}</dt><dd>{_value(value)}</dd></div>"
            for key, value in card.measures.items()
        )
        parts.append(f'<dl class="measures">{"".join(rows)}</dl>')
    parts.append(card.extra)
    if card.file:
        parts.append(f'<p class="file"><a href="{escape(card.file)}">{_text(card.file)}</a></p>')
    parts.append("</article>")
    return "".join(parts)


def _text(text: str) -> str:
    return f"<bdi>{escape(plain(text))}</bdi>"


def _value(value: str | float) -> str:
    return _text(value) if isinstance(value, str) else f"{value:.3g}"


def _colours(theme: Theme) -> str:
    return (
        f":root{{--paper:{blend(theme.paper, theme.ink, 0.96)};--card:{theme.paper};--ink:{theme.ink};"
        f"--quiet:{subdued(theme)};--faint:{theme.faint};--accent:{theme.accent}}}"
    )


_LAYOUT = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,"DejaVu Sans",sans-serif}
main{max-width:100rem;margin:0 auto;padding:1.5rem clamp(.6rem,3vw,2rem)}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.1rem;line-height:1.3;margin:0 0 .6rem}
h1,h2,p,dd{overflow-wrap:anywhere}
a{color:var(--accent)}
img{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem 1.2rem .2rem 0;text-align:left;vertical-align:baseline}
thead th{color:var(--quiet);font-weight:400}
header{max-width:50rem}
.summary{margin:1.2rem 0}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,40rem),1fr));gap:1.2rem;
margin:1.2rem 0}
.card,.summary{background:var(--card);border:1px solid var(--faint);border-radius:8px;padding:1rem 1.1rem;
min-width:0}
.wide{grid-column:1/-1}
.verdict{margin:0 0 .6rem;border-left:3px solid var(--accent);padding-left:.7rem}
.sentences{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;margin:0 0 .8rem}
.sentences dt,.measures dt{color:var(--quiet)}
.sentences dd,.measures dd{margin:0}
.pictures{display:flex;flex-wrap:wrap;gap:.8rem;align-items:flex-start}
.pictures>*{max-width:100%}
.pictures .am{padding:0}
.pictures img{display:block}
.measures{display:flex;flex-wrap:wrap;gap:.4rem 1.6rem;margin:.8rem 0 0;font-size:.9rem}
.measures dd{font-variant-numeric:tabular-nums}
.file{margin:.6rem 0 0;font-size:.85rem}
@media (max-width:30rem){.sentences{grid-template-columns:1fr}.sentences dd{margin-bottom:.4rem}
.card,.summary{padding:.8rem}}
@media print{body{background:none;font-size:11pt}main{max-width:none;padding:0}.cards{display:block}
.card{margin:1rem 0;border-color:#bbb}.card:not(.wide){break-inside:avoid}
.pictures{display:block;orphans:1;widows:1}h2,.verdict,.sentences{break-after:avoid}.file{display:none}}
""".replace("\n", "")
