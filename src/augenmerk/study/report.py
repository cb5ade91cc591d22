"""A study's result as an HTML page, or its table as Markdown, LaTeX or CSV.

The page is one self-contained file, for any screen, light or dark, and for paper. Every number is read from
`study.json`; nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from augenmerk.base.errors import AugenmerkError, remove_control_characters
from augenmerk.base.frames import format_rows
from augenmerk.drawing import AttentionMap, Chart
from augenmerk.drawing.figures import Style
from augenmerk.drawing.html import render_template
from augenmerk.study.charts import CURVES, NamedChart, list_charts
from augenmerk.study.result import MEASURES, Example, StudyResult, Summary, VariantResult, describe_doubt

COLUMNS = tuple(key for key, metric in MEASURES.items() if metric.study == "column")
"""The measures that a table shows of the study's first split and first beam, if they were measured."""
ABOUT_RUNS = ("runs", "parameters")
"""The columns that are no measures: how many runs are finished, and how many parameters they have."""
SPREADS = {"deviation": "± standard deviation", "variance": "(variance)", "none": ""}
"""What may be shown beside a mean, each with its name in the note below a table."""
ABSENT = "–"
BOLD = (
    "Bold: the best mean of a column and those that a paired t test over the seeds does not tell from it "
    "(p ≥ 0.05); the choice of sentences is left out."
)
PLAIN = Style()


# The table


@dataclass(frozen=True)
class TableStyle:
    """What a table shows, and how."""

    columns: tuple[str, ...] = (*ABOUT_RUNS, *COLUMNS)
    """Of `ABOUT_RUNS` and the keys of `MEASURES`, in this order."""
    spread: str = "deviation"
    """A key of `SPREADS`."""
    published: bool = True
    """Whether to show published numbers beside ours."""
    bold: bool = True
    """Whether the best means of each column are bold: see `BOLD`."""

    def __post_init__(self) -> None:
        possible = (*ABOUT_RUNS, *MEASURES)
        for column in self.columns:
            if column not in possible:
                raise AugenmerkError(f"There is no column '{column}'; the columns are {', '.join(possible)}.")


DEFAULT_STYLE = TableStyle()


@dataclass(frozen=True)
class Cell:
    """A number as text; unknown parts are empty."""

    mean: str = ABSENT
    spread: str = ""
    """Such as (0.5) or ± 0.7."""
    low: str = ""
    high: str = ""
    best: bool = False
    """Whether it is printed in bold."""


@dataclass(frozen=True)
class Column:
    """A column of the table: a measure of each variant, measured by us or published by others, or runs."""

    measure: str
    heading: str
    published: bool
    cells: tuple[Cell, ...]


def build_columns(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> list[Column]:
    """Returns the columns of the table that have any numbers in them."""
    return [column for name in style.columns for column in _build(result, name, style)]


def is_of_a_split(name: str) -> bool:
    """Returns whether the heading of a measure has to name its split."""
    return MEASURES[name].per == "split" and name != "alignment_error"


def _build(result: StudyResult, name: str, style: TableStyle) -> Iterator[Column]:
    """Yields what we measured and what others published of a measure, if there is anything."""
    if name in ABOUT_RUNS:
        yield Column(name, name, False, tuple(_describe_runs(each, name) for each in result.variants))
        return
    about = MEASURES[name]
    heading = about.heading
    if is_of_a_split(name):
        heading += f" on {result.splits[0]}"  # there is also that on the validation split
    measured = {
        variant.name: _format_summary(each, style)
        for variant in result.variants
        for each in variant.summaries
        if each.measure == name and result.is_leading(each)
    }
    published = {
        each.variant: Cell(
            f"{each.mean:.{about.digits}f}",
            _format_spread(each.variance, f"{each.variance or 0:g}", about.digits, style),
        )
        for each in result.published
        if style.published and each.measure == name
    }
    for title, found in ((heading, measured), (f"{heading}, published", published)):
        if found:
            cells = tuple(found.get(variant.name, Cell()) for variant in result.variants)
            yield Column(name, title, found is published, cells)


def _describe_runs(variant: VariantResult, name: str) -> Cell:
    if name == "parameters":
        return Cell() if variant.parameters is None else Cell(f"{variant.parameters:,}")
    finished = sum(run.state == "finished" for run in variant.runs)
    return Cell(f"{finished}/{len(variant.runs)}")


def _format_summary(summary: Summary, style: TableStyle) -> Cell:
    digits, variance = MEASURES[summary.measure].digits, summary.variance
    shown = "" if variance is None else f"{variance:.2g}" if variance < 10 else f"{variance:.0f}"
    spread = _format_spread(variance, shown, digits, style)
    low, high = [f"{end:z.{digits}f}" for end in summary.interval or ()] or ["", ""]
    return Cell(f"{summary.mean:z.{digits}f}", spread, low, high, summary.best and style.bold)


def _format_spread(variance: float | None, shown: str, digits: int, style: TableStyle) -> str:
    """Returns what is beside a mean; `shown` is the variance as text."""
    if variance is None or style.spread == "none":
        return ""
    return f"({shown})" if style.spread == "variance" else f"± {math.sqrt(max(0.0, variance)):.{digits}f}"


def describe_table(result: StudyResult, style: TableStyle) -> str:
    """Returns sentences that explain the table."""
    search = "greedy search" if result.beams[0] == 1 else f"beam {result.beams[0]}"
    shown = " ".join(filter(None, ("Mean", SPREADS[style.spread])))
    columns = (each.measure for each in build_columns(result, style) if not each.published)
    translated = [
        MEASURES[name].heading for name in columns if name in MEASURES and MEASURES[name].per == "beam"
    ]
    measured = f"; {', '.join(translated)} on {result.splits[0]} with {search}" if translated else ""
    bold = f" {BOLD}" if style.bold else ""
    return f"{shown} over the finished runs{measured}.{bold}"


def describe_published(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Returns a sentence about the columns that others published, or nothing if the table has none."""
    if not any(column.published for column in build_columns(result, style)):
        return ""
    return f"Columns called “published” were not measured here: {result.published_source}."


# The page


def render_report(result: StudyResult, table: TableStyle = DEFAULT_STYLE, style: Style = PLAIN) -> str:
    """Renders the page of a study's result, light or dark like the reader's screen."""
    details = {detail for verdict in result.verdicts for detail in verdict.details}
    charts = {name: _draw(chart, style) for name, chart in list_charts(result).items()}
    by_beam = [chart for name, chart in charts.items() if name.startswith("beams")]
    context = {
        "title": style.title or f"{result.name}: {result.question}",
        "heading": style.title or result.question,
        "result": result,
        "measures": MEASURES,
        "verdicts": result.verdicts,
        "columns": build_columns(result, table),
        "table_note": describe_table(result, table),
        "alignment_notes": describe_alignment(result),
        "published": describe_published(result, table),
        "describe_doubt": describe_doubt,
        "along_factors": [chart for name, chart in charts.items() if name.startswith("by-")],
        "effects": charts.get("effects"),
        "curves": [charts[measure] for measure in CURVES if measure in charts],
        "bins": next((variant.by_length for variant in result.variants if variant.by_length), ()),
        "lengths": charts.get("lengths"),
        "beams": dict(zip(result.splits, by_beam, strict=False)),
        "repairs": [each.in_words for each in result.beam_repairs if each.in_words not in details],
        "examples": [(example, make_maps(example)) for example in result.examples],
    }
    return render_template("report.html", context)


def _draw(chart: NamedChart, style: Style) -> Chart:
    return Chart.draw(lambda theme: replace(style, theme=theme, title=None).draw(chart.draw), chart.heading)


def make_maps(example: Example) -> list[AttentionMap]:
    return [
        AttentionMap(
            source_words=example.source_words,
            target_words=one.target_words,
            weights=one.weights,
            title=f"{one.variant}, seed {one.seed}",
            note=one.translation,
        )
        for one in example.maps
    ]


def describe_alignment(result: StudyResult) -> list[str]:
    """Returns a sentence for each variant whose alignment error is that of a chosen head, or of a mean."""
    notes = []
    for variant in result.variants:
        chosen = [
            f"{run.alignment_attention} (seed {run.seed}"
            + (f", chosen on {run.alignment_chosen_on})" if run.alignment_chosen_on else ")")
            for run in variant.runs
            if run.alignment_attention is not None
        ]
        if chosen:
            notes.append(f"The alignment error of {variant.name} is measured with {'; '.join(chosen)}.")
    return notes


# The table as text


def _build_rows(
    result: StudyResult, style: TableStyle, escape: Callable[[str], str], bold: str
) -> list[list[str]]:
    """Returns the rows of the table as text, the headings first; `bold` is a format for the best means."""
    columns = build_columns(result, style)
    rows = [["variant", *(escape(column.heading) for column in columns)]]
    for index, variant in enumerate(result.variants):
        row = [escape(variant.name)]
        for cell in (column.cells[index] for column in columns):
            mean = bold.format(escape(cell.mean)) if cell.best else escape(cell.mean)
            row.append(f"{mean} {escape(cell.spread)}".strip())
        rows.append(row)
    return rows


def format_markdown(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Formats the table as Markdown, with the question above it and the conclusions below."""
    rows = _build_rows(result, style, escape_markdown, "**{}**")
    head, *body = ("| " + " | ".join(row) + " |" for row in rows)
    rule = "|---" + "|---:" * (len(rows[0]) - 1) + "|"
    details = {detail for verdict in result.verdicts for detail in verdict.details}
    statements = [each.in_words for each in result.comparisons]
    statements += [each.in_words for each in result.beam_repairs]
    statements = [each for each in statements if each not in details]
    statements += filter(None, [describe_published(result, style)])
    lines = [f"**{escape_markdown(result.question)}**", ""]
    for verdict in result.verdicts:
        answer = f" **{escape_markdown(verdict.answer)}**" if verdict.answer else ""
        question = "" if verdict.question == result.question else escape_markdown(verdict.question)
        lines += [f"{question}{answer}".strip(), ""]
        lines += [*(f"- {escape_markdown(detail)}" for detail in verdict.details), ""]
    lines += [head, rule, *body, "", escape_markdown(describe_table(result, style)), ""]
    lines += [f"- {escape_markdown(sentence)}" for sentence in (*statements, *result.remarks)]
    return _join(lines)


def _join(lines: list[str]) -> str:
    """Joins lines, without control characters: a study's names must not command a terminal."""
    return remove_control_characters("\n".join(lines) + "\n")


_MARKDOWN = str.maketrans({"\n": " ", **{special: f"\\{special}" for special in "\\`*_|<>[]"}})
_LATEX = str.maketrans(
    {
        **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
        **{special: f"\\{special}" for special in "&%$#_{}"},
        **{ABSENT: "--", "−": "$-$", "±": r"$\pm$", "“": "``", "”": "''"},
    }
)


def escape_markdown(text: str) -> str:
    return text.translate(_MARKDOWN)


def _escape_latex(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


def format_latex(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Formats the table as a LaTeX tabular for the package booktabs."""
    rows = _build_rows(result, style, _escape_latex, r"\textbf{{{}}}")
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    tabular = [f"\\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}", "\\toprule", head, "\\midrule"]
    tabular += [*body, "\\bottomrule", "\\end{tabular}"]
    if source := describe_published(result, style):
        tabular.append(f"\\par\\smallskip{{\\footnotesize {_escape_latex(source)}\\par}}")
    comments = (result.question, describe_table(result, style), "\\usepackage{booktabs}")
    return _join([*(f"% {' '.join(text.split())}" for text in comments), *tabular])


def format_csv(result: StudyResult) -> str:
    """Formats every number of every variant, on all splits and beams, as lines of CSV in full precision."""
    head = "variant measure split beam runs mean variance low_95 high_95 published_mean published_variance"
    rows: list[list[object]] = [[*head.split(), *(f"seed_{seed}" for seed in result.seeds)]]
    published = {(each.variant, each.measure): each for each in result.published}
    for variant in result.variants:
        for summary in variant.summaries:
            other = published.get((variant.name, summary.measure)) if result.is_leading(summary) else None
            row: list[object] = [variant.name, summary.measure, summary.split, summary.beam]
            row += [len(summary.values), summary.mean, summary.variance, *(summary.interval or (None, None))]
            row += [other.mean, other.variance] if other else [None, None]
            row += [summary.values.get(seed) for seed in result.seeds]
            rows.append(row)
    return remove_control_characters(format_rows(rows))


FORMATS: Mapping[str, Callable[[StudyResult, TableStyle], str]] = {
    "markdown": format_markdown,
    "latex": format_latex,
    "csv": lambda result, _style: format_csv(result),
}
"""The formats of tables by name."""
