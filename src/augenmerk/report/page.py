"""The report: one HTML file that needs nothing else, for any screen, light or dark, and for paper."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from augenmerk.diagrams import AttentionMap, embedded, html_map, html_page
from augenmerk.diagrams.markup import map_style
from augenmerk.figures import Theme
from augenmerk.report import charts
from augenmerk.report.tables import (
    Cell,
    Column,
    columns,
    finished,
    parameters,
    what_the_table_says,
)
from augenmerk.study.result import MEASURES, BeamRepair, ComparisonResult, Provenance, StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def report_page(result: StudyResult) -> str:
    """The whole page."""
    parts = [
        _header(result),
        _section("Figures", _table(result)),
        _comparisons(result),
        _learning(result),
        _lengths(result),
        _beams(result),
        _attention(result),
        _provenance(result.provenance) if result.provenance else "",
        _runs(result),
    ]
    return html_page(f"{result.name}: {result.question}", "".join(parts), style=map_style() + _STYLE)


def _header(result: StudyResult) -> str:
    state = "" if result.complete else '<p class="warning">This study is not complete yet.</p>'
    compared = [
        each.in_words
        for each in result.comparisons
        if (each.measure, each.split) == ("bleu", result.splits[0])
    ]
    answer = _list([*compared, *(each.in_words for each in _leading_repairs(result))])
    remarks = "".join(f"<p>{escape(remark)}</p>" for remark in result.remarks)
    return (
        f'<header><p class="kind">Study “{escape(result.name)}”</p><h1>{escape(result.question)}</h1>{state}'
        f'<div class="answer">{answer}</div><div class="remarks">{remarks}</div></header>'
    )


def _leading_repairs(result: StudyResult) -> list[BeamRepair]:
    """Where one variant is searched with several beams, they are what the study asks about."""
    leads = len(result.variants) == 1
    return [each for each in result.beam_repairs if leads and each.split == result.splits[0]]


def _table(result: StudyResult) -> str:
    shown = columns(result)
    head = "".join(_heading(column) for column in shown)
    rows = "".join(
        f'<tr><th scope="row">{escape(variant.name)}</th><td>{finished(variant)}</td>'
        f"<td>{parameters(variant)}</td>{''.join(_cell(column, column.cells[row]) for column in shown)}</tr>"
        for row, variant in enumerate(result.variants)
    )
    published = (
        '<p class="note">Columns called “published” were not measured here: '
        f"{escape(result.published_source)}.</p>"
        if result.published
        else ""
    )
    return (
        '<div class="scroll"><table class="figures"><thead><tr><th>variant</th><th>runs</th>'
        f"<th>parameters</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="note">{escape(what_the_table_says(result))} In brackets below, the 95% interval of the '
        f"mean by Student’s t over the seeds.</p>{published}"
    )


def _heading(column: Column) -> str:
    if column.published:
        return f'<th class="published">{escape(MEASURES[column.measure].heading)}<br><i>published</i></th>'
    better = {"higher": "↑", "lower": "↓", "neither": ""}[MEASURES[column.measure].better]
    return f"<th>{escape(column.heading)}\N{NO-BREAK SPACE}{better}</th>"


def _cell(column: Column, cell: Cell) -> str:
    interval = f"<small>[{cell.low}, {cell.high}]</small>" if cell.low else ""
    kind = ' class="published"' if column.published else ""
    variance = f' <span class="variance">({cell.variance})</span>' if cell.variance else ""
    return f"<td{kind}>{cell.mean}{variance}{interval}</td>"


def _comparisons(result: StudyResult) -> str:
    if not result.comparisons:
        return ""
    rows = "".join(_comparison(each) for each in result.comparisons)
    first = result.comparisons[0]
    return _section(
        "Variant against variant",
        _chart(lambda theme: charts.effects_chart(result, theme), "Differences in BLEU with 95% intervals")
        + '<div class="scroll"><table class="figures"><thead><tr><th>difference</th><th>split</th>'
        "<th>in</th><th>mean</th><th>95%</th><th>p</th><th>p, corrected</th><th>run by run</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="note">Runs are compared in pairs with the same seed: the same initial weights in all that '
        "the variants share, the same order of the data. p by approximate randomisation: what the two made "
        f"of a sentence is swapped by lot, in all pairs of runs at once ({first.trials:,} trials). The "
        f"interval covers {first.interval_covers}: the variance over seeds and that over resampled sentences "
        f"({first.resamples:,} resamples) are added, with Welch and Satterthwaite’s degrees of freedom. "
        "Corrected by Holm, measure by measure. Strokes in the chart: the pairs of runs.</p>",
    )


def _comparison(each: ComparisonResult) -> str:
    digits = MEASURES[each.measure].digits

    def signed(value: float) -> str:
        return f"{value:+z.{digits}f}"  # z: not -0.00

    low, high = each.interval
    return (
        f'<tr><th scope="row">{escape(each.variant)} − {escape(each.against)}</th>'
        f"<td>{escape(each.split)}</td><td>{MEASURES[each.measure].heading}</td>"
        f"<td>{signed(each.difference)}</td><td>{signed(low)} to {signed(high)}</td>"
        f"<td>{_p(each.p)}</td><td>{_p(each.p_corrected)}</td>"
        f"<td>{', '.join(signed(seed.difference) for seed in each.seeds)}</td></tr>"
    )


def _learning(result: StudyResult) -> str:
    drawn = [
        _chart(_curve(result, measure), f"{heading} by epoch and variant")
        for measure, heading in charts.CURVES.items()
        if charts.has_curve(result.variants, measure)
    ]
    if not drawn:
        return ""
    note = "Lines are means over the runs; bands reach from the lowest to the highest run."
    return _section("Learning", f'<div class="charts">{"".join(drawn)}</div><p class="note">{note}</p>')


def _curve(result: StudyResult, measure: str) -> Callable[[Theme], "Figure"]:
    return lambda theme: charts.curves_chart(result, measure, theme)


def _lengths(result: StudyResult) -> str:
    bins = next((variant.by_length for variant in result.variants if variant.by_length), ())
    if not bins:
        return ""
    counts = ", ".join(
        f"{each.sentences} of {each.shortest}{f' to {each.longest}' * (each.shortest != each.longest)} words"
        for each in bins
    )
    return _section(
        "Short sentences and long ones",
        _chart(lambda theme: charts.lengths_chart(result, theme), "BLEU by length of the source sentence")
        + f'<p class="note">Sentences: {counts}. Whiskers reach from the lowest to the highest run.</p>',
    )


def _beams(result: StudyResult) -> str:
    if not result.beam_rows:
        return ""
    parts = []
    for split in result.splits:
        rows = "".join(
            f'<tr><th scope="row">{escape(row.variant)}</th><td>{row.beam}</td>'
            f"<td>{row.bleu:.2f}<small>{row.bleu_low:.2f} to {row.bleu_high:.2f}</small></td>"
            f"<td>{row.length_ratio:.3f}</td><td>{row.model_score:z.3f}</td>"
            f"<td>{1000 * row.seconds_per_sentence:.1f}</td></tr>"
            for row in result.beam_rows
            if row.split == split
        )
        parts.append(
            _chart(_beam_chart(result, split), f"Four figures against the width of the beam, {split}")
        )
        parts.append(
            '<div class="scroll"><table class="figures"><thead><tr><th>variant</th><th>beam</th><th>BLEU</th>'
            "<th>length ratio</th><th>mean score by the model</th><th>ms per sentence</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    leading = _leading_repairs(result)
    said = _list(repair.in_words for repair in result.beam_repairs if repair not in leading)
    return _section(
        "Beam search",
        "".join(parts)
        + said
        + '<p class="note">Means over the runs; below BLEU, and as a band, the lowest and the highest. '
        "The time is that of the fastest run: several may have been measured at once. A "
        "search error is a sentence for which a wider beam finds a translation that the model itself likes "
        "better. The score is what the search looks for: the log-probability, divided by a power of the "
        "length if the settings say so.</p>",
    )


def _beam_chart(result: StudyResult, split: str) -> Callable[[Theme], "Figure"]:
    return lambda theme: charts.beams_chart(result, split, theme)


def _attention(result: StudyResult) -> str:
    parts = []
    for example in result.examples:
        maps = "".join(
            html_map(
                AttentionMap(
                    source_words=example.source_words,
                    target_words=one.target_words,
                    weights=one.weights,
                    title=f"{one.variant}, seed {one.seed}",
                    note=one.translation,
                ),
                style=False,
            )
            for one in example.maps
        )
        reference = f'<p class="note">Reference: {escape(example.reference)}</p>' if example.reference else ""
        parts.append(f"<h3>{escape(example.source)}</h3>{reference}<div class='pictures'>{maps}</div>")
    return _section("The same sentences, attended to", "".join(parts)) if parts else ""


def _provenance(provenance: Provenance) -> str:
    data = "".join(
        f"<tr><th scope='row'>{escape(each.split)}</th><td>{each.sentences:,}</td>"
        f"<td><code>{each.sha256}</code></td></tr>"
        for each in provenance.data
    )
    facts = {
        "padding": provenance.padding.in_words if provenance.padding else "not checked",
        "signatures": "; ".join(f"{name} {text}" for name, text in provenance.signatures.items()),
        "software": ", ".join(f"{name} {version}" for name, version in provenance.software.items()),
        "hardware": " · ".join(provenance.hardware),
        "training time": f"{provenance.seconds:,.0f} s, all runs together",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    return _section(
        "Where these figures come from",
        f'<dl class="sentences">{rows}</dl>{_list(provenance.remarks)}'
        f"<h3>Data: {escape(provenance.bitext)}</h3>"
        '<div class="scroll"><table class="figures sums"><thead><tr><th>split</th><th>pairs</th>'
        f"<th>SHA-256 of the pairs as read</th></tr></thead><tbody>{data}</tbody></table></div>"
        "<h3>Settings of the first run</h3><p class='note'>The others differ in the factors and the seed.</p>"
        f"<pre>{escape(provenance.config)}</pre>",
    )


def _runs(result: StudyResult) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(variant.name)}</th><td>{run.seed}</td><td>{run.state}'
        f"{_problem(run.problem)}</td>"
        f"<td>{_or_dash(run.best_epoch)} of {_or_dash(run.epochs)}</td>"
        f"<td>{'–' if run.seconds is None else f'{run.seconds:,.0f}'}</td>"
        f"<td>{escape(run.precision or '–')}, {escape(run.device or '–')}</td>"
        f"<td><code>{escape(run.run)}</code></td></tr>"
        for variant in result.variants
        for run in variant.runs
    )
    return _section(
        "Runs",
        '<div class="scroll"><table class="figures"><thead><tr><th>variant</th><th>seed</th><th>state</th>'
        "<th>best epoch</th><th>seconds</th><th>computed in, on</th><th>directory</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>",
    )


def _section(heading: str, body: str) -> str:
    return f'<section class="card"><h2>{escape(heading)}</h2>{body}</section>'


def _chart(draw: Callable[[Theme], "Figure"], alt: str) -> str:
    return f'<figure class="chart">{embedded(draw, alt)}</figure>'


def _list(sentences: Iterable[str]) -> str:
    items: Sequence[str] = [f"<li>{escape(sentence)}</li>" for sentence in sentences]
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 0.001 else "&lt; 0.001"


def _problem(sentence: str | None) -> str:
    return f'<small class="problem">{escape(sentence)}</small>' if sentence else ""


def _or_dash(value: object) -> str:
    return "–" if value is None else str(value)


_STYLE = """
section.card{margin:1.2rem 0}
.kind{color:var(--quiet);margin:0}
.answer ul{padding-left:1.1rem;margin:.4rem 0}.answer li{margin:.3rem 0}
.remarks,.note{color:var(--quiet);font-size:.88rem}.remarks p{margin:.2rem 0}
.warning{color:var(--accent);font-weight:600}
.scroll{overflow-x:auto}
.figures{font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}
.figures th,.figures td{padding:.35rem .45rem;text-align:right;vertical-align:top;white-space:nowrap}
.figures thead th{border-bottom:1px solid var(--ink);vertical-align:bottom;white-space:normal}
.figures tbody tr+tr>*{border-top:1px solid var(--faint)}
.figures th:first-child,.sums th:last-child,.sums td:last-child,.figures td:last-child code{text-align:left}
.figures small{display:block;color:var(--quiet)}.figures .problem{white-space:normal;min-width:16rem}
.figures .variance{color:var(--quiet)}
.published{color:var(--quiet);font-style:italic}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:.5rem}
.chart{margin:.4rem 0;max-width:35rem}.chart img{width:100%;height:auto}
.pictures .am{padding:.5rem 0;font-size:12px}.pictures .am .am-note{width:0;min-width:100%}
.pictures .am-large tbody td{min-width:17px;width:17px;height:17px;font-size:8px}
.pictures .am tbody th{padding-right:.3em}
@media (min-width:90rem){.pictures .am{font-size:13px}
.pictures .am-large tbody td{min-width:23px;width:23px;height:21px;font-size:9.5px}}
h3{font-size:1rem;margin:1.2rem 0 .4rem}
pre{overflow-x:auto;font-size:.82rem;line-height:1.4;background:var(--paper);padding:.8rem;border-radius:6px;
column-width:17rem}
code{overflow-wrap:anywhere}
@media print{.card{break-inside:auto}.chart,.am,tr{break-inside:avoid}pre{white-space:pre-wrap}
.scroll{overflow:visible}.figures{font-size:7pt}.figures th,.figures td{padding:.2rem .25rem}
.figures td:has(code){white-space:normal}
.figures .variance{display:block}.figures .problem{min-width:0}
.pictures .am-large tbody td{min-width:14px;width:14px;height:14px;font-size:6.5px}
.pictures .am{font-size:9.5px}}
""".replace("\n", "")
