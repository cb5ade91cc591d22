"""The table of a study: its columns and cells, and the table as Markdown, LaTeX and CSV."""

import csv
import io
from dataclasses import dataclass

from augenmerk.study.result import MEASURES, StudyResult, Summary

COLUMNS = ("bleu", "chrf", "validation_loss", "loss", "perplexity", "alignment_error", "seconds")
"""The measures that a table shows of the study's first split and first beam, if they were measured."""
ABSENT = "–"


@dataclass(frozen=True)
class Cell:
    """A figure as text; unknown parts are empty."""

    mean: str = ABSENT
    variance: str = ""
    low: str = ""
    high: str = ""

    @property
    def mean_and_variance(self) -> str:
        return f"{self.mean} ({self.variance})" if self.variance else self.mean


@dataclass(frozen=True)
class Column:
    """A measure of each variant, measured by us or published by others."""

    measure: str
    heading: str
    published: bool
    cells: tuple[Cell, ...]


def build_columns(result: StudyResult) -> list[Column]:
    """Returns the columns of the table that have any figures in them."""
    columns = []
    for measure in COLUMNS:
        heading = MEASURES[measure].heading
        if measure in ("loss", "perplexity"):
            heading += f" on {result.splits[0]}"  # there is also that on the validation split
        measured = {
            variant.name: _format_summary(each)
            for variant in result.variants
            for each in variant.summaries
            if each.measure == measure and result.asked_first(each)
        }
        published = {
            each.variant: Cell(
                f"{each.mean:.{MEASURES[measure].digits}f}",
                "" if each.variance is None else f"{each.variance:g}",
            )
            for each in result.published
            if each.measure == measure
        }
        for title, is_published, known in (
            (heading, False, measured),
            (f"{heading}, published", True, published),
        ):
            if known:
                cells = tuple(known.get(variant.name, Cell()) for variant in result.variants)
                columns.append(Column(measure, title, is_published, cells))
    return columns


def _format_summary(summary: Summary) -> Cell:
    digits = MEASURES[summary.measure].digits
    mean = f"{summary.mean:z.{digits}f}"
    if summary.variance is None or summary.interval is None:
        return Cell(mean)
    low, high = summary.interval
    variance = f"{summary.variance:.2g}" if summary.variance < 10 else f"{summary.variance:.0f}"
    return Cell(mean, variance, f"{low:z.{digits}f}", f"{high:z.{digits}f}")


def describe_table(result: StudyResult) -> str:
    """Returns a sentence that explains the table."""
    search = "greedy search" if result.beams[0] == 1 else f"beam {result.beams[0]}"
    return (
        f"Mean (variance, n − 1) over the finished runs; BLEU, chrF, loss and perplexity on "
        f"{result.splits[0]} with {search}."
    )


def _build_texts(result: StudyResult) -> list[list[str]]:
    """Returns the rows of the table, the headings first."""
    columns = build_columns(result)
    rows = [["variant", "runs", "parameters", *(column.heading for column in columns)]]
    for row, variant in enumerate(result.variants):
        finished = sum(run.state == "finished" for run in variant.runs)
        parameters = ABSENT if variant.parameters is None else f"{variant.parameters:,}"
        figures = (column.cells[row].mean_and_variance for column in columns)
        rows.append([variant.name, f"{finished}/{len(variant.runs)}", parameters, *figures])
    return rows


def format_markdown(result: StudyResult) -> str:
    """Formats the table as Markdown, with the question above it and the conclusions below."""
    texts = _build_texts(result)
    head, *rows = ("| " + " | ".join(map(_escape_markdown, row)) + " |" for row in texts)
    rule = "|---" + "|---:" * (len(texts[0]) - 1) + "|"
    statements = [each.in_words for each in result.comparisons]
    statements += [each.in_words for each in result.beam_repairs]
    if result.published:
        statements.append(f"Columns called “published” were not measured here: {result.published_source}.")
    lines = [f"**{_escape_markdown(result.question)}**", "", head, rule, *rows]
    lines += ["", _escape_markdown(describe_table(result)), ""]
    lines += [f"- {_escape_markdown(sentence)}" for sentence in (*statements, *result.remarks)]
    return "\n".join(lines) + "\n"


def _escape_markdown(text: str) -> str:
    for special in "\\`*_|<>[]":
        text = text.replace(special, f"\\{special}")
    return text.replace("\n", " ")


def format_latex(result: StudyResult) -> str:
    """Formats the table as a LaTeX tabular for the package booktabs."""
    texts = _build_texts(result)
    head, *rows = (" & ".join(map(_escape_latex, row)) + r" \\" for row in texts)
    lines = [
        f"% {' '.join(result.question.split())}",
        f"% {' '.join(describe_table(result).split())}",
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * (len(texts[0]) - 1)}}}",
        "\\toprule",
        head,
        "\\midrule",
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{special: f"\\{special}" for special in "&%$#_{}"},
    ABSENT: "--",
    "−": "$-$",
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def format_csv(result: StudyResult) -> str:
    """Formats every figure of every variant, on all splits and beams, as a line of CSV in full precision."""
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
    return text.getvalue()


def escape_csv(text: str) -> str:
    """Puts an apostrophe before what a spreadsheet would take for a formula."""
    text = text.replace("\r", " ")  # the csv module would not quote it, and it would begin another row
    return f"'{text}" if text.lstrip(" ").startswith(("=", "+", "-", "@", "\t")) else text
