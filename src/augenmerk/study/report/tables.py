"""The table of a study: its columns and cells, and the table as Markdown, LaTeX and CSV."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from augenmerk.base.errors import AugenmerkError, remove_control_characters
from augenmerk.study.result import MEASURES, StudyResult, Summary

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
    caption: str | None = None
    """In LaTeX, the text above the table."""
    label: str | None = None
    """In LaTeX, the label for references to the table."""

    def __post_init__(self) -> None:
        possible = (*ABOUT_RUNS, *MEASURES)
        for column in self.columns:
            if column not in possible:
                raise AugenmerkError(f"There is no column '{column}'; the columns are {', '.join(possible)}.")
        if self.spread not in SPREADS:
            raise AugenmerkError(
                f"'{self.spread}' cannot be shown beside a mean: expected {', '.join(SPREADS)}."
            )


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


def _build(result: StudyResult, name: str, style: TableStyle) -> Iterator[Column]:
    """Yields what we measured and what others published of a measure, if there is anything."""
    if name in ABOUT_RUNS:
        yield Column(name, name, False, tuple(_describe_runs(result, name)))
        return
    about = MEASURES[name]
    heading = about.heading
    if about.per == "split" and name != "alignment_error":
        heading += f" on {result.splits[0]}"  # there is also that on the validation split
    measured = {
        variant.name: _format_summary(each, style)
        for variant in result.variants
        for each in variant.summaries
        if each.measure == name and result.asked_first(each)
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


def _describe_runs(result: StudyResult, name: str) -> Iterator[Cell]:
    for variant in result.variants:
        finished = sum(run.state == "finished" for run in variant.runs)
        if name == "runs":
            yield Cell(f"{finished}/{len(variant.runs)}")
        else:
            yield Cell() if variant.parameters is None else Cell(f"{variant.parameters:,}")


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


def describe_table(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Returns sentences that explain the table."""
    search = "greedy search" if result.beams[0] == 1 else f"beam {result.beams[0]}"
    shown = " ".join(filter(None, ("Mean", SPREADS[style.spread])))
    measured = f"BLEU, chrF, loss and perplexity on {result.splits[0]} with {search}"
    bold = f" {BOLD}" if style.bold else ""
    return f"{shown} over the finished runs; {measured}.{bold}"


def describe_published(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Returns a sentence about the columns that others published, or nothing if the table has none."""
    if not any(column.published for column in build_columns(result, style)):
        return ""
    return f"Columns called “published” were not measured here: {result.published_source}."


def _build_rows(
    result: StudyResult, style: TableStyle, escape: Callable[[str], str], bold: str
) -> list[list[str]]:
    """Returns the rows of the table as text, the headings first; `bold` is a format for the best means."""
    columns = build_columns(result, style)
    rows = [["variant", *(escape(column.heading) for column in columns)]]
    for row, variant in enumerate(result.variants):
        cells = [column.cells[row] for column in columns]
        means = [bold.format(escape(cell.mean)) if cell.best else escape(cell.mean) for cell in cells]
        spreads = [escape(cell.spread) for cell in cells]
        rows.append([escape(variant.name), *map(str.strip, map(" ".join, zip(means, spreads, strict=True)))])
    return rows


def format_markdown(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Formats the table as Markdown, with the question above it and the conclusions below."""
    rows = _build_rows(result, style, _escape_markdown, "**{}**")
    head, *body = ("| " + " | ".join(row) + " |" for row in rows)
    rule = "|---" + "|---:" * (len(rows[0]) - 1) + "|"
    details = {detail for verdict in result.verdicts for detail in verdict.details}
    statements = [each.in_words for each in result.comparisons]
    statements += [each.in_words for each in result.beam_repairs]
    statements = [each for each in statements if each not in details]
    statements += filter(None, [describe_published(result, style)])
    lines = [f"**{_escape_markdown(result.question)}**", ""]
    for verdict in result.verdicts:
        answer = f" **{_escape_markdown(verdict.answer)}**" if verdict.answer else ""
        question = "" if verdict.question == result.question else _escape_markdown(verdict.question)
        lines += [f"{question}{answer}".strip(), ""]
        lines += [*(f"- {_escape_markdown(detail)}" for detail in verdict.details), ""]
    lines += [head, rule, *body, "", _escape_markdown(describe_table(result, style)), ""]
    lines += [f"- {_escape_markdown(sentence)}" for sentence in (*statements, *result.remarks)]
    return _join(lines)


def _join(lines: list[str]) -> str:
    """Joins lines, without control characters: a study's names must not command a terminal."""
    return remove_control_characters("\n".join(lines) + "\n")


_MARKDOWN = str.maketrans({"\n": " ", **{special: f"\\{special}" for special in "\\`*_|<>[]"}})


def _escape_markdown(text: str) -> str:
    return text.translate(_MARKDOWN)


def format_latex(result: StudyResult, style: TableStyle = DEFAULT_STYLE) -> str:
    """Formats the table as a LaTeX tabular for the package booktabs; with a caption or label, as a table."""
    rows = _build_rows(result, style, _escape_latex, r"\textbf{{{}}}")
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    tabular = [f"\\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}", "\\toprule", head, "\\midrule"]
    tabular += [*body, "\\bottomrule", "\\end{tabular}"]
    if source := describe_published(result, style):
        tabular.append(f"\\par\\smallskip{{\\footnotesize {_escape_latex(_on_one_line(source))}\\par}}")
    lines = [f"% {_on_one_line(text)}" for text in (result.question, describe_table(result, style))]
    lines.append("% \\usepackage{booktabs}")
    if style.caption is None and style.label is None:
        return _join([*lines, *tabular])
    lines += ["\\begin{table}", "\\centering"]
    if style.caption is not None:
        lines.append(f"\\caption{{{_escape_latex(_on_one_line(style.caption))}}}")
    if style.label is not None:
        lines.append(f"\\label{{{_NOT_IN_LABELS.sub('-', style.label)}}}")
    return _join([*lines, *tabular, "\\end{table}"])


_LATEX = str.maketrans(
    {
        **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
        **{special: f"\\{special}" for special in "&%$#_{}"},
        **{ABSENT: "--", "−": "$-$", "±": r"$\pm$", "“": "``", "”": "''"},
    }
)
_NOT_IN_LABELS = re.compile(r"[^\w:.-]")


def _escape_latex(text: str) -> str:
    return text.translate(_LATEX)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def format_csv(result: StudyResult) -> str:
    """Formats every number of every variant, on all splits and beams, as lines of CSV in full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = "variant measure split beam runs mean variance low_95 high_95 published_mean published_variance"
    writer.writerow([*head.split(), *(f"seed_{seed}" for seed in result.seeds)])
    published = {(each.variant, each.measure): each for each in result.published}
    for variant in result.variants:
        for summary in variant.summaries:
            other = published.get((variant.name, summary.measure)) if result.asked_first(summary) else None
            texts = map(escape_csv, (variant.name, summary.measure, summary.split or ""))
            row: list[object] = [*texts, summary.beam]
            row += [len(summary.values), summary.mean, summary.variance, *(summary.interval or (None, None))]
            row += [other.mean, other.variance] if other else [None, None]
            row += [summary.values.get(seed) for seed in result.seeds]
            writer.writerow(row)  # None is written as nothing
    return remove_control_characters(text.getvalue())


FORMATS: Mapping[str, Callable[[StudyResult, TableStyle], str]] = {
    "markdown": format_markdown,
    "latex": format_latex,
    "csv": lambda result, _style: format_csv(result),
}
"""The formats of tables by name."""


def escape_csv(text: str) -> str:
    """Puts an apostrophe before what a spreadsheet would take for a formula."""
    text = text.replace("\r", " ")  # the csv module would not quote it, and it would begin another row
    return f"'{text}" if text.lstrip(" ").startswith(("=", "+", "-", "@", "\t")) else text
